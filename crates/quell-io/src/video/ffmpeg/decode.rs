//! Frames out of a container.

use std::ffi::OsString;
use std::io::BufReader;
use std::path::Path;
use std::process::ChildStdout;

use quell::{Layout, VideoFormat, VideoFrame};

use super::GBR;
use super::look;
use super::pixels::Pixels;
use super::probe::Probe;
use super::program::timing_option;
use super::source::{self, file, limits};
use super::tool::{Counted, Ended, Tool};
use crate::video::info::{Origin, VideoInfo};
use crate::video::y4m::{self, Y4mReader};
use crate::video::{Shortfall, VideoReadOptions, kind};
use crate::{Error, Result};

/// ffmpeg that decodes the first video stream of a file.
#[derive(Debug)]
pub(crate) struct Decoder {
    tool: Option<Tool>,
    from: From,
    info: VideoInfo,
    frames: Option<u64>,
    notes: Vec<String>,
    /// Frames that came.
    read: u64,
    shortfall: Option<Shortfall>,
}

/// What comes over the pipe.
#[derive(Debug)]
enum From {
    Y4m(Box<Y4mReader<ChildStdout>>),
    /// RGB has no place in YUV4MPEG2.
    Raw(BufReader<ChildStdout>, Vec<u8>),
}

impl Decoder {
    /// Starts it, and waits for the header.
    pub(crate) fn open(path: &Path, options: &VideoReadOptions) -> Result<Self> {
        let needed = kind::of_files(path);
        source::check(path)?;
        let probe = Probe::of(path, &needed)?;
        let (width, height, limit) = (probe.width as u64, probe.height as u64, options.max_pixels);
        if width.saturating_mul(height) > limit {
            return Err(Error::TooLarge { width, height, limit });
        }
        let (layout, bits) = probe.pixels.layout(options.rgb);
        let mut notes = Vec::new();
        if probe.pixels.alpha {
            notes.push("the alpha channel is left out".to_owned());
        }
        let pixels = pixel_format(&probe, layout, bits);
        let timing = timing_option(&needed)?;
        let mut args: Vec<OsString> = limits().into();
        args.extend(["-i".into(), file(path), "-map".into(), "0:V:0".into()]);
        let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        match probe.rate {
            // At a constant rate each frame comes out once; where frames are missing, the sound would run away.
            Some((n, d)) => add(&["-vf", "setpts=PTS-STARTPTS", timing, "cfr", "-r", &format!("{n}/{d}")]),
            None => add(&[timing, "passthrough"]),
        }
        if let Some((n, d)) = probe.rate.filter(|_| probe.variable) {
            let rate = format!("{:.3}", f64::from(n) / f64::from(d));
            let rate = rate.trim_end_matches('0').trim_end_matches('.');
            notes.push(format!(
                "the frame rate varies: frames are repeated or left out to have {rate} a second, in step with the sound"
            ));
        }
        add(&["-pix_fmt", &pixels, "-strict", "-1"]);
        add(&["-f", if layout == Layout::Rgb { "rawvideo" } else { "yuv4mpegpipe" }, "pipe:1"]);
        let (tool, _, stdout) = Tool::start(&args, &needed, false)?;
        let stdout = stdout.ok_or_else(|| Error::Ffmpeg("no pipe".to_owned()))?;
        let frames = probe.frames;
        let (from, mut info) = if layout == Layout::Rgb {
            let format = VideoFormat::with_bits(probe.width, probe.height, layout, bits)?;
            let mut info = VideoInfo::new(format);
            (info.rate, info.aspect, info.fields) = (probe.rate, probe.aspect, probe.fields);
            (From::Raw(BufReader::with_capacity(1 << 16, stdout), Vec::new()), info)
        } else {
            match Y4mReader::new(stdout, limit) {
                Ok(reader) => {
                    let info = reader.info().clone();
                    notes.extend_from_slice(reader.notes());
                    (From::Y4m(Box::new(reader)), info)
                }
                // What ffmpeg says of it is closer to the cause.
                Err(e) => {
                    let ended = tool.wait()?;
                    return Err(if ended.failed() { ended.error() } else { e });
                }
            }
        };
        info.origin = Origin::Container(path.to_owned(), Box::new(probe));
        Ok(Self { tool: Some(tool), from, info, frames, notes, read: 0, shortfall: None })
    }

