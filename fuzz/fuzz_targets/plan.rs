//! Any text as a parameter file.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| quell_fuzz::plan(text));
