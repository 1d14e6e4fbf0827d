//! The passes over one tile, in the order in which the device gets them: for each norms, match, filter and finish. What
//! stands before and behind them is in `samples.rs`.

use super::counts::Counts;
use super::geometry::{Geometry, Grid, MARGIN, Region};
use super::kernels::{Filter, Kernels, Matching};
use super::lent::Lent;
use super::program::{self, FilterShape, Format};
use super::slot::{Buffers, Place};
use crate::bm3d::{PassPlan, Plan, Shrink};
use crate::device::gpu::clock::Clock;
use crate::device::gpu::growing::Growing;
use crate::device::gpu::{Arg, GpuError, GpuResult, Limits, Runtime, Shape, Stop};
use crate::method::group::{MatchingPlane, Search};
use crate::{ColorMode, Control};

/// Bytes of the matches of one band of references, at most.
const MATCH_BYTES: usize = 128 << 20;
/// Products of samples that one launch does per compute unit, at most: some milliseconds on a small GPU.
const LAUNCH_PRODUCTS: usize = 1_000_000_000;
/// Work-groups per compute unit that match what the tensor kernel handed over.
const LIST_GROUPS: usize = 16;
/// References that the filter of any groups does at a time, and the scratch memory of all of them, at most.
const SCRATCH_GROUPS: usize = 512;
const SCRATCH_BYTES: usize = 128 << 20;

/// Counts launches over all tiles and passes, and stops when the user wants.
pub(crate) struct Steps<'a> {
    pub(crate) control: &'a Control,
    pub(crate) done: u64,
    pub(crate) total: u64,
}

impl Steps<'_> {
    pub(crate) fn step(&mut self, stage: &'static str) {
        self.done += 1;
        self.control.report(self.done.min(self.total), self.total, stage);
    }
}

/// How the samples of a picture become channels on the 0..255 scale, and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    /// Times samples that come in; samples that go out are divided by it.
    pub(crate) factor: f32,
    /// The largest integer sample that goes out.
    pub(crate) white: f32,
    /// The samples are red, green and blue, and the channels are those of this space.
    pub(crate) color: Option<ColorMode>,
}

impl Front {
    /// For planes that are channels already.
    pub(crate) const CHANNELS: Self = Self { factor: 1.0, white: 255.0, color: None };
}

/// Rows of samples that the slot holds of every channel, and the first one of the region's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) rows: usize,
    pub(crate) first: usize,
}

/// What comes of the last pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Results {
    /// Samples, as the front has them, in the place of those that came: nothing is written in between.
    Samples,
    /// Channels in the place of the sums.
    Channels,
}

/// One tile on its way through the device.
pub(crate) struct TileRun<'a, R: Runtime> {
    pub(crate) runtime: &'a R,
    pub(crate) kernels: &'a Kernels<R>,
    pub(crate) plan: &'a Plan,
    pub(crate) region: &'a Region,
    pub(crate) place: Place<'a, R>,
    pub(crate) geometry: Geometry,
    pub(crate) front: Front,
    pub(crate) held: Held,
    /// Samples come from and go to memory of the caller instead of the slot's.
    pub(crate) lent: Option<&'a Lent<R>>,
}

pub(crate) fn int(v: usize) -> i32 {
    v as i32
}

/// References in bands of rows: how many rows one launch takes.
pub(crate) fn band_rows(pass: &PassPlan, grid: &Grid, limits: &Limits) -> usize {
    let by_time = rows_by_time(&pass.search(), grid, limits);
    let by_memory = MATCH_BYTES / (2 * pass.group * grid.columns);
    // Tensor kernels take rows by fours.
    (by_time.min(by_memory) / 4 * 4).clamp(4, grid.rows.next_multiple_of(4))
}

/// Rows of references that a launch matches in a time that the user, and drivers, do not mind.
pub(crate) fn rows_by_time(search: &Search, grid: &Grid, limits: &Limits) -> usize {
    let side = 2 * search.radius + 1;
    let products = side * side * search.patch * search.patch * grid.columns;
    LAUNCH_PRODUCTS.saturating_mul(limits.units.max(1)) / products
}

/// Launches of match and filter that a tile takes: what progress is counted in.
pub(crate) fn launches(plan: &Plan, region: &Region, limits: &Limits) -> u64 {
    let bands = plan.passes.iter().map(|pass| {
        let grid = Grid::new(pass, plan, region);
        grid.rows.div_ceil(band_rows(pass, &grid, limits)) as u64
    });
    bands.sum::<u64>() * 2
}