    pub(crate) fn info(&self) -> &VideoInfo {
        &self.info
    }

    /// How many frames there will be, as far as the container tells.
    pub(crate) fn frames(&self) -> Option<u64> {
        self.frames
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn parameters(&self) -> &str {
        match &self.from {
            From::Y4m(reader) => reader.parameters(),
            From::Raw(..) => "",
        }
    }

    pub(crate) fn next(&mut self, frame: &mut VideoFrame) -> Result<bool> {
        if self.tool.is_none() {
            return Ok(false);
        }
        let more = match &mut self.from {
            From::Y4m(reader) => reader.next(frame),
            From::Raw(from, bytes) => {
                if self.info.format.check(frame).is_err() {
                    *frame = self.info.format.frame();
                }
                y4m::load_raw(from, frame, &GBR, bytes).map_err(Error::from)
            }
        };
        if matches!(more, Ok(true)) {
            self.read += 1;
            return more;
        }
        let Some(tool) = self.tool.take() else { return more };
        // The end of the stream: what ffmpeg says of it goes before what we make of it.
        let ended = tool.wait()?;
        if self.read == 0 && ended.failed() {
            return Err(ended.error());
        }
        if self.read == 0 {
            return more;
        }
        let cut = match (&self.from, more) {
            (_, Err(e)) => Some(e.to_string()),
            (From::Y4m(reader), _) => reader.shortfall().map(|s| s.why.clone()),
            _ => None,
        };
        self.shortfall = self.judge(&ended, cut)?;
        if let Origin::Container(_, probe) = &self.info.origin
            && !probe.variable
        {
            self.notes.extend(ended.counted().and_then(Counted::changes));
        }
        Ok(false)
    }

    /// Whether all frames came: as many as the file has packets to be shown, or, where packets are not frames, as many
    /// as ffprobe decodes; and without a word of damage.
    fn judge(&self, ended: &Ended, cut: Option<String>) -> Result<Option<Shortfall>> {
        let Origin::Container(path, probe) = &self.info.origin else { return Ok(None) };
        let needed = kind::of_files(path);
        let counted = ended.counted().map_or(self.read, |c| c.taken());
        let seen = match look::packets(path, &needed) {
            Ok(seen) => seen,
            Err(Error::Ffmpeg(why)) => look::Seen { frames: 0, errors: vec![why] },
            Err(e) => return Err(e),
        };
        let short = |of: u64, why: String| Some(Shortfall { read: counted, of: of.max(counted), why });
        let most = seen.frames.max(probe.announced.unwrap_or(0));
        if ended.failed() {
            return Ok(short(most, ended.error().to_string()));
        }
        if let Some(why) = cut {
            return Ok(short(most, why));
        }
        if !seen.errors.is_empty() {
            return Ok(short(most, format!("ffmpeg: {}", seen.errors.join("; "))));
        }
        if ended.counted().is_some_and(|c| c.written != self.read) {
            return Ok(short(most, "ffmpeg wrote more frames than came".to_owned()));
        }
        if source::is_cut_off(path)? {
            return Ok(short(most, "the file is cut off".to_owned()));
        }
        if counted == seen.frames {
            return Ok(None);
        }
        let decoded = look::frames(path, &needed)?;
        if !decoded.errors.is_empty() {
            return Ok(short(most, format!("ffmpeg: {}", decoded.errors.join("; "))));
        }
        Ok(if decoded.frames == counted {
            None
        } else {
            short(decoded.frames, "ffmpeg ended early".to_owned())
        })
    }

    /// What is missing, known at the end.
    pub(crate) fn shortfall(&self) -> Option<&Shortfall> {
        self.shortfall.as_ref()
    }
}

/// ffmpeg's name of the pixels that are asked for. The old names of full-range pixels must stay, or ffmpeg would
/// compress the range.
pub(super) fn pixel_format(probe: &Probe, layout: Layout, bits: u32) -> String {
    match probe.pixels.name.as_str() {
        name if name.starts_with("yuvj4") && layout != Layout::Rgb && !name.starts_with("yuvj440") => {
            name.to_owned()
        }
        _ => Pixels::planar(layout, bits),
    }
}
