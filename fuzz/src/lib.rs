//! What every target for pictures does.

use quell_io::{Format, ReadOptions, WriteOptions};

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
    let mut file = std::io::Cursor::new(Vec::new());
    // Some pictures cannot be written back, such as a WebP that is too wide; that is an error, not a panic.
    if quell_io::encode(&picture, format, &WriteOptions::default(), &mut file).is_ok() {
        let again =
            quell_io::decode(&file.into_inner(), None, &options).expect("what was written can be read");
        assert_eq!(again.pages.len(), picture.pages.len());
        let size = |p: &quell_io::Page| (p.frame.width(), p.frame.height(), p.frame.channels());
        assert!(again.pages.iter().zip(&picture.pages).all(|(a, b)| size(a) == size(b)));
    }
}