impl<'a, R: Runtime> TileRun<'a, R> {
    /// For the samples of `region`, which come and go through the slot.
    pub(crate) fn new(
        runtime: &'a R,
        kernels: &'a Kernels<R>,
        plan: &'a Plan,
        region: &'a Region,
        place: Place<'a, R>,
        front: Front,
    ) -> Self {
        let geometry = Geometry::new(plan, region.width(), region.height());
        let held = Held { rows: region.height(), first: 0 };
        Self { runtime, kernels, plan, region, place, geometry, front, held, lent: None }
    }

    pub(super) fn count(&self) -> usize {
        self.plan.channels()
    }

    /// Samples of a channel that the slot holds.
    pub(super) fn samples(&self) -> usize {
        self.geometry.width * self.held.rows
    }

    /// The first one of the region's.
    pub(super) fn first(&self, channel: usize) -> usize {
        channel * self.samples() + self.held.first * self.geometry.width
    }

    /// Where it says of how many frames pixels are the average, if they are.
    pub(crate) fn counts(&self) -> Option<Counts> {
        let behind = |from| Counts::behind(self.count(), self.samples(), self.geometry.width, from);
        self.kernels.counted.then(|| behind(self.kernels.from))
    }

    /// Bytes of the samples that come, with all that comes with them.
    pub(super) fn sent(&self, format: Format) -> usize {
        self.counts().map_or(self.samples() * self.count() * format.bytes(), |counts| counts.end())
    }

    /// Takes the memory that all stages need, so that running out of it comes before any work.
    pub(crate) fn allocate(&mut self, sample_bytes: usize) -> GpuResult<()> {
        let (elements, channels, samples) = (self.geometry.elements(), self.count(), self.samples());
        let (plane_bytes, passes) = (elements * self.kernels.planes.bytes(), self.plan.passes.len());
        // The sums of an average have one plane more.
        let more = if self.kernels.averaged { 4 * samples } else { 0 };
        let io_bytes = (samples * channels * sample_bytes).max(self.counts().map_or(0, |c| c.end() + more));
        let Place { queue, staging, buffers } = &mut self.place;
        let runtime = self.runtime;
        if self.lent.is_none() && !self.kernels.averaged {
            staging.get(io_bytes, |n| runtime.staging(n))?;
        }
        // New memory is zeroed: tiles may read margins that nothing writes.
        let zeroed = |n: usize| -> GpuResult<R::Buffer> {
            let n = n.next_multiple_of(4);
            let buffer = runtime.alloc(n)?;
            runtime.zero(queue, &buffer, n)?;
            Ok(buffer)
        };
        let Buffers { samples: io, noisy, basic, guide, norms, difficult, sums, weights, .. } =
            &mut **buffers;
        if self.lent.is_none() {
            io.get(io_bytes, zeroed)?;
        }
        let used = [
            (noisy, plane_bytes, true),
            (basic, plane_bytes, passes > 1),
            (sums, 4 * elements, true),
            (weights, 4 * elements, true),
        ];
        for (planes, bytes, used) in used {
            planes.resize_with(planes.len().max(channels), Growing::default);
            if used {
                for plane in &mut planes[..channels] {
                    plane.get(bytes, zeroed)?;
                }
            }
        }
        guide.get(elements, zeroed)?;
        norms.get(4 * elements, zeroed)?;
        // Room for every reference of a band.
        let references = self.plan.passes.iter().map(|pass| {
            let grid = Grid::new(pass, self.plan, self.region);
            grid.columns * band_rows(pass, &grid, runtime.limits())
        });
        difficult.get(4 * (references.max().unwrap_or(0) + 1), zeroed)?;
        Ok(())
    }

    /// Every pass. The estimates of the channels stay on the device, as floats in the place of the sums and less the centre
    /// of the planes: what other stages, sizes and methods go on with.
    pub(crate) fn channels(&mut self, clock: &mut Clock<R>, steps: &mut Steps<'_>) -> Result<(), Stop> {
        self.passes(0, Results::Channels, clock, steps)
    }

    /// Passes `from..`; whatever comes of the last one is on the device when the queue is finished.
    pub(crate) fn passes(
        &mut self,
        from: usize,
        results: Results,
        clock: &mut Clock<R>,
        steps: &mut Steps<'_>,
    ) -> Result<(), Stop> {
        for index in from..self.plan.passes.len() {
            self.norms(index)?;
            clock.lap(self.runtime, self.place.queue, ["norms 1", "norms 2"][index])?;
            self.groups(index, clock, steps)?;
            let last = (index + 1 == self.plan.passes.len()).then_some(results);
            for c in 0..self.count() {
                self.finish(index, c, last)?;
            }
            if last == Some(Results::Samples) && self.front.color.is_some() {
                self.finish_colors()?;
            }
            clock.lap(self.runtime, self.place.queue, ["finish 1", "finish 2"][index])?;
        }
        Ok(())
    }

