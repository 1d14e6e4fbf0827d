//! Any bytes at all as a YUV4MPEG2 stream: frames or an error, never a panic, never more memory than allowed; and what
//! was read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quell_io::video::{Y4mReader, Y4mWriter};

const PIXELS: u64 = 1 << 14;

fuzz_target!(|bytes: &[u8]| {
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
});
