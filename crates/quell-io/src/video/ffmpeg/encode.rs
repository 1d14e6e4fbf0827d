//! Frames into a container, with everything else from the original.

use std::ffi::OsString;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::ChildStdin;

use quell::device::SampleFormat;
use quell::{Layout, VideoFrame};

use super::GBR;
use super::probe::Pixels;
use super::tool::{Tool, file, timing_option};
use crate::atomic::Pending;
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
}

/// What goes over the pipe.
enum To {
    Y4m(Box<Y4mWriter<ChildStdin>>),
    Raw(BufWriter<ChildStdin>, Vec<u8>),
}

impl Encoder {
    /// Starts it.
    pub(crate) fn create(path: &Path, info: &VideoInfo, options: &VideoWriteOptions) -> Result<Self> {
        let needed = kind::of_files(path);
        let extension = kind::extension(path);
        let mut notes = Vec::new();
        let codec = match &options.encode {
            Some(args) => args.to_vec(),
            None => Codec::choose(&extension, info, &mut notes)?.args(),
        };
        let timing = timing_option(&needed)?;
        let (pending, _) = Pending::create(path, &format!(".{extension}"))?;
        let mut pending = pending
            .ok_or_else(|| Error::Encode(format!("a .{extension} file can only be written to a file")))?;
        made_from(&mut pending, options);
        let mut args = input(info)?;
        let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        if let Origin::Container(original, probe) = &info.origin {
            args.extend(["-i".into(), file(original)]);
            let same = kind::extension(original) == extension;
            let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
            add(&["-map", "0:v:0", "-map", "1:a?", "-map", "1:s?"]);
            if same {
                // Fonts and covers: other containers may not have a place for them.
                add(&["-map", "1:v?", "-map", "-1:V?", "-map", "1:t?"]);
            }
            add(&["-map_metadata", "1", "-map_chapters", "1", "-c", "copy"]);
            if !same {
                add(&["-c:s", subtitles(&extension)]);
            }
            let colours: Vec<String> = probe.colours.iter().map(|(k, v)| format!("{k}={v}")).collect();
            if !colours.is_empty() && info.format.layout != Layout::Rgb {
                add(&["-filter:v:0", &format!("setparams={}", colours.join(":"))]);
            }
        } else {
            add(&["-map", "0:v:0"]);
        }
        args.extend(codec.iter().map(OsString::from));
        args.extend([timing, "passthrough", "-y"].map(OsString::from));
        args.push(file(pending.path()));
        let (tool, stdin, _) = Tool::start(&args, &needed, true)?;
        let stdin = stdin.ok_or_else(|| Error::Ffmpeg("no pipe".to_owned()))?;
        let to = if info.format.layout == Layout::Rgb {
            To::Raw(BufWriter::with_capacity(1 << 16, stdin), Vec::new())
        } else {
            To::Y4m(Box::new(Y4mWriter::new(stdin, info)?))
        };
        Ok(Self { tool: Some(tool), to: Some(to), pending: Some(pending), info: info.clone(), notes })
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
        done.or_else(|e| self.ended(e))
    }

    /// Waits for ffmpeg, and puts the file in its place. What is to be said of it.
    pub(crate) fn finish(mut self) -> Result<Vec<String>> {
        let flushed = match self.to.take() {
            Some(To::Y4m(to)) => to.finish().map(drop),
            Some(To::Raw(mut to, _)) => to.flush().map_err(Error::from),
            None => Ok(()),
        };
        flushed.or_else(|e| self.ended(e))?;
        if let Some(tool) = self.tool.take() {
            let said = tool.wait()?;
            self.notes.extend(said.iter().map(|s| format!("ffmpeg: {s}")));
        }
        if let Some(pending) = self.pending.take() {
            pending.commit()?;
        }
        Ok(std::mem::take(&mut self.notes))
    }

