//! From noise, size and settings to parameters and a plan.

use super::{Averaging, PARAMETERS, Params, Plan, Profile};
use crate::method::{Front, Planned, Settings, Subject, Unclip, Window, lcm};
use crate::{ColorMode, Result};

/// The space in which colours are filtered: directions and acceptance are decided on its luma.
const COLORS: ColorMode = ColorMode::Opp;

/// The parameters for noise of deviation `sigma` on the 0..255 scale. Every variant has its own lengths and thresholds,
/// so it is looked for first.
pub(crate) fn params(profile: Profile, settings: &Settings, sigma: f32, channels: usize) -> Result<Params> {
    let own = profile.params(sigma, channels);
    let of = |variant| Params::of(variant, sigma, channels);
    let params = settings.over_variants("isoline", PARAMETERS, own, |p| p.variant, of)?;
    params.validate()?;
    Ok(params)
}

/// The plan for one plane, or for red, green and blue.
pub(crate) fn plan(params: &Params, subject: &Subject) -> Result<crate::Plan> {
    let color = (subject.planes == 3).then_some(COLORS);
    let gain = color.map_or(vec![1.0], |mode| mode.noise_gain().to_vec());
    let sigmas: Vec<f32> = gain.iter().map(|g| *g as f32 * subject.sigma * subject.strength).collect();
    let plan = Plan::new(params, (subject.width, subject.height), subject.white, &sigmas)?;
    // The paper's filters do not know the noise.
    let unclip = (!plan.variant.is_blind()).then_some(Unclip { sigma: subject.sigma, ends: subject.clipped });
    Ok(crate::Plan::new(plan, Front { color, unclip, ..Front::channels(subject.white) }))
}

/// The plan for planes of a video, whose noise has these deviations in the units of the samples; the first one decides.
pub(crate) fn planes(
    params: &Params,
    size: (usize, usize),
    white: f32,
    sigma: &[f32],
    strength: f32,
) -> Result<crate::Plan> {
    let sigmas: Vec<f32> = sigma.iter().map(|s| s * strength).collect();
    Ok(Plan::new(params, size, white, &sigmas)?.into())
}

impl Planned for Plan {
    fn window(&self) -> Window {
        let (&Self { width, height, past, future, .. }, channels) = (self, self.channels());
        Window { width, height, planes: channels, guides: 0, results: channels, past, future }
    }

    fn halo(&self) -> usize {
        self.halo()
    }

    /// Cells and blocks begin there.
    fn grid(&self) -> usize {
        let cells = [self.restore.square.cell, self.pilot_restore.square.cell];
        cells.into_iter().fold(Averaging::BLOCK, lcm)
    }

    fn likes_bytes(&self) -> bool {
        true
    }

    fn white(&self) -> f32 {
        self.white
    }

    fn set_size(&mut self, columns: usize, rows: usize) {
        (self.width, self.height) = (columns, rows);
    }
}
