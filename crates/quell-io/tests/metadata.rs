//! Profiles, EXIF and XMP survive.

mod common;

use common::*;
use quell_io::{Format, Metadata, Picture, SampleType};

/// Make, Orientation, an EXIF directory with an exposure time and a GPS one, little-endian.
fn exif() -> Vec<u8> {
    let mut b = b"II\x2a\0\x08\0\0\0".to_vec();
    let entry = |b: &mut Vec<u8>, tag: u16, kind: u16, n: u32, value: u32| {
        b.extend(tag.to_le_bytes());
        b.extend(kind.to_le_bytes());
        b.extend(n.to_le_bytes());
        b.extend(value.to_le_bytes());
    };
    b.extend(4_u16.to_le_bytes());
    entry(&mut b, 271, 2, 6, 62);
    entry(&mut b, 274, 3, 1, 6);
    entry(&mut b, 34665, 4, 1, 68);
    entry(&mut b, 34853, 4, 1, 94);
    b.extend([0; 4]);
    b.extend(b"Maker\0");
    b.extend(1_u16.to_le_bytes());
    entry(&mut b, 33434, 5, 1, 86);
    b.extend([0; 4]);
    b.extend(1_u32.to_le_bytes());
    b.extend(125_u32.to_le_bytes());
    b.extend(1_u16.to_le_bytes());
    entry(&mut b, 1, 2, 2, u32::from(b'N'));
    b.extend([0; 4]);
    b
}

