//! Every field of a TIFF file says how samples are stored, or comes back, or is named in a note.

mod common;

use common::fields::*;
use common::*;
use quell_io::{Format, SampleType};

/// Reads and writes again; no notes, no remarks.
#[track_caller]
fn through(file: &[u8]) -> Vec<u8> {
    let got = from_bytes(file).unwrap();
    assert_eq!(got.notes, [""; 0]);
    let (file, remarks) = to_bytes(&got, Format::Tiff);
    assert_eq!(remarks, [""; 0]);
    file
}

fn grey(seed: u8) -> Dir {
    Dir::new(3, 2, &[8], 1, (0..6).map(|i| seed + i).collect())
}

#[test]
fn fields_of_every_page_come_back_in_both_byte_orders() {
    let page = |i: u64| {
        grey(i as u8)
            .with(254, 4, &[2])
            .text(269, &format!("document {i}"))
            .text(270, &format!("description of page {i}"))
            // ImageJ's pixel size: pixels to no unit.
            .with(282, 5, &[93_023 + i, 10_000])
            .with(283, 5, &[93_023, 10_000 + i])
            .with(296, 3, &[1])
            .text(285, "a page's name")
            .with(297, 3, &[i, 2])
            .text(305, "some program")
            .text(306, "2026:01:02 03:04:05")
            .text(315, "someone")
            .text(33432, "all rights")
            .with(318, 5, &[1, 3, 1, 3])
            .with(33550, 12, &[0x3ff0_0000_0000_0000, 0x4000_0000_0000_0000 + i])
            .with(34735, 3, &[1, 1, 0, 513 + i])
            // ImageJ: numbers in the file's own order inside of bytes.
            .with(50838, 4, &[12, 34 + i])
            .with(50839, 1, &[73, 74, 73, 74, 0, 1, 2])
            .text(51123, "{\"Micro\": \"Manager\"}")
            .with(65000, 7, &[9, 8, 7, 6, 5, i])
    };
    for big_endian in [false, true] {
        let file = tiff_chain(big_endian, &[page(0), page(1), page(2)]);
        let back = through(&file);
        assert_eq!(back[..2], file[..2]);
        let (want, got) = (directories(&file), directories(&back));
        assert_eq!(got.len(), 3);
        for (want, got) in want.iter().zip(&got) {
            let storage = [256, 257, 258, 259, 262, 273, 277, 278, 279, 284, 339];
            let kept = |dir: &[Entry]| -> Vec<Entry> {
                dir.iter().filter(|(tag, ..)| !storage.contains(tag)).cloned().collect()
            };
            assert_eq!(kept(got), kept(want));
        }
        // Once more changes nothing.
        assert_eq!(through(&back), back);
    }
}

#[test]
fn profiles_and_xmp_stay_with_their_pages() {
    let profile = |n: u64| [n; 6];
    let file = tiff_chain(
        false,
        &[
            grey(0).with(34675, 7, &profile(1)).with(700, 1, &[60, 120, 62, 10, 10]),
            grey(1).with(34675, 7, &profile(2)),
            grey(2).with(34675, 7, &profile(1)),
            grey(3),
        ],
    );
    let back = directories(&through(&file));
    let icc: Vec<_> = back.iter().map(|d| values(d, 34675).map(|v| v[0])).collect();
    assert_eq!(icc, [Some(1), Some(2), Some(1), None]);
    assert_eq!(back.iter().filter(|d| values(d, 700).is_some()).count(), 1);
}

#[test]
fn one_pixel_to_no_unit_says_nothing_and_a_pixel_size_does() {
    let with = |x: u64| grey(0).with(282, 5, &[x, 1]).with(283, 5, &[1, 1]).with(296, 3, &[1]);
    let plain = from_bytes(&tiff_chain(false, &[with(1)])).unwrap();
    assert_eq!(plain.metadata, Default::default());
    let sized = from_bytes(&tiff_chain(false, &[with(7)])).unwrap();
    assert_eq!(values(&directories(&to_bytes(&sized, Format::Tiff).0)[0], 282), Some(&[7, 1][..]));
}

const OME: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><OME xmlns=\"http://www.openmicroscopy.org/\
                   Schemas/OME/2016-06\"><Image><Pixels SizeX=\"3\" SizeY=\"2\" SizeC=\"2\" SizeZ=\"1\" \
                   SizeT=\"1\" Type=\"int16\" DimensionOrder=\"XYCZT\"/></Image></OME>";

