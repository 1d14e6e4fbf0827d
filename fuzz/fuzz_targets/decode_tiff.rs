//! Any bytes as a file of this format.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quell_fuzz::decode(quell_io::Format::Tiff, bytes));