    /// Norms of the patches on the matching plane; sums and weights of the first channel are zero after it.
    pub(crate) fn norms(&mut self, index: usize) -> GpuResult<()> {
        let g = self.geometry;
        let Place { queue, buffers, .. } = &mut self.place;
        let (guide, norms) = (have(&mut buffers.guide)?, have(&mut buffers.norms)?);
        let (sums, weights) = (have(&mut buffers.sums[0])?, have(&mut buffers.weights[0])?);
        let difficult = have(&mut buffers.difficult)?;
        let (columns, rows, items) = program::NORM_TILE;
        let shape = Shape { grid: [g.pitch / columns, g.rows.div_ceil(rows)], items, local: 0 };
        let args = [
            Arg::Buffer(&*guide),
            Arg::Buffer(norms),
            Arg::Buffer(sums),
            Arg::Buffer(weights),
            Arg::Buffer(difficult),
            Arg::I32(int(g.width)),
            Arg::I32(int(g.height)),
            Arg::I32(int(g.pitch)),
            Arg::I32(int(g.rows)),
        ];
        let kernel = self.kernels.passes[index].norms.kernel("bm3d_norms")?;
        self.runtime.launch(queue, kernel, shape, &args)
    }

    /// Matches and filters every band of references into the sums.
    fn groups(&mut self, index: usize, clock: &mut Clock<R>, steps: &mut Steps<'_>) -> Result<(), Stop> {
        let pass = &self.plan.passes[index];
        let grid = Grid::new(pass, self.plan, self.region);
        let bytes = 4 * self.geometry.elements();
        // The norms kernel has cleared those of the first channel.
        for c in 1..self.count() {
            let Place { queue, buffers, .. } = &mut self.place;
            self.runtime.zero(queue, have(&mut buffers.sums[c])?, bytes)?;
            self.runtime.zero(queue, have(&mut buffers.weights[c])?, bytes)?;
        }
        if self.count() > 1 {
            clock.lap(self.runtime, self.place.queue, ["zero 1", "zero 2"][index])?;
        }
        let name = if index == 0 { "basic estimate" } else { "Wiener filter" };
        let rows = band_rows(pass, &grid, self.runtime.limits());
        for first in (0..grid.rows).step_by(rows) {
            let band = Band { grid, first, rows: rows.min(grid.rows - first) };
            steps.control.check().map_err(Stop::Error)?;
            self.matches(index, &band)?;
            clock.lap(self.runtime, self.place.queue, ["match 1", "match 2"][index])?;
            steps.step(name);
            for c in 0..self.count() {
                self.filter(index, c, &band)?;
            }
            clock.lap(self.runtime, self.place.queue, ["filter 1", "filter 2"][index])?;
            // Long work is waited for band by band: the user sees it go on, and can stop it.
            if rows < grid.rows {
                self.runtime.finish(self.place.queue)?;
            }
            steps.step(name);
        }
        Ok(())
    }

