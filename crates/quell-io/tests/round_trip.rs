//! Every format, sample type and channel layout comes back as it went in, or as announced.

mod common;

use std::io::Cursor;

use common::*;
use quell::{Frame, Plane};
use quell_io::{Format, Metadata, Page, ReadOptions, SampleType, WriteOptions, decode, encode};

/// Whether a format holds a sample type and layout without any loss.
fn exact(format: Format, samples: SampleType, channels: usize) -> bool {
    use SampleType::*;
    match format {
        Format::Tiff | Format::Npy => true,
        Format::Png | Format::Pnm => matches!(samples, U8 | U16),
        Format::WebP => samples == U8 && channels >= 3,
        Format::Pfm => samples == F32 && channels % 2 == 1,
        Format::Exr => matches!(samples, F16 | F32),
        Format::Jpeg => false,
        _ => panic!("a new format"),
    }
}

#[test]
fn lossless_formats_return_every_sample() {
    let mut tried = 0;
    for format in Format::ALL {
        for samples in SAMPLES {
            for channels in 1..=4 {
                if !exact(format, samples, channels) {
                    continue;
                }
                tried += 1;
                for (w, h) in [(1, 1), (13, 7), (64, 33), (1, 40), (300, 2)] {
                    let mut want = picture(format, vec![page(w.max(2), h, samples, channels)]);
                    want.metadata.premultiplied = format == Format::Exr && channels % 2 == 0;
                    let (bytes, remarks) = to_bytes(&want, format);
                    assert_eq!(remarks, [""; 0], "{format:?} {samples:?} {channels}");
                    assert_eq!(Format::from_bytes(&bytes), Some(format));
                    // Arrays of two samples, and small ones, do not say what they are.
                    let got = from_bytes_as(&bytes, if channels > 1 { "YXS" } else { "YX" }).unwrap();
                    assert_eq!((got.format, got.pages.len()), (format, 1));
                    let notes = usize::from(samples == SampleType::F64);
                    assert_eq!(got.notes.len(), notes, "{format:?} {samples:?} {channels}");
                    assert_same_page(&got.pages[0], &want.pages[0]);
                    assert_eq!(got.metadata, want.metadata);
                }
            }
        }
    }
    assert_eq!(tried, 92);
}

/// What every other combination becomes: sample type, channels, and the largest error in units of white.
#[test]
fn lossy_combinations_convert_by_white_and_say_so() {
    for format in Format::ALL {
        for samples in SAMPLES {
            for channels in 1..=4 {
                if exact(format, samples, channels) {
                    continue;
                }
                let what = format!("{format:?} {samples:?} {channels}");
                let want = simple(format, samples, channels);
                let (bytes, remarks) = to_bytes(&want, format);
                let got = from_bytes(&bytes).unwrap();
                let (stored, tolerance) = match format {
                    Format::Png | Format::Pnm => (SampleType::U16, 0.5 / 65535.0),
                    // JPEG of noise is far from exact; its own test looks at smooth pictures.
                    Format::Jpeg => (SampleType::U8, 1.0),
                    Format::WebP => (SampleType::U8, 0.5 / 255.0),
                    _ => (SampleType::F32, 1e-7),
                };
                let plain = format == Format::Jpeg && samples == SampleType::U8 && channels % 2 == 1;
                assert_eq!(remarks.is_empty(), plain, "{what}: {remarks:?}");
                let page = &got.pages[0];
                assert_eq!(page.samples, stored, "{what}");
                assert_eq!(page.frame.white(), stored.white(), "{what}");
                let alpha = channels % 2 == 0 && !matches!(format, Format::Jpeg | Format::Pfm);
                assert_eq!(page.alpha.is_some(), alpha, "{what}");
                let grey = channels < 3 && format != Format::WebP;
                assert_eq!(page.frame.channels(), if grey { 1 } else { 3 }, "{what}");
                let close = |got: &Plane, want: &Plane| {
                    for (g, w) in got.as_slice().iter().zip(want.as_slice()) {
                        let (g, w) = (g / stored.white(), w / samples.white());
                        let w = if stored == SampleType::F32 { w } else { w.clamp(0.0, 1.0) };
                        // 32 bits go far beyond white, where float is coarser.
                        let close = tolerance * 1.01 * w.abs().max(1.0);
                        assert!((g - w).abs() <= close, "{what}: {g} for {w}");
                    }
                };
                for (c, plane) in page.frame.planes().iter().enumerate() {
                    close(plane, &want.pages[0].frame.planes()[if channels < 3 { 0 } else { c }]);
                }
                if let Some(plane) = &page.alpha {
                    close(plane, want.pages[0].alpha.as_ref().unwrap());
                }
            }
        }
    }
}

