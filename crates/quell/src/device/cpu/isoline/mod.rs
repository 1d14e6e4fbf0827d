//! Isoline filters on the processor: whole planes stage by stage, bands of rows on every thread.

mod blur;
mod deviation;
mod follow;
mod likelihood;
mod lines;
mod maps;
mod pool;
mod restore;
mod segments;
mod sequence;
mod star;

pub(super) use sequence::IsolineSequence;

use std::sync::Arc;

use super::frames::{Layout, Padded, Pool, ROWS, columns, each_band};
use super::simd::dispatch;
use super::{Cpu, Level};
use crate::device::Samples;
use crate::isoline::{Map, Plan, Restoring, Variant};
use crate::{Control, Error, Plane, PlaneView, Result};
use restore::Finish;

/// Planes in work at once for each channel, at most.
const PLANES: usize = 10;

/// What pictures in work share.
#[derive(Clone)]
struct Engine {
    level: Level,
    memory: Arc<Pool>,
}

impl Engine {
    fn new(cpu: &Cpu) -> Self {
        Self { level: cpu.level, memory: cpu.isoline.clone() }
    }

    /// Planes that a frame and its filtering may need in addition to those that wait for the next one.
    fn fresh(&self, plan: &Plan) -> usize {
        (PLANES * plan.channels()).saturating_sub(self.memory.waiting())
    }

    /// The samples of a picture as the plan's filter wants them.
    fn read(&self, plan: &Plan, planes: &[Samples<'_>]) -> Vec<Padded> {
        let layout = Layout::new(plan.width, plan.height, margin(plan));
        planes.iter().map(|p| Padded::copy(*p, layout, offset(plan), &self.memory)).collect()
    }

    /// Runs the plan on the planes of a picture, each pixel of which is the average of so many frames.
    fn run(
        &self,
        plan: &Plan,
        z: &[Padded],
        count: Option<&Padded>,
        control: &Control,
    ) -> Result<Vec<Padded>> {
        if plan.variant.is_blind() {
            let mut found = lines::filter(self, plan, z, control)?;
            found.truncate(z.len());
            return Ok(found);
        }
        let run = Run { engine: self, plan, count, control, layout: z[0].layout };
        match plan.variant {
            Variant::Pooled => run.pooled(z),
            Variant::Line => run.line(z, 3),
            _ => run.two_round(z),
        }
    }
}

/// What the filter knows about a picture.
pub(super) fn map(cpu: &Cpu, plan: &Plan, planes: &[PlaneView<'_>], map: Map) -> Result<Plane> {
    let fits = |p: &PlaneView<'_>| (p.width(), p.height()) == (plan.width, plan.height);
    if planes.len() != plan.channels() || !planes.iter().all(fits) {
        return Err(Error::Shape("planes do not fit the plan".into()));
    }
    check(plan)?;
    let copies: Vec<Plane> = planes.iter().map(|p| p.to_plane()).collect();
    let samples: Vec<Samples<'_>> = copies.iter().map(|p| Samples::F32(p.as_slice())).collect();
    let engine = Engine::new(cpu);
    let z = engine.read(plan, &samples);
    if plan.variant.is_blind() || map == Map::Edges {
        return lines::map(&engine, plan, &z, map);
    }
    maps::map(
        &Run { engine: &engine, plan, count: None, control: &Control::new(), layout: z[0].layout },
        &z,
        map,
    )
}

fn check(plan: &Plan) -> Result<()> {
    if !(1..=4).contains(&plan.channels()) {
        return Err(Error::Shape(format!("{} planes: 1 to 4 can be filtered together", plan.channels())));
    }
    Ok(())
}

/// What is taken from every sample: sums of smaller ones stay exact.
fn offset(plan: &Plan) -> f32 {
    if plan.variant.is_blind() { (0.5 * plan.white).ceil() } else { 0.0 }
}

/// Columns and rows around the picture that kernels read.
fn margin(plan: &Plan) -> usize {
    if plan.variant.is_blind() {
        return plan.patterns.length() + plan.thickness / 2;
    }
    let pool = (plan.patterns.length() * plan.segments + plan.thickness / 2).max(2);
    if plan.averages() { pool.max(plan.averaging.reach()) } else { pool }
}

/// One picture on its way.
struct Run<'a> {
    engine: &'a Engine,
    plan: &'a Plan,
    /// The number of frames that each pixel is the average of, if more than one.
    count: Option<&'a Padded>,
    control: &'a Control,
    layout: Layout,
}

impl Run<'_> {
    fn planes(&self, count: usize) -> Vec<Padded> {
        (0..count).map(|_| Padded::new(self.layout, &self.engine.memory)).collect()
    }

