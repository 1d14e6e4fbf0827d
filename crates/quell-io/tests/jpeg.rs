//! JPEG against libjpeg-turbo: files made by its `cjpeg` from a picture drawn for it, and beside each what its
//! `djpeg -dct int` (2.1.5) makes of it.

mod common;

use common::*;
use quell_io::{Format, Picture, SampleType};

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        [$((
            $name,
            include_bytes!(concat!("jpeg/", $name, ".jpg")) as &[u8],
            include_bytes!(concat!("jpeg/", $name, ".pnm")) as &[u8],
        )),+]
    };
}

const FILES: [(&str, &[u8], &[u8]); 15] = files![
    "444",
    "422",
    "420",
    "440",
    "411",
    "mixed",
    "progressive",
    "progressive-422",
    "grey",
    "grey-progressive",
    "restart",
    "rgb",
    "tiny",
    "coarse",
    "fine",
];

fn file(name: &str) -> &'static [u8] {
    FILES.iter().find(|f| f.0 == name).unwrap().1
}

#[test]
fn samples_are_those_of_libjpeg_to_the_bit() {
    for (name, jpeg, pnm) in FILES {
        let (got, want) = (from_bytes(jpeg).unwrap(), from_bytes(pnm).unwrap());
        assert_same_page(&got.pages[0], &want.pages[0]);
        assert_eq!(got.notes, [""; 0], "{name}");
    }
}

#[test]
fn every_cut_and_every_flipped_bit_is_an_error_or_a_picture() {
    for (name, jpeg, _) in FILES {
        for end in (0..jpeg.len()).step_by(11).chain(jpeg.len() - 2..jpeg.len()) {
            assert!(from_bytes(&jpeg[..end]).is_err(), "{name} {end}");
        }
        for i in (2..jpeg.len()).step_by(5) {
            let mut spoilt = jpeg.to_vec();
            spoilt[i] ^= 1 << (i % 8);
            let _ = from_bytes(&spoilt);
        }
    }
}

#[test]
fn a_header_that_promises_more_than_the_file_can_hold_is_refused_at_once() {
    let mut jpeg = file("420").to_vec();
    let at = jpeg.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    jpeg[at + 5..at + 9].copy_from_slice(&[0x4e, 0x20, 0x4e, 0x20]);
    assert!(refusal(&jpeg).contains("ends before the picture is complete"));
}

#[test]
fn missing_restart_markers_are_not_papered_over() {
    let mut jpeg = file("restart").to_vec();
    let at = jpeg.windows(2).position(|w| w == [0xff, 0xd1]).unwrap();
    jpeg[at + 1] = 0xd5;
    assert_eq!(refusal(&jpeg), "damaged JPEG: a restart marker is missing");
}

/// Width and height of the first component's blocks in the frame header.
fn sampling(jpeg: &[u8]) -> (u8, u8) {
    let at = jpeg.windows(2).position(|w| matches!(w, [0xff, 0xc0..=0xc2])).unwrap();
    (jpeg[at + 11] >> 4, jpeg[at + 11] & 15)
}

#[test]
fn the_result_has_as_many_colour_samples_as_the_input() {
    for (name, want, cjpeg) in [
        ("444", (1, 1), 2.009),
        ("422", (2, 1), 2.199),
        ("420", (2, 2), 3.098),
        ("440", (1, 2), 2.439),
        ("411", (4, 1), 1.219),
    ] {
        let picture = from_bytes(file(name)).unwrap();
        let (bytes, remarks) = to_bytes(&picture, Format::Jpeg);
        assert_eq!((sampling(&bytes), remarks.len()), (want, 0), "{name}");
        // The second generation differs from the first as it does through `cjpeg -quality 95`.
        let mean = mean_difference(&picture, &from_bytes(&bytes).unwrap());
        assert!((mean - cjpeg).abs() < 0.05, "{name}: {mean}");
    }
    let other = to_bytes(&simple(Format::Png, SampleType::U8, 3), Format::Jpeg).0;
    assert_eq!(sampling(&other), (1, 1));
}

