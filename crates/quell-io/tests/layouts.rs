//! Layouts that other programs write and this crate does not.

mod common;

use common::*;

#[test]
fn palettes_and_few_bits_are_expanded_with_a_note() {
    let palette = png_chunk(b"PLTE", &[10, 20, 30, 40, 50, 60]);
    let got = from_bytes(&png_file([2, 1], [8, 3, 0], std::slice::from_ref(&palette), &[0, 1, 0])).unwrap();
    assert_eq!(got.notes, ["the palette was expanded to RGB"]);
    assert_eq!(got.pages[0].frame.to_interleaved(), [40.0, 50.0, 60.0, 10.0, 20.0, 30.0]);
    let alpha = png_chunk(b"tRNS", &[7]);
    let got = from_bytes(&png_file([2, 1], [8, 3, 0], &[palette, alpha], &[0, 1, 0])).unwrap();
    assert_eq!(got.pages[0].alpha.as_ref().unwrap().as_slice(), [255.0, 7.0]);
    for (bits, want) in [(1, [255.0, 0.0]), (2, [170.0, 85.0]), (4, [153.0, 85.0])] {
        let got = from_bytes(&png_file([2, 1], [bits, 0, 0], &[], &[0, 0b1001_0101])).unwrap();
        assert_eq!(got.notes, [format!("{bits}-bit samples were expanded to 8 bits")]);
        assert_eq!(got.pages[0].frame.planes()[0].as_slice(), want);
    }
}

#[test]
fn plain_and_bitmap_pnm_are_read() {
    for (file, want) in [
        (&b"P1\n# ink\n3 1\n101"[..], &[0.0, 255.0, 0.0][..]),
        (b"P4 3 1\n\xa0", &[0.0, 255.0, 0.0]),
        (b"P2 3 1 255\n0 7\n255", &[0.0, 7.0, 255.0]),
        (b"P3 1 1 255 1 2 3", &[1.0, 2.0, 3.0]),
        (
            b"P7\nWIDTH 2\nHEIGHT 1\nDEPTH 1\nMAXVAL 1\nTUPLTYPE BLACKANDWHITE\nENDHDR\n\x00\x01",
            &[0.0, 255.0],
        ),
    ] {
        assert_eq!(from_bytes(file).unwrap().pages[0].frame.to_interleaved(), want);
    }
}

#[test]
fn tiff_of_few_bits_and_white_as_zero_are_read() {
    let read = |bits: u32, photometric: u32, data: &[u8]| {
        let fields: [(u16, u16, &[u32]); 4] =
            [(256, 4, &[3]), (257, 4, &[2]), (258, 3, &[bits]), (262, 3, &[photometric])];
        let got = from_bytes(&tiff_file(&fields, STRIPS, &[data])).unwrap();
        (got.pages[0].frame.to_interleaved(), got.notes)
    };
    let (got, notes) = read(1, 1, &[0b1010_0000, 0b0100_0000]);
    assert_eq!(got, [255.0, 0.0, 255.0, 0.0, 255.0, 0.0]);
    assert_eq!(notes, ["1-bit samples were expanded to 8 bits"]);
    let (got, _) = read(4, 1, &[0x0f, 0x50, 0x12, 0x30]);
    assert_eq!(got, [0.0, 255.0, 85.0, 17.0, 34.0, 51.0]);
    let (got, notes) = read(8, 0, &[0, 1, 2, 3, 4, 255]);
    assert_eq!(got, [255.0, 254.0, 253.0, 252.0, 251.0, 0.0]);
    assert_eq!(notes, [""; 0]);
}

