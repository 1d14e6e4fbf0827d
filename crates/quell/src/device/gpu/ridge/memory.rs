//! What the rounds of a picture occupy beside what its pilot does. Planes have the layout of the pilot's.

use crate::device::gpu::growing::Growing;
use crate::device::gpu::{GpuResult, Runtime};

/// Device memory of one size of a picture. The estimate is where the pilot left it, in the place of its sums.
pub(crate) struct Memory<R: Runtime> {
    /// The noisy channels as floats, where the pilot has them as halves.
    pub(crate) noisy: Vec<Growing<R::Buffer>>,
    /// What has noise left, of every channel.
    pub(super) z: Vec<Growing<R::Buffer>>,
    /// Displacements of all groups.
    pub(super) lists: Growing<R::Buffer>,
    /// How far a channel has come from the noisy one.
    pub(super) residue: Growing<R::Buffer>,
    /// Sums of a channel: of patches, and of their weights, all and those of what is new.
    pub(super) numerators: Growing<R::Buffer>,
    pub(super) all: Growing<R::Buffer>,
    pub(super) fresh: Growing<R::Buffer>,
}

impl<R: Runtime> Default for Memory<R> {
    fn default() -> Self {
        Self {
            noisy: Vec::new(),
            z: Vec::new(),
            lists: Growing::default(),
            residue: Growing::default(),
            numerators: Growing::default(),
            all: Growing::default(),
            fresh: Growing::default(),
        }
    }
}

/// Bytes of a pixel beyond those of the pilot, but for the lists.
pub(crate) fn pixel_bytes(channels: usize) -> usize {
    4 * (2 * channels + 4)
}

impl<R: Runtime> Memory<R> {
    /// Takes what planes of `elements` floats and lists of `entries` need, with noisy channels of its own if `noisy`.
    pub(super) fn allocate(
        &mut self,
        channels: usize,
        elements: usize,
        entries: usize,
        noisy: bool,
        mut make: impl FnMut(usize) -> GpuResult<R::Buffer>,
    ) -> GpuResult<()> {
        for (planes, used) in [(&mut self.noisy, noisy), (&mut self.z, true)] {
            planes.resize_with(planes.len().max(channels), Growing::default);
            for plane in planes.iter_mut().take(if used { channels } else { 0 }) {
                plane.get(4 * elements, &mut make)?;
            }
        }
        for plane in [&mut self.residue, &mut self.numerators, &mut self.all, &mut self.fresh] {
            plane.get(4 * elements, &mut make)?;
        }
        self.lists.get((2 * entries).next_multiple_of(4), &mut make)?;
        Ok(())
    }

    pub(crate) fn bytes(&self) -> usize {
        let single = [&self.lists, &self.residue, &self.numerators, &self.all, &self.fresh];
        single.into_iter().chain(&self.noisy).chain(&self.z).map(Growing::bytes).sum()
    }
}
