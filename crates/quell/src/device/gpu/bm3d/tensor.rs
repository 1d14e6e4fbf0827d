//! The fast kernels: which passes they can take, their options and how they are started.

use super::geometry::MARGIN;
use super::program::PlaneFormat;
use crate::bm3d::{PassPlan, Plan, Shrink, Weight};
use crate::device::gpu::{Limits, Program, Shape};
use crate::transform::{Matrix, Transform};

const DEVICE: &str = include_str!("../../../../kernels/bm3d/tensor/device.h");
const SORT: &str = include_str!("../../../../kernels/bm3d/tensor/sort.h");
const MATCH: &str = include_str!("../../../../kernels/bm3d/tensor/match.cu");
const VARIANCE: &str = include_str!("../../../../kernels/bm3d/tensor/variance.cu");
const FILTER: &str = include_str!("../../../../kernels/bm3d/tensor/filter.cu");

/// Samples further from the centre would lose precision as halves.
pub(crate) const HALF_RANGE: std::ops::RangeInclusive<f32> = -128.0..=383.0;
/// Weaker noise needs more precision than halves have.
const LEAST_SIGMA: f32 = 4.0;

/// Whether the noise of all channels is strong enough for halves, in averages of up to so many frames.
pub(super) fn strong(plan: &Plan, frames: f32) -> bool {
    let sigmas = plan.passes.iter().flat_map(|pass| &pass.sigma);
    sigmas.fold(f32::MAX, |least, &s| least.min(s)) >= LEAST_SIGMA * frames.sqrt()
}

/// The matching kernel of a pass. The sizes are those that `match.cu` derives from the same options.
#[derive(Clone, Debug)]
pub(crate) struct TensorMatch {
    step: usize,
    radius: usize,
    group: usize,
    /// Warps of a work-group, each with a block of 4 x 4 references.
    blocks: [usize; 2],
    local: usize,
}

impl TensorMatch {
    /// The kernel for `pass`, if it can do it on such a device.
    pub(crate) fn new(pass: &PassPlan, limits: &Limits) -> Option<Self> {
        let (step, radius, group) = (pass.step, pass.radius, pass.group);
        let fits = pass.patch == 8
            && pass.prefilter == 0.0
            && matches!(group, 8 | 16 | 32)
            && step <= 8
            && radius >= 1
            && left(radius, step) <= MARGIN
            && radius + step <= MARGIN
            && masks(radius, step) <= 64;
        if !limits.tensor || !fits {
            return None;
        }
        let kernel = |blocks| {
            let mut kernel = Self { step, radius, group, blocks, local: 0 };
            kernel.local = kernel.local_bytes();
            kernel
        };
        // Two work-groups per multiprocessor if they fit, for one to load while the other computes.
        [[4, 2], [4, 1], [2, 1], [1, 1]]
            .map(kernel)
            .into_iter()
            .find(|k| 2 * (k.local + 1024) <= limits.local_bytes + 1024 || k.blocks == [1, 1])
            .filter(|k| k.local <= limits.local_bytes)
    }

    fn local_bytes(&self) -> usize {
        let (rows, columns) = self.tile();
        let pitch = (4 * (columns + 4).div_ceil(4)..)
            .find(|n| n % 4 == 0 && (12..=20).contains(&(n % 32)))
            .unwrap_or_else(|| unreachable!("every 32 in a row have one"));
        let list = if self.group == 32 { 640 } else { 32 * self.group };
        let warp = 2 * masks(self.radius, self.step) * 32 + 32 + list;
        4 * ((rows + 7) * pitch + rows * columns.next_multiple_of(2) + self.blocks[0] * self.blocks[1] * warp)
    }

