//! Planes of a video that are filtered together, and what they are compared on.

use std::collections::VecDeque;
use std::ops::Range;

use super::single::Single;
use super::{Layout, VideoFormat, VideoFrame};
use crate::denoiser::{Denoiser, Job, Shape, nlm_params};
use crate::device::{Encoding, Input, SampleBuffer, Samples, SamplesMut, Sequence};
use crate::method::Method;
use crate::nlm::Chroma;
use crate::{Control, Result};

/// Some planes of every frame.
pub(super) struct Lane {
    planes: Range<usize>,
    guide: Vec<Guide>,
    /// Where the guide planes of the present frame are made.
    made: Vec<Vec<f32>>,
    filter: Filter,
}

enum Filter {
    Sequence(Box<dyn Sequence>),
    /// There is no noise: the frames that wait, as they came.
    Copy(VecDeque<Vec<SampleBuffer>>),
}

/// A plane of unit noise that patches are compared on.
#[derive(Clone, Copy)]
enum Guide {
    /// A plane times this.
    Plane(usize, f32),
    /// Luma at the resolution of chroma, times this.
    SmallLuma(f32),
}

/// Cuts the frames of a video into lanes; `sigma` is the noise of every plane in its own units, 0 for none.
pub(super) fn lanes(denoiser: &Denoiser, format: &VideoFormat, sigma: &[f32]) -> Result<Vec<Lane>> {
    let own = |planes: Range<usize>| Lane::new(denoiser, format, planes, Vec::new(), sigma);
    let alone = || (0..sigma.len()).map(|p| own(p..p + 1)).collect::<Result<Vec<_>>>();
    let Method::Nlm(profile) = denoiser.spec.method else {
        return if format.layout == Layout::Rgb { Ok(vec![own(0..3)?]) } else { alone() };
    };
    let unit = |p: usize| Guide::Plane(p, 1.0 / sigma[p]);
    match format.layout {
        Layout::Mono => alone(),
        // One distance over all planes needs equal noise in all of them.
        Layout::Rgb | Layout::Yuv444 if sigma.iter().all(|s| *s == sigma[0]) => Ok(vec![own(0..3)?]),
        Layout::Rgb | Layout::Yuv444 if sigma.iter().all(|s| *s > 0.0) => {
            Ok(vec![Lane::new(denoiser, format, 0..3, (0..3).map(unit).collect(), sigma)?])
        }
        Layout::Rgb | Layout::Yuv444 => alone(),
        Layout::Yuv420 | Layout::Yuv422 => {
            let (x, y) = format.layout.subsampling();
            // The mean of n samples has the root of n times less noise.
            let small = Guide::SmallLuma(((x * y) as f32).sqrt() / sigma[0]);
            let rule = nlm_params(&denoiser.spec, profile, 25.0, 1)?.chroma;
            if sigma.contains(&0.0) {
                return alone();
            }
            let guide = match rule {
                Chroma::Joint => vec![small, unit(1), unit(2)],
                Chroma::Luma => vec![small],
                Chroma::Own if sigma[1] == sigma[2] => Vec::new(),
                Chroma::Own => vec![unit(1), unit(2)],
            };
            Ok(vec![own(0..1)?, Lane::new(denoiser, format, 1..3, guide, sigma)?])
        }
    }
}

impl Lane {
    fn new(
        denoiser: &Denoiser,
        format: &VideoFormat,
        planes: Range<usize>,
        guide: Vec<Guide>,
        sigma: &[f32],
    ) -> Result<Self> {
        let (width, height) = format.plane_size(planes.start);
        let shape = Shape {
            width,
            height,
            channels: planes.len(),
            guides: guide.len(),
            white: format.white,
            range: (0.0, format.white),
        };
        let made = vec![vec![0.0; width * height]; guide.len()];
        let noise = sigma[planes.start];
        if noise == 0.0 {
            return Ok(Self {
                planes,
                guide: Vec::new(),
                made: Vec::new(),
                filter: Filter::Copy(VecDeque::new()),
            });
        }
        let filter: Box<dyn Sequence> = match Job::new(&denoiser.spec, &shape, noise)? {
            Job::Nlm { plan, .. } => denoiser.backend.nlm(&plan)?,
            Job::Bm3d { plan, params } => Box::new(Single {
                backend: denoiser.backend.clone(),
                plan,
                encoding: Encoding {
                    white: format.white,
                    color: (planes.len() == 3).then_some(params.color),
                },
                waiting: VecDeque::new(),
            }),
        };
        Ok(Self { planes, guide, made, filter: Filter::Sequence(filter) })
    }

