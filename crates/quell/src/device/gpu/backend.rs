//! The GPU as a device that carries out plans.

use super::average::{self, Clip};
use super::bm3d::source::samples_source;
use super::bm3d::{self, Format, SLOTS, TensorFilter};
use super::frames::Frames;
use super::sizes::Sizes;
use super::{Gpu, Runtime, ridge};
use crate::bm3d::Match;
use crate::device::front::{self, Takes};
use crate::device::singly::Singly;
use crate::device::{Backend, Caps, DeviceInfo, Input, Probe, SampleFormat, Samples, Sequence, Timing};
use crate::method::{self, Front, Plan, Work};
use crate::{ColorMode, Error, Plane, PlaneView, Result};

impl From<SampleFormat> for Format {
    fn from(format: SampleFormat) -> Self {
        match format {
            SampleFormat::U8 => Self::U8,
            SampleFormat::U16 => Self::U16,
            SampleFormat::F32 => Self::F32,
        }
    }
}

impl From<&Front> for bm3d::Front {
    fn from(front: &Front) -> Self {
        Self { factor: 255.0 / front.white, white: front.white, color: front.color }
    }
}

impl<R: Runtime> Backend for Gpu<R> {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn at_once(&self) -> usize {
        SLOTS
    }

    fn caps(&self, plan: &Plan) -> Caps {
        let coarser = plan.coarser().and_then(|coarser| self.caps(coarser).refused);
        if let Some(why) = coarser {
            return Caps::refusing(why);
        }
        match plan.work() {
            Work::Bm3d(work) => match bm3d::check(work, bm3d::Front::CHANNELS) {
                Err(why) => Caps::refusing(why.to_string()),
                Ok(()) => Caps {
                    // The tensor kernels hold samples and coefficients in halves.
                    full_precision: !tensor(work, self.runtime.limits()),
                    device_memory: self.runtime.lends()
                        && plan.coarser().is_none()
                        && *plan.frames() == method::Frames::One
                        && plan.front().reach() == 0,
                    ..Caps::default()
                },
            },
            Work::Ridge(work) => match ridge::check(work) {
                Err(why) => Caps::refusing(why.to_string()),
                Ok(pilot) => {
                    let limits = self.runtime.limits();
                    let halves = tensor(pilot, limits) || ridge::in_halves(work, limits);
                    Caps { full_precision: !halves, ..Caps::default() }
                }
            },
            // The paper's filters have maps at hand; the others are left to the processor.
            Work::Map(work, map) => match self.knows(work, *map) {
                Err(why) => Caps::refusing(why.to_string()),
                Ok(()) => Caps { full_precision: true, ..Caps::default() },
            },
            Work::Nlm(_) | Work::Isoline(_) => Caps { full_precision: true, ..Caps::default() },
            _ => Caps::refusing(self.not_offered().to_string()),
        }
    }

    fn open(&self, plan: &Plan) -> Result<Box<dyn Sequence>> {
        self.caps(plan).check()?;
        let takes = match plan.work() {
            Work::Bm3d(_) | Work::Ridge(_) if self.averages(plan) => Takes::Frames,
            // Several sizes are done here, where none of them has to be cut into tiles.
            Work::Bm3d(_) if self.in_one(plan) => Takes::Sizes,
            Work::Bm3d(_) => Takes::Colors,
            Work::Ridge(_) => Takes::Sizes,
            Work::Nlm(_) | Work::Isoline(_) => Takes::Samples,
            _ => Takes::Floats,
        };
        self.opened(plan, takes)
    }

