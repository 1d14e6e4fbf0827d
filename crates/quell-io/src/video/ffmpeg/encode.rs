//! Frames into a container, with everything else from the original.

use std::ffi::OsString;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::ChildStdin;

use quell::device::SampleFormat;
use quell::{Layout, VideoFrame};

use super::codec::{self, Codec};
use super::pixels::Pixels;
use super::probe::Probe;
use super::program::{encoders, timing_option};
use super::source::{file, limits};
use super::tool::{Ended, Tool};
use super::{GBR, look};
use crate::atomic::Pending;
use crate::video::Fields;
use crate::video::info::{Origin, VideoInfo};
use crate::video::y4m::{self, Y4mWriter};
use crate::video::{VideoWriteOptions, kind, made_from};
use crate::{Error, Result};

/// ffmpeg that encodes a file. Dropped before it is finished, the file is removed.
pub(crate) struct Encoder {
    // Before the pipe: what is left in its buffer must not wait for a program that hangs.
    tool: Option<Tool>,
    to: Option<To>,
    pending: Option<Pending>,
    info: VideoInfo,
    notes: Vec<String>,
    needed: String,
    /// Frames that went over the pipe.
    written: u64,
    /// The user's arguments may change how many frames there are.
    own_length: bool,
}

/// What goes over the pipe.
enum To {
    Y4m(Box<Y4mWriter<ChildStdin>>),
    Raw(BufWriter<ChildStdin>, Vec<u8>),
}

impl Encoder {
    /// Starts it. `options.encode` are arguments of ffmpeg's own: instead of the usual encoder if they name one, over it if not.
    pub(crate) fn create(path: &Path, info: &VideoInfo, options: &VideoWriteOptions) -> Result<Self> {
        let needed = kind::of_files(path);
        let extension = kind::extension(path);
        let own = options.encode.as_deref().unwrap_or_default();
        let (mut notes, mut filters) = (Vec::new(), Vec::new());
        let (name, codec) = match codec::named(own) {
            Some(name) => (name.to_owned(), Vec::new()),
            None => {
                let has = encoders(&needed)?;
                let chosen =
                    Codec::choose(&extension, info, |name| has.iter().any(|h| h == name), &mut notes)?;
                notes.extend(chosen.unused(own));
                filters.extend(chosen.filters().iter().map(|f| (*f).to_owned()));
                (chosen.maker.name.to_owned(), chosen.args(&extension, own))
            }
        };
        let timing = timing_option(&needed)?;
        let (pending, _) = Pending::create(path, &format!(".{extension}"))?;
        let mut pending = pending
            .ok_or_else(|| Error::Encode(format!("a .{extension} file can only be written to a file")))?;
        made_from(&mut pending, options);
        let mut args = input(info)?;
        if let Origin::Container(original, probe) = &info.origin {
            args.extend(rest_of(original, probe, &extension, &mut notes));
            let colours: Vec<String> = probe.colours.iter().map(|(k, v)| format!("{k}={v}")).collect();
            if !colours.is_empty() && info.format.layout != Layout::Rgb {
                filters.push(format!("setparams={}", colours.join(":")));
            }
        } else {
            args.extend(["-map", "0:v:0"].map(OsString::from));
        }
        match info.fields {
            Fields::TopFirst => filters.push("setfield=tff".to_owned()),
            Fields::BottomFirst => filters.push("setfield=bff".to_owned()),
            _ => {}
        }
        if let Some((n, d)) = info.aspect.filter(|_| info.format.layout == Layout::Rgb) {
            filters.push(format!("setsar={n}/{d}"));
        }
        if !filters.is_empty() {
            args.extend(["-filter:v:0".to_owned(), filters.join(",")].map(OsString::from));
        }
        let clip = codec::of_clip(&name, info, own, &mut notes);
        args.extend(codec.iter().chain(&clip).chain(own).map(OsString::from));
        args.extend([timing, "passthrough", "-y"].map(OsString::from));
        args.push(file(pending.path()));
        let (tool, stdin, _) = Tool::start(&args, &needed, true)?;
        let stdin = stdin.ok_or_else(|| Error::Ffmpeg("no pipe".to_owned()))?;
        let to = if info.format.layout == Layout::Rgb {
            To::Raw(BufWriter::with_capacity(1 << 16, stdin), Vec::new())
        } else {
            To::Y4m(Box::new(Y4mWriter::new(stdin, info)?))
        };
        Ok(Self {
            tool: Some(tool),
            to: Some(to),
            pending: Some(pending),
            info: info.clone(),
            notes,
            needed,
            written: 0,
            own_length: codec::changes_length(own),
        })
    }

    pub(crate) fn write(&mut self, frame: &VideoFrame, parameters: &str) -> Result<()> {
        let done = match &mut self.to {
            Some(To::Y4m(to)) => to.write(frame, parameters),
            Some(To::Raw(to, bytes)) => {
                self.info.format.check(frame)?;
                let planes = GBR.iter().filter_map(|&p| frame.planes.get(p));
                planes.into_iter().try_for_each(|p| y4m::store(to, p.view(), bytes)).map_err(Error::from)
            }
            None => Ok(()),
        };
        done.or_else(|e| self.ended(e))?;
        self.written += 1;
        Ok(())
    }

    /// Waits for ffmpeg, looks whether every frame can be read back, and puts the file in its place. What is to be said
    /// of it.
    pub(crate) fn finish(mut self) -> Result<Vec<String>> {
        let ended = self.close()?;
        if ended.failed() {
            return Err(ended.error());
        }
        let pending = self.verified(&ended)?;
        // A crash of the machine must not cost what is replaced.
        pending.commit()?;
        Ok(std::mem::take(&mut self.notes))
    }

