//! Planes of a video that are filtered together, and what they are compared on.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::chroma::ChromaSequence;
use super::single::Single;
use super::{Layout, VideoFormat, VideoFrame};
use crate::denoiser::{
    Denoiser, Guide, Job, Shape, bm3d_samples, isoline_plan, isoline_sequence, nlm_params,
};
use crate::device::{Input, SampleBuffer, Samples, SamplesMut, Sequence};
use crate::method::Method;
use crate::nlm::Chroma;
use crate::noise::correlated::Whitening;
use crate::{Control, Error, FrameView, Plane, Result, isoline};

/// Some planes of every frame.
pub(super) struct Lane {
    planes: Range<usize>,
    compared: Compared,
    /// Where the guide planes of the present frame are made.
    made: Vec<Vec<f32>>,
    filter: Filter,
}

enum Filter {
    Sequence(Box<dyn Sequence>),
    /// Frame by frame.
    Frames(Single),
    /// There is no noise: the frames that wait, as they came.
    Copy(VecDeque<Vec<SampleBuffer>>),
}

/// What the planes of a lane are compared on.
enum Compared {
    /// Themselves.
    Own,
    /// Planes of unit noise.
    Unit(Vec<Unit>),
    /// What whitening makes of them.
    Whitened(Arc<Whitening>),
    /// Luma at their resolution, which goes into the filter before them.
    SmallLuma,
}

/// A plane of unit noise.
#[derive(Clone, Copy)]
enum Unit {
    /// A plane times this.
    Plane(usize, f32),
    /// Luma at the resolution of chroma, times this.
    SmallLuma(f32),
}

/// Cuts the frames of a video into lanes. `sigma` is the noise of every plane in its own units, 0 for none; how it is
/// correlated is found out from the `first` frame. Of methods that look at one frame only, `at_once` frames are in work.
pub(super) fn lanes(
    denoiser: &Denoiser,
    format: &VideoFormat,
    first: &VideoFrame,
    sigma: &[f32],
    at_once: usize,
) -> Result<Vec<Lane>> {
    let lane = |planes: Range<usize>, compared| {
        let noise = sigma[planes.start];
        Lane::new(denoiser, format, planes, compared, noise, at_once)
    };
    let alone = || (0..sigma.len()).map(|p| lane(p..p + 1, Compared::Own)).collect::<Result<Vec<_>>>();
    let profile = match denoiser.spec.method {
        Method::Nlm(profile) => profile,
        _ if format.layout == Layout::Rgb => return Ok(vec![lane(0..3, Compared::Own)?]),
        Method::Isoline(profile) => {
            return isoline_lanes(denoiser, profile, format, sigma)?.map_or_else(alone, Ok);
        }
        Method::Bm3d(_) => return alone(),
    };
    let unit = |p: usize| Unit::Plane(p, 1.0 / sigma[p]);
    let small = matches!(format.layout, Layout::Yuv420 | Layout::Yuv422);
    let together = if small { 0..1 } else { 0..sigma.len() };
    let first_lane = if !denoiser.spec.correlation.is_none() {
        whitened(denoiser, format, first, together)?
    } else if sigma[together.clone()].iter().all(|s| *s == sigma[0]) {
        lane(together, Compared::Own)?
    } else if sigma.iter().all(|s| *s > 0.0) {
        // One distance over all planes needs equal noise in all of them.
        lane(together.clone(), Compared::Unit(together.map(unit).collect()))?
    } else {
        return alone();
    };
    if !small {
        return Ok(vec![first_lane]);
    }
    if sigma.contains(&0.0) {
        return Ok(vec![first_lane, lane(1..2, Compared::Own)?, lane(2..3, Compared::Own)?]);
    }
    let (x, y) = format.layout.subsampling();
    // The mean of n samples has the root of n times less noise.
    let small_luma = Unit::SmallLuma(((x * y) as f32).sqrt() / sigma[0]);
    let compared = match nlm_params(&denoiser.spec, profile, 25.0, 1)?.chroma {
        Chroma::Joint => Compared::Unit(vec![small_luma, unit(1), unit(2)]),
        Chroma::Luma => Compared::Unit(vec![small_luma]),
        Chroma::Own if sigma[1] == sigma[2] => Compared::Own,
        Chroma::Own => Compared::Unit(vec![unit(1), unit(2)]),
    };
    Ok(vec![first_lane, lane(1..3, compared)?])
}

