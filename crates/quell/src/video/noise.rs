//! The noise of a clip: from frames spread over it where they can be had before, else from the first ones as they come.
//! A single frame may tell nothing: many clips begin in black.

use super::{VideoFormat, VideoFrame};
use crate::denoiser::{Denoiser, Sigma};
use crate::noise::measure;
use crate::{FrameView, Plane, Result};

/// What frames of a clip tell about its noise.
///
/// ```
/// use quell::{Control, Denoiser, Layout, VideoFormat, nlm::Profile};
///
/// let format = VideoFormat::with_bits(32, 24, Layout::Mono, 8)?;
/// let denoiser = Denoiser::nlm(Profile::Fast).build()?;
/// let mut noise = denoiser.clip_noise(format);
/// noise.add(&format.frame())?; // a frame from the middle, one from the end ...
/// assert_eq!(noise.sigma(), [0.0]); // black frames have none
/// let stream = denoiser.stream_with_noise(noise, Control::new())?;
/// # Ok::<(), quell::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClipNoise {
    pub(super) format: VideoFormat,
    known: Sigma,
    frames: usize,
    /// Of every plane, what was found where there was some.
    found: Vec<Vec<f32>>,
    /// Frames with the noise of their first plane, where more than that is to be found out.
    kept: Option<Vec<(f32, VideoFrame)>>,
}

impl Denoiser {
    /// To tell the noise of a clip from frames spread over it, before it is filtered. Noise that is given needs none.
    pub fn clip_noise(&self, format: VideoFormat) -> ClipNoise {
        ClipNoise {
            format,
            known: self.spec.sigma_of(255.0).map_or(self.spec.sigma, Sigma::Known),
            frames: 0,
            found: vec![Vec::new(); format.layout.planes()],
            kept: (!self.spec.correlation.is_none()).then(Vec::new),
        }
    }
}

impl ClipNoise {
    /// Looks at a frame.
    pub fn add(&mut self, frame: &VideoFrame) -> Result<()> {
        self.format.check(frame)?;
        let sigma = self.of_frame(frame)?;
        for (all, one) in self.found.iter_mut().zip(&sigma) {
            all.extend(Some(*one).filter(|s| *s > 0.0));
        }
        if let Some(kept) = self.kept.as_mut().filter(|_| sigma[0] > 0.0) {
            kept.push((sigma[0], frame.clone()));
        }
        self.frames += 1;
        Ok(())
    }

    /// Frames that were looked at.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Noise of every plane in its own units: as given, or the median over the frames that have noise there; 0 if none
    /// has.
    pub fn sigma(&self) -> Vec<f32> {
        let median = |found: &Vec<f32>| {
            let mut sorted = found.clone();
            sorted.sort_unstable_by(f32::total_cmp);
            sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
        };
        match self.known {
            Sigma::Known(sigma) => vec![self.in_units(sigma); self.found.len()],
            Sigma::Auto(_) => self.found.iter().map(median).collect(),
        }
    }

    /// From the scale on which white is 255 to that of the samples.
    fn in_units(&self, sigma: f32) -> f32 {
        sigma * self.format.white / 255.0
    }

    /// A frame with as much noise as most.
    pub(super) fn typical(&self) -> Option<&VideoFrame> {
        let middle = self.sigma()[0];
        let distance = |(sigma, _): &&(f32, VideoFrame)| (sigma - middle).abs();
        let kept = self.kept.iter().flatten();
        kept.min_by(|a, b| distance(a).total_cmp(&distance(b))).map(|(_, frame)| frame)
    }

    /// The noise of every plane of a frame, as of white noise: a camera's is told by three colours together.
    fn of_frame(&self, frame: &VideoFrame) -> Result<Vec<f32>> {
        let mut sigma = Vec::with_capacity(frame.planes.len());
        for (i, samples) in frame.planes.iter().enumerate() {
            let (width, height) = self.format.plane_size(i);
            let plane = Plane::from_vec(width, height, samples.view().to_floats(1.0))?;
            let view = FrameView::new(vec![plane.view()], self.format.white)?;
            sigma.push(match self.known {
                Sigma::Known(sigma) => self.in_units(sigma),
                Sigma::Auto(estimator) => measure(&view, None, estimator.of_white_noise())?.worth_removing(),
            });
        }
        Ok(sigma)
    }
}

/// Frames after the first with noise at which a live clip is looked at again, as powers of two: a slow fade is over by
/// the last of them.
const LAST_LOOK: usize = 64;
/// Noise that is so much stronger than what is filtered for, in two frames one after the other, is filtered for.
const RISE: f32 = 1.5;

/// Watches the first frames of a clip of which nothing is known before. Frames are not held back for it.
#[derive(Debug)]
pub(super) struct Watch {
    noise: ClipNoise,
    /// Of every plane, once some was found.
    sigma: Option<Vec<f32>>,
    /// Frames since then.
    since: usize,
    /// The frame before had more noise.
    louder: Option<Vec<f32>>,
}

impl Watch {
    pub(super) fn new(noise: ClipNoise) -> Self {
        Self { noise, sigma: None, since: 0, louder: None }
    }

    /// Looks at the next frame, if it is worth while: what is to be filtered for from here on, if that changes.
    pub(super) fn look(&mut self, frame: &VideoFrame) -> Result<Option<Vec<f32>>> {
        let Some(sigma) = &mut self.sigma else {
            let found = self.noise.of_frame(frame)?;
            self.sigma = found.iter().any(|s| *s > 0.0).then(|| found.clone());
            return Ok(self.sigma.clone());
        };
        self.since += 1;
        let due = self.since.is_power_of_two() && self.since <= LAST_LOOK;
        if !due && self.louder.is_none() {
            return Ok(None);
        }
        let found = self.noise.of_frame(frame)?;
        let rises = |now: &[f32], sigma: &[f32]| now.iter().zip(sigma).any(|(n, s)| *n > RISE * s);
        if !rises(&found, sigma) {
            self.louder = None;
            return Ok(None);
        }
        let Some(before) = self.louder.take() else {
            self.louder = Some(found);
            return Ok(None);
        };
        // The lesser of the two: one may be the odd one out.
        let both: Vec<f32> = before.iter().zip(&found).map(|(a, b)| a.min(*b)).collect();
        if !rises(&both, sigma) {
            return Ok(None);
        }
        sigma.iter_mut().zip(both).for_each(|(s, b)| *s = s.max(b));
        Ok(Some(sigma.clone()))
    }
}
