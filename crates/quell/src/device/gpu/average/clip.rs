//! BM3D, or context ridge, of averages of frames: samples become channels when a frame comes, and when it is its turn it is
//! averaged with those around it and filtered, all in one queue. Nothing leaves the device in between.

use std::sync::Arc;

use super::{Averager, ITEMS, channels, frame_bytes, motion_bytes, program};
use crate::device::gpu::ahead::{Parts, Video, Windowed};
use crate::device::gpu::bm3d::kernels::Kind;
use crate::device::gpu::bm3d::pass::{Front, Steps};
use crate::device::gpu::bm3d::program::Format;
use crate::device::gpu::bm3d::slot::Taken;
use crate::device::gpu::bm3d::source::samples_source;
use crate::device::gpu::clock::{Clock, KERNELS, UPLOAD};
use crate::device::gpu::growing::Growing;
use crate::device::gpu::library::Loaded;
use crate::device::gpu::sizes::{PictureRun, Sizes};
use crate::device::gpu::transfer::{Transfer, one_format};
use crate::device::gpu::{Arg, Gpu, GpuResult, Limits, Runtime, Shape, Stop, buffer, int};
use crate::device::{Input, SampleFormat, Samples};
use crate::method::frames::Window as Around;
use crate::method::{Plan, Window};
use crate::{Control, Result};

/// What a sequence occupies on the device, beside the slot that it is filtered in.
pub(crate) struct Memory<R: Runtime> {
    transfer: Transfer<R>,
    /// Where blocks are in another frame.
    motion: Growing<R::Buffer>,
    /// Planes of frames that nobody needs any more.
    spare: Vec<Frame<R>>,
}

/// Channels as floats without gaps, and behind them means of the first.
pub(crate) struct Frame<R: Runtime> {
    planes: Growing<R::Buffer>,
    /// They are precise enough as halves.
    halves: bool,
}

/// A sequence of frames on a device.
pub(crate) struct Clip<R: Runtime> {
    gpu: Gpu<R>,
    around: Around,
    sizes: Sizes,
    front: Front,
    channels: usize,
    /// Both are there until this is dropped.
    memory: Option<Memory<R>>,
    slot: Option<Taken<R>>,
    video: Video<R, Frame<R>>,
    /// The type of the last frame's samples.
    format: SampleFormat,
}

/// Whether the frames of a window have room beside what a picture takes.
pub(crate) fn fits(plan: &Plan, around: &Around, limits: &Limits) -> bool {
    let Window { width, height, .. } = plan.window();
    let frame = frame_bytes(&around.averaging, plan.work().window().planes, (width, height));
    ((around.past + 1 + around.future) * frame) as u64 <= limits.memory_bytes / 4
}

impl<R: Runtime> Clip<R> {
    /// Of a plan whose work is BM3D or context ridge, at one size, and of whose front nothing is left but colours.
    pub(crate) fn new(gpu: &Gpu<R>, plan: &Plan, around: &Around) -> Result<Self> {
        let front = Front::from(plan.front());
        let sizes = Sizes::new(&plan.counted())?;
        let make = || -> GpuResult<(Memory<R>, Taken<R>)> {
            let runtime = &*gpu.runtime;
            let new = || -> GpuResult<Memory<R>> {
                let (motion, spare) = Default::default();
                Ok(Memory { transfer: Transfer::new(runtime)?, motion, spare })
            };
            Ok((gpu.clips.take().map_or_else(new, Ok)?, gpu.bm3d.slots.take_another(runtime)?))
        };
        let (mut memory, slot) = make().map_err(|e| gpu.error(e))?;
        let times = (around.past, around.future);
        let video = Video::new(&gpu.runtime, plan.window(), front.white, times, &mut memory.spare);
        Ok(Self {
            gpu: gpu.clone(),
            around: around.clone(),
            sizes,
            front,
            channels: plan.work().window().planes,
            memory: Some(memory),
            slot: Some(slot),
            video,
            format: SampleFormat::F32,
        })
    }

    fn size(&self) -> (usize, usize) {
        (self.video.window.width, self.video.window.height)
    }

    fn memory(&self) -> &Memory<R> {
        self.memory.as_ref().unwrap_or_else(|| unreachable!("there until dropped"))
    }

    fn queue(&self) -> &R::Queue {
        &self.memory().transfer.queue
    }

    /// The last frame has come: its samples become channels.
    fn arrive(&self, clock: &mut Clock<R>) -> GpuResult<()> {
        let (runtime, memory, pixels) = (&*self.gpu.runtime, self.memory(), self.video.pixels());
        let Some(frame) = self.video.frames.last() else { return Ok(()) };
        clock.lap(runtime, self.queue(), UPLOAD)?;
        let program = channels(self.format, self.channels, self.front.color);
        let loaded = self.gpu.library.get(runtime, program, 0, None)?;
        let args = [
            buffer(&memory.transfer.samples)?,
            buffer(&frame.planes)?,
            int(pixels),
            Arg::F32(self.front.factor),
        ];
        let shape = Shape { grid: [pixels.div_ceil(ITEMS), 1], items: ITEMS, local: 0 };
        runtime.launch(self.queue(), loaded.kernel("frames_channels")?, shape, &args)?;
        let (averaging, size) = (&self.around.averaging, self.size());
        let loaded = &*self.average()?;
        Averager { runtime, queue: self.queue(), loaded, averaging, size }.means(&frame.planes)?;
        clock.lap(runtime, self.queue(), "ingest")
    }

