//! The frames of a video in device memory, and what is done to them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::shape::PoolShape;
use super::{average, lines, program, rounds};
use crate::device::gpu::ahead::{Parts, Video, Windowed};
use crate::device::gpu::average::{frame_bytes, motion_bytes};
use crate::device::gpu::clock::{Clock, KERNELS, UPLOAD};
use crate::device::gpu::device::stopped;
use crate::device::gpu::growing::Growing;
use crate::device::gpu::library::{Library, Loaded};
use crate::device::gpu::transfer::{Kept, Transfer, one_format};
use crate::device::gpu::{Arg, GpuError, GpuResult, Program, Runtime, Shape, Stop, buffer, int};
use crate::device::{Input, SampleFormat, Samples, SamplesMut, Sequence};
use crate::isoline::{Map, Plan};
use crate::method::Planned;
use crate::{Control, Error, Plane, Result};

/// What tells the programs of a plan apart: the kernel, and what else it was made for.
pub(super) type Key = (&'static str, [u32; 4]);

/// What a sequence occupies on the device.
pub(crate) struct Memory<R: Runtime> {
    pub(super) transfer: Transfer<R>,
    /// Planes between one stage and the next.
    pub(super) stages: [Growing<R::Buffer>; 4],
    /// Planes of frames that nobody needs any more.
    spare: Vec<Growing<R::Buffer>>,
    /// The average over frames, and behind it the number of frames of each pixel.
    pub(super) average: Growing<R::Buffer>,
    /// Where blocks are in another frame.
    pub(super) motion: Growing<R::Buffer>,
    /// The programs of the plan that was carried out last.
    programs: Mutex<HashMap<Key, Arc<Loaded<R>>>>,
    plan: Option<Plan>,
}

impl<R: Runtime> Memory<R> {
    fn new(runtime: &R) -> GpuResult<Self> {
        let (average, motion) = Default::default();
        let (transfer, stages) = (Transfer::new(runtime)?, Default::default());
        let (programs, plan) = Default::default();
        Ok(Self { transfer, stages, spare: Vec::new(), average, motion, programs, plan })
    }
}

/// A sequence of frames on a device.
pub(crate) struct Frames<R: Runtime> {
    pub(super) runtime: Arc<R>,
    library: Arc<Library<R>>,
    kept: Arc<Kept<Memory<R>>>,
    pub(super) plan: Plan,
    /// There until this is dropped.
    memory: Option<Memory<R>>,
    /// The type of the last frame's samples.
    format: SampleFormat,
    /// Luma of all frames has whole samples from 0 to 255: lines are exact.
    exact: bool,
    /// As [`lines::NEAR`], which tests change.
    pub(super) near: f32,
    /// Planes of floats, and behind them what they are compared on where frames are averaged.
    pub(super) video: Video<R, Growing<R::Buffer>>,
    /// The frame that is being filtered.
    pub(super) at: usize,
    /// The frame that is filtered is an average.
    averaged: bool,
    /// The last frame is still as it was sent: the first pooling makes floats of it.
    is_fresh: bool,
}

impl<R: Runtime> Frames<R> {
    pub(super) fn new(
        runtime: Arc<R>,
        library: Arc<Library<R>>,
        kept: Arc<Kept<Memory<R>>>,
        plan: &Plan,
    ) -> Result<Self, Stop> {
        if plan.width == 0 || plan.height == 0 || !(1..=4).contains(&plan.channels()) {
            let (planes, w, h) = (plan.channels(), plan.width, plan.height);
            let why = format!("{planes} planes of {w} x {h} pixels cannot be filtered together");
            return Err(Error::Shape(why).into());
        }
        // Kernels count samples in 32 bits.
        let most = 3 * plan.channels() * plan.width * plan.height;
        if i32::try_from(most).is_err() {
            return Err(GpuError::OutOfMemory { bytes: 4 * most }.into());
        }
        let mut memory = kept.take().map_or_else(|| Memory::new(&runtime), Ok)?;
        if memory.plan.as_ref() != Some(plan) {
            (memory.programs, memory.plan) = (Mutex::default(), Some(plan.clone()));
        }
        let (window, times) = (Planned::window(plan), (plan.past, plan.future));
        let video = Video::new(&runtime, window, plan.white, times, &mut memory.spare);
        let plan = plan.clone();
        let memory = Some(memory);
        let (format, exact, near) = (SampleFormat::F32, true, lines::NEAR);
        let (at, averaged, is_fresh) = (0, false, false);
        Ok(Self { runtime, library, kept, plan, memory, format, exact, near, video, at, averaged, is_fresh })
    }

    pub(super) fn memory(&self) -> &Memory<R> {
        self.memory.as_ref().unwrap_or_else(|| unreachable!("there until dropped"))
    }

    pub(super) fn queue(&self) -> &R::Queue {
        &self.memory().transfer.queue
    }

    /// Samples of a plane.
    pub(super) fn pixels(&self) -> usize {
        self.video.pixels()
    }

    /// A program of this plan. To make it takes longer than its kernel on a small picture, so it is asked for by name.
    pub(super) fn program(&self, key: Key, make: impl FnOnce() -> Program) -> GpuResult<Arc<Loaded<R>>> {
        self.program_with(key, || (make(), None))
    }

    /// As [`program`](Self::program), with tables that are a function of the program's constants.
    pub(super) fn program_with(
        &self,
        key: Key,
        make: impl FnOnce() -> (Program, Option<Vec<f32>>),
    ) -> GpuResult<Arc<Loaded<R>>> {
        let mut programs = self.memory().programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = programs.get(&key) {
            return Ok(loaded.clone());
        }
        let (program, tables) = make();
        let loaded = self.library.get(&self.runtime, program, 0, tables.as_deref())?;
        programs.insert(key, loaded.clone());
        Ok(loaded)
    }

    /// Whether luma has whole samples from 0 to 255.
    pub(super) fn exact(&self) -> bool {
        self.exact
    }

    /// A frame by its number.
    pub(super) fn frame_at(&self, i: usize) -> GpuResult<Arg<'_, R>> {
        let missing = || GpuError::Driver { call: "frame", reason: "there is none".into() };
        buffer(self.video.frames.get(i).ok_or_else(missing)?)
    }

    /// The oldest frame that has not been filtered, or its average with those around it.
    pub(super) fn frame(&self) -> GpuResult<Arg<'_, R>> {
        if self.averaged { buffer(&self.memory().average) } else { self.frame_at(self.at) }
    }

    /// Whether the number of frames is behind the planes of [`frame`](Self::frame).
    pub(super) fn counted(&self) -> bool {
        self.averaged
    }

    /// Room for the average.
    pub(super) fn make_average(&mut self) -> GpuResult<()> {
        let bytes = 4 * (self.plan.channels() + 1) * self.pixels();
        let motion = motion_bytes(self.plan.channels(), (self.plan.width, self.plan.height));
        let Some(memory) = &mut self.memory else { return Ok(()) };
        memory.average.get(bytes, |n| self.runtime.alloc(n))?;
        memory.motion.get(motion, |n| self.runtime.alloc(n))?;
        Ok(())
    }

    /// Where stage `i` leaves its planes.
    pub(super) fn stage(&self, i: usize) -> GpuResult<Arg<'_, R>> {
        buffer(&self.memory().stages[i])
    }

    /// Room for so many planes of floats in each stage.
    pub(super) fn make_room(&mut self, planes: [usize; 4]) -> GpuResult<()> {
        let pixels = self.pixels();
        let Some(memory) = &mut self.memory else { return Ok(()) };
        for (stage, planes) in memory.stages.iter_mut().zip(planes) {
            // Kernels want a buffer for every argument.
            stage.get((4 * planes * pixels).max(4), |n| self.runtime.alloc(n))?;
        }
        Ok(())
    }

    /// Room for the result.
    fn make_out(&mut self, planes: usize, to: SampleFormat) -> GpuResult<()> {
        let bytes = planes * self.pixels() * to.bytes();
        if let Some(memory) = &mut self.memory {
            memory.transfer.out.get(bytes, |n| self.runtime.alloc(n))?;
        }
        Ok(())
    }

    /// Starts a kernel of `items` on tiles of so many columns and rows, of `layers` pictures.
    pub(super) fn launch(
        &self,
        loaded: &Loaded<R>,
        kernel: &'static str,
        (columns, rows): (usize, usize),
        layers: usize,
        items: usize,
        args: &[Arg<'_, R>],
    ) -> GpuResult<()> {
        let grid = [self.plan.width.div_ceil(columns), layers * self.plan.height.div_ceil(rows)];
        let shape = Shape { grid, items, local: 0 };
        self.runtime.launch(self.queue(), loaded.kernel(kernel)?, shape, args)
    }

    /// The samples that were sent, as floats.
    fn ingest(&self, to: &Growing<R::Buffer>, clock: &mut Clock<R>) -> GpuResult<()> {
        let count = self.plan.channels() * self.pixels();
        let loaded =
            self.program(("ingest", [self.format as u32, 0, 0, 0]), || program::ingest(self.format))?;
        let (each, items) = program::INGEST_TILE;
        let shape = Shape { grid: [count.div_ceil(each), 1], items, local: 0 };
        let args = [buffer(&self.memory().transfer.samples)?, buffer(to)?, int(count)];
        self.runtime.launch(self.queue(), loaded.kernel("isoline_ingest")?, shape, &args)?;
        if self.plan.averages() {
            average::means(self, to)?;
        }
        clock.lap(&self.runtime, self.queue(), "ingest")
    }

    /// The last frame has come: its samples become floats now, or with the first pooling.
    pub(super) fn arrive(&mut self, clock: &mut Clock<R>) -> GpuResult<()> {
        clock.lap(&self.runtime, self.queue(), UPLOAD)?;
        let guided = false;
        let alone = !self.plan.variant.is_blind() && !self.plan.averages();
        self.is_fresh = alone && !PoolShape::new(&self.plan, guided, self.runtime.limits()).direct;
        if self.is_fresh { Ok(()) } else { self.settle(clock) }
    }

    /// Makes floats of the last frame.
    fn settle(&mut self, clock: &mut Clock<R>) -> GpuResult<()> {
        self.is_fresh = false;
        self.video.frames.last().map_or(Ok(()), |frame| self.ingest(frame, clock))
    }

    /// The type of the frame's samples, if they are still as they were sent.
    pub(super) fn fresh(&self) -> Option<SampleFormat> {
        self.is_fresh.then_some(self.format)
    }

    /// What one of the paper's filters knows about a picture.
    pub(in crate::device::gpu) fn map(&mut self, samples: &[Samples<'_>], map: Map) -> Result<Plane> {
        self.push(&Input { planes: samples, guide: &[] }, &Control::new())?;
        // For any plan there are edges.
        self.exact = samples.first().is_some_and(lines::is_exact);
        let mut out = Plane::zeros(self.plan.width, self.plan.height);
        let mut known = || -> Result<(), Stop> {
            self.settle(&mut Clock::off())?;
            self.at = self.video.frames.next().unwrap_or_default();
            self.make_out(1, SampleFormat::F32)?;
            lines::map(self, map)?;
            let Some(memory) = &mut self.memory else { return Ok(()) };
            let bytes = 4 * out.as_slice().len();
            memory.transfer.call(&*self.runtime, bytes, SampleFormat::F32)?;
            memory.transfer.fetch(&*self.runtime, &mut [SamplesMut::F32(out.as_mut_slice())], f32::MAX)?;
            self.video.frames.advance();
            Ok(())
        };
        known().map_err(|e| stopped(&*self.runtime, e))?;
        Ok(out)
    }
}

impl<R: Runtime> Windowed for Frames<R> {
    type Runtime = R;
    type Frame = Growing<R::Buffer>;

    fn parts(&mut self) -> Parts<'_, R, Growing<R::Buffer>> {
        let memory = self.memory.as_mut().unwrap_or_else(|| unreachable!("there until dropped"));
        (&mut self.video, &mut memory.transfer)
    }

    fn send(&mut self, frame: &Input<'_>) -> Result<(), Stop> {
        if self.is_fresh {
            self.settle(&mut Clock::off())?;
        }
        self.format = one_format(frame.planes.iter().map(Samples::format));
        let plan = &self.plan;
        let bytes = match plan.averages() {
            true => frame_bytes(&plan.averaging, plan.channels(), (plan.width, plan.height)),
            false => 4 * plan.channels() * self.pixels(),
        };
        let luma = frame.planes.first().filter(|_| self.plan.variant.is_blind());
        self.exact = (self.exact || self.video.frames.next().is_none()) && luma.is_some_and(lines::is_exact);
        let Some(memory) = &mut self.memory else { return Ok(()) };
        memory.transfer.send(&*self.runtime, frame.planes, &[], self.format)?;
        let mut planes = self.video.frames.room().unwrap_or_default();
        planes.get(bytes, |n| self.runtime.alloc(n))?;
        self.video.frames.push(planes);
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
        self.at = at;
        self.make_out(self.plan.channels(), to)?;
        if self.plan.variant.is_blind() {
            lines::filter(self, to, clock)?;
        } else {
            if self.is_fresh && !self.video.frames.is_last(at) {
                self.settle(clock)?;
            }
            self.averaged = false;
            self.averaged = average::average(self, clock)?;
            rounds::filter(self, to, clock)?;
            self.is_fresh = false;
        }
        clock.lap(&self.runtime, self.queue(), KERNELS)?;
        control.check()?;
        Ok(())
    }

    fn device_bytes(&self) -> usize {
        let memory = self.memory();
        let buffers = memory.stages.iter().chain(self.video.frames.iter());
        let buffers = buffers.chain([&memory.average, &memory.motion]);
        memory.transfer.bytes() + buffers.map(Growing::bytes).sum::<usize>()
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
