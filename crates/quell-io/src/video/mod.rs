//! Clips: frames in, frames out, one at a time, so that memory does not grow with the length.
//!
//! | kind | named | read | written |
//! |---|---|---|---|
//! | YUV4MPEG2 | `.y4m`, or `-` for standard input and output | mono, 4:2:0, 4:2:2, 4:4:4; 8 to 16 bits | the same |
//! | containers | `.mp4`, `.mkv`, `.mov` and so on, by the program ffmpeg | those and RGB | those and RGB; sound, subtitles, chapters and metadata are copied |
//! | numbered pictures | `frame_%04d.png`, any picture format | grey, RGB | grey, RGB |
//!
//! ```
//! use quell_io::video::{VideoReadOptions, VideoReader, VideoWriteOptions, VideoWriter};
//!
//! # let folder = std::env::temp_dir().join(format!("quell-io-video-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let (input, output) = (folder.join("in.y4m"), folder.join("out.y4m"));
//! # std::fs::write(&input, b"YUV4MPEG2 W2 H2 F25:1 Cmono\nFRAME\nabcd")?;
//! let mut reader = VideoReader::open(&input, &VideoReadOptions::default())?;
//! let mut writer = VideoWriter::create(&output, reader.info(), &VideoWriteOptions::default())?;
//! let mut frame = reader.info().format.frame();
//! while reader.next(&mut frame)? {
//!     writer.write(&frame, reader.parameters())?;
//! }
//! if let Some(short) = reader.shortfall() {
//!     writer.finish_short()?;
//!     return Err(short.to_string().into());
//! }
//! for remark in reader.notes().iter().chain(&writer.finish()?) {
//!     eprintln!("note: {remark}");
//! }
//! # assert_eq!(std::fs::read(input)?, std::fs::read(output)?);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod copy;
mod ffmpeg;
mod info;
mod kind;
mod sample;
mod sequence;
mod y4m;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use quell::VideoFrame;

use crate::atomic::Pending;
use crate::{Error, ReadOptions, Result, WriteOptions};
use ffmpeg::{Decoder, Encoder};
use sequence::{SequenceReader, SequenceWriter};

pub use copy::copy;
#[doc(hidden)]
pub use ffmpeg::parse_probe;
pub(crate) use ffmpeg::stop_all;
pub use info::{Fields, VideoInfo};
pub use kind::VideoKind;
pub use sample::sample;
pub use y4m::{Y4mReader, Y4mWriter};

/// How to read a clip.
#[derive(Clone, Debug)]
pub struct VideoReadOptions {
    /// Refuse frames of more pixels, before memory is taken.
    pub max_pixels: u64,
    /// Frames as RGB, where ffmpeg can convert them.
    pub rgb: bool,
    /// Frames a second of clips that do not tell.
    pub rate: Option<(u32, u32)>,
    /// The sample value of white of numbered pictures, where it is not the usual one; other clips tell theirs.
    pub white: Option<f32>,
}

impl Default for VideoReadOptions {
    fn default() -> Self {
        Self { max_pixels: ReadOptions::default().max_pixels, rgb: false, rate: None, white: None }
    }
}

/// How to write a clip.
#[derive(Clone, Debug, Default)]
pub struct VideoWriteOptions {
    /// For numbered pictures; where the clip comes from, for all.
    pub pictures: WriteOptions,
    /// Arguments for ffmpeg, instead of the usual encoder if they name one: `-c:v libx265 -crf 18`.
    pub encode: Option<Vec<String>>,
    /// Remove numbered pictures that follow the last one, left from an earlier, longer result.
    pub remove_rest: bool,
}

/// A clip that was not read to its end, or not as it was meant to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// Frames that were read.
    pub read: u64,
    /// Frames that there are, or were to be.
    pub of: u64,
    /// What went wrong.
    pub why: String,
}

impl std::fmt::Display for Shortfall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} frames: {}", self.read, self.of, self.why)
    }
}

/// A clip that is read.
#[derive(Debug)]
pub struct VideoReader {
    source: Source,
    info: VideoInfo,
    frames: Option<u64>,
}

#[derive(Debug)]
enum Source {
    Y4m(Box<Y4mReader<Stdio>>),
    Container(Box<Decoder>),
    Pictures(Box<SequenceReader>),
}

