//! Isoline filters on the processor: whole planes stage by stage, bands of rows on every thread.

mod blur;
mod boxes;
mod deviation;
mod follow;
mod likelihood;
mod lines;
mod padded;
mod pool;
mod restore;
mod segments;
mod star;
mod tiles;

pub(super) use padded::Pool;

use std::ops::Range;

use super::Cpu;
use super::simd::dispatch;
use crate::isoline::{Map, Plan, Restoring, Variant};
use crate::{Control, Error, Plane, PlaneView, Result};
use padded::{Layout, Padded, each_band};
use restore::Finish;

/// Rows of a band.
const ROWS: usize = 32;
/// Columns that are worked on at once where many values are kept of each.
const COLUMNS: usize = 512;

/// Runs the plan on the planes of a picture.
pub(super) fn run(cpu: &Cpu, plan: &Plan, planes: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>> {
    check(plan, planes)?;
    if plan.variant.is_blind() {
        return lines::run(cpu, plan, planes, control);
    }
    let run = Run { cpu, plan, control, layout: Layout::new(plan.width, plan.height, margin(plan)) };
    let z: Vec<Padded<'_>> = planes.iter().map(|p| Padded::copy(p, run.layout, 0.0, &cpu.isoline)).collect();
    let result = match plan.variant {
        Variant::Pooled => run.pooled(&z)?,
        Variant::Line => run.line(&z, 3)?,
        _ => run.two_round(&z)?,
    };
    Ok(result.iter().map(Padded::to_plane).collect())
}

/// What the filter knows about a picture. The paper's filters have it at hand; for the others it is not worth a second
/// way of computing it: the reference does, which takes a few seconds for a megapixel.
pub(super) fn map(cpu: &Cpu, plan: &Plan, planes: &[PlaneView<'_>], map: Map) -> Result<Plane> {
    check(plan, planes)?;
    if plan.variant.is_blind() || map == Map::Edges {
        return lines::map(cpu, plan, planes, map);
    }
    tiles::map(plan, planes, map)
}

fn check(plan: &Plan, planes: &[PlaneView<'_>]) -> Result<()> {
    let fits = |p: &PlaneView<'_>| (p.width(), p.height()) == (plan.width, plan.height);
    if planes.len() != plan.channels() || !planes.iter().all(fits) {
        return Err(Error::Shape("planes do not fit the plan".into()));
    }
    if !(1..=4).contains(&planes.len()) {
        return Err(Error::Shape(format!("{} planes: 1 to 4 can be filtered together", planes.len())));
    }
    Ok(())
}

/// Columns and rows around the picture that kernels read.
fn margin(plan: &Plan) -> usize {
    (plan.patterns.length() * plan.segments + plan.thickness / 2).max(2)
}

/// One picture on its way.
struct Run<'a> {
    cpu: &'a Cpu,
    plan: &'a Plan,
    control: &'a Control,
    layout: Layout,
}

impl<'a> Run<'a> {
    fn planes(&self, count: usize) -> Vec<Padded<'a>> {
        (0..count).map(|_| Padded::new(self.layout, &self.cpu.isoline)).collect()
    }

    fn step(&self, done: u64, total: u64) -> Result<()> {
        self.control.report(done, total, "isolines");
        self.control.check()
    }

    fn pooled(&self, z: &[Padded<'_>]) -> Result<Vec<Padded<'a>>> {
        let level = self.blur(&z[..1], self.plan.pool.blur.taps);
        let pooled = self.pool(z, &self.plan.pool, &level[0], None);
        self.step(1, 1)?;
        Ok(pooled)
    }

    /// The first of `steps`, or the only two.
    fn line(&self, z: &[Padded<'_>], steps: u64) -> Result<Vec<Padded<'a>>> {
        let level = self.blur(&z[..1], self.plan.pool.blur.taps);
        let pooled = self.pool(z, &self.plan.pool, &level[0], None);
        self.step(1, steps)?;
        let r = self.combine(z, &pooled, |z, y| z - y);
        let chosen = self.choose(&self.plan.restore, &r, &[]);
        self.step(2, steps)?;
        let result = self.restore(&self.plan.restore, &r, &chosen, Finish::First { pooled: &pooled });
        self.step(3, steps)?;
        Ok(result)
    }

    fn two_round(&self, z: &[Padded<'_>]) -> Result<Vec<Padded<'a>>> {
        let steps = 6;
        let first = self.line(z, steps)?;
        let second = self.pool(z, &self.plan.pilot_pool, &first[0], Some(&first[0]));
        self.step(4, steps)?;
        let pilot = self.combine(&first, &second, |a, b| a + self.plan.mix * (b - a));
        let smooth = self.blur(&pilot, self.plan.pilot_pool.blur.taps);
        let r = self.combine(z, &smooth, |z, s| z - s);
        let q = self.combine(&pilot, &smooth, |p, s| p - s);
        let chosen = self.choose(&self.plan.pilot_restore, &q, &r);
        self.step(5, steps)?;
        let finish = Finish::Second { r: &r, smooth: &smooth, pilot: &pilot, share: self.plan.share };
        let result = self.restore(&self.plan.pilot_restore, &q, &chosen, finish);
        self.step(6, steps)?;
        Ok(result)
    }

    fn combine(
        &self,
        a: &[Padded<'_>],
        b: &[Padded<'_>],
        f: impl Fn(f32, f32) -> f32 + Sync,
    ) -> Vec<Padded<'a>> {
        let mut out = self.planes(a.len());
        for (to, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
            to.combine(a, b, &f);
        }
        out
    }

    fn blur(&self, from: &[Padded<'_>], taps: [f32; 5]) -> Vec<Padded<'a>> {
        let mut out = self.planes(from.len());
        for (to, from) in out.chunks_exact_mut(1).zip(from) {
            each_band(to, ROWS, |band| dispatch(self.cpu.level, blur::BlurBand { taps, from, band }));
        }
        out
    }

    fn pool(
        &self,
        z: &[Padded<'_>],
        pooling: &crate::isoline::Pooling,
        level: &Padded<'_>,
        guide: Option<&Padded<'_>>,
    ) -> Vec<Padded<'a>> {
        let chains = &pool::Chains::new(self.plan, self.layout);
        let mut out = self.planes(z.len());
        each_band(&mut out, ROWS / 2, |band| {
            dispatch(self.cpu.level, pool::PoolBand { chains, pooling, z, level, guide, band });
        });
        out
    }

    fn choose(&self, restoring: &Restoring, q: &[Padded<'_>], other: &[Padded<'_>]) -> Vec<Padded<'a>> {
        let lines = &restore::Lines::new(self.plan, self.layout);
        let mut out = self.planes(2 * q.len() + other.len());
        each_band(&mut out, ROWS, |band| {
            for columns in self.columns() {
                let job = restore::ChooseBand { lines, restoring, q, other, columns, band };
                dispatch(self.cpu.level, job);
            }
        });
        out
    }

    fn restore(
        &self,
        restoring: &Restoring,
        q: &[Padded<'_>],
        chosen: &[Padded<'_>],
        finish: Finish<'_>,
    ) -> Vec<Padded<'a>> {
        let mut out = self.planes(q.len());
        each_band(&mut out, ROWS, |band| {
            for columns in self.columns() {
                dispatch(
                    self.cpu.level,
                    restore::RestoreBand { restoring, q, chosen, finish, columns, band },
                );
            }
        });
        out
    }

    fn columns(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let width = self.layout.width;
        (0..width).step_by(COLUMNS).map(move |x| x..(x + COLUMNS).min(width))
    }
}
