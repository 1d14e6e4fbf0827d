//! TIFF files of microscopes, scanners and maps: channels, stacks, compression, tiles, palettes.

mod common;

use common::fields::*;
use common::*;
use quell_io::{Error, Format, Picture, ReadOptions, SampleType, decode};

fn grey_values(picture: &Picture, page: usize) -> Vec<f32> {
    picture.pages[page].frame.planes()[0].as_slice().to_vec()
}

#[track_caller]
fn same_pages(a: &Picture, b: &Picture) {
    assert_eq!(a.pages.len(), b.pages.len());
    a.pages.iter().zip(&b.pages).for_each(|(a, b)| assert_same_page(a, b));
}

#[test]
fn channels_are_pictures_of_their_own_and_come_back_in_place() {
    // 2 x 2 pixels of 5 channels of 16 bits, interleaved; then the same, channel by channel.
    let at = |pixel: u64, channel: u64| 1000 * channel + pixel;
    let bytes = |v: u64| (v as u16).to_be_bytes();
    let mixed: Vec<u8> = (0..4).flat_map(|p| (0..5).flat_map(move |c| bytes(at(p, c)))).collect();
    let mut apart = Dir::new(2, 2, &[16; 5], 1, vec![]).with(338, 3, &[0; 4]).with(284, 3, &[2]);
    apart.strips = (0..5).map(|c| (0..4).flat_map(|p| bytes(at(p, c))).collect()).collect();
    let together = Dir::new(2, 2, &[16; 5], 1, mixed).with(338, 3, &[0; 4]);
    for (dir, planar) in [(together, 1), (apart, 2)] {
        let got = from_bytes(&tiff_chain(true, &[dir.clone(), dir])).unwrap();
        assert_eq!(got.notes, [""; 0]);
        assert_eq!(got.pages.len(), 10);
        for (i, page) in got.pages.iter().enumerate() {
            assert!(page.alpha.is_none() && page.frame.channels() == 1);
            let want: Vec<f32> = (0..4).map(|p| at(p, i as u64 % 5) as f32).collect();
            assert_eq!(page.frame.planes()[0].as_slice(), want);
        }
        let (file, remarks) = to_bytes(&got, Format::Tiff);
        assert_eq!(remarks, [""; 0]);
        let back = directories(&file);
        assert_eq!(back.len(), 2);
        assert_eq!(values(&back[1], 277), Some(&[5][..]));
        assert_eq!(values(&back[1], 284), Some(&[planar][..]));
        assert_eq!(values(&back[1], 338), Some(&[0; 4][..]));
        same_pages(&from_bytes(&file).unwrap(), &got);
    }
}

#[test]
fn only_samples_that_are_said_to_be_alpha_are_alpha() {
    /// Photometric, samples of a pixel, extra samples; for each page its channels and whether it has alpha.
    type Case<'a> = (u64, usize, &'a [u64], &'a [(usize, bool)]);
    let cases: [Case; 8] = [
        (1, 2, &[0], &[(1, false), (1, false)]),
        (1, 2, &[], &[(1, false), (1, false)]),
        (1, 2, &[2], &[(1, true)]),
        (1, 3, &[0, 1], &[(1, true), (1, false)]),
        (2, 4, &[0], &[(3, false), (1, false)]),
        (2, 4, &[], &[(3, false), (1, false)]),
        (2, 4, &[1], &[(3, true)]),
        (2, 6, &[0, 2, 0], &[(3, true), (1, false), (1, false)]),
    ];
    for (photometric, n, extra, want) in cases {
        let data: Vec<u8> = (0..2 * n as u8).collect();
        let mut dir = Dir::new(2, 1, &vec![8; n], photometric, data.clone());
        if !extra.is_empty() {
            dir = dir.with(338, 3, extra);
        }
        let got = from_bytes(&tiff_chain(false, &[dir])).unwrap();
        let pages: Vec<_> = got.pages.iter().map(|p| (p.frame.channels(), p.alpha.is_some())).collect();
        assert_eq!(pages, want, "{photometric} {extra:?}");
        let (file, _) = to_bytes(&got, Format::Tiff);
        assert!(file.windows(data.len()).any(|w| w == data), "{photometric} {extra:?}");
        assert_eq!(values(&directories(&file)[0], 338).unwrap_or(&[]), extra);
    }
}

