//! A picture on its way through the device as a whole: at its own size, or at several, each by BM3D with a plan of its own,
//! or from that on by the rounds of context ridge. Nothing leaves the device in between: smaller samples are made there, and what the smaller size knows is merged
//! into the channels of the larger.

use std::ops::Range;
use std::sync::Arc;

use super::bm3d::geometry::{Geometry, Region};
use super::bm3d::kernels::{Kernels, Kind};
use super::bm3d::pass::{Front, Held, Results, Steps, TileRun, have, int, launches};
use super::bm3d::program::{self, Format};
use super::bm3d::slot::{Place, Slot};
use super::bm3d::source::{Sink, Source};
use super::bm3d::{check, stage, tile_pixels, tile_side, unstage, whole};
use super::clock::Clock;
use super::growing::Growing;
use super::library::Loaded;
use super::ridge::{self, Rounds};
use super::{Arg, Gpu, GpuResult, Limits, Runtime, Shape, Stop};
use crate::bm3d::Plan;
use crate::method::{self, Part, Work};
use crate::{Error, Result};

/// A plan for all sizes of a picture, the largest first.
pub(crate) struct Sizes {
    all: Vec<Size>,
    /// Rows of the results that are wanted.
    kept: Range<usize>,
}

struct Size {
    /// BM3D, for itself or as a pilot.
    plan: Plan,
    /// What goes on from there.
    rounds: Option<crate::ridge::Plan>,
    region: Region,
    /// Smaller sizes depend on more rows than are filtered.
    held: Held,
    /// How far the next size is believed, by channel; none, if without limits.
    limits: Vec<f32>,
}

impl Size {
    fn geometry(&self) -> Geometry {
        Geometry::new(&self.plan, self.plan.width, self.plan.height)
    }
}

impl Sizes {
    /// Every size must be filtered by BM3D or by context ridge.
    pub(crate) fn new(plan: &method::Plan) -> Result<Self> {
        let (front, mut all, mut rest) = (Front::from(plan.front()), Vec::new(), Some(plan.clone()));
        while let Some(plan) = rest {
            let (rows, limits) = (plan.window().height, plan.limits().to_vec());
            let (alone, filtered, coarser) = match plan.scales() {
                Some((fine, rows, coarse)) => (fine, rows, Some(coarse)),
                None => (plan, 0..rows, None),
            };
            let (work, rounds) = match alone.work() {
                Work::Bm3d(work) => (work, None),
                Work::Ridge(rounds) => (ridge::check(rounds)?, Some((**rounds).clone())),
                _ => {
                    return Err(Error::Unsupported(
                        "sizes of a picture are filtered by other methods".into(),
                    ));
                }
            };
            check(work, front)?;
            let held = Held { rows, first: filtered.start };
            all.push(Size { plan: work.clone(), rounds, region: whole(work), held, limits });
            rest = coarser;
        }
        Ok(Self { all, kept: plan.part().map_or(0..plan.window().height, Part::kept) })
    }

    /// The plan of the picture itself.
    pub(crate) fn plan(&self) -> &Plan {
        &self.all[0].plan
    }

    /// Whether all there is to do are the passes of BM3D at one size, which tiles go through.
    pub(crate) fn plain(&self) -> bool {
        self.all.len() == 1 && self.all[0].rounds.is_none()
    }

    /// All samples of the picture.
    fn picture(&self) -> Region {
        Region { x: 0..self.all[0].plan.width, y: 0..self.all[0].held.rows }
    }

    /// Whether the picture goes through in one tile, where those have this side; 0 is what the memory allows.
    pub(crate) fn in_one(&self, side: usize, limits: &Limits) -> bool {
        let Region { x, y } = self.picture();
        if self.all[0].rounds.is_some() {
            return x.len() * y.len() <= self.most_pixels(side, limits);
        }
        let side = if side == 0 { tile_side(self.plan(), limits) } else { side };
        x.len().max(y.len()) <= side
    }

