//! What to do, before there is a picture.

use std::sync::Arc;

use super::Denoiser;
use crate::device::{self, Backend, DeviceOptions};
use crate::method::{Method, Params, Settings};
use crate::noise::Estimator;
use crate::noise::correlated::Correlation;
use crate::{ColorMode, Device, Error, Result};

/// The noise of a picture: known, or to be estimated from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sigma {
    /// Estimated from each picture.
    Auto(Estimator),
    /// The standard deviation on the scale on which white is 255, whatever the depth of the picture.
    Known(f32),
}

impl Sigma {
    /// The deviation, if it is known.
    pub fn known(self) -> Option<f32> {
        match self {
            Self::Auto(_) => None,
            Self::Known(sigma) => Some(sigma),
        }
    }
}

impl Default for Sigma {
    fn default() -> Self {
        Self::Auto(Estimator::default())
    }
}

/// Collects what to do; [`build`](Self::build) checks it and starts the device.
#[derive(Clone, Debug, Default)]
pub struct DenoiserBuilder {
    pub(crate) method: Method,
    settings: Settings,
    pub(crate) sigma: Sigma,
    strength: Option<f32>,
    pub(crate) correlation: Correlation,
    device: Device,
    options: DeviceOptions,
}

impl DenoiserBuilder {
    /// A denoiser by this method.
    pub fn new(method: Method) -> Self {
        Self { method, ..Self::default() }
    }

    /// Known noise: its standard deviation on the scale on which white is 255, whatever the depth of the picture.
    ///
    /// ```
    /// use quell::{Denoiser, Frame, Plane, bm3d::Profile};
    /// let denoiser = Denoiser::bm3d(Profile::Fast).sigma(25.5).build()?;
    /// let frame = Frame::grey(Plane::from_vec(16, 16, vec![400.0; 256])?, 1000.0)?;
    /// assert_eq!(denoiser.resolve(&frame)?.unwrap().sigma, 100.0); // a tenth of white
    /// # Ok::<(), quell::Error>(())
    /// ```
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

    /// Noise that is correlated, on the scale on which white is 255: in space, which BM3D and NL-means take into account,
    /// or between channels, which only NL-means does. A sigma that is given stays the level of the noise, and the
    /// correlation counts by its shape.
    ///
    /// ```
    /// use quell::noise::correlated::{Correlation, PsdSource};
    /// let banding = Correlation { psd: Some(PsdSource::Auto), ..Correlation::default() };
    /// let denoiser = quell::Denoiser::bm3d(Default::default()).correlation(banding).build()?;
    /// # Ok::<(), quell::Error>(())
    /// ```
    #[must_use]
    pub fn correlation(mut self, correlation: Correlation) -> Self {
        self.correlation = correlation;
        self
    }

    /// Filters as if the noise were `strength` times as strong; 1 is neutral.
    #[must_use]
    pub fn strength(mut self, strength: f32) -> Self {
        self.strength = Some(strength);
        self
    }

    /// Sets one parameter of the method by its name ([`Method::parameters`] lists them), over the profile.
    ///
    /// ```
    /// use quell::{Denoiser, bm3d::Profile};
    /// assert!(Denoiser::bm3d(Profile::Normal).set("hard.step", 4).set("hard.stack", "haar").build().is_ok());
    /// let e = Denoiser::bm3d(Profile::Normal).set("hard.step", 99).build().unwrap_err();
    /// assert!(e.to_string().starts_with("hard.step = 99"));
    /// ```
    #[must_use]
    pub fn set(mut self, name: &str, value: impl ToString) -> Self {
        self.settings.sets.push((name.into(), value.to_string()));
        self
    }

    /// Parameters as TOML, over the profile and under [`set`](Self::set).
    #[must_use]
    pub fn toml(mut self, text: impl Into<String>) -> Self {
        self.settings.toml = Some(text.into());
        self
    }

    /// How BM3D filters colour pictures.
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
        match self.method {
            _ if self.correlation.is_none() => {}
            Method::Nlm(_) => {}
            Method::Bm3d(_) if self.correlation.covariance.is_none() => {}
            Method::Bm3d(_) => {
                return Err(Error::Unsupported(
                    "method bm3d takes the noise of channels for independent: method nlm knows their covariance".into(),
                ));
            }
            _ => {
                return Err(Error::Unsupported(format!(
                    "method {} takes noise for white: methods bm3d and nlm know correlated noise",
                    self.method.name()
                )));
            }
        }
        self.params(25.0, 1).map(|_| ())
    }

    /// What profile and settings make of noise of this deviation on the 0..255 scale.
    pub(crate) fn params(&self, sigma: f32, planes: usize) -> Result<Params> {
        self.method.params(&self.settings, sigma, planes)
    }

    /// Filter as if the noise were so many times as strong.
    pub(crate) fn strength_factor(&self) -> f32 {
        self.strength.unwrap_or(1.0)
    }

    /// The noise in units of samples with this white level, if it is known.
    pub(crate) fn sigma_of(&self, white: f32) -> Option<f32> {
        self.sigma.known().map(|sigma| sigma * white / 255.0)
    }

    /// How the noise is correlated, in units of samples with this white level.
    pub(crate) fn correlation_of(&self, white: f32) -> Correlation {
        if white == 255.0 {
            return self.correlation.clone();
        }
        self.correlation.scaled(f64::from(white / 255.0))
    }
}

pub(super) fn check_positive(name: &str, v: f32) -> Result<()> {
    if v.is_finite() && v > 0.0 {
        return Ok(());
    }
    Err(Error::parameter(name, v, "must be a positive number"))
}
