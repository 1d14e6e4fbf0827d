//! Copies a clip frame by frame on two threads, and says how fast: what reading and writing alone cost.
//! `cargo run --release -p quell-io --example copy_clip -- IN OUT`

use std::error::Error;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Instant;

use quell::VideoFrame;
use quell_io::video::{VideoReadOptions, VideoReader, VideoWriteOptions, VideoWriter};

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [input, output] = &paths[..] else { return Err("usage: copy_clip IN OUT".into()) };
    let started = Instant::now();
    let mut reader = VideoReader::open(input, &VideoReadOptions::default())?;
    let mut writer = VideoWriter::create(output, reader.info(), &VideoWriteOptions::default())?;
    let (full, frames) = mpsc::sync_channel::<VideoFrame>(2);
    let (used, free) = mpsc::channel();
    let reading = std::thread::spawn(move || -> quell_io::Result<_> {
        let mut frame = VideoFrame { planes: Vec::new() };
        while reader.next(&mut frame)? {
            let next = free.try_recv().unwrap_or(VideoFrame { planes: Vec::new() });
            if full.send(std::mem::replace(&mut frame, next)).is_err() {
                break;
            }
        }
        Ok(reader.shortfall().cloned())
    });
    let mut count = 0;
    for frame in frames {
        writer.write(&frame, "")?;
        count += 1;
        // The reader may have ended.
        let _ = used.send(frame);
    }
    if let Some(short) = reading.join().map_err(|_| "the reader panicked")?? {
        writer.finish_short()?;
        return Err(short.to_string().into());
    }
    writer.finish()?;
    let seconds = started.elapsed().as_secs_f64();
    eprintln!("{count} frames in {seconds:.2} s, {:.0} fps", count as f64 / seconds);
    Ok(())
}