#[test]
fn channels_of_microscopes_are_not_colours() {
    let rgb = || Dir::new(2, 1, &[8; 3], 2, vec![1, 2, 3, 4, 5, 6]);
    let pages = |dir: Dir| from_bytes(&tiff_chain(false, &[dir])).unwrap().pages.len();
    assert_eq!(pages(rgb()), 1);
    assert_eq!(pages(rgb().text(270, "<OME><Pixels SizeC=\"3\"><Channel/></Pixels></OME>")), 3);
    assert_eq!(pages(rgb().text(270, "<OME><Channel SamplesPerPixel=\"3\"/></OME>")), 1);
    assert_eq!(pages(rgb().text(270, "ImageJ=1.54f\nchannels=3\nmode=composite\n")), 3);
    assert_eq!(pages(rgb().text(270, "ImageJ=1.54f\n")), 1);
}

#[test]
fn planes_behind_one_directory_are_read_and_written_there() {
    let data: Vec<u8> = (0..3 * 12).collect();
    let text = "ImageJ=1.54f\nimages=3\nslices=3\nunit=micron\n";
    let dir = Dir::new(3, 2, &[16], 1, vec![]).text(270, text).with(282, 5, &[5, 2]).with(279, 4, &[12]);
    let dir = Dir { strips: vec![], ..dir };
    for big_endian in [true, false] {
        // The strip is that of the first plane, and begins where the directory ends.
        let end = tiff_chain(big_endian, &[dir.clone().with(273, 4, &[0])]).len() as u64;
        let mut file = tiff_chain(big_endian, &[dir.clone().with(273, 4, &[end])]);
        file.extend(&data);
        let got = from_bytes(&file).unwrap();
        assert_eq!((got.pages.len(), &got.notes[..]), (3, &[][..]));
        let (back, remarks) = to_bytes(&got, Format::Tiff);
        assert_eq!(remarks, [""; 0]);
        let dirs = directories(&back);
        assert_eq!(dirs.len(), 1);
        let place = values(&dirs[0], 273).unwrap()[0] as usize;
        assert_eq!(back[place..], data);
        assert_eq!(values(&dirs[0], 279), Some(&[12][..]));
        assert_eq!(values(&dirs[0], 270).unwrap().len(), text.len() + 1);
        same_pages(&from_bytes(&back).unwrap(), &got);
    }
    // Planes that are not there are missed.
    let short = Dir::new(3, 2, &[16], 1, vec![0; 12]).text(270, text);
    let got = from_bytes(&tiff_chain(false, &[short])).unwrap();
    assert_eq!(got.notes, ["its description speaks of 3 pictures, but one is there"]);
}

/// A picture whose layout is that of a file with this compression and predictor.
fn packed(code: u64, predictor: u64, big_endian: bool, samples: SampleType, channels: usize) -> Picture {
    let bits = 8 * samples.bytes();
    let format = match samples {
        SampleType::I16 | SampleType::I32 => 2,
        s if s.is_float() => 3,
        _ => 1,
    };
    // One pixel, zero: packed by hand. A predictor changes nothing in it.
    let raw = vec![0_u8; (bits / 8) as usize * channels];
    let n = raw.len() as u8;
    let strip = match code {
        1 => raw,
        // Clear, the first zero, codes of longer and longer runs of zeros, end: one code for each byte will do.
        5 => lzw_literals(&raw),
        // A stored block; the checksum of zeros.
        8 | 32946 => {
            let sum = (u32::from(n) << 16) | 1;
            [&[0x78, 1, 1, n, 0, !n, 0xff][..], &raw, &sum.to_be_bytes()].concat()
        }
        32773 => vec![(257 - u16::from(n.max(2))) as u8, 0],
        // A frame of one raw block.
        50000 => [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, n, 1 | n << 3, 0, 0][..], &raw].concat(),
        _ => panic!("{code}"),
    };
    let mut dir = Dir::new(1, 1, &vec![bits; channels], if channels == 1 { 1 } else { 2 }, strip)
        .with(259, 3, &[code])
        .with(339, 3, &vec![format; channels]);
    if predictor > 1 {
        dir = dir.with(317, 3, &[predictor]);
    }
    let mut got = from_bytes(&tiff_chain(big_endian, &[dir])).unwrap();
    assert_eq!(got.pages[0].samples, samples);
    got.pages = vec![page(70, 50, samples, channels)];
    got
}

