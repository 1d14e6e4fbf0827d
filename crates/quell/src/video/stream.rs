//! A stream of frames through a denoiser.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::lane::{Lane, lanes};
use super::noise::ClipNoise;
use super::watch::Watch;
use super::{Layout, VideoFormat, VideoFrame};
use crate::denoiser::Denoiser;
use crate::device::SampleBuffer;
use crate::noise::Model;
use crate::{Control, Error, Result};

/// A video on its way through a denoiser. Frames come out in the order they went in, [`latency`](Self::latency) frames
/// later; memory does not grow with their number.
///
/// ```
/// use quell::{Denoiser, Layout, VideoFormat, nlm::Profile};
///
/// let format = VideoFormat::with_bits(32, 24, Layout::Yuv420, 8)?;
/// let denoiser = Denoiser::nlm(Profile::Fast).sigma(10.0).set("past", 1).set("future", 1).build()?;
/// let mut stream = denoiser.stream(format)?;
/// let mut done = 0;
/// for _ in 0..5 {
///     done += usize::from(stream.push(format.frame())?.is_some());
/// }
/// assert_eq!(done, 4); // one frame late
/// while stream.flush()?.is_some() {
///     done += 1;
/// }
/// assert_eq!(done, 5);
/// # Ok::<(), quell::Error>(())
/// ```
pub struct Stream {
    denoiser: Denoiser,
    format: VideoFormat,
    control: Control,
    /// Frames before and after one that it depends on.
    window: (usize, usize),
    source: Source,
    /// Frames that are in work beyond the latency.
    ahead: usize,
    /// Planned with the first frame that has noise.
    lanes: Vec<Lane>,
    sigma: Vec<f32>,
    /// Frames that are in and not yet out.
    waiting: usize,
    /// The first of them: filtered, or without noise.
    done: VecDeque<VideoFrame>,
    /// Frames whose samples have been read: room for results.
    spare: Vec<VideoFrame>,
    failed: bool,
}

/// Where the noise is known from.
enum Source {
    /// Given, or correlated, which is found out once.
    Given(Box<ClipNoise>),
    /// The frames as they come, and those that were looked at before.
    Watched(Box<Watch>),
}

impl Denoiser {
    /// Starts a stream of frames of this format. Noise that is not given is estimated plane by plane from the first
    /// frame that has any, those before it pass as they are; the next 64 may only raise it.
    pub fn stream(&self, format: VideoFormat) -> Result<Stream> {
        self.stream_with(format, Control::new())
    }

    /// The same, listening to the cancellation of `control`.
    pub fn stream_with(&self, format: VideoFormat, control: Control) -> Result<Stream> {
        self.stream_with_noise(self.clip_noise(format), control)
    }

    /// The same for a clip whose noise was told by some of its frames before ([`clip_noise`](Self::clip_noise)).
    pub fn stream_with_noise(&self, noise: ClipNoise, control: Control) -> Result<Stream> {
        let format = noise.format;
        let curve = self.spec.noise.known().and_then(Model::brightness);
        if curve.is_some() && !matches!(format.layout, Layout::Mono | Layout::Rgb) {
            return Err(Error::Unsupported(format!(
                "noise that depends on brightness needs grey or RGB video, this is {}",
                format.layout.name()
            )));
        }
        let window = self.spec.params(25.0, 1)?.frames();
        // Of correlated noise more is to be known than its level, and the first frame decides.
        let source = if self.spec.noise.known().is_some() || !self.spec.correlation.is_none() {
            Source::Given(Box::new(noise))
        } else if noise.frames() > 0 {
            Source::Watched(Box::new(Watch::known(noise)))
        } else {
            Source::Watched(Box::new(Watch::live(noise)))
        };
        Ok(Stream {
            source,
            denoiser: Self { spec: self.spec.clone(), backend: self.backend.clone() },
            format,
            control,
            window,
            ahead: 0,
            lanes: Vec::new(),
            sigma: Vec::new(),
            waiting: 0,
            done: VecDeque::new(),
            spare: Vec::new(),
            failed: false,
        })
    }
}

impl Stream {
    /// Frames that have to follow a frame before it comes out.
    pub fn latency(&self) -> usize {
        self.window.1 + self.ahead
    }

    /// How many frames before a frame and after it decide what becomes of it.
    pub fn window(&self) -> (usize, usize) {
        self.window
    }

    /// Lets this many more frames be in work before the first one comes out, which keeps a GPU busy
    /// ([`at_once`](crate::device::Backend::at_once) says how many are worth it); the latency grows by as many. To be said
    /// before the first frame.
    ///
    /// ```
    /// use quell::{Denoiser, Layout, VideoFormat, bm3d::Profile};
    ///
    /// let format = VideoFormat::with_bits(32, 24, Layout::Mono, 8)?;
    /// let stream = Denoiser::bm3d(Profile::Fast).sigma(10.0).build()?.stream(format)?;
    /// // BM3D looks at two frames that follow.
    /// assert_eq!((stream.latency(), stream.ahead(3).latency()), (2, 5));
    /// # Ok::<(), quell::Error>(())
    /// ```
    #[must_use]
    pub fn ahead(mut self, frames: usize) -> Self {
        if self.waiting == 0 {
            self.ahead = frames;
        }
        self
    }

    /// What all frames have in common.
    pub fn format(&self) -> &VideoFormat {
        &self.format
    }