    /// Takes the planes of the next frame.
    pub(super) fn push(&mut self, format: &VideoFormat, frame: &VideoFrame, control: &Control) -> Result<()> {
        for (guide, to) in self.guide.iter().zip(&mut self.made) {
            match *guide {
                Guide::Plane(p, scale) => scaled(frame.planes[p].view(), scale, to),
                Guide::SmallLuma(scale) => small_luma(format, frame.planes[0].view(), scale, to),
            }
        }
        let planes: Vec<Samples<'_>> =
            frame.planes[self.planes.clone()].iter().map(SampleBuffer::view).collect();
        let guide: Vec<Samples<'_>> = self.made.iter().map(|g| Samples::F32(g)).collect();
        match &mut self.filter {
            Filter::Sequence(sequence) => sequence.push(&Input { planes: &planes, guide: &guide }, control),
            Filter::Copy(waiting) => {
                waiting.push_back(planes.iter().map(Samples::to_buffer).collect());
                Ok(())
            }
        }
    }

    /// Filters the oldest frame that has not been into `planes`, which are this lane's.
    pub(super) fn pull(&mut self, planes: &mut [SampleBuffer], control: &Control) -> Result<()> {
        match &mut self.filter {
            Filter::Sequence(sequence) => {
                let mut to: Vec<SamplesMut<'_>> = planes.iter_mut().map(SampleBuffer::view_mut).collect();
                sequence.pull(&mut to, control)
            }
            Filter::Copy(waiting) => {
                for (to, from) in planes.iter_mut().zip(waiting.pop_front().unwrap_or_default()) {
                    *to = from;
                }
                Ok(())
            }
        }
    }

    /// Number of planes.
    pub(super) fn len(&self) -> usize {
        self.planes.len()
    }
}

/// Every sample times `scale`.
fn scaled(from: Samples<'_>, scale: f32, to: &mut [f32]) {
    match from {
        Samples::U8(v) => to.iter_mut().zip(v).for_each(|(to, &v)| *to = f32::from(v) * scale),
        Samples::U16(v) => to.iter_mut().zip(v).for_each(|(to, &v)| *to = f32::from(v) * scale),
        Samples::F32(v) => to.iter_mut().zip(v).for_each(|(to, &v)| *to = v * scale),
    }
}

/// Means of the luma samples that belong to each chroma sample, times `scale`.
fn small_luma(format: &VideoFormat, luma: Samples<'_>, scale: f32, to: &mut [f32]) {
    match luma {
        Samples::U8(v) => means(format, v, scale, to),
        Samples::U16(v) => means(format, v, scale, to),
        Samples::F32(v) => means(format, v, scale, to),
    }
}

fn means<T: Copy + Into<f32>>(format: &VideoFormat, luma: &[T], scale: f32, to: &mut [f32]) {
    let (x_step, y_step) = format.layout.subsampling();
    let (width, _) = format.plane_size(1);
    let scale = scale / (x_step * y_step) as f32;
    for (y, to) in to.chunks_exact_mut(width).enumerate() {
        // Beyond an odd border the last row and column count twice.
        let rows = [y * y_step, (y * y_step + y_step - 1).min(format.height - 1)];
        let rows = rows.map(|y| &luma[y * format.width..][..format.width]);
        let rows = &rows[..y_step];
        to.fill(0.0);
        for row in rows {
            let (pairs, rest) = row.as_chunks::<2>();
            for (to, pair) in to.iter_mut().zip(pairs) {
                *to += scale * (pair[0].into() + pair[1].into());
            }
            if let (Some(to), Some(&v)) = (to.last_mut(), rest.first()) {
                *to += scale * 2.0 * v.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luma_is_averaged_to_the_resolution_of_chroma() {
        let luma: Vec<u8> = vec![1, 3, 10, /**/ 5, 7, 20, /**/ 9, 11, 50];
        for (layout, want) in [
            (Layout::Yuv420, vec![4.0, 15.0, 10.0, 50.0]),
            (Layout::Yuv422, vec![2.0, 10.0, 6.0, 20.0, 10.0, 50.0]),
        ] {
            let format = VideoFormat::with_bits(3, 3, layout, 8).unwrap();
            let mut to = vec![0.0; format.plane_len(1)];
            small_luma(&format, Samples::U8(&luma), 2.0, &mut to);
            assert_eq!(to, want.iter().map(|v| 2.0 * v).collect::<Vec<f32>>(), "{layout:?}");
        }
    }
}