/// LZW in codes of 9 bits: clear, every byte for itself, end.
fn lzw_literals(bytes: &[u8]) -> Vec<u8> {
    let codes = [256].into_iter().chain(bytes.iter().map(|b| u32::from(*b))).chain([257]);
    let bits: Vec<bool> = codes.flat_map(|c| (0..9).rev().map(move |i| c >> i & 1 == 1)).collect();
    bits.chunks(8).map(|b| b.iter().enumerate().map(|(i, b)| u8::from(*b) << (7 - i)).sum()).collect()
}

#[test]
fn compression_predictor_and_byte_order_are_those_of_the_input() {
    for code in [1, 5, 8, 32946, 32773, 50000] {
        for samples in SAMPLES {
            for (predictor, big_endian, channels) in [(1, true, 1), (2, false, 3), (2, true, 1), (3, true, 3)]
            {
                if predictor == 3 && !samples.is_float() {
                    continue;
                }
                let what = format!("{code} {predictor} {samples:?} {big_endian}");
                let want = packed(code, predictor, big_endian, samples, channels);
                let (file, remarks) = to_bytes(&want, Format::Tiff);
                assert_eq!(remarks, [""; 0], "{what}");
                assert_eq!(file.starts_with(b"MM"), big_endian, "{what}");
                let dir = &directories(&file)[0];
                assert_eq!(values(dir, 259), Some(&[code][..]), "{what}");
                let useful = !matches!(code, 1 | 32773) && predictor > 1;
                assert_eq!(values(dir, 317), useful.then_some(&[predictor][..]), "{what}");
                same_pages(&from_bytes(&file).unwrap(), &want);
                if useful || predictor == 1 {
                    assert_eq!(from_bytes(&file).unwrap().metadata, want.metadata, "{what}");
                }
            }
        }
    }
}

#[test]
fn another_reader_sees_the_same_samples() {
    use tiff::decoder::{Decoder, DecodingResult};
    for code in [1, 5, 8, 32773] {
        for (samples, predictor) in [
            (SampleType::U8, 2),
            (SampleType::U16, 2),
            (SampleType::I16, 1),
            (SampleType::F32, 3),
            (SampleType::F64, 1),
        ] {
            for big_endian in [false, true] {
                let want = packed(code, predictor, big_endian, samples, 3);
                let (file, _) = to_bytes(&want, Format::Tiff);
                let mut decoder = Decoder::new(std::io::Cursor::new(&file)).unwrap();
                let got: Vec<f32> = match decoder.read_image().unwrap() {
                    DecodingResult::U8(v) => v.into_iter().map(f32::from).collect(),
                    DecodingResult::U16(v) => v.into_iter().map(f32::from).collect(),
                    DecodingResult::I16(v) => v.into_iter().map(f32::from).collect(),
                    DecodingResult::F32(v) => v,
                    DecodingResult::F64(v) => v.into_iter().map(|v| v as f32).collect(),
                    _ => panic!("another type"),
                };
                assert!(got == want.pages[0].frame.to_interleaved(), "{code} {samples:?} {big_endian}");
            }
        }
    }
}

