//! Planes of a video that are filtered together, and what they are compared on.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::chroma::{Behind, ChromaSequence};
use super::noise::Level;
use super::{Layout, VideoFormat, VideoFrame};
use crate::denoiser::Denoiser;
use crate::device::{Input, SampleBuffer, Samples, SamplesMut, Sequence, nothing_left};
use crate::method::{Front, Guide, Mix, Params, Plan, Subject};
use crate::nlm::Chroma;
use crate::noise::Model;
use crate::noise::correlated::{Psd, Whitening};
use crate::{Control, Error, FrameView, Plane, Result, isoline};

/// Some planes of every frame.
pub(super) struct Lane {
    planes: Range<usize>,
    compared: Compared,
    /// Where the guide planes of the present frame are made.
    made: Vec<Vec<f32>>,
    /// Where its luma at the resolution of chroma is.
    luma: SampleBuffer,
    filter: Filter,
    /// Frames do not depend on each other.
    single: bool,
}

enum Filter {
    Sequence(Box<dyn Sequence>),
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

/// The noise of the planes of a lane.
struct Noise {
    /// In their units.
    sigma: f32,
    /// It is that of developed pictures.
    developed: bool,
    /// Its power spectrum, where the method asks for it.
    psd: Option<Arc<Psd>>,
}

impl Noise {
    fn white(sigma: f32) -> Self {
        Self { sigma, developed: false, psd: None }
    }
}

/// Cuts the frames of a video into lanes. How noise is correlated is found out from the `first` frame.
pub(super) fn lanes(
    denoiser: &Denoiser,
    format: &VideoFormat,
    first: &VideoFrame,
    level: &Level,
) -> Result<Vec<Lane>> {
    let sigma = &level.sigma[..];
    let lane = |planes: Range<usize>, compared| {
        let noise = Noise { developed: level.developed, ..Noise::white(sigma[planes.start]) };
        Lane::new(denoiser, format, planes, compared, noise)
    };
    let alone = || (0..sigma.len()).map(|p| lane(p..p + 1, Compared::Own)).collect::<Result<Vec<_>>>();
    let params = match denoiser.spec.params(25.0, 1)? {
        Params::Nlm(params) => params,
        Params::Bm3d(_) if !denoiser.spec.correlation.is_none() => {
            return coloured_lanes(denoiser, format, first, sigma);
        }
        _ if format.layout == Layout::Rgb => return Ok(vec![lane(0..3, Compared::Own)?]),
        params @ (Params::Bm3d(_) | Params::Ridge(_)) if params.frames() != (0, 0) => {
            return luma_lanes(denoiser, format, level)?.map_or_else(alone, Ok);
        }
        Params::Isoline(_) => return isoline_lanes(denoiser, format, sigma)?.map_or_else(alone, Ok),
        _ => return alone(),
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
    let compared = match params.guide {
        Chroma::Joint => Compared::Unit(vec![small_luma, unit(1), unit(2)]),
        Chroma::Luma => Compared::Unit(vec![small_luma]),
        Chroma::Own if sigma[1] == sigma[2] => Compared::Own,
        Chroma::Own => Compared::Unit(vec![unit(1), unit(2)]),
    };
    Ok(vec![first_lane, lane(1..3, compared)?])
}

/// Luma by itself, and chroma with luma of its resolution, on which its patches are compared and its motion is found. Nothing where
/// every plane is to be filtered on its own.
fn luma_lanes(denoiser: &Denoiser, format: &VideoFormat, level: &Level) -> Result<Option<Vec<Lane>>> {
    let (spec, sigma) = (&denoiser.spec, &level.sigma[..]);
    let curve = spec.noise.known().is_some_and(|model| model.brightness().is_some());
    // What clipping and brightness do to noise is known of planes of one kind.
    if sigma.len() < 3 || sigma.contains(&0.0) || level.developed || curve || spec.undoes_clipping_of_frames()
    {
        return Ok(None);
    }
    let (x, y) = format.layout.subsampling();
    // The mean of n samples has the root of n times less noise.
    let deciding = sigma[0] / ((x * y) as f32).sqrt();
    let (width, height) = format.plane_size(1);
    let subject = Subject {
        sigma: deciding,
        strength: spec.strength_factor(),
        levels: [1.0, sigma[1] / deciding, sigma[2] / deciding],
        colors: false,
        video: true,
        ..Subject::new(width, height, 3, format.white)
    };
    let (_, plan) = spec.plan(&subject, None)?;
    let mix = Mix { sigma: sigma[1], ..plan.front().mix };
    let plan = plan.with_front(Front { mix, ..plan.front().clone() });
    if x * y == 1 {
        let filter = Filter::Sequence(denoiser.backend.open(&plan)?);
        return Ok(Some(vec![Lane::of(0..3, Compared::Own, filter)]));
    }
    let luma = Lane::new(denoiser, format, 0..1, Compared::Own, Noise::white(sigma[0]))?;
    let filter = Filter::Sequence(Box::new(Behind::new(&*denoiser.backend, &plan)?));
    Ok(Some(vec![luma, Lane::of(1..3, Compared::SmallLuma, filter)]))
}

/// Chroma as luma and itself decide: with luma in one lane, or with luma at the resolution of chroma. Nothing where every
/// plane is to be filtered on its own: by the paper's filters, as written, and by the others, which are for speed.
fn isoline_lanes(denoiser: &Denoiser, format: &VideoFormat, sigma: &[f32]) -> Result<Option<Vec<Lane>>> {
    if sigma.len() < 3 || sigma.contains(&0.0) {
        return Ok(None);
    }
    // The first plane decides.
    let plan = |plane: usize, sigma: &[f32]| -> Result<(isoline::Variant, Plan)> {
        let (strength, white) = (denoiser.spec.strength_factor(), format.white);
        let params = denoiser.spec.params(sigma[0] * strength * 255.0 / white, sigma.len())?;
        let Params::Isoline(params) = params else { return Err(Error::Shape("not isolines".into())) };
        let plan = isoline::resolve::planes(&params, format.plane_size(plane), white, sigma, strength)?;
        Ok((params.variant, denoiser.spec.mixed(plan, sigma[sigma.len() - 1])))
    };
    let (variant, luma) = plan(0, &sigma[..1])?;
    if variant != isoline::Variant::TwoRound {
        return Ok(None);
    }
    let (x, y) = format.layout.subsampling();
    // The mean of n samples has the root of n times less noise. Luma that is much clearer than chroma would keep too
    // many chroma samples apart.
    let deciding =
        if x * y == 1 { sigma[0] } else { (sigma[0] / ((x * y) as f32).sqrt()).max(sigma[1]).max(sigma[2]) };
    let plans =
        [plan(1, &[deciding, sigma[1], sigma[2]])?.1, plan(1, &sigma[1..2])?.1, plan(1, &sigma[2..])?.1];
    let chroma = Filter::Sequence(Box::new(ChromaSequence::new(&*denoiser.backend, &plans)?));
    if x * y == 1 {
        return Ok(Some(vec![Lane::of(0..3, Compared::Own, chroma)]));
    }
    let luma = Filter::Sequence(denoiser.backend.open(&luma)?);
    Ok(Some(vec![Lane::of(0..1, Compared::Own, luma), Lane::of(1..3, Compared::SmallLuma, chroma)]))
}

/// Planes of correlated noise.
fn whitened(
    denoiser: &Denoiser,
    format: &VideoFormat,
    first: &VideoFrame,
    planes: Range<usize>,
) -> Result<Lane> {
    let correlation = denoiser.spec.correlation_of(format.white);
    if correlation.covariance.is_some() && planes.len() < 3 {
        return Err(Error::Unsupported(format!(
            "the covariance of channels needs RGB or 4:4:4 video, this is {}",
            format.layout.name()
        )));
    }
    let floats = float_planes(format, first, planes.clone())?;
    let frame = FrameView::new(floats.iter().map(Plane::view).collect(), format.white)?;
    let whitening = Arc::new(correlation.resolve(&frame, denoiser.spec.sigma_of(format.white))?);
    let noise = whitening.sigma();
    Lane::new(denoiser, format, planes, Compared::Whitened(whitening), Noise::white(noise))
}

/// BM3D of correlated noise: the spectrum is that of RGB, or of luma; other planes are taken for white.
fn coloured_lanes(
    denoiser: &Denoiser,
    format: &VideoFormat,
    first: &VideoFrame,
    sigma: &[f32],
) -> Result<Vec<Lane>> {
    let planes = if format.layout == Layout::Rgb { 0..3 } else { 0..1 };
    let floats = float_planes(format, first, planes.clone())?;
    let frame = FrameView::new(floats.iter().map(Plane::view).collect(), format.white)?;
    let correlation = denoiser.spec.correlation_of(format.white);
    let known = correlation.resolve(&frame, denoiser.spec.sigma_of(format.white))?;
    let rest = planes.end..sigma.len();
    let psd = known.psd().map(Arc::new);
    let noise = Noise { psd, ..Noise::white(known.sigma()) };
    let mut lanes = vec![Lane::new(denoiser, format, planes, Compared::Own, noise)?];
    for p in rest {
        lanes.push(Lane::new(denoiser, format, p..p + 1, Compared::Own, Noise::white(sigma[p]))?);
    }
    Ok(lanes)
}

fn float_planes(format: &VideoFormat, frame: &VideoFrame, planes: Range<usize>) -> Result<Vec<Plane>> {
    let plane = |p: usize| {
        let (width, height) = format.plane_size(p);
        Plane::from_vec(width, height, frame.planes[p].view().to_floats(1.0))
    };
    planes.map(plane).collect()
}

impl Lane {
    /// Of frames that may depend on each other.
    fn of(planes: Range<usize>, compared: Compared, filter: Filter) -> Self {
        let luma = SampleBuffer::U8(Vec::new());
        Self { planes, compared, made: Vec::new(), luma, filter, single: false }
    }

    fn new(
        denoiser: &Denoiser,
        format: &VideoFormat,
        planes: Range<usize>,
        compared: Compared,
        noise: Noise,
    ) -> Result<Self> {
        let (width, height) = format.plane_size(planes.start);
        if noise.sigma == 0.0 {
            let filter = Filter::Copy(VecDeque::new());
            return Ok(Self { single: true, ..Self::of(planes, Compared::Own, filter) });
        }
        let (guide, made) = match &compared {
            Compared::Unit(units) => (Guide::Planes(units.len(), 1.0), units.len()),
            Compared::Whitened(w) => (Guide::Planes(w.guides(), w.noise()), w.guides()),
            Compared::Own | Compared::SmallLuma => (Guide::Own, 0),
        };
        let made = vec![vec![0.0; width * height]; made];
        let subject = Subject {
            guide,
            sigma: noise.sigma,
            strength: denoiser.spec.strength_factor(),
            scales: if noise.developed { denoiser.spec.scales_of_developed() } else { 1 },
            psd: noise.psd,
            video: true,
            ..Subject::new(width, height, planes.len(), format.white)
        };
        let curve = denoiser.spec.noise.known().and_then(Model::brightness);
        let (_, plan) = denoiser.spec.plan(&subject, curve)?;
        let single = plan.window().past + plan.window().future == 0;
        let filter = Filter::Sequence(denoiser.backend.open(&plan)?);
        Ok(Self { made, single, ..Self::of(planes, compared, filter) })
    }

    /// Whether frames do not depend on each other.
    pub(super) fn is_single(&self) -> bool {
        self.single
    }

    /// Takes the planes of the next frame.
    pub(super) fn push(&mut self, format: &VideoFormat, frame: &VideoFrame, control: &Control) -> Result<()> {
        self.with_input(format, frame, |filter, input| match filter {
            Filter::Sequence(sequence) => sequence.push(input, control),
            Filter::Copy(waiting) => {
                waiting.push_back(input.planes.iter().map(Samples::to_buffer).collect());
                Ok(())
            }
        })
    }

    /// Filters the oldest frame that has not been into `planes`, which are this lane's.
    pub(super) fn pull(&mut self, planes: &mut [SampleBuffer], control: &Control) -> Result<()> {
        match &mut self.filter {
            Filter::Sequence(sequence) => {
                let mut to: Vec<SamplesMut<'_>> = planes.iter_mut().map(SampleBuffer::view_mut).collect();
                sequence.pull(&mut to, control)
            }
            Filter::Copy(waiting) => {
                let frame = waiting.pop_front().ok_or_else(nothing_left)?;
                planes.iter_mut().zip(frame).for_each(|(to, from)| *to = from);
                Ok(())
            }
        }
    }

    /// Filters a frame into `planes`, where frames do not depend on each other and none waits.
    pub(super) fn frame(
        &mut self,
        format: &VideoFormat,
        frame: &VideoFrame,
        planes: &mut [SampleBuffer],
        control: &Control,
    ) -> Result<()> {
        self.with_input(format, frame, |filter, input| {
            let mut to: Vec<SamplesMut<'_>> = planes.iter_mut().map(SampleBuffer::view_mut).collect();
            match filter {
                Filter::Sequence(sequence) => sequence.frame(input, &mut to, control),
                Filter::Copy(_) => {
                    to.iter_mut().zip(input.planes).for_each(|(to, from)| to.copy(0, *from));
                    Ok(())
                }
            }
        })
    }

    /// Does something with the planes of a frame, and what they are compared on.
    fn with_input(
        &mut self,
        format: &VideoFormat,
        frame: &VideoFrame,
        work: impl FnOnce(&mut Filter, &Input<'_>) -> Result<()>,
    ) -> Result<()> {
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
                let (luma, samples) = (frame.planes[0].view(), format.plane_len(1));
                if (self.luma.view().format(), self.luma.view().len()) != (luma.format(), samples) {
                    self.luma = SampleBuffer::new(luma.format(), samples);
                }
                rounded_luma(format, luma, self.luma.view_mut());
            }
        }
        let mut planes: Vec<Samples<'_>> =
            frame.planes[self.planes.clone()].iter().map(SampleBuffer::view).collect();
        if matches!(self.compared, Compared::SmallLuma) {
            planes.insert(0, self.luma.view());
        }
        let guide: Vec<Samples<'_>> = self.made.iter().map(|g| Samples::F32(g)).collect();
        work(&mut self.filter, &Input { planes: &planes, guide: &guide })
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

/// The same as samples of the type of luma, so that all planes of a frame have one, which is the quickest way to a GPU; to be
/// rounded changes less than the noise does.
fn rounded_luma(format: &VideoFormat, luma: Samples<'_>, to: SamplesMut<'_>) {
    match (luma, to) {
        (Samples::U8(v), SamplesMut::U8(to)) => rounded_means(format, v, to, |sum| (sum >> 2) as u8),
        (Samples::U16(v), SamplesMut::U16(to)) => rounded_means(format, v, to, |sum| (sum >> 2) as u16),
        (luma, SamplesMut::F32(to)) => small_luma(format, luma, 1.0, to),
        _ => {}
    }
}

/// Of squares of four samples; where there are only two above one another they count twice, and so does what is beyond an
/// odd border.
fn rounded_means<T: Copy + Into<u32> + Send + Sync>(
    format: &VideoFormat,
    luma: &[T],
    to: &mut [T],
    quarter: impl Fn(u32) -> T + Sync,
) {
    let (_, y_step) = format.layout.subsampling();
    let (width, _) = format.plane_size(1);
    let row = |y: usize| &luma[y.min(format.height - 1) * format.width..][..format.width];
    to.par_chunks_exact_mut(width).with_min_len(ROWS).enumerate().for_each(|(y, to)| {
        let ((upper, last), (lower, last_below)) =
            (row(y * y_step).as_chunks::<2>(), row(y * y_step + y_step - 1).as_chunks::<2>());
        let sum = |a: T, b: T| a.into() + b.into();
        for (to, (a, b)) in to.iter_mut().zip(upper.iter().zip(lower)) {
            *to = quarter(sum(a[0], a[1]) + sum(b[0], b[1]) + 2);
        }
        if let (Some(to), Some(&a), Some(&b)) = (to.last_mut(), last.first(), last_below.first()) {
            *to = quarter(2 * sum(a, b) + 2);
        }
    });
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
            let mut rounded = vec![0; to.len()];
            rounded_luma(&format, Samples::U8(&luma), SamplesMut::U8(&mut rounded));
            assert_eq!(rounded.iter().map(|v| f32::from(*v)).collect::<Vec<_>>(), want, "{layout:?}");
            small_luma(&format, Samples::U8(&luma), 2.0, &mut to);
            assert_eq!(to, want.iter().map(|v| 2.0 * v).collect::<Vec<f32>>(), "{layout:?}");
        }
    }
}
