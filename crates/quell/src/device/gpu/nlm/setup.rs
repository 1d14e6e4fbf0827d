//! What a plan becomes on a device: which kernels, over which grids, on planes of which layout.

use super::shape::{ByteShape, Grid, Needs, TileShape};
use crate::device::SampleFormat;
use crate::device::gpu::{GpuError, GpuResult, Limits};
use crate::nlm::Plan;

/// Columns are padded to a multiple of this.
const ALIGN: usize = 64;
/// Bytes that may be read behind the last sample.
const BEHIND: usize = 64;

/// Who sums weights and, unless whole patches are averaged, samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Average {
    /// One plane of bytes.
    Bytes(ByteShape),
    /// Any planes.
    General(TileShape),
}

/// Padded planes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Samples before the first of a row, and rows before the first.
    pub(crate) halo: usize,
    /// Samples of a row.
    pub(crate) pitch: usize,
    pub(crate) rows: usize,
}

impl Layout {
    /// Samples of a plane.
    pub(crate) fn plane(&self) -> usize {
        self.pitch * self.rows
    }

    /// Where the pixel is that is `before` columns and rows before the first.
    pub(crate) fn origin(&self, before: usize) -> usize {
        (self.halo - before) * (self.pitch + 1)
    }
}

/// The kernels of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) needs: Needs,
    pub(crate) average: Average,
    /// Of pixels or, for patchwise averages, of patches.
    pub(crate) grid: Grid,
    pub(crate) patches: Option<(TileShape, Grid)>,
    pub(crate) layout: Layout,
}

impl Setup {
    /// For frames of samples of this type.
    pub(crate) fn new(plan: &Plan, format: SampleFormat, limits: &Limits) -> GpuResult<Self> {
        let needs = Needs::new(plan, false);
        let averaging = Needs::new(plan, plan.patchwise);
        let size = (plan.width, plan.height);
        let none = || GpuError::Driver {
            call: "local memory",
            reason: format!("{} bytes are too little for these patches", limits.local_bytes),
        };
        let patches = match plan.patchwise {
            true => {
                let shape = TileShape::new(&needs, limits, true).ok_or_else(none)?;
                Some((shape, shape.grid(&needs, size)))
            }
            false => None,
        };
        // Of patches there are some beyond the borders.
        let domain = patches.map_or(size, |(shape, grid)| shape.patches(&needs, &grid));
        let bytes = ByteShape::new(&averaging, limits)
            .filter(|_| format == SampleFormat::U8 && plan.channels == 1 && plan.guides == 0);
        let (average, grid, mut reach) = match bytes {
            Some(shape) => {
                let grid = shape.grid(domain);
                (Average::Bytes(shape), grid, shape.reach(&needs, &grid))
            }
            None => {
                let shape = TileShape::new(&averaging, limits, false).ok_or_else(none)?;
                let grid = shape.grid(&averaging, domain);
                (Average::General(shape), grid, shape.reach(&needs, &grid))
            }
        };
        if let Some((shape, grid)) = &patches {
            let also = shape.reach(&needs, grid);
            reach = (reach.0.max(also.0), reach.1.max(also.1));
        }
        let halo = plan.halo();
        let layout = Layout { halo, pitch: (halo + reach.0).next_multiple_of(ALIGN), rows: halo + reach.1 };
        let setup = Self { needs, average, grid, patches, layout };
        // Kernels count samples in 32 bits.
        let planes = plan.guides + plan.channels;
        let most = (planes * layout.plane()).max((2 + plan.channels) * setup.grid.plane());
        if i32::try_from(most).is_err() {
            return Err(GpuError::OutOfMemory { bytes: 4 * most });
        }
        Ok(setup)
    }

    /// Whether frames are kept as floats.
    pub(crate) fn floats(&self) -> bool {
        self.patches.is_some() || matches!(self.average, Average::General(_))
    }

    /// Whether frames are kept as bytes.
    pub(crate) fn bytes(&self) -> bool {
        matches!(self.average, Average::Bytes(_))
    }

    /// Bytes of a buffer of so many planes of samples of this type.
    pub(crate) fn room(&self, planes: usize, format: SampleFormat) -> usize {
        planes * self.layout.plane() * format.bytes() + BEHIND
    }

    /// Rows of work-groups that one launch takes: some ten milliseconds on a small GPU, so that others get at it and
    /// work can be stopped.
    pub(crate) fn band(&self, grid: &Grid, limits: &Limits) -> usize {
        const EACH: usize = 200_000_000;
        let side = 2 * self.needs.search + 1;
        let row = grid.pitch() * grid.tile.1 * side * side * self.needs.planes;
        (EACH * limits.units.max(1) / row.max(1)).clamp(1, grid.groups.1)
    }
}
