//! Frames as video has them: planes of integers, chroma perhaps at a lower resolution.

use crate::device::{SampleBuffer, SampleFormat};
use crate::{Error, Result};

/// The planes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Luma alone.
    Mono,
    /// Luma, and two chroma planes of half the width and height.
    Yuv420,
    /// Luma, and two chroma planes of half the width.
    Yuv422,
    /// Luma and two chroma planes of the same size.
    Yuv444,
    /// Red, green and blue.
    Rgb,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Self; 5] = [Self::Mono, Self::Yuv420, Self::Yuv422, Self::Yuv444, Self::Rgb];

    /// The name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mono => "mono",
            Self::Yuv420 => "4:2:0",
            Self::Yuv422 => "4:2:2",
            Self::Yuv444 => "4:4:4",
            Self::Rgb => "RGB",
        }
    }

    /// Number of planes.
    pub fn planes(self) -> usize {
        if self == Self::Mono { 1 } else { 3 }
    }

    /// Luma columns and rows per chroma sample.
    pub fn subsampling(self) -> (usize, usize) {
        match self {
            Self::Yuv420 => (2, 2),
            Self::Yuv422 => (2, 1),
            Self::Mono | Self::Yuv444 | Self::Rgb => (1, 1),
        }
    }
}

/// What all frames of a video have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoFormat {
    /// Columns of luma.
    pub width: usize,
    /// Rows of luma.
    pub height: usize,
    /// The planes.
    pub layout: Layout,
    /// The type of the samples.
    pub sample: SampleFormat,
    /// The largest sample value: 255 for 8 bits, 1023 for 10.
    pub white: f32,
}

impl VideoFormat {
    /// Integer samples of 8 to 16 bits.
    ///
    /// ```
    /// use quell::{Layout, VideoFormat};
    /// let format = VideoFormat::with_bits(1921, 1080, Layout::Yuv420, 10)?;
    /// assert_eq!((format.white, format.plane_size(1)), (1023.0, (961, 540)));
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn with_bits(width: usize, height: usize, layout: Layout, bits: u32) -> Result<Self> {
        if width == 0 || height == 0 {
            return Err(Error::Shape(format!("frames of {width} x {height} pixels are empty")));
        }
        if !(8..=16).contains(&bits) {
            return Err(Error::parameter("bits", bits, "must be from 8 to 16"));
        }
        let sample = if bits == 8 { SampleFormat::U8 } else { SampleFormat::U16 };
        Ok(Self { width, height, layout, sample, white: ((1u32 << bits) - 1) as f32 })
    }

    /// Columns and rows of a plane. Odd luma sizes are rounded up.
    pub fn plane_size(&self, plane: usize) -> (usize, usize) {
        let (x, y) = if plane == 0 { (1, 1) } else { self.layout.subsampling() };
        (self.width.div_ceil(x), self.height.div_ceil(y))
    }

    /// Samples of a plane.
    pub fn plane_len(&self, plane: usize) -> usize {
        let (width, height) = self.plane_size(plane);
        width * height
    }

    /// Bytes of a frame as it is stored, without gaps.
    pub fn frame_bytes(&self) -> usize {
        (0..self.layout.planes()).map(|p| self.plane_len(p)).sum::<usize>() * self.sample.bytes()
    }

    /// A black frame.
    pub fn frame(&self) -> VideoFrame {
        let plane = |p| SampleBuffer::new(self.sample, self.plane_len(p));
        VideoFrame { planes: (0..self.layout.planes()).map(plane).collect() }
    }

    /// The frame must have this format.
    pub fn check(&self, frame: &VideoFrame) -> Result<()> {
        let fits = |(i, p): (usize, &SampleBuffer)| {
            p.view().format() == self.sample && p.view().len() == self.plane_len(i)
        };
        if frame.planes.len() == self.layout.planes() && frame.planes.iter().enumerate().all(fits) {
            return Ok(());
        }
        Err(Error::Shape(format!(
            "the frame is not {} x {} {} in samples of {} bytes",
            self.width,
            self.height,
            self.layout.name(),
            self.sample.bytes()
        )))
    }
}

/// One frame.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoFrame {
    /// Its planes, rows one after the other without gaps.
    pub planes: Vec<SampleBuffer>,
}