#[test]
fn ome_xml_stays_as_long_as_it_is_true() {
    let channel = |n: u8| Dir::new(3, 2, &[16], 1, (0..12).map(|i| i * n).collect()).with(339, 3, &[2]);
    let file = tiff_chain(false, &[channel(1).text(270, OME), channel(7)]);
    let back = directories(&through(&file));
    assert_eq!(back.len(), 2);
    for dir in &back {
        assert_eq!((values(dir, 258), values(dir, 339)), (Some(&[16][..]), Some(&[2][..])));
    }
    let text: Vec<u8> = values(&back[0], 270).unwrap().iter().map(|b| *b as u8).collect();
    assert_eq!(text, [OME.as_bytes(), &[0]].concat());

    let mut changed = from_bytes(&file).unwrap();
    changed.pages.iter_mut().for_each(|page| page.samples = SampleType::F32);
    let (file, remarks) = to_bytes(&changed, Format::Tiff);
    assert_eq!(remarks, ["the OME-XML does not fit the samples that are written: not kept"]);
    assert_eq!(values(&directories(&file)[0], 270), None);
}

#[test]
fn what_cannot_be_kept_is_named() {
    let notes = |dir: Dir| from_bytes(&tiff_chain(false, &[dir])).unwrap().notes;
    assert_eq!(notes(grey(0).with(330, 4, &[8, 8])), ["smaller copies of a page (SubIFDs): not kept"]);
    assert_eq!(notes(grey(0).with(34412, 1, &[1; 20])), ["the microscope's LSM block: not kept"]);
    assert_eq!(notes(grey(0).with(37724, 7, &[1; 20])), ["Photoshop's layers: not kept"]);
    assert_eq!(notes(grey(0).with(65001, 13, &[8])), ["directories of other programs: not kept"]);
    assert_eq!(notes(grey(0).with(50706, 1, &[1, 4, 0, 0])), ["fields of a digital negative: not kept"]);
    let small = from_bytes(&tiff_chain(false, &[grey(0), grey(1).with(254, 4, &[1])])).unwrap();
    assert_eq!(
        (small.pages.len(), small.notes),
        (1, vec!["thumbnails and masks inside the file are left out".into()])
    );
    // None of them is there when the file is read again.
    let got = from_bytes(&tiff_chain(false, &[grey(0).with(330, 4, &[8]).with(34412, 1, &[1; 20])])).unwrap();
    let back = directories(&to_bytes(&got, Format::Tiff).0);
    assert!(values(&back[0], 330).is_none() && values(&back[0], 34412).is_none());
}

#[test]
fn exif_is_kept_but_for_the_directory_inside_it() {
    // An EXIF directory with an exposure time and a pointer, behind the file.
    let end = tiff_chain(false, &[grey(0).with(34665, 4, &[0])]).len() as u64;
    let mut file = tiff_chain(false, &[grey(0).with(34665, 4, &[end])]);
    let entry = |tag: u16, kind: u16, value: u32| {
        [&tag.to_le_bytes()[..], &kind.to_le_bytes(), &1_u32.to_le_bytes(), &value.to_le_bytes()].concat()
    };
    let inner = [&2_u16.to_le_bytes()[..], &entry(34855, 3, 800), &entry(40965, 4, 8), &[0; 4]].concat();
    file.extend(inner);
    let got = from_bytes(&file).unwrap();
    assert_eq!(got.notes, ["EXIF's directory on interoperability: not kept"]);
    let back = from_bytes(&to_bytes(&got, Format::Tiff).0).unwrap();
    assert_eq!((back.metadata.exif, back.notes), (got.metadata.exif, vec![]));
}

#[test]
fn fields_that_only_tiff_can_hold_are_named_for_other_formats() {
    let got = from_bytes(&tiff_chain(false, &[grey(0).with(50839, 1, &[1; 9])])).unwrap();
    let (_, remarks) = to_bytes(&got, Format::Png);
    assert_eq!(remarks, ["fields of the TIFF that PNG has no place for: not kept"]);
}

#[test]
fn fields_that_point_outside_are_left_out_with_a_note() {
    let mut file = tiff_chain(false, &[grey(0).text(270, "a long description")]);
    let at = file.windows(4).position(|w| w == [14, 1, 2, 0]).unwrap();
    file[at + 8..at + 12].copy_from_slice(&0x7fff_0000_u32.to_le_bytes());
    let got = from_bytes(&file).unwrap();
    assert_eq!(got.notes, ["fields that point outside the file are left out"]);
}