    /// Pixels that go through at once.
    pub(crate) fn most_pixels(&self, side: usize, limits: &Limits) -> usize {
        let Size { plan, rounds, .. } = &self.all[0];
        if side > 0 { side * side } else { tile_pixels(plan, rounds.as_ref(), limits) }
    }

    /// Launches of match and filter.
    pub(crate) fn launches(&self, limits: &Limits) -> u64 {
        let of = |size: &Size| {
            let rounds = size.rounds.as_ref().map_or(0, |plan| ridge::launches(plan, limits));
            launches(&size.plan, &size.region, limits) + rounds
        };
        self.all.iter().map(of).sum()
    }
}

/// The kernels of all sizes.
pub(crate) struct SizesKernels<R: Runtime> {
    each: Vec<Arc<Kernels<R>>>,
    rounds: Vec<Option<Arc<ridge::Kernels<R>>>>,
    /// From each size to the next, and back.
    between: Vec<Arc<Loaded<R>>>,
}

impl<R: Runtime> Gpu<R> {
    /// The kernels of all sizes, built if they are new.
    pub(super) fn sizes_kernels(&self, sizes: &Sizes, kind: &Kind) -> GpuResult<SizesKernels<R>> {
        let (mut each, mut rounds, mut between, mut kind) = (Vec::new(), Vec::new(), Vec::new(), *kind);
        for (i, size) in sizes.all.iter().enumerate() {
            // Means of samples are as good as halves as these are.
            let kernels = self.kernels(&size.plan, &kind)?;
            let own = size.rounds.as_ref().map(|plan| {
                let key = ridge::KernelsKey::new(plan, &kind, kernels.planes);
                let new = || ridge::Kernels::new(&*self.runtime, &self.library, &key);
                self.bm3d.rounds.get(key.clone(), new)
            });
            each.push(kernels);
            rounds.push(own.transpose()?);
            if i + 1 < sizes.all.len() {
                between.push(self.library.get(&*self.runtime, program::sizes(kind.formats.0), 0, None)?);
            }
            kind.formats = (Format::F32, Format::F32);
        }
        Ok(SizesKernels { each, rounds, between })
    }
}

/// One picture on its way through the device.
pub(crate) struct PictureRun<'a, R: Runtime> {
    pub(crate) runtime: &'a R,
    pub(crate) kernels: &'a SizesKernels<R>,
    pub(crate) sizes: &'a Sizes,
    pub(crate) slot: &'a mut Slot<R>,
    /// In the place of the slot's own.
    pub(crate) queue: Option<&'a R::Queue>,
    pub(crate) front: Front,
}

