//! The builder that most programs need: method, noise, device; then frame in, frame out.

mod builder;
mod map;
mod parts;
mod refine;
mod samples;
mod seen;

use std::sync::Arc;

pub use builder::{DenoiserBuilder, Noise};
pub use map::IsolineMap;
pub use seen::Seen;

use crate::device::{self, Backend, picture};
use crate::memory::check_planes;
use crate::method::{Guide, Method, Params, Plan, Subject};
use crate::noise::correlated::{Correlation, Covariance, CovarianceSource, Whitening};
use crate::noise::{Ends, Model, clipped_ends, measure_finite};
use crate::{Control, Error, Frame, FrameView, Plane, PlaneView, Result, bm3d, isoline, nlm, ridge};

/// A resolved job: what will be done to one picture.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// Noise of the picture in its own units: as given, or as estimated; a typical one, where it depends on brightness.
    pub sigma: f32,
    /// Noise that is filtered for, on the 0..255 scale: `sigma` scaled, times the strength.
    pub sigma255: f32,
    /// The parameters for that noise.
    pub params: Params,
    /// What a device will do.
    pub plan: Plan,
    /// What the noise is like, on the scale on which white is 255: as given, or as estimated.
    pub noise: Model,
    /// Makes the planes that patches are compared on, where the noise is correlated.
    whitening: Option<Arc<Whitening>>,
}

/// The noise of a picture.
#[derive(Clone, Debug)]
struct Known {
    /// Its deviation, in units of the samples.
    sigma: f32,
    /// What it is like.
    model: Model,
    /// What makes it white, where it is correlated.
    whitening: Option<Arc<Whitening>>,
}

impl Known {
    /// As it is given.
    fn new(model: &Model, white: f32) -> Self {
        Self { sigma: model.sigma() * white / 255.0, model: model.clone(), whitening: None }
    }

    /// White noise of this deviation in units of the samples.
    fn white(sigma: f32, white: f32) -> Result<Self> {
        Ok(Self { sigma, model: Model::white(sigma * 255.0 / white)?, whitening: None })
    }
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

