//! From noise and size to parameters and a plan: the one place where methods are told apart.

use std::sync::Arc;

use super::builder::{DenoiserBuilder, check_positive};
use super::colors::ISOLINE_COLORS;
use crate::method::{Method, Parameter};
use crate::noise::correlated::Whitening;
use crate::{ColorMode, Error, Result, bm3d, isoline, nlm};

/// What will be done, and with which parameters.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Job {
    /// BM3D.
    Bm3d {
        /// The parameters.
        params: bm3d::Params,
        /// The plan.
        plan: bm3d::Plan,
    },
    /// NL-means.
    Nlm {
        /// The parameters.
        params: nlm::Params,
        /// The plan.
        plan: nlm::Plan,
        /// Makes the planes that patches are compared on, where the noise is correlated.
        whitening: Option<Arc<Whitening>>,
    },
    /// An isoline filter.
    Isoline {
        /// The parameters.
        params: isoline::Params,
        /// The plan.
        plan: Box<isoline::Plan>,
    },
}

/// Planes to be filtered together.
pub(crate) struct Shape {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) channels: usize,
    /// Planes to compare patches on, if not the same; for NL-means.
    pub(crate) guide: Guide,
    pub(crate) white: f32,
    /// Of the samples, for BM3D.
    pub(crate) range: (f32, f32),
}

/// What patches are compared on.
pub(crate) enum Guide {
    /// The planes themselves.
    Own,
    /// So many planes of unit noise.
    Unit(usize),
    /// What whitening makes of the planes.
    Whitened(Arc<Whitening>),
}

impl Job {
    /// Checks what can be checked without a picture.
    pub(super) fn check(spec: &DenoiserBuilder) -> Result<()> {
        match spec.method {
            Method::Bm3d(profile) => bm3d_params(spec, profile, 25.0, 1).map(|_| ()),
            Method::Nlm(profile) => nlm_params(spec, profile, 25.0, 1).map(|_| ()),
            Method::Isoline(profile) => isoline_params(spec, profile, 25.0, 1).map(|_| ()),
        }
    }

    /// Parameters and plan for noise `sigma` in the units of the samples.
    pub(crate) fn new(spec: &DenoiserBuilder, shape: &Shape, sigma: f32) -> Result<Self> {
        check_positive("sigma", sigma)?;
        let (strength, scale) = (spec.strength.unwrap_or(1.0), 255.0 / shape.white);
        let sigma255 = sigma * strength * scale;
        Ok(match spec.method {
            Method::Bm3d(profile) => {
                let params = bm3d_params(spec, profile, sigma255, shape.channels)?;
                let sigmas = channel_sigmas(shape.channels, &params, sigma255);
                let plan = bm3d::Plan::new(&params, shape.width, shape.height, &sigmas)?
                    .for_range(shape.range.0 * scale, shape.range.1 * scale);
                Self::Bm3d { params, plan }
            }
            Method::Nlm(profile) => {
                let params = nlm_params(spec, profile, sigma255, shape.channels)?;
                let size = (shape.width, shape.height);
                let new = |guides, noise: f32| {
                    nlm::Plan::new(&params, size, shape.channels, guides, shape.white, noise * strength)
                };
                let (plan, whitening) = match &shape.guide {
                    Guide::Own => (new(0, sigma)?, None),
                    Guide::Unit(guides) => (new(*guides, 1.0)?, None),
                    Guide::Whitened(w) => {
                        (new(w.guides(), 1.0)?.with_guide_noise(w.noise()), Some(w.clone()))
                    }
                };
                Self::Nlm { params, plan, whitening }
            }
            Method::Isoline(profile) => {
                let params = isoline_params(spec, profile, sigma255, shape.channels)?;
                let gain = if shape.channels == 3 { ISOLINE_COLORS.noise_gain().to_vec() } else { vec![1.0] };
                let sigmas: Vec<f32> = gain.iter().map(|g| *g as f32 * sigma * strength).collect();
                let plan = isoline::Plan::new(&params, (shape.width, shape.height), shape.white, &sigmas)?;
                Self::Isoline { params, plan: Box::new(plan) }
            }
        })
    }

    /// The parameters as TOML, as parameter files have them.
    pub fn to_toml(&self) -> String {
        match self {
            Self::Bm3d { params, .. } => params.to_toml(),
            Self::Nlm { params, .. } => params.to_toml(),
            Self::Isoline { params, .. } => params.to_toml(),
        }
    }

