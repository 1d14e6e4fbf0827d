//! Averages of frames ([`Frames::Counted`](crate::method::Frames::Counted)): of how many each pixel is one lies behind the
//! samples, in rows of floats without gaps, on the way to the device as well as on it.

use super::program::Format;
use crate::device::Samples;
use crate::device::gpu::growing::Growing;
use crate::device::gpu::{Arg, GpuResult, Runtime, buffer, int};

/// Where the counts of a tile are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Floats before them.
    first: usize,
    /// From one row to the next.
    width: usize,
    pixels: usize,
}

impl Counts {
    /// Behind so many channels of `pixels` samples, in rows of `width`.
    pub(crate) fn behind(channels: usize, pixels: usize, width: usize, format: Format) -> Self {
        Self { first: (channels * pixels * format.bytes()).div_ceil(4), width, pixels }
    }

    /// Bytes before them.
    pub(crate) fn at(&self) -> usize {
        4 * self.first
    }

    /// Bytes up to their end.
    pub(crate) fn end(&self) -> usize {
        4 * (self.first + self.pixels)
    }

    /// What kernels get behind their other arguments.
    pub(crate) fn args<'a, R: Runtime>(&self, samples: &'a Growing<R::Buffer>) -> GpuResult<[Arg<'a, R>; 3]> {
        Ok([buffer(samples)?, int(self.first), int(self.width)])
    }
}

/// The counts of a picture in host memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted<'a> {
    pub(crate) samples: Samples<'a>,
    /// The largest.
    pub(crate) most: f32,
}

impl<'a> Counted<'a> {
    /// Counts are 1 at least.
    pub(crate) fn new(samples: Samples<'a>) -> Self {
        let most = match samples {
            Samples::F32(all) => all.iter().fold(1.0, |most: f32, &n| most.max(n)),
            other => (0..other.len()).fold(1.0, |most: f32, i| most.max(other.get(i))),
        };
        Self { samples, most }
    }

    /// Those from sample `at` on, as bytes of floats.
    pub(crate) fn copy(&self, at: usize, to: &mut [u8]) {
        let to = to.as_chunks_mut().0.iter_mut();
        match self.samples {
            Samples::F32(all) => to.zip(&all[at..]).for_each(|(to, n)| *to = n.to_ne_bytes()),
            other => to.zip(at..).for_each(|(to, i)| *to = other.get(i).to_ne_bytes()),
        }
    }
}
