//! The noise of a clip: from frames spread over it where they can be had before, else from the first ones as they come.
//! A single frame may tell nothing: many clips begin in black.

use super::{Layout, VideoFormat, VideoFrame};
use crate::denoiser::{Denoiser, Noise};
use crate::noise::{self, Estimator, Model, measure};
use crate::{FrameView, Plane, Result};

/// What the planes of a clip are filtered for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    /// Deviation of every plane in its own units; 0 for none.
    pub(super) sigma: Vec<f32>,
    /// It is the noise of developed pictures.
    pub(super) developed: bool,
}

/// What a frame tells.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// As of white noise.
    pub(super) sigma: Vec<f32>,
    /// As of a camera's, where it is.
    pub(super) developed: Option<Vec<f32>>,
}

impl Seen {
    /// What is to be filtered for, if there was no other frame.
    pub(super) fn level(self) -> Level {
        match self.developed {
            Some(sigma) => Level { sigma, developed: true },
            None => Level { sigma: self.sigma, developed: false },
        }
    }
}

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
    known: Noise,
    frames: usize,
    /// Of every plane, what was found where there was some.
    found: Vec<Vec<f32>>,
    /// The same of frames whose noise is a camera's.
    developed: Vec<Vec<f32>>,
    /// Frames with the noise of their first plane, where more than that is to be found out.
    kept: Option<Vec<(f32, VideoFrame)>>,
}

impl Denoiser {
    /// To tell the noise of a clip from frames spread over it, before it is filtered. Noise that is given needs none.
    pub fn clip_noise(&self, format: VideoFormat) -> ClipNoise {
        ClipNoise {
            format,
            known: self.spec.noise.clone(),
            frames: 0,
            found: vec![Vec::new(); format.layout.planes()],
            developed: vec![Vec::new(); format.layout.planes()],
            kept: (!self.spec.correlation.is_none()).then(Vec::new),
        }
    }
}

impl ClipNoise {
    /// Looks at a frame.
    pub fn add(&mut self, frame: &VideoFrame) -> Result<()> {
        self.format.check(frame)?;
        let seen = self.of_frame(frame)?;
        for (all, one) in self.found.iter_mut().zip(&seen.sigma) {
            all.extend(Some(*one).filter(|s| *s > 0.0));
        }
        for (all, one) in self.developed.iter_mut().zip(seen.developed.iter().flatten()) {
            all.push(*one);
        }
        if let Some(kept) = self.kept.as_mut().filter(|_| seen.sigma[0] > 0.0) {
            kept.push((seen.sigma[0], frame.clone()));
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
        self.level().sigma
    }

    /// What is to be filtered for: noise of a camera, where most frames that have noise have such noise.
    pub(super) fn level(&self) -> Level {
        let median = |found: &Vec<f32>| {
            let mut sorted = found.clone();
            sorted.sort_unstable_by(f32::total_cmp);
            sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
        };
        match &self.known {
            Noise::Known(model) => self.given(model),
            Noise::Auto(_) => {
                let developed =
                    !self.developed[0].is_empty() && 2 * self.developed[0].len() >= self.found[0].len();
                let of = if developed { &self.developed } else { &self.found };
                Level { sigma: of.iter().map(median).collect(), developed }
            }
        }
    }

    /// Noise that is given: luma and colour have their levels where they are planes.
    fn given(&self, model: &Model) -> Level {
        let alone = matches!(self.format.layout, Layout::Mono | Layout::Rgb);
        let of = |plane: usize| if alone { model.sigma() } else { model.levels()[plane] };
        let sigma = (0..self.found.len()).map(|plane| self.in_units(of(plane))).collect();
        Level { sigma, developed: model.developed().is_some() }
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

    /// What a frame tells.
    pub(super) fn of_frame(&self, frame: &VideoFrame) -> Result<Seen> {
        let estimator = match &self.known {
            Noise::Known(model) => {
                let level = self.given(model);
                return Ok(Seen { sigma: level.sigma, developed: None });
            }
            Noise::Auto(estimator) => *estimator,
        };
        let mut planes = Vec::with_capacity(frame.planes.len());
        for (i, samples) in frame.planes.iter().enumerate() {
            let (width, height) = self.format.plane_size(i);
            planes.push(Plane::from_vec(width, height, samples.view().to_floats(1.0))?);
        }
        let white = self.format.white;
        let mut sigma = Vec::with_capacity(planes.len());
        for plane in &planes {
            let view = FrameView::new(vec![plane.view()], white)?;
            sigma.push(measure(&view, None, estimator.of_white_noise())?.worth_removing());
        }
        if estimator != Estimator::Auto {
            return Ok(Seen { sigma, developed: None });
        }
        // Luma tells of a camera's noise; of colour at a lower resolution nothing would be left to tell.
        let together = if self.format.layout == Layout::Rgb { &planes[..] } else { &planes[..1] };
        let view = FrameView::new(together.iter().map(Plane::view).collect(), white)?;
        let found = noise::camera(&view, None)?;
        let developed = found.map(|camera| self.developed_planes(camera.sigma, &sigma));
        Ok(Seen { sigma, developed })
    }

    /// What is filtered for in every plane, where that of red, green and blue, or of luma, is known.
    fn developed_planes(&self, level: f32, white: &[f32]) -> Vec<f32> {
        if self.format.layout == Layout::Rgb {
            return vec![level; 3];
        }
        let (x, y) = self.format.layout.subsampling();
        // As much in colour as in luma (docs/noise.md), a mean over the samples that chroma stands for; half of that, since
        // what codecs leave of it is less.
        let chroma = COLOUR * level / ((x * y) as f32).sqrt();
        let of = |(plane, white): (usize, &f32)| if plane == 0 { level } else { white.max(chroma) };
        white.iter().enumerate().map(of).collect()
    }
}

/// Deviation of chroma for one of luma, where red, green and blue have equal noise: 0.64 times the root of 3, halved.
const COLOUR: f32 = 0.55;