    /// Pixels around a pixel that its result depends on.
    pub fn halo(&self) -> usize {
        match self {
            Self::Bm3d { plan, .. } => plan.halo(),
            Self::Nlm { plan, .. } => plan.halo(),
            Self::Isoline { plan, .. } => plan.halo(),
        }
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        match self {
            Self::Bm3d { plan, .. } => (plan.width, plan.height),
            Self::Nlm { plan, .. } => (plan.width, plan.height),
            Self::Isoline { plan, .. } => (plan.width, plan.height),
        }
    }
}

/// The parameters of BM3D for noise of deviation `sigma` on the 0..255 scale.
fn bm3d_params(
    spec: &DenoiserBuilder,
    profile: bm3d::Profile,
    sigma: f32,
    channels: usize,
) -> Result<bm3d::Params> {
    let over = |mut params: bm3d::Params| {
        if let Some(text) = &spec.toml {
            params = bm3d::Params::from_toml(text, &params)?;
        }
        set_all(bm3d::PARAMETERS, spec, &mut params)?;
        params.validate()?;
        Ok(params)
    };
    let grey = over(profile.params(sigma))?;
    match (channels, grey.color) {
        // Planes that are filtered one by one are grey pictures.
        (1, _) | (_, ColorMode::Independent | ColorMode::Luma) => Ok(grey),
        _ => over(profile.color_params(sigma)),
    }
}

/// The same for NL-means.
pub(crate) fn nlm_params(
    spec: &DenoiserBuilder,
    profile: nlm::Profile,
    sigma: f32,
    channels: usize,
) -> Result<nlm::Params> {
    let mut params = profile.params(sigma, channels);
    let own = params.h;
    if let Some(text) = &spec.toml {
        params = nlm::Params::from_toml(text, &params)?;
    }
    set_all(nlm::PARAMETERS, spec, &mut params)?;
    if params.h == own && spec.sets.iter().all(|(name, _)| name != "h") {
        profile.follow(&mut params);
    }
    params.validate()?;
    Ok(params)
}

/// The same for isoline filters. Every variant has its own lengths and thresholds, so it is looked for first.
pub(crate) fn isoline_params(
    spec: &DenoiserBuilder,
    profile: isoline::Profile,
    sigma: f32,
    channels: usize,
) -> Result<isoline::Params> {
    let over = |mut params: isoline::Params| {
        if let Some(text) = &spec.toml {
            params = isoline::Params::from_toml(text, &params)?;
        }
        set_all(isoline::PARAMETERS, spec, &mut params)?;
        Ok::<_, Error>(params)
    };
    let own = profile.params(sigma, channels);
    let wanted = over(own.clone())?.variant;
    let base = if wanted == own.variant { own } else { isoline::Params::of(wanted, sigma, channels) };
    let params = over(base)?;
    params.validate()?;
    Ok(params)
}

/// The plan for planes whose noise has these deviations in the units of the samples; the first one decides.
pub(crate) fn isoline_plan(
    spec: &DenoiserBuilder,
    profile: isoline::Profile,
    size: (usize, usize),
    white: f32,
    sigma: &[f32],
) -> Result<isoline::Plan> {
    let sigma: Vec<f32> = sigma.iter().map(|s| s * spec.strength.unwrap_or(1.0)).collect();
    let deciding = sigma.first().copied().unwrap_or_default();
    let params = isoline_params(spec, profile, deciding * 255.0 / white, sigma.len())?;
    isoline::Plan::new(&params, size, white, &sigma)
}

/// What the user set by name.
fn set_all<P>(list: &[Parameter<P>], spec: &DenoiserBuilder, params: &mut P) -> Result<()> {
    for (name, value) in &spec.sets {
        let parameter = list.iter().find(|p| p.name == name).ok_or_else(|| {
            Error::parameter(name, value, format!("method {} has no such parameter", spec.method.name()))
        })?;
        parameter.set(params, value)?;
    }
    Ok(())
}

/// Noise deviation of each channel that BM3D filters.
fn channel_sigmas(channels: usize, params: &bm3d::Params, sigma: f32) -> Vec<f32> {
    let gain = params.color.noise_gain().map(|g| g as f32 * sigma);
    match (channels, params.color) {
        (1, _) | (_, ColorMode::Independent) => vec![sigma],
        (_, ColorMode::Luma) => vec![gain[0]],
        _ => gain.to_vec(),
    }
}
