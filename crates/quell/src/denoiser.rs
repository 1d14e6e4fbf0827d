//! The builder that most programs need: method, noise, device; then frame in, frame out.

mod samples;

use std::sync::Arc;

use crate::bm3d::{PARAMETERS, Params, Plan, Profile};
use crate::device::{self, Backend, DeviceOptions, filter_planes};
use crate::noise::{Estimator, estimate};
use crate::{ColorMode, Control, Device, Error, Frame, FrameView, Plane, Result};

/// The noise of a picture: known, or to be estimated from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sigma {
    /// Estimated from each picture.
    Auto(Estimator),
    /// The standard deviation in the picture's own units.
    Known(f32),
}

impl Default for Sigma {
    fn default() -> Self {
        Self::Auto(Estimator::default())
    }
}

/// Collects what to do; [`build`](Self::build) checks it and starts the device.
#[derive(Clone, Debug, Default)]
pub struct DenoiserBuilder {
    profile: Profile,
    toml: Option<String>,
    sets: Vec<(String, String)>,
    sigma: Sigma,
    strength: Option<f32>,
    device: Device,
    options: DeviceOptions,
}

impl DenoiserBuilder {
    /// Known noise: its standard deviation in the picture's own units.
    #[must_use]
    pub fn sigma(mut self, sigma: f32) -> Self {
        self.sigma = Sigma::Known(sigma);
        self
    }

    /// Noise estimated from each picture (the default).
    #[must_use]
    pub fn estimate_sigma(mut self, estimator: Estimator) -> Self {
        self.sigma = Sigma::Auto(estimator);
        self
    }

    /// Filters as if the noise were `strength` times as strong; 1 is neutral.
    #[must_use]
    pub fn strength(mut self, strength: f32) -> Self {
        self.strength = Some(strength);
        self
    }

    /// Sets one parameter by its name in [`PARAMETERS`], over the profile.
    ///
    /// ```
    /// use quell::{Denoiser, bm3d::Profile};
    /// assert!(Denoiser::bm3d(Profile::Normal).set("hard.step", "4").build().is_ok());
    /// let e = Denoiser::bm3d(Profile::Normal).set("hard.step", "99").build().unwrap_err();
    /// assert!(e.to_string().starts_with("hard.step = 99"));
    /// ```
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.sets.push((name.into(), value.into()));
        self
    }

    /// Parameters as TOML, over the profile and under [`set`](Self::set).
    #[must_use]
    pub fn toml(mut self, text: impl Into<String>) -> Self {
        self.toml = Some(text.into());
        self
    }

    /// How colour pictures are filtered.
    #[must_use]
    pub fn color(self, mode: ColorMode) -> Self {
        self.set("color", mode.name())
    }

    /// Where to work.
    #[must_use]
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Threads, tiles and instruction set: how, never what.
    #[must_use]
    pub fn options(mut self, options: DeviceOptions) -> Self {
        self.options = options;
        self
    }

    /// Worker threads; 0 is one per core.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = threads;
        self
    }

    /// Checks everything that can be checked without a picture, and starts the device (`auto` with the first picture).
    pub fn build(self) -> Result<Denoiser> {
        self.check()?;
        let backend = device::open(self.device, self.options)?;
        Ok(Denoiser { spec: self, backend: backend.into() })
    }

    /// The same on a device that is started already: several denoisers can share it. Device and options that were set
    /// here do not count.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use quell::{Denoiser, Device, bm3d::Profile, device};
    /// let shared: Arc<dyn device::Backend> = device::open(Device::Cpu, Default::default())?.into();
    /// let soft = Denoiser::bm3d(Profile::Fast).sigma(10.0).build_on(shared.clone())?;
    /// let strong = Denoiser::bm3d(Profile::Fast).sigma(40.0).build_on(shared)?;
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn build_on(self, backend: Arc<dyn Backend>) -> Result<Denoiser> {
        self.check()?;
        Ok(Denoiser { spec: self, backend })
    }

    /// Checks everything that can be checked without a picture and without a device.
    pub fn check(&self) -> Result<()> {
        if let Sigma::Known(s) = self.sigma {
            check_positive("sigma", s)?;
        }
        if let Some(s) = self.strength {
            check_positive("strength", s)?;
        }
        self.params(25.0, 1).map(|_| ())
    }

    /// The parameters for noise of deviation `sigma` on the 0..255 scale.
    fn params(&self, sigma: f32, channels: usize) -> Result<Params> {
        let grey = self.set_over(self.profile.params(sigma))?;
        match (channels, grey.color) {
            // Planes that are filtered one by one are grey pictures.
            (1, _) | (_, ColorMode::Independent | ColorMode::Luma) => Ok(grey),
            _ => self.set_over(self.profile.color_params(sigma)),
        }
    }

    /// What the user set, over the profile.
    fn set_over(&self, mut params: Params) -> Result<Params> {
        if let Some(text) = &self.toml {
            params = Params::from_toml(text, &params)?;
        }
        for (name, value) in &self.sets {
            let parameter = PARAMETERS.iter().find(|p| p.name == name);
            let parameter = parameter.ok_or_else(|| Error::parameter(name, value, "no such parameter"))?;
            parameter.set(&mut params, value)?;
        }
        params.validate()?;
        Ok(params)
    }
}

