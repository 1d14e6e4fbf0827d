//! BM3D, or context ridge, at work on the frames of a video. A frame is started when it comes: while it is copied in, others are filtered
//! and copied out, each in a slot of its own.

use std::collections::VecDeque;
use std::ops::Range;

use super::bm3d::pass::{Front, Steps};
use super::bm3d::slot::{Slot, Taken};
use super::bm3d::source::{Source, samples_sink, samples_source, stored_as};
use super::clock::Clock;
use super::sizes::{PictureRun, Sizes, SizesKernels};
use super::{Gpu, GpuError, Runtime, Stop};
use crate::device::front::{self, Takes};
use crate::device::singly::Kept;
use crate::device::{
    DeviceSamples, Input, LEAST_TILE, SampleBuffer, SampleFormat, Samples, SamplesMut, Sequence, nothing_left,
};
use crate::method::{Plan, Window, Work};
use crate::{Control, Error, Result};

/// Frames in, frames out.
pub(crate) struct Frames<R: Runtime> {
    gpu: Gpu<R>,
    plan: Plan,
    sizes: Sizes,
    front: Front,
    /// Of the samples.
    window: Window,
    running: VecDeque<Running<R>>,
    /// The type of the results, when the first one has been asked for; that of the samples until then.
    to: Option<SampleFormat>,
    /// For the next frames.
    slots: Vec<Taken<R>>,
    spare: Vec<Kept>,
}

enum Running<R: Runtime> {
    Started(Box<Started<R>>),
    /// Filtered when it is pulled: it goes through in tiles, or memory is short.
    Waiting(Kept),
}

/// A frame on the device.
struct Started<R: Runtime> {
    slot: Taken<R>,
    to: SampleFormat,
    kernels: SizesKernels<R>,
    /// In case that results of another type are asked for.
    kept: Option<Kept>,
}

impl<R: Runtime> Frames<R> {
    /// Of a plan whose work is BM3D or context ridge, and of whose front nothing is left but colours.
    pub(crate) fn new(gpu: &Gpu<R>, plan: &Plan) -> Result<Self> {
        let (sizes, front, window) = (Sizes::new(plan)?, plan.front().into(), plan.window());
        let (gpu, plan) = (gpu.clone(), plan.clone());
        let (running, slots, spare) = Default::default();
        Ok(Self { gpu, plan, sizes, front, window, running, to: None, slots, spare })
    }

