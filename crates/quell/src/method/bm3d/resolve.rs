//! From noise, size and settings to parameters and a plan.

use super::{PARAMETERS, Params, Plan, Profile};
use crate::method::{Front, Planned, Settings, Subject, Window, lcm};
use crate::{ColorMode, Result};

/// The parameters for noise of deviation `sigma` on the 0..255 scale.
pub(crate) fn params(profile: Profile, settings: &Settings, sigma: f32, channels: usize) -> Result<Params> {
    let over = |params: Params| {
        let params = settings.over("bm3d", PARAMETERS, params)?;
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

/// The plan for one plane, or for red, green and blue.
pub(crate) fn plan(params: &Params, subject: &Subject) -> Result<crate::Plan> {
    let (scale, color) = (255.0 / subject.white, mode(params.color, subject));
    let sigma = sigmas(color, subject);
    let mut plan = Plan::new(params, subject.width, subject.height, &sigma)?;
    if let Some(psd) = &subject.psd {
        plan = plan.with_spectrum(psd);
    }
    let plan = plan.for_range(subject.range.0 * scale, subject.range.1 * scale);
    let plan = crate::Plan::new(plan, Front { color, ..Front::channels(subject.white) });
    plan.over(subject.frames(params.past, params.future, params.motion, params.frame_threshold, sigma[0]))
}

/// The space in which colours are filtered. Those without noise need not be.
pub(in crate::method) fn mode(color: ColorMode, subject: &Subject) -> Option<ColorMode> {
    (subject.planes > 1 && subject.colors).then_some(match color {
        ColorMode::Opp if subject.levels[1..] == [0.0; 2] => ColorMode::Luma,
        other => other,
    })
}

/// The least deviation that is filtered for, on the 0..255 scale: channels without noise come out as they were.
const LEAST: f32 = 1e-3;

/// Noise deviation of each channel that is filtered.
pub(in crate::method) fn sigmas(color: Option<ColorMode>, subject: &Subject) -> Vec<f32> {
    let (sigma, levels) = (subject.noise255(), subject.levels);
    // Luma of grey pictures is the picture; of planes that are filtered one by one each has something of all.
    let all = (levels.iter().map(|v| v * v).sum::<f32>() / 3.0).sqrt();
    let least = |sigma: f32| sigma.max(LEAST);
    let Some(mode) = color else {
        return levels[..subject.planes.min(3)].iter().map(|level| least(sigma * level)).collect();
    };
    let gain = mode.noise_gain().map(|g| g as f32 * sigma);
    match mode {
        ColorMode::Independent if levels == [1.0; 3] => vec![sigma],
        ColorMode::Independent => vec![least(sigma * all)],
        ColorMode::Luma => vec![least(gain[0] * levels[0])],
        _ => gain.iter().zip(levels).map(|(gain, level)| least(gain * level)).collect(),
    }
}

impl Planned for Plan {
    fn window(&self) -> Window {
        Window::single(self.width, self.height, self.channels())
    }

    fn halo(&self) -> usize {
        self.halo()
    }

    /// Every pass has a row of reference patches there.
    fn grid(&self) -> usize {
        self.passes.iter().map(|p| p.step).fold(1, lcm)
    }

    fn scale(&self, white: f32) -> f32 {
        255.0 / white
    }

    fn white(&self) -> f32 {
        255.0
    }

    fn set_size(&mut self, columns: usize, rows: usize) {
        (self.width, self.height) = (columns, rows);
    }
}
