//! A plan: parameters resolved for one picture size and its noise, the same for every device.

use serde::Serialize;

use super::{Params, Variant};
use crate::{Error, Result};

/// Less noise than this part of white is none, and would be lost in `f32`.
const ROUNDING: f32 = 1e-6;

/// What a device is to compute. Samples are in their own units.
///
/// `Y` is a plane and `X` its result. Outside of the picture it goes on as in a mirror ([`fold`](crate::nlm::fold)).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The sample value of white.
    pub white: f32,
    /// Deviation of the noise in each plane.
    pub sigma: Vec<f32>,
    /// The filter.
    pub filter: Filter,
}

/// A filter and what it needs. Vectors `g` are taps of a Gaussian: those of displacement 0, 1, 2, …; `g[-i]` is `g[i]`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Filter {
    /// ```text
    /// X(x,y) = sum over i and j of g[i] g[j] Y(x+i, y+j)
    /// ```
    Gauss {
        /// The Gaussian, of sum 1 over both sides.
        g: Vec<f32>,
    },
    /// With `w` from all planes `c` together:
    ///
    /// ```text
    /// u(x,y,i,j) = sum over c of (scale[c] (Yc(x+i, y+j) - Yc(x,y)))^2
    /// w          = g[i] g[j] exp(-u)
    /// X(x,y)     = sum over i and j of w Y(x+i, y+j) / sum of w
    /// ```
    Bilateral {
        /// The Gaussian, 1 for displacement 0.
        g: Vec<f32>,
        /// For each plane, from differences of samples to the root of their part of the argument.
        scale: Vec<f32>,
    },
    /// `X` minimises `TV(X) + |X - Y|^2 / (2 lambda)`, approached by steps on the dual variable `p`, a vector at every
    /// pixel, at first 0:
    ///
    /// ```text
    /// v = grad(div p - Y / lambda)
    /// p = (p + STEP v) / (1 + STEP |v|)          so many times
    /// X = Y - lambda div p
    /// ```
    ///
    /// `grad` are the differences to the next column and row, 0 in the last ones; `-div` is its adjoint.
    Tv {
        /// For each plane, in units of its samples.
        lambda: Vec<f32>,
        /// Steps.
        iterations: usize,
    },
    /// With `C` the cosine transform of the plane, orthonormal, of type II, which is the Fourier transform of the plane and
    /// its mirror images; `C(0,0)`, the mean, counts as 0 and stays as it is.
    ///
    /// ```text
    /// S(k,l) = sum over i and j of g[i] g[j] C(k+i, l+j)^2
    /// X      = inverse transform of C max(0, 1 - sigma^2 / S)
    /// ```
    Wiener {
        /// The Gaussian, of sum 1 over both sides.
        g: Vec<f32>,
    },
}

impl Filter {
    /// The length of a step of [`Filter::Tv`]: below 1/4, up to which the steps converge in practice (proved to 1/8).
    pub const STEP: f32 = 0.248;

    /// Which filter it is.
    pub fn variant(&self) -> Variant {
        match self {
            Self::Gauss { .. } => Variant::Gauss,
            Self::Bilateral { .. } => Variant::Bilateral,
            Self::Tv { .. } => Variant::Tv,
            Self::Wiener { .. } => Variant::Wiener,
        }
    }
}

impl Plan {
    /// The plan for pictures of this size whose planes have noise of these deviations, in the units of the samples.
    pub fn new(params: &Params, (width, height): (usize, usize), white: f32, sigma: &[f32]) -> Result<Self> {
        params.validate()?;
        if let Some(s) = sigma.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
            return Err(Error::parameter("sigma", s, "must be a positive number"));
        }
        let sigma: Vec<f32> = sigma.iter().map(|s| s.max(ROUNDING * white)).collect();
        let radius = |deviations| match params.radius {
            0 => reach(params.spread, deviations),
            given => given,
        };
        let filter = match params.variant {
            Variant::Gauss => Filter::Gauss { g: normalised(gaussian(params.spread, radius(3.0))) },
            Variant::Bilateral => {
                // The mean over the planes: the same range suits grey and colour.
                let unit = f64::from(params.range) * (2.0 * sigma.len() as f64).sqrt();
                let scale = sigma.iter().map(|&s| (1.0 / (f64::from(s) * unit)) as f32).collect();
                let g = gaussian(params.spread, radius(2.0));
                Filter::Bilateral { g: g.iter().map(|&v| v as f32).collect(), scale }
            }
            Variant::Tv => Filter::Tv {
                lambda: sigma.iter().map(|s| s * params.lambda).collect(),
                iterations: params.iterations,
            },
            Variant::Wiener => {
                Filter::Wiener { g: normalised(gaussian(params.smoothing, reach(params.smoothing, 3.0))) }
            }
        };
        Ok(Self { width, height, white, sigma, filter })
    }

    /// Planes.
    pub fn channels(&self) -> usize {
        self.sigma.len()
    }

    /// Pixels around a pixel that its result depends on; `None` if that is the whole picture, whatever its size.
    pub fn halo(&self) -> Option<usize> {
        match &self.filter {
            Filter::Gauss { g } | Filter::Bilateral { g, .. } => Some(g.len() - 1),
            // Every step looks at the next pixels.
            Filter::Tv { iterations, .. } => Some(*iterations),
            Filter::Wiener { .. } => None,
        }
    }
}

/// So many deviations in pixels.
fn reach(deviation: f32, times: f32) -> usize {
    (times * deviation).ceil() as usize
}

/// A Gaussian at 0, 1, 2, … up to `radius`.
fn gaussian(deviation: f32, radius: usize) -> Vec<f64> {
    (0..=radius).map(|i| (-0.5 * (i as f64 / f64::from(deviation)).powi(2)).exp()).collect()
}

/// The same with sum 1 over both sides.
fn normalised(g: Vec<f64>) -> Vec<f32> {
    let sum = 2.0 * g.iter().sum::<f64>() - g[0];
    g.iter().map(|v| (v / sum) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::classic::Profile;

    #[test]
    fn only_the_wiener_filter_needs_the_whole_picture() {
        let halo = |profile: Profile| {
            let plan = Plan::new(&profile.params(25.0, 1), (64, 48), 255.0, &[25.0]).unwrap();
            assert_eq!(plan.filter.variant(), profile.variant());
            plan.halo()
        };
        assert_eq!(Profile::ALL.map(halo), [Some(3), Some(3), Some(100), None]);
    }

    #[test]
    fn the_gaussian_has_sum_one() {
        let params = Params { spread: 2.0, ..Profile::Gauss.params(25.0, 1) };
        let plan = Plan::new(&params, (64, 48), 255.0, &[25.0]).unwrap();
        let Filter::Gauss { g } = plan.filter else { panic!("not a Gaussian") };
        assert_eq!(g.len(), 7);
        assert!((2.0 * g.iter().sum::<f32>() - g[0] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn noise_that_is_no_number_is_refused_by_name() {
        let params = Profile::Tv.params(25.0, 1);
        for sigma in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let e = Plan::new(&params, (8, 8), 255.0, &[sigma]).unwrap_err().to_string();
            assert!(e.starts_with("sigma = ") && e.ends_with("must be a positive number"), "{e}");
        }
        let bad = Params { lambda: 0.0, ..params };
        let e = Plan::new(&bad, (8, 8), 255.0, &[25.0]).unwrap_err().to_string();
        assert_eq!(e, "lambda = 0: must be from 0.001 to 100");
    }
}
