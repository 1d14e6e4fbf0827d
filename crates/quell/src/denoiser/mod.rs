//! The builder that most programs need: method, noise, device; then frame in, frame out.

mod builder;
mod colors;
mod job;
mod map;
mod samples;

use std::borrow::Cow;
use std::sync::Arc;

pub use builder::{DenoiserBuilder, Sigma};
pub(crate) use colors::isoline_sequence;
pub use job::Job;
pub(crate) use job::{Guide, Shape, isoline_params, isoline_plan, nlm_params};
pub use map::IsolineMap;
pub(crate) use samples::bm3d_samples;

use crate::device::{self, Backend, Samples, SamplesMut, picture};
use crate::memory::check_planes;
use crate::method::Method;
use crate::noise::{measure, undo_clipping};
use crate::{ColorMode, Control, Error, Frame, FrameView, Plane, PlaneView, Result, bm3d, isoline, nlm};

/// A resolved job: what will be done to one picture.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// Noise of the picture in its own units: as given, or as estimated.
    pub sigma: f32,
    /// Noise that is filtered for, on the 0..255 scale: `sigma` scaled, times the strength.
    pub sigma255: f32,
    /// Parameters and plan.
    pub job: Job,
    /// Channels of the picture; the plan may have fewer.
    channels: usize,
}

/// A denoised picture and how it was made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Denoised {
    /// The picture, in the units of the input.
    pub frame: Frame,
    /// What was done; `None` when there was no noise to remove.
    pub resolved: Option<Resolved>,
}

/// A denoiser, built once and used for many pictures.
pub struct Denoiser {
    pub(crate) spec: DenoiserBuilder,
    pub(crate) backend: Arc<dyn Backend>,
}

