//! Files that are wrong in one way or another: a clear error, never a panic, never a wrong picture.

mod common;

use common::*;
use quell_io::{Error, Format, ReadOptions, SampleType, decode};

#[test]
fn what_is_not_a_picture_is_described() {
    assert_eq!(refusal(b""), "the file is empty");
    let e = decode(b"Dear all,\n", Some("png"), &ReadOptions::default()).unwrap_err();
    assert_eq!(e.to_string(), "not a picture: text that begins \"Dear all,\"");
    assert!(refusal(b"GIF89a").contains("convert it to PNG or TIFF"));
    let tiff = to_bytes(&simple(Format::Tiff, SampleType::U8, 1), Format::Tiff).0;
    let e = decode(&tiff, Some("NEF"), &ReadOptions::default()).unwrap_err();
    assert!(e.to_string().contains("camera raw"), "{e}");
}

#[test]
fn every_prefix_of_every_format_is_refused() {
    for format in Format::ALL {
        let samples =
            if matches!(format, Format::Pfm | Format::Exr) { SampleType::F32 } else { SampleType::U8 };
        let whole = to_bytes(&simple(format, samples, 3), format).0;
        let want = from_bytes(&whole).unwrap();
        for end in 0..whole.len() {
            match from_bytes(&whole[..end]) {
                Err(e) => assert!(!e.to_string().is_empty()),
                // PNG ends with checksums and an end mark; without them all pixels are there, and it is noted.
                Ok(got) => {
                    assert!(format == Format::Png && !got.notes.is_empty(), "{format:?} {end}");
                    assert_same_page(&got.pages[0], &want.pages[0]);
                }
            }
        }
    }
}

#[test]
fn spoilt_bytes_never_panic() {
    let options = ReadOptions { max_pixels: 1 << 16, ..ReadOptions::default() };
    for format in Format::ALL {
        let samples =
            if matches!(format, Format::Pfm | Format::Exr) { SampleType::F32 } else { SampleType::U8 };
        let whole = to_bytes(&simple(format, samples, 4), format).0;
        for i in 0..whole.len().min(600) {
            for value in [0, 0x7f, 0xff, whole[i] ^ 1, whole[i].wrapping_add(1)] {
                let mut spoilt = whole.clone();
                spoilt[i] = value;
                let _ = decode(&spoilt, None, &options);
            }
        }
    }
}

/// A file of each format whose header says 70000 x 70000.
fn huge() -> Vec<(Format, Vec<u8>)> {
    let n = 70_000_u32;
    let tiff = tiff_file(&[(256, 4, n), (257, 4, n), (258, 3, 8), (262, 3, 1)], b"1234");
    let npy = |dict: String| {
        let mut file = b"\x93NUMPY\x01\0".to_vec();
        file.extend((dict.len() as u16).to_le_bytes());
        file.extend(dict.bytes());
        file
    };
    let npy = npy(format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, {n}), }}\n"));
    let (small, _) = to_bytes(&picture(Format::Exr, vec![page(9, 9, SampleType::F32, 1)]), Format::Exr);
    let window = |side: u32| {
        [[0; 8].to_vec(), [side - 1, side - 1].iter().flat_map(|v| v.to_le_bytes()).collect()].concat()
    };
    let mut exr = small.clone();
    for i in 0..small.len() - 16 {
        if small[i..i + 16] == window(9) {
            exr[i..i + 16].copy_from_slice(&window(n));
        }
    }
    assert_ne!(exr, small);
    vec![
        (Format::Png, png_file([n, n], 8, 0, &[], &[0; 16])),
        (Format::Tiff, tiff),
        (Format::Pnm, format!("P5 {n} {n} 255\n1234").into_bytes()),
        (Format::Pfm, format!("Pf {n} {n} -1\n1234").into_bytes()),
        (Format::Exr, exr),
        (Format::Npy, npy),
    ]
}

#[test]
fn huge_headers_are_refused_before_memory_is_taken() {
    for (format, file) in huge() {
        assert_eq!(Format::from_bytes(&file), Some(format));
        match from_bytes(&file) {
            Err(Error::TooLarge { width: 70_000, height: 70_000, limit }) => assert_eq!(limit, 1 << 29),
            other => panic!("{format:?}: {other:?}"),
        }
    }
    // JPEG and WebP cannot say 70000; the limit holds for them too.
    let options = ReadOptions { max_pixels: 90, ..ReadOptions::default() };
    for format in Format::ALL {
        let file = to_bytes(&simple(format, SampleType::U8, 3), format).0;
        let e = decode(&file, None, &options).unwrap_err();
        assert!(matches!(e, Error::TooLarge { width: 13, height: 7, limit: 90 }), "{format:?}: {e:?}");
        let options = ReadOptions { max_pixels: 91, ..ReadOptions::default() };
        decode(&file, None, &options).unwrap();
    }
}