    /// A frame as the device reads it.
    fn source<'a>(&self, frame: &Input<'a>) -> Source<'a> {
        let stored = stored_as(frame.planes, self.front);
        let source = samples_source(frame.planes, stored, self.window.width, self.front);
        // Plans that are guided are those of averages of frames.
        source.with_counts(frame.guide.first())
    }

    /// Whether a frame goes through in one tile.
    fn in_one(&self) -> bool {
        self.sizes.in_one(self.gpu.tile, self.gpu.runtime.limits())
    }

    /// Starts a frame; nothing, if there is no memory for it.
    fn start(
        &self,
        mut slot: Taken<R>,
        source: &Source<'_>,
        to: SampleFormat,
        steps: &mut Steps<'_>,
    ) -> Result<Option<Started<R>>, Stop> {
        let formats = (source.format, to.into());
        let kernels = self.gpu.sizes_kernels(&self.sizes, &source.kind(formats.1, self.front))?;
        let mut run = self.run(&kernels, &mut slot);
        let mut begin = || -> Result<(), Stop> {
            run.allocate(formats.0, formats.1)?;
            run.stage(source)?;
            run.start(formats.0, formats.1, &mut Clock::off(), steps)
        };
        match begin() {
            Ok(()) => Ok(Some(Started { slot, to, kernels, kept: None })),
            Err(Stop::Gpu(GpuError::OutOfMemory { .. })) => {
                slot.discard();
                self.gpu.shrink();
                Ok(None)
            }
            Err(stop) => {
                // Whatever is still queued reads memory of the slot.
                slot.discard();
                Err(stop)
            }
        }
    }

    fn run<'a>(&'a self, kernels: &'a SizesKernels<R>, slot: &'a mut Slot<R>) -> PictureRun<'a, R> {
        let (runtime, sizes) = (&*self.gpu.runtime, &self.sizes);
        PictureRun { runtime, kernels, sizes, slot, queue: None, front: self.front }
    }

    /// Waits for a frame.
    fn finish(&self, started: &mut Started<R>, to: &mut [SamplesMut<'_>]) -> Result<(), Stop> {
        let Started { slot, kernels, .. } = started;
        self.gpu.runtime.finish(&slot.queue)?;
        let mut sink = samples_sink(to, started.to.into(), self.window.width);
        Ok(self.run(kernels, slot).unstage(&mut sink)?)
    }

    /// A frame at all sizes at once; `false`, if there is no memory for it.
    fn whole(&self, source: &Source<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<bool, Stop> {
        let format = to.first().map_or(SampleFormat::F32, SamplesMut::format);
        let total = self.sizes.launches(self.gpu.runtime.limits());
        let slot = self.gpu.bm3d.slots.take(&*self.gpu.runtime)?;
        let Some(mut started) = self.start(slot, source, format, &mut Steps { control, done: 0, total })?
        else {
            return Ok(false);
        };
        match self.finish(&mut started, to) {
            Ok(()) => Ok(true),
            Err(stop) => {
                started.slot.discard();
                Err(stop)
            }
        }
    }

    /// A frame part by part, each with as many rows as go through at once.
    fn in_parts(&self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        let (width, halo) = (self.window.width, self.plan.halo());
        let limits = self.gpu.runtime.limits();
        // Half of what is said to fit: others may have some of the memory.
        let rows = self.sizes.most_pixels(self.gpu.tile, limits) / 2 / width;
        let rows = rows.saturating_sub(2 * halo).max(LEAST_TILE);
        let parts = self.plan.cut(self.window.height.div_ceil(rows), halo);
        if self.plan.part().is_some() || parts.len() < 2 {
            let bytes = (width * self.window.height * 4) as u64;
            return Err(Error::DeviceMemory { device: self.gpu.runtime.name().to_owned(), bytes });
        }
        for (i, part) in parts.iter().enumerate() {
            let samples = |rows: Range<usize>| rows.start * width..rows.end * width;
            let [planes, guide] = [frame.planes, frame.guide]
                .map(|planes| planes.iter().map(|p| p.part(samples(part.read()))).collect::<Vec<_>>());
            let n = part.read().len() * width;
            let mut out: Vec<SampleBuffer> = to.iter().map(|p| SampleBuffer::new(p.format(), n)).collect();
            let mut results: Vec<SamplesMut<'_>> = out.iter_mut().map(SampleBuffer::view_mut).collect();
            let frames = Self::new(&self.gpu, &self.plan.of(part))?;
            let source = frames.source(&Input { planes: &planes, guide: &guide });
            let control = control.sections(i..i + 1, parts.len());
            if !frames.whole(&source, &mut results, &control).map_err(|stop| self.gpu.stopped(stop))? {
                let bytes = (n * 4) as u64;
                return Err(Error::DeviceMemory { device: self.gpu.runtime.name().to_owned(), bytes });
            }
            for (to, from) in to.iter_mut().zip(&out) {
                to.copy(samples(part.write()).start, from.view().part(samples(part.kept())));
            }
        }
        Ok(())
    }

    fn keep(&mut self, frame: &Input<'_>) -> Kept {
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.keep(frame);
        kept
    }
}

impl<R: Runtime> Sequence for Frames<R> {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        control.check()?;
        let format = self.to.or(one_format(frame.planes.iter().map(Samples::format)));
        let started = match format {
            Some(to) if self.in_one() => {
                let source = self.source(frame);
                let slot = self.slots.pop().map_or_else(
                    || self.gpu.bm3d.slots.take_another(&*self.gpu.runtime).map_err(Stop::from),
                    Ok,
                );
                let mut steps = Steps { control, done: 0, total: 1 };
                let started = slot.and_then(|slot| self.start(slot, &source, to, &mut steps));
                started.map_err(|stop| self.gpu.stopped(stop))?
            }
            _ => None,
        };
        let running = match started {
            Some(mut started) => {
                started.kept = self.to.is_none().then(|| self.keep(frame));
                Running::Started(Box::new(started))
            }
            None => Running::Waiting(self.keep(frame)),
        };
        self.running.push_back(running);
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_output(to)?;
        let format = one_format(to.iter().map(SamplesMut::format));
        self.to = format;
        let kept = match self.running.pop_front().ok_or_else(nothing_left)? {
            Running::Started(mut started) if format == Some(started.to) => {
                match self.finish(&mut started, to) {
                    Ok(()) => self.slots.push(started.slot),
                    Err(stop) => {
                        started.slot.discard();
                        return Err(self.gpu.stopped(stop));
                    }
                }
                self.spare.extend(started.kept);
                return Ok(());
            }
            // Of another type than was taken for granted.
            Running::Started(started) => started
                .kept
                .ok_or_else(|| Error::Shape("the results of a video must be of one type".into()))?,
            Running::Waiting(kept) => kept,
        };
        kept.with(|frame| self.frame(frame, to, control))?;
        self.spare.push(kept);
        Ok(())
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        self.window.check_output(to)?;
        let floats: Vec<Vec<f32>>;
        let mut from = frame.planes.to_vec();
        if one_format(from.iter().map(Samples::format)).is_none() {
            floats = from.iter().map(|s| s.to_floats(1.0)).collect();
            from = floats.iter().map(|p| Samples::F32(p)).collect();
        }
        let (width, front) = (self.window.width, self.front);
        let frame = &Input { planes: &from, guide: frame.guide };
        let source = self.source(frame);
        in_one_format(to, front.white, |to| {
            if !self.sizes.plain() {
                if self.in_one() && self.whole(&source, to, control).map_err(|stop| self.gpu.stopped(stop))? {
                    return Ok(());
                }
                // Where memory is short, rounds go over parts of the picture, and of BM3D, whose tiles have one size, the
                // sizes come one after the other.
                return match self.plan.work() {
                    Work::Ridge(_) => self.in_parts(frame, to, control),
                    _ => self.gpu.opened(&self.plan, Takes::Colors)?.frame(frame, to, control),
                };
            }
            let format = to.first().map_or(SampleFormat::F32, SamplesMut::format);
            let mut sink = samples_sink(to, format.into(), width);
            self.gpu.run(self.sizes.plan(), &source, &mut sink, front, control)
        })
    }

    fn lent(&mut self, from: &[DeviceSamples], to: &[DeviceSamples], control: &Control) -> Result<()> {
        if self.window.guides > 0 {
            let why = "averages of frames in device memory are not offered; use samples in host memory";
            return Err(Error::Unsupported(why.into()));
        }
        if !self.sizes.plain() {
            return Err(front::host_only());
        }
        self.gpu.run_lent(self.sizes.plan(), from, to, self.front, control)
    }
}

