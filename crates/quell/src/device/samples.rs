//! Samples as cameras, files and video have them: integers or floats, in host or in device memory.

use crate::{Error, Result};

/// The type of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleFormat {
    /// 8-bit unsigned.
    U8,
    /// 16-bit unsigned in the machine's byte order; fewer bits lie at the low end (10-bit white is 1023).
    U16,
    /// 32-bit float.
    F32,
}

impl SampleFormat {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::U8, Self::U16, Self::F32];

    /// Bytes of a sample.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::F32 => 4,
        }
    }

    /// The name that `--sample` takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::F32 => "f32",
        }
    }

    /// The usual value of white.
    pub fn white(self) -> f32 {
        match self {
            Self::U8 => 255.0,
            Self::U16 => 65535.0,
            Self::F32 => 1.0,
        }
    }
}

/// One plane of samples, rows one after the other without gaps.
#[derive(Clone, Copy, Debug)]
pub enum Samples<'a> {
    /// 8-bit.
    U8(&'a [u8]),
    /// Up to 16-bit.
    U16(&'a [u16]),
    /// Float; may lie outside of `0..=white`.
    F32(&'a [f32]),
}

impl<'a> Samples<'a> {
    /// Number of samples.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(v) => v.len(),
            Self::U16(v) => v.len(),
            Self::F32(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their type.
    pub fn format(&self) -> SampleFormat {
        match self {
            Self::U8(_) => SampleFormat::U8,
            Self::U16(_) => SampleFormat::U16,
            Self::F32(_) => SampleFormat::F32,
        }
    }

    /// Sample `i` as it is stored.
    pub(crate) fn get(&self, i: usize) -> f32 {
        match self {
            Self::U8(v) => v[i].into(),
            Self::U16(v) => v[i].into(),
            Self::F32(v) => v[i],
        }
    }

    /// Some of the samples.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> Samples<'a> {
        match self {
            Self::U8(v) => Samples::U8(&v[range]),
            Self::U16(v) => Samples::U16(&v[range]),
            Self::F32(v) => Samples::F32(&v[range]),
        }
    }

    /// A copy to keep.
    pub fn to_buffer(&self) -> SampleBuffer {
        match self {
            Self::U8(v) => SampleBuffer::U8(v.to_vec()),
            Self::U16(v) => SampleBuffer::U16(v.to_vec()),
            Self::F32(v) => SampleBuffer::F32(v.to_vec()),
        }
    }

    /// The same into memory that is there.
    pub(crate) fn clone_into(&self, to: &mut SampleBuffer) {
        fn fill<T: Copy>(to: &mut Vec<T>, from: &[T]) {
            to.clear();
            to.extend_from_slice(from);
        }
        match (self, to) {
            (Self::U8(from), SampleBuffer::U8(to)) => fill(to, from),
            (Self::U16(from), SampleBuffer::U16(to)) => fill(to, from),
            (Self::F32(from), SampleBuffer::F32(to)) => fill(to, from),
            (_, to) => *to = self.to_buffer(),
        }
    }

    /// As floats, every sample times `scale`.
    pub fn to_floats(self, scale: f32) -> Vec<f32> {
        match self {
            Self::U8(v) => v.iter().map(|&v| f32::from(v) * scale).collect(),
            Self::U16(v) => v.iter().map(|&v| f32::from(v) * scale).collect(),
            Self::F32(v) => v.iter().map(|&v| v * scale).collect(),
        }
    }
}

/// One plane of samples to write, rows one after the other without gaps.
#[derive(Debug)]
pub enum SamplesMut<'a> {
    /// 8-bit: rounded, and clipped to `0..=white`.
    U8(&'a mut [u8]),
    /// Up to 16-bit: rounded, and clipped to `0..=white`.
    U16(&'a mut [u16]),
    /// Float: as computed.
    F32(&'a mut [f32]),
}

impl SamplesMut<'_> {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their type.
    pub fn format(&self) -> SampleFormat {
        self.view().format()
    }

    /// The same for a while.
    pub(crate) fn lend(&mut self) -> SamplesMut<'_> {
        match self {
            Self::U8(v) => SamplesMut::U8(v),
            Self::U16(v) => SamplesMut::U16(v),
            Self::F32(v) => SamplesMut::F32(v),
        }
    }

    /// What is in them.
    pub fn view(&self) -> Samples<'_> {
        match self {
            Self::U8(v) => Samples::U8(v),
            Self::U16(v) => Samples::U16(v),
            Self::F32(v) => Samples::F32(v),
        }
    }

    /// Copies samples of the same type to `at` and behind it.
    pub(crate) fn copy(&mut self, at: usize, from: Samples<'_>) {
        match (self, from) {
            (Self::U8(to), Samples::U8(from)) => to[at..][..from.len()].copy_from_slice(from),
            (Self::U16(to), Samples::U16(from)) => to[at..][..from.len()].copy_from_slice(from),
            (Self::F32(to), Samples::F32(from)) => to[at..][..from.len()].copy_from_slice(from),
            _ => unreachable!("samples are copied to their own type only"),
        }
    }

    /// Writes floats, every one times `scale`; `white` is what integers are clipped to.
    pub fn store(&mut self, plane: &[f32], scale: f32, white: f32) {
        // The cast of a float truncates, and keeps to the limits of the integer.
        let whole = |v: f32| (v * scale).clamp(0.0, white) + 0.5;
        match self {
            Self::U8(to) => to.iter_mut().zip(plane).for_each(|(to, &v)| *to = whole(v) as u8),
            Self::U16(to) => to.iter_mut().zip(plane).for_each(|(to, &v)| *to = whole(v) as u16),
            Self::F32(to) => to.iter_mut().zip(plane).for_each(|(to, &v)| *to = v * scale),
        }
    }
}

/// One plane of samples of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleBuffer {
    /// 8-bit.
    U8(Vec<u8>),
    /// Up to 16-bit.
    U16(Vec<u16>),
    /// Float.
    F32(Vec<f32>),
}