    /// Groups of a band of references.
    pub(crate) fn matches(&mut self, index: usize, band: &Band) -> GpuResult<()> {
        let (g, pass) = (self.geometry, &self.plan.passes[index]);
        let Place { queue, buffers, .. } = &mut self.place;
        let (guide, norms) = (have(&mut buffers.guide)?, have(&mut buffers.norms)?);
        let bytes = 2 * pass.group * band.grid.columns * band.rows;
        let matches = buffers.matches.get(bytes, |n| self.runtime.alloc(n))?;
        let (loaded, shape, list) = match &self.kernels.passes[index].matching {
            Matching::General { loaded, shape } => {
                let n = shape.neighbours;
                let grid = [band.grid.columns.div_ceil(n), band.rows];
                (loaded, Shape { grid, items: 32 * n, local: 0 }, None)
            }
            Matching::Tensor { loaded, kernel, rest } => {
                let references = band.grid.columns * band.rows;
                let difficult = &*have(&mut buffers.difficult)?;
                // The norms kernel has cleared it for the first band.
                if band.first > 0 {
                    self.runtime.zero(queue, difficult, 4)?;
                }
                let args = [
                    Arg::Buffer(&*guide),
                    Arg::Buffer(norms),
                    Arg::Buffer(matches),
                    Arg::Buffer(difficult),
                    Arg::I32(int(band.grid.columns)),
                    Arg::I32(int(band.grid.rows)),
                    Arg::I32(int(band.grid.last_x)),
                    Arg::I32(int(band.grid.last_y)),
                    Arg::I32(int(band.first)),
                    Arg::I32(int(band.first + band.rows)),
                    Arg::I32(int(g.pitch)),
                    Arg::I32(pass.max_ssd as i32),
                ];
                let shape = kernel.shape(band.grid.columns, band.rows);
                self.runtime.launch(queue, loaded.kernel("match_tensor")?, shape, &args)?;
                // How many are left only the device knows: some work-groups share them.
                let groups = (LIST_GROUPS * self.runtime.limits().units).min(references);
                (rest, Shape { grid: [groups, 1], items: 32, local: 0 }, Some(difficult))
            }
        };
        let mut args = vec![Arg::Buffer(&*guide), Arg::Buffer(norms), Arg::Buffer(matches)];
        args.extend(list.map(Arg::Buffer));
        args.extend([
            Arg::I32(int(band.grid.columns)),
            Arg::I32(int(band.grid.last_x)),
            Arg::I32(int(band.grid.last_y)),
            Arg::I32(0),
            Arg::I32(int(band.first)),
            Arg::I32(int(g.width)),
            Arg::I32(int(g.height)),
            Arg::I32(int(g.pitch)),
            Arg::I32(pass.max_ssd as i32),
            Arg::I32(0),
        ]);
        self.runtime.launch(queue, loaded.kernel("bm3d_match")?, shape, &args)
    }

    fn filter(&mut self, index: usize, c: usize, band: &Band) -> GpuResult<()> {
        let (g, pass, counts) = (self.geometry, &self.plan.passes[index], self.counts());
        let Place { queue, buffers, .. } = &mut self.place;
        let noisy = &*have(&mut buffers.noisy[c])?;
        // The first pass has no pilot, and does not look.
        let basic = if index > 0 { &*have(&mut buffers.basic[c])? } else { noisy };
        let (loaded, shape, spectrum) = match &self.kernels.passes[index].filter {
            Filter::General { loaded, shape, spectrum } => (loaded, shape, spectrum),
            Filter::Tensor { loaded, kernel, constants } => {
                let mut args = vec![
                    Arg::Buffer(noisy),
                    Arg::Buffer(basic),
                    Arg::Buffer(have(&mut buffers.matches)?),
                    Arg::Buffer(have(&mut buffers.sums[c])?),
                    Arg::Buffer(have(&mut buffers.weights[c])?),
                    Arg::Buffer(&constants[c]),
                    Arg::I32(int(band.grid.columns)),
                    Arg::I32(int(band.grid.last_x)),
                    Arg::I32(int(band.grid.last_y)),
                    Arg::I32(int(band.first)),
                    Arg::I32(int(band.first + band.rows)),
                    Arg::I32(int(g.pitch)),
                ];
                if let Some(counts) = counts {
                    args.extend(counts.args(&buffers.samples)?);
                }
                let shape = kernel.shape(band.grid.columns, band.rows);
                return self.runtime.launch(queue, loaded.kernel("filter_tensor")?, shape, &args);
            }
        };
        let sigma = pass.sigma[c];
        let strength = match pass.shrink {
            Shrink::Hard { lambda } => (lambda * sigma).powi(2),
            Shrink::Wiener { mu2 } => mu2 * sigma * sigma,
            Shrink::Regress { .. } => sigma * sigma,
        };
        let mut args = vec![
            Arg::Buffer(noisy),
            Arg::Buffer(basic),
            Arg::Buffer(have(&mut buffers.matches)?),
            Arg::Buffer(loaded.tables()?),
            Arg::Buffer(have(&mut buffers.sums[c])?),
            Arg::Buffer(have(&mut buffers.weights[c])?),
            Arg::I32(int(band.grid.columns)),
            Arg::I32(int(band.grid.last_x)),
            Arg::I32(int(band.grid.last_y)),
            Arg::I32(int(band.first)),
            Arg::I32(int(g.pitch)),
            Arg::F32(strength),
        ];
        if let Some(counts) = counts {
            args.extend(counts.args(&buffers.samples)?);
        }
        args.extend(spectrum.as_ref().map(Arg::Buffer));
        let kernel = loaded.kernel("bm3d_filter")?;
        match *shape {
            FilterShape::Group { items } => {
                let shape = Shape { grid: [band.grid.columns, band.rows], items, local: 0 };
                self.runtime.launch(queue, kernel, shape, &args)
            }
            FilterShape::Any { items, scratch } => {
                // As many references at a time as have scratch memory.
                let references = band.grid.columns * band.rows;
                let groups = (SCRATCH_BYTES / (4 * scratch)).clamp(1, SCRATCH_GROUPS).min(references);
                let runtime = self.runtime;
                args.push(Arg::Buffer(buffers.scratch.get(4 * scratch * groups, |n| runtime.alloc(n))?));
                for first in (0..references).step_by(groups) {
                    args.push(Arg::I32(int(first)));
                    let shape = Shape { grid: [groups.min(references - first), 1], items, local: 0 };
                    self.runtime.launch(queue, kernel, shape, &args)?;
                    args.pop();
                }
                Ok(())
            }
        }
    }

