//! A plan: parameters resolved for one picture size and one noise level, the same for every device.

use serde::Serialize;

use super::{Params, PilotKind};
use crate::bm3d::{PassPlan, Shrink, Weight};
use crate::method::group::{MAX_SSD, Match, MatchingPlane, Search};
use crate::transform::Transform;
use crate::{Error, Result, bm3d};

/// What a device is to compute, on channels of the 0..255 scale.
///
/// `y` are the noisy channels, `x` the estimate, `z` what still has noise; `X`, `Z` are the patches of a group, a row each.
/// A round, for every group of `k` patches of `n` pixels and every channel:
///
/// ```text
/// t    = max(1 - rms(y - z over the group) / sigma, tau + 1e-6)      how much noise z has left
/// D    = (lambda n + mu k) (sigma max(t, 0.03))^2
/// Xc, Zc without the means xm, zm over the group (if `center`)
/// D    = max(D, 1e-6 trace(Xc' Xc))                                  for f32
/// A    = (Xc' Xc + D I)^-1
/// Xh   = zm + Xc A Xc' Zc
/// w    = 1 / (1 + |I - D A|^2) times k / most
/// r    = min(tau / t, 0.999)                                          what stays in z
/// ```
///
/// All groups together, at every pixel: `N = sum w (1 - r) Xh`, `S0 = sum w`, `S1 = sum w (1 - r)`, then
/// `x = N / S1` and `z = (N + z (S0 - S1)) / S0`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Width of the picture.
    pub width: usize,
    /// Height of the picture.
    pub height: usize,
    /// Noise deviation of each channel. Patches are grouped on channel 0.
    pub sigma: Vec<f32>,
    /// What makes the first estimate: BM3D, or one pass that regresses noisy patches on themselves.
    pub pilot: Box<bm3d::Plan>,
    /// Side of a patch.
    pub patch: usize,
    /// Pixels around a patch that are compared as well.
    pub margin: usize,
    /// How many of the matches are the group.
    pub size: GroupSize,
    /// Ridge parameter per pixel of a patch.
    pub lambda: f32,
    /// Ridge parameter per patch of a group.
    pub mu: f32,
    /// Whether the mean of a group is left out.
    pub center: bool,
    /// The rounds in order.
    pub rounds: Vec<Round>,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Round {
    /// Noise that is left after it, in units of sigma.
    pub tau: f32,
    /// How patches are grouped, if anew: on the picture `z + blend (x - z)`, made larger by the margin on every side by
    /// repeating its border.
    pub search: Option<Search>,
    /// How much of the estimate is in what is compared.
    pub blend: f32,
}

/// How many of the matches are the group: those up to `spread` / 256 times as far as the last of the least; a multiple
/// of 16 more than the least, to the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GroupSize {
    /// Least patches.
    pub least: usize,
    /// In 256ths.
    pub spread: u32,
}

impl GroupSize {
    /// Of `found` matches in order.
    #[inline]
    pub fn of(self, found: usize, ssd: impl Fn(usize) -> u32) -> usize {
        if found <= self.least {
            return found;
        }
        let far = ssd(self.least - 1) * self.spread;
        let near = (self.least..found).take_while(|&i| ssd(i) << 8 <= far).count();
        found.min(self.least + (near + 8) / 16 * 16)
    }

    /// The group of some matches in order.
    pub fn cut(self, matches: &mut Vec<Match>) {
        matches.truncate(self.of(matches.len(), |i| matches[i].ssd));
    }
}

impl Plan {
    /// Resolves `params` for a picture of `width` x `height` and channels with noise of deviation `sigma` each, on the
    /// 0..255 scale.
    ///
    /// ```
    /// use quell::ridge::{Plan, Profile};
    /// let plan = Plan::new(&Profile::Normal.params(25.0), 640, 480, &[25.0])?;
    /// assert_eq!((plan.rounds.len(), plan.rounds[3].tau), (4, 0.0));
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn new(params: &Params, width: usize, height: usize, sigma: &[f32]) -> Result<Self> {
        params.validate()?;
        if let Some(s) = sigma.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
            return Err(Error::parameter("sigma", s, "must be a positive number"));
        }
        let patch = params.patch;
        if width.min(height) < patch {
            return Err(Error::Shape(format!(
                "a picture of {width} x {height} pixels is smaller than a patch of {patch} x {patch}"
            )));
        }
        Ok(Self {
            width,
            height,
            sigma: sigma.to_vec(),
            pilot: pilot(params, width, height, sigma)?,
            patch: params.patch,
            margin: params.margin,
            size: GroupSize { least: params.least, spread: (params.spread * 256.0).round() as u32 },
            lambda: params.lambda,
            mu: params.mu,
            center: params.center,
            rounds: (0..params.rounds).map(|m| round(params, m, sigma[0])).collect(),
        })
    }

    /// For samples that lie in `low..=high` on the 0..255 scale: see [`bm3d::Plan::for_range`].
    #[must_use]
    pub fn for_range(mut self, low: f32, high: f32) -> Self {
        let tails = 3.5 * self.sigma.iter().copied().fold(1.0, f32::max);
        let cover = |search: &mut Search| search.matching = search.matching.covering(low, high, tails);
        self.rounds.iter_mut().filter_map(|r| r.search.as_mut()).for_each(cover);
        self.pilot = Box::new(self.pilot.for_range(low, high));
        self
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.sigma.len()
    }

    /// The ridge parameter of a group of `k` patches in which so much noise is left, for a channel.
    #[inline]
    pub fn ridge(&self, channel: usize, k: usize, t: f32) -> f32 {
        let n = (self.patch * self.patch) as f32;
        let left = self.sigma[channel] * t.max(0.03);
        (self.lambda * n + self.mu * k as f32) * left * left
    }

    /// Rows and columns around a pixel that its result depends on to a degree that can be seen: those of the pilot, and of
    /// two rounds. What lies further away comes in by way of averages of averages.
    pub fn halo(&self) -> usize {
        let round = self.rounds.iter().filter_map(|r| r.search.as_ref()).map(reach).max().unwrap_or(0);
        self.pilot.halo() + 2 * round
    }
}