    /// Noise of every plane in its own units, as given or as estimated so far, 0 for none; nothing before the first frame.
    pub fn sigma(&self) -> &[f32] {
        &self.sigma
    }

    /// Takes the next frame, and gives the one that is due. After an error the stream is of no further use.
    pub fn push(&mut self, frame: VideoFrame) -> Result<Option<VideoFrame>> {
        self.format.check(&frame)?;
        self.usable()?;
        self.failed = true;
        self.plan(&frame)?;
        let (format, control) = (&self.format, &self.control);
        if self.latency() == 0 && !self.lanes.is_empty() && self.lanes.iter().all(Lane::is_single) {
            let mut out = self.spare.pop().unwrap_or_else(|| format.frame());
            parts(&mut self.lanes, &mut out)
                .into_par_iter()
                .try_for_each(|(lane, planes)| lane.frame(format, &frame, planes, control))?;
            self.spare.push(frame);
            self.failed = false;
            return Ok(Some(out));
        }
        // A GPU has begun with one when the next one comes; the processor has threads for each.
        self.lanes.par_iter_mut().try_for_each(|lane| lane.push(format, &frame, control))?;
        self.waiting += 1;
        if self.lanes.is_empty() {
            self.done.push_back(frame);
        } else {
            self.spare.push(frame);
        }
        let due = self.waiting > self.latency();
        let out = if due { self.pull()? } else { None };
        self.failed = false;
        Ok(out)
    }

    /// At the end: gives the frames that are still in, one by one, then nothing.
    pub fn flush(&mut self) -> Result<Option<VideoFrame>> {
        self.usable()?;
        self.failed = true;
        let out = self.pull()?;
        self.failed = false;
        Ok(out)
    }

    /// Forgets the frames that are in, for a jump to another place of the clip; what is known of its noise stays. From the
    /// first frame on whose [`window`](Self::window) has come again, results are those of a run from the start.
    ///
    /// ```
    /// use quell::{Denoiser, Layout, VideoFormat, bm3d::Profile};
    ///
    /// let format = VideoFormat::with_bits(32, 24, Layout::Mono, 8)?;
    /// let mut stream = Denoiser::bm3d(Profile::Fast).sigma(10.0).build()?.stream(format)?;
    /// assert!(stream.push(format.frame())?.is_none());
    /// stream.seek();
    /// assert!(stream.flush()?.is_none());
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn seek(&mut self) {
        self.waiting = 0;
        self.done.clear();
        // Planned anew with the next frame, for the noise that is known.
        self.lanes.clear();
        self.sigma.clear();
    }

    fn usable(&self) -> Result<()> {
        if self.failed {
            return Err(Error::Shape("the stream ended with an error before".into()));
        }
        Ok(())
    }

    /// Makes lanes for the noise, when it becomes known and where it turns out to be stronger.
    fn plan(&mut self, frame: &VideoFrame) -> Result<()> {
        let (level, first) = match &mut self.source {
            Source::Given(_) if !self.sigma.is_empty() => return Ok(()),
            Source::Given(noise) => {
                // Correlated noise without frames of the clip.
                if noise.frames() == 0 {
                    noise.add(frame)?;
                }
                (Some(noise.level()), noise.typical().unwrap_or(frame))
            }
            Source::Watched(watch) => {
                let first = if self.sigma.is_empty() { watch.level().cloned() } else { None };
                let seen = watch.look(frame)?;
                (seen.or(first), frame)
            }
        };
        let Some(level) = level else {
            if self.sigma.is_empty() {
                self.sigma = vec![0.0; self.format.layout.planes()];
            }
            return Ok(());
        };
        let nothing = level.sigma.iter().all(|s| *s == 0.0) && self.denoiser.spec.correlation.is_none();
        let made = if nothing { Vec::new() } else { lanes(&self.denoiser, &self.format, first, &level)? };
        // What is in the old lanes comes out of them.
        while self.waiting > self.done.len() {
            let frame = self.filtered()?;
            self.done.push_back(frame);
        }
        (self.lanes, self.sigma) = (made, level.sigma);
        Ok(())
    }

    fn pull(&mut self) -> Result<Option<VideoFrame>> {
        if self.waiting == 0 {
            return Ok(None);
        }
        let frame = match self.done.pop_front() {
            Some(frame) => frame,
            None => self.filtered()?,
        };
        self.waiting -= 1;
        Ok(Some(frame))
    }

    /// The oldest frame that is in the lanes.
    fn filtered(&mut self) -> Result<VideoFrame> {
        let mut frame = self.spare.pop().unwrap_or_else(|| self.format.frame());
        let control = &self.control;
        parts(&mut self.lanes, &mut frame)
            .into_par_iter()
            .try_for_each(|(lane, planes)| lane.pull(planes, control))?;
        Ok(frame)
    }
}

/// Every lane with its planes of a frame. Lanes are worked on at the same time: what is luma's keeps threads busy that chroma's
/// does not.
fn parts<'a>(
    lanes: &'a mut [Lane],
    frame: &'a mut VideoFrame,
) -> Vec<(&'a mut Lane, &'a mut [SampleBuffer])> {
    let mut rest = &mut frame.planes[..];
    let mut parts = Vec::new();
    for lane in lanes {
        let (planes, behind) = rest.split_at_mut(lane.len());
        parts.push((lane, planes));
        rest = behind;
    }
    parts
}
