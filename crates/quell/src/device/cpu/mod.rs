//! The processor: SIMD chosen at run time, threads by rayon.

mod bm3d;
mod classic;
pub(super) mod frames;
mod group;
mod isoline;
mod level;
mod nlm;
mod pool;
mod ridge;
mod schedule;
mod simd;

pub use level::Level;

use std::sync::Arc;

use super::singly::Singly;
use super::{
    Backend, Caps, DeviceInfo, DeviceOptions, Input, Kind, Probe, Samples, SamplesMut, Sequence, front,
};
use crate::bm3d::{self as method, Match};
use crate::method::{Plan, Window, Work};
use crate::{Control, Error, Plane, PlaneView, Result};

/// The processor as a device. Copies share threads and memory.
#[derive(Clone)]
pub struct Cpu {
    pool: Arc<rayon::ThreadPool>,
    level: Level,
    tile: usize,
    bm3d: Arc<bm3d::Pools>,
    isoline: Arc<frames::Pool>,
    ridge: Arc<ridge::Pools>,
}

impl Cpu {
    /// Starts the worker threads.
    pub fn new(options: DeviceOptions) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(options.threads)
            .thread_name(|i| format!("quell-{i}"))
            .build()
            .map_err(|e| Error::Device { device: "cpu".into(), reason: e.to_string() })?;
        Ok(Self {
            pool: Arc::new(pool),
            level: Level::pick(options.level)?,
            tile: options.tile,
            bm3d: Arc::default(),
            isoline: Arc::default(),
            ridge: Arc::default(),
        })
    }
}

impl Backend for Cpu {
    fn info(&self) -> DeviceInfo {
        DeviceInfo {
            description: level::model_name(),
            detail: self.level.name().into(),
            units: self.pool.current_num_threads(),
            ..DeviceInfo::new(Kind::Cpu, "cpu")
        }
    }

    /// Every plan, in f32.
    fn caps(&self, _: &Plan) -> Caps {
        Caps { full_precision: true, ..Caps::default() }
    }

    fn open(&self, plan: &Plan) -> Result<Box<dyn Sequence>> {
        let takes = match plan.work() {
            Work::Nlm(_) | Work::Isoline(_) => front::Takes::Samples,
            _ => front::Takes::Floats,
        };
        let inner = front::open(plan, takes, |plan| self.channels(plan))?;
        Ok(Box::new(Pooled { pool: self.pool.clone(), inner }))
    }

    fn refine(
        &self,
        plan: &method::Plan,
        noisy: &[PlaneView<'_>],
        basic: &[PlaneView<'_>],
        control: &Control,
    ) -> Result<Vec<Plane>> {
        self.pool.install(|| bm3d::refine(self, plan, noisy, basic, control))
    }

    fn probe(&self) -> Option<&dyn Probe> {
        Some(self)
    }
}

impl Cpu {
    /// Puts work on channels to work.
    fn channels(&self, plan: &Plan) -> Result<Box<dyn Sequence>> {
        let (cpu, window, part) = (self.clone(), plan.window(), plan.part().cloned());
        Ok(match plan.work().clone() {
            Work::Bm3d(plan) => Box::new(Singly::new(window, move |frame, to, control| {
                let (planes, counts) = (views(window, frame.planes)?, views(window, frame.guide)?);
                let channels = Channels { planes: &planes, counts: counts.first().copied() };
                let out = cpu.pool.install(|| bm3d::run(&cpu, &plan, part.as_ref(), channels, control))?;
                store(&out, to);
                Ok(())
            })),
            Work::Ridge(plan) => Box::new(Singly::new(window, move |frame, to, control| {
                let (planes, counts) = (views(window, frame.planes)?, views(window, frame.guide)?);
                let channels = Channels { planes: &planes, counts: counts.first().copied() };
                let out = cpu.pool.install(|| ridge::run(&cpu, &plan, channels, control))?;
                store(&out, to);
                Ok(())
            })),
            Work::Nlm(plan) => Box::new(nlm::NlmSequence::new(self, &plan)?),
            Work::Isoline(plan) => Box::new(isoline::IsolineSequence::new(self, &plan)?),
            Work::Classic(plan) => Box::new(Singly::new(window, move |frame, to, control| {
                let out = classic::run(&cpu, &plan, &views(window, frame.planes)?, control)?;
                store(&out, to);
                Ok(())
            })),
            Work::Map(plan, map) => Box::new(Singly::new(window, move |frame, to, _| {
                let views = views(window, frame.planes)?;
                let known = cpu.pool.install(|| isoline::map(&cpu, &plan, &views, map))?;
                store(&[known], to);
                Ok(())
            })),
        })
    }
}

/// A sequence and all that stands around it, on the threads of the device.
struct Pooled {
    pool: Arc<rayon::ThreadPool>,
    inner: Box<dyn Sequence>,
}

impl Sequence for Pooled {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.pool.install(|| self.inner.push(frame, control))
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.pool.install(|| self.inner.pull(to, control))
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.pool.install(|| self.inner.frame(frame, to, control))
    }
}

/// The channels of a picture, and of averages how many frames each pixel is made of.
#[derive(Clone, Copy)]
struct Channels<'a> {
    planes: &'a [PlaneView<'a>],
    counts: Option<PlaneView<'a>>,
}

impl<'a> From<&'a [PlaneView<'a>]> for Channels<'a> {
    fn from(planes: &'a [PlaneView<'a>]) -> Self {
        Self { planes, counts: None }
    }
}

impl Channels<'_> {
    /// They must be those of the plan.
    fn check(&self, n: usize, (w, h): (usize, usize)) -> Result<()> {
        let mut all = self.planes.iter().chain(&self.counts);
        if self.planes.len() != n || all.any(|p| (p.width(), p.height()) != (w, h)) {
            let what = format!("the plan is for {n} planes of {w} x {h} pixels, not for these");
            return Err(Error::Shape(what));
        }
        Ok(())
    }
}

/// Planes of floats, as they come out of [`front`].
fn views<'a>(window: Window, planes: &[Samples<'a>]) -> Result<Vec<PlaneView<'a>>> {
    let view = |s: &Samples<'a>| match *s {
        Samples::F32(v) => PlaneView::new(window.width, window.height, window.width, v),
        _ => Err(Error::Shape("channels are floats".into())),
    };
    planes.iter().map(view).collect()
}

fn store(planes: &[Plane], to: &mut [SamplesMut<'_>]) {
    to.iter_mut().zip(planes).for_each(|(to, plane)| to.store(plane.as_slice(), 1.0, f32::MAX));
}

impl Probe for Cpu {
    fn groups(&self, plan: &method::Plan, pass: usize, guide: &PlaneView<'_>) -> Result<Vec<Vec<Match>>> {
        Ok(bm3d::groups(self.level, &plan.passes[pass], *guide))
    }

    fn wiener(
        &self,
        plan: &method::Plan,
        noisy: &[PlaneView<'_>],
        basic: &[PlaneView<'_>],
    ) -> Result<Vec<Plane>> {
        self.refine(plan, noisy, basic, &Control::new())
    }
}