    /// The same for a clip whose input has damage: the file is kept where there is none yet. What ffmpeg says may be of
    /// the input, from which it takes the sound; the look at the result decides.
    pub(crate) fn finish_short(mut self) -> Result<bool> {
        let ended = self.close()?;
        if ended.broke_off() {
            return Err(ended.error());
        }
        let pending = self.verified(&ended)?;
        if pending.replaces() {
            return Ok(false);
        }
        pending.commit()?;
        Ok(true)
    }

    /// Sends the rest, and waits.
    fn close(&mut self) -> Result<Ended> {
        let flushed = match self.to.take() {
            Some(To::Y4m(to)) => to.finish().map(drop),
            Some(To::Raw(mut to, _)) => to.flush().map_err(Error::from),
            None => Ok(()),
        };
        flushed.or_else(|e| self.ended(e))?;
        let tool = self.tool.take().ok_or_else(|| Error::Ffmpeg("ended early".to_owned()))?;
        tool.wait()
    }

    /// The file, if all is in it.
    fn verified(&mut self, ended: &Ended) -> Result<Pending> {
        let pending = self.pending.take().ok_or_else(|| Error::Ffmpeg("ended early".to_owned()))?;
        let frames = match ended.counted() {
            Some(counted) if self.own_length => counted.written,
            _ => self.written,
        };
        look::verify(pending.path(), frames, &self.needed)?;
        Ok(pending)
    }

    /// A closed pipe is not what went wrong: ffmpeg says what did.
    fn ended(&mut self, e: Error) -> Result<()> {
        match (&e, self.tool.take()) {
            (Error::Io(io), Some(tool)) if io.kind() == ErrorKind::BrokenPipe => {
                let ended = tool.wait()?;
                Err(if ended.failed() {
                    ended.error()
                } else {
                    Error::Ffmpeg("ended before the last frame".to_owned())
                })
            }
            (_, tool) => {
                self.tool = tool;
                Err(e)
            }
        }
    }
}

/// The input of frames over the pipe.
fn input(info: &VideoInfo) -> Result<Vec<OsString>> {
    let mut args: Vec<String> = Vec::new();
    if let Origin::Container(_, probe) = &info.origin
        && probe.offset.abs() >= 1e-3
    {
        args.extend(["-itsoffset".to_owned(), format!("{:.6}", probe.offset)]);
    }
    if info.format.layout == Layout::Rgb {
        let bits = info.bits().filter(|b| [8, 9, 10, 12, 14, 16].contains(b));
        let bits = bits
            .filter(|_| info.format.sample != SampleFormat::F32)
            .ok_or_else(|| Error::Encode(format!("ffmpeg cannot take frames of {}", info.describe())))?;
        let (n, d) = info.rate.unwrap_or((25, 1));
        let size = format!("{}x{}", info.format.width, info.format.height);
        let pixels = Pixels::planar(Layout::Rgb, bits);
        let raw =
            ["-f", "rawvideo", "-pix_fmt", &pixels, "-video_size", &size, "-framerate", &format!("{n}/{d}")];
        args.extend(raw.map(str::to_owned));
    } else {
        // Refused before ffmpeg is started.
        info.to_y4m()?;
        args.extend(["-f", "yuv4mpegpipe"].map(str::to_owned));
    }
    args.extend(["-i", "pipe:0"].map(str::to_owned));
    Ok(args.into_iter().map(OsString::from).collect())
}

/// Tags of a stream that were true of the old one only.
const COUNTS: [&str; 5] = ["BPS", "DURATION", "NUMBER_OF_", "_STATISTICS_", "encoder"];

/// Sound, subtitles, chapters and metadata from the original; what is left behind is said.
fn rest_of(original: &Path, probe: &Probe, extension: &str, notes: &mut Vec<String>) -> Vec<OsString> {
    let mut args: Vec<OsString> = limits().into();
    args.extend(["-i".into(), file(original)]);
    let same = kind::extension(original) == extension;
    let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
    add(&["-map", "0:v:0", "-map", "1:a?", "-map", "1:s?"]);
    if same {
        // Fonts and covers: other containers may not have a place for them.
        add(&["-map", "1:v?", "-map", "-1:V?", "-map", "1:t?"]);
    }
    add(&["-map_metadata", "1", "-map_chapters", "1"]);
    // Language, title, time code. Frames come upright.
    add(&["-map_metadata:s:v:0", &format!("1:s:{}", probe.index), "-metadata:s:v:0", "rotate="]);
    for tag in probe.tags.iter().filter(|t| is_count(t)) {
        add(&["-metadata:s:v:0", &format!("{tag}=")]);
    }
    add(&["-c", "copy"]);
    if !same {
        add(&["-c:s", subtitles(extension)]);
    }
    if !probe.data.is_empty() {
        notes.push(format!("data that is no picture, sound or text is left out: {}", probe.data.join(", ")));
    }
    if probe.more > 0 {
        let streams = if probe.more == 1 { "a second video stream is" } else { "further video streams are" };
        notes.push(format!("{streams} left out"));
    }
    args
}

fn is_count(tag: &str) -> bool {
    !tag.contains('=') && COUNTS.iter().any(|c| tag.get(..c.len()).is_some_and(|t| t.eq_ignore_ascii_case(c)))
}

/// Subtitles as text in the kind that a container takes.
fn subtitles(extension: &str) -> &'static str {
    match extension {
        "mp4" | "m4v" | "mov" => "mov_text",
        "mkv" => "srt",
        "webm" => "webvtt",
        _ => "copy",
    }
}
