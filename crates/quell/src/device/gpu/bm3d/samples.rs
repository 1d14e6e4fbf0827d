//! What stands around the passes: samples of any type to channels in the planes, and channels to samples again. Colours
//! are in `color.rs`.

use super::pass::{TileRun, have, int, quantiser};
use super::program::Format;
use super::slot::{Buffers, Place};
use crate::ColorMode;
use crate::device::gpu::clock::{Clock, DOWNLOAD, KERNELS, UPLOAD};
use crate::device::gpu::growing::Growing;
use crate::device::gpu::library::Loaded;
use crate::device::gpu::{Arg, GpuResult, Runtime, Shape, buffer};

/// Picks the planes of a kind.
pub(super) type Planes<R> = fn(&Buffers<R>) -> &[Growing<<R as Runtime>::Buffer>];

impl<R: Runtime> TileRun<'_, R> {
    /// Copies the staged samples to the device, and makes channels of them.
    pub(crate) fn ingest(&mut self, format: Format, clock: &mut Clock<R>) -> GpuResult<()> {
        self.send(format, clock)?;
        self.make_channels(clock)
    }

    /// Copies the staged samples to the device.
    pub(crate) fn send(&mut self, format: Format, clock: &mut Clock<R>) -> GpuResult<()> {
        self.upload(format)?;
        clock.lap(self.runtime, self.place.queue, UPLOAD)
    }

    /// The space of the channels, if colours come.
    fn colors_taken(&self) -> Option<ColorMode> {
        self.front.color.filter(|_| !self.kernels.averaged)
    }

    /// Samples on the device to channels in the planes.
    pub(crate) fn make_channels(&mut self, clock: &mut Clock<R>) -> GpuResult<()> {
        match self.colors_taken() {
            Some(_) => self.spread_colors(&self.kernels.ingest, |buffers| &buffers.noisy)?,
            None => self.spread(&self.kernels.ingest, 0, |buffers| &buffers.noisy)?,
        }
        clock.lap(self.runtime, self.place.queue, "ingest")
    }

    /// The same to channels as floats, beside those of the planes, where these are halves.
    pub(crate) fn keep_floats(&mut self, ingest: &Loaded<R>) -> GpuResult<()> {
        match self.colors_taken() {
            Some(_) => self.spread_colors(ingest, |buffers| &buffers.ridge.noisy),
            None => self.spread(ingest, 0, |buffers| &buffers.ridge.noisy),
        }
    }

    /// Copies staged float samples to the device as the basic estimate of every channel.
    pub(crate) fn ingest_basic(&mut self) -> GpuResult<()> {
        self.upload(Format::F32)?;
        self.spread(&self.kernels.ingest, 1, |buffers| &buffers.basic)
    }

    fn upload(&mut self, format: Format) -> GpuResult<()> {
        let bytes = self.sent(format);
        let Place { queue, staging, buffers } = &mut self.place;
        let staging = staging.get(bytes, |n| self.runtime.staging(n))?;
        let samples = buffers.samples.get(bytes, |n| self.runtime.alloc(n))?;
        self.runtime.write(queue, samples, staging, bytes)
    }

    /// Channel by channel into planes, and the first one onto the matching plane of a pass.
    fn spread(&self, loaded: &Loaded<R>, pass: usize, planes: Planes<R>) -> GpuResult<()> {
        let factor = if self.kernels.averaged { 1.0 } else { self.front.factor };
        let (g, centre) = (self.geometry, self.kernels.planes.centre());
        let shape = Shape { grid: [g.width.div_ceil(4 * 128), g.height], items: 128, local: 0 };
        let (step, bias) = quantiser(&self.plan.passes[pass].matching);
        for c in 0..self.count() {
            let own = (int(self.first(c)), int(g.width));
            let Place { queue, buffers, .. } = &self.place;
            let plane = buffer(&planes(buffers)[c])?;
            let (samples, (first, stride)) = match self.lent {
                Some(lent) => (Arg::Buffer(&lent.from[c].buffer), (0, lent.from[c].stride)),
                None => (buffer(&buffers.samples)?, own),
            };
            let (w, pitch) = (int(g.width), int(g.pitch));
            if c == 0 {
                let args = [
                    samples,
                    plane,
                    buffer(&buffers.guide)?,
                    Arg::I32(first),
                    Arg::I32(stride),
                    Arg::I32(w),
                    Arg::I32(pitch),
                    Arg::F32(factor),
                    Arg::F32(centre),
                    Arg::F32(step),
                    Arg::F32(bias),
                ];
                self.runtime.launch(queue, loaded.kernel("bm3d_ingest_guide")?, shape, &args)?;
            } else {
                let args = [
                    samples,
                    plane,
                    Arg::I32(first),
                    Arg::I32(stride),
                    Arg::I32(w),
                    Arg::I32(pitch),
                    Arg::F32(factor),
                    Arg::F32(centre),
                ];
                self.runtime.launch(queue, loaded.kernel("bm3d_ingest")?, shape, &args)?;
            }
        }
        Ok(())
    }

    /// Channels in the place of the sums to samples on the device.
    pub(crate) fn make_samples(&mut self, clock: &mut Clock<R>) -> GpuResult<()> {
        match self.front.color {
            Some(_) => self.finish_colors()?,
            None => (0..self.count()).try_for_each(|c| self.store(c))?,
        }
        clock.lap(self.runtime, self.place.queue, "samples")
    }

    fn store(&mut self, c: usize) -> GpuResult<()> {
        let (g, front, first) = (self.geometry, self.front, self.first(c));
        let Some(pass) = self.kernels.passes.last() else { return Ok(()) };
        let Place { queue, buffers, .. } = &mut self.place;
        let args = [
            Arg::Buffer(&*have(&mut buffers.sums[c])?),
            Arg::Buffer(&*have(&mut buffers.samples)?),
            Arg::I32(int(first)),
            Arg::I32(int(g.width)),
            Arg::I32(int(g.pitch)),
            Arg::F32(self.kernels.planes.centre()),
            Arg::F32(1.0 / front.factor),
            Arg::F32(front.white),
        ];
        let shape = Shape { grid: [g.width.div_ceil(256), g.height], items: 256, local: 0 };
        self.runtime.launch(queue, pass.finish.kernel("bm3d_finish_channel")?, shape, &args)
    }

    /// All samples to the staging memory; they are there once the queue is finished.
    pub(crate) fn download(&mut self, format: Format, clock: &mut Clock<R>) -> GpuResult<()> {
        clock.lap(self.runtime, self.place.queue, KERNELS)?;
        let bytes = self.samples() * self.count() * format.bytes();
        let Place { queue, staging, buffers } = &mut self.place;
        let staging = staging.get(bytes, |n| self.runtime.staging(n))?;
        self.runtime.read(queue, staging, have(&mut buffers.samples)?, bytes)?;
        clock.lap(self.runtime, queue, DOWNLOAD)
    }
}
