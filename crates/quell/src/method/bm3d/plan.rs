//! A plan: parameters resolved for one picture size and one noise level, the same for every device.

use serde::Serialize;

use super::{Params, PassParams, Spectrum, Weight};
use crate::method::group::{MAX_SSD, MatchingPlane, Search};
use crate::noise::correlated::Psd;
use crate::transform::{Transform, kaiser};
use crate::{Error, Result};

/// Rows and columns from which on correlated noise of two patches counts as independent. Measured on noise that is
/// correlated much further: 12 loses up to 1 dB, more than 20 gains nothing.
const REACH: usize = 20;
/// What lambda and mu2 gain where all the noise is in few of the coefficients of a patch.
const LAMBDA_RISE: f32 = 0.34;
const MU2_RISE: f32 = 1.15;
/// Unevenness from which on mu2 rises no further: it would blur what stripes leave free.
const MU2_MOST: f32 = 0.3;

/// What a pass does to the coefficients of a group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Shrink {
    /// Keep what exceeds `lambda` deviations.
    Hard {
        /// Threshold in units of the coefficient's deviation.
        lambda: f32,
    },
    /// Wiener weights from the basic estimate.
    Wiener {
        /// Factor on the noise variance.
        mu2: f32,
    },
    /// No coefficients: noisy patches are regressed on themselves, all matches of a group (NL-Ridge, step 1, by Stein's
    /// estimate of the risk). For a group `Y` of `k` patches of `n` pixels, a row each, without its mean `ym`:
    ///
    /// ```text
    /// B  = I - (1 + alpha^2) n sigma^2 (Yc Yc' + alpha^2 n sigma^2 I)^-1
    /// Xh = ym + B Yc,   weight of patch i: 1 / max(|row i of B|^2 + (1 - 1/alpha^4) / k, 1/k)
    /// ```
    Regress {
        /// How noisy the patches count that are regressed on, in units of sigma.
        alpha: f32,
    },
}

/// One pass, resolved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassPlan {
    /// Side of a patch.
    pub patch: usize,
    /// Distance between reference patches.
    pub step: usize,
    /// Largest displacement of a candidate in rows and columns.
    pub radius: usize,
    /// Most patches in a group.
    pub group: usize,
    /// Largest distance of a match, on the matching plane.
    pub max_ssd: u32,
    /// The plane that patches are compared on.
    pub matching: MatchingPlane,
    /// Threshold before patches are compared, 0..255 scale; 0 is off.
    pub prefilter: f32,
    /// Patch transform.
    pub transform: Transform,
    /// Transform across the group.
    pub stack: Transform,
    /// Exact variances of overlapping patches.
    pub exact: bool,
    /// What a group counts.
    pub weight: Weight,
    /// What is done to the coefficients.
    pub shrink: Shrink,
    /// One-dimensional aggregation window.
    pub kaiser: Vec<f32>,
    /// Noise deviation of each channel.
    pub sigma: Vec<f32>,
    /// Of noise that is correlated in space; `None` for white noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spectrum: Option<Spectrum>,
}

impl PassPlan {
    fn new(p: &PassParams, shrink: Shrink, sigma: &[f32]) -> Self {
        let pixels = p.patch * p.patch;
        let matching = MatchingPlane::new(p.tau, pixels);
        let max_ssd = (p.tau * pixels as f32 / (matching.scale * matching.scale)) as u32;
        Self {
            patch: p.patch,
            step: p.step,
            radius: p.window / 2,
            group: p.group,
            max_ssd: max_ssd.min(MAX_SSD),
            matching,
            prefilter: if matches!(shrink, Shrink::Hard { .. }) { p.lambda2d * sigma[0] } else { 0.0 },
            transform: p.transform,
            stack: p.stack,
            exact: p.exact,
            weight: p.weight,
            shrink,
            kaiser: kaiser(p.patch, p.beta.into()).into_iter().map(|v| v as f32).collect(),
            sigma: sigma.to_vec(),
            spectrum: None,
        }
    }

    /// Takes correlated noise into account. The parameters are those for white noise: where the noise is in few of the
    /// coefficients (`uneven` near 1), the others have the picture, and those few can be shrunk more.
    fn correlate(&mut self, psd: &Psd, uneven: f32) {
        let reach = REACH.min(2 * self.radius + 1);
        self.spectrum = Some(Spectrum::new(psd, self.transform, self.patch, reach));
        match &mut self.shrink {
            Shrink::Hard { lambda } => *lambda *= 1.0 + LAMBDA_RISE * uneven * uneven,
            Shrink::Wiener { mu2 } => *mu2 *= 1.0 + MU2_RISE * uneven.min(MU2_MOST),
            Shrink::Regress { .. } => {}
        }
    }