fn mean_difference(a: &Picture, b: &Picture) -> f32 {
    let planes = a.pages[0].frame.planes().iter().zip(b.pages[0].frame.planes());
    let all: Vec<f32> =
        planes.flat_map(|(a, b)| a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs())).collect();
    all.iter().sum::<f32>() / all.len() as f32
}

/// A JPEG with more segments, behind the first one.
fn with_segments(segments: &[(u8, &[u8])]) -> Vec<u8> {
    let jpeg = file("420");
    let mut out = jpeg[..20].to_vec();
    for (code, content) in segments {
        out.extend([0xff, *code]);
        out.extend((content.len() as u16 + 2).to_be_bytes());
        out.extend(*content);
    }
    out.extend(&jpeg[20..]);
    out
}

#[test]
fn iptc_comments_extended_xmp_and_unknown_segments_are_carried() {
    let iptc = b"Photoshop 3.0\08BIM\x04\x04\0\0\0\0\0\x05\x1c\x02\x78\0\0";
    let segments: [(u8, &[u8]); 4] = [
        (0xed, iptc),
        (0xfe, b"taken on a Tuesday"),
        (0xe1, b"http://ns.adobe.com/xmp/extension/\x000123456789abcdef0123456789abcdef\0\0\0\x01\0\0\0\0x"),
        (0xe5, b"SomeProgram\0its own"),
    ];
    let first = from_bytes(&with_segments(&segments)).unwrap();
    let (bytes, remarks) = to_bytes(&first, Format::Jpeg);
    assert_eq!((remarks, first.notes), (vec![], vec![]));
    let again = from_bytes(&bytes).unwrap().metadata.jpeg.segments;
    assert_eq!(again, segments.map(|(code, content)| (code, content.to_vec())));
    let (_, remarks) = to_bytes(&from_bytes(&bytes).unwrap(), Format::Png);
    assert_eq!(
        remarks,
        [
            "IPTC and Photoshop data: not kept",
            "the comment of the JPEG: not kept",
            "the second part of the XMP packet: not kept",
            "the JPEG's segments APP5: not kept",
        ]
    );
}

#[test]
fn the_resolution_is_carried_and_named_where_it_cannot_be() {
    let mut jpeg = file("420").to_vec();
    jpeg[13..18].copy_from_slice(&[1, 1, 44, 1, 44]);
    let first = from_bytes(&jpeg).unwrap();
    let (bytes, remarks) = to_bytes(&first, Format::Jpeg);
    assert_eq!((&bytes[13..18], remarks.len()), (&[1, 1, 44, 1, 44][..], 0));
    let (_, remarks) = to_bytes(&first, Format::WebP);
    assert_eq!(remarks, ["the resolution of the JPEG (300 dots an inch, 300): not kept"]);
}

#[test]
fn what_would_no_longer_be_true_is_left_out_with_a_note() {
    for (segment, word) in [
        ((0xe2, &b"MPF\0MM\0*\0\0\0\x08"[..]), "MPF"),
        ((0xeb, &b"JP\0\x01\0\0\0\x01\0\0\0\x08jumb"[..]), "JUMBF"),
        ((0xe0, &b"JFXX\0\x10"[..]), "thumbnail"),
    ] {
        let picture = from_bytes(&with_segments(&[segment])).unwrap();
        assert!(picture.notes.len() == 1 && picture.notes[0].contains(word), "{:?}", picture.notes);
        assert_eq!(picture.metadata.jpeg.segments, []);
    }
    let mut more = file("420").to_vec();
    more.extend(b"\xff\xd8 a gain map");
    let notes = from_bytes(&more).unwrap().notes;
    assert!(notes.len() == 1 && notes[0].starts_with("13 bytes behind the picture"), "{notes:?}");
}

#[test]
fn a_profile_with_a_part_missing_is_named() {
    let picture = from_bytes(&with_segments(&[(0xe2, b"ICC_PROFILE\0\x02\x02abc")])).unwrap();
    assert_eq!(picture.metadata.icc, None);
    assert_eq!(picture.notes, ["the ICC profile is damaged and was left out: it has 1 of 2 parts"]);
}