#[test]
fn jpeg_keeps_smooth_pictures_closely_and_better_with_quality() {
    let ramp = |k: f32| {
        let data = (0..64 * 48).map(|i| ((i % 64) as f32 * 3.0 + (i / 64) as f32 * k).round());
        Plane::from_vec(64, 48, data.collect()).unwrap()
    };
    for planes in [vec![ramp(1.0)], vec![ramp(1.0), ramp(0.5), ramp(0.2)]] {
        let page = Page { frame: Frame::new(planes, 255.0).unwrap(), alpha: None, samples: SampleType::U8 };
        let want = picture(Format::Jpeg, vec![page]);
        let mut worst = Vec::new();
        for jpeg_quality in [20, 95] {
            let mut file = Cursor::new(Vec::new());
            encode(&want, Format::Jpeg, &WriteOptions { jpeg_quality, ..WriteOptions::default() }, &mut file)
                .unwrap();
            let got = from_bytes(file.get_ref()).unwrap();
            let pairs = got.pages[0].frame.planes().iter().zip(want.pages[0].frame.planes());
            let errors = pairs.flat_map(|(g, w)| g.as_slice().iter().zip(w.as_slice()));
            worst.push(errors.map(|(g, w)| (g - w).abs()).fold(0.0, f32::max));
        }
        assert!(worst[1] <= 6.0 && worst[1] < worst[0], "{worst:?}");
    }
}

#[test]
fn tiff_keeps_pages_of_different_sizes_and_types() {
    let pages: Vec<Page> = (0..8).map(|i| page(5 + i, 9 - i, SAMPLES[i], 1 + i % 4)).collect();
    let (bytes, remarks) = to_bytes(&picture(Format::Tiff, pages.clone()), Format::Tiff);
    assert!(remarks.is_empty());
    let got = from_bytes(&bytes).unwrap();
    assert_eq!(got.pages.len(), 8);
    for (got, want) in got.pages.iter().zip(&pages) {
        assert_same_page(got, want);
    }
}

#[test]
fn tiff_remembers_premultiplied_alpha() {
    for premultiplied in [true, false] {
        let mut want = simple(Format::Tiff, SampleType::U16, 4);
        want.metadata.premultiplied = premultiplied;
        let got = from_bytes(&to_bytes(&want, Format::Tiff).0).unwrap();
        assert_eq!(got.metadata.premultiplied, premultiplied);
        let (_, remarks) = to_bytes(&want, Format::Png);
        assert_eq!(!remarks.is_empty(), premultiplied, "{remarks:?}");
    }
}

#[test]
fn several_pages_need_tiff_or_an_array() {
    let pages = vec![page(3, 3, SampleType::U8, 1); 3];
    for format in Format::ALL.into_iter().filter(|f| !matches!(f, Format::Tiff | Format::Npy)) {
        let mut file = Cursor::new(Vec::new());
        let e =
            encode(&picture(format, pages.clone()), format, &WriteOptions::default(), &mut file).unwrap_err();
        assert_eq!(e.to_string(), format!("{} holds one page, the picture has 3; use .tif", format.name()));
    }
}