#[test]
fn tiles_and_white_as_zero_come_back() {
    let data: Vec<u8> = (0..=255).collect();
    let mut tiled = Dir::new(10, 9, &[8], 0, data).with(322, 4, &[16]).with(323, 4, &[16]);
    // Two tiles are enough for a tile above and one below.
    tiled.entries[1].2 = vec![20];
    tiled.strips.push(vec![9; 256]);
    let mut file = tiff_chain(false, &[tiled]);
    for (strip, tile) in [([17, 1, 4, 0], 324_u16), ([23, 1, 4, 0], 325)] {
        let at = file.windows(4).rposition(|w| w == strip).unwrap();
        file[at..at + 2].copy_from_slice(&tile.to_le_bytes());
    }
    let got = from_bytes(&file).unwrap();
    assert_eq!(got.notes, [""; 0]);
    assert_eq!(grey_values(&got, 0)[..3], [255.0, 254.0, 253.0]);
    assert_eq!(grey_values(&got, 0)[199], 246.0);
    let (back, _) = to_bytes(&got, Format::Tiff);
    let dir = &directories(&back)[0];
    assert_eq!((values(dir, 322), values(dir, 262)), (Some(&[16][..]), Some(&[0][..])));
    assert_eq!(values(dir, 324).unwrap().len(), 2);
    same_pages(&from_bytes(&back).unwrap(), &got);
    let (png, _) = to_bytes(&got, Format::Png);
    assert_eq!(grey_values(&from_bytes(&png).unwrap(), 0)[0], 255.0);
}

#[test]
fn bigtiff_stays_bigtiff() {
    use tiff::encoder::{TiffEncoder, colortype::Gray16};
    let mut file = std::io::Cursor::new(Vec::new());
    let data: Vec<u16> = (0..600).collect();
    TiffEncoder::new_big(&mut file).unwrap().write_image::<Gray16>(30, 20, &data).unwrap();
    let got = from_bytes(file.get_ref()).unwrap();
    let (back, _) = to_bytes(&got, Format::Tiff);
    assert_eq!(back[..4], *b"II\x2b\0");
    same_pages(&from_bytes(&back).unwrap(), &got);
}

/// Tables and frame of a JPEG, as TIFF keeps them.
fn split_jpeg(jpeg: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut tables, mut frame, mut at) = (vec![0xff, 0xd8], vec![0xff, 0xd8], 2);
    loop {
        let end = at + 2 + usize::from(u16::from_be_bytes([jpeg[at + 2], jpeg[at + 3]]));
        match jpeg[at + 1] {
            0xdb | 0xc4 => tables.extend(&jpeg[at..end]),
            0xe0..=0xef | 0xfe => {}
            0xda => break,
            _ => frame.extend(&jpeg[at..end]),
        }
        at = end;
    }
    tables.extend([0xff, 0xd9]);
    frame.extend(&jpeg[at..]);
    (tables, frame)
}

#[test]
fn jpeg_inside_is_read_with_shared_tables_and_written_without_loss() {
    let ramp =
        |c: usize| (0..32 * 24).map(move |i| 40.0 + (i % 32) as f32 * (c + 2) as f32 + (i / 32) as f32);
    for channels in [1, 3] {
        let planes = (0..channels).map(|c| quell::Plane::from_vec(32, 24, ramp(c).collect()).unwrap());
        let frame = quell::Frame::new(planes.collect(), 255.0).unwrap();
        let smooth = quell_io::Page { frame, alpha: None, samples: SampleType::U8 };
        let (jpeg, _) = to_bytes(&picture(Format::Jpeg, vec![smooth.clone()]), Format::Jpeg);
        let (tables, strip) = split_jpeg(&jpeg);
        let tables: Vec<u64> = tables.into_iter().map(u64::from).collect();
        let bits = vec![8; channels];
        let dir = Dir::new(32, 24, &bits, if channels == 1 { 1 } else { 6 }, strip)
            .with(259, 3, &[7])
            .with(347, 7, &tables);
        let got = from_bytes(&tiff_chain(false, std::slice::from_ref(&dir))).unwrap();
        assert_eq!(got.notes, ["JPEG inside TIFF loses with every writing: written with deflate"]);
        for (got, want) in got.pages[0].frame.planes().iter().zip(smooth.frame.planes()) {
            let off = got.as_slice().iter().zip(want.as_slice()).map(|(g, w)| (g - w).abs());
            assert!(off.fold(0.0, f32::max) < 6.0);
        }
        let (file, _) = to_bytes(&got, Format::Tiff);
        let back = directories(&file);
        assert_eq!((values(&back[0], 259), values(&back[0], 347)), (Some(&[8][..]), None));
        same_pages(&from_bytes(&file).unwrap(), &got);
        // A frame that ends early, or of another size, is no picture.
        let mut short = dir.clone();
        short.strips[0].truncate(60);
        refusal(&tiff_chain(false, &[short]));
        let mut wide = dir;
        wide.entries[0].2 = vec![40];
        assert!(refusal(&tiff_chain(false, &[wide])).contains("32 x 24 pixels"));
    }
}

