//! Isoline filters on a GPU: planes of floats in device memory, stage by stage, once for every runtime.

mod average;
#[cfg(all(test, feature = "cuda"))]
mod compile_tests;
mod frames;
mod lines;
#[cfg(all(test, any(feature = "emulator", feature = "opencl")))]
pub(crate) mod lines_tests;
mod program;
mod rounds;
mod shape;
#[cfg(all(test, any(feature = "emulator", feature = "opencl")))]
pub(crate) mod tests;

use super::clock::{Clock, Times, measure};
use super::{Gpu, Runtime, Stop};
use crate::device::{Input, Sequence};
use crate::isoline::{Map, Plan};
use crate::{Control, Error, Result};
use frames::Frames;
pub(crate) use frames::Memory;

impl<R: Runtime> Gpu<R> {
    /// A sequence without frames.
    pub(super) fn isoline_frames(&self, plan: &Plan) -> Result<Frames<R>> {
        let (runtime, library, kept) = (self.runtime.clone(), self.library.clone(), self.isoline.clone());
        Frames::new(runtime, library, kept, plan).map_err(|e| self.stopped(e))
    }

    /// Whether this knows the map. The paper's filters have it at hand; the others are left to the processor.
    pub(super) fn knows(&self, plan: &Plan, map: Map) -> Result<()> {
        if plan.variant.is_blind() || map == Map::Edges {
            return Ok(());
        }
        Err(Error::Unsupported(format!(
            "{}: {} of variant {} are told by the processor only",
            self.runtime.name(),
            map.name(),
            plan.variant.name()
        )))
    }

    /// Filters the last but `future` of `frames` again and again.
    pub(super) fn isoline_repeated(&self, plan: &Plan, frames: &[Input<'_>], repeat: usize) -> Result<Times> {
        let (control, mut all) = (Control::new(), self.isoline_frames(plan)?);
        let (Some(at), Some(last)) = (frames.len().checked_sub(1 + plan.future), frames.last()) else {
            return Err(Error::Shape(format!("{} frames are too few", frames.len())));
        };
        frames.iter().try_for_each(|frame| all.push(frame, &control))?;
        all.frames.skip_to(at);
        let format = last.planes.first().map_or(crate::device::SampleFormat::F32, |s| s.format());
        let times = measure(repeat, |grain| {
            let mut clock = Clock::start(&*self.runtime, all.queue(), grain)?;
            all.arrive(&mut clock)?;
            all.filter(at, format, &mut clock, &control)?;
            self.runtime.finish(all.queue())?;
            Ok(clock.read(&*self.runtime)?)
        });
        let mut times = times.map_err(|e: Stop| self.stopped(e))?;
        times.device_bytes = all.device_bytes();
        Ok(times)
    }
}
