//! From flags to denoisers.

use std::sync::Arc;

use quell::device::cpu;
use quell::device::{self, Backend, DeviceInfo};
use quell::noise::correlated::Correlation;
use quell::noise::{self, Estimator};
use quell::{
    Cancel, ClipNoise, Control, Denoiser, DenoiserBuilder, Frame, Method, PlaneView, Resolved, Stream,
    VideoFormat,
};

use quell_io::Camera;

use crate::args::{EngineArgs, Given, flag};
use crate::failure::Failure;
use crate::level::Level;
use crate::{measured, report};

/// The denoiser that the flags ask for, on one device. Several threads may use it.
pub(crate) struct Engine {
    denoiser: Denoiser,
    noise: Given,
    method: Method,
    correlated: bool,
    tile: usize,
}

impl Engine {
    /// Checks all flags that can be checked without a picture, and starts the device that was named.
    pub(crate) fn new(args: &EngineArgs) -> anyhow::Result<Self> {
        Self::check(args)?;
        Self::on(args, device::open(args.device, args.options)?.into())
    }

    /// The same on a device that is started already.
    pub(crate) fn on(args: &EngineArgs, backend: Arc<dyn Backend>) -> anyhow::Result<Self> {
        let (method, builder, correlation) = Self::check(args)?;
        let (noise, correlated) = (args.noise.clone(), !correlation.is_none());
        let (denoiser, tile) = (builder.build_on(backend)?, args.options.tile);
        Ok(Self { denoiser, noise, method, correlated, tile })
    }

    /// What the flags ask for, as far as that can be known without a picture or a device.
    pub(crate) fn check(args: &EngineArgs) -> anyhow::Result<(Method, DenoiserBuilder, Correlation)> {
        let method = args.method().map_err(|e| explain(args, e))?;
        let mut builder = DenoiserBuilder::new(method);
        if let Some(estimator) = args.noise.estimator() {
            builder = builder.estimate_sigma(estimator);
        }
        if let Some(model) = measured::known(&args.noise)? {
            builder = builder.noise(model);
        }
        let set = |builder, value: Option<f32>, with: fn(DenoiserBuilder, f32) -> DenoiserBuilder| match value
        {
            Some(value) => with(builder, value),
            None => builder,
        };
        builder = set(builder, args.strength, DenoiserBuilder::strength);
        builder = set(builder, args.luma, DenoiserBuilder::luma);
        builder = set(builder, args.chroma, DenoiserBuilder::chroma);
        builder = set(builder, args.detail, DenoiserBuilder::detail);
        builder = set(builder, args.grain, DenoiserBuilder::grain);
        if args.keep_clipping {
            builder = builder.undo_clipping(false);
        }
        if let Some(text) = &args.params_text {
            builder = builder.toml(text.as_str());
        }
        for (name, value) in &args.sets {
            builder = builder.set(name, value);
        }
        check_correlation(args, method)?;
        let correlation = crate::correlation::read(args)?;
        builder = builder.correlation(correlation.clone());
        builder.check().map_err(|e| explain(args, e))?;
        Ok((method, builder, correlation))
    }

    /// The denoiser.
    pub(crate) fn denoiser(&self) -> &Denoiser {
        &self.denoiser
    }

    /// The denoiser, to keep.
    pub(crate) fn into_denoiser(self) -> Denoiser {
        self.denoiser
    }

