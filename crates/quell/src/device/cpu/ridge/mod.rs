//! Context ridge on the processor: a pilot, then rounds over units of reference patches on every thread.

mod any;
mod group16;
mod lists;
mod round;

use super::pool::Pool;
use super::{Channels, Cpu, bm3d};
use crate::memory::check_planes;
use crate::ridge::Plan;
use crate::{Control, Plane, Result};
use round::Rounds;

/// Buffers that outlive a picture.
#[derive(Default)]
pub(super) struct Pools {
    scratch: Pool<round::Scratch>,
    sums: Pool<super::group::aggregate::Sums>,
}

/// Runs the plan on the channels of a picture.
pub(super) fn run(cpu: &Cpu, plan: &Plan, channels: Channels<'_>, control: &Control) -> Result<Vec<Plane>> {
    let (w, h) = (plan.width, plan.height);
    channels.check(plan.channels(), (w, h))?;
    // The estimate, what has noise left, both as they become, and the residue.
    check_planes(5 * plan.channels(), w, h)?;
    // Of eight parts of the work, the pilot is three.
    let x = bm3d::run(cpu, &plan.pilot, None, channels, &control.sections(0..3, 8))?;
    Rounds::new(cpu, plan, channels, x).run(&control.sections(3..8, 8))
}

#[cfg(test)]
mod tests;
