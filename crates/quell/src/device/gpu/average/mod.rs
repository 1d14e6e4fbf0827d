//! The average over frames along motion ([`Averaging`]), for every method that has one: kernels, and the order in which the
//! device gets them.

mod clip;
#[cfg(all(test, any(feature = "emulator", feature = "opencl")))]
pub(crate) mod tests;

pub(super) use clip::{Clip, Memory, fits};

use super::bm3d::program as bm3d;
use super::clock::Clock;
use super::growing::Growing;
use super::library::Loaded;
use super::transfer::c_type;
use super::{Arg, GpuResult, Program, Runtime, Shape, buffer, int};
use crate::ColorMode;
use crate::device::SampleFormat;
use crate::isoline::Averaging;

const PRELUDE: &str = include_str!("../../../../kernels/prelude.h");
const AVERAGE: &str = include_str!("../../../../kernels/frames/average.cl");
const CHANNELS: &str = include_str!("../../../../kernels/frames/channels.cl");

/// Columns and rows that a work-group of `frames_means` and `frames_average` takes.
const TILE: (usize, usize) = (64, 16);
/// Work-items of all kernels.
const ITEMS: usize = 256;

/// Means of luma, the motion of blocks, sums. `effective`: what is counted is what is left of the noise.
pub(super) fn program(averaging: &Averaging, channels: usize, effective: bool) -> Program {
    let kernels = vec!["frames_means", "frames_squares", "frames_motion", "frames_average", "frames_alone"];
    let sources = vec![PRELUDE, AVERAGE];
    let mut p = Program { name: "frames-average", sources, defines: Vec::new(), kernels };
    p.define("BLOCK", Averaging::BLOCK);
    p.define("AROUND", Averaging::AROUND);
    p.define("SCALE", Averaging::SCALE);
    p.define("FINE", Averaging::FINE);
    p.define("MOST", Averaging::MOST);
    p.define("BOX", Averaging::BOX.margin);
    p.define("COARSE", averaging.coarse);
    p.define("CHANNELS", channels);
    p.define("EFFECTIVE", u8::from(effective));
    p
}

/// Samples into planes of channels.
fn channels(from: SampleFormat, count: usize, color: Option<ColorMode>) -> Program {
    let mut sources = vec![PRELUDE, CHANNELS];
    if color.is_some() {
        sources.insert(1, bm3d::SPACE);
    }
    let mut p =
        Program { name: "frames-channels", sources, defines: Vec::new(), kernels: vec!["frames_channels"] };
    p.define("SAMPLE", c_type(from));
    p.define("CHANNELS", count);
    p.define("COLOR", u8::from(color.is_some()));
    if let Some(mode) = color {
        p.define("FORWARD", bm3d::list(mode.matrix().into_iter().flatten()));
    }
    p
}

/// Bytes of what has become of the blocks of a picture: two integers, and a float for every channel.
pub(super) fn motion_bytes(channels: usize, (width, height): (usize, usize)) -> usize {
    4 * (2 + channels) * width.div_ceil(Averaging::BLOCK) * height.div_ceil(Averaging::BLOCK)
}

/// Bytes of a frame of so many channels: its planes, and behind them means of luma, whole numbers, and sums of these.
pub(super) fn frame_bytes(averaging: &Averaging, channels: usize, size: (usize, usize)) -> usize {
    let pixels = size.0 * size.1;
    4 * ((channels + 1) * pixels + pixels.div_ceil(2) + squares(averaging, size))
}

/// Squares that whole numbers are summed over, with those around the picture.
fn squares(averaging: &Averaging, (width, height): (usize, usize)) -> usize {
    let along = |n: usize| {
        (n.next_multiple_of(Averaging::BLOCK) + 2 * Averaging::AROUND) / Averaging::SCALE
            + 2 * averaging.coarse
    };
    along(width) * along(height)
}

/// Who averages: planes are without gaps.
pub(super) struct Averager<'a, R: Runtime> {
    pub(super) runtime: &'a R,
    pub(super) queue: &'a R::Queue,
    pub(super) loaded: &'a Loaded<R>,
    pub(super) averaging: &'a Averaging,
    /// Columns and rows.
    pub(super) size: (usize, usize),
}

impl<R: Runtime> Averager<'_, R> {
    /// Starts a kernel on tiles of so many columns and rows.
    fn launch(&self, kernel: &'static str, tile: (usize, usize), args: &[Arg<'_, R>]) -> GpuResult<()> {
        let grid = [self.size.0.div_ceil(tile.0), self.size.1.div_ceil(tile.1)];
        let shape = Shape { grid, items: ITEMS, local: 0 };
        self.runtime.launch(self.queue, self.loaded.kernel(kernel)?, shape, args)
    }

    /// What a frame is compared on, behind its planes.
    pub(super) fn means(&self, frame: &Growing<R::Buffer>) -> GpuResult<()> {
        let args = |last| -> GpuResult<[Arg<'_, R>; 4]> {
            Ok([buffer(frame)?, int(self.size.0), int(self.size.1), last])
        };
        self.launch("frames_means", TILE, &args(Arg::F32(self.averaging.quanta))?)?;
        if self.averaging.coarse == 0 {
            return Ok(());
        }
        let count = squares(self.averaging, self.size);
        let shape = Shape { grid: [count.div_ceil(ITEMS), 1], items: ITEMS, local: 0 };
        let kernel = self.loaded.kernel("frames_squares")?;
        self.runtime.launch(self.queue, kernel, shape, &args(int(count))?)
    }

    /// The average of a frame with the others of its window, if there are any, and the number of frames behind it.
    pub(super) fn average(
        &self,
        here: &Growing<R::Buffer>,
        others: &[&Growing<R::Buffer>],
        motion: &Growing<R::Buffer>,
        sums: &Growing<R::Buffer>,
        clock: &mut Clock<R>,
    ) -> GpuResult<()> {
        let (averaging, side) = (self.averaging, Averaging::BLOCK);
        let size = || [int(self.size.0), int(self.size.1)];
        for (i, there) in others.iter().enumerate() {
            let mut args = vec![buffer(here)?, buffer(there)?, buffer(motion)?];
            args.extend(size());
            args.extend([averaging.step_cost, averaging.alike].map(Arg::I32));
            args.extend([averaging.mean, averaging.faint].map(Arg::F32));
            self.launch("frames_motion", (side, side), &args)?;
            clock.lap(self.runtime, self.queue, "motion")?;
            let mut args = vec![buffer(here)?, buffer(there)?, buffer(motion)?, buffer(sums)?];
            args.extend(size());
            args.extend([Arg::I32((i == 0).into()), Arg::I32((i + 1 == others.len()).into())]);
            args.extend([averaging.noise, averaging.slope].map(Arg::F32));
            self.launch("frames_average", TILE, &args)?;
            clock.lap(self.runtime, self.queue, "average")?;
        }
        Ok(())
    }

    /// A frame of so many channels that has no others, as an average.
    fn alone(&self, here: &Growing<R::Buffer>, sums: &Growing<R::Buffer>, channels: usize) -> GpuResult<()> {
        let pixels = self.size.0 * self.size.1;
        let shape = Shape { grid: [(channels * pixels).div_ceil(ITEMS), 1], items: ITEMS, local: 0 };
        let args = [buffer(here)?, buffer(sums)?, int(pixels)];
        self.runtime.launch(self.queue, self.loaded.kernel("frames_alone")?, shape, &args)
    }
}