    /// Starts building a denoiser by context ridge.
    ///
    /// ```
    /// use quell::{Denoiser, Frame, Plane, ridge::Profile};
    /// let noisy = Frame::grey(Plane::from_vec(16, 16, vec![100.0; 256])?, 255.0)?;
    /// let clean = Denoiser::ridge(Profile::Normal).sigma(25.0).build()?.denoise(&noisy)?;
    /// assert!((clean.planes()[0].as_slice()[40] - 100.0).abs() < 0.01);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn ridge(profile: ridge::Profile) -> DenoiserBuilder {
        DenoiserBuilder::new(Method::Ridge(profile))
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
        let Some(noise) = self.noise(&frame, alpha)? else { return Ok(None) };
        let subject = self.subject_with(&frame, &noise);
        Ok(Some(self.plan(noise, subject)?))
    }

    /// The same for a picture whose noise is known better than by the denoiser's own means: measured on a flat part of it
    /// ([`measure_region`](crate::noise::measure_region)), perhaps.
    pub fn resolve_known<'a>(&self, frame: impl Into<FrameView<'a>>, noise: &Model) -> Result<Resolved> {
        let frame = frame.into();
        frame.check_finite()?;
        self.spec.clone().noise(noise.clone()).check()?;
        let known = Self { spec: self.spec.clone().noise(noise.clone()), backend: self.backend.clone() };
        let noise =
            known.noise(&frame, None)?.ok_or_else(|| Error::parameter("sigma", 0, "there is no noise"))?;
        let subject = known.subject_with(&frame, &noise);
        known.plan(noise, subject)
    }

    /// What is to be known of a picture besides its noise.
    fn subject(&self, frame: &FrameView<'_>) -> Subject {
        // Only who compares on whole numbers asks for it.
        let ranged = matches!(self.spec.method, Method::Bm3d(_) | Method::Ridge(_));
        Subject {
            range: if ranged { frame.range() } else { (0.0, frame.white()) },
            ..Subject::new(frame.width(), frame.height(), frame.channels(), frame.white())
        }
    }

    /// The same, and where this noise was clipped.
    fn subject_with(&self, frame: &FrameView<'_>, noise: &Known) -> Subject {
        let (size, planes) = ((frame.width(), frame.height()), frame.planes());
        let sample = |plane: usize, i: usize| planes[plane].row(i / size.0)[i % size.0];
        // What is correlated, or depends on brightness, is not piled up as white noise is.
        let white = noise.whitening.is_none() && noise.model.brightness().is_none();
        let looks = self.spec.undoes_clipping() && white;
        let ends = || clipped_ends(size, planes.len(), frame.white(), noise.sigma, sample);
        Subject { clipped: Some(if looks { ends() } else { Ends::default() }), ..self.subject(frame) }
    }

    /// The noise of a picture, as given or as estimated; nothing, if there is none.
    fn noise(&self, frame: &FrameView<'_>, alpha: Option<&PlaneView<'_>>) -> Result<Option<Known>> {
        frame.check_finite()?;
        let white = frame.white();
        let correlation = self.correlation(frame.channels(), white)?;
        if !correlation.is_none() {
            // Spectra are complex, and there are several.
            check_planes(8 * frame.channels(), frame.width(), frame.height())?;
            let whitening = correlation.resolve(frame, self.spec.sigma_of(white))?;
            let known = Known::white(whitening.sigma(), white)?;
            return Ok(Some(Known { whitening: Some(Arc::new(whitening)), ..known }));
        }
        match &self.spec.noise {
            Noise::Known(model) => Ok(Some(Known::new(model, white))),
            Noise::Auto(estimator) => {
                let found = measure_finite(frame, alpha, *estimator)?;
                let known = |model| Known { sigma: found.sigma, model, whitening: None };
                Ok(found.model(white)?.map(known))
            }
        }
    }

    /// How the noise is correlated, in units of the samples: as given, or as the levels of the channels say where the
    /// method compares all of them at once.
    fn correlation(&self, channels: usize, white: f32) -> Result<Correlation> {
        let mut given = self.spec.correlation_of(white);
        let known = self.spec.noise.known().filter(|_| given.covariance.is_none() && channels == 3);
        if let (Some(model), Method::Nlm(_)) = (known, self.spec.method) {
            let levels = self.spec.levels(model);
            let own = || Covariance::of_channels(levels.map(|v| f64::from(v * model.sigma())));
            let covariance = match model.covariance() {
                Some(c) => Some(*c),
                None if levels != [1.0; 3] => Some(own()?),
                None => None,
            };
            let scaled = |c: Covariance| c.scaled(f64::from(white / 255.0));
            given.covariance = covariance.map(|c| CovarianceSource::Known(scaled(c)));
        }
        Ok(given)
    }

    /// Parameters and plan for a picture with this noise.
    fn plan(&self, noise: Known, subject: Subject) -> Result<Resolved> {
        let Known { sigma, model, mut whitening } = noise;
        // BM3D knows what correlation does to its coefficients; it compares patches of the picture itself.
        let known = whitening.take_if(|_| matches!(self.spec.method, Method::Bm3d(_)));
        let subject = &Subject {
            sigma,
            strength: self.spec.strength_factor(),
            levels: self.spec.levels(&model),
            scales: if model.developed().is_some() { self.spec.scales_of_developed() } else { 1 },
            guide: whitening.as_ref().map_or(Guide::Own, |w| Guide::Planes(w.guides(), w.noise())),
            psd: known.and_then(|w| w.psd()).map(Arc::new),
            ..subject
        };
        builder::check_positive("sigma", sigma)?;
        let (params, plan) = self.spec.plan(subject, model.brightness())?;
        Ok(Resolved { sigma, sigma255: subject.noise255(), params, plan, noise: model, whitening })
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
