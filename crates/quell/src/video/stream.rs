//! A stream of frames through a denoiser.

use rayon::prelude::*;

use super::lane::{Lane, lanes};
use super::{VideoFormat, VideoFrame};
use crate::denoiser::{Denoiser, Sigma, isoline_params, nlm_params};
use crate::method::Method;
use crate::noise::estimate;
use crate::{Control, Error, FrameView, Plane, Result};

/// Noise below this (0..255 scale) is none: nothing would be seen of its removal.
const NO_NOISE: f32 = 0.1;

/// A video on its way through a denoiser. Frames come out in the order they went in, [`latency`](Self::latency) frames
/// later; memory does not grow with their number.
///
/// ```
/// use quell::{Denoiser, Layout, VideoFormat, nlm::Profile};
///
/// let format = VideoFormat::with_bits(32, 24, Layout::Yuv420, 8)?;
/// let denoiser = Denoiser::nlm(Profile::Fast).sigma(10.0).set("past", "1").set("future", "1").build()?;
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
    latency: usize,
    /// Frames that are in work beyond the latency.
    ahead: usize,
    /// Planned with the first frame.
    lanes: Vec<Lane>,
    sigma: Vec<f32>,
    /// Frames that are in and not yet out.
    waiting: usize,
    /// Frames whose samples have been read: room for results.
    spare: Vec<VideoFrame>,
    failed: bool,
}

impl Denoiser {
    /// Starts a stream of frames of this format. Noise that is not given is estimated from the first frame, plane by
    /// plane.
    pub fn stream(&self, format: VideoFormat) -> Result<Stream> {
        self.stream_with(format, Control::new())
    }

    /// The same, listening to the cancellation of `control`.
    pub fn stream_with(&self, format: VideoFormat, control: Control) -> Result<Stream> {
        let latency = match self.spec.method {
            Method::Bm3d(_) => 0,
            Method::Isoline(profile) => isoline_params(&self.spec, profile, 25.0, 1)?.future,
            Method::Nlm(profile) => nlm_params(&self.spec, profile, 25.0, 1)?.future,
        };
        Ok(Stream {
            denoiser: Self { spec: self.spec.clone(), backend: self.backend.clone() },
            format,
            control,
            latency,
            ahead: 0,
            lanes: Vec::new(),
            sigma: Vec::new(),
            waiting: 0,
            spare: Vec::new(),
            failed: false,
        })
    }
}

impl Stream {
    /// Frames that have to follow a frame before it comes out.
    pub fn latency(&self) -> usize {
        self.latency + self.ahead
    }

    /// Lets this many more frames be in work before the first one comes out, which keeps a GPU busy
    /// ([`lanes`](crate::device::Backend::lanes) says how many are worth it); the latency grows by as many. Only methods
    /// that look at one frame at a time make use of it, and only before the first frame.
    ///
    /// ```
    /// use quell::{Denoiser, Layout, VideoFormat, bm3d::Profile};
    ///
    /// let format = VideoFormat::with_bits(32, 24, Layout::Grey, 8)?;
    /// let stream = Denoiser::bm3d(Profile::Fast).sigma(10.0).build()?.stream(format)?.ahead(2);
    /// assert_eq!(stream.latency(), 2);
    /// # Ok::<(), quell::Error>(())
    /// ```
    #[must_use]
    pub fn ahead(mut self, frames: usize) -> Self {
        if matches!(self.denoiser.spec.method, Method::Bm3d(_)) && self.lanes.is_empty() {
            self.ahead = frames;
        }
        self
    }

    /// What all frames have in common.
    pub fn format(&self) -> &VideoFormat {
        &self.format
    }

    /// Noise of every plane in its own units, as given or as estimated, 0 for none; nothing before the first frame.
    pub fn sigma(&self) -> &[f32] {
        &self.sigma
    }

    /// Takes the next frame, and gives the one that is due. After an error the stream is of no further use.
    pub fn push(&mut self, frame: VideoFrame) -> Result<Option<VideoFrame>> {
        self.format.check(&frame)?;
        self.usable()?;
        self.failed = true;
        if self.lanes.is_empty() {
            self.sigma = self.noise(&frame)?;
            self.lanes = lanes(&self.denoiser, &self.format, &frame, &self.sigma, 1 + self.ahead)?;
        }
        let (format, control) = (&self.format, &self.control);
        side_by_side(self.lanes.iter_mut().map(|lane| (lane, ())), |lane, ()| {
            lane.push(format, &frame, control)
        })?;
        self.waiting += 1;
        self.spare.push(frame);
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

    fn usable(&self) -> Result<()> {
        if self.failed {
            return Err(Error::Shape("the stream ended with an error before".into()));
        }
        Ok(())
    }

    fn pull(&mut self) -> Result<Option<VideoFrame>> {
        if self.waiting == 0 {
            return Ok(None);
        }
        let mut frame = self.spare.pop().unwrap_or_else(|| self.format.frame());
        let control = &self.control;
        let mut rest = &mut frame.planes[..];
        let mut parts = Vec::new();
        for lane in &mut self.lanes {
            let (planes, behind) = rest.split_at_mut(lane.len());
            parts.push((lane, planes));
            rest = behind;
        }
        side_by_side(parts.into_iter(), |lane, planes| lane.pull(planes, control))?;
        self.waiting -= 1;
        Ok(Some(frame))
    }

    /// The noise of every plane.
    fn noise(&self, frame: &VideoFrame) -> Result<Vec<f32>> {
        let planes = frame.planes.iter().enumerate();
        match self.denoiser.spec.sigma {
            Sigma::Known(s) => Ok(planes.map(|_| s).collect()),
            Sigma::Auto(estimator) => planes
                .map(|(i, plane)| {
                    let (width, height) = self.format.plane_size(i);
                    let plane = Plane::from_vec(width, height, plane.view().to_floats(1.0))?;
                    let sigma = estimate(&FrameView::new(vec![plane.view()], self.format.white)?, estimator)?;
                    Ok(if sigma * 255.0 / self.format.white < NO_NOISE { 0.0 } else { sigma })
                })
                .collect(),
        }
    }
}

/// Does `work` for all lanes at once: they do not depend on each other, and a GPU likes company.
fn side_by_side<'a, T: Send>(
    lanes: impl Iterator<Item = (&'a mut Lane, T)>,
    work: impl Fn(&mut Lane, T) -> Result<()> + Sync,
) -> Result<()> {
    let mut lanes: Vec<(&mut Lane, T)> = lanes.collect();
    match (lanes.pop(), lanes.is_empty()) {
        (Some((lane, part)), true) => work(lane, part),
        (None, _) => Ok(()),
        (Some(last), false) => {
            lanes.push(last);
            lanes.into_par_iter().try_for_each(|(lane, part)| work(lane, part))
        }
    }
}
