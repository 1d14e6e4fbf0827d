//! How the kernels are spread over work-items and local memory, and what they have to find around a picture.

use crate::device::gpu::Limits;
use crate::nlm::Plan;

/// Neighbours in a row that a work-item of the general kernels takes up.
const RUN: usize = 8;
/// The most that kernels declare of local memory: CUDA allows no more without asking, most OpenCL drivers have it.
const LOCAL_BYTES: usize = 48 * 1024;
/// Work-items that every device starts.
const MOST_ITEMS: usize = 256;
/// Registers that a work-item may be expected to take.
const MOST_REGISTERS: usize = 240;

/// Rows of a work-item that are worth trying. Compilers of processors take long over long programs, and gain nothing.
fn strips(limits: &Limits) -> impl Iterator<Item = usize> {
    let short = limits.is_cpu && !limits.tensor;
    [8, 16].into_iter().filter(move |&strip| strip == 8 || !short)
}

/// What shapes follow from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    /// Displacements are from `-search` to `search`.
    pub(crate) search: usize,
    pub(crate) radius: usize,
    /// Planes that are compared.
    pub(crate) planes: usize,
    /// Planes that are averaged; 0 where only the sums of weights are wanted.
    pub(crate) channels: usize,
}

impl Needs {
    pub(crate) fn new(plan: &Plan, totals: bool) -> Self {
        Self {
            search: plan.search_radius,
            radius: plan.patch_radius,
            planes: if plan.guides > 0 { plan.guides } else { plan.channels },
            channels: if totals { 0 } else { plan.channels },
        }
    }

    fn side(&self) -> usize {
        2 * self.search + 1
    }

    /// Numbers of displacements in one direction that are worth having samples for at once, largest first.
    fn spans(&self) -> Vec<usize> {
        let mut spans: Vec<usize> = (1..=self.side()).map(|parts| self.side().div_ceil(parts)).collect();
        spans.dedup();
        spans
    }
}

/// Work-groups of one kernel over a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// In columns and rows.
    pub(crate) groups: (usize, usize),
    /// Pixels of one.
    pub(crate) tile: (usize, usize),
}

impl Grid {
    fn over(size: (usize, usize), tile: (usize, usize)) -> Self {
        Self { groups: (size.0.div_ceil(tile.0), size.1.div_ceil(tile.1)), tile }
    }

    /// Pixels of all of them in a row.
    pub(crate) fn pitch(&self) -> usize {
        self.groups.0 * self.tile.0
    }

    /// Pixels of all of them.
    pub(crate) fn plane(&self) -> usize {
        self.pitch() * self.groups.1 * self.tile.1
    }
}

/// Shape of the kernels for any planes: `nlm_general`, and `nlm_patches`, which sums the weights of patches once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TileShape {
    /// Columns and rows of sums of a work-group.
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// Rows of a work-item.
    pub(crate) strip: usize,
    /// Displacements for which samples are in local memory at once.
    pub(crate) span: (usize, usize),
    /// Samples are taken from global memory.
    pub(crate) direct: bool,
    /// Buffers of sums: with two there is one barrier less.
    pub(crate) buffers: usize,
    /// Of `nlm_patches`.
    patchwise: bool,
}

impl TileShape {
    /// The best for a plan, or `None` if nothing fits.
    pub(crate) fn new(needs: &Needs, limits: &Limits, patchwise: bool) -> Option<Self> {
        let room = limits.local_bytes.min(LOCAL_BYTES);
        let spans = needs.spans();
        let mut best: Option<(usize, Self)> = None;
        for columns in [32, 64, 128] {
            for rows in [16, 32, 64] {
                for strip in strips(limits) {
                    for buffers in if patchwise { 1..=1 } else { 1..=2 } {
                        let base = Self {
                            columns,
                            rows,
                            strip,
                            span: (needs.side(), needs.side()),
                            direct: true,
                            buffers,
                            patchwise,
                        };
                        // Of the spans of one height the widest that fits.
                        let tiled = spans.iter().filter_map(|&y| {
                            let wide = spans.iter().map(|&x| Self { span: (x, y), direct: false, ..base });
                            wide.into_iter().find(|s| s.fits(needs, room))
                        });
                        for shape in tiled.chain([base].into_iter().filter(|s| s.fits(needs, room))) {
                            let cost = shape.cost(needs);
                            if best.is_none_or(|(least, _)| cost < least) {
                                best = Some((cost, shape));
                            }
                        }
                    }
                }
            }
        }
        best.map(|(_, shape)| shape)
    }

