//! BM3D at work on the frames of a video. A frame is started when it comes: while it is copied in, others are filtered
//! and copied out, each in a slot of its own.

use std::collections::VecDeque;
use std::sync::Arc;

use super::kernels::Kernels;
use super::pass::{Front, Steps, TileRun};
use super::slot::Taken;
use super::source::{Source, samples_sink, samples_source, stored_as};
use super::{check, stage, tile_side, unstage, whole};
use crate::bm3d::Plan;
use crate::device::gpu::clock::Clock;
use crate::device::gpu::{Gpu, GpuError, Runtime, Stop};
use crate::device::singly::Kept;
use crate::device::{DeviceSamples, Input, SampleFormat, Samples, SamplesMut, Sequence, nothing_left};
use crate::method::Window;
use crate::{Control, Error, Result};

/// Frames in, frames out.
pub(crate) struct Frames<R: Runtime> {
    gpu: Gpu<R>,
    plan: Plan,
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
    kernels: Arc<Kernels<R>>,
    /// In case that results of another type are asked for.
    kept: Option<Kept>,
}

impl<R: Runtime> Frames<R> {
    pub(crate) fn new(gpu: &Gpu<R>, plan: &Plan, front: Front, window: Window) -> Result<Self> {
        check(plan, front)?;
        let (gpu, plan) = (gpu.clone(), plan.clone());
        let (running, slots, spare) = Default::default();
        Ok(Self { gpu, plan, front, window, running, to: None, slots, spare })
    }

    /// Whether a frame goes through in one tile.
    fn in_one(&self) -> bool {
        let side = match self.gpu.tile {
            0 => tile_side(&self.plan, self.gpu.runtime.limits()),
            side => side,
        };
        self.plan.width.max(self.plan.height) <= side
    }

    /// Starts a frame; nothing, if there is no memory for it.
    fn start(
        &mut self,
        source: &Source<'_>,
        to: SampleFormat,
        control: &Control,
    ) -> Result<Option<Started<R>>, Stop> {
        let runtime = self.gpu.runtime.clone();
        let formats = (source.format, to.into());
        let kernels = self.gpu.kernels(&self.plan, formats, source.halves, self.front.color)?;
        let mut slot = match self.slots.pop() {
            Some(slot) => slot,
            None => self.gpu.bm3d.slots.take_another(&*runtime)?,
        };
        let region = whole(&self.plan);
        let mut run = TileRun::new(&*runtime, &kernels, &self.plan, &region, &mut slot, self.front);
        let mut begin = || -> Result<(), Stop> {
            run.allocate(source.format.bytes().max(to.bytes()))?;
            stage(&mut run, &region, source)?;
            run.ingest(source.format, &mut Clock::off())?;
            let mut steps = Steps { control, done: 0, total: 1 };
            run.passes(0, to.into(), &mut Clock::off(), &mut steps)
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

    /// Waits for a frame.
    fn finish(&self, started: &mut Started<R>, to: &mut [SamplesMut<'_>]) -> Result<(), Stop> {
        let (runtime, region) = (&*self.gpu.runtime, whole(&self.plan));
        let Started { slot, kernels, .. } = started;
        let mut run = TileRun::new(runtime, kernels, &self.plan, &region, slot, self.front);
        runtime.finish(&run.slot.queue)?;
        let mut sink = samples_sink(to, started.to.into(), self.plan.width);
        Ok(unstage(&mut run, &region, &region, &mut sink)?)
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
                let stored = stored_as(frame.planes, self.front);
                let source = samples_source(frame.planes, stored, self.plan.width, self.front);
                self.start(&source, to, control).map_err(|stop| self.gpu.stopped(stop))?
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
        let (width, front) = (self.plan.width, self.front);
        let source = samples_source(&from, stored_as(&from, front), width, front);
        in_one_format(to, front.white, |to| {
            let format = to.first().map_or(SampleFormat::F32, SamplesMut::format);
            self.gpu.run(&self.plan, &source, &mut samples_sink(to, format.into(), width), front, control)
        })
    }

    fn lent(&mut self, from: &[DeviceSamples], to: &[DeviceSamples], control: &Control) -> Result<()> {
        self.gpu.run_lent(&self.plan, from, to, self.front, control)
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
