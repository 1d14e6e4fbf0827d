//! From noise, size and settings to parameters and a plan.

use super::{PARAMETERS, Params, Plan, Profile};
use crate::Result;
use crate::method::{Guide, Planned, Settings, Subject, Window};

/// The parameters for noise of deviation `sigma` on the 0..255 scale.
pub(crate) fn params(profile: Profile, settings: &Settings, sigma: f32, channels: usize) -> Result<Params> {
    let params = profile.params(sigma, channels);
    let own = params.h;
    let mut params = settings.over("nlm", PARAMETERS, params)?;
    if params.h == own && settings.sets.iter().all(|(name, _)| name != "h") {
        profile.follow(&mut params);
    }
    params.validate()?;
    Ok(params)
}

/// The plan for planes that are averaged with the same weights.
pub(crate) fn plan(params: &Params, subject: &Subject) -> Result<crate::Plan> {
    let new = |guides, noise| {
        let size = (subject.width, subject.height);
        Plan::new(params, size, subject.planes, guides, subject.white, noise)
    };
    let plan = match subject.guide {
        Guide::Own => new(0, subject.noise())?,
        Guide::Planes(guides, variance) => new(guides, subject.strength)?.with_guide_noise(variance),
    };
    Ok(plan.into())
}

impl Planned for Plan {
    fn window(&self) -> Window {
        let Self { width, height, channels, guides, past, future, .. } = *self;
        Window { width, height, planes: channels, guides, results: channels, past, future }
    }

    fn halo(&self) -> usize {
        self.halo()
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