#[test]
fn palettes_are_expanded_unless_they_only_show_intensities() {
    // Index 0 red, 1 green, then grey; scaled by 257, by 256, and not at all.
    for (factor, samples, red) in
        [(257, SampleType::U8, 255.0), (256, SampleType::U8, 255.0), (251, SampleType::U16, 64005.0)]
    {
        let map: Vec<u64> = (0..3 * 16)
            .map(|i| match (i / 16, i % 16) {
                (0, 0) | (1, 1) => 255,
                (_, 0 | 1) => 0,
                (_, v) => v,
            })
            .map(|v| v * factor)
            .collect();
        let dir = Dir::new(3, 1, &[4], 3, vec![0x01, 0x50]).with(320, 3, &map);
        let got = from_bytes(&tiff_chain(false, std::slice::from_ref(&dir))).unwrap();
        assert_eq!(got.notes, ["the palette was expanded to RGB"]);
        assert_eq!(got.pages[0].samples, samples);
        let five = if samples == SampleType::U8 { 5.0 } else { 5.0 * 251.0 };
        let want = [red, 0.0, 0.0, 0.0, red, 0.0, five, five, five];
        assert_eq!(got.pages[0].frame.to_interleaved(), want);
        let back = directories(&to_bytes(&got, Format::Tiff).0);
        assert_eq!((values(&back[0], 262), values(&back[0], 320)), (Some(&[2][..]), None));
    }
    let map: Vec<u64> = (0..3 * 256).map(|i| (i * 83) % 65536).collect();
    let dir = Dir::new(3, 1, &[8], 3, vec![10, 11, 200]).with(320, 3, &map).text(270, "ImageJ=1.54f\n");
    let got = from_bytes(&tiff_chain(true, &[dir])).unwrap();
    assert_eq!((grey_values(&got, 0), &got.notes[..]), (vec![10.0, 11.0, 200.0], &[][..]));
    let back = directories(&to_bytes(&got, Format::Tiff).0);
    assert_eq!((values(&back[0], 262), values(&back[0], 320)), (Some(&[3][..]), Some(&map[..])));
}