impl<R: Runtime> PictureRun<'_, R> {
    fn queue(&self) -> &R::Queue {
        self.queue.unwrap_or(&self.slot.queue)
    }

    /// Where a size works.
    fn place(&mut self, i: usize) -> Place<'_, R> {
        let place = self.slot.size(i);
        Place { queue: self.queue.unwrap_or(place.queue), ..place }
    }

    /// Samples of the picture, as they come and go.
    pub(super) fn samples(&mut self) -> &Growing<R::Buffer> {
        &self.slot.whole().buffers.samples
    }

    /// The run of a size.
    fn size(&mut self, i: usize) -> TileRun<'_, R> {
        let Size { plan, region, held, .. } = &self.sizes.all[i];
        let (runtime, kernels, front) = (self.runtime, &self.kernels.each[i], self.front);
        TileRun { held: *held, ..TileRun::new(runtime, kernels, plan, region, self.place(i), front) }
    }

    /// The rounds of a size, if it has any.
    fn rounds(&mut self, i: usize) -> Option<Rounds<'_, R>> {
        let (size, runtime) = (&self.sizes.all[i], self.runtime);
        let (plan, kernels) = (size.rounds.as_ref()?, self.kernels.rounds[i].as_deref()?);
        let (geometry, centre) = (size.geometry(), self.kernels.each[i].planes.centre());
        let counts = self.size(i).counts();
        Some(Rounds { runtime, kernels, plan, geometry, centre, counts, place: self.place(i) })
    }

    /// Takes the memory that is needed, so that running out of it comes before any work.
    pub(crate) fn allocate(&mut self, from: Format, to: Format) -> GpuResult<()> {
        for i in 0..self.sizes.all.len() {
            let bytes = if i == 0 { from.bytes().max(to.bytes()) } else { Format::F32.bytes() };
            self.size(i).allocate(bytes)?;
            if let Some(mut rounds) = self.rounds(i) {
                rounds.allocate()?;
            }
        }
        Ok(())
    }

    /// Copies the samples where the device takes them from.
    pub(crate) fn stage(&mut self, from: &Source<'_>) -> GpuResult<()> {
        let picture = self.sizes.picture();
        stage(&mut self.size(0), &picture, from)
    }

    /// Puts all that there is to do into the queue.
    pub(crate) fn start(
        &mut self,
        from: Format,
        to: Format,
        clock: &mut Clock<R>,
        steps: &mut Steps<'_>,
    ) -> Result<(), Stop> {
        self.size(0).send(from, clock)?;
        self.go(clock, steps)?;
        Ok(self.size(0).download(to, clock)?)
    }

    /// The same from samples on the device to samples on the device.
    pub(crate) fn go(&mut self, clock: &mut Clock<R>, steps: &mut Steps<'_>) -> Result<(), Stop> {
        self.size(0).make_channels(clock)?;
        if self.sizes.plain() {
            return self.size(0).passes(0, Results::Samples, clock, steps);
        }
        self.channels(clock, steps)?;
        Ok(self.size(0).make_samples(clock)?)
    }

    /// The filtered channels of the picture, from those of all sizes.
    fn channels(&mut self, clock: &mut Clock<R>, steps: &mut Steps<'_>) -> Result<(), Stop> {
        let smallest = self.sizes.all.len() - 1;
        for i in 0..smallest {
            self.down(i)?;
            clock.lap(self.runtime, self.queue(), "down")?;
            self.size(i + 1).make_channels(clock)?;
        }
        for i in 0..=smallest {
            self.filter(i, clock, steps)?;
        }
        for i in (0..smallest).rev() {
            self.merge(i)?;
            clock.lap(self.runtime, self.queue(), "merge")?;
        }
        Ok(())
    }

    /// The filtered channels of a size alone.
    fn filter(&mut self, i: usize, clock: &mut Clock<R>, steps: &mut Steps<'_>) -> Result<(), Stop> {
        let Some(kernels) = &self.kernels.rounds[i] else { return self.size(i).channels(clock, steps) };
        if let Some(ingest) = &kernels.ingest {
            self.size(i).keep_floats(ingest)?;
            clock.lap(self.runtime, self.queue(), "ingest")?;
        }
        self.size(i).channels(&mut Clock::off(), steps)?;
        clock.lap(self.runtime, self.queue(), "pilot")?;
        self.rounds(i).map_or(Ok(()), |mut rounds| rounds.run(clock, steps))
    }

    /// Samples of the size after this one.
    fn down(&mut self, i: usize) -> GpuResult<()> {
        let (Size { plan, held, .. }, small) = (&self.sizes.all[i], &self.sizes.all[i + 1]);
        let (queue, fine, coarse) = self.slot.pair(i);
        let (from, to) = (&*have(&mut fine.samples)?, &*have(&mut coarse.samples)?);
        let shape = rows(small.plan.width, small.held.rows);
        for c in 0..plan.channels() {
            let args = [
                Arg::Buffer(from),
                Arg::Buffer(to),
                Arg::I32(int(c * held.rows * plan.width)),
                Arg::I32(int(c * small.held.rows * small.plan.width)),
                Arg::I32(int(plan.width)),
            ];
            self.runtime.launch(queue, self.kernels.between[i].kernel("sizes_down")?, shape, &args)?;
        }
        Ok(())
    }

    /// What the size after this one knows into the channels of this one.
    fn merge(&mut self, i: usize) -> GpuResult<()> {
        let (large, small) = (&self.sizes.all[i], &self.sizes.all[i + 1]);
        let centre = |i: usize| self.kernels.each[i].planes.centre();
        let merge = Merge { offset: centre(i + 1) - centre(i), ..Merge::new(large, small) };
        let (queue, fine, coarse) = self.slot.pair(i);
        for c in 0..large.plan.channels() {
            let (fine, coarse) = (&*have(&mut fine.sums[c])?, &*have(&mut coarse.sums[c])?);
            let limit = large.limits.get(c).copied();
            merge.launch(self.runtime, queue, &self.kernels.between[i], (fine, coarse), limit)?;
        }
        Ok(())
    }

    /// Hands the results out, once the queue is finished.
    pub(crate) fn unstage(&mut self, to: &mut Sink<'_>) -> GpuResult<()> {
        let (picture, kept) = (self.sizes.picture(), self.sizes.kept.clone());
        let kept = Region { y: if self.sizes.plain() { picture.y.clone() } else { kept }, ..picture.clone() };
        unstage(&mut self.size(0), &picture, &kept, to)
    }
}

