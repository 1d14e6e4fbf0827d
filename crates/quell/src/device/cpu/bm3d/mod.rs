//! BM3D on the processor: units of reference patches go through match, filter and aggregate on every thread.

mod filter8;
mod general;
mod matching;
mod patch8;
mod scan;
mod select;
mod unit;
mod variance;

use super::schedule::in_order;
use super::simd::dispatch;
use super::{Cpu, Level};
use crate::bm3d::{PassPlan, Plan};
use crate::{Control, Plane, PlaneView, Result};
use matching::{Groups, MatchUnit};
use unit::{Rect, Unit, units};

/// Buffers of one thread.
#[derive(Default)]
struct Scratch {
    matching: matching::Scratch,
    groups: Groups,
    filter: filter8::Scratch,
}

/// What a unit adds to the picture: numerator and denominator of every channel over its region.
struct Estimate {
    numerator: Vec<Vec<f32>>,
    denominator: Vec<Vec<f32>>,
}

pub(super) fn run(cpu: &Cpu, plan: &Plan, noisy: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>> {
    let (w, h) = (plan.width, plan.height);
    let work: Vec<Vec<Unit>> = plan.passes.iter().map(|p| units(p, w, h)).collect();
    let progress = Steps::new(control, work.iter().map(|u| u.len() as u64).sum());
    let mut basic: Option<Vec<Plane>> = None;
    for (pass, units) in plan.passes.iter().zip(&work) {
        let pilot: Option<Vec<PlaneView<'_>>> = basic.as_ref().map(|b| b.iter().map(Plane::view).collect());
        basic = Some(run_pass(cpu.level, pass, units, noisy, pilot.as_deref(), &progress)?);
    }
    Ok(basic.unwrap_or_default())
}

/// Counts units over all passes.
struct Steps<'a> {
    control: &'a Control,
    done: std::sync::atomic::AtomicU64,
    total: u64,
}

impl<'a> Steps<'a> {
    fn new(control: &'a Control, total: u64) -> Self {
        Self { control, done: 0.into(), total }
    }

    fn step(&self, stage: &'static str) {
        let done = self.done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        self.control.report(done, self.total, stage);
    }
}

fn run_pass(
    level: Level,
    pass: &PassPlan,
    units: &[Unit],
    noisy: &[PlaneView<'_>],
    basic: Option<&[PlaneView<'_>]>,
    progress: &Steps<'_>,
) -> Result<Vec<Plane>> {
    let (w, h) = (noisy[0].width(), noisy[0].height());
    let stage = if basic.is_some() { "Wiener filter" } else { "basic estimate" };
    let mut numerator: Vec<Plane> = noisy.iter().map(|_| Plane::zeros(w, h)).collect();
    let mut denominator = numerator.clone();
    in_order(
        units.len(),
        Scratch::default,
        |i, scratch| {
            progress.control.check()?;
            Ok(estimate(level, pass, &units[i], noisy, basic, scratch))
        },
        |i, estimate| {
            for c in 0..noisy.len() {
                add(&mut numerator[c], &units[i].region, &estimate.numerator[c]);
                add(&mut denominator[c], &units[i].region, &estimate.denominator[c]);
            }
            progress.step(stage);
        },
    )?;
    for (num, den) in numerator.iter_mut().zip(&denominator) {
        num.as_mut_slice().iter_mut().zip(den.as_slice()).for_each(|(n, d)| *n /= d);
    }
    Ok(numerator)
}

/// Match, filter and aggregate one unit.
fn estimate(
    level: Level,
    pass: &PassPlan,
    unit: &Unit,
    noisy: &[PlaneView<'_>],
    basic: Option<&[PlaneView<'_>]>,
    scratch: &mut Scratch,
) -> Estimate {
    let guide = basic.map_or(noisy[0], |b| b[0]);
    let Scratch { matching, groups, filter } = scratch;
    dispatch(level, MatchUnit { pass, unit, guide, scratch: matching, groups });
    let mut out = Estimate { numerator: Vec::new(), denominator: Vec::new() };
    for (c, &noisy) in noisy.iter().enumerate() {
        let area = unit.region.width() * unit.region.height();
        let (mut numerator, mut denominator) = (vec![0.0; area], vec![0.0; area]);
        let (basic, sigma) = (basic.map(|b| b[c]), pass.sigma[c]);
        if filter8::supports(pass) {
            dispatch(
                level,
                filter8::FilterUnit {
                    pass,
                    unit,
                    groups,
                    noisy,
                    basic,
                    sigma,
                    scratch: filter,
                    numerator: &mut numerator,
                    denominator: &mut denominator,
                },
            );
        } else {
            general::filter_unit(pass, unit, groups, noisy, basic, sigma, &mut numerator, &mut denominator);
        }
        out.numerator.push(numerator);
        out.denominator.push(denominator);
    }
    out
}

/// Adds a unit's region to a plane.
fn add(plane: &mut Plane, region: &Rect, values: &[f32]) {
    for (y, row) in region.y.clone().zip(values.chunks_exact(region.width())) {
        plane.row_mut(y)[region.x.clone()].iter_mut().zip(row).for_each(|(o, v)| *o += v);
    }
}
