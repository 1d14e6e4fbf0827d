//! Reading, filtering and writing at once: a thread reads ahead, a thread writes behind, a few frames lie between
//! them, and frames that are written are read into again. Memory does not depend on the length.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use quell::{Cancel, Stream, VideoFrame};
use quell_io::video::{Shortfall, VideoReader, VideoWriter};

use super::part::Reading;

/// Frames that wait before the filter, and behind it.
const QUEUE: usize = 2;
/// How often a wait for the next frame looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// What happens to frames on their way.
pub(super) trait Filter {
    /// Takes a frame, and gives the one that is due.
    fn push(&mut self, frame: VideoFrame) -> quell::Result<Option<VideoFrame>>;
    /// Gives those that are left.
    fn flush(&mut self) -> quell::Result<Option<VideoFrame>>;
}

impl Filter for Stream {
    fn push(&mut self, frame: VideoFrame) -> quell::Result<Option<VideoFrame>> {
        Stream::push(self, frame)
    }

    fn flush(&mut self) -> quell::Result<Option<VideoFrame>> {
        Stream::flush(self)
    }
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Finished {
    /// Frames that were written.
    pub(super) frames: u64,
    /// Remarks of the reader, also those it had before.
    pub(super) read: Vec<String>,
    /// Remarks of the writer.
    pub(super) written: Vec<String>,
    /// What is missing of the input, and whether the output is there nevertheless.
    pub(super) short: Option<(Shortfall, bool)>,
}

/// A frame, with its YUV4MPEG2 parameters.
type Parcel = (VideoFrame, String);

enum Read {
    Frame(Parcel),
    Failed(quell_io::Error),
    End(Ending),
}

/// What the reader has to say at the end.
struct Ending {
    /// Before those that were wanted.
    skipped: u64,
    frames: u64,
    notes: Vec<String>,
    shortfall: Option<Shortfall>,
}

enum Write {
    Frame(Parcel),
    /// All were sent.
    End,
    /// All were sent, but the input had more.
    Short,
}

/// What the writer has to say at the end.
#[derive(Default)]
struct Written {
    notes: Vec<String>,
    /// The output is there.
    kept: bool,
}

/// Where an error comes from, for the message.
pub(super) enum Error {
    /// The input.
    Read(quell_io::Error),
    /// The filter, or Ctrl-C.
    Filter(quell::Error),
    /// The output.
    Write(quell_io::Error),
}

/// Why frames stop before the end.
enum Stop {
    Read(quell_io::Error),
    Filter(quell::Error),
    /// Its thread knows why.
    Writer,
}

impl From<quell::Error> for Stop {
    fn from(e: quell::Error) -> Self {
        Self::Filter(e)
    }
}

/// Runs a clip, or a part of it, through `filter`; `shown` hears how many frames are done. After an error the output is gone; a
/// reader that waits for a pipe is left alone.
pub(super) fn run(
    reader: VideoReader,
    reading: Reading,
    filter: &mut impl Filter,
    writer: VideoWriter,
    cancel: &Cancel,
    shown: impl FnMut(u64),
) -> Result<Finished, Error> {
    let (read, frames) = mpsc::sync_channel(QUEUE);
    let (write, clean) = mpsc::sync_channel(QUEUE);
    let (used, free) = mpsc::channel();
    let part = reading != Reading::all();
    let Reading { skip, count, wanted } = reading;
    let ahead = thread::spawn(move || read_ahead(reader, skip, count, &free, &read));
    let behind = thread::spawn(move || write_behind(writer, &clean, &used));
    let mut out = Out { write, parameters: VecDeque::new(), done: 0, wanted, written: 0, shown };
    let read = feed(&frames, filter, cancel, &mut out);
    if let Ok(Some(Ending { shortfall, frames, .. })) = &read
        && *frames == out.done
        && (out.written > 0 || !part)
    {
        // A writer that has failed takes nothing more; its error is fetched in either case.
        let _ = out.write.send(if shortfall.is_some() { Write::Short } else { Write::End });
    }
    let Out { write, done, written: frames_written, .. } = out;
    drop((write, frames));
    let written = joined(behind);
    match read {
        Ok(Some(Ending { frames, .. })) if frames != done => {
            let e = std::io::Error::other(format!("{done} of {frames} frames came out of the filter"));
            Err(Error::Read(e.into()))
        }
        Ok(Some(Ending { skipped, frames, .. })) if frames_written == 0 && part => {
            let e = format!("it has only {} frames, and --frames begins behind them", skipped + frames);
            Err(Error::Read(std::io::Error::other(e).into()))
        }
        Ok(Some(Ending { notes, shortfall, .. })) => {
            let written = written.map_err(Error::Write)?;
            let short = shortfall.map(|s| (s, written.kept));
            Ok(Finished { frames: frames_written, read: notes, written: written.notes, short })
        }
        Ok(None) => {
            joined(ahead);
            Err(Error::Read(std::io::Error::other("the reader ended early").into()))
        }
        Err(Stop::Read(e)) => Err(Error::Read(e)),
        Err(Stop::Filter(e)) => Err(Error::Filter(e)),
        Err(Stop::Writer) => Err(Error::Write(match written {
            Err(e) => e,
            Ok(_) => std::io::Error::other("the writer ended early").into(),
        })),
    }
}

/// All frames from the reader to the writer; how the reader ended, or nothing if it panicked.
fn feed(
    frames: &Receiver<Read>,
    filter: &mut impl Filter,
    cancel: &Cancel,
    out: &mut Out<impl FnMut(u64)>,
) -> Result<Option<Ending>, Stop> {
    let go_on = || if cancel.is_cancelled() { Err(quell::Error::Cancelled) } else { Ok(()) };
    let ending = loop {
        go_on()?;
        match frames.recv_timeout(PATIENCE) {
            Ok(Read::Frame((frame, parameters))) => {
                out.parameters.push_back(parameters);
                if let Some(clean) = filter.push(frame)? {
                    out.send(clean)?;
                }
            }
            Ok(Read::Failed(e)) => return Err(Stop::Read(e)),
            Ok(Read::End(ending)) => break ending,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    };
    while let Some(clean) = filter.flush()? {
        go_on()?;
        out.send(clean)?;
    }
    Ok(Some(ending))
}

/// The way to the writer.
struct Out<F> {
    write: SyncSender<Write>,
    /// Of frames that are in the filter; they come out in order.
    parameters: VecDeque<String>,
    /// That came out of the filter.
    done: u64,
    /// Those of them that are written.
    wanted: Range<u64>,
    written: u64,
    shown: F,
}

impl<F: FnMut(u64)> Out<F> {
    fn send(&mut self, frame: VideoFrame) -> Result<(), Stop> {
        let parameters = self.parameters.pop_front().unwrap_or_default();
        self.done += 1;
        if !self.wanted.contains(&(self.done - 1)) {
            return Ok(());
        }
        self.write.send(Write::Frame((frame, parameters))).map_err(|_| Stop::Writer)?;
        self.written += 1;
        (self.shown)(self.written);
        Ok(())
    }
}

fn joined<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Reads until the end of what is wanted, an error, or nobody listens.
fn read_ahead(
    mut reader: VideoReader,
    skip: u64,
    count: Option<u64>,
    free: &Receiver<VideoFrame>,
    to: &SyncSender<Read>,
) {
    let (mut skipped, mut frames) = (0, 0);
    loop {
        let mut frame = free.try_recv().unwrap_or(VideoFrame { planes: Vec::new() });
        let enough = count.is_some_and(|count| frames >= count);
        let message = match if enough { Ok(false) } else { reader.next(&mut frame) } {
            Ok(true) if skipped < skip => {
                skipped += 1;
                continue;
            }
            Ok(true) => {
                frames += 1;
                Read::Frame((frame, reader.parameters().to_owned()))
            }
            Ok(false) => {
                let notes = reader.notes().to_vec();
                let shortfall = if enough { None } else { reader.shortfall().cloned() };
                Read::End(Ending { skipped, frames, notes, shortfall })
            }
            Err(e) => Read::Failed(e),
        };
        let last = !matches!(message, Read::Frame(_));
        if to.send(message).is_err() || last {
            return;
        }
    }
}

/// Writes until told that it was the last frame. Where the frames just stop, something went wrong, and so does the
/// output.
fn write_behind(
    mut writer: VideoWriter,
    from: &Receiver<Write>,
    used: &Sender<VideoFrame>,
) -> quell_io::Result<Written> {
    for message in from {
        match message {
            Write::Frame((frame, parameters)) => {
                writer.write(&frame, &parameters)?;
                // The reader may have ended.
                let _ = used.send(frame);
            }
            Write::End => return Ok(Written { notes: writer.finish()?, kept: true }),
            Write::Short => return Ok(Written { notes: Vec::new(), kept: writer.finish_short()? }),
        }
    }
    Ok(Written::default())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use quell::device::SampleBuffer;
    use quell_io::video::{VideoReadOptions, VideoWriteOptions};

    /// Holds back some frames, and counts frames in memory by their buffers.
    #[derive(Default)]
    struct Late {
        held: VecDeque<VideoFrame>,
        latency: usize,
        seen: std::collections::HashSet<usize>,
        fail_at: Option<usize>,
        pushed: usize,
    }

    impl Filter for Late {
        fn push(&mut self, frame: VideoFrame) -> quell::Result<Option<VideoFrame>> {
            if let SampleBuffer::U8(v) = &frame.planes[0] {
                self.seen.insert(v.as_ptr() as usize);
            }
            self.pushed += 1;
            if self.fail_at == Some(self.pushed) {
                return Err(quell::Error::Shape("enough".to_owned()));
            }
            self.held.push_back(frame);
            Ok(if self.held.len() > self.latency { self.held.pop_front() } else { None })
        }

        fn flush(&mut self) -> quell::Result<Option<VideoFrame>> {
            Ok(self.held.pop_front())
        }
    }

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("quell-pipeline-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// Frames with numbers in them, some with parameters.
    fn clip(frames: u32) -> Vec<u8> {
        let mut clip = b"YUV4MPEG2 W4 H1 F25:1 Cmono\n".to_vec();
        for i in 0..frames {
            clip.extend(if i % 3 == 1 { format!("FRAME Xn={i}\n") } else { "FRAME\n".to_owned() }.bytes());
            clip.extend(i.to_be_bytes());
        }
        clip
    }

    fn run_clip(folder: &std::path::Path, clip: &[u8], filter: &mut Late) -> Result<Finished, Error> {
        let (input, output) = (folder.join("a.y4m"), folder.join("b.y4m"));
        std::fs::write(&input, clip).unwrap();
        let reader = VideoReader::open(&input, &VideoReadOptions::default()).unwrap();
        let writer = VideoWriter::create(&output, reader.info(), &VideoWriteOptions::default()).unwrap();
        run(reader, Reading::all(), filter, writer, &Cancel::new(), |_| {})
    }

    #[test]
    fn frames_and_parameters_keep_their_order_and_few_buffers_do_for_many() {
        let folder = folder("order");
        let clip = clip(2000);
        for latency in [0, 3] {
            let mut filter = Late { latency, ..Late::default() };
            let done = run_clip(&folder, &clip, &mut filter).unwrap_or_else(|_| panic!("failed"));
            assert_eq!(done.frames, 2000);
            assert!(std::fs::read(folder.join("b.y4m")).unwrap() == clip);
            // One at the reader, the queues, one at the filter, one at the writer, and two on their way.
            let most = 2 * QUEUE + 5 + latency;
            assert!(filter.seen.len() <= most, "{} buffers", filter.seen.len());
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_error_on_the_way_leaves_no_file() {
        let folder = folder("error");
        let mut filter = Late { fail_at: Some(7), ..Late::default() };
        assert!(matches!(run_clip(&folder, &clip(50), &mut filter), Err(Error::Filter(_))));
        let mut damaged = clip(50);
        damaged.truncate(damaged.len() - 20);
        damaged.extend([0; 30]);
        assert!(matches!(run_clip(&folder, &damaged, &mut Late::default()), Err(Error::Read(_))));
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["a.y4m"]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
