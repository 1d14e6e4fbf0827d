//! From noise, size and settings to parameters and a plan.

use super::{PARAMETERS, Params, Plan, Profile};
use crate::Result;
use crate::bm3d::resolve::{mode, sigmas};
use crate::method::{Front, Planned, Settings, Subject, Window, lcm};

/// The parameters for noise of deviation `sigma` on the 0..255 scale.
pub(crate) fn params(profile: Profile, settings: &Settings, sigma: f32, _: usize) -> Result<Params> {
    let params = settings.over("ridge", PARAMETERS, profile.params(sigma))?;
    params.validate()?;
    Ok(params)
}

/// The least side of a picture that is worth filtering at half its size as well.
const LEAST_SIDE: usize = 64;

/// The plan for one plane, or for red, green and blue.
pub(crate) fn plan(params: &Params, subject: &Subject) -> Result<crate::Plan> {
    // Where grain is coarse, all sizes are filtered as pictures of their own.
    let one = subject.scales > 1 || subject.coarse;
    sizes(params, subject, if one { 1 } else { params.scales })
}

/// The same at so many sizes: the smaller ones know the low frequencies better.
fn sizes(params: &Params, subject: &Subject, scales: usize) -> Result<crate::Plan> {
    let (scale, color) = (255.0 / subject.white, mode(params.color, subject));
    let sigma = sigmas(color, subject);
    let plan = Plan::new(params, subject.width, subject.height, &sigma)?;
    let plan = plan.for_range(subject.range.0 * scale, subject.range.1 * scale);
    let plan = crate::Plan::new(plan, Front { color, ..Front::channels(subject.white) });
    let frames = subject.frames(params.past, params.future, params.motion, params.frame_threshold, sigma[0]);
    let plan = plan.over(frames)?;
    if scales == 1 || subject.width.min(subject.height) < LEAST_SIDE {
        return Ok(plan);
    }
    let (width, height) = (subject.width / 2, subject.height / 2);
    let half = Subject { width, height, sigma: subject.sigma / 2.0, ..subject.clone() };
    let limits: Vec<f32> = sigma.iter().map(|s| s * params.limit).collect();
    plan.with_coarser_within(sizes(params, &half, scales - 1)?, &limits)
}

impl Planned for Plan {
    fn window(&self) -> Window {
        Window::single(self.width, self.height, self.channels())
    }

    fn halo(&self) -> usize {
        self.halo()
    }

    /// All grids have a row there.
    fn grid(&self) -> usize {
        let steps = self.rounds.iter().filter_map(|r| r.search.as_ref()).map(|s| s.step);
        steps.fold(Planned::grid(&*self.pilot), lcm)
    }

    fn scale(&self, white: f32) -> f32 {
        255.0 / white
    }

    fn white(&self) -> f32 {
        255.0
    }

    fn set_size(&mut self, columns: usize, rows: usize) {
        (self.width, self.height) = (columns, rows);
        self.pilot.set_size(columns, rows);
    }
}