    fn step(&self, done: u64, total: u64) -> Result<()> {
        self.control.report(done, total, "isolines");
        self.control.check()
    }

    fn pooled(&self, z: &[Padded]) -> Result<Vec<Padded>> {
        let level = self.blur(&z[..1], self.plan.pool.blur.taps);
        let pooled = self.pool(z, &self.plan.pool, &level[0], None);
        self.step(1, 1)?;
        Ok(pooled)
    }

    /// The first of `steps`, or the only two.
    fn line(&self, z: &[Padded], steps: u64) -> Result<Vec<Padded>> {
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

    fn two_round(&self, z: &[Padded]) -> Result<Vec<Padded>> {
        let steps = 6;
        let first = self.line(z, steps)?;
        let [pilot, smooth, q] = self.pilot(z, &first);
        self.step(4, steps)?;
        let r = self.combine(z, &smooth, |z, s| z - s);
        let chosen = self.choose(&self.plan.pilot_restore, &q, &r);
        self.step(5, steps)?;
        let finish = Finish::Second { r: &r, smooth: &smooth, pilot: &pilot, share: self.plan.share };
        let result = self.restore(&self.plan.pilot_restore, &q, &chosen, finish);
        self.step(6, steps)?;
        Ok(result)
    }

    /// What guides the second round: the pilot, the same blurred, and their difference.
    fn pilot(&self, z: &[Padded], first: &[Padded]) -> [Vec<Padded>; 3] {
        let second = self.pool(z, &self.plan.pilot_pool, &first[0], Some(&first[0]));
        let pilot = self.combine(first, &second, |a, b| a + self.plan.mix * (b - a));
        let smooth = self.blur(&pilot, self.plan.pilot_pool.blur.taps);
        let q = self.combine(&pilot, &smooth, |p, s| p - s);
        [pilot, smooth, q]
    }

    fn combine(&self, a: &[Padded], b: &[Padded], f: impl Fn(f32, f32) -> f32 + Sync) -> Vec<Padded> {
        let mut out = self.planes(a.len());
        for (to, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
            to.combine(a, b, &f);
        }
        out
    }

    fn blur(&self, from: &[Padded], taps: [f32; 5]) -> Vec<Padded> {
        let mut out = self.planes(from.len());
        for (to, from) in out.chunks_exact_mut(1).zip(from) {
            each_band(to, ROWS, |band| dispatch(self.engine.level, blur::BlurBand { taps, from, band }));
        }
        out
    }

    fn pool(
        &self,
        z: &[Padded],
        pooling: &crate::isoline::Pooling,
        level: &Padded,
        guide: Option<&Padded>,
    ) -> Vec<Padded> {
        let out = self.planes(z.len());
        self.pool_along(0..self.plan.patterns.directions(), z, pooling, level, guide, out)
    }

    /// The same along some directions; `out` may have a plane for the number of pixels, too.
    fn pool_along(
        &self,
        directions: impl Iterator<Item = usize>,
        z: &[Padded],
        pooling: &crate::isoline::Pooling,
        level: &Padded,
        guide: Option<&Padded>,
        mut out: Vec<Padded>,
    ) -> Vec<Padded> {
        let chains = &pool::Chains::new(self.plan, self.layout, directions);
        let count = self.count;
        each_band(&mut out, ROWS / 2, |band| {
            dispatch(self.engine.level, pool::PoolBand { chains, pooling, z, count, level, guide, band });
        });
        out
    }

    fn choose(&self, restoring: &Restoring, q: &[Padded], other: &[Padded]) -> Vec<Padded> {
        self.choose_into(restoring, q, other, self.planes(2 * q.len() + other.len()))
    }

    /// The same; `out` may have a plane for directions, too.
    fn choose_into(
        &self,
        restoring: &Restoring,
        q: &[Padded],
        other: &[Padded],
        mut out: Vec<Padded>,
    ) -> Vec<Padded> {
        let lines = &restore::Lines::new(self.plan, self.layout);
        each_band(&mut out, ROWS, |band| {
            for columns in columns(self.layout.width) {
                let job = restore::ChooseBand { lines, restoring, q, other, columns, band };
                dispatch(self.engine.level, job);
            }
        });
        out
    }

    fn restore(
        &self,
        restoring: &Restoring,
        q: &[Padded],
        chosen: &[Padded],
        finish: Finish<'_>,
    ) -> Vec<Padded> {
        let count = self.count;
        let mut out = self.planes(q.len());
        each_band(&mut out, ROWS, |band| {
            for columns in columns(self.layout.width) {
                dispatch(
                    self.engine.level,
                    restore::RestoreBand { restoring, q, chosen, count, finish, columns, band },
                );
            }
        });
        out
    }
}