impl SampleBuffer {
    /// Zeros.
    pub fn new(format: SampleFormat, samples: usize) -> Self {
        match format {
            SampleFormat::U8 => Self::U8(vec![0; samples]),
            SampleFormat::U16 => Self::U16(vec![0; samples]),
            SampleFormat::F32 => Self::F32(vec![0.0; samples]),
        }
    }

    /// The samples.
    pub fn view(&self) -> Samples<'_> {
        match self {
            Self::U8(v) => Samples::U8(v),
            Self::U16(v) => Samples::U16(v),
            Self::F32(v) => Samples::F32(v),
        }
    }

    /// The samples, to write into.
    pub fn view_mut(&mut self) -> SamplesMut<'_> {
        match self {
            Self::U8(v) => SamplesMut::U8(v),
            Self::U16(v) => SamplesMut::U16(v),
            Self::F32(v) => SamplesMut::F32(v),
        }
    }
}

/// One plane of samples in the memory of a CUDA device: `height` rows of `width` samples, as the plan says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSamples {
    address: u64,
    pitch_bytes: usize,
    format: SampleFormat,
}

impl DeviceSamples {
    /// Samples at a device address (`CUdeviceptr`), rows `pitch_bytes` apart.
    ///
    /// # Safety
    /// While it is in use, `address` must be the start of memory that the device may read (and write, if it is a
    /// result), in the primary context of that device, long enough for all rows, and that nothing else writes to. Work
    /// that fills it must have been waited for.
    pub unsafe fn new(address: u64, pitch_bytes: usize, format: SampleFormat) -> Self {
        Self { address, pitch_bytes, format }
    }

    /// The device address of the first sample.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes from one row to the next.
    pub fn pitch_bytes(&self) -> usize {
        self.pitch_bytes
    }

    /// The type of the samples.
    pub fn format(&self) -> SampleFormat {
        self.format
    }

    /// Rows that do not overlap, and samples that are aligned.
    pub(crate) fn check(&self, width: usize) -> Result<()> {
        let bytes = self.format.bytes();
        if self.address == 0 {
            return Err(Error::Shape("0 is no address in device memory".into()));
        }
        if self.pitch_bytes < width * bytes {
            return Err(Error::Shape(format!(
                "rows {} bytes apart are too close for {width} samples of {bytes} bytes",
                self.pitch_bytes
            )));
        }
        if !self.pitch_bytes.is_multiple_of(bytes) || !self.address.is_multiple_of(bytes as u64) {
            return Err(Error::Shape(format!(
                "samples of {bytes} bytes must lie at multiples of {bytes} bytes"
            )));
        }
        Ok(())
    }
}

/// What devices say whose memory has no addresses to share.
pub(crate) fn no_device_memory(device: &str) -> Error {
    Error::Unsupported(format!("{device}: a picture in device memory needs a CUDA device"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Control;

    #[test]
    fn integers_are_rounded_and_clipped_to_white() {
        let plane = [-3.0, 0.49, 0.5, 99.4, 200.0, 255.0, 900.0];
        let (mut a, mut b, mut c) = ([0u8; 7], [0u16; 7], [0f32; 7]);
        SamplesMut::U8(&mut a).store(&plane, 1.0, 255.0);
        assert_eq!(a, [0, 0, 1, 99, 200, 255, 255]);
        SamplesMut::U8(&mut a).store(&plane, 1.0, 1000.0);
        assert_eq!(a[6], 255, "the type is a limit too");
        SamplesMut::U16(&mut b).store(&plane, 4.0, 1020.0);
        assert_eq!(b, [0, 2, 2, 398, 800, 1020, 1020]);
        SamplesMut::F32(&mut c).store(&plane, 2.0, 510.0);
        assert_eq!(c, plane.map(|v| 2.0 * v));
    }

    #[test]
    fn pitches_and_addresses_of_device_memory_are_checked() {
        // SAFETY: never given to a device.
        let at = |address, pitch, format| unsafe { DeviceSamples::new(address, pitch, format) };
        assert!(at(64, 100, SampleFormat::U8).check(100).is_ok());
        assert!(at(64, 99, SampleFormat::U8).check(100).is_err());
        assert!(at(64, 202, SampleFormat::U16).check(100).is_ok());
        assert!(at(64, 201, SampleFormat::U16).check(100).is_err());
        assert!(at(66, 400, SampleFormat::F32).check(100).is_err());
        assert!(at(0, 400, SampleFormat::F32).check(100).is_err());
    }

    #[test]
    fn the_processor_has_no_device_memory() {
        // SAFETY: refused before anything is read.
        let at = unsafe { DeviceSamples::new(64, 64, SampleFormat::U8) };
        let denoiser = crate::Denoiser::bm3d(crate::bm3d::Profile::Fast).sigma(5.0);
        let denoiser = denoiser.device(crate::Device::Cpu).build().unwrap();
        let e = denoiser.denoise_device(64, 64, 255.0, &[at], &[at], &Control::new()).unwrap_err();
        assert_eq!(e.to_string(), "a picture in device memory needs BM3D on a CUDA device");
    }
}
