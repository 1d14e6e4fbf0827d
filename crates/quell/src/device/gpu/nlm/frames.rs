//! The frames of a video in device memory, and what is done to them.

use std::sync::Arc;

use super::memory::{Frame, Memory};
use super::program;
use super::setup::{Average, Setup};
use super::shape::Grid;
use crate::device::gpu::ahead::{Parts, Video, Windowed};
use crate::device::gpu::clock::{Clock, KERNELS, UPLOAD};
use crate::device::gpu::library::Library;
use crate::device::gpu::transfer::{Kept, guide_at, most, one_format};
use crate::device::gpu::{Arg, GpuError, GpuResult, Program, Runtime, Shape, Stop, buffer, int};
use crate::device::{Input, SampleFormat, Samples};
use crate::method::Planned;
use crate::nlm::Plan;
use crate::{Control, Error, Result};

/// A sequence of frames on a device.
pub(crate) struct Frames<R: Runtime> {
    runtime: Arc<R>,
    library: Arc<Library<R>>,
    kept: Arc<Kept<Memory<R>>>,
    plan: Plan,
    /// There until this is dropped.
    memory: Option<Memory<R>>,
    /// The type of the samples, and what follows from it, when the first frame is there.
    setup: Option<(SampleFormat, Setup)>,
    video: Video<R, Frame<R>>,
}

impl<R: Runtime> Frames<R> {
    pub(super) fn new(
        runtime: Arc<R>,
        library: Arc<Library<R>>,
        kept: Arc<Kept<Memory<R>>>,
        plan: &Plan,
    ) -> GpuResult<Self> {
        let mut memory = kept.take().map_or_else(|| Memory::new(&runtime), Ok)?;
        let (window, times) = (Planned::window(plan), (plan.past, plan.future));
        let video = Video::new(&runtime, window, plan.white, times, &mut memory.spare);
        Ok(Self { runtime, library, kept, plan: plan.clone(), memory: Some(memory), setup: None, video })
    }

    fn memory(&self) -> &Memory<R> {
        self.memory.as_ref().unwrap_or_else(|| unreachable!("there until dropped"))
    }

    pub(super) fn queue(&self) -> &R::Queue {
        &self.memory().transfer.queue
    }

    /// Planes of a frame of floats.
    fn planes(&self) -> usize {
        self.plan.guides + self.plan.channels
    }

    /// What the type of the samples asks for; all frames have one type.
    fn set_up(&mut self, format: SampleFormat) -> Result<(), Stop> {
        match &self.setup {
            Some((have, _)) if *have == format => Ok(()),
            Some(_) => Err(Error::Shape("the frames of a video must be of one type".into()).into()),
            None => {
                self.setup = Some((format, Setup::new(&self.plan, format, self.runtime.limits())?));
                Ok(())
            }
        }
    }

    fn setup(&self) -> GpuResult<&Setup> {
        let missing = || GpuError::Driver { call: "frame", reason: "there is none".into() };
        self.setup.as_ref().map(|(_, setup)| setup).ok_or_else(missing)
    }

    /// A frame's memory.
    fn make(&mut self) -> GpuResult<Frame<R>> {
        let planes = self.planes();
        let mut frame = self.video.frames.room().unwrap_or_default();
        let setup = self.setup()?;
        let alloc = |n| self.runtime.alloc(n);
        if setup.floats() {
            frame.floats.get(setup.room(planes, SampleFormat::F32), alloc)?;
        }
        if setup.bytes() {
            frame.bytes.get(setup.room(1, SampleFormat::U8), alloc)?;
            frame.norms.get(setup.room(1, SampleFormat::F32), alloc)?;
        }
        Ok(frame)
    }

    fn program(&self, program: Program) -> GpuResult<Arc<crate::device::gpu::library::Loaded<R>>> {
        self.library.get(&self.runtime, program, 0, None)
    }

