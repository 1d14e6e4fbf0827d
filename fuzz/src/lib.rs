//! What every target does, and the seeds that it starts from. A test of quell-io does the same for a few seconds, without
//! a fuzzer (`scripts/fuzz --smoke`).

pub mod seeds;

use std::io::Cursor;

use quell::bm3d::{Params, Plan, Profile};
use quell_io::bands::{Band, BandReader};
use quell_io::video::{Y4mReader, Y4mWriter, parse_probe};
use quell_io::{Error, Format, ReadOptions, WriteOptions};

/// Pixels at most: a target that takes seconds finds nothing.
const PIXELS: u64 = 1 << 16;

/// What a target does with its input.
pub type Target = fn(&[u8]);

/// Every target by the name of its file.
pub const TARGETS: [(&str, Target); 12] = [
    ("decode_png", |bytes| decode(Format::Png, bytes)),
    ("decode_jpeg", |bytes| decode(Format::Jpeg, bytes)),
    ("decode_tiff", |bytes| decode(Format::Tiff, bytes)),
    ("decode_webp", |bytes| decode(Format::WebP, bytes)),
    ("decode_pnm", |bytes| decode(Format::Pnm, bytes)),
    ("decode_pfm", |bytes| decode(Format::Pfm, bytes)),
    ("decode_exr", |bytes| decode(Format::Exr, bytes)),
    ("decode_npy", |bytes| decode(Format::Npy, bytes)),
    ("plan", |bytes| plan(&String::from_utf8_lossy(bytes))),
    ("probe", |bytes| probe(&String::from_utf8_lossy(bytes))),
    ("bands", bands),
    ("y4m", y4m),
];

/// Any bytes as a picture: decoding gives a picture or an error, never a panic, never more memory than allowed; and
/// what was read can be written in the same format and read again.
///
/// Formats are told by the first bytes, so other ones are not looked at.
pub fn decode(format: Format, bytes: &[u8]) {
    if Format::from_bytes(bytes) != Some(format) {
        return;
    }
    let options = ReadOptions { max_pixels: PIXELS, ..ReadOptions::default() };
    let Ok(picture) = quell_io::decode(bytes, None, &options) else { return };
    let pixels: usize = picture.pages.iter().map(|p| p.frame.width() * p.frame.height()).sum();
    assert!(!picture.pages.is_empty() && pixels as u64 <= PIXELS);
    let mut file = Cursor::new(Vec::new());
    // Some pictures cannot be written back, such as a WebP that is too wide; that is an error, not a panic.
    if quell_io::encode(&picture, format, &WriteOptions::default(), &mut file).is_ok() {
        let again =
            quell_io::decode(&file.into_inner(), None, &options).expect("what was written can be read");
        assert_eq!(again.pages.len(), picture.pages.len());
        let size = |p: &quell_io::Page| (p.frame.width(), p.frame.height(), p.frame.channels());
        assert!(again.pages.iter().zip(&picture.pages).all(|(a, b)| size(a) == size(b)));
    }
}

/// Any bytes as a picture in bands: never a panic; and rows are those of the whole picture, if it can be read.
pub fn bands(bytes: &[u8]) {
    let options = ReadOptions { max_pixels: PIXELS, ..ReadOptions::default() };
    let Ok(Some(mut reader)) = BandReader::new(Cursor::new(bytes.to_vec()), None, &options) else { return };
    if (reader.width() as u64).saturating_mul(reader.height() as u64) > PIXELS {
        return;
    }
    let whole = quell_io::decode(bytes, None, &options);
    let (mut band, mut top) = (Band::default(), 0);
    while top < reader.height() {
        let rows = top..reader.height().min(top + 5);
        if reader.rows(rows.clone(), &mut band).is_err() {
            assert!(whole.is_err(), "rows {rows:?} are refused, but not the picture");
            return;
        }
        if let Ok(whole) = &whole {
            let frame = band.frame().expect("white was accepted");
            let got = frame.planes().iter().copied().chain(band.alpha());
            for (got, want) in got.zip(whole.pages[0].frame.planes().iter().chain(&whole.pages[0].alpha)) {
                let want = want.view().band(rows.clone());
                let same = got.rows().flatten().zip(want.rows().flatten());
                assert!(same.into_iter().all(|(a, b)| a.to_bits() == b.to_bits()), "rows {rows:?}");
            }
        }
        top += 3;
    }
    // Padding of tiles counts as pixels where they are unpacked together.
    assert!(whole.is_ok() || matches!(whole, Err(Error::TooLarge { .. })), "{whole:?}");
}

/// Any text as a parameter file: it is refused with an error or gives a plan, never a panic.
pub fn plan(text: &str) {
    let Ok(params) = Params::from_toml(text, &Profile::Normal.params(25.0)) else { return };
    if params.validate().is_ok() {
        let _ = Plan::new(&params, 32, 32, &[25.0]);
        let _ = Plan::new(&params, 32, 32, &[25.0; 3]);
    }
}

/// Any text at all as what ffprobe says of a clip: understood or refused, never a panic.
pub fn probe(text: &str) {
    parse_probe(text);
}

/// Any bytes at all as a YUV4MPEG2 stream: frames or an error, never a panic, never more memory than allowed; and what
/// was read can be written and read again.
pub fn y4m(bytes: &[u8]) {
    const PIXELS: u64 = 1 << 14;
    let Ok(mut reader) = Y4mReader::new(bytes, PIXELS) else { return };
    let format = reader.info().format;
    assert!((format.width * format.height) as u64 <= PIXELS);
    let mut frame = format.frame();
    let mut copy = Y4mWriter::new(Vec::new(), reader.info()).expect("what was read can be written");
    let mut frames = 0;
    while let Ok(true) = reader.next(&mut frame) {
        copy.write(&frame, reader.parameters()).expect("memory takes everything");
        frames += 1;
    }
    if frames == 0 {
        return;
    }
    let copy = copy.finish().expect("memory takes everything");
    let mut again = Y4mReader::new(&copy[..], PIXELS).expect("what was written can be read");
    assert_eq!(again.info().format, format);
    let mut count = 0;
    while again.next(&mut frame).expect("every frame is whole") {
        count += 1;
    }
    assert_eq!(count, frames);
}
