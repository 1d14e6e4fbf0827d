//! What was found out of a picture, kept: other settings are planned for without another look at it.

use super::{Denoiser, Known, Resolved};
use crate::frame::{check_white, typical_range};
use crate::method::{Method, Subject};
use crate::noise::{Ends, Model, clipped_ends};
use crate::{Error, FrameView, PlaneView, Result};

/// The noise of a picture, and what else of it plans depend on.
#[derive(Clone, Debug)]
pub struct Seen {
    known: Known,
    size: (usize, usize),
    channels: usize,
    white: f32,
    range: (f32, f32),
    ends: Ends,
}

impl Seen {
    /// What the noise is like, on the scale on which white is 255.
    pub fn noise(&self) -> &Model {
        &self.known.model
    }
}

impl Denoiser {
    /// Looks at a picture: the first half of [`resolve_seen`](Self::resolve_seen), which takes the time.
    /// [`resolve_again`](Self::resolve_again) is the second half, on any denoiser that looks for the same noise. `None`: there
    /// is none.
    ///
    /// ```
    /// use quell::{Denoiser, Frame, Plane, bm3d::Profile, noise};
    /// let grey = Frame::grey(Plane::from_vec(64, 64, vec![100.0; 4096])?, 255.0)?;
    /// let noisy = noise::add_gaussian(&grey, 10.0, 0)?;
    /// let seen = Denoiser::bm3d(Profile::Fast).build()?.see(&noisy, None)?.unwrap();
    /// let softer = Denoiser::bm3d(Profile::Fast).strength(0.5).build()?;
    /// let resolved = softer.resolve_again(&seen)?;
    /// assert_eq!(resolved.plan, softer.resolve(&noisy)?.unwrap().plan);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn see<'a>(
        &self,
        frame: impl Into<FrameView<'a>>,
        alpha: Option<&PlaneView<'_>>,
    ) -> Result<Option<Seen>> {
        let frame = frame.into();
        let Some(known) = self.noise(&frame, alpha)? else { return Ok(None) };
        let Subject { clipped, .. } = self.subject_with(&frame, &known);
        Ok(Some(Seen {
            known,
            size: (frame.width(), frame.height()),
            channels: frame.channels(),
            white: frame.white(),
            range: frame.range(),
            ends: clipped.unwrap_or_default(),
        }))
    }

    /// The same for noise that is known better than by the denoiser's own means, as in
    /// [`resolve_known`](Self::resolve_known).
    pub fn see_known<'a>(&self, frame: impl Into<FrameView<'a>>, noise: &Model) -> Result<Option<Seen>> {
        self.with_noise(noise)?.see(frame, None)
    }

    /// The same where noise is known, by the builder or here, for finite samples that are stored in any way: `sample` gives
    /// sample `i` of a plane, of which only some are asked for. `None` where the whole picture is needed.
    pub fn see_samples(
        &self,
        (width, height): (usize, usize),
        channels: usize,
        white: f32,
        noise: Option<&Model>,
        sample: impl Fn(usize, usize) -> f32,
    ) -> Result<Option<Seen>> {
        if let Some(model) = noise {
            return self.with_noise(model)?.see_samples(
                (width, height),
                channels,
                white,
                None,
                &sample as &dyn Fn(usize, usize) -> f32,
            );
        }
        check_white(white)?;
        let pixels = width.checked_mul(height).filter(|n| *n > 0 && channels > 0);
        let pixels = pixels.ok_or_else(|| Error::Shape("the picture is empty".into()))?;
        let Some(model) = self.spec.noise.known() else { return Ok(None) };
        if !self.correlation(channels, white)?.is_none() {
            return Ok(None);
        }
        let known = Known::new(model, white);
        let looks = self.spec.undoes_clipping() && model.brightness().is_none();
        let ends = || clipped_ends((width, height), channels, white, known.sigma, &sample);
        let ends = if looks { ends() } else { Ends::default() };
        let range = typical_range(pixels * channels, |i| sample(i / pixels, i % pixels));
        Ok(Some(Seen { known, size: (width, height), channels, white, range, ends }))
    }

    /// Parameters and plan for a picture that was looked at.
    pub fn resolve_again(&self, seen: &Seen) -> Result<Resolved> {
        let Seen { known, size: (width, height), channels, white, range, ends } = seen.clone();
        let ranged = matches!(self.spec.method, Method::Bm3d(_) | Method::Ridge(_));
        let subject = Subject::new(width, height, channels, white);
        let subject = Subject {
            range: if ranged { range } else { subject.range },
            clipped: Some(if self.spec.undoes_clipping() { ends } else { Ends::default() }),
            ..subject
        };
        self.plan(known, subject)
    }

    fn with_noise(&self, noise: &Model) -> Result<Self> {
        let spec = self.spec.clone().noise(noise.clone());
        spec.check()?;
        Ok(Self { spec, backend: self.backend.clone() })
    }
}
