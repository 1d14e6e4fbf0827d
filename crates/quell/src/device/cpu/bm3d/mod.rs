//! BM3D on the processor: units of reference patches go through match, filter and aggregate on every thread.

mod filter8;
mod general;
mod group8;
mod half;
mod patch8;
mod regress;
mod variance;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::group::aggregate::{Sums, strips};
use super::group::matching::{self, Groups, MatchUnit, Window};
use super::group::unit::{Rect, Source, Unit, touching, units};
use super::pool::Pool;
use super::schedule::{self, in_order};
use super::simd::dispatch;
use super::{Channels, Cpu, Level};
use crate::bm3d::{Match, PassPlan, Plan, Shrink};
use crate::memory::check_planes;
use crate::method::Part;
use crate::{Control, Plane, PlaneView, Result};

/// Buffers that outlive a picture, so that a denoiser's next one finds its memory in place.
#[derive(Default)]
pub(super) struct Pools {
    scratch: Pool<Scratch>,
    sums: Pool<Sums>,
}

/// Buffers of one thread.
#[derive(Default)]
struct Scratch {
    matching: matching::Scratch,
    groups: Groups,
    filter: filter8::Scratch,
    general: general::Scratch,
    regress: regress::Scratch,
}

/// What is filtered, and of averages how many frames they are made of.
#[derive(Clone, Copy)]
struct Noisy<'a> {
    channels: &'a [Source<'a>],
    counts: Option<Source<'a>>,
}

/// Runs the plan on the channels of a picture, tile by tile; or on a part of it, with what is given around that, in the
/// same order.
pub(super) fn run(
    cpu: &Cpu,
    plan: &Plan,
    part: Option<&Part>,
    channels: Channels<'_>,
    control: &Control,
) -> Result<Vec<Plane>> {
    let (w, h) = (plan.width, plan.height);
    channels.check(plan.channels(), (w, h))?;
    // Units, and with them the order of every addition, are those of the whole picture.
    let (given, wanted, size) = part.map_or_else(
        || (Rect { x: 0..w, y: 0..h }, Rect { x: 0..w, y: 0..h }, (w, h)),
        |Part { rows, columns }| {
            let rect = |x: &Range<usize>, y: &Range<usize>| Rect { x: x.clone(), y: y.clone() };
            (rect(&columns.read, &rows.read), rect(&columns.write, &rows.write), (columns.whole, rows.whole))
        },
    );
    let tiles = tiles(cpu.tile, &wanted);
    let all: Vec<Vec<Unit>> = plan.passes.iter().map(|p| units(&p.search(), size.0, size.1)).collect();
    let work: Vec<Vec<Stage<'_>>> = tiles.iter().map(|tile| stages(plan, &all, tile, size)).collect();
    let reached = work.iter().flatten().flat_map(|s| &s.units).all(|u| u.region.common(&given) == u.region);
    if part.is_some() && !reached {
        // Too little around it: a picture of its own.
        return run(cpu, plan, None, channels, control);
    }
    let total = work.iter().flatten().map(|s| s.units.len() as u64).sum();
    let progress = Steps { control, done: 0.into(), total };
    let source = |view| Source::part(view, &given, size);
    let noisy: Vec<Source<'_>> = channels.planes.iter().map(|&view| source(view)).collect();
    let noisy = Noisy { channels: &noisy, counts: channels.counts.map(source) };
    // Every pass leaves its planes to the next one.
    let largest = work.iter().flatten().map(|s| (s.area.width(), s.area.height())).max().unwrap_or((1, 1));
    check_planes(plan.channels() * plan.passes.len(), largest.0, largest.1)?;
    if let ([stages], None) = (work.as_slice(), part) {
        return run_tile(cpu, stages, noisy, &progress);
    }
    check_planes(plan.channels(), w, given.height())?;
    let mut out: Vec<Plane> = channels.planes.iter().map(|_| Plane::zeros(w, given.height())).collect();
    for (tile, stages) in tiles.iter().zip(&work) {
        for (out, part) in out.iter_mut().zip(run_tile(cpu, stages, noisy, &progress)?) {
            for (y, row) in tile.y.clone().zip(part.view().rows()) {
                let first = tile.x.start - given.x.start;
                out.row_mut(y - given.y.start)[first..first + row.len()].copy_from_slice(row);
            }
        }
    }
    Ok(out)
}

/// The tiles of an area, row by row; a side of 0 is one tile.
fn tiles(side: usize, area: &Rect) -> Vec<Rect> {
    let side = if side == 0 { area.width().max(area.height()).max(1) } else { side };
    let cut = |all: &Range<usize>| {
        let end = all.end;
        all.clone().step_by(side).map(move |a| a..(a + side).min(end))
    };
    cut(&area.y).flat_map(|y| cut(&area.x).map(move |x| Rect { x, y: y.clone() })).collect()
}

/// One pass over one tile: the pixels it must deliver, and the units that add to them.
struct Stage<'a> {
    pass: &'a PassPlan,
    area: Rect,
    units: Vec<Unit>,
}

/// What each pass has to do for a tile, found from the last pass backwards: a pass delivers every pixel that
/// the units of the next one read.
fn stages<'a>(plan: &'a Plan, all: &[Vec<Unit>], tile: &Rect, size: (usize, usize)) -> Vec<Stage<'a>> {
    let mut area = tile.clone();
    let mut stages = Vec::new();
    for (pass, units) in plan.passes.iter().zip(all).rev() {
        let units = touching(units, &pass.search(), &area, size);
        let reach = units.iter().map(|u| &u.region).fold(area.clone(), |a, b| a.union(b));
        stages.push(Stage { pass, area: std::mem::replace(&mut area, reach), units });
    }
    stages.reverse();
    stages
}

