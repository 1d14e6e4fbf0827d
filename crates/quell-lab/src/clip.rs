//! Clips: given, or drawn with things that move over a background that moves.

use std::path::Path;

use quell::device::SampleBuffer;
use quell::{Control, Denoiser, Frame, Layout, Plane, VideoFormat, VideoFrame};
use quell_io::video::{VideoReadOptions, VideoReader};

use crate::material::part;
use crate::{Result, scene};

/// Frames, 8 bits.
pub(crate) struct Clip {
    pub(crate) format: VideoFormat,
    pub(crate) frames: Vec<Vec<Vec<u8>>>,
}

/// Pixels by which the background and the thing before it move from frame to frame.
const MOTION: ((usize, usize), (usize, usize)) = ((3, 1), (4, 2));

impl Clip {
    /// The first frames of a file, which must have 8 bits.
    pub(crate) fn read(path: &Path, count: usize) -> Result<Option<Self>> {
        let mut reader = VideoReader::open(path, &VideoReadOptions::default())?;
        let format = reader.info().format;
        let (mut frames, mut frame) = (Vec::new(), format.frame());
        while frames.len() < count && reader.next(&mut frame)? {
            let planes: Option<Vec<Vec<u8>>> = frame.planes.iter().map(bytes).collect();
            let Some(planes) = planes else { return Ok(None) };
            frames.push(planes);
        }
        Ok((!frames.is_empty()).then_some(Self { format, frames }))
    }

    /// A drawn clip with colours.
    pub(crate) fn draw(width: usize, height: usize, count: usize) -> Result<Self> {
        let ((bx, by), (tx, ty)) = MOTION;
        let behind = scene::draw(width + bx * count, height + by * count, 3)?;
        let (w, h) = (width / 4, height / 3);
        let before = scene::draw(w, h, 3)?;
        let format = VideoFormat::with_bits(width, height, Layout::Rgb, 8)?;
        let frame = |t: usize| -> Result<Vec<Vec<u8>>> {
            let mut frame = part(&behind, bx * t, by * t, width, height)?;
            let (left, top) = ((width / 2 + tx * t) % (width - w), (height / 3 + ty * t) % (height - h));
            for (plane, thing) in frame.planes_mut().iter_mut().zip(before.planes()) {
                for y in 0..h {
                    plane.row_mut(top + y)[left..left + w].copy_from_slice(thing.row(y));
                }
            }
            Ok(frame.planes().iter().map(|p| p.as_slice().iter().map(|v| *v as u8).collect()).collect())
        };
        Ok(Self { format, frames: (0..count).map(frame).collect::<Result<_>>()? })
    }

    /// The same with noise, rounded and clipped.
    pub(crate) fn noisy(&self, sigma: f32) -> Result<Self> {
        let mut frames = Vec::new();
        for (t, planes) in self.frames.iter().enumerate() {
            let add = |(i, plane): (usize, &Vec<u8>)| -> Result<Vec<u8>> {
                let (w, h) = self.format.plane_size(i);
                let floats = plane.iter().map(|v| f32::from(*v)).collect();
                let clean = Frame::grey(Plane::from_vec(w, h, floats)?, 255.0)?;
                let noisy = quell::noise::add_gaussian(&clean, sigma.into(), (1000 + 10 * t + i) as u64)?;
                Ok(noisy.planes()[0].as_slice().iter().map(|v| v.round().clamp(0.0, 255.0) as u8).collect())
            };
            frames.push(planes.iter().enumerate().map(add).collect::<Result<_>>()?);
        }
        Ok(Self { format: self.format, frames })
    }

    /// Every frame through a stream.
    pub(crate) fn filter(&self, denoiser: &Denoiser, control: Control) -> Result<Self> {
        let mut stream = denoiser.stream_with(self.format, control)?;
        let (mut frames, keep) = (Vec::new(), |done: Option<VideoFrame>, frames: &mut Vec<_>| match done {
            Some(frame) => {
                frames.push(frame.planes.iter().filter_map(bytes).collect::<Vec<_>>());
                true
            }
            None => false,
        });
        for planes in &self.frames {
            let frame = VideoFrame { planes: planes.iter().cloned().map(SampleBuffer::U8).collect() };
            keep(stream.push(frame)?, &mut frames);
        }
        while keep(stream.flush()?, &mut frames) {}
        Ok(Self { format: self.format, frames })
    }

    /// The mean of the PSNR of frames: of luma, or of all colours.
    pub(crate) fn psnr(&self, clean: &Self) -> f64 {
        let planes = if self.format.layout == Layout::Rgb { 3 } else { 1 };
        let of = |(a, b): (&Vec<Vec<u8>>, &Vec<Vec<u8>>)| {
            let pairs = a.iter().zip(b).take(planes).flat_map(|(a, b)| a.iter().zip(b));
            let (sum, n) = pairs.fold((0.0, 0usize), |(sum, n), (a, b)| {
                (sum + (f64::from(*a) - f64::from(*b)).powi(2), n + 1)
            });
            10.0 * (255.0 * 255.0 * n as f64 / sum.max(1e-9)).log10()
        };
        let all: Vec<f64> = self.frames.iter().zip(&clean.frames).map(of).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    }
}

fn bytes(plane: &SampleBuffer) -> Option<Vec<u8>> {
    match plane {
        SampleBuffer::U8(v) => Some(v.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell::bm3d::Profile;

    #[test]
    fn a_drawn_clip_moves_and_is_filtered_frame_by_frame() {
        let clean = Clip::draw(96, 64, 4).unwrap();
        assert_ne!(clean.frames[0], clean.frames[1]);
        let noisy = clean.noisy(20.0).unwrap();
        let denoiser = Denoiser::bm3d(Profile::Fast).sigma(20.0).device(quell::Device::Cpu).build().unwrap();
        let result = noisy.filter(&denoiser, Control::new()).unwrap();
        assert_eq!(result.frames.len(), 4);
        assert!(result.psnr(&clean) > noisy.psnr(&clean) + 5.0);
    }
}
