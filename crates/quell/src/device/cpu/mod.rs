//! The processor: SIMD chosen at run time, threads by rayon.

mod bm3d;
#[allow(dead_code, reason = "wired to the denoiser in the next commit")]
mod classic;
mod isoline;
mod level;
mod nlm;
mod pool;
mod schedule;
mod simd;

pub use level::Level;

use std::sync::Arc;

use super::{Backend, DeviceInfo, DeviceOptions, Kind, Sequence};
use crate::bm3d::{Match, Plan};
use crate::{Control, Error, Plane, PlaneView, Result};

/// The processor as a device.
pub struct Cpu {
    pool: Arc<rayon::ThreadPool>,
    level: Level,
    tile: usize,
    bm3d: bm3d::Pools,
    isoline: Arc<isoline::Pool>,
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
            bm3d: bm3d::Pools::default(),
            isoline: Arc::default(),
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

    fn bm3d(&self, plan: &Plan, noisy: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>> {
        self.pool.install(|| bm3d::run(self, plan, noisy, control))
    }

    fn full_precision(&self, _: &Plan) -> bool {
        true
    }

    fn bm3d_groups(&self, plan: &Plan, pass: usize, guide: &PlaneView<'_>) -> Result<Vec<Vec<Match>>> {
        Ok(bm3d::groups(self.level, &plan.passes[pass], *guide))
    }

    fn isoline(&self, plan: &crate::isoline::Plan) -> Result<Box<dyn Sequence>> {
        Ok(Box::new(isoline::IsolineSequence::new(self, plan)?))
    }

    fn isoline_map(
        &self,
        plan: &crate::isoline::Plan,
        planes: &[PlaneView<'_>],
        map: crate::isoline::Map,
    ) -> Result<Plane> {
        self.pool.install(|| isoline::map(self, plan, planes, map))
    }

    fn nlm(&self, plan: &crate::nlm::Plan) -> Result<Box<dyn Sequence>> {
        Ok(Box::new(nlm::NlmSequence::new(self, plan)?))
    }
}