    /// Name of the method.
    pub(crate) fn method(&self) -> &'static str {
        self.method.name()
    }

    /// Name of the profile.
    pub(crate) fn profile(&self) -> &'static str {
        self.method.profile()
    }

    /// What tells the noise of a video of this format.
    pub(crate) fn clip_noise(&self, format: VideoFormat) -> ClipNoise {
        self.denoiser.clip_noise(format)
    }

    /// The denoiser at work on a video with this noise.
    pub(crate) fn stream(&self, noise: ClipNoise, cancel: &Cancel) -> quell::Result<Stream> {
        self.denoiser.stream_with_noise(noise, Control::new().with_cancel(cancel.clone()))
    }

    /// Frames that are worth having in work beside the one that is due, where nobody waits for each.
    pub(crate) fn frames_ahead(&self) -> usize {
        match self.backend().at_once() {
            0 | 1 => 0,
            frames => frames,
        }
    }

    /// The device that is used.
    pub(crate) fn device(&self) -> DeviceInfo {
        self.denoiser.device()
    }

    /// The device itself.
    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        self.denoiser.backend()
    }

    /// Whether the noise is estimated.
    pub(crate) fn estimates(&self) -> bool {
        self.noise.estimator().is_some()
    }

    /// Whether the noise is measured in a part of each picture, which has to be there then.
    pub(crate) fn looks_at_region(&self) -> bool {
        matches!(self.noise, Given::Region(_))
    }

    /// Noise, parameters and plan for a picture.
    pub(crate) fn resolve(
        &self,
        frame: &Frame,
        alpha: Option<&PlaneView<'_>>,
    ) -> quell::Result<Option<Resolved>> {
        match self.noise {
            Given::Region(region) => {
                let model = noise::measure_region(&frame.view(), region)?;
                self.denoiser.resolve_known(frame, &model).map(Some)
            }
            _ => self.denoiser.resolve_seen(frame, alpha),
        }
    }

    /// What is to be said where noise is that of another camera, or of another sensitivity.
    pub(crate) fn other_camera(&self, camera: &Camera) -> Option<String> {
        let Given::File(profile) = &self.noise else { return None };
        measured::mismatch(profile, camera)
    }

    /// Whether noise is taken for correlated.
    pub(crate) fn correlated(&self) -> bool {
        self.correlated
    }

    /// The side of tiles that was asked for, if any.
    pub(crate) fn tile(&self) -> Option<usize> {
        (self.tile > 0).then_some(self.tile)
    }

    /// The noise at half the size on the 0..255 scale, where at full size it may be looked for as white noise only. Not of
    /// pictures that are mostly filled: their edges pass for noise there.
    pub(crate) fn coarse_noise(&self, frame: &Frame, alpha: Option<&PlaneView<'_>>) -> Option<f32> {
        if !matches!(self.noise.estimator(), Some(Estimator::Auto | Estimator::Ponomarenko)) {
            return None;
        }
        let found = noise::measure(&frame.view(), alpha, Estimator::Coarse).ok()?;
        Some(found.sigma * 255.0 / frame.white()).filter(|_| found.blocks.used >= found.blocks.flat)
    }

    /// The noise of a picture: as given, or as found; `None` if there is none to speak of.
    pub(crate) fn noise(&self, resolved: Option<&Resolved>) -> Option<Level> {
        Some(Level { model: resolved?.noise.clone(), given: !self.estimates() })
    }
}

/// Refuses a variable of the environment that says nothing, whatever device is used in the end.
pub(crate) fn check_environment() -> anyhow::Result<()> {
    match cpu::Level::from_env() {
        Err(quell::Error::Parameter { name, value, reason }) => {
            Err(Failure::usage(format!("{name}={value:?}: {reason}")).into())
        }
        other => Ok(other.map(|_| ())?),
    }
}

/// Which methods know correlated noise.
fn check_correlation(args: &EngineArgs, method: Method) -> Result<(), Failure> {
    let given = [("--noise-cov", &args.noise_cov), ("--noise-psd", &args.noise_psd)];
    match (method, given.into_iter().find(|(_, known)| known.is_some())) {
        (Method::Nlm(_), _) | (_, None) | (Method::Bm3d(_), Some(("--noise-psd", _))) => Ok(()),
        (Method::Bm3d(_), Some((flag, _))) => {
            Err(Failure::usage(format!("{flag}: method bm3d takes the noise of colours for independent"))
                .hint("--method nlm knows their covariance"))
        }
        (_, Some((flag, _))) => {
            Err(Failure::usage(format!("{flag}: method {} takes noise for white", method.name()))
                .hint("--method bm3d and --method nlm know correlated noise"))
        }
    }
}

/// Names the flag instead of the parameter.
fn explain(args: &EngineArgs, error: quell::Error) -> anyhow::Error {
    match error {
        quell::Error::Parameter { name, value, reason } => {
            let from_flag = args.sets.iter().find(|(n, v)| *n == name && *v == value);
            let others = if from_flag.is_some() { methods_with(&name, &args.method) } else { Vec::new() };
            if !others.is_empty() {
                let reason = match &*name {
                    "past" | "future" => format!("method {} does not look at other frames", args.method),
                    _ => reason,
                };
                let methods: Vec<String> = others.iter().map(|m| format!("--method {m}")).collect();
                return Failure::usage(format!("--{} {value}: {reason}", flag(&name)))
                    .hint(format!("{} can", methods.join(" or ")))
                    .into();
            }
            let what = match (from_flag, &args.params) {
                (Some((n, _)), _) => format!("--{} {value}: {reason}", flag(n)),
                (None, _) if name == "profile" => {
                    format!("--profile {value}: method {} has {}", args.method, reason.replace("one of ", ""))
                }
                (None, Some(file)) if name == "parameter file" => format!("{}: {reason}", report::name(file)),
                (None, Some(file)) => format!("{}: {name} = {value}: {reason}", report::name(file)),
                (None, None) => format!("{name} = {value}: {reason}"),
            };
            Failure::usage(what).into()
        }
        other => other.into(),
    }
}

/// Other methods that have a parameter, where this one has not.
fn methods_with(name: &str, method: &str) -> Vec<&'static str> {
    let has = |m: &Method| m.parameters(25.0).iter().any(|p| p.name == name);
    let with: Vec<&'static str> = Method::all().iter().filter(|m| has(m)).map(|m| m.name()).collect();
    if with.contains(&method) { Vec::new() } else { with }
}
