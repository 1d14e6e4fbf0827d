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

use super::{Gpu, Runtime};
use crate::isoline::{Map, Plan};
use crate::{Error, Result};
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
}
