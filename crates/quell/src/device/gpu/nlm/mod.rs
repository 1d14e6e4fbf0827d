//! NL-means on a GPU: frames in device memory, and all displacements into one of them in one launch, once for every
//! runtime.

#[cfg(all(test, feature = "cuda"))]
mod compile_tests;
mod frames;
mod memory;
mod program;
mod setup;
mod shape;
#[cfg(all(test, any(feature = "emulator", feature = "opencl")))]
pub(crate) mod tests;

use super::clock::{Clock, Times, measure};
use super::{Gpu, Runtime, Stop};
use crate::device::{Input, Sequence};
use crate::nlm::Plan;
use crate::{Control, Error, Result};
use frames::Frames;
pub(crate) use memory::Memory;

impl<R: Runtime> Gpu<R> {
    /// A sequence without frames.
    pub(super) fn nlm_frames(&self, plan: &Plan) -> Result<Frames<R>> {
        let (runtime, library, kept) = (self.runtime.clone(), self.library.clone(), self.nlm.clone());
        Frames::new(runtime, library, kept, plan).map_err(|e| self.error(e))
    }

    /// Filters the last but `future` of `frames` again and again. A repetition takes what a frame of a video takes: one
    /// frame is padded, and one is filtered.
    pub(super) fn nlm_repeated(&self, plan: &Plan, frames: &[Input<'_>], repeat: usize) -> Result<Times> {
        let (control, mut all) = (Control::new(), self.nlm_frames(plan)?);
        for frame in frames {
            all.push(frame, &control)?;
        }
        let (Some(at), Some(last)) = (frames.len().checked_sub(1 + plan.future), frames.last()) else {
            return Err(Error::Shape(format!("{} frames are too few", frames.len())));
        };
        let format = last.planes.first().map_or(crate::device::SampleFormat::F32, |s| s.format());
        let times = measure(repeat, |grain| {
            let mut clock = Clock::start(&*self.runtime, all.queue(), grain)?;
            all.ingest_again(&mut clock)?;
            all.filter(at, format, &mut clock, &control)?;
            self.runtime.finish(all.queue())?;
            Ok(clock.read(&*self.runtime)?)
        });
        let mut times = times.map_err(|e: Stop| self.stopped(e))?;
        times.device_bytes = all.device_bytes();
        Ok(times)
    }
}
