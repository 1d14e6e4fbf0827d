//! How much of a picture a work-group takes.

use crate::device::gpu::Limits;
use crate::isoline::Plan;

/// Local memory that kernels may declare; CUDA gives no more without asking.
const LOCAL_BYTES: usize = 48 * 1024;
/// Segments of more pixels are gone through in loops: code for each of them would be too much.
const MOST_UNROLLED: usize = 5;

/// Whether offsets become constants of the code.
pub(crate) fn unrolled(plan: &Plan) -> bool {
    plan.segment_pixels() <= MOST_UNROLLED && plan.segments <= 4
}

/// A work-group of the pooling kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolShape {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// Pixels of a work-item.
    pub(crate) strip: usize,
    /// Around the pixels.
    pub(crate) reach: usize,
    /// Samples are taken from global memory.
    pub(crate) direct: bool,
}

impl PoolShape {
    pub(crate) fn new(plan: &Plan, guided: bool, limits: &Limits) -> Self {
        let reach = (plan.patterns.length() * plan.segments + plan.thickness / 2).max(2);
        let planes = plan.channels() + usize::from(guided);
        let shape = |strip| Self { columns: 64, rows: 4 * strip, strip, reach, direct: false };
        let room = limits.local_bytes.min(LOCAL_BYTES);
        let strips = if unrolled(plan) { [4, 2, 1] } else { [1; 3] };
        let fits = strips.map(shape).into_iter().find(|s| s.local(planes) <= room);
        fits.unwrap_or(Self { direct: true, ..shape(1) })
    }

    pub(crate) fn items(&self) -> usize {
        self.columns * self.rows / self.strip
    }

    fn local(&self, planes: usize) -> usize {
        4 * planes * (self.columns + 2 * self.reach) * (self.rows + 2 * self.reach)
    }
}

/// A work-group of the kernel that chooses lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChooseShape {
    radius: usize,
    length: usize,
    /// Runs of `2 radius + 2` pixels in a row and in a column.
    pub(crate) runs: usize,
    pub(crate) strips: usize,
    /// Directions at a time.
    pub(crate) group: usize,
}

impl ChooseShape {
    /// `None` where local memory has no room.
    pub(crate) fn new(plan: &Plan, radius: usize, second: bool, limits: &Limits) -> Option<Self> {
        let (length, run) = (plan.patterns.length(), 2 * radius + 2);
        let room = limits.local_bytes.min(LOCAL_BYTES);
        let kinds = 1 + usize::from(second);
        let groups = if unrolled(plan) { [2, 1] } else { [1, 1] };
        let runs = (48 / run).max(1);
        let sizes = [(runs, (32 / run).max(1)), (runs, 1), (1, 1)];
        let all = sizes.into_iter().flat_map(|size| groups.map(|group| (size, group)));
        let mut all = all.map(|((runs, strips), group)| Self { radius, length, runs, strips, group });
        all.find(|s| s.items() <= 1024 && s.local(plan.channels(), kinds) <= room)
    }

    fn run(&self) -> usize {
        2 * self.radius + 2
    }

    /// Columns and rows of pixels.
    pub(crate) fn tile(&self) -> (usize, usize) {
        (self.runs * self.run(), self.strips * self.run())
    }

    pub(crate) fn items(&self) -> usize {
        let down = (self.tile().0 + 2 * self.radius) * self.strips;
        down.max(self.runs * self.tile().1).next_multiple_of(32)
    }

    fn local(&self, channels: usize, kinds: usize) -> usize {
        let (wide, high) = self.tile();
        let reach = self.radius + self.length;
        let tiles = kinds * channels * (wide + 2 * reach) * (high + 2 * reach);
        let sums = self.group * high * ((wide + 2 * self.radius) | 1);
        4 * (tiles + sums + self.group * kinds * high * (wide | 1))
    }
}
