//! Any bytes at all: decoding gives a picture or an error, never a panic, never more memory than allowed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quell_io::ReadOptions;

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions { max_pixels: 1 << 20, ..ReadOptions::default() };
    if let Ok(picture) = quell_io::decode(bytes, None, &options) {
        let pixels: usize = picture.pages.iter().map(|p| p.frame.width() * p.frame.height()).sum();
        assert!(!picture.pages.is_empty() && pixels <= 1 << 20);
    }
});