/// Pixels around one that it depends on by one grouping.
fn reach(search: &Search) -> usize {
    2 * (search.radius + search.patch - 1)
}

/// How similar patches of `side` x `side` pixels are found, if the noise is so strong. There is no distance that is too
/// large: those that do not fit into 16 bits are left out.
fn search(side: usize, step: usize, window: usize, group: usize, sigma: f32, least: f32) -> Search {
    let tau = (6.0 * sigma * sigma).clamp(least, 65000.0);
    Search {
        patch: side,
        step,
        offset: 0,
        radius: window / 2,
        group,
        max_ssd: MAX_SSD,
        matching: MatchingPlane::new(tau, side * side),
        prefilter: 0.0,
    }
}

fn pilot(params: &Params, width: usize, height: usize, sigma: &[f32]) -> Result<Box<bm3d::Plan>> {
    let own = &params.pilot;
    let profile = match own.kind {
        PilotKind::Fast => bm3d::Profile::Fast,
        PilotKind::Middle => bm3d::Profile::Middle,
        PilotKind::Normal => bm3d::Profile::Normal,
        PilotKind::High => bm3d::Profile::High,
        PilotKind::Ridge => {
            // In small pictures so are the patches.
            let patch = own.patch.min(width).min(height);
            let search = search(patch, own.step.min(patch), own.window, own.group, sigma[0], 4000.0);
            let passes = vec![regression(search, own.alpha, sigma)];
            return Ok(Box::new(bm3d::Plan { width, height, passes }));
        }
    };
    let of = if sigma.len() == 1 { bm3d::Profile::params } else { bm3d::Profile::color_params };
    Ok(Box::new(bm3d::Plan::new(&of(profile, sigma[0]), width, height, sigma)?))
}

/// A pass that regresses patches on themselves.
fn regression(search: Search, alpha: f32, sigma: &[f32]) -> PassPlan {
    PassPlan {
        patch: search.patch,
        step: search.step,
        radius: search.radius,
        group: search.group,
        max_ssd: search.max_ssd,
        matching: search.matching,
        prefilter: search.prefilter,
        // There are no coefficients.
        transform: Transform::Dct,
        stack: Transform::Haar,
        exact: false,
        weight: Weight::Variance,
        shrink: Shrink::Regress { alpha },
        kaiser: vec![1.0; search.patch],
        sigma: sigma.to_vec(),
        spectrum: None,
    }
}

/// Round `m`, counted from 0.
fn round(params: &Params, m: usize, sigma: f32) -> Round {
    let tau = params.start * (1.0 - (m + 1) as f32 / params.rounds as f32);
    let search = m.is_multiple_of(params.rematch).then(|| {
        let side = params.patch + 2 * params.margin;
        let offset = params.shift * (m / params.rematch) % params.step;
        let left =
            if m == 0 { 1.0 - params.blend } else { params.start * (1.0 - m as f32 / params.rounds as f32) };
        let sigma = sigma * left;
        Search {
            offset,
            ..search(
                side,
                params.step,
                params.window,
                params.most,
                sigma,
                if m == 0 { 4000.0 } else { 1800.0 },
            )
        }
    });
    Round { tau, search, blend: if m == 0 { params.blend } else { 0.0 } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ridge::Profile;

    #[test]
    fn groups_grow_by_sixteen() {
        let size = GroupSize { least: 32, spread: 307 };
        let of = |near: usize, found| size.of(found, |i| if i < near { 100 } else { 1000 });
        assert_eq!([of(32, 64), of(39, 64), of(40, 64), of(55, 64), of(56, 64)], [32, 32, 48, 48, 64]);
        assert_eq!([of(9, 20), of(64, 50), of(64, 32), of(0, 0)], [20, 48, 32, 0]);
    }

    #[test]
    fn rounds_end_without_noise_and_move_the_grid() {
        let plan = Plan::new(&Profile::Normal.params(25.0), 100, 80, &[25.0]).unwrap();
        let offsets: Vec<_> = plan.rounds.iter().map(|r| r.search.as_ref().map(|s| s.offset)).collect();
        assert_eq!(offsets, [Some(0), None, Some(2), None]);
        assert_eq!((plan.rounds[0].tau, plan.rounds[3].tau), (0.65 * 0.75, 0.0));
        assert_eq!((plan.rounds[0].blend, plan.rounds[2].blend), (0.6, 0.0));
    }

    #[test]
    fn small_pictures_are_refused_with_the_sizes() {
        let e = Plan::new(&Profile::High.params(25.0), 3, 100, &[25.0]).unwrap_err();
        assert_eq!(e.to_string(), "a picture of 3 x 100 pixels is smaller than a patch of 4 x 4");
    }
}
