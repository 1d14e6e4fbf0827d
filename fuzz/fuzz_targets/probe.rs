//! Any text at all as what ffprobe says of a clip: understood or refused, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quell_io::video::parse_probe;

fuzz_target!(|text: &str| {
    parse_probe(text);
});