    pub(crate) fn items(&self) -> usize {
        self.columns * (self.rows / self.strip)
    }

    /// Distances of a row of a work-group.
    fn wide(&self, needs: &Needs) -> usize {
        self.columns.saturating_sub(2 * needs.radius) / RUN * RUN
    }

    /// Pixels of a work-group.
    pub(crate) fn tile(&self, needs: &Needs) -> (usize, usize) {
        if self.patchwise {
            let wide = self.wide(needs).saturating_sub(2 * needs.radius) / RUN * RUN;
            (wide, self.rows.saturating_sub(2 * needs.radius))
        } else {
            (self.wide(needs), self.rows)
        }
    }

    /// Work-groups over a picture.
    pub(crate) fn grid(&self, needs: &Needs, size: (usize, usize)) -> Grid {
        Grid::over(size, self.tile(needs))
    }

    /// Patches, from `radius` beyond the left and upper borders on, whose totals the kernel reads.
    pub(crate) fn patches(&self, needs: &Needs, grid: &Grid) -> (usize, usize) {
        let (x, y) = self.last(grid);
        (x + self.wide(needs), y + self.rows)
    }

    /// Columns and rows of samples that are read, counted from the first of the picture.
    pub(crate) fn reach(&self, needs: &Needs, grid: &Grid) -> (usize, usize) {
        let (x, y) = self.last(grid);
        (x + self.columns + needs.search, y + self.rows + needs.radius + needs.search)
    }

    /// The first pixel of the last work-group.
    fn last(&self, grid: &Grid) -> (usize, usize) {
        ((grid.groups.0 - 1) * grid.tile.0, (grid.groups.1 - 1) * grid.tile.1)
    }

    /// Rows of pixels that a work-item sums weights for.
    fn out_strip(&self, needs: &Needs) -> usize {
        self.tile(needs).1.div_ceil(self.rows / self.strip)
    }

    fn samples(&self, needs: &Needs) -> usize {
        let pitch = (self.columns + self.span.0 - 1) | 1;
        pitch * (self.rows + 2 * needs.radius + self.span.1 - 1) * needs.planes
    }

    /// Local memory of a work-group, as the kernel declares it.
    fn local(&self, needs: &Needs) -> usize {
        let mut floats = self.buffers * self.rows * (self.columns | 1);
        floats += if self.direct { 1 } else { self.samples(needs) };
        if self.patchwise {
            let rows = self.rows / self.strip * self.out_strip(needs);
            floats += (2 * rows + 2 * needs.radius) * (self.wide(needs) | 1);
        }
        4 * floats
    }

    /// Registers of a work-item, roughly.
    fn registers(&self, needs: &Needs) -> usize {
        let depth = self.strip + 2 * needs.radius;
        let rounds = |wide: usize| (wide / RUN * self.rows).div_ceil(self.items());
        let kept = if self.patchwise {
            rounds(self.wide(needs)) + rounds(self.tile(needs).0) * 2 * needs.channels
        } else {
            rounds(self.wide(needs)) * (2 + 2 * needs.channels)
        };
        needs.planes * depth + 2 * depth + RUN * kept
    }

    fn fits(&self, needs: &Needs, room: usize) -> bool {
        let (wide, high) = self.tile(needs);
        // At least a run of pixels, and rows that pay.
        wide > 0
            && high >= self.rows.min(8)
            && self.strip <= self.rows
            && self.items() <= MOST_ITEMS
            && self.registers(needs) <= MOST_REGISTERS
            && self.local(needs) <= room
    }

