//! BM3D on a GPU: the stages and the memory between them, once for every runtime.

mod color;
#[cfg(all(test, feature = "cuda"))]
mod compile_tests;
#[cfg(all(test, any(feature = "emulator", feature = "opencl")))]
pub(crate) mod conformance;
#[cfg(all(test, any(feature = "emulator", feature = "opencl")))]
pub(crate) mod counted_tests;
pub(super) mod counts;
pub(crate) mod geometry;
pub(super) mod kernels;
mod lent;
pub(super) mod pass;
pub(crate) mod program;
mod samples;
#[cfg(all(test, any(feature = "emulator", feature = "opencl")))]
pub(crate) mod sizes_tests;
pub(super) mod slot;
pub(crate) mod source;
mod tensor;
#[cfg(all(test, feature = "emulator"))]
mod tensor_tests;

use std::sync::Arc;

use crate::bm3d::{Match, PassPlan, Plan};
use crate::device::{LEAST_TILE, Samples};
use crate::{ColorMode, Control, Error, Plane, PlaneView, Result};

use super::clock::{Clock, Times, measure};
use super::recent::Recent;
use super::sizes::{PictureRun, Sizes};
use super::{Gpu, GpuError, GpuResult, Limits, Runtime, Stop, ridge};
use crate::ridge::Plan as Rounds;
use geometry::{Grid, Region, Tile, tiles};
use kernels::{Kernels, Kind};
pub(super) use pass::Front;
use pass::{Band, Results, Steps, TileRun};
pub(crate) use program::Format;
pub(super) use slot::SLOTS;
use slot::Slots;
use source::{Sink, Source, planes_sink, planes_source};
pub(super) use tensor::TensorFilter;

/// Pixels of a tile, at most: offsets inside a plane are 32-bit, and nothing gets faster beyond this.
const TILE_PIXELS: usize = 64 << 20;

/// What is kept from picture to picture.
pub(super) struct Kept<R: Runtime> {
    recent: Recent<KernelsKey, Kernels<R>>,
    /// Of context ridge, whose pilot this is.
    pub(super) rounds: Recent<ridge::KernelsKey, ridge::Kernels<R>>,
    pub(super) slots: Arc<Slots<R>>,
}

impl<R: Runtime> Default for Kept<R> {
    fn default() -> Self {
        Self { recent: Recent::default(), rounds: Recent::default(), slots: Arc::default() }
    }
}

/// What the kernels of a plan depend on.
#[derive(PartialEq)]
struct KernelsKey {
    passes: Vec<PassPlan>,
    formats: (Format, Format),
    halves: bool,
    color: Option<ColorMode>,
    counted: bool,
    averaged: bool,
}

impl<R: Runtime> Gpu<R> {
    /// The kernels of a plan, built if they are new.
    pub(super) fn kernels(&self, plan: &Plan, kind: &Kind) -> GpuResult<Arc<Kernels<R>>> {
        let halves = kind.halves && kind.frames.is_none_or(|frames| tensor::strong(plan, frames));
        let kind = Kind { halves, ..*kind };
        let Kind { formats, color, averaged, .. } = kind;
        let (passes, counted) = (plan.passes.clone(), kind.frames.is_some());
        let key = KernelsKey { passes, formats, halves, color, counted, averaged };
        self.bm3d.recent.get(key, || Kernels::new(&*self.runtime, &self.library, plan, &kind))
    }

    /// Gives memory that nobody uses back to the device.
    pub(super) fn shrink(&self) {
        self.bm3d.slots.shrink();
        self.nlm.clear();
        self.isoline.clear();
        self.clips.clear();
    }

