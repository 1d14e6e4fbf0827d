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
    let (scale, color) = (255.0 / subject.white, (subject.planes > 1).then_some(params.color));
    let mut plan = Plan::new(params, subject.width, subject.height, &sigmas(color, subject.noise255()))?;
    if let Some(psd) = &subject.psd {
        plan = plan.with_spectrum(psd);
    }
    let plan = plan.for_range(subject.range.0 * scale, subject.range.1 * scale);
    Ok(crate::Plan::new(plan, Front { color, ..Front::channels(subject.white) }))
}

/// Noise deviation of each channel that is filtered.
fn sigmas(color: Option<ColorMode>, sigma: f32) -> Vec<f32> {
    let Some(mode) = color else { return vec![sigma] };
    let gain = mode.noise_gain().map(|g| g as f32 * sigma);
    match mode {
        ColorMode::Independent => vec![sigma],
        ColorMode::Luma => vec![gain[0]],
        _ => gain.to_vec(),
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
    fn row_grid(&self) -> usize {
        self.passes.iter().map(|p| p.step).fold(1, lcm)
    }

    fn unit_rows(&self) -> usize {
        self.passes.len() * Self::UNIT_ROWS
    }

    fn scale(&self, white: f32) -> f32 {
        255.0 / white
    }

    fn white(&self) -> f32 {
        255.0
    }

    fn set_height(&mut self, rows: usize) {
        self.height = rows;
    }
}