    /// The kernels of the average.
    fn average(&self) -> GpuResult<Arc<Loaded<R>>> {
        let program = program(&self.around.averaging, self.channels, true);
        self.gpu.library.get(&*self.gpu.runtime, program, 0, None)
    }

    /// The frames around one that are there, and itself.
    fn window_of(&self, at: usize) -> impl Iterator<Item = &Frame<R>> {
        self.video.frames.window(at).filter_map(|t| self.video.frames.get(t))
    }
}

impl<R: Runtime> Windowed for Clip<R> {
    type Runtime = R;
    type Frame = Frame<R>;

    fn parts(&mut self) -> Parts<'_, R, Frame<R>> {
        let memory = self.memory.as_mut().unwrap_or_else(|| unreachable!("there until dropped"));
        (&mut self.video, &mut memory.transfer)
    }

    fn send(&mut self, frame: &Input<'_>) -> Result<(), Stop> {
        self.format = one_format(frame.planes.iter().map(Samples::format));
        let format = Format::from(self.format);
        let halves = samples_source(frame.planes, format, self.video.window.width, self.front).halves;
        let bytes = frame_bytes(&self.around.averaging, self.channels, self.size());
        let Some(memory) = &mut self.memory else { return Ok(()) };
        memory.transfer.send(&*self.gpu.runtime, frame.planes, &[], self.format)?;
        let mut planes = self.video.frames.room().map_or_else(Growing::default, |frame| frame.planes);
        planes.get(bytes, |n| self.gpu.runtime.alloc(n))?;
        self.video.frames.push(Frame { planes, halves });
        Ok(self.arrive(&mut Clock::off())?)
    }

    fn arrive_again(&mut self, clock: &mut Clock<R>) -> GpuResult<()> {
        self.arrive(clock)
    }

    fn filter(
        &mut self,
        at: usize,
        to: SampleFormat,
        clock: &mut Clock<R>,
        control: &Control,
    ) -> Result<(), Stop> {
        let kind = Kind {
            formats: (Format::F32, to.into()),
            halves: self.window_of(at).all(|frame| frame.halves),
            color: self.front.color,
            frames: Some(self.window_of(at).count() as f32),
            averaged: true,
        };
        let (size, loaded) = (self.size(), self.average()?);
        let Self {
            gpu,
            around,
            sizes,
            video: Video { frames, .. },
            memory: Some(memory),
            slot: Some(slot),
            ..
        } = self
        else {
            return Ok(());
        };
        let Some(here) = frames.get(at) else { return Ok(()) };
        let others = frames.window(at).filter(|&t| t != at).filter_map(|t| frames.get(t));
        let others: Vec<_> = others.map(|frame| &frame.planes).collect();
        let runtime = &*gpu.runtime;
        let kernels = &gpu.sizes_kernels(sizes, &kind)?;
        memory.motion.get(motion_bytes(self.channels, size), |n| runtime.alloc(n))?;
        let queue = &memory.transfer.queue;
        let mut run =
            PictureRun { runtime, kernels, sizes, slot: &mut *slot, queue: Some(queue), front: self.front };
        run.allocate(Format::F32, to.into())?;
        let averager = Averager { runtime, queue, loaded: &loaded, averaging: &around.averaging, size };
        // Where the samples of a picture would be, with what is counted behind it.
        let sums = run.samples();
        match others.len() {
            0 => averager.alone(&here.planes, sums, self.channels)?,
            _ => averager.average(&here.planes, &others, &memory.motion, sums, clock)?,
        }
        run.go(clock, &mut Steps { control, done: 0, total: 1 })?;
        clock.lap(runtime, queue, KERNELS)?;
        // The result is there now: it goes out, and the next average comes where the one before it went out from.
        std::mem::swap(&mut memory.transfer.out, &mut slot.whole().buffers.samples);
        control.check()?;
        Ok(())
    }

    fn device_bytes(&self) -> usize {
        let memory = self.memory();
        let frames: usize = self.video.frames.iter().map(|frame| frame.planes.bytes()).sum();
        let slot = self.slot.as_ref().map_or(0, |slot| slot.bytes());
        memory.transfer.bytes() + memory.motion.bytes() + frames + slot
    }
}

impl<R: Runtime> Drop for Clip<R> {
    fn drop(&mut self) {
        let (Some(mut memory), Some(slot)) = (self.memory.take(), self.slot.take()) else { return };
        if self.video.end(&mut memory.transfer, &mut memory.spare) {
            self.gpu.clips.give(memory);
        } else {
            slot.discard();
        }
    }
}