fn metadata() -> Metadata {
    // The encoders do not look inside a profile; a long one needs several JPEG segments.
    let icc = (0..150_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    let xmp = "<x:xmpmeta xmlns:x='adobe:ns:meta/'>Grüße</x:xmpmeta>".as_bytes().to_vec();
    Metadata { icc: Some(icc), exif: Some(exif()), xmp: Some(xmp), ..Metadata::default() }
}

const KEEPERS: [Format; 4] = [Format::Png, Format::Jpeg, Format::WebP, Format::Tiff];

fn through(picture: &Picture, format: Format) -> Picture {
    let (bytes, remarks) = to_bytes(picture, format);
    assert!(!remarks.iter().any(|r| r.contains("not kept")), "{format:?}: {remarks:?}");
    from_bytes(&bytes).unwrap()
}

#[test]
fn profile_exif_and_xmp_survive_every_pair_of_formats() {
    let mut first = simple(Format::Png, SampleType::U8, 3);
    first.metadata = metadata();
    for from in KEEPERS {
        for to in KEEPERS {
            let got = through(&through(&first, from), to);
            assert_eq!(got.metadata, metadata(), "{from:?} to {to:?}");
        }
    }
}

#[test]
fn pictures_without_metadata_get_none() {
    for format in KEEPERS {
        let got = through(&simple(format, SampleType::U8, 3), format);
        assert_eq!(got.metadata, Metadata::default(), "{format:?}");
    }
}

#[test]
fn every_page_of_a_tiff_gets_the_profile_and_only_the_first_one_exif() {
    let mut want = picture(Format::Tiff, vec![page(4, 4, SampleType::U8, 1); 2]);
    want.metadata = metadata();
    let (bytes, _) = to_bytes(&want, Format::Tiff);
    let profile = want.metadata.icc.as_deref().unwrap();
    assert_eq!(bytes.windows(profile.len()).filter(|w| *w == profile).count(), 2);
    assert_eq!(bytes.windows(6).filter(|w| *w == b"Maker\0").count(), 1);
    assert_eq!(from_bytes(&bytes).unwrap().notes, [""; 0]);
}

#[test]
fn what_tiff_cannot_keep_of_exif_is_named() {
    let mut want = simple(Format::Tiff, SampleType::U8, 1);
    want.metadata.exif = Some(b"not EXIF at all".to_vec());
    let (_, remarks) = to_bytes(&want, Format::Tiff);
    assert_eq!(remarks, ["the EXIF block cannot be read: not kept"]);
    let mut with_thumbnail = exif();
    // The pointer to the next directory follows the four entries.
    with_thumbnail[58..62].copy_from_slice(&94_u32.to_le_bytes());
    want.metadata.exif = Some(with_thumbnail);
    let (_, remarks) = to_bytes(&want, Format::Tiff);
    assert_eq!(remarks, ["the EXIF thumbnail has no place in TIFF: not kept"]);
}

#[test]
fn metadata_too_long_for_jpeg_is_named_and_the_rest_kept() {
    let mut want = simple(Format::Jpeg, SampleType::U8, 1);
    want.metadata = metadata();
    want.metadata.exif = Some(vec![7; 65_528]);
    want.metadata.xmp = Some(vec![b'x'; 65_505]);
    let (bytes, remarks) = to_bytes(&want, Format::Jpeg);
    assert_eq!(remarks.len(), 2, "{remarks:?}");
    let got = from_bytes(&bytes).unwrap().metadata;
    assert_eq!((got.icc, got.exif, got.xmp), (want.metadata.icc.clone(), None, None));

    want.metadata.exif = Some([b"II\x2a\0".to_vec(), vec![7; 65_523]].concat());
    want.metadata.xmp = Some(vec![b'x'; 65_504]);
    let (bytes, remarks) = to_bytes(&want, Format::Jpeg);
    assert_eq!(remarks, [""; 0]);
    assert_eq!(from_bytes(&bytes).unwrap().metadata, want.metadata);
}

#[test]
fn an_exif_prefix_is_removed() {
    let mut want = simple(Format::WebP, SampleType::U8, 3);
    want.metadata.exif = Some([b"Exif\0\0", &exif()[..]].concat());
    assert_eq!(through(&want, Format::WebP).metadata.exif, Some(exif()));
}

#[test]
fn png_keeps_colour_resolution_and_text_chunks() {
    let chunks = [
        (*b"gAMA", 100_000_u32.to_be_bytes().to_vec()),
        (*b"pHYs", [0, 0, 0x0b, 0x13, 0, 0, 0x0b, 0x13, 1].to_vec()),
        (*b"tEXt", b"Author\0Someone".to_vec()),
    ];
    let extra: Vec<_> = chunks.iter().map(|(kind, data)| png_chunk(kind, data)).collect();
    let first = from_bytes(&png_file([2, 1], [8, 0, 0], &extra, &[0, 1, 2])).unwrap();
    assert_eq!(first.metadata.png, chunks);
    assert_eq!(through(&first, Format::Png).metadata.png, chunks);
    let (_, remarks) = to_bytes(&first, Format::Tiff);
    assert_eq!(remarks.len(), 3, "{remarks:?}");
}

/// A PNG of two grey pixels with more chunks.
fn with_chunks(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let extra: Vec<_> = chunks.iter().map(|(kind, data)| png_chunk(kind, data)).collect();
    png_file([2, 1], [8, 0, 0], &extra, &[0, 1, 2])
}

#[test]
fn png_chunks_are_carried_or_named() {
    let (time, own) = ([7, 0xe8, 1, 2, 3, 4, 5], b"what nobody knows");
    let file = with_chunks(&[(b"tIME", &time), (b"quEl", own), (b"sBIT", &[5]), (b"iDOT", &[0; 28])]);
    let first = from_bytes(&file).unwrap();
    assert_eq!(first.notes, ["chunks that may not fit the new picture: sBIT, iDOT: not kept"]);
    let want = [(*b"tIME", time.to_vec()), (*b"quEl", own.to_vec())];
    assert_eq!(through(&first, Format::Png).metadata.png, want);
    let (_, remarks) = to_bytes(&first, Format::Pnm);
    assert_eq!(remarks, ["the chunk tIME of the PNG: not kept", "the chunk quEl of the PNG: not kept"]);
}

#[test]
fn chunks_that_nobody_could_read_are_not_copied() {
    let mut file = with_chunks(&[]);
    for name in [b"IENd", b"T`(f", b"quel"] {
        // In the place of the end mark, which is the last chunk.
        let at = file.len() - 8;
        file[at..at + 4].copy_from_slice(name);
        let first = from_bytes(&file).unwrap();
        assert!(first.notes.iter().any(|n| n.contains("damaged after the last pixel")), "{:?}", first.notes);
        assert_eq!(through(&first, Format::Png).pages[0].frame, first.pages[0].frame);
    }
}

#[test]
fn a_profile_that_inflates_without_end_is_named() {
    // One block of the fixed code: a zero, and 70 MiB more by copies of 258.
    let codes = ["110", "00110000"].into_iter().chain(std::iter::repeat_n("1100010100000", (70 << 20) / 258));
    let bits: Vec<u8> = codes.flat_map(str::bytes).collect();
    let mut zlib = vec![0x78, 0x01];
    zlib.extend(bits.chunks(8).map(|b| b.iter().rev().fold(0, |byte, bit| byte << 1 | (bit - b'0'))));
    let bomb = [&b"profile\0\0"[..], &zlib].concat();
    let got = from_bytes(&with_chunks(&[(b"iCCP", &bomb)])).unwrap();
    assert_eq!(got.metadata.icc, None);
    assert_eq!(got.notes, ["the ICC profile is damaged or longer than 64 MiB, and was left out"]);
}

#[test]
fn animations_are_refused_rather_than_cut_to_one_picture() {
    let control = |n: u32| [n.to_be_bytes(), [0; 4]].concat();
    let frame = [&[0; 4][..], &[0, 0, 0, 2], &[0, 0, 0, 1], &[0; 14]].concat();
    let png = |n| with_chunks(&[(b"acTL", &control(n)), (b"fcTL", &frame)]);
    assert!(refusal(&png(12)).starts_with("an animated PNG of 12 pictures is not supported"));
    from_bytes(&png(1)).unwrap();
}

#[test]
fn unknown_chunks_of_webp_are_named() {
    let mut file = to_bytes(&simple(Format::WebP, SampleType::U8, 3), Format::WebP).0;
    file.extend(b"quEl\x03\0\0\0abc\0");
    let length = file.len() as u32 - 8;
    file[4..8].copy_from_slice(&length.to_le_bytes());
    assert_eq!(from_bytes(&file).unwrap().notes, ["chunks that nobody knows: quEl: not kept"]);
}
