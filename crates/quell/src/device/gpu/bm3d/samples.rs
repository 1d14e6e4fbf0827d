//! What stands around the passes: samples of any type to channels in the planes, and channels to samples again. Colours
//! are in `color.rs`.

use super::pass::{TileRun, have, int, quantiser};
use super::program::Format;
use super::slot::Place;
use crate::device::gpu::clock::{Clock, DOWNLOAD, KERNELS, UPLOAD};
use crate::device::gpu::{Arg, GpuResult, Runtime, Shape};

impl<R: Runtime> TileRun<'_, R> {
    /// Copies the staged samples to the device, and makes channels of them.
    pub(crate) fn ingest(&mut self, format: Format, clock: &mut Clock<R>) -> GpuResult<()> {
        self.upload(format)?;
        clock.lap(self.runtime, self.place.queue, UPLOAD)?;
        self.make_channels(clock)
    }

    /// Samples on the device to channels in the planes.
    pub(crate) fn make_channels(&mut self, clock: &mut Clock<R>) -> GpuResult<()> {
        match self.front.color {
            Some(_) => self.spread_colors()?,
            None => self.spread(false)?,
        }
        clock.lap(self.runtime, self.place.queue, "ingest")
    }

    /// Copies staged float samples to the device as the basic estimate of every channel.
    pub(crate) fn ingest_basic(&mut self) -> GpuResult<()> {
        self.upload(Format::F32)?;
        self.spread(true)
    }

    fn upload(&mut self, format: Format) -> GpuResult<()> {
        let bytes = self.samples() * self.count() * format.bytes();
        let Place { queue, staging, buffers } = &mut self.place;
        let staging = staging.get(bytes, |n| self.runtime.staging(n))?;
        let samples = buffers.samples.get(bytes, |n| self.runtime.alloc(n))?;
        self.runtime.write(queue, samples, staging, bytes)
    }

    /// Channel by channel into the planes of the noisy picture or of the basic estimate, and the first one onto the
    /// matching plane.
    fn spread(&mut self, basic: bool) -> GpuResult<()> {
        let (loaded, factor) = (&self.kernels.ingest, self.front.factor);
        let (g, centre) = (self.geometry, self.kernels.planes.centre());
        let shape = Shape { grid: [g.width.div_ceil(4 * 128), g.height], items: 128, local: 0 };
        let (step, bias) = quantiser(&self.plan.passes[usize::from(basic)]);
        for c in 0..self.count() {
            let own = (int(self.first(c)), int(g.width));
            let Place { queue, buffers, .. } = &mut self.place;
            let planes = if basic { &mut buffers.basic } else { &mut buffers.noisy };
            let plane = have(&mut planes[c])?;
            let (samples, (first, stride)) = match self.lent {
                Some(lent) => (&lent.from[c].buffer, (0, lent.from[c].stride)),
                None => (&*have(&mut buffers.samples)?, own),
            };
            let (w, pitch) = (int(g.width), int(g.pitch));
            if c == 0 {
                let guide = have(&mut buffers.guide)?;
                let args = [
                    Arg::Buffer(samples),
                    Arg::Buffer(plane),
                    Arg::Buffer(guide),
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
                    Arg::Buffer(samples),
                    Arg::Buffer(plane),
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