    /// Runs a plan on the channels of a picture.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        from: &Source<'_>,
        to: &mut Sink<'_>,
        front: Front,
        control: &Control,
    ) -> Result<()> {
        check(plan, front)?;
        self.in_tiles(plan, usize::MAX, control, |tiles| {
            self.run_tiles(plan, tiles, from, to, front, control)
        })
    }

    /// Does `work` on tiles of at most `most` x `most` pixels, and on smaller ones while memory is short.
    fn in_tiles(
        &self,
        plan: &Plan,
        most: usize,
        control: &Control,
        mut work: impl FnMut(&[Tile]) -> Result<(), Stop>,
    ) -> Result<()> {
        let side = if self.tile > 0 { self.tile } else { tile_side(plan, self.runtime.limits()) };
        let mut side = side.min(most);
        loop {
            control.check()?;
            match work(&tiles(plan, side)) {
                Ok(()) => return Ok(()),
                Err(Stop::Error(e)) => return Err(e),
                Err(Stop::Gpu(GpuError::OutOfMemory { .. }))
                    if side.min(plan.width.max(plan.height)) > LEAST_TILE =>
                {
                    self.shrink();
                    side = side.min(plan.width.max(plan.height)) / 2;
                }
                Err(Stop::Gpu(e)) => return Err(self.error(e)),
            }
        }
    }

    fn run_tiles(
        &self,
        plan: &Plan,
        tiles: &[Tile],
        from: &Source<'_>,
        to: &mut Sink<'_>,
        front: Front,
        control: &Control,
    ) -> Result<(), Stop> {
        let kernels = self.kernels(plan, &from.kind(to.format, front))?;
        let total = tiles.iter().map(|t| pass::launches(plan, &t.region, self.runtime.limits())).sum();
        let mut steps = Steps { control, done: 0, total };
        let mut slot = self.bm3d.slots.take(&*self.runtime)?;
        for tile in tiles {
            let mut run = TileRun::new(&*self.runtime, &kernels, plan, &tile.region, slot.whole(), front);
            let done = run_tile(&mut run, tile, from, to, &mut steps);
            if let Err(stop) = done {
                // Whatever is still queued reads memory of the slot.
                slot.discard();
                return Err(stop);
            }
        }
        Ok(())
    }

    /// The second pass alone, with a basic estimate that the caller brings, of averages if there are `counts`: for checks
    /// of one pass.
    pub(crate) fn second_pass(
        &self,
        plan: &Plan,
        noisy: &[PlaneView<'_>],
        basic: &[PlaneView<'_>],
        counts: Option<&Samples<'_>>,
    ) -> Result<Vec<Plane>> {
        check(plan, Front::CHANNELS)?;
        let mut out: Vec<Plane> = noisy.iter().map(|p| Plane::zeros(p.width(), p.height())).collect();
        let region = whole(plan);
        let mut work = || -> Result<(), Stop> {
            let from = planes_source(noisy).with_counts(counts);
            let kernels = self.kernels(plan, &from.kind(Format::F32, Front::CHANNELS))?;
            let mut slot = self.bm3d.slots.take(&*self.runtime)?;
            let mut run =
                TileRun::new(&*self.runtime, &kernels, plan, &region, slot.whole(), Front::CHANNELS);
            run.allocate(4)?;
            let control = Control::new();
            let mut steps = Steps { control: &control, done: 0, total: 1 };
            stage(&mut run, &region, &from)?;
            run.ingest(Format::F32, &mut Clock::off())?;
            self.runtime.finish(run.place.queue)?;
            stage(&mut run, &region, &planes_source(basic).with_counts(counts))?;
            run.ingest_basic()?;
            run.passes(1, Results::Samples, &mut Clock::off(), &mut steps)?;
            run.download(Format::F32, &mut Clock::off())?;
            self.runtime.finish(run.place.queue)?;
            unstage(&mut run, &region, &region, &mut planes_sink(&mut out))?;
            Ok(())
        };
        work().map_err(|e| self.stopped(e))?;
        Ok(out)
    }

    /// The groups of one pass over `guide`: for every reference patch by rows and columns of the grid.
    pub(crate) fn read_groups(
        &self,
        plan: &Plan,
        index: usize,
        guide: &PlaneView<'_>,
    ) -> Result<Vec<Vec<Match>>> {
        check(plan, Front::CHANNELS)?;
        // Only the first channel is matched on.
        let mut plan = plan.clone();
        plan.passes = vec![plan.passes[index].clone()];
        plan.passes[0].sigma.truncate(1);
        let region = whole(&plan);
        let (pass, grid) = (&plan.passes[0], Grid::new(&plan.passes[0], &plan, &region));
        let lists = || -> GpuResult<Vec<u16>> {
            let kernels = self.kernels(&plan, &Kind::FLOATS)?;
            let mut slot = self.bm3d.slots.take(&*self.runtime)?;
            let mut run =
                TileRun::new(&*self.runtime, &kernels, &plan, &region, slot.whole(), Front::CHANNELS);
            run.allocate(4)?;
            stage(&mut run, &region, &planes_source(std::slice::from_ref(guide)))?;
            run.ingest(Format::F32, &mut Clock::off())?;
            run.norms(0)?;
            let mut lists = Vec::new();
            let rows = pass::band_rows(pass, &grid, self.runtime.limits());
            for first in (0..grid.rows).step_by(rows) {
                let band = Band { grid, first, rows: rows.min(grid.rows - first) };
                run.matches(0, &band)?;
                let bytes = 2 * pass.group * grid.columns * band.rows;
                let mut staging = self.runtime.staging(bytes)?;
                let matches = run.place.buffers.matches.get(bytes, |n| self.runtime.alloc(n))?;
                self.runtime.read(run.place.queue, &mut staging, matches, bytes)?;
                self.runtime.finish(run.place.queue)?;
                lists.extend(staging[..bytes].chunks_exact(2).map(|b| u16::from_ne_bytes([b[0], b[1]])));
            }
            Ok(lists)
        };
        let lists = lists().map_err(|e| self.error(e))?;
        let guide = crate::bm3d::reference::Guide::new(pass.search(), guide);
        let (side, r) = (2 * pass.radius + 1, pass.radius as i32);
        let position = |i: usize| {
            ((i % grid.columns * pass.step).min(grid.last_x), (i / grid.columns * pass.step).min(grid.last_y))
        };
        let groups = lists.chunks_exact(pass.group).enumerate().map(|(i, list)| {
            let (x, y) = position(i);
            let members = list.iter().take_while(|&&n| n != u16::MAX).count();
            // Some kernels leave the cut to the filter.
            list[..1 << members.max(1).ilog2()]
                .iter()
                .map(|&n| {
                    let (dy, dx) = (i32::from(n) / side as i32 - r, i32::from(n) % side as i32 - r);
                    let there = (x.wrapping_add_signed(dx as isize), y.wrapping_add_signed(dy as isize));
                    let inside = there.0 + pass.patch <= plan.width && there.1 + pass.patch <= plan.height;
                    // A wrong list is to be seen, not to stop the check.
                    let ssd = if inside { guide.ssd((x, y), there) } else { u32::MAX };
                    Match { ssd, dy, dx }
                })
                .collect()
        });
        Ok(groups.collect())
    }

    /// Runs a plan `repeat` times on a picture that is in device memory, and measures it.
    pub(crate) fn timed(
        &self,
        sizes: &Sizes,
        from: &Source<'_>,
        front: Front,
        repeat: usize,
    ) -> Result<Times> {
        let work = || -> Result<Times, Stop> {
            let (runtime, format) = (&*self.runtime, from.format);
            let kernels = &self.sizes_kernels(sizes, &from.kind(format, front))?;
            let mut slot = self.bm3d.slots.take(runtime)?;
            let mut run = PictureRun { runtime, kernels, sizes, slot: &mut slot, queue: None, front };
            run.allocate(format, format)?;
            let control = Control::new();
            let mut times = measure(repeat, |grain| {
                run.stage(from)?;
                let mut steps = Steps { control: &control, done: 0, total: 1 };
                let mut clock = Clock::start(runtime, &run.slot.queue, grain)?;
                run.start(format, format, &mut clock, &mut steps)?;
                runtime.finish(&run.slot.queue)?;
                Ok::<_, Stop>(clock.read(runtime)?)
            })?;
            times.device_bytes = slot.bytes();
            Ok(times)
        };
        work().map_err(|e| self.stopped(e))
    }
}

pub(super) fn whole(plan: &Plan) -> Region {
    Region { x: 0..plan.width, y: 0..plan.height }
}

/// What is not offered here.
pub(super) fn check(plan: &Plan, front: Front) -> Result<()> {
    if front.color.is_some() && plan.channels() != 3 {
        return Err(Error::Shape(format!("colours have 3 channels, the plan has {}", plan.channels())));
    }
    if plan.passes.iter().any(|p| p.prefilter > 0.0) {
        return Err(Error::Unsupported(
            "hard.lambda2d: thresholding before matching is not offered on GPUs, use device cpu".into(),
        ));
    }
    Ok(())
}

/// The side of tiles that the memory allows, for every slot.
pub(super) fn tile_side(plan: &Plan, limits: &Limits) -> usize {
    let region = tile_pixels(plan, None, limits).isqrt();
    region.saturating_sub(2 * plan.halo() + geometry::MARGIN).max(LEAST_TILE)
}

/// Pixels that the memory allows, for every slot; with the rounds that this is the pilot of.
pub(super) fn tile_pixels(plan: &Plan, rounds: Option<&Rounds>, limits: &Limits) -> usize {
    let channels = plan.channels();
    // Samples, planes of both passes, sums and weights; the matching plane and its norms.
    let pixel = channels * (4 + 2 * 4 + 2 * 4) + 5;
    let more = rounds.map_or(0, |rounds| {
        let lists = ridge::list_bytes(rounds).div_ceil(rounds.width * rounds.height);
        ridge::pixel_bytes(channels) + lists
    });
    let room = (limits.memory_bytes as usize / 2 / SLOTS).saturating_sub(128 << 20).max(32 << 20);
    (room / (pixel + more)).min(TILE_PIXELS)
}

fn run_tile<R: Runtime>(
    run: &mut TileRun<'_, R>,
    tile: &Tile,
    from: &Source<'_>,
    to: &mut Sink<'_>,
    steps: &mut Steps<'_>,
) -> Result<(), Stop> {
    run.allocate(from.format.bytes().max(to.format.bytes()))?;
    stage(run, &tile.region, from)?;
    let mut clock = Clock::off();
    run.ingest(from.format, &mut clock)?;
    run.passes(0, Results::Samples, &mut clock, steps)?;
    run.download(to.format, &mut clock)?;
    run.runtime.finish(run.place.queue)?;
    unstage(run, &tile.region, &tile.core, to)?;
    Ok(())
}

/// Copies the samples of a region to the staging memory.
pub(super) fn stage<R: Runtime>(
    run: &mut TileRun<'_, R>,
    region: &Region,
    from: &Source<'_>,
) -> GpuResult<()> {
    let (bytes, channels) = (run.sent(from.format), run.plan.channels());
    let row = region.width() * from.format.bytes();
    let counts = run.counts();
    let staging = run.place.staging.get(bytes, |n| run.runtime.staging(n))?;
    let rows = (0..channels).flat_map(|c| region.y.clone().map(move |y| (c, y)));
    for ((c, y), to) in rows.zip(staging.chunks_exact_mut(row)) {
        (from.row)(c, y, region.x.clone(), to);
    }
    if let (Some(counts), Some(from)) = (counts, &from.counted) {
        let to = staging[counts.at()..].chunks_exact_mut(4 * region.width());
        region.y.clone().zip(to).for_each(|(y, to)| from.copy(y * run.plan.width + region.x.start, to));
    }
    Ok(())
}

/// Hands the samples of `core` out of the staging memory, which holds those of `region`.
pub(super) fn unstage<R: Runtime>(
    run: &mut TileRun<'_, R>,
    region: &Region,
    core: &Region,
    to: &mut Sink<'_>,
) -> GpuResult<()> {
    let bytes = to.format.bytes();
    let row = region.width() * bytes;
    let staging =
        run.place.staging.get(row * region.height() * run.plan.channels(), |n| run.runtime.staging(n))?;
    let first = (core.x.start - region.x.start) * bytes;
    for c in 0..run.plan.channels() {
        for y in core.y.clone() {
            let at = (c * region.height() + y - region.y.start) * row + first;
            (to.row)(c, y, core.x.clone(), &staging[at..at + core.width() * bytes]);
        }
    }
    Ok(())
}