impl std::fmt::Debug for Denoiser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Denoiser").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Denoiser {
    /// Starts building a BM3D denoiser.
    pub fn bm3d(profile: bm3d::Profile) -> DenoiserBuilder {
        DenoiserBuilder::new(Method::Bm3d(profile))
    }

    /// Starts building an NL-means denoiser.
    ///
    /// ```
    /// use quell::{Denoiser, Frame, Plane, nlm::Profile};
    /// let noisy = Frame::grey(Plane::from_vec(16, 16, vec![100.0; 256])?, 255.0)?;
    /// let denoiser = Denoiser::nlm(Profile::Fast).sigma(25.0).set("search", "7").build()?;
    /// assert_eq!(denoiser.denoise(&noisy)?, noisy);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn nlm(profile: nlm::Profile) -> DenoiserBuilder {
        DenoiserBuilder::new(Method::Nlm(profile))
    }

    /// Starts building a denoiser that averages along isolines.
    ///
    /// ```
    /// use quell::{Denoiser, Frame, Plane, isoline::Profile};
    /// let noisy = Frame::grey(Plane::from_vec(16, 16, vec![100.0; 256])?, 255.0)?;
    /// let clean = Denoiser::isoline(Profile::Fast).sigma(25.0).build()?.denoise(&noisy)?;
    /// assert!((clean.planes()[0].as_slice()[40] - 100.0).abs() < 0.01);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn isoline(profile: isoline::Profile) -> DenoiserBuilder {
        DenoiserBuilder::new(Method::Isoline(profile))
    }

    /// The device in use; `auto` starts it to tell.
    pub fn device(&self) -> device::DeviceInfo {
        self.backend.info()
    }

    /// The device itself.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// Denoises a picture.
    pub fn denoise<'a>(&self, frame: impl Into<FrameView<'a>>) -> Result<Frame> {
        Ok(self.run(frame, &Control::new())?.frame)
    }

    /// Resolves noise, parameters and plan for a picture without filtering it. `None`: there is no noise.
    pub fn resolve<'a>(&self, frame: impl Into<FrameView<'a>>) -> Result<Option<Resolved>> {
        self.resolve_seen(frame, None)
    }

    /// The same for a picture with an alpha channel: noise is not estimated from what is transparent.
    pub fn resolve_seen<'a>(
        &self,
        frame: impl Into<FrameView<'a>>,
        alpha: Option<&PlaneView<'_>>,
    ) -> Result<Option<Resolved>> {
        let frame = frame.into();
        let (sigma, guide) = self.noise(&frame, alpha)?;
        if sigma <= 0.0 {
            return Ok(None);
        }
        Ok(Some(self.plan(sigma, &shape(self.spec.method, &frame, guide))?))
    }

    /// The noise of a picture, as given or as estimated, and what patches are to be compared on.
    fn noise(&self, frame: &FrameView<'_>, alpha: Option<&PlaneView<'_>>) -> Result<(f32, Guide)> {
        frame.check_finite()?;
        let correlation = &self.spec.correlation;
        if correlation.is_none() {
            let sigma = match self.spec.sigma {
                Sigma::Known(s) => s,
                Sigma::Auto(estimator) => measure(frame, alpha, estimator)?.worth_removing(),
            };
            return Ok((sigma, Guide::Own));
        }
        // Spectra are complex, and there are several.
        check_planes(8 * frame.channels(), frame.width(), frame.height())?;
        let whitening = correlation.resolve(frame, self.spec.sigma.known())?;
        Ok((whitening.sigma(), Guide::Whitened(Arc::new(whitening))))
    }

    /// Parameters and plan for a picture with noise `sigma`, in its own units.
    fn plan(&self, sigma: f32, shape: &Shape) -> Result<Resolved> {
        let sigma255 = sigma * self.spec.strength.unwrap_or(1.0) * 255.0 / shape.white;
        let job = Job::new(&self.spec, shape, sigma)?;
        Ok(Resolved { sigma, sigma255, job, channels: shape.channels })
    }

    /// Denoises a picture, reporting to and listening to `control`.
    pub fn run<'a>(&self, frame: impl Into<FrameView<'a>>, control: &Control) -> Result<Denoised> {
        let frame = frame.into();
        let resolved = self.resolve(frame.clone())?;
        let frame = match &resolved {
            Some(job) => self.run_resolved(frame, job, control)?,
            None => {
                check_planes(frame.channels(), frame.width(), frame.height())?;
                frame.to_frame()
            }
        };
        Ok(Denoised { frame, resolved })
    }

    /// Denoises the picture that `resolved` was made for.
    pub fn run_resolved<'a>(
        &self,
        frame: impl Into<FrameView<'a>>,
        resolved: &Resolved,
        control: &Control,
    ) -> Result<Frame> {
        let frame = frame.into();
        let ((width, height), channels) = (resolved.job.size(), resolved.channels);
        if (width, height, channels) != (frame.width(), frame.height(), frame.channels()) {
            return Err(Error::Shape(format!(
                "resolved for a picture of {width} x {height} pixels in {channels} channels, not for this one"
            )));
        }
        let planes = match &resolved.job {
            Job::Bm3d { params, plan } => self.filter_bm3d(&frame, params.color, plan, control)?,
            Job::Isoline { plan, .. } => {
                let mut sequence = isoline_sequence(&*self.backend, plan)?;
                picture(&mut *sequence, frame.planes(), &[], frame.white(), control)?
            }
            Job::Nlm { plan, whitening, .. } => {
                let guide = whitening.as_ref().map(|w| w.guide(frame.planes())).transpose()?;
                let guide: Vec<PlaneView<'_>> = guide.iter().flatten().map(Plane::view).collect();
                let mut sequence = self.backend.nlm(plan)?;
                picture(&mut *sequence, frame.planes(), &guide, frame.white(), control)?
            }
        };
        let mut denoised = Frame::new(planes, frame.white())?;
        // The paper's filters do not know the noise.
        if matches!(&resolved.job, Job::Isoline { plan, .. } if !plan.variant.is_blind()) {
            undo_clipping(frame, &mut denoised, resolved.sigma)?;
        }
        Ok(denoised)
    }

    fn filter_bm3d(
        &self,
        frame: &FrameView<'_>,
        color: ColorMode,
        plan: &bm3d::Plan,
        control: &Control,
    ) -> Result<Vec<Plane>> {
        // Borrowed where rows follow each other without gaps.
        let rows: Vec<Cow<'_, [f32]>> = frame.planes().iter().map(PlaneView::contiguous).collect();
        let from: Vec<Samples<'_>> = rows.iter().map(|p| Samples::F32(p)).collect();
        check_planes(2 * rows.len(), frame.width(), frame.height())?;
        let mut out: Vec<Plane> = rows.iter().map(|_| Plane::zeros(frame.width(), frame.height())).collect();
        let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(|p| SamplesMut::F32(p.as_mut_slice())).collect();
        bm3d_samples(&*self.backend, color, plan, frame.white(), &from, &mut to, control)?;
        Ok(out)
    }
}

fn shape(method: Method, frame: &FrameView<'_>, guide: Guide) -> Shape {
    Shape {
        width: frame.width(),
        height: frame.height(),
        channels: frame.channels(),
        guide,
        white: frame.white(),
        // Only BM3D asks for it.
        range: if let Method::Bm3d(_) = method { frame.range() } else { (0.0, frame.white()) },
    }
}