    /// Instructions per pixel and displacement, times 1000: what the kernels do, times what waiting adds where few
    /// work-groups are on a multiprocessor.
    fn cost(&self, needs: &Needs) -> usize {
        let Needs { radius, planes, channels, .. } = *needs;
        let (halo, load) = (2 * radius, if self.direct { 4 } else { 1 });
        let depth = self.strip + halo;
        let rounds = |wide: usize| (wide / RUN * self.rows).div_ceil(self.items());
        let (wide, high) = self.tile(needs);
        let run = 3 * RUN + 2 * halo;
        let mut work = self.items() * (depth * planes * (2 + load) + 3 * self.strip + halo);
        if self.patchwise {
            work += self.items() * rounds(self.wide(needs)) * (run + 6 * RUN);
            work += self.items() * (4 * self.out_strip(needs) + 2 * halo);
            work += self.items() * rounds(wide) * (run + channels * (2 + load) * RUN);
        } else {
            work += self.items() * rounds(wide) * (run + (5 + channels * (2 + load)) * RUN);
        }
        // Half of the work-items that go on together take rows of one bank.
        work += if self.rows < 32 { work / 6 } else { 0 };
        let side = needs.side();
        if !self.direct {
            let spans = side.div_ceil(self.span.0) * side.div_ceil(self.span.1);
            work += spans * 6 * self.samples(needs) / (side * side);
        }
        // Of a large GPU.
        let groups = (65536 / (self.registers(needs).max(32) * self.items()))
            .min(200 * 1024 / self.local(needs))
            .clamp(1, 16);
        work * (1000 + 600 / groups) / (wide * high)
    }
}

/// Shape of the kernel for one plane of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteShape {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// Rows of a work-item.
    pub(crate) strip: usize,
    /// Displacements for which samples are in local memory at once.
    pub(crate) span: (usize, usize),
}

impl ByteShape {
    /// The largest patches that it is for: their sums of squares are below 2^23, and their samples fit into registers.
    const MOST_RADIUS: usize = 5;

    /// The best for a plan, or `None` if it is not for this kernel.
    pub(crate) fn new(needs: &Needs, limits: &Limits) -> Option<Self> {
        if needs.planes != 1 || needs.channels > 1 || needs.radius > Self::MOST_RADIUS {
            return None;
        }
        let room = limits.local_bytes.min(LOCAL_BYTES);
        let strip = strips(limits).filter(|&s| s == 8 || needs.radius <= 3).max()?;
        let spans = needs.spans();
        let shapes = spans.iter().flat_map(|&y| spans.iter().map(move |&x| (x, y)));
        let shapes = shapes.map(|span| Self { columns: 64, rows: 32, strip, span });
        let chunks = |s: &Self| needs.side().div_ceil(s.span.0) * needs.side().div_ceil(s.span.1);
        shapes.filter(|s| s.local(needs) <= room).min_by_key(|s| (chunks(s), s.local(needs)))
    }

    pub(crate) fn items(&self) -> usize {
        self.columns * (self.rows / self.strip)
    }

    pub(crate) fn grid(&self, size: (usize, usize)) -> Grid {
        Grid::over(size, (self.columns, self.rows))
    }

    /// As [`TileShape::reach`].
    pub(crate) fn reach(&self, needs: &Needs, grid: &Grid) -> (usize, usize) {
        // Words are read that begin inside a patch, and the next ones.
        let words = 4 * Self::words(needs) + 4;
        let rows = grid.groups.1 * self.rows;
        (grid.pitch() + needs.search + needs.radius.max(words), rows + needs.search + needs.radius)
    }

    fn words(needs: &Needs) -> usize {
        (2 * needs.radius + 1).div_ceil(4)
    }

    fn local(&self, needs: &Needs) -> usize {
        let (columns, rows) = (self.columns + self.span.0 - 1, self.rows + self.span.1 - 1);
        4 * ((columns + 4 * (Self::words(needs) - 1)) * (rows + 2 * needs.radius) + columns * rows)
    }
}