    /// Whether the first coefficient of a group is its mean, which is never shrunk: only DST has no constant atom.
    pub fn keeps_mean(&self) -> bool {
        self.transform != Transform::Dst && self.stack != Transform::Dst
    }

    /// Compares on a plane that tells samples of `low..high` apart.
    fn cover(&mut self, low: f32, high: f32) {
        let sigma = self.sigma.iter().copied().fold(1.0, f32::max);
        let old = self.matching;
        self.matching = old.covering(low, high, 3.5 * sigma);
        let ratio = old.scale / self.matching.scale;
        self.max_ssd = (self.max_ssd as f32 * ratio * ratio) as u32;
    }

    /// How patches are found.
    pub fn search(&self) -> Search {
        Search {
            patch: self.patch,
            step: self.step,
            offset: 0,
            radius: self.radius,
            group: self.group,
            max_ssd: self.max_ssd,
            matching: self.matching,
            prefilter: self.prefilter,
        }
    }

    /// A pixel of the result depends on no pixel further away than this, in rows or columns.
    pub fn halo(&self) -> usize {
        // A pixel, a patch that covers it, the reference of that patch's group, another patch of the group.
        2 * (self.radius + self.patch - 1)
    }
}

/// Everything a device needs to know, validated once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Width of the picture.
    pub width: usize,
    /// Height of the picture.
    pub height: usize,
    /// The passes in order: one hard threshold, then one Wiener filter or none.
    pub passes: Vec<PassPlan>,
}

impl Plan {
    /// Resolves `params` for a picture of `width` x `height` and channels with noise of deviation `sigma`
    /// each (0..255 scale). Patches are grouped on channel 0.
    pub fn new(params: &Params, width: usize, height: usize, sigma: &[f32]) -> Result<Self> {
        params.validate()?;
        for &s in sigma {
            if !(s.is_finite() && s > 0.0) {
                return Err(Error::parameter("sigma", s, "must be a positive number"));
            }
        }
        let mut passes = vec![PassPlan::new(&params.hard, Shrink::Hard { lambda: params.lambda }, sigma)];
        if params.passes == 2 {
            passes.push(PassPlan::new(&params.wiener, Shrink::Wiener { mu2: params.mu2 }, sigma));
        }
        let patch = passes.iter().map(|p| p.patch).max().unwrap_or(8);
        if width < patch || height < patch {
            return Err(Error::Shape(format!(
                "a picture of {width} x {height} pixels is smaller than a patch of {patch} x {patch}"
            )));
        }
        Ok(Self { width, height, passes })
    }

    /// For samples that lie in `low..=high` on the 0..255 scale: highlights beyond white and pictures far from
    /// black are compared on a plane of their own. Ordinary pictures, noise and all, are not affected.
    #[must_use]
    pub fn for_range(mut self, low: f32, high: f32) -> Self {
        self.passes.iter_mut().for_each(|p| p.cover(low, high));
        self
    }

    /// For noise of this power spectrum, of which only the shape counts.
    #[must_use]
    pub fn with_spectrum(mut self, psd: &Psd) -> Self {
        // Of cosines, whatever the passes transform with: 0 for white noise.
        let uneven = (1.0 - 1.0 / Spectrum::new(psd, Transform::Dct, 8, 1).unevenness()).max(0.0) as f32;
        self.passes.iter_mut().for_each(|pass| pass.correlate(psd, uneven));
        self
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.passes[0].sigma.len()
    }

    /// Pixels that a tile needs around it so that the tiled result equals the untiled one.
    pub fn halo(&self) -> usize {
        self.passes.iter().map(PassPlan::halo).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bm3d::Profile;

    #[test]
    fn planes_follow_samples_far_from_black_and_white() {
        let plan = Plan::new(&Profile::Normal.params(25.0), 64, 64, &[25.0]).unwrap();
        assert_eq!(plan, plan.clone().for_range(-80.0, 335.0));
        for pass in &plan.clone().for_range(2000.0, 2255.0).passes {
            assert_ne!(pass.matching.quantise(2010.0), pass.matching.quantise(2030.0));
            assert_ne!(pass.matching.quantise(2240.0), pass.matching.quantise(2220.0));
        }
        let wide = plan.for_range(0.0, 3000.0);
        assert_eq!(wide.passes[1].matching.scale, 16.0);
        assert_eq!(wide.passes[1].max_ssd, 250);
    }

    #[test]
    fn the_original_halo_is_that_of_the_design() {
        let plan = Plan::new(&Profile::Original.params(25.0), 64, 64, &[25.0]).unwrap();
        assert_eq!(plan.halo(), 104);
    }

    #[test]
    fn small_pictures_are_refused_with_the_sizes() {
        let e = Plan::new(&Profile::Normal.params(25.0), 1, 100, &[25.0]).unwrap_err();
        assert_eq!(e.to_string(), "a picture of 1 x 100 pixels is smaller than a patch of 8 x 8");
    }
}