    /// A closed pipe is not what went wrong: ffmpeg says what did.
    fn ended(&mut self, e: Error) -> Result<()> {
        match (&e, self.tool.take()) {
            (Error::Io(io), Some(tool)) if io.kind() == ErrorKind::BrokenPipe => match tool.wait() {
                Err(why) => Err(why),
                Ok(_) => Err(Error::Ffmpeg("ended before the last frame".to_owned())),
            },
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

/// Subtitles as text in the kind that a container takes.
fn subtitles(extension: &str) -> &'static str {
    match extension {
        "mp4" | "m4v" | "mov" => "mov_text",
        "mkv" => "srt",
        "webm" => "webvtt",
        _ => "copy",
    }
}

/// An encoder with what it is to store.
#[derive(Debug, PartialEq)]
struct Codec {
    name: &'static str,
    options: &'static [&'static str],
    layout: Layout,
    bits: u32,
    /// RGB becomes YUV by the usual matrix, and says so.
    convert: bool,
}

impl Codec {
    /// The usual encoder for a container: nearly without loss, and what players can play.
    fn choose(extension: &str, info: &VideoInfo, notes: &mut Vec<String>) -> Result<Self> {
        const X264: (&str, &[&str]) = ("libx264", &["-crf", "16", "-preset", "medium"]);
        const X265: (&str, &[&str]) = ("libx265", &["-crf", "14", "-x265-params", "log-level=error"]);
        const X265_MP4: (&str, &[&str]) =
            ("libx265", &["-crf", "14", "-x265-params", "log-level=error", "-tag:v:0", "hvc1"]);
        const VP9: (&str, &[&str]) = ("libvpx-vp9", &["-crf", "18", "-b:v:0", "0", "-row-mt", "1"]);
        const FFV1: (&str, &[&str]) = ("ffv1", &["-level", "3", "-slicecrc", "1"]);
        const MPEG2: (&str, &[&str]) = ("mpeg2video", &["-q:v:0", "2"]);
        let bits = info.bits().unwrap_or(16);
        let rgb = info.format.layout == Layout::Rgb;
        let ((name, options), most) = match extension {
            "mp4" | "m4v" | "mov" | "mkv" | "ts" | "m2ts" | "mts" if bits <= 10 || rgb => (X264, 10),
            "mkv" if bits > 12 => (FFV1, 16),
            "mkv" | "ts" | "m2ts" | "mts" => (X265, 12),
            "mp4" | "m4v" | "mov" => (X265_MP4, 12),
            "webm" => (VP9, 12),
            "avi" => (FFV1, 16),
            "mpg" | "mpeg" | "vob" => (MPEG2, 8),
            _ => {
                return Err(Error::Encode(format!(
                    ".{extension} files can be read, but not written; name another output, such as .mkv"
                )));
            }
        };
        let (mut layout, x26) = (info.format.layout, name.starts_with("libx26"));
        let convert = rgb && name != "ffv1";
        if convert {
            layout = Layout::Yuv420;
        }
        if name == "mpeg2video" || (name == "libvpx-vp9" && layout == Layout::Mono) {
            layout = Layout::Yuv420;
        }
        let (x, y) = layout.subsampling();
        if x26 && !(info.format.width.is_multiple_of(x) && info.format.height.is_multiple_of(y)) {
            layout = Layout::Yuv444;
        }
        if layout != info.format.layout {
            notes.push(format!("stored as {}", layout.name()));
        }
        let depths: &[u32] = if name == "ffv1" { &[8, 9, 10, 12, 14, 16] } else { &[8, 10, 12] };
        let stored = *depths.iter().find(|d| **d >= bits.min(most)).unwrap_or(&most);
        if stored < bits {
            notes.push(format!("stored with {stored} bits instead of {bits}"));
        }
        Ok(Self { name, options, layout, bits: stored, convert })
    }

    fn args(&self) -> Vec<String> {
        let pixels = match (self.layout, self.bits) {
            // Three bytes and one of nothing, as FFV1 has it.
            (Layout::Rgb, 8) => "bgr0".to_owned(),
            (layout, bits) => Pixels::planar(layout, bits),
        };
        let mut args: Vec<String> = ["-c:v:0", self.name].map(str::to_owned).into();
        args.extend(self.options.iter().map(|o| (*o).to_owned()));
        args.extend(["-pix_fmt:v:0".to_owned(), pixels]);
        if self.convert {
            let filter = "scale=out_color_matrix=bt709:out_range=tv,\
                          setparams=range=tv:colorspace=bt709:color_trc=bt709:color_primaries=bt709";
            args.extend(["-filter:v:0", filter].map(str::to_owned));
        }
        args
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell::VideoFormat;

    fn choose(extension: &str, size: (usize, usize), layout: Layout, bits: u32) -> (Codec, Vec<String>) {
        let info = VideoInfo::new(VideoFormat::with_bits(size.0, size.1, layout, bits).unwrap());
        let mut notes = Vec::new();
        (Codec::choose(extension, &info, &mut notes).unwrap(), notes)
    }

    #[test]
    fn depth_and_layout_are_kept_where_the_container_has_them() {
        for (extension, layout, bits, name) in [
            ("mp4", Layout::Yuv420, 8, "libx264"),
            ("mkv", Layout::Yuv422, 10, "libx264"),
            ("mov", Layout::Yuv444, 12, "libx265"),
            ("mkv", Layout::Yuv420, 16, "ffv1"),
            ("webm", Layout::Yuv420, 8, "libvpx-vp9"),
            ("avi", Layout::Rgb, 16, "ffv1"),
        ] {
            let (codec, notes) = choose(extension, (64, 48), layout, bits);
            assert_eq!((codec.name, codec.layout, codec.bits), (name, layout, bits), "{extension}");
            assert!(notes.is_empty(), "{notes:?}");
        }
    }

    #[test]
    fn what_is_stored_otherwise_is_said() {
        let (codec, notes) = choose("mp4", (63, 48), Layout::Yuv420, 8);
        assert_eq!((codec.layout, notes), (Layout::Yuv444, vec!["stored as 4:4:4".to_owned()]));
        let (codec, notes) = choose("mp4", (64, 48), Layout::Rgb, 16);
        assert_eq!((codec.layout, codec.bits, notes.len()), (Layout::Yuv420, 10, 2));
        let (codec, notes) = choose("mp4", (64, 48), Layout::Mono, 16);
        assert_eq!((codec.name, codec.bits, notes.len()), ("libx265", 12, 1));
        let info = VideoInfo::new(VideoFormat::with_bits(8, 8, Layout::Mono, 8).unwrap());
        assert!(Codec::choose("wmv", &info, &mut Vec::new()).is_err());
    }
}
