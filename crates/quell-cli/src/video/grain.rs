//! `--grain-table FILE`: what is taken out of a clip, as a film grain table of AV1, so that an encoder can leave it to
//! players to put grain back.

use std::collections::VecDeque;
use std::path::Path;

use anyhow::Context;
use av1_grain::v_frame::chroma::ChromaSubsampling;
use av1_grain::v_frame::frame::{Frame, FrameBuilder};
use av1_grain::{DiffGenerator, write_grain_table};
use num_rational::Rational64;
use quell::device::SampleBuffer;
use quell::{Error, Layout, VideoFormat, VideoFrame};
use quell_io::video::VideoInfo;

use super::pipeline::Filter;
use crate::failure::Failure;
use crate::report::name;

/// Looks at what goes into a filter and at what comes out.
pub(super) struct Grained<'a, F> {
    filter: &'a mut F,
    grain: &'a mut Grain,
    /// Frames that have not come out.
    before: VecDeque<VideoFrame>,
}

/// What was seen of the grain.
pub(super) struct Grain {
    format: VideoFormat,
    sampling: ChromaSubsampling,
    seen: DiffGenerator,
    frames: usize,
}

/// Frames a second, where a clip does not tell.
const RATE: (u32, u32) = (25, 1);
/// The crate looks at blocks of so many pixels.
const LEAST: usize = 32;

impl Grain {
    /// For a clip; what has no luma, or is too small, has no table.
    pub(super) fn new(info: &VideoInfo) -> Result<Self, Failure> {
        let format = info.format;
        let sampling = match format.layout {
            Layout::Mono => ChromaSubsampling::Monochrome,
            Layout::Yuv420 => ChromaSubsampling::Yuv420,
            Layout::Yuv422 => ChromaSubsampling::Yuv422,
            Layout::Yuv444 => ChromaSubsampling::Yuv444,
            Layout::Rgb => {
                return Err(Failure::usage(
                    "--grain-table: AV1 has grain in luma and chroma, and this clip is RGB",
                )
                .hint("convert it to YUV first: ffmpeg -i IN -pix_fmt yuv444p OUT.y4m"));
            }
        };
        let (x, y) = format.layout.subsampling();
        let odd = !format.width.is_multiple_of(x) || !format.height.is_multiple_of(y);
        if odd || format.width.min(format.height) < LEAST {
            return Err(Failure::usage(format!(
                "--grain-table: frames of {} x {} pixels are too small or cannot be halved",
                format.width, format.height
            )));
        }
        let (n, d) = info.rate.filter(|(n, d)| *n > 0 && *d > 0).unwrap_or(RATE);
        let seen = DiffGenerator::new(Rational64::new(n.into(), d.into()), 8, 8);
        Ok(Self { format, sampling, seen, frames: 0 })
    }

    fn add(&mut self, before: &VideoFrame, after: &VideoFrame) -> quell::Result<()> {
        let (before, after) = (self.frame(before)?, self.frame(after)?);
        self.frames += 1;
        self.seen.diff_frame(&before, &after).map_err(refused)
    }

    /// A frame as the crate has them, in 8 bits: that is all that it looks at.
    fn frame(&self, frame: &VideoFrame) -> quell::Result<Frame<u8>> {
        let VideoFormat { width, height, white, .. } = self.format;
        let mut out: Frame<u8> =
            FrameBuilder::new(width, height, self.sampling, 8).build().map_err(refused)?;
        for (i, plane) in frame.planes.iter().enumerate() {
            let bytes: Vec<u8> = match plane {
                SampleBuffer::U8(v) => v.clone(),
                other => {
                    let floats = other.view().to_floats(255.0 / white);
                    floats.iter().map(|v| v.round().clamp(0.0, 255.0) as u8).collect()
                }
            };
            if let Some(to) = out.plane_mut(i) {
                to.copy_from_slice(&bytes).map_err(refused)?;
            }
        }
        Ok(out)
    }

    /// Writes the table.
    pub(super) fn write(self, path: &Path) -> anyhow::Result<()> {
        if self.frames == 0 {
            anyhow::bail!("--grain-table: nothing was filtered, so there is no grain to tell of");
        }
        let cannot = || format!("cannot write {}", name(path));
        // The crate writes to a name alone; ours is to be there in whole or not at all.
        let draft = std::env::temp_dir().join(format!("quell-grain-{}.tbl", std::process::id()));
        let text = write_grain_table(&draft, &self.seen.finish()).and_then(|()| Ok(std::fs::read(&draft)?));
        let _ = std::fs::remove_file(&draft);
        quell_io::save(path, &text.with_context(cannot)?).with_context(cannot)
    }
}

fn refused(e: impl std::fmt::Display) -> Error {
    Error::Unsupported(format!("--grain-table: {e}"))
}

impl<'a, F: Filter> Grained<'a, F> {
    pub(super) fn new(filter: &'a mut F, grain: &'a mut Grain) -> Self {
        Self { filter, grain, before: VecDeque::new() }
    }

    fn look(&mut self, after: Option<VideoFrame>) -> quell::Result<Option<VideoFrame>> {
        let before = after.as_ref().and_then(|_| self.before.pop_front());
        if let Some((before, after)) = before.zip(after.as_ref()) {
            self.grain.add(&before, after)?;
        }
        Ok(after)
    }
}

impl<F: Filter> Filter for Grained<'_, F> {
    fn push(&mut self, frame: VideoFrame) -> quell::Result<Option<VideoFrame>> {
        self.before.push_back(frame.clone());
        let after = self.filter.push(frame)?;
        self.look(after)
    }

    fn flush(&mut self) -> quell::Result<Option<VideoFrame>> {
        let after = self.filter.flush()?;
        self.look(after)
    }
}
