//! OpenEXR: what a file says of itself goes into the next one.

mod common;

use std::io::Cursor;

use common::*;
use exr::prelude::*;
use quell_io::{Format, SampleType as Samples};

/// A half picture of 6 x 4 in a larger frame, with attributes that everybody knows and one that nobody does.
fn file(compression: Compression) -> Vec<u8> {
    let pixels = SpecificChannels::rgb(|p: Vec2<usize>| {
        let v = (p.x() + 10 * p.y()) as f32 / 7.0;
        (f16::from_f32(v), f16::from_f32(-v), f16::from_f32(1000.0 * v))
    });
    let mut layer = LayerAttributes::named("beauty").with_position(Vec2(3, 2));
    layer.owner = Some("Someone".into());
    layer.comments = Some("a comment".into());
    layer.iso_speed = Some(800.0);
    let secret = AttributeValue::Bytes { type_hint: "secret".into(), bytes: [1, 2, 3].as_slice().into() };
    layer.other.insert("ours".into(), AttributeValue::Text("value".into()));
    let encoding = Encoding { compression, ..Encoding::UNCOMPRESSED };
    let mut image = ImageAttributes::new(IntegerBounds::new((0, 0), (20, 10)));
    image.chromaticities = Some(attribute::Chromaticities {
        red: Vec2(0.7, 0.3),
        green: Vec2(0.2, 0.7),
        blue: Vec2(0.1, 0.1),
        white: Vec2(0.3, 0.3),
    });
    image.other.insert("unknown".into(), secret);
    let mut out = Cursor::new(Vec::new());
    Image::new(image, Layer::new((6, 4), layer, encoding, pixels))
        .write()
        .non_parallel()
        .to_buffered(&mut out)
        .unwrap();
    out.into_inner()
}

fn header(bytes: &[u8]) -> exr::meta::header::Header {
    let mut meta = exr::meta::MetaData::read_from_buffered(Cursor::new(bytes), false).unwrap();
    meta.headers.remove(0)
}

#[test]
fn attributes_windows_half_and_compression_are_carried() {
    for compression in [Compression::Uncompressed, Compression::RLE, Compression::ZIP1, Compression::PIZ] {
        let first = file(compression);
        let picture = from_bytes(&first).unwrap();
        assert_eq!((picture.pages[0].samples, &picture.notes[..]), (Samples::F16, &[][..]));
        let (second, remarks) = to_bytes(&picture, Format::Exr);
        assert_eq!(remarks, [""; 0]);
        let (a, b) = (header(&first), header(&second));
        assert_eq!(b.compression, compression);
        assert_eq!(b.shared_attributes, a.shared_attributes);
        assert_eq!(b.own_attributes, a.own_attributes);
        assert!(b.channels.list.iter().all(|c| c.sample_type == SampleType::F16));
        assert_same_page(&from_bytes(&second).unwrap().pages[0], &picture.pages[0]);
    }
}

#[test]
fn attributes_that_other_formats_have_no_place_for_are_named() {
    let picture = from_bytes(&file(Compression::ZIP16)).unwrap();
    let (_, remarks) = to_bytes(&picture, Format::Pfm);
    let lost = remarks.iter().find(|r| r.ends_with("of the OpenEXR file: not kept")).unwrap();
    for name in ["chromaticities", "owner", "comments", "exposure", "ours", "unknown"] {
        assert!(lost.contains(name), "{name}: {lost}");
    }
    let plain = simple(Format::Exr, Samples::F32, 3);
    let plain = from_bytes(&to_bytes(&plain, Format::Exr).0).unwrap();
    assert_eq!(to_bytes(&plain, Format::Pfm).1, [""; 0]);
}

#[test]
fn results_beyond_half_stay_finite_and_infinities_stay() {
    let mut picture = from_bytes(&file(Compression::ZIP16)).unwrap();
    let row = picture.pages[0].frame.planes_mut()[0].row_mut(0);
    row[..3].copy_from_slice(&[70000.0, -1e9, f32::INFINITY]);
    let again = from_bytes(&to_bytes(&picture, Format::Exr).0).unwrap();
    assert_eq!(again.pages[0].frame.planes()[0].row(0)[..3], [65504.0, -65504.0, f32::INFINITY]);
}

#[test]
fn a_single_channel_keeps_its_name() {
    let mut out = Cursor::new(Vec::new());
    let pixels = SpecificChannels::build().with_channel::<f32>("Z").with_pixel_fn(|p| (p.x() as f32,));
    Image::from_channels((5, 3), pixels).write().non_parallel().to_buffered(&mut out).unwrap();
    let picture = from_bytes(&out.into_inner()).unwrap();
    let (bytes, _) = to_bytes(&picture, Format::Exr);
    assert_eq!(header(&bytes).channels.list[0].name.to_string(), "Z");
}
