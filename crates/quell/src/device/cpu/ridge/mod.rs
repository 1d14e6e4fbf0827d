//! Context ridge on the processor: a pilot, then rounds over units of reference patches on every thread, then what the
//! picture of half the size knows better.

mod any;
mod group16;
mod lists;
mod matrix;
mod pilot;
mod round;

use rayon::prelude::*;

use super::pool::Pool;
use super::{Cpu, bm3d};
use crate::device::Samples;
use crate::device::front::pyramid::{down, merge};
use crate::memory::check_planes;
use crate::ridge::{Pilot, Plan};
use crate::{Control, Error, Plane, PlaneView, Result};
use round::Rounds;

/// Buffers that outlive a picture.
#[derive(Default)]
pub(super) struct Pools {
    scratch: Pool<round::Scratch>,
    sums: Pool<super::group::aggregate::Sums>,
}

/// Runs the plan on the channels of a picture.
pub(super) fn run(cpu: &Cpu, plan: &Plan, noisy: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>> {
    let (w, h) = (plan.width, plan.height);
    if noisy.len() != plan.channels() || noisy.iter().any(|p| (p.width(), p.height()) != (w, h)) {
        let n = plan.channels();
        return Err(Error::Shape(format!("the plan is for {n} planes of {w} x {h} pixels, not for these")));
    }
    // The estimate, what has noise left, both as they become, and the residue.
    check_planes(5 * noisy.len(), w, h)?;
    // Of eight parts of the work at one size, the pilot is three; a coarser one has a quarter of all.
    let sizes = if plan.coarser.is_some() { 10 } else { 8 };
    let x = pilot(cpu, plan, noisy, &control.sections(0..3, sizes))?;
    let mut fine = Rounds::new(cpu, plan, noisy, x).run(&control.sections(3..8, sizes))?;
    if let Some(coarser) = &plan.coarser {
        let mut small = run_small(cpu, coarser, noisy, &control.sections(8..10, sizes))?;
        for ((fine, small), &limit) in fine.iter_mut().zip(&mut small).zip(&plan.limit) {
            merge(fine.as_mut_slice(), w, small.as_mut_slice(), Some(limit));
        }
    }
    Ok(fine)
}

/// The first estimate.
fn pilot(cpu: &Cpu, plan: &Plan, noisy: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>> {
    match &plan.pilot {
        Pilot::Bm3d(plan) => bm3d::run(cpu, plan, None, noisy, control),
        Pilot::Ridge(own) => pilot::run(cpu, own, noisy, &plan.sigma, control),
    }
}

/// The same plan for the picture of half the size.
fn run_small(cpu: &Cpu, plan: &Plan, noisy: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>> {
    let small: Vec<Plane> = noisy
        .par_iter()
        .map(|plane| {
            let mut small = Plane::zeros(plan.width, plan.height);
            down(Samples::F32(&plane.contiguous()), plane.width(), small.as_mut_slice());
            small
        })
        .collect();
    run(cpu, plan, &small.iter().map(Plane::view).collect::<Vec<_>>(), control)
}

#[cfg(test)]
mod tests;
