//! From noise, size and settings to parameters and a plan.

use super::{PARAMETERS, Params, Plan, Profile};
use crate::Result;
use crate::method::{Front, Planned, Settings, Subject, Window};

/// The parameters for noise of deviation `sigma` on the 0..255 scale. Every variant has its own, so it is looked for
/// first.
pub(crate) fn params(profile: Profile, settings: &Settings, sigma: f32, channels: usize) -> Result<Params> {
    let own = profile.params(sigma, channels);
    let of = |variant| Params::of(variant, sigma, channels);
    let params = settings.over_variants("classic", PARAMETERS, own, |p| p.variant, of)?;
    params.validate()?;
    Ok(params)
}

/// The plan for the planes of a picture.
pub(crate) fn plan(params: &Params, subject: &Subject) -> Result<crate::Plan> {
    let sigma = vec![subject.noise(); subject.planes];
    let plan = Plan::new(params, (subject.width, subject.height), subject.white, &sigma)?;
    Ok(crate::Plan::new(plan, Front::channels(subject.white)))
}

impl Planned for Plan {
    fn window(&self) -> Window {
        Window::single(self.width, self.height, self.channels())
    }

    fn halo(&self) -> usize {
        self.halo().unwrap_or(usize::MAX)
    }

    fn white(&self) -> f32 {
        self.white
    }

    fn set_size(&mut self, columns: usize, rows: usize) {
        (self.width, self.height) = (columns, rows);
    }
}