    /// The samples that were sent into padded planes.
    fn ingest(&self, frame: &Frame<R>, clock: &mut Clock<R>) -> GpuResult<()> {
        let Some((format, setup)) = &self.setup else { return Ok(()) };
        let (layout, plan) = (&setup.layout, &self.plan);
        let Some(samples) = self.memory().transfer.samples.peek() else { return Ok(()) };
        let shape = Shape {
            grid: [layout.pitch.div_ceil(program::INGEST_TILE.0), layout.rows],
            items: program::INGEST_TILE.1,
            local: 0,
        };
        let pixels = plan.width * plan.height;
        let guide_at = guide_at(plan.channels, pixels, *format) / 4;
        let pad = |from: SampleFormat, to: SampleFormat, buffer: &R::Buffer, first: usize, at: usize| {
            let loaded = self.library.get(&self.runtime, program::ingest(from, to), 0, None)?;
            let size = [plan.width, plan.height, layout.halo, layout.pitch];
            let mut args =
                vec![Arg::Buffer(samples), Arg::Buffer(buffer), int(first), int(at * layout.plane())];
            args.extend(size.map(int));
            self.runtime.launch(self.queue(), loaded.kernel("nlm_ingest")?, shape, &args)
        };
        if let Some(floats) = frame.floats.peek().filter(|_| setup.floats()) {
            for g in 0..plan.guides {
                pad(SampleFormat::F32, SampleFormat::F32, floats, guide_at + g * pixels, g)?;
            }
            for c in 0..plan.channels {
                pad(*format, SampleFormat::F32, floats, c * pixels, plan.guides + c)?;
            }
        }
        if let (Some(bytes), Some(norms), true) = (frame.bytes.peek(), frame.norms.peek(), setup.bytes()) {
            pad(*format, SampleFormat::U8, bytes, 0, 0)?;
            let loaded = self.library.get(&self.runtime, program::norms(plan), 0, None)?;
            let (columns, rows) = (layout.pitch - 2 * plan.patch_radius, layout.rows - 2 * plan.patch_radius);
            let (x, y) = program::NORM_TILE;
            let shape = Shape { grid: [columns.div_ceil(x), rows.div_ceil(y)], items: x, local: 0 };
            let args = [Arg::Buffer(bytes), Arg::Buffer(norms), int(layout.pitch), int(columns), int(rows)];
            self.runtime.launch(self.queue(), loaded.kernel("nlm_norms")?, shape, &args)?;
        }
        clock.lap(&self.runtime, self.queue(), "ingest")
    }

    fn frame(&self, number: usize) -> GpuResult<&Frame<R>> {
        let missing = || GpuError::Driver { call: "frame", reason: format!("{number} is not there") };
        self.video.frames.get(number).ok_or_else(missing)
    }
}

impl<R: Runtime> Windowed for Frames<R> {
    type Runtime = R;
    type Frame = Frame<R>;

    fn parts(&mut self) -> Parts<'_, R, Frame<R>> {
        let memory = self.memory.as_mut().unwrap_or_else(|| unreachable!("there until dropped"));
        (&mut self.video, &mut memory.transfer)
    }

    fn send(&mut self, frame: &Input<'_>) -> Result<(), Stop> {
        // Planes of different types go as floats.
        let format = one_format(frame.planes.iter().map(Samples::format));
        self.set_up(format)?;
        if let Some(memory) = &mut self.memory {
            memory.transfer.send(&*self.runtime, frame.planes, frame.guide, format)?;
        }
        let frame = self.make()?;
        self.ingest(&frame, &mut Clock::off())?;
        self.video.frames.push(frame);
        Ok(())
    }

    fn arrive_again(&mut self, clock: &mut Clock<R>) -> GpuResult<()> {
        clock.lap(&self.runtime, self.queue(), UPLOAD)?;
        self.video.frames.last().map_or(Ok(()), |frame| self.ingest(frame, clock))
    }

    fn filter(
        &mut self,
        at: usize,
        to: SampleFormat,
        clock: &mut Clock<R>,
        control: &Control,
    ) -> Result<(), Stop> {
        let setup = self.setup()?.clone();
        let (plan, times) = (self.plan.clone(), self.video.frames.window(at).collect::<Vec<_>>());
        // Sums stay in device memory where more than one launch adds to them.
        let several = times.len() > 1;
        let planes = if setup.patches.is_some() { 2 } else { 2 + plan.channels };
        let kept = several || setup.patches.is_some();
        let sums_bytes = if kept { 4 * planes * setup.grid.plane() } else { 4 };
        let Some(memory) = &mut self.memory else { return Ok(()) };
        memory.sums.get(sums_bytes, |n| self.runtime.alloc(n))?;
        let out_bytes = plan.channels * plan.width * plan.height * to.bytes();
        memory.transfer.out.get(out_bytes, |n| self.runtime.alloc(n))?;
        if let Some((_, grid)) = &setup.patches {
            let bytes = if several { 4 * plan.channels * grid.plane() } else { 4 };
            memory.patch_sums.get(bytes, |n| self.runtime.alloc(n))?;
        }
        let mut pass = Pass { setup: &setup, plan: &plan, at, to, times: &times, control };
        pass.averages(self)?;
        clock.lap(
            &self.runtime,
            self.queue(),
            if setup.patches.is_some() { "weights" } else { "average" },
        )?;
        if setup.patches.is_some() {
            pass.patches(self)?;
            clock.lap(&self.runtime, self.queue(), "patches")?;
        }
        clock.lap(&self.runtime, self.queue(), KERNELS)?;
        Ok(())
    }

    fn device_bytes(&self) -> usize {
        self.memory().bytes(self.video.frames.iter())
    }
}

