//! The builder that most programs need: method, noise, device; then frame in, frame out.

mod builder;
mod map;
mod parts;
mod samples;

use std::sync::Arc;

pub use builder::{DenoiserBuilder, Sigma};
pub use map::IsolineMap;

use crate::device::{self, Backend, picture};
use crate::memory::check_planes;
use crate::method::{Guide, Method, Params, Plan, Subject};
use crate::noise::correlated::Whitening;
use crate::noise::{CameraNoise, measure};
use crate::{Control, Error, Frame, FrameView, Plane, PlaneView, Result, bm3d, isoline, nlm};

/// A resolved job: what will be done to one picture.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// Noise of the picture in its own units: as given, or as estimated.
    pub sigma: f32,
    /// Noise that is filtered for, on the 0..255 scale: `sigma` scaled, times the strength.
    pub sigma255: f32,
    /// The parameters for that noise.
    pub params: Params,
    /// What a device will do.
    pub plan: Plan,
    /// What the noise is like, where it was estimated and is a camera's.
    pub camera: Option<CameraNoise>,
    /// Makes the planes that patches are compared on, where the noise is correlated.
    whitening: Option<Arc<Whitening>>,
}

/// The noise of a picture.
struct Noise {
    /// Its deviation, in units of the samples.
    sigma: f32,
    /// What it is like, where it is a camera's.
    camera: Option<CameraNoise>,
    /// What makes it white, where it is correlated.
    whitening: Option<Arc<Whitening>>,
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
    /// let denoiser = Denoiser::nlm(Profile::Fast).sigma(25.0).set("search", 7).build()?;
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
        let noise = self.noise(&frame, alpha)?;
        if noise.sigma <= 0.0 {
            return Ok(None);
        }
        Ok(Some(self.plan(noise, &self.subject(&frame))?))
    }

    /// What is to be known of a picture besides its noise.
    fn subject(&self, frame: &FrameView<'_>) -> Subject {
        // Only BM3D asks for it.
        let ranged = matches!(self.spec.method, Method::Bm3d(_));
        Subject {
            range: if ranged { frame.range() } else { (0.0, frame.white()) },
            ..Subject::new(frame.width(), frame.height(), frame.channels(), frame.white())
        }
    }

    /// The noise of a picture, as given or as estimated.
    fn noise(&self, frame: &FrameView<'_>, alpha: Option<&PlaneView<'_>>) -> Result<Noise> {
        frame.check_finite()?;
        let known = self.spec.sigma_of(frame.white());
        let correlation = &self.spec.correlation;
        if correlation.is_none() {
            return Ok(match (known, self.spec.sigma) {
                (None, Sigma::Auto(estimator)) => {
                    let found = measure(frame, alpha, estimator)?;
                    Noise { sigma: found.worth_removing(), camera: found.camera, whitening: None }
                }
                (known, _) => Noise { sigma: known.unwrap_or_default(), camera: None, whitening: None },
            });
        }
        // Spectra are complex, and there are several.
        check_planes(8 * frame.channels(), frame.width(), frame.height())?;
        let whitening = self.spec.correlation_of(frame.white()).resolve(frame, known)?;
        Ok(Noise { sigma: whitening.sigma(), camera: None, whitening: Some(Arc::new(whitening)) })
    }

    /// Parameters and plan for a picture with this noise.
    fn plan(&self, noise: Noise, subject: &Subject) -> Result<Resolved> {
        let Noise { sigma, camera, mut whitening } = noise;
        // BM3D knows what correlation does to its coefficients; it compares patches of the picture itself.
        let known = whitening.take_if(|_| matches!(self.spec.method, Method::Bm3d(_)));
        let subject = &Subject {
            sigma,
            strength: self.spec.strength_factor(),
            guide: whitening.as_ref().map_or(Guide::Own, |w| Guide::Planes(w.guides(), w.noise())),
            psd: known.and_then(|w| w.psd()).map(Arc::new),
            ..subject.clone()
        };
        builder::check_positive("sigma", sigma)?;
        let params = self.spec.params(subject.noise255(), subject.planes)?;
        let plan = params.plan(subject)?;
        Ok(Resolved { sigma, sigma255: subject.noise255(), params, plan, camera, whitening })
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
        let window = resolved.plan.window();
        let (width, height, channels) = (window.width, window.height, window.planes);
        if (width, height, channels) != (frame.width(), frame.height(), frame.channels()) {
            return Err(Error::Shape(format!(
                "resolved for a picture of {width} x {height} pixels in {channels} channels, not for this one"
            )));
        }
        let guide = resolved.guide(frame.planes())?;
        let guide: Vec<PlaneView<'_>> = guide.iter().map(Plane::view).collect();
        let planes = picture(&*self.backend, &resolved.plan, frame.planes(), &guide, control)?;
        Frame::new(planes, frame.white())
    }
}

impl Resolved {
    /// The planes that patches are compared on, if not the picture's own.
    fn guide(&self, planes: &[PlaneView<'_>]) -> Result<Vec<Plane>> {
        self.whitening.as_ref().map_or(Ok(Vec::new()), |whitening| whitening.guide(planes))
    }
}
