//! Pass 2 alone, with a basic estimate that the caller brings.

use super::{Channels, Cpu, Noisy, Plane, PlaneView, Rect, Source, Stage, Steps, run_pass, units};
use crate::bm3d::Plan;
use crate::memory::check_planes;
use crate::{Control, Error, Result};

/// Runs the second pass of the plan over a whole picture.
pub(in crate::device::cpu) fn refine(
    cpu: &Cpu,
    plan: &Plan,
    noisy: &[PlaneView<'_>],
    basic: &[PlaneView<'_>],
    control: &Control,
) -> Result<Vec<Plane>> {
    let (w, h) = (plan.width, plan.height);
    let Some(pass) = plan.passes.get(1) else {
        return Err(Error::Unsupported("the plan has no pass 2".into()));
    };
    [noisy, basic].iter().try_for_each(|planes| Channels::from(*planes).check(plan.channels(), (w, h)))?;
    check_planes(plan.channels(), w, h)?;
    let units = units(&pass.search(), w, h);
    let total = units.len() as u64;
    let stage = Stage { pass, area: Rect { x: 0..w, y: 0..h }, units };
    let [noisy, basic] =
        [noisy, basic].map(|planes| planes.iter().map(|&p| Source::whole(p)).collect::<Vec<_>>());
    let progress = Steps { control, done: 0.into(), total };
    run_pass(cpu, &stage, Noisy { channels: &noisy, counts: None }, Some(&basic), &progress)
}
