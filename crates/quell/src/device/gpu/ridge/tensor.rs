//! The fast kernels: which plans they can take, their options and how they are started.
//!
//! Planes have one layout, that of BM3D's: sample (x, y) is element `(y + MARGIN) * pitch + x + MARGIN`. Nothing outside
//! of the picture is used, and little read: up to the end of a word of four. Numbers of references are those of
//! [`Search::grid`], rows first.

use crate::device::gpu::bm3d::geometry::MARGIN;
use crate::device::gpu::{Limits, Program, Shape};
use crate::method::group::{MAX_SSD, MatchingPlane, Search};
use crate::ridge::{GroupSize, Plan};

const COMMON: &str = include_str!("../../../../kernels/bm3d/tensor/device.h");
const DEVICE: &str = include_str!("../../../../kernels/ridge/tensor/device.h");
const MATCH: &str = include_str!("../../../../kernels/ridge/tensor/match.cu");
const GROUP: &str = include_str!("../../../../kernels/ridge/tensor/group.cu");

/// Weaker noise needs more precision than halves have, stronger noise more range.
const SIGMAS: std::ops::RangeInclusive<f32> = 3.0..=70.0;
/// Local memory that a work-group takes beyond what it asks for.
const OVERHEAD: usize = 1024;

/// The weakest of averages of frames: a group has as much of it in its means.
const LEAST_AVERAGED: f32 = 2.0;

/// Whether samples fit into halves: those of ordinary pictures, with noise that is neither too weak nor too strong, nor too
/// weak in averages of so many frames.
pub(super) fn precise(plan: &Plan, search: &Search, frames: f32) -> bool {
    // What the plane that patches are compared on tells apart is what there is, but for the tails of the noise.
    let MatchingPlane { scale, offset } = search.matching;
    let (low, high) = (-offset * scale, (256.0 - offset) * scale);
    let strong = |sigma: &f32| SIGMAS.contains(sigma) && *sigma >= LEAST_AVERAGED * frames.sqrt();
    low >= -384.0 && high <= 640.0 && plan.sigma.iter().all(strong)
}

/// What both kernels are made for.
fn fits(search: &Search, limits: &Limits) -> bool {
    limits.tensor
        && (search.patch, search.prefilter) == (6, 0.0)
        && matches!(search.step, 2 | 4)
        && (1..=28).contains(&search.radius)
        && search.group.is_multiple_of(16)
        && (16..=96).contains(&search.group)
}

/// How many work-groups of so much local memory share a multiprocessor.
fn resident(local: usize, limits: &Limits) -> usize {
    (limits.local_bytes + OVERHEAD) / (local + OVERHEAD)
}

/// The matching kernel, `ridge_match_tensor`. The sizes are those that `match.cu` derives from the same options.
///
/// Arguments: `guide` (bytes, 2 wider and higher than the picture), `lists` (16 bits, `group` numbers of each reference:
/// those of its group in any order, then 0xffff), `columns` of references, `last_x`, `last_y` (the last places of
/// patches), `offset` (of the grid), `first_row`, `last_row` (of references, the last not included), `pitch` (of the
/// guide), `least`, `spread` (of [`GroupSize`]).
#[derive(Clone, Debug)]
pub(crate) struct TensorMatch {
    step: usize,
    radius: usize,
    group: usize,
    warps: usize,
    resident: usize,
    pub(super) local: usize,
}

impl TensorMatch {
    /// The kernel for a search, if it can do it on such a device.
    pub(crate) fn new(search: &Search, size: GroupSize, limits: &Limits) -> Option<Self> {
        let whole = size.least.is_multiple_of(16) && (16..=search.group).contains(&size.least);
        // Distances take most of the memory. Where there is room for one work-group only, it has more warps.
        let kernel = |warps| {
            let mut k = Self {
                step: search.step,
                radius: search.radius,
                group: search.group,
                warps,
                resident: 0,
                local: 0,
            };
            k.local = k.local_bytes();
            k.resident = resident(k.local, limits).min(4);
            k
        };
        if !fits(search, limits) || !whole || search.max_ssd != MAX_SSD {
            return None;
        }
        [8, 16].map(kernel).into_iter().find(|k| k.resident > 1 || k.warps == 16).filter(|k| k.resident > 0)
    }

    fn local_bytes(&self) -> usize {
        let side = 2 * self.radius + 1;
        let union = 3 * self.step + side;
        let pitch = (8 * union.div_ceil(8) + 4..)
            .find(|n| n % 4 == 0 && (12..=20).contains(&(3 * n % 32)))
            .unwrap_or_else(|| unreachable!("multiples of three meet every bank"));
        let norm_pitch = union.next_multiple_of(2);
        let runs = 32 * self.warps / norm_pitch;
        let rows = runs * union.div_ceil(runs) + 5;
        let distances = (side * (self.radius + 1) + 31).next_multiple_of(4);
        // The last columns of norms are read beyond the last row.
        4 * (16 * distances + rows * pitch + union * norm_pitch + 8)
    }

