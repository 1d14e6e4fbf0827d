//! What to do, before there is a picture.

use std::sync::Arc;

use super::Denoiser;
use crate::device::{self, Backend, DeviceOptions};
use crate::method::{Front, Method, Mix, Params, Plan, Settings, Subject, Unclip};
use crate::noise::correlated::Correlation;
use crate::noise::{Curve, Estimator, Model};
use crate::{ColorMode, Device, Error, Result};

/// The noise of a picture: known, or to be estimated from it.
#[derive(Clone, Debug, PartialEq)]
pub enum Noise {
    /// Estimated from each picture.
    Auto(Estimator),
    /// What it is like.
    Known(Model),
}

impl Noise {
    /// What it is like, if that is known.
    pub fn known(&self) -> Option<&Model> {
        match self {
            Self::Auto(_) => None,
            Self::Known(model) => Some(model),
        }
    }
}

impl Default for Noise {
    fn default() -> Self {
        Self::Auto(Estimator::default())
    }
}

/// Collects what to do; [`build`](Self::build) checks it and starts the device.
#[derive(Clone, Debug, Default)]
pub struct DenoiserBuilder {
    pub(crate) method: Method,
    settings: Settings,
    pub(crate) noise: Noise,
    /// A sigma that is not a positive number: said when it is built.
    wrong: Option<f32>,
    strength: Option<f32>,
    luma: Option<f32>,
    chroma: Option<f32>,
    pub(crate) correlation: Correlation,
    detail: f32,
    grain: f32,
    clipping: Option<bool>,
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
        (self.noise, self.wrong) = match Model::white(sigma) {
            Ok(model) => (Noise::Known(model), None),
            Err(_) => (self.noise, Some(sigma)),
        };
        self
    }

    /// Known noise that is more than a number: other levels in colour than in brightness, levels that depend on
    /// brightness, noise of a camera that was measured before.
    ///
    /// ```
    /// use quell::{Denoiser, bm3d::Profile, noise::Model};
    /// let denoiser = Denoiser::bm3d(Profile::Fast).noise(Model::channels([8.0, 14.0, 14.0])?).build()?;
    /// # Ok::<(), quell::Error>(())
    /// ```
    #[must_use]
    pub fn noise(mut self, model: Model) -> Self {
        (self.noise, self.wrong) = (Noise::Known(model), None);
        self
    }

    /// Noise estimated from each picture (the default).
    #[must_use]
    pub fn estimate_sigma(mut self, estimator: Estimator) -> Self {
        (self.noise, self.wrong) = (Noise::Auto(estimator), None);
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

    /// Noise whose deviation depends on brightness, on the scale on which white is 255: the picture is filtered where it is
    /// the same everywhere. It takes the place of [`sigma`](Self::sigma). For linear data (counts of photons, raw files,
    /// microscopes), not for developed photographs.
    ///
    /// ```
    /// use quell::{Denoiser, Frame, Plane, bm3d::Profile, noise::{self, Curve}};
    /// let clean = Frame::grey(Plane::from_vec(64, 64, vec![40.0; 4096])?, 255.0)?;
    /// let noisy = noise::add_poisson_gaussian(&clean, 5.0, 2.0, 0)?;
    /// let denoiser = Denoiser::bm3d(Profile::Fast).noise_curve(Curve::poisson_gauss(5.0, 4.0)?).build()?;
    /// let result = denoiser.denoise(&noisy)?;
    /// assert!(quell::metrics::psnr(&clean, &result)?.all > 35.0);
    /// # Ok::<(), quell::Error>(())
    /// ```
    #[must_use]
    pub fn noise_curve(self, curve: Curve) -> Self {
        self.noise(Model::curve(curve))
    }

    /// Filters as if the noise were `strength` times as strong; 1 is neutral.
    #[must_use]
    pub fn strength(mut self, strength: f32) -> Self {
        self.strength = Some(strength);
        self
    }

    /// Filters luma as if its noise were so many times as strong; 0 leaves it alone.
    #[must_use]
    pub fn luma(mut self, factor: f32) -> Self {
        self.luma = Some(factor);
        self
    }

    /// Filters colour as if its noise were so many times as strong; 0 leaves it alone.
    ///
    /// ```
    /// use quell::{Denoiser, bm3d::Profile};
    /// let blotches = Denoiser::bm3d(Profile::Normal).sigma(10.0).luma(0.5).chroma(1.5).build()?;
    /// # Ok::<(), quell::Error>(())
    /// ```
    #[must_use]
    pub fn chroma(mut self, factor: f32) -> Self {
        self.chroma = Some(factor);
        self
    }

    /// Gives back what was taken out and is more than noise, such as fine lines: 0 nothing (the default), 1 all of it.
    ///
    /// ```
    /// use quell::{Denoiser, bm3d::Profile};
    /// assert!(Denoiser::bm3d(Profile::Normal).detail(0.5).grain(0.1).build().is_ok());
    /// let e = Denoiser::bm3d(Profile::Normal).detail(1.5).build().unwrap_err();
    /// assert_eq!(e.to_string(), "detail = 1.5: must lie between 0 and 1");
    /// ```
    #[must_use]
    pub fn detail(mut self, detail: f32) -> Self {
        self.detail = detail;
        self
    }

    /// Leaves some of the noise, for pictures that would look too smooth: 0 nothing (the default), 1 all of it.
    #[must_use]
    pub fn grain(mut self, grain: f32) -> Self {
        self.grain = grain;
        self
    }

    /// Whether to undo what clipping at black and white did to the mean of strong noise, where samples pile up there as
    /// clipped noise does (see [`undo_clipping`](crate::noise::undo_clipping)). Without a word it is undone in pictures, and by
    /// isolines in every frame; `true` has every frame of samples and streams looked at as well, which takes longer than the
    /// filter of a GPU.
    #[must_use]
    pub fn undo_clipping(mut self, undo: bool) -> Self {
        self.clipping = Some(undo);
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
        if let Some(wrong) = self.wrong {
            check_positive("sigma", wrong)?;
        }
        if let Some(s) = self.strength {
            check_positive("strength", s)?;
        }
        for (name, factor) in [("luma", self.luma), ("chroma", self.chroma)] {
            if let Some(v) = factor.filter(|v| !(v.is_finite() && *v >= 0.0)) {
                return Err(Error::parameter(name, v, "must be a number of 0 or more"));
            }
        }
        if (self.luma, self.chroma) == (Some(0.0), Some(0.0)) {
            return Err(Error::parameter("chroma", 0, "nothing is left to filter: luma is 0 as well"));
        }
        let of_noise = self.noise.known().is_some_and(|m| m.relative() != [1.0; 3]);
        let levels = of_noise || self.luma.is_some() || self.chroma.is_some();
        if levels && !matches!(self.method, Method::Bm3d(_) | Method::Ridge(_) | Method::Nlm(_)) {
            return Err(Error::Unsupported(format!(
                "method {} filters all channels alike: methods bm3d, ridge and nlm know levels for luma and colour",
                self.method.name()
            )));
        }
        let curve = self.noise.known().and_then(Model::brightness);
        if curve.is_some() && !self.correlation.is_none() {
            return Err(Error::Unsupported(
                "noise that depends on brightness is taken for white, not for correlated".into(),
            ));
        }
        self.mix(0.0).check()?;
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

    /// The plan with what is mixed into results, where the noise is so strong, in the units of the samples.
    pub(crate) fn mixed(&self, plan: Plan, sigma: f32) -> Plan {
        let front = Front { mix: self.mix(sigma), ..plan.front().clone() };
        plan.with_front(front)
    }

    fn mix(&self, sigma: f32) -> Mix {
        Mix { detail: self.detail, grain: self.grain, sigma }
    }

    /// Whether what clipping did is undone in pictures.
    pub(crate) fn undoes_clipping(&self) -> bool {
        self.clipping != Some(false)
    }

    /// Whether it is undone in samples and streams, whatever the method says.
    pub(crate) fn undoes_clipping_of_frames(&self) -> bool {
        self.clipping == Some(true)
    }

    /// Filter as if the noise were so many times as strong.
    pub(crate) fn strength_factor(&self) -> f32 {
        self.strength.unwrap_or(1.0)
    }

    /// The noise in units of samples with this white level, if it is known; a typical one, if it depends on brightness.
    pub(crate) fn sigma_of(&self, white: f32) -> Option<f32> {
        self.noise.known().map(|model| model.sigma() * white / 255.0)
    }

    /// What luma and two channels of colour are filtered for, in units of the noise of all together.
    pub(crate) fn levels(&self, model: &Model) -> [f32; 3] {
        let [y, a, b] = model.relative();
        let (luma, chroma) = (self.luma.unwrap_or(1.0), self.chroma.unwrap_or(1.0));
        [y * luma, a * chroma, b * chroma]
    }

    /// Sizes at which noise of developed pictures is filtered: its grain may be larger than a patch.
    pub(crate) fn scales_of_developed(&self) -> usize {
        if matches!(self.method, Method::Bm3d(_) | Method::Ridge(_)) { 3 } else { 1 }
    }

    /// Parameters and plan for planes of which all is known; `curve`, if their noise depends on brightness.
    pub(crate) fn plan(&self, subject: &Subject, curve: Option<&Arc<Curve>>) -> Result<(Params, Plan)> {
        let Some(curve) = curve else {
            let (params, plan) = self.sizes(subject)?;
            let unclip = self.unclip(subject, plan.front().unclip);
            let front = Front { unclip, ..plan.front().clone() };
            return Ok((params, self.mixed(plan.with_front(front), subject.sigma)));
        };
        let (scale, white) = (255.0 / subject.white, subject.white);
        let end = |v: f32| curve.forward(v * scale);
        let range = (end(subject.range.0), end(subject.range.1));
        let (params, plan) =
            self.sizes(&Subject { white: 255.0, range, sigma: curve.sigma(), ..subject.clone() })?;
        Ok((params, self.mixed(plan.stabilised(curve.clone(), white), subject.sigma)))
    }

    /// Where clipping is undone; `own` is what the method says.
    fn unclip(&self, subject: &Subject, own: Option<Unclip>) -> Option<Unclip> {
        match self.method {
            _ if !self.undoes_clipping() || subject.clipped.is_some_and(|ends| !ends.any()) => None,
            // Frames are looked at one by one where that is wanted.
            Method::Bm3d(_) | Method::Ridge(_) | Method::Nlm(_) => {
                let looks = subject.clipped.is_some() || self.undoes_clipping_of_frames();
                looks.then_some(Unclip { sigma: subject.sigma, ends: subject.clipped })
            }
            _ => own,
        }
    }

    /// The same of one scale, with all sizes of the picture.
    fn sizes(&self, subject: &Subject) -> Result<(Params, Plan)> {
        // Channels that are no colours are filtered as grey pictures are.
        let (noise, channels) = (subject.noise255(), if subject.colors { subject.planes } else { 1 });
        let mut params = self.params(noise, channels)?;
        if subject.video && matches!(self.method, Method::Bm3d(_) | Method::Ridge(_)) {
            // What is filtered is an average of frames, most of which count.
            let (past, future) = params.frames();
            params = self.params(noise / (1.0 + FRAMES_COUNT * (past + future) as f32).sqrt(), channels)?;
        }
        let plan = params.plan(subject)?;
        let plan = match subject.coarser() {
            Some(coarser) => plan.with_coarser(self.sizes(&coarser)?.1)?,
            None => plan,
        };
        Ok((params, plan))
    }

    /// How the noise is correlated, in units of samples with this white level.
    pub(crate) fn correlation_of(&self, white: f32) -> Correlation {
        if white == 255.0 {
            return self.correlation.clone();
        }
        self.correlation.scaled(f64::from(white / 255.0))
    }
}

/// What another frame counts in an average, in the mean.
const FRAMES_COUNT: f32 = 0.6;

pub(super) fn check_positive(name: &str, v: f32) -> Result<()> {
    if v.is_finite() && v > 0.0 {
        return Ok(());
    }
    Err(Error::parameter(name, v, "must be a positive number"))
}
