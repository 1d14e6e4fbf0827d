//! The rounds over one size of a picture, in the order in which the device gets them: guide, match, then for every channel
//! residue, group and finish.

use super::kernels::{Kernels, Matching, Regression};
use super::search;
use crate::device::gpu::bm3d::counts::Counts;
use crate::device::gpu::bm3d::geometry::{Geometry, Grid};
use crate::device::gpu::bm3d::pass::{Steps, quantiser, rows_by_time};
use crate::device::gpu::bm3d::program::NORM_TILE;
use crate::device::gpu::bm3d::slot::Place;
use crate::device::gpu::clock::Clock;
use crate::device::gpu::growing::Growing;
use crate::device::gpu::{Arg, GpuError, GpuResult, Limits, Runtime, Shape, Stop, buffer, int};
use crate::ridge::Plan;

/// Work-items of the kernels for planes, and columns and rows of their tiles.
const ITEMS: usize = 256;
const TILE: [usize; 2] = [64, 16];

/// One size of a picture that has its pilot.
pub(crate) struct Rounds<'a, R: Runtime> {
    pub(crate) runtime: &'a R,
    pub(crate) kernels: &'a Kernels<R>,
    pub(crate) plan: &'a Plan,
    pub(crate) geometry: Geometry,
    /// What samples in the planes are less by.
    pub(crate) centre: f32,
    /// Where it says of how many frames pixels are the average, if they are.
    pub(crate) counts: Option<Counts>,
    pub(crate) place: Place<'a, R>,
}

/// The reference patches of a round.
pub(super) fn grid(plan: &Plan, index: usize) -> Grid {
    let search = search(plan, index);
    let axis = |n: usize| (search.grid(n + 2 * plan.margin).len(), n - plan.patch);
    let ((columns, last_x), (rows, last_y)) = (axis(plan.width), axis(plan.height));
    Grid { columns, rows, last_x, last_y }
}

/// Entries of the lists of a round.
pub(super) fn entries(plan: &Plan, index: usize) -> usize {
    let grid = grid(plan, index);
    grid.columns * grid.rows * search(plan, index).group
}

/// Bytes of the longest lists.
pub(crate) fn list_bytes(plan: &Plan) -> usize {
    2 * (0..plan.rounds.len()).map(|index| entries(plan, index)).max().unwrap_or(0)
}

/// Rows of references that one launch takes.
fn band_rows(plan: &Plan, index: usize, limits: &Limits) -> usize {
    let grid = grid(plan, index);
    let rows = rows_by_time(search(plan, index), &grid, limits);
    (rows / 8 * 8).clamp(8, grid.rows.next_multiple_of(8))
}

/// Launches of match and group: what progress is counted in.
pub(crate) fn launches(plan: &Plan, limits: &Limits) -> u64 {
    let bands = |index: usize| grid(plan, index).rows.div_ceil(band_rows(plan, index, limits));
    let of =
        |index: usize| bands(index) * (plan.channels() + usize::from(plan.rounds[index].search.is_some()));
    (0..plan.rounds.len()).map(of).sum::<usize>() as u64
}