fn check_positive(name: &str, v: f32) -> Result<()> {
    if v.is_finite() && v > 0.0 {
        return Ok(());
    }
    Err(Error::parameter(name, v, "must be a positive number"))
}

/// A resolved job: what will be done to one picture.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// Noise of the picture in its own units: as given, or as estimated.
    pub sigma: f32,
    /// Noise that is filtered for, on the 0..255 scale: `sigma` scaled, times the strength.
    pub sigma255: f32,
    /// The parameters.
    pub params: Params,
    /// The plan.
    pub plan: Plan,
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
    spec: DenoiserBuilder,
    backend: Arc<dyn Backend>,
}

impl std::fmt::Debug for Denoiser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Denoiser").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Denoiser {
    /// Starts building a BM3D denoiser.
    pub fn bm3d(profile: Profile) -> DenoiserBuilder {
        DenoiserBuilder { profile, ..Default::default() }
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
        let frame = frame.into();
        frame.check_finite()?;
        let sigma = match self.spec.sigma {
            Sigma::Known(s) => s,
            Sigma::Auto(estimator) => estimate(&frame, estimator)?,
        };
        if sigma <= 0.0 {
            return Ok(None);
        }
        let job =
            self.plan(sigma, frame.width(), frame.height(), frame.channels(), frame.white(), frame.range())?;
        Ok(Some(job))
    }

    /// Parameters and plan for a picture with noise `sigma` and samples in `range`, all in its own units.
    fn plan(
        &self,
        sigma: f32,
        width: usize,
        height: usize,
        channels: usize,
        white: f32,
        range: (f32, f32),
    ) -> Result<Resolved> {
        let scale = 255.0 / white;
        let sigma255 = sigma * self.spec.strength.unwrap_or(1.0) * 255.0 / white;
        let params = self.spec.params(sigma255, channels)?;
        let sigmas = channel_sigmas(channels, &params, sigma255);
        let plan = Plan::new(&params, width, height, &sigmas)?.for_range(range.0 * scale, range.1 * scale);
        Ok(Resolved { sigma, sigma255, params, plan, channels })
    }

    /// Denoises a picture, reporting to and listening to `control`.
    pub fn run<'a>(&self, frame: impl Into<FrameView<'a>>, control: &Control) -> Result<Denoised> {
        let frame = frame.into();
        let resolved = self.resolve(frame.clone())?;
        let frame = match &resolved {
            Some(job) => self.run_resolved(frame, job, control)?,
            None => frame.to_frame(),
        };
        Ok(Denoised { frame, resolved })
    }

    /// Denoises the picture that `job` was resolved for.
    pub fn run_resolved<'a>(
        &self,
        frame: impl Into<FrameView<'a>>,
        job: &Resolved,
        control: &Control,
    ) -> Result<Frame> {
        let frame = frame.into();
        let size = (job.plan.width, job.plan.height, job.channels);
        if size != (frame.width(), frame.height(), frame.channels()) {
            return Err(Error::Shape(format!(
                "resolved for a picture of {} x {} pixels in {} channels, not for this one",
                size.0, size.1, size.2
            )));
        }
        Frame::new(self.filter(&frame, job, control)?, frame.white())
    }

    fn filter(&self, frame: &FrameView<'_>, job: &Resolved, control: &Control) -> Result<Vec<Plane>> {
        let scale = 255.0 / frame.white();
        let scaled: Vec<Plane>;
        let mut views = frame.planes().to_vec();
        // The engine works on the 0..255 scale; 8-bit pictures are borrowed as they are.
        if scale != 1.0 {
            scaled = views.iter().map(|p| rescale(p.to_plane(), scale)).collect();
            views = scaled.iter().map(Plane::view).collect();
        }
        let out = match (views.len(), job.params.color) {
            (1, _) => filter_planes(&*self.backend, &job.plan, &views, None, control)?,
            (_, ColorMode::Independent) => views
                .iter()
                .enumerate()
                .map(|(i, v)| Ok(self.backend.bm3d(&job.plan, &[*v], &control.section(i, 3))?.remove(0)))
                .collect::<Result<_>>()?,
            (_, mode) => filter_planes(&*self.backend, &job.plan, &views, Some(mode), control)?,
        };
        Ok(if scale == 1.0 { out } else { out.into_iter().map(|p| rescale(p, 1.0 / scale)).collect() })
    }
}

/// Noise deviation of each channel that the device filters.
fn channel_sigmas(channels: usize, params: &Params, sigma: f32) -> Vec<f32> {
    let gain = params.color.noise_gain().map(|g| g as f32 * sigma);
    match (channels, params.color) {
        (1, _) | (_, ColorMode::Independent) => vec![sigma],
        (_, ColorMode::Luma) => vec![gain[0]],
        _ => gain.to_vec(),
    }
}

fn rescale(mut plane: Plane, factor: f32) -> Plane {
    plane.as_mut_slice().iter_mut().for_each(|v| *v *= factor);
    plane
}