#[test]
fn the_limit_holds_for_all_pages_together() {
    let file = to_bytes(&picture(Format::Tiff, vec![page(10, 10, SampleType::U8, 1); 3]), Format::Tiff).0;
    let at = |max_pixels| decode(&file, None, &ReadOptions { max_pixels, ..ReadOptions::default() });
    assert_eq!(at(300).unwrap().pages.len(), 3);
    assert!(at(299).unwrap_err().to_string().contains("pages together"));
}

#[test]
fn pictures_without_pixels_are_refused() {
    for file in [
        &b"P5 0 5 255\n"[..],
        b"P6 5 0 255\n",
        b"Pf 0 0 -1\n",
        b"\x93NUMPY\x01\0\x3b\0{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5), }\n",
        &png_file([0, 4], 8, 0, &[], &[]),
    ] {
        let e = refusal(file);
        assert!(e.contains("0 x") || e.contains("x 0"), "{e}");
    }
}

#[test]
fn palettes_and_few_bits_are_expanded_with_a_note() {
    let palette = png_chunk(b"PLTE", &[10, 20, 30, 40, 50, 60]);
    let got = from_bytes(&png_file([2, 1], 8, 3, &[palette.clone()], &[0, 1, 0])).unwrap();
    assert_eq!(got.notes, ["the palette was expanded to RGB"]);
    assert_eq!(got.pages[0].frame.to_interleaved(), [40.0, 50.0, 60.0, 10.0, 20.0, 30.0]);
    let alpha = png_chunk(b"tRNS", &[7]);
    let got = from_bytes(&png_file([2, 1], 8, 3, &[palette, alpha], &[0, 1, 0])).unwrap();
    assert_eq!(got.pages[0].alpha.as_ref().unwrap().as_slice(), [255.0, 7.0]);
    for (bits, want) in [(1, [255.0, 0.0]), (2, [170.0, 85.0]), (4, [153.0, 85.0])] {
        let got = from_bytes(&png_file([2, 1], bits, 0, &[], &[0, 0b1001_0101])).unwrap();
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
fn wrong_pnm_headers_are_refused() {
    for file in [
        &b"P5 2 2 0\n1234"[..],
        b"P5 2 2 65536\n12345678",
        b"P5 two 2 255\n1234",
        b"P5 -2 2 255\n1234",
        b"P5 99999999999999999999 1 255\n",
        b"P2 2 2 255\n1 2 3",
        b"P1 2 2\n01 02",
        b"P7 WIDTH 1 HEIGHT 1 DEPTH 1 ENDHDR\n1",
        b"P7 WIDTH 1 HEIGHT 1 DEPTH 4 MAXVAL 255 TUPLTYPE CMYK ENDHDR\n1234",
        b"Pf 1 1 0\n1234",
        b"Pf 1 1 nan\n1234",
    ] {
        refusal(file);
    }
}

/// The bytes of a JPEG with its frame header changed.
fn jpeg_with(change: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut file = to_bytes(&simple(Format::Jpeg, SampleType::U8, 3), Format::Jpeg).0;
    let at = file.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    change(&mut file[at..]);
    file
}

#[test]
fn unsupported_kinds_of_jpeg_are_named() {
    assert!(refusal(&jpeg_with(|f| f[9] = 4)).starts_with("a CMYK JPEG is not supported; convert"));
    assert!(refusal(&jpeg_with(|f| f[4] = 12)).starts_with("a JPEG of 12 bits"));
    assert!(refusal(&jpeg_with(|f| f[1] = 0xc9)).starts_with("an arithmetic-coded JPEG"));
    assert!(refusal(&jpeg_with(|f| f[1] = 0xc3)).starts_with("a lossless JPEG"));
    assert!(refusal(&jpeg_with(|f| f[5..7].fill(0))).contains("x 0 pixels"));
}

/// A TIFF of one strip; each field is tag, kind, value.
fn tiff_file(fields: &[(u16, u16, u32)], data: &[u8]) -> Vec<u8> {
    let mut all = fields.to_vec();
    let offset = 8 + 2 + 12 * (fields.len() + 2) + 4;
    all.push((273, 4, offset as u32));
    all.push((279, 4, data.len() as u32));
    all.sort_unstable();
    let mut file = b"II\x2a\0\x08\0\0\0".to_vec();
    file.extend((all.len() as u16).to_le_bytes());
    for (tag, kind, value) in all {
        file.extend(tag.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend([1, 0, 0, 0]);
        file.extend(value.to_le_bytes());
    }
    file.extend([0; 4]);
    file.extend(data);
    file
}

#[test]
fn tiff_of_few_bits_and_white_as_zero_are_read() {
    let size = [(256, 4, 3), (257, 4, 2)];
    let fields = |more: &[(u16, u16, u32)]| [&size[..], more].concat();
    let bilevel = fields(&[(258, 3, 1), (262, 3, 1)]);
    let got = from_bytes(&tiff_file(&bilevel, &[0b1010_0000, 0b0100_0000])).unwrap();
    assert_eq!(got.pages[0].frame.to_interleaved(), [255.0, 0.0, 255.0, 0.0, 255.0, 0.0]);
    assert_eq!(got.notes, ["1-bit samples were expanded to 8 bits"]);
    let four = fields(&[(258, 3, 4), (262, 3, 1)]);
    let got = from_bytes(&tiff_file(&four, &[0x0f, 0x50, 0x12, 0x30])).unwrap();
    assert_eq!(got.pages[0].frame.to_interleaved(), [0.0, 255.0, 85.0, 17.0, 34.0, 51.0]);
    let inverted = fields(&[(258, 3, 8), (262, 3, 0)]);
    let got = from_bytes(&tiff_file(&inverted, &[0, 1, 2, 3, 4, 255])).unwrap();
    assert_eq!(got.pages[0].frame.to_interleaved(), [255.0, 254.0, 253.0, 252.0, 251.0, 0.0]);
    assert_eq!(got.notes.len(), 1);
}

#[test]
fn unsupported_kinds_of_tiff_are_named() {
    let size = [(256, 4, 1), (257, 4, 1)];
    let fields = |more: &[(u16, u16, u32)]| tiff_file(&[&size[..], more].concat(), &[0; 64]);
    for (file, word) in [
        (fields(&[(258, 3, 64), (262, 3, 1), (339, 3, 3)]), "64-bit float"),
        (fields(&[(258, 3, 16), (262, 3, 1), (339, 3, 2)]), "signed integer"),
        (fields(&[(258, 3, 32), (262, 3, 1)]), "32-bit integer"),
        (fields(&[(258, 3, 12), (262, 3, 1)]), "12-bit"),
        (fields(&[(258, 3, 8), (262, 3, 3)]), "not supported"),
        (fields(&[(258, 3, 8), (262, 3, 5), (277, 3, 4)]), "not supported"),
        (fields(&[(258, 3, 8), (259, 3, 7), (262, 3, 1)]), "not supported"),
        (fields(&[(254, 4, 1), (258, 3, 8), (262, 3, 1)]), "thumbnails only"),
    ] {
        let e = refusal(&file);
        assert!(e.contains(word), "{word}: {e}");
    }
}

fn npy(dict: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\0".to_vec();
    file.extend((dict.len() as u16 + 1).to_le_bytes());
    file.extend(dict.bytes());
    file.push(b'\n');
    file.extend(data);
    file
}

#[test]
fn arrays_of_other_types_and_shapes_are_refused_by_name() {
    for (kind, shape, word) in [
        ("<i4", "(2, 2)", "<i4"),
        ("|b1", "(2, 2)", "|b1"),
        ("<c8", "(2, 2)", "<c8"),
        ("<f2", "(2, 2)", "<f2"),
        ("|O", "(2, 2)", "|O"),
        ("<f4", "(4,)", "shape (4)"),
        ("<f4", "()", "shape ()"),
        ("<f4", "(2, 2, 5)", "shape (2, 2, 5)"),
        ("<f4", "(1, 2, 2, 3)", "shape (1, 2, 2, 3)"),
    ] {
        let dict = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
        let e = refusal(&npy(&dict, &[0; 64]));
        assert!(e.contains(word), "{word}: {e}");
    }
}

#[test]
fn arrays_are_read_in_every_order() {
    let values = [1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0];
    let dict = |kind: &str, fortran: &str| {
        format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': (2, 3), }}")
    };
    let little: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let got = from_bytes(&npy(&dict("<f8", "False"), &little)).unwrap();
    assert_eq!(got.pages[0].frame.to_interleaved(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(got.notes, ["float64 is read as float32, and written so"]);
    let big: Vec<u8> = values.iter().flat_map(|v| (*v as u16).to_be_bytes()).collect();
    let got = from_bytes(&npy(&dict(">u2", "True"), &big)).unwrap();
    assert_eq!(got.pages[0].frame.to_interleaved(), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    assert_eq!(got.pages[0].samples, SampleType::U16);
    // The last index is the channel: with Fortran order the planes lie one after the other.
    let rgba = "{'descr': '|u1', 'fortran_order': True, 'shape': (1, 2, 4), }";
    let got = from_bytes(&npy(rgba, &[1, 2, 3, 4, 5, 6, 7, 8])).unwrap();
    assert_eq!(got.pages[0].frame.to_interleaved(), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    assert_eq!(got.pages[0].alpha.as_ref().unwrap().as_slice(), [7.0, 8.0]);
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