    /// Rows and columns of the tile of a work-group.
    fn tile(&self) -> (usize, usize) {
        let (span, side) = (3 * self.step, 2 * self.radius + 1);
        let bound_rows = if 2 * self.radius >= span + 8 {
            let end = (2 * self.radius + 8) / 8;
            8 * if end - span / 8 > 4 { (self.radius + span / 2 - 12) / 8 + 4 } else { end }
        } else {
            (span + side).next_multiple_of(8)
        };
        let rows = self.step + 4 * self.step * (self.blocks[1] - 1) + bound_rows.max(span + side);
        let columns = left(self.radius, self.step) - self.radius
            + 4 * self.step * (self.blocks[0] - 1)
            + (span + side).next_multiple_of(8);
        (rows, columns)
    }

    /// Dynamic local memory in bytes.
    pub(crate) fn local(&self) -> usize {
        self.local
    }

    pub(crate) fn program(&self) -> Program {
        let mut program = Program {
            name: "bm3d-match-tensor",
            sources: vec![DEVICE, SORT, MATCH],
            defines: Vec::new(),
            kernels: vec!["match_tensor"],
        };
        program.define("STEP", self.step);
        program.define("RADIUS", self.radius);
        program.define("GROUP", self.group);
        program.define("MARGIN", MARGIN);
        program.define("BLOCKS_X", self.blocks[0]);
        program.define("BLOCKS_Y", self.blocks[1]);
        program.define("MATCH_RESIDENT", if self.blocks[0] * self.blocks[1] > 4 { 2 } else { 4 });
        program
    }

    /// For `rows` rows of `columns` references.
    pub(crate) fn shape(&self, columns: usize, rows: usize) -> Shape {
        let blocks = [columns.div_ceil(4), rows.div_ceil(4)];
        Shape {
            grid: [blocks[0].div_ceil(self.blocks[0]), blocks[1].div_ceil(self.blocks[1])],
            items: 32 * self.blocks[0] * self.blocks[1],
            local: self.local,
        }
    }
}

/// The filter kernel of a pass. The sizes are those that `filter.cu` derives from the same options.
#[derive(Clone, Debug)]
pub(crate) struct TensorFilter {
    step: usize,
    radius: usize,
    group: usize,
    wiener: bool,
    exact: bool,
    deviation: bool,
    /// Warps of a work-group, one above the other.
    blocks: usize,
    /// Work-groups that share a multiprocessor.
    resident: usize,
    local: usize,
}

impl TensorFilter {
    /// The kernel for `pass`, if it can do it on such a device.
    pub(crate) fn new(pass: &PassPlan, limits: &Limits) -> Option<Self> {
        let (step, radius, group) = (pass.step, pass.radius, pass.group);
        let fits = pass.patch == 8
            && pass.stack == Transform::Haar
            && pass.keeps_mean()
            && pass.spectrum.is_none()
            && matches!(group, 8 | 16 | 32)
            && step <= 8
            && left(radius, step) <= MARGIN
            && radius + step <= MARGIN
            && pass.sigma.iter().all(|&s| s >= LEAST_SIGMA);
        if !limits.tensor || !fits {
            return None;
        }
        let wiener = matches!(pass.shrink, Shrink::Wiener { .. });
        let kernel = |(blocks, resident)| {
            let deviation = pass.weight == Weight::Deviation;
            let mut k = Self {
                step,
                radius,
                group,
                wiener,
                exact: pass.exact,
                deviation,
                blocks,
                resident,
                local: 0,
            };
            k.local = k.local_bytes();
            k
        };
        // The most warps per multiprocessor that registers and local memory allow: 24 for the hard threshold, 20 and 16
        // for the Wiener filter, 12 if it has to find the variances of groups of 32.
        let most = match (wiener, pass.exact, group) {
            (_, true, 32) => 12,
            (false, ..) => 24,
            (true, _, 32) => 16,
            (true, ..) => 20,
        };
        let candidates = (1..=8).rev().filter_map(|blocks| {
            let one = kernel((blocks, 1));
            // A work-group takes 1 KB more than it asks for.
            let resident = ((limits.local_bytes + 1024) / (one.local + 1024)).min(most / blocks);
            (resident > 0).then(|| kernel((blocks, resident)))
        });
        // Of equals the tallest: tiles overlap.
        candidates
            .reduce(|best, k| if k.blocks * k.resident > best.blocks * best.resident { k } else { best })
    }