impl<R: Runtime> Drop for Frames<R> {
    fn drop(&mut self) {
        for running in self.running.drain(..) {
            let Running::Started(started) = running else { continue };
            // Whatever is still queued reads memory of the slot.
            if self.gpu.runtime.finish(&started.slot.queue).is_err() {
                started.slot.discard();
            }
        }
    }
}

/// The type of all planes, if they have one.
fn one_format(mut formats: impl Iterator<Item = SampleFormat>) -> Option<SampleFormat> {
    let first = formats.next().unwrap_or(SampleFormat::F32);
    formats.all(|f| f == first).then_some(first)
}

/// Has `fill` write planes of one type: these, or floats where these differ.
fn in_one_format(
    to: &mut [SamplesMut<'_>],
    white: f32,
    fill: impl FnOnce(&mut [SamplesMut<'_>]) -> Result<()>,
) -> Result<()> {
    if one_format(to.iter().map(SamplesMut::format)).is_some() {
        return fill(to);
    }
    let mut floats: Vec<Vec<f32>> = to.iter().map(|p| vec![0.0; p.len()]).collect();
    fill(&mut floats.iter_mut().map(|p| SamplesMut::F32(p)).collect::<Vec<_>>())?;
    to.iter_mut().zip(&floats).for_each(|(to, plane)| to.store(plane, 1.0, white));
    Ok(())
}