/// Work-items for every sample of some rows.
fn rows(width: usize, rows: usize) -> Shape {
    Shape { grid: [width.div_ceil(256), rows], items: 256, local: 0 }
}

/// Where the planes of two sizes meet.
pub(super) struct Merge {
    pub(super) fine: Geometry,
    pub(super) coarse: Geometry,
    /// The first row of either that both have, and how many: rows that only one has are not wanted.
    pub(super) first: (usize, usize),
    pub(super) rows: (usize, usize),
    /// What the coarse samples are less by, beyond the fine ones.
    pub(super) offset: f32,
}

impl Merge {
    fn new(large: &Size, small: &Size) -> Self {
        let (fine, coarse) = (large.geometry(), small.geometry());
        let start = (large.held.first / 2).max(small.held.first);
        let end = ((large.held.first + fine.height) / 2).min(small.held.first + coarse.height);
        let first = (2 * start - large.held.first, start - small.held.first);
        let rows = end.saturating_sub(start);
        // An odd last row has the coarse one before it.
        let fine_rows = (fine.height - first.0).min(2 * rows + 1);
        Self { fine, coarse, first, rows: (fine_rows, rows), offset: 0.0 }
    }

    /// Merges a coarse plane, which is used up, into a fine one.
    pub(super) fn launch<R: Runtime>(
        &self,
        runtime: &R,
        queue: &R::Queue,
        kernels: &Loaded<R>,
        (fine, coarse): (&R::Buffer, &R::Buffer),
        limit: Option<f32>,
    ) -> GpuResult<()> {
        let between = [
            Arg::Buffer(fine),
            Arg::Buffer(coarse),
            Arg::I32(int(self.first.0)),
            Arg::I32(int(self.first.1)),
            Arg::I32(int(self.coarse.width)),
            Arg::I32(int(self.fine.pitch)),
            Arg::I32(int(self.coarse.pitch)),
            Arg::F32(self.offset),
            Arg::F32(limit.map_or(0.0, |limit| 1.0 / limit)),
        ];
        let shape = rows(self.coarse.width, self.rows.1);
        runtime.launch(queue, kernels.kernel("sizes_difference")?, shape, &between)?;
        let merged = [
            Arg::Buffer(fine),
            Arg::Buffer(coarse),
            Arg::I32(int(self.first.0)),
            Arg::I32(int(self.first.1)),
            Arg::I32(int(self.fine.width)),
            Arg::I32(int(self.rows.0)),
            Arg::I32(int(self.coarse.width)),
            Arg::I32(int(self.rows.1)),
            Arg::I32(int(self.fine.pitch)),
            Arg::I32(int(self.coarse.pitch)),
        ];
        let grid = [self.fine.width.div_ceil(64), self.rows.0.div_ceil(16)];
        let shape = Shape { grid, items: 256, local: 0 };
        runtime.launch(queue, kernels.kernel("sizes_merge")?, shape, &merged)
    }
}
