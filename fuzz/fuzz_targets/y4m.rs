//! Any bytes as a YUV4MPEG2 stream.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quell_fuzz::y4m(bytes));
