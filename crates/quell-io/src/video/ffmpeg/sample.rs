//! Single frames out of a container.

use std::ffi::OsString;
use std::io::BufReader;
use std::path::Path;

use quell::{Layout, VideoFrame};

use super::GBR;
use super::decode::pixel_format;
use super::probe::Probe;
use super::program::timing_option;
use super::source::{file, limits};
use super::tool::Tool;
use crate::video::info::{Origin, VideoInfo};
use crate::video::kind;
use crate::video::sample::spread;
use crate::video::y4m::{self, Y4mReader};
use crate::{Error, Result};

/// Clips of so many frames are decoded once from beginning to end: to seek to every frame would decode most of them
/// several times, since few of them can be begun with.
const SHORT: u64 = 300;

/// Gives `take` up to `count` frames, evenly spread.
pub(crate) fn sample(
    info: &VideoInfo,
    frames: u64,
    count: usize,
    take: &mut impl FnMut(&VideoFrame),
) -> Result<()> {
    let Origin::Container(path, probe) = &info.origin else { return Ok(()) };
    if frames <= SHORT {
        let every = frames.div_ceil(count.max(1) as u64).max(1);
        let filter = format!("select=eq(mod(n\\,{every})\\,{})", every / 2);
        let timing = timing_option(&kind::of_files(path))?;
        return decode(path, probe, info, (&[], &["-vf", &filter, timing, "passthrough"]), count, take);
    }
    let Some((n, d)) = probe.rate else { return Ok(()) };
    for number in spread(frames, count) {
        let seconds = format!("{:.3}", number as f64 * f64::from(d) / f64::from(n));
        decode(path, probe, info, (&["-ss", &seconds], &[]), 1, take)?;
    }
    Ok(())
}

/// Decodes up to `count` frames, with these arguments before and behind the input.
fn decode(
    path: &Path,
    probe: &Probe,
    info: &VideoInfo,
    (before, behind): (&[&str], &[&str]),
    count: usize,
    take: &mut impl FnMut(&VideoFrame),
) -> Result<()> {
    let layout = info.format.layout;
    let rgb = layout == Layout::Rgb;
    let mut args: Vec<OsString> = before.iter().map(OsString::from).chain(limits()).collect();
    args.extend(["-i".into(), file(path), "-map".into(), "0:V:0".into()]);
    let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
    add(behind);
    let (_, bits) = probe.pixels.layout(rgb);
    add(&["-frames:v", &count.to_string(), "-pix_fmt", &pixel_format(probe, layout, bits), "-strict", "-1"]);
    add(&["-f", if rgb { "rawvideo" } else { "yuv4mpegpipe" }, "pipe:1"]);
    let (_tool, _, stdout) = Tool::start(&args, &kind::of_files(path), false)?;
    let stdout = stdout.ok_or_else(|| Error::Ffmpeg("no pipe".to_owned()))?;
    let mut frame = info.format.frame();
    if rgb {
        let mut from = BufReader::new(stdout);
        let mut bytes = Vec::new();
        while y4m::load_raw(&mut from, &mut frame, &GBR, &mut bytes)? {
            take(&frame);
        }
        return Ok(());
    }
    let mut from = Y4mReader::new(stdout, u64::MAX)?;
    while from.next(&mut frame)? && info.format.check(&frame).is_ok() {
        take(&frame);
    }
    Ok(())
}
