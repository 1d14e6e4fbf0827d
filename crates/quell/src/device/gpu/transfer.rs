//! The way of samples to a device and back, for methods that work on sequences of frames, and what such a sequence
//! occupies, kept for the next one: page-locked memory takes longer to get than a frame to filter.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::growing::Growing;
use super::{GpuError, GpuResult, Runtime};
use crate::device::{SampleFormat, Samples, SamplesMut};

/// Frames of more bytes than this are copied by a thread for each plane: that takes longer than the kernels.
const LARGE: usize = 4 << 20;

/// A queue, and memory of the host and of the device for frames on their way.
pub(crate) struct Transfer<R: Runtime> {
    pub(crate) queue: R::Queue,
    /// Frames on their way to the device: one is copied by the device while the next is copied by the host.
    up: [Staged<R>; 2],
    /// Results on their way back, the oldest first.
    coming: VecDeque<Coming<R>>,
    /// Host memory for the next ones.
    down: Vec<Growing<R::Staging>>,
    /// Samples as they were sent, guide planes behind the others.
    pub(crate) samples: Growing<R::Buffer>,
    /// The result.
    pub(crate) out: Growing<R::Buffer>,
}

/// Host memory, and the point at which the device has read it.
struct Staged<R: Runtime> {
    staging: Growing<R::Staging>,
    read: Option<R::Event>,
}

/// A result on its way: it is there when `there` has been passed.
struct Coming<R: Runtime> {
    staging: Growing<R::Staging>,
    there: R::Event,
    format: SampleFormat,
}

impl<R: Runtime> Transfer<R> {
    pub(crate) fn new(runtime: &R) -> GpuResult<Self> {
        Ok(Self {
            queue: runtime.queue()?,
            up: [0; 2].map(|_| Staged { staging: Growing::default(), read: None }),
            coming: VecDeque::new(),
            down: Vec::new(),
            samples: Growing::default(),
            out: Growing::default(),
        })
    }

    /// Device memory in use.
    pub(crate) fn bytes(&self) -> usize {
        self.samples.bytes() + self.out.bytes()
    }