    pub(crate) fn program(&self) -> Program {
        let mut program = Program {
            name: "ridge-match-tensor",
            sources: vec![COMMON, DEVICE, MATCH],
            defines: Vec::new(),
            kernels: vec!["ridge_match_tensor"],
        };
        program.define("STEP", self.step);
        program.define("RADIUS", self.radius);
        program.define("MOST", self.group);
        program.define("MARGIN", MARGIN);
        program.define("WARPS", self.warps);
        program.define("PARTS", self.warps / 8);
        program.define("MATCH_RESIDENT", self.resident);
        program
    }

    /// For `rows` rows of `columns` references.
    pub(crate) fn shape(&self, columns: usize, rows: usize) -> Shape {
        Shape { grid: [columns.div_ceil(4), rows.div_ceil(4)], items: 32 * self.warps, local: self.local }
    }
}

/// The kernel that filters groups, `ridge_group_tensor`. The sizes are those that `group.cu` derives from the same
/// options.
///
/// Arguments: `x`, `z` (floats), `residue` (floats: the mean of (y - z)^2 over the patch
/// at a pixel), `lists` (as the matching leaves them), `numerators`, `all`, `fresh` (floats that are added to: N at every
/// pixel, of patches less `middle`, S0 and S1 at the corners of patches), `columns`, `last_x`, `last_y`,
/// `offset`, `first_row`, `last_row`, `pitch` as for the matching, then floats `sigma`, `tau`, `lambda`, `mu`, `first`
/// (no residues: all the noise is there) and `middle` (of the range of samples).
///
/// Samples are halves and must not be further than 255 from the middle; up to 511 nothing overflows.
#[derive(Clone, Debug)]
pub(crate) struct TensorGroup {
    step: usize,
    radius: usize,
    group: usize,
    /// References of a work-group.
    block: [usize; 2],
    warps: usize,
    resident: usize,
    pub(super) local: usize,
}

impl TensorGroup {
    /// The kernel for the groups of a search, if it can do it on such a device.
    pub(crate) fn new(search: &Search, limits: &Limits) -> Option<Self> {
        if !fits(search, limits) {
            return None;
        }
        let kernel = |block| {
            // As many as the registers allow for two work-groups.
            let warps = if search.group > 64 { 8 } else { 10 };
            let (step, radius, group) = (search.step, search.radius, search.group);
            let mut k = Self { step, radius, group, block, warps, resident: 0, local: 0 };
            k.local = k.local_bytes();
            k.resident = resident(k.local, limits).min(2);
            k
        };
        let all = [[8, 8], [8, 4], [4, 4]].map(kernel);
        let two = all.iter().find(|k| k.resident == 2);
        two.or_else(|| all.iter().find(|k| k.resident == 1)).cloned()
    }

    fn local_bytes(&self) -> usize {
        let reach = |n: usize| self.step * (n - 1) + 2 * self.radius + 4;
        let pitch = (3 + reach(self.block[0])..)
            .find(|n| n % 4 == 0 && (4..=28).contains(&(n % 32)))
            .unwrap_or_else(|| unreachable!("every 32 in a row have one"));
        let tile = (reach(self.block[1]) + 4) * pitch;
        (18 * tile).next_multiple_of(16) + 2 * self.group * self.block[0] * self.block[1]
    }

    /// With `counted` for averages of frames, and three more arguments: `counts`, `first_count`, `count_pitch`.
    pub(crate) fn program(&self, counted: bool) -> Program {
        let mut program = Program {
            name: "ridge-group-tensor",
            sources: vec![COMMON, DEVICE, GROUP],
            defines: Vec::new(),
            kernels: vec!["ridge_group_tensor"],
        };
        program.define("STEP", self.step);
        program.define("RADIUS", self.radius);
        program.define("MOST", self.group);
        program.define("MARGIN", MARGIN);
        program.define("BLOCK_X", self.block[0]);
        program.define("BLOCK_Y", self.block[1]);
        program.define("WARPS", self.warps);
        program.define("GROUP_RESIDENT", self.resident);
        program.define("COUNTED", u8::from(counted));
        program
    }

    /// For `rows` rows of `columns` references.
    pub(crate) fn shape(&self, columns: usize, rows: usize) -> Shape {
        let grid = [columns.div_ceil(self.block[0]), rows.div_ceil(self.block[1])];
        Shape { grid, items: 32 * self.warps, local: self.local }
    }
}
