//! A GPU, whatever drives it.

use std::sync::Arc;

use super::library::Library;
use super::transfer::Kept;
use super::{GpuError, Runtime, Stop, average, bm3d, isoline, nlm};
use crate::Error;
use crate::device::DeviceInfo;

/// A GPU that carries out plans. Copies are of the same device: sequences have one.
pub(crate) struct Gpu<R: Runtime> {
    pub(super) runtime: Arc<R>,
    pub(super) info: DeviceInfo,
    /// Side of the tiles; 0 is what the memory allows.
    pub(super) tile: usize,
    pub(super) library: Arc<Library<R>>,
    pub(super) bm3d: Arc<bm3d::Kept<R>>,
    /// Sequences give back what they took.
    pub(super) nlm: Arc<Kept<nlm::Memory<R>>>,
    pub(super) isoline: Arc<Kept<isoline::Memory<R>>>,
    pub(super) clips: Arc<Kept<average::Memory<R>>>,
}

impl<R: Runtime> Clone for Gpu<R> {
    fn clone(&self) -> Self {
        Self {
            runtime: self.runtime.clone(),
            info: self.info.clone(),
            tile: self.tile,
            library: self.library.clone(),
            bm3d: self.bm3d.clone(),
            nlm: self.nlm.clone(),
            isoline: self.isoline.clone(),
            clips: self.clips.clone(),
        }
    }
}

impl<R: Runtime> Gpu<R> {
    /// A device that is ready; `tile` is the side of tiles, 0 for as large as the memory allows.
    pub(crate) fn new(runtime: R, info: DeviceInfo, tile: usize) -> Self {
        let (runtime, library) = (Arc::new(runtime), Arc::default());
        Self {
            runtime,
            info,
            tile,
            library,
            bm3d: Arc::default(),
            nlm: Arc::default(),
            isoline: Arc::default(),
            clips: Arc::default(),
        }
    }

    /// What is driven.
    #[cfg(test)]
    pub(crate) fn runtime(&self) -> &R {
        &self.runtime
    }

    pub(super) fn error(&self, e: GpuError) -> Error {
        error(&*self.runtime, e)
    }

    pub(super) fn stopped(&self, stop: Stop) -> Error {
        stopped(&*self.runtime, stop)
    }
}

/// Why a GPU did not finish its work, with its name.
pub(super) fn stopped<R: Runtime>(runtime: &R, stop: Stop) -> Error {
    match stop {
        Stop::Gpu(e) => error(runtime, e),
        Stop::Error(e) => e,
    }
}

fn error<R: Runtime>(runtime: &R, e: GpuError) -> Error {
    let device = runtime.name().to_owned();
    match e {
        GpuError::OutOfMemory { bytes } => Error::DeviceMemory { device, bytes: bytes as u64 },
        other => Error::Device { device, reason: other.to_string() },
    }
}