#[test]
fn bits_in_reverse_order_are_read() {
    let dir = Dir::new(8, 1, &[1], 1, vec![0b0000_0101]).with(266, 3, &[2]);
    let got = from_bytes(&tiff_chain(false, &[dir])).unwrap();
    assert_eq!(grey_values(&got, 0), [255.0, 0.0, 255.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn circles_of_pages_are_refused() {
    let dir = || Dir::new(2, 1, &[8], 1, vec![1, 2]);
    for (pages, back_to) in [(1, 0), (3, 0), (3, 1)] {
        let dirs: Vec<Dir> = (0..pages).map(|_| dir()).collect();
        let mut file = tiff_chain(false, &dirs);
        // The places of the directories: the first in the header, each other at the end of the one before.
        let mut places = vec![u32::from_le_bytes(file[4..8].try_into().unwrap())];
        for _ in 1..pages {
            let at = *places.last().unwrap() as usize;
            let end = at + 2 + 12 * usize::from(file[at]);
            places.push(u32::from_le_bytes(file[end..end + 4].try_into().unwrap()));
        }
        let end = file.len() - 4;
        file[end..].copy_from_slice(&places[back_to].to_le_bytes());
        assert_eq!(refusal(&file), "damaged TIFF: its pages go round in a circle");
    }
}

#[test]
fn a_bomb_of_many_pages_is_refused_before_its_memory_is_taken() {
    // A thousand pages of half a million pixels, all from the same strip: below the limit of pixels, but 2 GB.
    let page = || {
        let mut dir = Dir::new(1000, 500, &[8], 1, vec![]).with(259, 3, &[5]);
        dir.strips.clear();
        dir.with(273, 4, &[8]).with(279, 4, &[100])
    };
    let dirs: Vec<Dir> = (0..1000).map(|_| page()).collect();
    let file = tiff_chain(false, &dirs);
    assert!(file.len() < 500_000);
    let e = refusal(&file);
    assert!(e.contains("1907 MB of memory"), "{e}");
    // The limit of pixels is looked at for all pages before any is read.
    let options = ReadOptions { max_pixels: 499_999_999, ..ReadOptions::default() };
    match decode(&file, None, &options) {
        Err(Error::PagesTooLarge { limit: 499_999_999 }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn tiles_far_larger_than_their_picture_are_refused() {
    let tile = |side| {
        let mut dir = Dir::new(10, 10, &[8], 1, vec![]).with(322, 4, &[side]).with(323, 4, &[side]);
        dir.strips.clear();
        tiff_chain(false, &[dir.with(259, 3, &[8]).with(324, 4, &[8]).with(325, 4, &[90])])
    };
    match from_bytes(&tile(30_000)) {
        Err(Error::TooLarge { width: 30_000, height: 30_000, .. }) => {}
        other => panic!("{other:?}"),
    }
    assert!(refusal(&tile(20_000)).contains("MB of memory"));
}

#[test]
fn sizes_beyond_all_memory_are_errors() {
    let options = ReadOptions { max_pixels: u64::MAX, ..ReadOptions::default() };
    let side = u64::from(u32::MAX / 2);
    for (height, code) in [(side, 1), (side, 5), (1, 8), (4, 32773)] {
        let dir = Dir::new(side, height, &[64], 1, vec![0; 64]).with(339, 3, &[3]).with(259, 3, &[code]);
        let e = decode(&tiff_chain(false, &[dir]), None, &options).unwrap_err();
        assert!(matches!(e, Error::Decode(_) | Error::Unsupported(_)), "{e:?}");
    }
}

#[test]
fn spoilt_layouts_are_refused_and_nothing_gives_up_on_them() {
    let options = ReadOptions { max_pixels: 1 << 16, ..ReadOptions::default() };
    let small = |code, predictor, channels| {
        let mut want = packed(code, predictor, code == 5, SampleType::U16, channels);
        want.pages = vec![page(9, 5, SampleType::U16, channels)];
        to_bytes(&want, Format::Tiff).0
    };
    let map: Vec<u64> = (0..3 * 16).map(|i| i * 1000).collect();
    let files = [
        small(5, 2, 1),
        small(8, 2, 3),
        small(32773, 1, 1),
        small(50000, 2, 1),
        tiff_chain(false, &[Dir::new(3, 1, &[4], 3, vec![0x01, 0x50]).with(320, 3, &map)]),
        tiff_chain(true, &[Dir::new(2, 1, &[8; 5], 1, vec![7; 10]).with(338, 3, &[0; 4]).with(284, 3, &[1])]),
        tiff_chain(false, &[Dir::new(16, 16, &[8], 0, vec![1; 256]).with(322, 4, &[16]).with(323, 4, &[16])]),
        tiff_chain(false, &[Dir::new(2, 1, &[8], 1, vec![7; 2]).text(270, "ImageJ=1\nimages=2\n")]),
    ];
    for (n, file) in files.iter().enumerate() {
        for i in 0..file.len() {
            for value in [0, 0x7f, 0xff, file[i] ^ 1, file[i] ^ 0x80, file[i].wrapping_add(1)] {
                let mut spoilt = file.clone();
                spoilt[i] = value;
                match decode(&spoilt, None, &options) {
                    Err(e) => assert!(!e.to_string().contains("gave up"), "file {n}, byte {i}, {value}: {e}"),
                    // What can be read can be written.
                    Ok(got) => drop(to_bytes(&got, Format::Tiff)),
                }
            }
        }
    }
}