impl<R: Runtime> Drop for Frames<R> {
    fn drop(&mut self) {
        let Some(mut memory) = self.memory.take() else { return };
        if self.video.end(&mut memory.transfer, &mut memory.spare) {
            self.kept.give(memory);
        }
    }
}

/// One frame being filtered.
struct Pass<'a> {
    setup: &'a Setup,
    plan: &'a Plan,
    at: usize,
    to: SampleFormat,
    /// The frames that are searched.
    times: &'a [usize],
    control: &'a Control,
}

impl Pass<'_> {
    /// The averages or, for those of patches, the sums of weights.
    fn averages<R: Runtime>(&mut self, all: &Frames<R>) -> Result<(), Stop> {
        let Self { setup, plan, .. } = *self;
        let to = setup.patches.is_none().then_some(self.to);
        let (loaded, name, items) = match &setup.average {
            Average::Bytes(shape) => {
                (all.program(program::bytes(plan, shape, to))?, "nlm_bytes", shape.items())
            }
            Average::General(shape) => {
                (all.program(program::general(plan, shape, to))?, "nlm_general", shape.items())
            }
        };
        let kernel = loaded.kernel(name)?;
        let origin = setup.layout.origin(if plan.patchwise { plan.patch_radius } else { 0 });
        let plane = setup.grid.plane();
        for (i, &time) in self.times.iter().enumerate() {
            let (here, there) = (all.frame(self.at)?, all.frame(time)?);
            let mut args: Vec<Arg<'_, R>> = Vec::new();
            for frame in [here, there] {
                match setup.bytes() {
                    true => args.extend([buffer(&frame.bytes)?, buffer(&frame.norms)?]),
                    false => args.push(buffer(&frame.floats)?),
                }
            }
            args.extend([buffer(&all.memory().sums)?, buffer(&all.memory().transfer.out)?]);
            args.extend([origin, setup.layout.pitch].map(int));
            if !setup.bytes() {
                args.push(int(setup.layout.plane()));
            }
            args.extend([plan.width, plan.height, setup.grid.pitch(), plane].map(int));
            self.launch(all, kernel, &setup.grid, items, args, i)?;
        }
        Ok(())
    }

    /// Averages of patches, when the sums of their weights are there.
    fn patches<R: Runtime>(&mut self, all: &Frames<R>) -> Result<(), Stop> {
        let Self { setup, plan, .. } = *self;
        let Some((shape, grid)) = &setup.patches else { return Ok(()) };
        let loaded = all.program(program::patches(plan, shape, self.to))?;
        let kernel = loaded.kernel("nlm_patches")?;
        for (i, &time) in self.times.iter().enumerate() {
            let (here, there, memory) = (all.frame(self.at)?, all.frame(time)?, all.memory());
            let mut args: Vec<Arg<'_, R>> = vec![buffer(&here.floats)?, buffer(&there.floats)?];
            args.extend([buffer(&memory.sums)?, buffer(&memory.patch_sums)?, buffer(&memory.transfer.out)?]);
            args.extend([setup.layout.origin(0), setup.layout.pitch, setup.layout.plane()].map(int));
            args.extend([plan.width, plan.height, setup.grid.pitch(), setup.grid.plane()].map(int));
            args.extend([grid.pitch(), grid.plane()].map(int));
            self.launch(all, kernel, grid, shape.items(), args, i)?;
        }
        Ok(())
    }

    /// One frame's part, in as many launches as it is large.
    fn launch<'a, R: Runtime>(
        &self,
        all: &'a Frames<R>,
        kernel: &R::Kernel,
        grid: &Grid,
        items: usize,
        mut args: Vec<Arg<'a, R>>,
        index: usize,
    ) -> Result<(), Stop> {
        let (slope, offset) = program::slope_and_offset(self.plan);
        let flags = [self.times[index] == self.at, index == 0, index + 1 == self.times.len()];
        let at = args.len();
        args.push(int(0));
        args.extend(flags.map(|flag| Arg::I32(flag.into())));
        args.extend([slope, offset, self.plan.white.min(most(self.to))].map(Arg::F32));
        let rows = self.setup.band(grid, all.runtime.limits());
        for first in (0..grid.groups.1).step_by(rows) {
            args[at] = int(first);
            let shape = Shape { grid: [grid.groups.0, rows.min(grid.groups.1 - first)], items, local: 0 };
            all.runtime.launch(all.queue(), kernel, shape, &args)?;
            if rows < grid.groups.1 {
                self.control.check()?;
                all.runtime.finish(all.queue())?;
            }
        }
        Ok(())
    }
}