/// Chroma as luma and itself decide: with luma in one lane, or with luma at the resolution of chroma. Nothing where every
/// plane is to be filtered on its own: by the paper's filters, as written, and by the others, which are for speed.
fn isoline_lanes(
    denoiser: &Denoiser,
    profile: isoline::Profile,
    format: &VideoFormat,
    sigma: &[f32],
) -> Result<Option<Vec<Lane>>> {
    if sigma.len() < 3 || sigma.contains(&0.0) {
        return Ok(None);
    }
    let plan = |plane: usize, sigma: &[f32]| {
        isoline_plan(&denoiser.spec, profile, format.plane_size(plane), format.white, sigma)
    };
    let luma = plan(0, &sigma[..1])?;
    if luma.variant != isoline::Variant::TwoRound {
        return Ok(None);
    }
    let (x, y) = format.layout.subsampling();
    // The mean of n samples has the root of n times less noise. Luma that is much clearer than chroma would keep too
    // many chroma samples apart.
    let deciding =
        if x * y == 1 { sigma[0] } else { (sigma[0] / ((x * y) as f32).sqrt()).max(sigma[1]).max(sigma[2]) };
    let plans = [plan(1, &[deciding, sigma[1], sigma[2]])?, plan(1, &sigma[1..2])?, plan(1, &sigma[2..])?];
    let chroma = Filter::Sequence(Box::new(ChromaSequence::new(&*denoiser.backend, &plans)?));
    if x * y == 1 {
        return Ok(Some(vec![Lane {
            planes: 0..3,
            compared: Compared::Own,
            made: Vec::new(),
            filter: chroma,
        }]));
    }
    let made = vec![vec![0.0; format.plane_len(1)]; 3];
    let filter = Filter::Sequence(denoiser.backend.isoline(&luma)?);
    Ok(Some(vec![
        Lane { planes: 0..1, compared: Compared::Own, made: Vec::new(), filter },
        Lane { planes: 1..3, compared: Compared::SmallLuma, made, filter: chroma },
    ]))
}

/// Planes of correlated noise.
fn whitened(
    denoiser: &Denoiser,
    format: &VideoFormat,
    first: &VideoFrame,
    planes: Range<usize>,
) -> Result<Lane> {
    let correlation = &denoiser.spec.correlation;
    if correlation.covariance.is_some() && planes.len() < 3 {
        return Err(Error::Unsupported(format!(
            "the covariance of channels needs RGB or 4:4:4 video, this is {}",
            format.layout.name()
        )));
    }
    let floats = float_planes(format, first, planes.clone())?;
    let frame = FrameView::new(floats.iter().map(Plane::view).collect(), format.white)?;
    let whitening = Arc::new(correlation.resolve(&frame, denoiser.spec.sigma.known())?);
    let noise = whitening.sigma();
    Lane::new(denoiser, format, planes, Compared::Whitened(whitening), noise, 1)
}

fn float_planes(format: &VideoFormat, frame: &VideoFrame, planes: Range<usize>) -> Result<Vec<Plane>> {
    let plane = |p: usize| {
        let (width, height) = format.plane_size(p);
        Plane::from_vec(width, height, frame.planes[p].view().to_floats(1.0))
    };
    planes.map(plane).collect()
}

impl Lane {
    fn new(
        denoiser: &Denoiser,
        format: &VideoFormat,
        planes: Range<usize>,
        compared: Compared,
        noise: f32,
        at_once: usize,
    ) -> Result<Self> {
        let (width, height) = format.plane_size(planes.start);
        let (guide, made) = match &compared {
            Compared::Own => (Guide::Own, 0),
            Compared::Unit(units) => (Guide::Unit(units.len()), units.len()),
            Compared::Whitened(w) => (Guide::Whitened(w.clone()), w.guides()),
            Compared::SmallLuma => (Guide::Own, 0),
        };
        let made = vec![vec![0.0; width * height]; made];
        let shape = Shape {
            width,
            height,
            channels: planes.len(),
            guide,
            white: format.white,
            range: (0.0, format.white),
        };
        if noise == 0.0 {
            let filter = Filter::Copy(VecDeque::new());
            return Ok(Self { planes, compared: Compared::Own, made: Vec::new(), filter });
        }
        let filter = match Job::new(&denoiser.spec, &shape, noise)? {
            Job::Nlm { plan, .. } => Filter::Sequence(denoiser.backend.nlm(&plan)?),
            Job::Bm3d { plan, params } => {
                let (backend, white) = (denoiser.backend.clone(), format.white);
                let filter = move |from: &[Samples<'_>], to: &mut [SamplesMut<'_>], control: &Control| {
                    bm3d_samples(&*backend, params.color, &plan, white, from, to, control)
                };
                Filter::Frames(Single::new(filter, at_once)?)
            }
            Job::Isoline { plan, .. } => Filter::Sequence(isoline_sequence(&*denoiser.backend, &plan)?),
        };
        Ok(Self { planes, compared, made, filter })
    }

