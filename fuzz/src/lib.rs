//! What every target for pictures does.

use std::io::Cursor;

use quell_io::bands::{Band, BandReader};
use quell_io::{Error, Format, ReadOptions, WriteOptions};

/// Pixels at most: a target that takes seconds finds nothing.
const PIXELS: u64 = 1 << 16;

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
