//! What a sequence occupies, kept for the next one: page-locked memory takes longer to get than a frame to filter.

use std::sync::{Mutex, PoisonError};

use crate::device::gpu::growing::Growing;
use crate::device::gpu::{GpuResult, Runtime};

/// Sequences whose memory is kept.
const KEPT: usize = 3;

/// One frame, padded: guide planes and planes of floats, or the plane of bytes and the norms of its patches, or both.
pub(super) struct Frame<R: Runtime> {
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

/// A queue, and memory of the host and of the device.
pub(super) struct Memory<R: Runtime> {
    pub(super) queue: R::Queue,
    /// On its way to the device.
    pub(super) up: Growing<R::Staging>,
    /// On its way back.
    pub(super) down: Growing<R::Staging>,
    /// Samples as they were sent, guide planes behind the others.
    pub(super) samples: Growing<R::Buffer>,
    /// Sums between one frame and the next: of weights, their maxima, of samples.
    pub(super) sums: Growing<R::Buffer>,
    /// The same of patchwise averages, which need those of the weights to the end.
    pub(super) patch_sums: Growing<R::Buffer>,
    /// The result.
    pub(super) out: Growing<R::Buffer>,
    /// Of frames that nobody needs any more.
    pub(super) spare: Vec<Frame<R>>,
}

impl<R: Runtime> Memory<R> {
    fn new(runtime: &R) -> GpuResult<Self> {
        Ok(Self {
            queue: runtime.queue()?,
            up: Growing::default(),
            down: Growing::default(),
            samples: Growing::default(),
            sums: Growing::default(),
            patch_sums: Growing::default(),
            out: Growing::default(),
            spare: Vec::new(),
        })
    }

    /// Device memory in use, with that of `frames`.
    pub(super) fn bytes<'a>(&'a self, frames: impl Iterator<Item = &'a Frame<R>>) -> usize {
        let single = [&self.samples, &self.sums, &self.patch_sums, &self.out];
        single.into_iter().map(Growing::bytes).sum::<usize>()
            + frames.chain(&self.spare).map(Frame::bytes).sum::<usize>()
    }
}

/// The memory of sequences that have ended.
pub(crate) struct Kept<R: Runtime>(Mutex<Vec<Memory<R>>>);

impl<R: Runtime> Default for Kept<R> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<R: Runtime> Kept<R> {
    pub(super) fn take(&self, runtime: &R) -> GpuResult<Memory<R>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.map_or_else(|| Memory::new(runtime), Ok)
    }

    /// Nothing may be at work on it any more.
    pub(super) fn give(&self, memory: Memory<R>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(memory);
        }
    }

    /// Gives memory that nobody uses back to the device.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        drop(all);
    }
}