    /// Whether it looks at nothing but its own planes, which can be given to it.
    pub(super) fn owns_planes(&self) -> bool {
        !matches!(self.filter, Filter::Sequence(_))
    }

    /// Takes its planes of the next frame away, and leaves others of any content.
    pub(super) fn give(&mut self, planes: &mut [SampleBuffer], control: &Control) -> Result<()> {
        match &mut self.filter {
            Filter::Frames(single) => single.push(planes, control)?,
            Filter::Copy(waiting) => {
                let take = |p: &mut SampleBuffer| std::mem::replace(p, SampleBuffer::U8(Vec::new()));
                waiting.push_back(planes.iter_mut().map(take).collect());
            }
            Filter::Sequence(_) => return Err(Error::Shape("this lane looks at whole frames".into())),
        }
        Ok(())
    }

    /// Takes the planes of the next frame.
    pub(super) fn push(&mut self, format: &VideoFormat, frame: &VideoFrame, control: &Control) -> Result<()> {
        match &self.compared {
            Compared::Own => {}
            Compared::Unit(units) => {
                for (unit, to) in units.iter().zip(&mut self.made) {
                    match *unit {
                        Unit::Plane(p, scale) => scaled(frame.planes[p].view(), scale, to),
                        Unit::SmallLuma(scale) => small_luma(format, frame.planes[0].view(), scale, to),
                    }
                }
            }
            Compared::Whitened(whitening) => {
                let floats = float_planes(format, frame, self.planes.clone())?;
                let guide = whitening.guide(&floats.iter().map(Plane::view).collect::<Vec<_>>())?;
                self.made = guide.into_iter().map(Plane::into_vec).collect();
            }
            Compared::SmallLuma => {
                small_luma(format, frame.planes[0].view(), 1.0, &mut self.made[0]);
                for (p, to) in self.planes.clone().zip(&mut self.made[1..]) {
                    scaled(frame.planes[p].view(), 1.0, to);
                }
            }
        }
        let mut planes: Vec<Samples<'_>> =
            frame.planes[self.planes.clone()].iter().map(SampleBuffer::view).collect();
        let mut guide: Vec<Samples<'_>> = self.made.iter().map(|g| Samples::F32(g)).collect();
        if matches!(self.compared, Compared::SmallLuma) {
            planes = std::mem::take(&mut guide);
        }
        match &mut self.filter {
            Filter::Sequence(sequence) => sequence.push(&Input { planes: &planes, guide: &guide }, control),
            Filter::Copy(_) | Filter::Frames(_) => {
                let mut copy: Vec<SampleBuffer> = planes.iter().map(Samples::to_buffer).collect();
                self.give(&mut copy, control)
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
            Filter::Frames(single) => single.pull(planes, control),
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

/// Rows that a thread makes at a time: a guide should not take longer than the filter of a GPU.
const ROWS: usize = 32;

/// Every sample times `scale`.
fn scaled(from: Samples<'_>, scale: f32, to: &mut [f32]) {
    fn part<T: Copy + Into<f32> + Sync>(from: &[T], scale: f32, to: &mut [f32]) {
        let parts = to.par_chunks_mut(1 << 16).zip(from.par_chunks(1 << 16));
        parts.for_each(|(to, from)| to.iter_mut().zip(from).for_each(|(to, &v)| *to = v.into() * scale));
    }
    match from {
        Samples::U8(v) => part(v, scale, to),
        Samples::U16(v) => part(v, scale, to),
        Samples::F32(v) => part(v, scale, to),
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

fn means<T: Copy + Into<f32> + Sync>(format: &VideoFormat, luma: &[T], scale: f32, to: &mut [f32]) {
    let (x_step, y_step) = format.layout.subsampling();
    let (width, _) = format.plane_size(1);
    let scale = scale / (x_step * y_step) as f32;
    let row = |y: usize, to: &mut [f32]| {
        to.fill(0.0);
        for y in y * y_step..(y + 1) * y_step {
            // Beyond an odd border the last row and column count twice.
            let row = &luma[y.min(format.height - 1) * format.width..][..format.width];
            let (pairs, rest) = row.as_chunks::<2>();
            for (to, pair) in to.iter_mut().zip(pairs) {
                *to += scale * (pair[0].into() + pair[1].into());
            }
            if let (Some(to), Some(&v)) = (to.last_mut(), rest.first()) {
                *to += scale * 2.0 * v.into();
            }
        }
    };
    to.par_chunks_exact_mut(width).with_min_len(ROWS).enumerate().for_each(|(y, to)| row(y, to));
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
