//! Colours on the device: red, green and blue become the channels of a plan when they come in, and samples again when they
//! go out, all three of a pixel at once.

use super::lent::Rows;
use super::pass::{TileRun, int, quantiser};
use super::samples::Planes;
use super::slot::Place;
use crate::device::gpu::growing::Growing;
use crate::device::gpu::library::Loaded;
use crate::device::gpu::{Arg, GpuResult, Runtime, Shape, buffer};

/// Work-items of a work-group; each takes four pixels on the way in, and one on the way out.
const ITEMS: usize = 128;

impl<R: Runtime> TileRun<'_, R> {
    /// Red, green and blue into the planes of the channels, and the first one onto the matching plane.
    pub(super) fn spread_colors(&self, loaded: &Loaded<R>, planes: Planes<R>) -> GpuResult<()> {
        let (g, centre) = (self.geometry, self.kernels.planes.centre());
        let shape = Shape { grid: [g.width.div_ceil(4 * ITEMS), g.height], items: ITEMS, local: 0 };
        let (step, bias) = quantiser(&self.plan.passes[0].matching);
        let (first, lent, factor) = ([0, 1, 2].map(|c| self.first(c)), self.lent, self.front.factor);
        let Place { queue, buffers, .. } = &self.place;
        let rows = lent.map(|lent| &lent.from);
        let mut args = color_rows(&buffers.samples, rows, first, g.width)?;
        args.splice(3..3, buffers_of(&planes(buffers)[..3])?);
        args.insert(6, buffer(&buffers.guide)?);
        args.extend([
            Arg::I32(int(g.width)),
            Arg::I32(int(g.pitch)),
            Arg::F32(factor),
            Arg::F32(centre),
            Arg::F32(step),
            Arg::F32(bias),
        ]);
        self.runtime.launch(queue, loaded.kernel("bm3d_ingest_color")?, shape, &args)
    }

    /// The estimates of all channels to red, green and blue.
    pub(super) fn finish_colors(&self) -> GpuResult<()> {
        let (g, centre, front) = (self.geometry, self.kernels.planes.centre(), self.front);
        let (first, lent) = ([0, 1, 2].map(|c| self.first(c)), self.lent);
        let Place { queue, buffers, .. } = &self.place;
        let whole = [0, 0, int(g.width), int(g.height)];
        let [left, top, right, bottom] = lent.map_or(whole, |lent| lent.core);
        let mut args = color_rows(&buffers.samples, lent.map(|lent| &lent.to), first, g.width)?;
        args.splice(0..0, buffers_of(&buffers.sums[..3])?);
        args.extend([
            Arg::I32(left),
            Arg::I32(top),
            Arg::I32(right),
            Arg::I32(int(g.pitch)),
            Arg::F32(centre),
            Arg::F32(1.0 / front.factor),
            Arg::F32(front.white),
        ]);
        let grid = [((right - left) as usize).div_ceil(ITEMS), (bottom - top) as usize];
        let shape = Shape { grid, items: ITEMS, local: 0 };
        let loaded = self.kernels.colors.as_ref().unwrap_or(&self.kernels.ingest);
        self.runtime.launch(queue, loaded.kernel("bm3d_finish_color")?, shape, &args)
    }
}

/// The planes of red, green and blue as arguments: three buffers, then where each begins, then how far rows are apart.
fn color_rows<'a, R: Runtime>(
    own: &'a Growing<R::Buffer>,
    lent: Option<&'a Vec<Rows<R>>>,
    first: [usize; 3],
    width: usize,
) -> GpuResult<Vec<Arg<'a, R>>> {
    let mut args = Vec::with_capacity(20);
    match lent {
        Some(rows) => {
            args.extend(rows.iter().map(|r| Arg::Buffer(&r.buffer)));
            args.extend(rows.iter().map(|_| Arg::I32(0)));
            args.extend(rows.iter().map(|r| Arg::I32(r.stride)));
        }
        None => {
            for _ in 0..3 {
                args.push(buffer(own)?);
            }
            args.extend(first.map(|first| Arg::I32(int(first))));
            args.extend((0..3).map(|_| Arg::I32(int(width))));
        }
    }
    Ok(args)
}

fn buffers_of<R: Runtime>(planes: &[Growing<R::Buffer>]) -> GpuResult<Vec<Arg<'_, R>>> {
    planes.iter().map(buffer).collect()
}