    /// The estimate of a channel: the plane of the next pass, or what comes of the last one.
    fn finish(&mut self, index: usize, c: usize, last: Option<Results>) -> GpuResult<()> {
        let front = self.front;
        let (g, centre) = (self.geometry, self.kernels.planes.centre());
        let own = (int(self.first(c)), int(self.geometry.width));
        let loaded = &self.kernels.passes[index].finish;
        let Place { queue, buffers, .. } = &mut self.place;
        let (sums, weights) = (have(&mut buffers.sums[c])?, have(&mut buffers.weights[c])?);
        let shape = Shape { grid: [g.width.div_ceil(64), g.height.div_ceil(16)], items: 256, local: 0 };
        let (w, h, pitch) = (int(g.width), int(g.height), int(g.pitch));
        if last == Some(Results::Channels) || last.is_some() && front.color.is_some() {
            let args = [Arg::Buffer(&*sums), Arg::Buffer(weights), Arg::I32(w), Arg::I32(h), Arg::I32(pitch)];
            self.runtime.launch(queue, loaded.kernel("bm3d_finish_estimate")?, shape, &args)
        } else if last.is_some() {
            let (samples, (first, stride), [left, top, right, bottom]) = match self.lent {
                Some(lent) => (&lent.to[c].buffer, (0, lent.to[c].stride), lent.core),
                None => (&*have(&mut buffers.samples)?, own, [0, 0, w, h]),
            };
            let args = [
                Arg::Buffer(&*sums),
                Arg::Buffer(weights),
                Arg::Buffer(samples),
                Arg::I32(first),
                Arg::I32(stride),
                Arg::I32(left),
                Arg::I32(top),
                Arg::I32(right),
                Arg::I32(bottom),
                Arg::I32(pitch),
                Arg::F32(centre),
                Arg::F32(1.0 / front.factor),
                Arg::F32(front.white),
            ];
            self.runtime.launch(queue, loaded.kernel("bm3d_finish_samples")?, shape, &args)
        } else if c == 0 {
            let (step, bias) = quantiser(&self.plan.passes[index + 1].matching);
            let args = [
                Arg::Buffer(&*sums),
                Arg::Buffer(weights),
                Arg::Buffer(have(&mut buffers.basic[c])?),
                Arg::Buffer(have(&mut buffers.guide)?),
                Arg::I32(w),
                Arg::I32(h),
                Arg::I32(pitch),
                Arg::F32(centre),
                Arg::F32(step),
                Arg::F32(bias),
            ];
            self.runtime.launch(queue, loaded.kernel("bm3d_finish_guide")?, shape, &args)
        } else {
            let args = [
                Arg::Buffer(&*sums),
                Arg::Buffer(weights),
                Arg::Buffer(have(&mut buffers.basic[c])?),
                Arg::I32(w),
                Arg::I32(h),
                Arg::I32(pitch),
            ];
            self.runtime.launch(queue, loaded.kernel("bm3d_finish_plane")?, shape, &args)
        }
    }
}

/// Some rows of references.
pub(crate) struct Band {
    pub(crate) grid: Grid,
    pub(crate) first: usize,
    pub(crate) rows: usize,
}

/// Step and bias of a matching plane, as `MatchingPlane::quantise` has them.
pub(crate) fn quantiser(plane: &MatchingPlane) -> (f32, f32) {
    let step = 1.0 / plane.scale;
    (step, plane.offset + 0.5 * step)
}

/// A buffer that [`TileRun::allocate`] has made.
pub(crate) fn have<B>(buffer: &mut Growing<B>) -> GpuResult<&mut B> {
    buffer.get(0, |_| Err(GpuError::Driver { call: "buffer", reason: "used before it was made".into() }))
}

const _: () = assert!(MARGIN.is_multiple_of(16));