/// A file, or standard input or output.
#[derive(Debug)]
enum Stdio {
    /// On Unix standard input and output too, without the buffers that the library puts before them.
    File(File),
    #[cfg_attr(unix, expect(dead_code, reason = "there they are files"))]
    Std,
}

impl Read for Stdio {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(f) => f.read(to),
            Self::Std => io::stdin().lock().read(to),
        }
    }
}

impl Write for Stdio {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(f) => f.write(from),
            Self::Std => io::stdout().lock().write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(f) => f.flush(),
            Self::Std => io::stdout().lock().flush(),
        }
    }
}

#[cfg(unix)]
fn standard(stream: &impl std::os::fd::AsFd) -> io::Result<Stdio> {
    Ok(Stdio::File(stream.as_fd().try_clone_to_owned()?.into()))
}

#[cfg(not(unix))]
fn standard<T>(_: &T) -> io::Result<Stdio> {
    Ok(Stdio::Std)
}

impl VideoReader {
    /// Opens a clip and reads what comes before its first frame. `-` is standard input.
    pub fn open(path: &Path, options: &VideoReadOptions) -> Result<Self> {
        let source = match VideoKind::of_file(path) {
            Some(VideoKind::Pipe) => {
                Source::Y4m(Box::new(Y4mReader::new(standard(&io::stdin())?, options.max_pixels)?))
            }
            Some(VideoKind::Y4m) => {
                let file = Stdio::File(File::open(path)?);
                Source::Y4m(Box::new(Y4mReader::new(file, options.max_pixels)?))
            }
            Some(VideoKind::Pictures) => Source::Pictures(Box::new(SequenceReader::open(path, options)?)),
            Some(VideoKind::Container) => Source::Container(Box::new(Decoder::open(path, options)?)),
            None => {
                return Err(Error::Unsupported(
                    "neither the name nor the content is that of a clip".to_owned(),
                ));
            }
        };
        let mut info = match &source {
            Source::Y4m(r) => r.info().clone(),
            Source::Container(r) => r.info().clone(),
            Source::Pictures(r) => r.info().clone(),
        };
        info.rate = info.rate.or(options.rate);
        let frames = match &source {
            Source::Y4m(r) => y4m_frames(path, r.header_bytes(), info.format.frame_bytes()),
            Source::Container(r) => r.frames(),
            Source::Pictures(r) => Some(r.frames()),
        };
        Ok(Self { source, info, frames })
    }

    /// What is known of the clip.
    pub fn info(&self) -> &VideoInfo {
        &self.info
    }

    /// How many frames there are, as far as that can be known before; a truncated clip has fewer.
    pub fn frames(&self) -> Option<u64> {
        self.frames
    }

    /// Reads a frame; `false` at the end. A `frame` of another format is replaced.
    pub fn next(&mut self, frame: &mut VideoFrame) -> Result<bool> {
        match &mut self.source {
            Source::Y4m(r) => r.next(frame),
            Source::Container(r) => r.next(frame),
            Source::Pictures(r) => r.next(frame),
        }
    }

    /// What is missing of a clip that is damaged or cut off, known when [`next`](Self::next) has said that there are no
    /// more frames. A result made of it must not take the place of anything.
    pub fn shortfall(&self) -> Option<&Shortfall> {
        match &self.source {
            Source::Y4m(r) => r.shortfall(),
            Source::Container(r) => r.shortfall(),
            // A picture that is damaged or missing is an error.
            Source::Pictures(_) => None,
        }
    }

    /// The YUV4MPEG2 parameters of the frame that was read last; usually none.
    pub fn parameters(&self) -> &str {
        match &self.source {
            Source::Y4m(r) => r.parameters(),
            Source::Container(r) => r.parameters(),
            Source::Pictures(_) => "",
        }
    }

    /// Remarks for the user so far.
    pub fn notes(&self) -> &[String] {
        match &self.source {
            Source::Y4m(r) => r.notes(),
            Source::Container(r) => r.notes(),
            Source::Pictures(r) => r.notes(),
        }
    }
}

