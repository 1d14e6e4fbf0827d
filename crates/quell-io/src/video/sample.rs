//! Frames spread over a clip, looked at before it is read from its beginning: one frame tells too little of it, and
//! the first one is often black.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use quell::VideoFrame;

use super::ffmpeg;
use super::sequence::SequenceReader;
use super::y4m::Y4mReader;
use super::{Source, VideoReader};
use crate::Result;

/// What stands before every frame of a regular YUV4MPEG2 file.
const MARK: &[u8] = b"FRAME\n";
/// Frames that are read from the beginning where it cannot be told where the others are.
const AHEAD: u64 = 64;

/// Gives `take` up to `count` frames, evenly spread over the clip that `reader` was opened for; it is not moved. Returns
/// how many there were: 0 for pipes, which can be read only once. What cannot be read is left out: `reader` will tell.
///
/// ```
/// use quell_io::video::{VideoReadOptions, VideoReader, sample};
/// # let path = std::env::temp_dir().join(format!("quell-io-sample-doc-{}.y4m", std::process::id()));
/// # std::fs::write(&path, b"YUV4MPEG2 W1 H1 F25:1 Cmono\nFRAME\naFRAME\nbFRAME\ncFRAME\nd")?;
/// let reader = VideoReader::open(&path, &VideoReadOptions::default())?;
/// let mut seen = Vec::new();
/// let count = sample(&path, &reader, 2, |frame| seen.push(frame.clone()));
/// assert_eq!((count, seen[1].planes[0].view().to_floats(1.0)), (2, vec![f32::from(b'd')]));
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sample(path: &Path, reader: &VideoReader, count: usize, mut take: impl FnMut(&VideoFrame)) -> usize {
    let Some(frames) = reader.frames.filter(|n| *n > 0) else { return 0 };
    let mut taken = 0;
    let mut take = |frame: &VideoFrame| {
        take(frame);
        taken += 1;
    };
    match &reader.source {
        Source::Y4m(_) if !path.is_file() => {}
        Source::Y4m(r) => {
            let header = r.header_bytes() as u64;
            if let Ok(false) | Err(_) = y4m(path, reader, header, spread(frames, count), &mut take) {
                // What follows is damaged, or its frames have parameters: as far as it goes.
                let _ = ahead(path, reader, count, &mut take);
            }
        }
        Source::Pictures(r) => pictures(r, spread(frames, count), &mut take),
        // A decoder that fails here fails there, with a message.
        Source::Container(_) => drop(ffmpeg::sample(&reader.info, frames, count, &mut take)),
    }
    taken
}

/// The middles of `count` equal parts of so many frames; all of them if there are fewer.
pub(super) fn spread(frames: u64, count: usize) -> impl Iterator<Item = u64> {
    let count = frames.min(count as u64);
    (0..count).map(move |i| (2 * i + 1) * frames / (2 * count))
}

/// By the size of a frame. `false` if frames are not where they should be; nothing was taken then.
fn y4m(
    path: &Path,
    reader: &VideoReader,
    header: u64,
    numbers: impl Iterator<Item = u64>,
    take: &mut impl FnMut(&VideoFrame),
) -> Result<bool> {
    let format = &reader.info.format;
    let mut file = File::open(path)?;
    let mut first = vec![0; header as usize];
    file.read_exact(&mut first)?;
    let stride = (format.frame_bytes() + MARK.len()) as u64;
    let places: Vec<u64> = numbers.map(|n| header + n * stride).collect();
    for place in &places {
        let mut mark = [0; MARK.len()];
        file.seek(SeekFrom::Start(*place))?;
        file.read_exact(&mut mark)?;
        if mark != *MARK {
            return Ok(false);
        }
    }
    let mut frame = format.frame();
    for place in places {
        file.seek(SeekFrom::Start(place))?;
        if Y4mReader::new(Cursor::new(&first).chain(&file), u64::MAX)?.next(&mut frame)? {
            take(&frame);
        }
    }
    Ok(true)
}

/// Some of the first frames.
fn ahead(path: &Path, reader: &VideoReader, count: usize, take: &mut impl FnMut(&VideoFrame)) -> Result<()> {
    let mut from = Y4mReader::new(File::open(path)?, u64::MAX)?;
    let mut frame = reader.info.format.frame();
    let every = AHEAD.div_ceil(count.max(1) as u64);
    for n in 0..AHEAD {
        if !from.next(&mut frame)? {
            break;
        }
        if n % every == 0 {
            take(&frame);
        }
    }
    Ok(())
}

fn pictures(reader: &SequenceReader, numbers: impl Iterator<Item = u64>, take: &mut impl FnMut(&VideoFrame)) {
    let mut frame = reader.info().format.frame();
    for number in numbers {
        if reader.read_at(number, &mut frame).is_ok() {
            take(&frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_and_inside() {
        let spread = |frames, count| spread(frames, count).collect::<Vec<_>>();
        assert_eq!(spread(100, 4), [12, 37, 62, 87]);
        assert_eq!(spread(3, 8), [0, 1, 2]);
        assert_eq!(spread(1, 8), [0]);
        assert!(spread(0, 8).is_empty());
    }
}