#[test]
fn integers_are_rounded_and_clipped_and_nan_does_not_panic() {
    let data = vec![-3.0, 0.4, 0.6, 254.4, 254.6, 300.0, f32::NAN, f32::INFINITY];
    let frame = Frame::grey(Plane::from_vec(8, 1, data).unwrap(), 255.0).unwrap();
    let want = picture(Format::Png, vec![Page { frame, alpha: None, samples: SampleType::U8 }]);
    for format in [Format::Png, Format::Tiff, Format::Pnm, Format::Npy] {
        let got = from_bytes(&to_bytes(&want, format).0).unwrap();
        let got = got.pages[0].frame.planes()[0].as_slice().to_vec();
        assert_eq!(got, [0.0, 0.0, 1.0, 254.0, 255.0, 255.0, 0.0, 255.0], "{format:?}");
    }
    for format in [Format::Jpeg, Format::WebP] {
        to_bytes(&want, format);
    }
}

#[test]
fn float_is_not_clipped_even_where_it_is_not_a_number() {
    let data = vec![-3.0, 1e30, f32::NAN, f32::INFINITY];
    let frame = Frame::grey(Plane::from_vec(4, 1, data.clone()).unwrap(), 1.0).unwrap();
    let want = picture(Format::Tiff, vec![Page { frame, alpha: None, samples: SampleType::F32 }]);
    for format in [Format::Tiff, Format::Pfm, Format::Exr, Format::Npy] {
        let got = from_bytes(&to_bytes(&want, format).0).unwrap();
        let got = got.pages[0].frame.planes()[0].as_slice().to_vec();
        assert_eq!(got.map_bits(), data.clone().map_bits(), "{format:?}");
    }
}

trait MapBits {
    fn map_bits(self) -> Vec<u32>;
}

impl MapBits for Vec<f32> {
    fn map_bits(self) -> Vec<u32> {
        self.into_iter().map(f32::to_bits).collect()
    }
}

#[test]
fn the_white_level_can_be_given() {
    let (bytes, _) = to_bytes(&simple(Format::Png, SampleType::U16, 1), Format::Png);
    let options = ReadOptions { white: Some(4095.0), ..ReadOptions::default() };
    let mut got = decode(&bytes, None, &options).unwrap();
    assert_eq!(got.pages[0].frame.white(), 4095.0);
    // It does not change what is stored in the same sample type ...
    assert_eq!(to_bytes(&got, Format::Png).0, bytes);
    // ... but it is what conversions go by.
    got.pages[0].frame.planes_mut()[0].as_mut_slice()[0] = 4095.0;
    let float = from_bytes(&to_bytes(&got, Format::Pfm).0).unwrap();
    assert_eq!(float.pages[0].frame.planes()[0].as_slice()[0], 1.0);
    let options = ReadOptions { white: Some(-1.0), ..ReadOptions::default() };
    assert!(decode(&bytes, None, &options).unwrap_err().to_string().contains("white"));
}

#[test]
fn pnm_keeps_its_largest_value() {
    let file = b"P5 # ten bits\n2 1\n1023\n\x00\x07\x03\xff";
    let got = from_bytes(file).unwrap();
    assert_eq!(got.pages[0].frame.white(), 1023.0);
    assert_eq!(got.pages[0].frame.planes()[0].as_slice(), [7.0, 1023.0]);
    assert_eq!(to_bytes(&got, Format::Pnm).0, b"P5\n2 1\n1023\n\x00\x07\x03\xff");
    let (png, remarks) = to_bytes(&got, Format::Png);
    assert_eq!(remarks, ["PNG stores no white level: 1023 stored as 65535"]);
    assert_eq!(from_bytes(&png).unwrap().pages[0].frame.planes()[0].as_slice(), [448.0, 65535.0]);
}

#[test]
fn metadata_that_has_no_place_is_named() {
    let mut want = simple(Format::Png, SampleType::U8, 3);
    want.metadata =
        Metadata { icc: Some(vec![1]), exif: Some(vec![2]), xmp: Some(vec![3]), ..Metadata::default() };
    let (_, remarks) = to_bytes(&want, Format::Pnm);
    assert_eq!(remarks.len(), 3, "{remarks:?}");
}
