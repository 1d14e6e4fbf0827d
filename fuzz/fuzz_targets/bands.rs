//! Any bytes as a picture that is read in bands of rows.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quell_fuzz::bands(bytes));