    fn local_bytes(&self) -> usize {
        let (step, radius) = (self.step, self.radius);
        let columns = left(radius, step) + 3 * step + radius + 8;
        let pitch = columns + (12 - columns % 8) % 8;
        let rows = radius + step + 3 * step + radius + 8 + 4 * step * (self.blocks - 1);
        let tiles = if self.wiener { 3 } else { 2 };
        // Offsets and positions of a group; codes of its distances and the table of autocorrelations.
        let (warp, table) = if self.exact { (64 + 144, 8 * 257) } else { (64, 0) };
        4 * (tiles * rows * pitch + warp * self.blocks + table)
    }

    /// Dynamic local memory in bytes.
    pub(crate) fn local(&self) -> usize {
        self.local
    }

    /// With `counted` for averages of frames.
    pub(crate) fn program(&self, counted: bool) -> Program {
        let mut program = Program {
            name: "bm3d-filter-tensor",
            sources: vec![DEVICE, VARIANCE, FILTER],
            defines: Vec::new(),
            kernels: vec!["filter_tensor"],
        };
        program.define("STEP", self.step);
        program.define("RADIUS", self.radius);
        program.define("GROUP", self.group);
        program.define("MARGIN", MARGIN);
        program.define("BLOCKS", self.blocks);
        program.define("WIENER", u8::from(self.wiener));
        program.define("EXACT", u8::from(self.exact));
        program.define("DEVIATION", u8::from(self.deviation));
        program.define("FILTER_RESIDENT", self.resident);
        program.define("COUNTED", u8::from(counted));
        program
    }

    /// For `rows` rows of `columns` references.
    pub(crate) fn shape(&self, columns: usize, rows: usize) -> Shape {
        Shape {
            grid: [columns.div_ceil(4), rows.div_ceil(4).div_ceil(self.blocks)],
            items: 32 * self.blocks,
            local: self.local,
        }
    }

    /// The constants of a channel, laid out as `filter.cu` reads them.
    pub(crate) fn constants(pass: &PassPlan, channel: usize) -> Vec<f32> {
        let (forward, inverse) = (pass.transform.forward(8), pass.transform.inverse(8));
        let row = |m: &Matrix, i: usize| -> Vec<f32> { m.row(i).iter().map(|&v| v as f32).collect() };
        let mut c: Vec<f32> = (0..8).flat_map(|u| row(&forward, u)).collect();
        c.extend((0..8).flat_map(|x| row(&inverse, x)));
        c.extend(&pass.kaiser);
        for d in 0..8 {
            c.extend((0..8).map(|u| {
                let a = forward.row(u);
                let correlation = |d: usize| (d..8).map(|i| a[i] * a[i - d]).sum::<f64>();
                (correlation(d) / correlation(0)) as f32
            }));
        }
        let strength = match pass.shrink {
            Shrink::Hard { lambda } => lambda,
            Shrink::Wiener { mu2 } => mu2,
            Shrink::Regress { .. } => unreachable!("has no coefficients"),
        };
        let gain = forward.row(0).iter().sum::<f64>().powi(2) as f32;
        c.extend([pass.sigma[channel], strength, gain * PlaneFormat::Half.centre()]);
        c
    }
}

/// Columns left of the first reference in a tile: whole words of four pixels.
fn left(radius: usize, step: usize) -> usize {
    (radius + step).next_multiple_of(4)
}

/// Masks of 16 rows x 8 columns that cover the union of four windows.
fn masks(radius: usize, step: usize) -> usize {
    let side = 3 * step + 2 * radius + 1;
    side.div_ceil(16) * side.div_ceil(8)
}
