//! How much of a picture a work-group takes.

use crate::device::gpu::Limits;
use crate::isoline::{Plan, Square};

/// Local memory that kernels may declare; CUDA gives no more without asking.
const LOCAL_BYTES: usize = 48 * 1024;
/// Segments of more pixels are gone through in loops: code for each of them would be too much.
const MOST_UNROLLED: usize = 5;

/// Whether offsets become constants of the code. Compilers for processors take long over that, and nothing is gained; the
/// emulator, which has tensor cores, stands for a GPU.
fn unrolled(plan: &Plan, limits: &Limits) -> bool {
    let short = plan.segment_pixels() <= MOST_UNROLLED && plan.segments <= 4;
    short && (limits.tensor || !limits.is_cpu)
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
    /// Offsets are constants of the code.
    pub(crate) unrolled: bool,
}

impl PoolShape {
    pub(crate) fn new(plan: &Plan, guided: bool, limits: &Limits) -> Self {
        let reach = (plan.patterns.length() * plan.segments + plan.thickness / 2).max(2);
        let planes = plan.channels() + usize::from(guided);
        let unrolled = unrolled(plan, limits);
        let shape = |strip| Self { columns: 64, rows: 4 * strip, strip, reach, direct: false, unrolled };
        let room = limits.local_bytes.min(LOCAL_BYTES);
        let strips = if unrolled { [4, 2, 1] } else { [1; 3] };
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

/// A work-group of the kernels that sum over boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoxShape {
    square: Square,
    /// Columns with those that are for sums only.
    pub(crate) columns: usize,
    /// Pixels of a work-item, down a column.
    pub(crate) strip: usize,
    pub(crate) strips: usize,
    /// Directions at a time.
    pub(crate) group: usize,
    /// Offsets are constants of the code.
    pub(crate) unrolled: bool,
}

impl BoxShape {
    /// The best for choosing lines; `None` where local memory has no room.
    pub(crate) fn choosing(plan: &Plan, square: Square, second: bool, limits: &Limits) -> Option<Self> {
        let (lines, unrolled) = (plan.patterns.directions() / 2, unrolled(plan, limits));
        // What was measured to be the quickest: registers hold a strip of every direction and kind.
        let (groups, strip): (&[usize], usize) = match (unrolled, second) {
            (true, false) => (&[8, 4, 2, 1], 8),
            (true, true) => (&[8, 4, 2, 1], if square.cell > 4 { 8 } else { 4 }),
            (false, _) => (&[1], 8),
        };
        let room = limits.local_bytes.min(LOCAL_BYTES);
        let kinds = 1 + usize::from(second);
        let groups = groups.iter().filter(|&&group| lines.is_multiple_of(group));
        let mut shapes = groups.flat_map(|&group| {
            [2, 1].map(|strips| Self { square, columns: 64, strip, strips, group, unrolled })
        });
        let local = |s: &Self| {
            let (wide, high) = s.tile();
            let reach = square.margin + plan.patterns.length();
            let tiles = kinds * plan.channels() * (wide + 2 * reach) * (high + 2 * reach);
            4 * (tiles + 2 * s.group * s.strips * (s.strip / square.cell) * s.columns)
        };
        // Only one plane leaves registers for more than two directions.
        let fits = |s: &Self| local(s) <= room && (plan.channels() == 1 || s.group <= 2);
        shapes.find(fits)
    }

    /// The best for putting back.
    pub(crate) fn restoring(square: Square) -> Self {
        Self { square, columns: 64, strip: 8, strips: 4, group: 1, unrolled: true }
    }

    /// Columns and rows of pixels, whole cells of them.
    pub(crate) fn tile(&self) -> (usize, usize) {
        let Square { cell, margin } = self.square;
        ((self.columns - 2 * margin) / cell * cell, self.strips * self.strip)
    }

    pub(crate) fn items(&self) -> usize {
        self.columns * self.strips
    }

    /// Rows that cells and margins are multiples of.
    pub(crate) fn unit(&self) -> usize {
        let Square { cell, margin } = self.square;
        (0..=3)
            .map(|n| 8 >> n)
            .find(|unit| cell.is_multiple_of(*unit) && margin.is_multiple_of(*unit))
            .unwrap_or(1)
    }

    pub(crate) fn square(&self) -> Square {
        self.square
    }
}