/// From the size of a file whose frames have no parameters.
fn y4m_frames(path: &Path, header: usize, frame: usize) -> Option<u64> {
    let meta = path.metadata().ok().filter(|m| m.is_file() && path.as_os_str() != "-")?;
    Some(meta.len().saturating_sub(header as u64) / (frame as u64 + "FRAME\n".len() as u64))
}

/// The files of a clip, in order: those of numbered pictures, or the one.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    match VideoKind::of_name(path) {
        Some(VideoKind::Pictures) => sequence::files(path),
        _ => Ok(vec![path.to_owned()]),
    }
}

/// A new clip grants nobody more than the files that it is made from.
fn made_from(pending: &mut Pending, options: &VideoWriteOptions) {
    let files = options.pictures.source.as_deref().map(files).and_then(Result::ok);
    files.iter().flatten().for_each(|file| pending.made_from(Some(file)));
}

/// A clip that is written. A file takes its name when it is finished; dropped before that, nothing is left of it
/// (but numbered pictures that replace nothing, of which each is complete).
pub struct VideoWriter(Sink);

enum Sink {
    /// To a file that is renamed at the end.
    Y4m(Box<Y4mWriter<Stdio>>, Pending),
    /// To a pipe or device, where somebody may wait for each frame.
    Live(Box<Y4mWriter<Stdio>>),
    Container(Box<Encoder>),
    Pictures(Box<SequenceWriter>),
}

impl VideoWriter {
    /// Creates a clip of the kind that the name stands for. `-` is standard output. What the kind cannot hold is
    /// refused here.
    pub fn create(path: &Path, info: &VideoInfo, options: &VideoWriteOptions) -> Result<Self> {
        Ok(Self(match VideoKind::of_name(path) {
            Some(VideoKind::Pipe) => Sink::Live(Box::new(Y4mWriter::new(standard(&io::stdout())?, info)?)),
            Some(VideoKind::Y4m) => {
                // Refused before a file is made.
                info.to_y4m()?;
                let (pending, file) = Pending::create(path, "")?;
                let writer = Box::new(Y4mWriter::new(Stdio::File(file), info)?);
                match pending {
                    Some(mut pending) => {
                        made_from(&mut pending, options);
                        Sink::Y4m(writer, pending)
                    }
                    None => Sink::Live(writer),
                }
            }
            Some(VideoKind::Container) => Sink::Container(Box::new(Encoder::create(path, info, options)?)),
            Some(VideoKind::Pictures) | None => {
                Sink::Pictures(Box::new(SequenceWriter::create(path, info, options)?))
            }
        }))
    }

    /// Writes a frame, with the YUV4MPEG2 parameters it came with.
    pub fn write(&mut self, frame: &VideoFrame, parameters: &str) -> Result<()> {
        match &mut self.0 {
            Sink::Y4m(w, _) => w.write(frame, parameters),
            Sink::Live(w) => {
                w.write(frame, parameters)?;
                w.flush()
            }
            Sink::Container(w) => w.write(frame, parameters),
            Sink::Pictures(w) => w.write(frame),
        }
    }

    /// Completes the clip: only when all of it is there does it take the place of what had its name. A container is
    /// decoded once more to its last frame before that. Returns remarks on what its kind could not keep.
    pub fn finish(self) -> Result<Vec<String>> {
        match self.0 {
            Sink::Y4m(w, pending) => {
                drop(w.finish()?);
                pending.commit()?;
                Ok(Vec::new())
            }
            Sink::Live(w) => {
                w.finish()?;
                Ok(Vec::new())
            }
            Sink::Container(w) => w.finish(),
            Sink::Pictures(w) => w.finish(),
        }
    }

    /// Completes a clip made of an input with a [`Shortfall`]: it is kept if that replaces nothing, and removed
    /// otherwise. Returns whether it is there.
    pub fn finish_short(self) -> Result<bool> {
        match self.0 {
            Sink::Y4m(w, pending) => {
                drop(w.finish()?);
                if pending.replaces() {
                    return Ok(false);
                }
                pending.commit()?;
                Ok(true)
            }
            Sink::Live(w) => {
                w.finish()?;
                Ok(true)
            }
            Sink::Container(w) => w.finish_short(),
            Sink::Pictures(w) => Ok(!w.holds_back()),
        }
    }
}
