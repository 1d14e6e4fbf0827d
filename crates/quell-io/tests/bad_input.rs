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
    let tiff =
        tiff_file(&[(256, 4, &[n]), (257, 4, &[n]), (258, 3, &[8]), (262, 3, &[1])], STRIPS, &[b"1234"]);
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
        (Format::Png, png_file([n, n], [8, 0, 0], &[], &[0; 16])),
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
        &png_file([0, 4], [8, 0, 0], &[], &[]),
    ] {
        let e = refusal(file);
        assert!(e.contains("0 x") || e.contains("x 0"), "{e}");
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

#[test]
fn unsupported_kinds_of_tiff_are_named() {
    let file = |more: &[(u16, u16, &[u32])]| {
        let size: [(u16, u16, &[u32]); 2] = [(256, 4, &[1]), (257, 4, &[1])];
        tiff_file(&[&size[..], more].concat(), STRIPS, &[&[0; 64]])
    };
    for (file, word) in [
        (file(&[(258, 3, &[24]), (262, 3, &[1]), (339, 3, &[3])]), "24-bit float"),
        (file(&[(258, 3, &[8]), (262, 3, &[1]), (339, 3, &[2])]), "8-bit signed integer"),
        (file(&[(258, 3, &[64]), (262, 3, &[1])]), "64-bit samples"),
        (file(&[(258, 3, &[64]), (262, 3, &[1]), (339, 3, &[6])]), "64-bit complex"),
        (file(&[(258, 3, &[5, 6, 5]), (262, 3, &[2]), (277, 3, &[3])]), "mixed"),
        (file(&[(258, 3, &[12]), (262, 3, &[1])]), "12-bit"),
        (file(&[(258, 3, &[8]), (262, 3, &[3])]), "palette is too short"),
        (file(&[(258, 3, &[8]), (262, 3, &[32803])]), "camera raw"),
        (file(&[(258, 3, &[8]), (262, 3, &[1]), (33629, 5, &[1, 2, 3, 4])]), "MetaMorph"),
        (file(&[(258, 3, &[8; 4]), (262, 3, &[5]), (277, 3, &[4])]), "CMYK"),
        (file(&[(258, 3, &[8; 3]), (262, 3, &[6]), (277, 3, &[3]), (530, 3, &[1, 1])]), "YCbCr"),
        (file(&[(258, 3, &[8]), (259, 3, &[4]), (262, 3, &[1])]), "fax compression"),
        (file(&[(258, 3, &[8]), (259, 3, &[34925]), (262, 3, &[1])]), "LZMA compression"),
        (file(&[(258, 3, &[8]), (259, 3, &[6]), (262, 3, &[1])]), "old JPEG compression"),
        (file(&[(254, 4, &[1]), (258, 3, &[8]), (262, 3, &[1])]), "thumbnails only"),
    ] {
        let e = refusal(&file);
        assert!(e.contains(word), "{word}: {e}");
    }
}

#[test]
fn arrays_of_other_types_and_shapes_are_refused_by_name() {
    for (kind, shape, word) in [
        ("|i1", "(2, 2)", "|i1"),
        ("<i8", "(2, 2)", "<i8"),
        ("<u8", "(2, 2)", "<u8"),
        ("|b1", "(2, 2)", "|b1"),
        ("<c8", "(2, 2)", "<c8"),
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
fn long_array_headers_are_refused() {
    assert_eq!(refusal(&npy(&" ".repeat(5000), &[])), "damaged NPY: a header of 5011 bytes");
}