impl<R: Runtime> Rounds<'_, R> {
    /// Takes the memory that all rounds need.
    pub(crate) fn allocate(&mut self) -> GpuResult<()> {
        let (runtime, entries) = (self.runtime, list_bytes(self.plan) / 2);
        let Place { queue, buffers, .. } = &mut self.place;
        let (channels, elements) = (self.plan.channels(), self.geometry.elements());
        // Margins are read by some kernels that do not use them.
        buffers.ridge.allocate(channels, elements, entries, self.kernels.ingest.is_some(), |n| {
            let buffer = runtime.alloc(n)?;
            runtime.zero(queue, &buffer, n)?;
            Ok(buffer)
        })
    }

    /// All rounds. What is left then is where the pilot was, in the place of its sums.
    pub(crate) fn run(&mut self, clock: &mut Clock<R>, steps: &mut Steps<'_>) -> Result<(), Stop> {
        for index in 0..self.plan.rounds.len() {
            self.round(index, index + 1 == self.plan.rounds.len(), clock, steps)?;
        }
        Ok(())
    }

    /// A round; of the `last` one, only what is left is wanted.
    pub(super) fn round(
        &mut self,
        index: usize,
        last: bool,
        clock: &mut Clock<R>,
        steps: &mut Steps<'_>,
    ) -> Result<(), Stop> {
        if self.plan.rounds[index].search.is_some() {
            self.groups(index, clock, steps)?;
        }
        for c in 0..self.plan.channels() {
            self.clear(index, c)?;
            self.lap(clock, "clear")?;
            if index > 0 {
                self.residue(c)?;
                self.lap(clock, "residue")?;
            }
            self.bands(index, steps, |run, first, rows| run.regress(index, c, first, rows))?;
            self.lap(clock, "group")?;
            self.finish(index, c, last)?;
            self.lap(clock, "finish")?;
        }
        Ok(())
    }

    /// Finds the groups of a round.
    pub(super) fn groups(
        &mut self,
        index: usize,
        clock: &mut Clock<R>,
        steps: &mut Steps<'_>,
    ) -> Result<(), Stop> {
        self.guide(index)?;
        self.lap(clock, "guide")?;
        self.bands(index, steps, |run, first, rows| run.matches(index, first, rows))?;
        Ok(self.lap(clock, "match")?)
    }

    fn lap(&self, clock: &mut Clock<R>, stage: &'static str) -> GpuResult<()> {
        clock.lap(self.runtime, self.place.queue, stage)
    }

    /// Does `work` on bands of rows of references.
    fn bands(
        &mut self,
        index: usize,
        steps: &mut Steps<'_>,
        work: impl Fn(&Self, usize, usize) -> GpuResult<()>,
    ) -> Result<(), Stop> {
        let all = grid(self.plan, index).rows;
        let rows = band_rows(self.plan, index, self.runtime.limits());
        for first in (0..all).step_by(rows) {
            steps.control.check().map_err(Stop::Error)?;
            work(self, first, rows.min(all - first))?;
            // Long work is waited for band by band: the user sees it go on, and can stop it.
            if rows < all {
                self.runtime.finish(self.place.queue)?;
            }
            steps.step("context ridge");
        }
        Ok(())
    }

    /// The noisy channels as floats.
    fn noisy(&self) -> &[Growing<R::Buffer>] {
        let buffers = &self.place.buffers;
        if self.kernels.ingest.is_some() { &buffers.ridge.noisy } else { &buffers.noisy }
    }

    /// What has noise left before a round.
    fn left(&self, index: usize) -> &[Growing<R::Buffer>] {
        if index == 0 { self.noisy() } else { &self.place.buffers.ridge.z }
    }

    /// The matching plane and the norms of its patches; the sums of the first channel are zero after it.
    fn guide(&self, index: usize) -> GpuResult<()> {
        let (plan, g, buffers) = (self.plan, self.geometry, &self.place.buffers);
        let (step, bias) = quantiser(&search(plan, index).matching);
        let (w, h) = (plan.width + 2 * plan.margin, plan.height + 2 * plan.margin);
        let args = [
            buffer(&buffers.sums[0])?,
            buffer(&self.left(index)[0])?,
            buffer(&buffers.guide)?,
            int(plan.width),
            int(plan.height),
            int(g.pitch),
            Arg::F32(self.centre),
            Arg::F32(plan.rounds[index].blend),
            Arg::F32(step),
            Arg::F32(bias),
        ];
        let shape = Shape { grid: [w.div_ceil(4 * ITEMS), h], items: ITEMS, local: 0 };
        self.runtime.launch(self.place.queue, self.kernels.planes.kernel("ridge_guide")?, shape, &args)?;
        let (columns, rows, items) = NORM_TILE;
        let args = [
            buffer(&buffers.guide)?,
            buffer(&buffers.norms)?,
            buffer(&buffers.ridge.numerators)?,
            buffer(&buffers.ridge.all)?,
            buffer(&buffers.difficult)?,
            int(w),
            int(h),
            int(g.pitch),
            int(g.rows),
        ];
        let shape = Shape { grid: [g.pitch / columns, g.rows.div_ceil(rows)], items, local: 0 };
        self.runtime.launch(self.place.queue, self.kernels.norms.kernel("bm3d_norms")?, shape, &args)
    }

    /// Groups of some rows of references.
    fn matches(&self, index: usize, first: usize, rows: usize) -> GpuResult<()> {
        let (plan, buffers, search) = (self.plan, &self.place.buffers, search(self.plan, index));
        let grid = grid(plan, index);
        let (loaded, shape) = match &self.kernels.matching {
            Matching::General { loaded, shape } => (loaded, shape),
            Matching::Tensor { loaded, kernel } => {
                let args = [
                    buffer(&buffers.guide)?,
                    buffer(&buffers.ridge.lists)?,
                    int(grid.columns),
                    int(grid.last_x),
                    int(grid.last_y),
                    int(search.offset),
                    int(first),
                    int(first + rows),
                    int(self.geometry.pitch),
                    int(plan.size.least),
                    Arg::I32(plan.size.spread as i32),
                ];
                let shape = kernel.shape(grid.columns, rows);
                return self.runtime.launch(
                    self.place.queue,
                    loaded.kernel("ridge_match_tensor")?,
                    shape,
                    &args,
                );
            }
        };
        let args = [
            buffer(&buffers.guide)?,
            buffer(&buffers.norms)?,
            buffer(&buffers.ridge.lists)?,
            int(grid.columns),
            int(grid.last_x),
            int(grid.last_y),
            int(search.offset),
            int(first),
            int(plan.width + 2 * plan.margin),
            int(plan.height + 2 * plan.margin),
            int(self.geometry.pitch),
            Arg::I32(search.max_ssd as i32),
            Arg::I32(plan.size.spread as i32),
        ];
        let n = shape.neighbours;
        let shape = Shape { grid: [grid.columns.div_ceil(n), rows], items: 32 * n, local: 0 };
        self.runtime.launch(self.place.queue, loaded.kernel("bm3d_match")?, shape, &args)
    }

    fn clear(&self, index: usize, c: usize) -> GpuResult<()> {
        let ridge = &self.place.buffers.ridge;
        // The norms have cleared those of the first channel.
        let rest = if c == 0 && self.plan.rounds[index].search.is_some() { 2 } else { 0 };
        for sums in [&ridge.numerators, &ridge.all, &ridge.fresh].into_iter().skip(rest) {
            self.runtime.zero(self.place.queue, peek(sums)?, 4 * self.geometry.elements())?;
        }
        Ok(())
    }

    /// How far a channel has come from the noisy one.
    fn residue(&self, c: usize) -> GpuResult<()> {
        let (plan, ridge) = (self.plan, &self.place.buffers.ridge);
        let args = [
            buffer(&self.noisy()[c])?,
            buffer(&ridge.z[c])?,
            buffer(&ridge.residue)?,
            int(plan.width),
            int(plan.height),
            int(self.geometry.pitch),
        ];
        let kernel = self.kernels.planes.kernel("ridge_residue")?;
        self.runtime.launch(self.place.queue, kernel, self.tiles(), &args)
    }

    /// Filters the groups of some rows of references.
    fn regress(&self, index: usize, c: usize, first: usize, rows: usize) -> GpuResult<()> {
        let (plan, buffers) = (self.plan, &self.place.buffers);
        let grid = grid(plan, index);
        let mut args = vec![
            buffer(&buffers.sums[c])?,
            buffer(&self.left(index)[c])?,
            buffer(&buffers.ridge.residue)?,
            buffer(&buffers.ridge.lists)?,
            buffer(&buffers.ridge.numerators)?,
            buffer(&buffers.ridge.all)?,
            buffer(&buffers.ridge.fresh)?,
            int(grid.columns),
            int(grid.last_x),
            int(grid.last_y),
            int(search(plan, index).offset),
            int(first),
            int(first + rows),
        ];
        let constants = [plan.sigma[c], plan.rounds[index].tau, plan.lambda, plan.mu].map(Arg::F32);
        let first = Arg::I32(i32::from(index == 0));
        let (kernel, shape) = match &self.kernels.regression {
            Regression::General { loaded, shape } => {
                args.extend([int(plan.width), int(plan.height), int(self.geometry.pitch)]);
                args.extend(constants);
                args.push(first);
                let [x, y] = shape.block;
                let grid = [grid.columns.div_ceil(x), rows.div_ceil(y)];
                (loaded.kernel("ridge_group")?, Shape { grid, items: shape.items(), local: 0 })
            }
            Regression::Tensor { loaded, kernel } => {
                args.push(int(self.geometry.pitch));
                args.extend(constants);
                args.extend([first, Arg::F32(self.middle(c))]);
                (loaded.kernel("ridge_group_tensor")?, kernel.shape(grid.columns, rows))
            }
        };
        if let Some(counts) = self.counts {
            args.extend(counts.args(&buffers.samples)?);
        }
        self.runtime.launch(self.place.queue, kernel, shape, &args)
    }

    /// What patches are less by in the sums: halves are the finer the nearer they are to zero. Colours are near it anyway.
    fn middle(&self, c: usize) -> f32 {
        match self.kernels.regression {
            Regression::General { .. } => 0.0,
            Regression::Tensor { .. } if c == 0 => 128.0 - self.centre,
            Regression::Tensor { .. } => -self.centre,
        }
    }

    /// The next estimate of a channel, and what has noise left; of the last round only that, in the place of the estimate.
    fn finish(&self, index: usize, c: usize, last: bool) -> GpuResult<()> {
        let (plan, buffers) = (self.plan, &self.place.buffers);
        let (x, ridge) = (&buffers.sums[c], &buffers.ridge);
        let args = [
            buffer(&ridge.numerators)?,
            buffer(&ridge.all)?,
            buffer(&ridge.fresh)?,
            buffer(x)?,
            buffer(&self.left(index)[c])?,
            buffer(if last { x } else { &ridge.z[c] })?,
            int(plan.width),
            int(plan.height),
            int(self.geometry.pitch),
            Arg::I32(i32::from(last)),
            Arg::F32(self.middle(c)),
        ];
        let kernel = self.kernels.planes.kernel("ridge_finish")?;
        self.runtime.launch(self.place.queue, kernel, self.tiles(), &args)
    }

    fn tiles(&self) -> Shape {
        let grid = [self.plan.width.div_ceil(TILE[0]), self.plan.height.div_ceil(TILE[1])];
        Shape { grid, items: ITEMS, local: 0 }
    }
}

pub(super) fn peek<B>(buffer: &Growing<B>) -> GpuResult<&B> {
    buffer.peek().ok_or_else(|| GpuError::Driver { call: "buffer", reason: "it is missing".into() })
}