fn run_tile(cpu: &Cpu, stages: &[Stage<'_>], noisy: Noisy<'_>, progress: &Steps<'_>) -> Result<Vec<Plane>> {
    let mut basic: Option<(Rect, Vec<Plane>)> = None;
    for stage in stages {
        let pilot: Option<Vec<Source<'_>>> = basic.as_ref().map(|(area, planes)| {
            planes.iter().map(|p| Source::part(p.view(), area, noisy.channels[0].size)).collect()
        });
        let planes = run_pass(cpu, stage, noisy, pilot.as_deref(), progress)?;
        basic = Some((stage.area.clone(), planes));
    }
    Ok(basic.map(|(_, planes)| planes).unwrap_or_default())
}

/// Counts units over all passes and tiles.
struct Steps<'a> {
    control: &'a Control,
    done: AtomicU64,
    total: u64,
}

impl Steps<'_> {
    fn step(&self, stage: &'static str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.control.report(done, self.total, stage);
    }
}

fn run_pass(
    cpu: &Cpu,
    stage: &Stage<'_>,
    noisy: Noisy<'_>,
    basic: Option<&[Source<'_>]>,
    progress: &Steps<'_>,
) -> Result<Vec<Plane>> {
    let Stage { pass, area, units } = stage;
    let name = if basic.is_some() { "Wiener filter" } else { "basic estimate" };
    let channels = noisy.channels.len();
    let mut planes: Vec<Plane> = (0..channels).map(|_| Plane::zeros(area.width(), area.height())).collect();
    let parts = strips(area, 2 * channels, &mut planes, units).into_iter().map(|strip| {
        let items = (0..units.len()).filter(|&i| strip.takes(&units[i])).collect();
        schedule::Part::new(strip, items)
    });
    in_order(
        units.len(),
        &parts.collect::<Vec<_>>(),
        || cpu.bm3d.scratch.borrow(),
        |i, scratch| {
            progress.control.check()?;
            let mut out = cpu.bm3d.sums.borrow();
            estimate(cpu.level, pass, &units[i], noisy, basic, scratch, &mut out);
            progress.step(name);
            Ok(out)
        },
        |strip, i, next, sums| strip.add(&units[i], sums, next.map(|i| &units[i]), &divide),
    )?;
    Ok(planes)
}

/// Numerator by denominator, of every channel.
fn divide(_: usize, _: Range<usize>, sums: &[&[f32]], results: &mut [&mut [f32]]) {
    for (result, sums) in results.iter_mut().zip(sums.chunks_exact(2)) {
        result.iter_mut().zip(sums[0].iter().zip(sums[1])).for_each(|(v, (a, b))| *v = a / b);
    }
}

/// Match, filter and aggregate one unit.
fn estimate(
    level: Level,
    pass: &PassPlan,
    unit: &Unit,
    noisy: Noisy<'_>,
    basic: Option<&[Source<'_>]>,
    scratch: &mut Scratch,
    out: &mut Sums,
) {
    let guide = basic.map_or(noisy.channels[0], |b| b[0]);
    let Scratch { matching, groups, filter, general, regress } = scratch;
    dispatch(level, MatchUnit { search: &pass.search(), unit, guide, scratch: matching, groups });
    let counts = noisy.counts;
    out.reset(2 * noisy.channels.len(), unit.region.width() * unit.region.height());
    for ((c, &noisy), sums) in noisy.channels.iter().enumerate().zip(out.0.chunks_exact_mut(2)) {
        let [numerator, denominator] = sums else { unreachable!("chunks of two") };
        let job = filter8::FilterUnit {
            pass,
            unit,
            groups,
            noisy,
            basic: basic.map(|b| b[c]),
            sigma: pass.sigma[c],
            counts,
            scratch: filter,
            numerator,
            denominator,
        };
        if let Shrink::Regress { alpha } = pass.shrink {
            dispatch(level, regress::Regress { job, alpha, scratch: &mut *regress });
        } else if filter8::supports(pass) {
            dispatch(level, job);
        } else {
            dispatch(level, general::FilterAny { job, scratch: &mut *general });
        }
    }
}

/// The groups of a pass, by rows and then columns of the grid, for checks.
pub(super) fn groups(level: Level, pass: &PassPlan, guide: PlaneView<'_>) -> Vec<Vec<Match>> {
    let window = Window { radius: pass.radius };
    let (mut scratch, mut found) = (matching::Scratch::default(), Groups::default());
    let mut all = Vec::new();
    let search = pass.search();
    for unit in &units(&search, guide.width(), guide.height()) {
        let source = Source::whole(guide);
        dispatch(
            level,
            MatchUnit { search: &search, unit, guide: source, scratch: &mut scratch, groups: &mut found },
        );
        let references = unit.ys.iter().flat_map(|&y| unit.xs.iter().map(move |&x| (y, x)));
        all.extend(references.enumerate().map(|(i, at)| {
            let group = found.group(i).iter().map(|&key| {
                let (dy, dx) = window.displacement(key);
                Match { ssd: key >> 16, dy, dx }
            });
            (at, group.collect::<Vec<Match>>())
        }));
    }
    // Units lie side by side: their references are not in the order of the rows.
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, group)| group).collect()
}
