//! A plan: parameters resolved for one picture size, one noise level and one unit of samples, the same for every device.

use serde::Serialize;

use super::{Center, Params, Weight};
use crate::Result;

/// What a device is to compute. Samples are used in their own units throughout: NL-means knows no scale but the noise.
///
/// For pixel `p` and displacement `q` (columns and rows within `search_radius`, frames from `-past` to `future`):
///
/// ```text
/// d(p,q) = sum over the patch and the guide planes of (G(p+q+D) - G(p+D))^2
/// u      = max(slope d - floor, 0)
/// w      = weight(u)                          and for q = 0 by the rule `center`
/// X(p)   = sum_q w Y(p+q) / sum_q w
/// ```
///
/// `Y` are the planes, `G` the guide planes, or the planes themselves if there are none; both go on as in a mirror
/// beyond the borders ([`fold`]). Patches extend in space only. Frames before the first and after the last are left out.
///
/// With `patchwise`, `X(x)` is the mean over all `(2B+1)^2` patches that cover `x`, those centred beyond the borders
/// too, of the estimate that the patch centred at `c` makes of `x`: `sum_q w(c,q) Y(x+q) / sum_q w(c,q)`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Planes that are averaged.
    pub channels: usize,
    /// Planes that distances are computed on; 0: the averaged ones.
    pub guides: usize,
    /// The sample value of white: integers are clipped to it.
    pub white: f32,
    /// Half the side of a patch (B).
    pub patch_radius: usize,
    /// Largest displacement in columns and rows (A).
    pub search_radius: usize,
    /// Frames before the present one.
    pub past: usize,
    /// Frames after the present one.
    pub future: usize,
    /// How the weight falls.
    pub weight: Weight,
    /// From sums of squared differences to the argument of the weight.
    pub slope: f32,
    /// Taken off it: what noise alone makes.
    pub floor: f32,
    /// What the pixel itself weighs.
    pub center: Center,
    /// Whole patches are averaged.
    pub patchwise: bool,
}

impl Plan {
    /// The plan for pictures of this size. `sigma` is the noise deviation of the guide samples (of the samples, if there
    /// is no guide) in their own units; every guide plane has the same.
    pub fn new(
        params: &Params,
        (width, height): (usize, usize),
        channels: usize,
        guides: usize,
        white: f32,
        sigma: f32,
    ) -> Result<Self> {
        params.validate()?;
        let compared = if guides == 0 { channels } else { guides };
        let samples = params.patch * params.patch * compared;
        // The distance of equal patches is 1 in this unit.
        let unit = 1.0 / (2.0 * sigma * sigma * samples as f32);
        let steep = match params.weight {
            Weight::Gauss => 2.0 / (params.h * params.h),
            Weight::Bisquare | Weight::Bisquare8 => 1.0 / params.h,
        };
        Ok(Self {
            width,
            height,
            channels,
            guides,
            white,
            patch_radius: params.patch / 2,
            search_radius: params.search / 2,
            past: params.past,
            future: params.future,
            weight: params.weight,
            slope: unit * steep,
            floor: if params.correct { steep } else { 0.0 },
            center: params.center,
            patchwise: params.patchwise,
        })
    }

    /// The plan, made for deviation 1, for guides in which the noise has this variance: less than 1, where they are
    /// whitened (see [`Whitening::noise`](crate::noise::correlated::Whitening::noise)). Only what noise makes of the
    /// distance changes; the tolerance of differences beyond it stays.
    #[must_use]
    pub fn with_guide_noise(mut self, variance: f32) -> Self {
        if self.floor > 0.0 {
            self.floor *= variance;
        } else if self.weight != Weight::Gauss {
            // Noise of variance 1 alone makes this part of the distance at which the weight is zero.
            let side = 2 * self.patch_radius + 1;
            let compared = if self.guides == 0 { self.channels } else { self.guides };
            let noise = 2.0 * (side * side * compared) as f32 * self.slope;
            self.slope /= (1.0 - noise * (1.0 - variance)).max(0.25);
        }
        self
    }

    /// The weight of a sum of squared differences.
    pub fn weight_of(&self, ssd: f64) -> f64 {
        self.weight.at((ssd * f64::from(self.slope) - f64::from(self.floor)).max(0.0))
    }

    /// Pixels around a pixel that its result depends on.
    pub fn halo(&self) -> usize {
        self.search_radius + self.patch_radius * if self.patchwise { 2 } else { 1 }
    }
}

/// The sample that stands at position `i` of a line of `n`: beyond the borders the line goes on as in a mirror, edge
/// samples doubled, any number of times.
///
/// ```
/// use quell::nlm::fold;
/// let line: Vec<usize> = (-4..8).map(|i| fold(i, 3)).collect();
/// assert_eq!(line, [2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
/// ```
pub fn fold(i: isize, n: usize) -> usize {
    let n = n as isize;
    let i = i.rem_euclid(2 * n);
    (if i < n { i } else { 2 * n - 1 - i }) as usize
}