    /// Sends planes as samples of this type, and behind them, from [`guide_at`] on, planes of floats.
    pub(crate) fn send(
        &mut self,
        runtime: &R,
        planes: &[Samples<'_>],
        guide: &[Samples<'_>],
        format: SampleFormat,
    ) -> GpuResult<()> {
        let pixels = planes.first().map_or(0, Samples::len);
        let guide_at = guide_at(planes.len(), pixels, format);
        let bytes = guide_at + 4 * guide.len() * pixels;
        self.up.swap(0, 1);
        let Staged { staging, read } = &mut self.up[0];
        if let Some(event) = read.take() {
            runtime.wait(&event)?;
        }
        let staging = staging.get(bytes, |n| runtime.staging(n))?;
        let (to_planes, to_guide) = staging.split_at_mut(guide_at);
        let planes = to_planes.chunks_exact_mut(pixels * format.bytes()).zip(planes);
        let planes = planes.map(|(to, from)| (to, from, format));
        let guide = to_guide.chunks_exact_mut(4 * pixels).zip(guide);
        let guide = guide.map(|(to, from)| (to, from, SampleFormat::F32));
        let copy = |(to, from, format): (&mut [u8], &Samples<'_>, SampleFormat)| copy_in(to, *from, format);
        if bytes < LARGE {
            planes.chain(guide).for_each(copy);
        } else {
            planes.chain(guide).collect::<Vec<_>>().into_par_iter().for_each(copy);
        }
        let samples = self.samples.get(bytes, |n| runtime.alloc(n))?;
        runtime.write(&self.queue, samples, staging, bytes)?;
        *read = Some(runtime.mark(&self.queue)?);
        Ok(())
    }

    /// Has the result, which is of this type and takes so many bytes, come to the host when it is there.
    pub(crate) fn call(&mut self, runtime: &R, bytes: usize, format: SampleFormat) -> GpuResult<()> {
        let out = self.out.get(bytes, |n| runtime.alloc(n))?;
        let mut staging = self.down.pop().unwrap_or_default();
        runtime.read(&self.queue, staging.get(bytes, |n| runtime.staging(n))?, out, bytes)?;
        let there = runtime.mark(&self.queue)?;
        self.coming.push_back(Coming { staging, there, format });
        Ok(())
    }

    /// The type of the oldest result that was called.
    pub(crate) fn called(&self) -> Option<SampleFormat> {
        self.coming.front().map(|coming| coming.format)
    }

    /// Waits for the oldest result that was called, and stores it.
    pub(crate) fn fetch(&mut self, runtime: &R, to: &mut [SamplesMut<'_>], white: f32) -> GpuResult<()> {
        let Some(Coming { mut staging, there, format }) = self.coming.pop_front() else {
            return Err(GpuError::Driver { call: "fetch", reason: "no result was called".into() });
        };
        runtime.wait(&there)?;
        let plane = to.first().map_or(0, |to| to.len()) * format.bytes();
        let down = staging.get(to.len() * plane, |n| runtime.staging(n))?;
        for (to, from) in to.iter_mut().zip(down.chunks_exact(plane.max(1))) {
            copy_out(to, from, format, white);
        }
        self.down.push(staging);
        Ok(())
    }

    /// Forgets results that nobody will fetch; the queue must have been finished.
    pub(crate) fn forget(&mut self) {
        self.down.extend(self.coming.drain(..).map(|coming| coming.staging));
    }
}

/// Bytes from the start of the samples to those of the guide.
pub(crate) fn guide_at(planes: usize, pixels: usize, format: SampleFormat) -> usize {
    (planes * pixels * format.bytes()).next_multiple_of(4)
}

/// The one type that planes travel in: their own, or floats where they differ.
pub(crate) fn one_format(mut formats: impl Iterator<Item = SampleFormat>) -> SampleFormat {
    let first = formats.next().unwrap_or(SampleFormat::F32);
    if formats.all(|f| f == first) { first } else { SampleFormat::F32 }
}

/// Its name in the kernels.
pub(crate) fn c_type(format: SampleFormat) -> &'static str {
    match format {
        SampleFormat::U8 => "uchar",
        SampleFormat::U16 => "ushort",
        SampleFormat::F32 => "float",
    }
}

/// The largest sample of a type.
pub(crate) fn most(format: SampleFormat) -> f32 {
    match format {
        SampleFormat::U8 => 255.0,
        SampleFormat::U16 => 65535.0,
        SampleFormat::F32 => f32::MAX,
    }
}

/// Samples as bytes of this type, their own or floats.
fn copy_in(to: &mut [u8], from: Samples<'_>, format: SampleFormat) {
    match (from, format) {
        (Samples::U8(from), SampleFormat::U8) => to.copy_from_slice(from),
        (Samples::U16(from), SampleFormat::U16) => {
            to.as_chunks_mut().0.iter_mut().zip(from).for_each(|(to, v)| *to = v.to_ne_bytes());
        }
        (Samples::F32(from), _) => {
            to.as_chunks_mut().0.iter_mut().zip(from).for_each(|(to, v)| *to = v.to_ne_bytes());
        }
        (from, _) => {
            let to = to.as_chunks_mut().0.iter_mut().enumerate();
            to.for_each(|(i, to)| *to = from.get(i).to_ne_bytes());
        }
    }
}

/// Samples from bytes of this type, their own or floats.
fn copy_out(to: &mut SamplesMut<'_>, from: &[u8], format: SampleFormat, white: f32) {
    match (to, format) {
        (SamplesMut::U8(to), SampleFormat::U8) => to.copy_from_slice(from),
        (SamplesMut::U16(to), SampleFormat::U16) => {
            to.iter_mut().zip(from.as_chunks().0).for_each(|(to, &v)| *to = u16::from_ne_bytes(v));
        }
        (SamplesMut::F32(to), _) => {
            to.iter_mut().zip(from.as_chunks().0).for_each(|(to, &v)| *to = f32::from_ne_bytes(v));
        }
        (to, _) => {
            let floats: Vec<f32> = from.as_chunks().0.iter().map(|&v| f32::from_ne_bytes(v)).collect();
            to.store(&floats, 1.0, white);
        }
    }
}

/// Sequences whose memory is kept.
const KEPT: usize = 3;

/// The memory of sequences that have ended.
pub(crate) struct Kept<M>(Mutex<Vec<M>>);

impl<M> Default for Kept<M> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<M> Kept<M> {
    /// Some memory, if there is any.
    pub(crate) fn take(&self) -> Option<M> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Nothing may be at work on it any more.
    pub(crate) fn give(&self, memory: M) {
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
