//! Any text as what ffprobe says of a clip.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| quell_fuzz::probe(text));