#[test]
fn tiff_in_planes_and_tiles_is_read() {
    // Two strips for each of three planes.
    let rgb: [(u16, u16, &[u32]); 7] = [
        (256, 4, &[2]),
        (257, 4, &[2]),
        (258, 3, &[8, 8, 8]),
        (262, 3, &[2]),
        (277, 3, &[3]),
        (278, 4, &[1]),
        (284, 3, &[2]),
    ];
    let strips: [&[u8]; 6] = [&[1, 2], &[3, 4], &[11, 12], &[13, 14], &[21, 22], &[23, 24]];
    let got = from_bytes(&tiff_file(&rgb, STRIPS, &strips)).unwrap();
    for (c, plane) in got.pages[0].frame.planes().iter().enumerate() {
        assert_eq!(plane.as_slice(), [1.0, 2.0, 3.0, 4.0].map(|v| v + 10.0 * c as f32));
    }
    // Four tiles of 16 x 16 for 20 x 18 pixels of 16 bits; what lies outside is filling.
    let grey: [(u16, u16, &[u32]); 6] =
        [(256, 4, &[20]), (257, 4, &[18]), (258, 3, &[16]), (262, 3, &[1]), (322, 4, &[16]), (323, 4, &[16])];
    let tile = |x0: u16, y0: u16| -> Vec<u8> {
        let at = |i: u16| (y0 + i / 16) * 100 + x0 + i % 16;
        (0..256).flat_map(|i| at(i).to_le_bytes()).collect()
    };
    let tiles = [tile(0, 0), tile(16, 0), tile(0, 16), tile(16, 16)];
    let tiles: Vec<&[u8]> = tiles.iter().map(|t| &t[..]).collect();
    let got = from_bytes(&tiff_file(&grey, TILES, &tiles)).unwrap();
    let want: Vec<f32> = (0..18 * 20).map(|i| (i / 20 * 100 + i % 20) as f32).collect();
    assert_eq!(got.pages[0].frame.planes()[0].as_slice(), want);
}

#[test]
fn compressed_tiff_and_bigtiff_are_read() {
    use tiff::encoder::{Compression, DeflateLevel, Predictor, TiffEncoder, colortype::RGB16};
    let data: Vec<u16> = (0..50 * 40 * 3_u32).map(|i| (i * 37 % 65521) as u16).collect();
    for (name, compression) in [
        ("none", Compression::Uncompressed),
        ("LZW", Compression::Lzw),
        ("deflate", Compression::Deflate(DeflateLevel::Balanced)),
        ("PackBits", Compression::Packbits),
    ] {
        for predictor in [Predictor::None, Predictor::Horizontal] {
            let mut file = std::io::Cursor::new(Vec::new());
            let encoder = TiffEncoder::new_big(&mut file).unwrap();
            let mut encoder = encoder.with_compression(compression).with_predictor(predictor);
            encoder.write_image::<RGB16>(50, 40, &data).unwrap();
            let got = from_bytes(file.get_ref()).unwrap();
            let got: Vec<u16> = got.pages[0].frame.to_interleaved().iter().map(|v| *v as u16).collect();
            assert!(got == data, "{name} {predictor:?}");
        }
    }
}

#[test]
fn interlaced_png_is_read() {
    // The seven passes of a 3 x 3 picture; two are empty.
    let rows = [0, 1, 0, 3, 0, 7, 9, 0, 2, 0, 8, 0, 4, 5, 6];
    let got = from_bytes(&png_file([3, 3], [8, 0, 1], &[], &rows)).unwrap();
    assert_eq!(got.pages[0].frame.to_interleaved(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
}

#[test]
fn exr_of_half_floats_and_other_channels_is_read_with_notes() {
    use exr::prelude::*;
    let mut file = std::io::Cursor::new(Vec::new());
    let channels = SpecificChannels::build().with_channel("Y").with_channel("Z");
    let pixels = channels.with_pixel_fn(|p: Vec2<usize>| (f16::from_f32(p.x() as f32 * 0.5), 9.0_f32));
    Image::from_channels((3, 1), pixels).write().to_buffered(&mut file).unwrap();
    let got = from_bytes(file.get_ref()).unwrap();
    assert_eq!(got.pages[0].frame.to_interleaved(), [0.0, 0.5, 1.0]);
    assert_eq!(got.pages[0].samples, quell_io::SampleType::F16);
    assert_eq!(got.notes, ["channels not used: Z"]);
}

#[test]
fn pfm_is_read_in_both_byte_orders_from_the_bottom_up() {
    let rows = [[1.0_f32, 2.0], [3.0, 4.0]];
    for (scale, swap) in [("-1.0", false), ("1.0", true), ("-2.5", false)] {
        let mut file = format!("Pf\n2 2\n{scale}\n").into_bytes();
        for v in rows.iter().rev().flatten() {
            file.extend(if swap { v.to_be_bytes() } else { v.to_le_bytes() });
        }
        let got = from_bytes(&file).unwrap();
        assert_eq!(got.pages[0].frame.to_interleaved(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(got.notes.is_empty(), scale != "-2.5");
    }
}