    fn time(&self, plan: &Plan, frames: &[Input<'_>], repeat: usize) -> Result<Timing> {
        let Some(last) = frames.last() else { return Err(Error::Shape("there is no frame to time".into())) };
        match plan.work() {
            Work::Bm3d(_) | Work::Ridge(_) => {
                plan.window().check_input(last)?;
                if matches!(plan.front().color, Some(ColorMode::Luma | ColorMode::Independent)) {
                    let why = "channels that are filtered on their own are timed one by one, as grey";
                    return Err(Error::Unsupported(why.into()));
                }
                if let Some(around) = plan.frames().window() {
                    let mut clip = Clip::new(self, plan, around)?;
                    return Ok(self.repeated(&mut clip, frames, around.future, repeat)?.into());
                }
                let front = plan.front().into();
                let format = last.planes.first().map_or(SampleFormat::F32, Samples::format).into();
                let source = samples_source(last.planes, format, plan.window().width, front)
                    .with_counts(last.guide.first());
                Ok(self.timed(&Sizes::new(plan)?, &source, front, repeat)?.into())
            }
            Work::Nlm(work) => {
                Ok(self.repeated(&mut self.nlm_frames(work)?, frames, work.future, repeat)?.into())
            }
            Work::Isoline(work) => {
                Ok(self.repeated(&mut self.isoline_frames(work)?, frames, work.future, repeat)?.into())
            }
            _ => Err(Error::Unsupported("this is not timed".into())),
        }
    }

    fn probe(&self) -> Option<&dyn Probe> {
        Some(self)
    }
}

impl<R: Runtime> Gpu<R> {
    /// A plan at work, with whatever the device does not take done around it.
    pub(super) fn opened(&self, plan: &Plan, takes: Takes) -> Result<Box<dyn Sequence>> {
        front::open(plan, takes, |plan| {
            Ok(match plan.work() {
                Work::Bm3d(_) | Work::Ridge(_) => match plan.frames().window() {
                    Some(around) => Box::new(Clip::new(self, plan, around)?),
                    None => Box::new(Frames::new(self, plan)?),
                },
                Work::Nlm(work) => Box::new(self.nlm_frames(work)?),
                Work::Isoline(work) => Box::new(self.isoline_frames(work)?),
                Work::Map(work, map) => {
                    let (mut frames, map) = (self.isoline_frames(work)?, *map);
                    Box::new(Singly::new(plan.window(), move |frame, to, _| {
                        let known = frames.map(frame.planes, map)?;
                        to.iter_mut().for_each(|to| to.store(known.as_slice(), 1.0, f32::MAX));
                        Ok(())
                    }))
                }
                _ => return Err(self.not_offered()),
            })
        })
    }

    /// Whether all sizes of a picture go through in one tile.
    fn in_one(&self, plan: &Plan) -> bool {
        let sizes = Sizes::new(&plan.with_front(Front::channels(255.0)));
        sizes.is_ok_and(|sizes| sizes.in_one(self.tile, self.runtime.limits()))
    }

    /// Whether frames are averaged here: where neither a picture nor their window is too large.
    pub(super) fn averages(&self, plan: &Plan) -> bool {
        let limits = self.runtime.limits();
        let fits = |around| average::fits(plan, around, limits);
        plan.frames().window().is_some_and(fits) && self.in_one(plan)
    }

    /// For methods without kernels.
    fn not_offered(&self) -> Error {
        Error::Unsupported(format!(
            "{}: this method is for the processor: --device cpu or auto",
            self.runtime.name()
        ))
    }
}

fn tensor(plan: &crate::bm3d::Plan, limits: &super::Limits) -> bool {
    plan.passes.iter().any(|p| TensorFilter::new(p, limits).is_some())
}

impl<R: Runtime> Probe for Gpu<R> {
    fn groups(
        &self,
        plan: &crate::bm3d::Plan,
        pass: usize,
        guide: &PlaneView<'_>,
    ) -> Result<Vec<Vec<Match>>> {
        self.read_groups(plan, pass, guide)
    }

    fn wiener(
        &self,
        plan: &crate::bm3d::Plan,
        noisy: &[PlaneView<'_>],
        basic: &[PlaneView<'_>],
    ) -> Result<Vec<Plane>> {
        if plan.passes.len() < 2 {
            return Err(Error::Unsupported("the plan has no pass 2".into()));
        }
        self.second_pass(plan, noisy, basic, None)
    }

    fn ridge_groups(
        &self,
        plan: &crate::ridge::Plan,
        round: usize,
        x: &PlaneView<'_>,
        z: &PlaneView<'_>,
    ) -> Result<Vec<crate::ridge::reference::Group>> {
        self.read_ridge_groups(plan, round, x, z)
    }

    fn ridge_round(
        &self,
        plan: &crate::ridge::Plan,
        round: usize,
        noisy: &[PlaneView<'_>],
        x: &[PlaneView<'_>],
        z: &[PlaneView<'_>],
    ) -> Result<(Vec<Plane>, Vec<Plane>)> {
        self.one_ridge_round(plan, round, noisy, x, z, None)
    }
}
