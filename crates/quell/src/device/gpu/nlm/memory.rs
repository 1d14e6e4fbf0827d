//! What a sequence occupies on the device.

use crate::device::gpu::growing::Growing;
use crate::device::gpu::transfer::Transfer;
use crate::device::gpu::{GpuResult, Runtime};

/// One frame, padded: guide planes and planes of floats, or the plane of bytes and the norms of its patches, or both.
pub(crate) struct Frame<R: Runtime> {
    pub(super) floats: Growing<R::Buffer>,
    pub(super) bytes: Growing<R::Buffer>,
    pub(super) norms: Growing<R::Buffer>,
}

impl<R: Runtime> Default for Frame<R> {
    fn default() -> Self {
        Self { floats: Growing::default(), bytes: Growing::default(), norms: Growing::default() }
    }
}

impl<R: Runtime> Frame<R> {
    fn bytes(&self) -> usize {
        self.floats.bytes() + self.bytes.bytes() + self.norms.bytes()
    }
}

/// Memory of one sequence.
pub(crate) struct Memory<R: Runtime> {
    pub(super) transfer: Transfer<R>,
    /// Sums between one frame and the next: of weights, their maxima, of samples.
    pub(super) sums: Growing<R::Buffer>,
    /// The same of patchwise averages, which need those of the weights to the end.
    pub(super) patch_sums: Growing<R::Buffer>,
    /// Of frames that nobody needs any more.
    pub(super) spare: Vec<Frame<R>>,
}

impl<R: Runtime> Memory<R> {
    pub(super) fn new(runtime: &R) -> GpuResult<Self> {
        let (sums, patch_sums) = (Growing::default(), Growing::default());
        Ok(Self { transfer: Transfer::new(runtime)?, sums, patch_sums, spare: Vec::new() })
    }

    /// Device memory in use, with that of `frames`.
    pub(super) fn bytes<'a>(&'a self, frames: impl Iterator<Item = &'a Frame<R>>) -> usize {
        self.transfer.bytes()
            + self.sums.bytes()
            + self.patch_sums.bytes()
            + frames.chain(&self.spare).map(Frame::bytes).sum::<usize>()
    }
}
