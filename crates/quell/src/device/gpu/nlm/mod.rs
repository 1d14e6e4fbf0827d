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

use super::{Gpu, Runtime};
use crate::Result;
use crate::nlm::Plan;
use frames::Frames;
pub(crate) use memory::Memory;

impl<R: Runtime> Gpu<R> {
    /// A sequence without frames.
    pub(super) fn nlm_frames(&self, plan: &Plan) -> Result<Frames<R>> {
        let (runtime, library, kept) = (self.runtime.clone(), self.library.clone(), self.nlm.clone());
        Frames::new(runtime, library, kept, plan).map_err(|e| self.error(e))
    }
}
