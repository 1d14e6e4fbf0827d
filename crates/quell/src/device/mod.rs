//! Where plans are carried out. A device is one [`Backend`], for every method; a plan at work is a [`Sequence`].
//!
//! [`open`] starts the device that the user wants; `auto` is a [`Backend`] too, which goes on with the next device when
//! one fails. Nothing is asked of any driver before there is work for it.

pub mod check;
mod choice;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod drivers;
#[cfg(all(test, feature = "emulator"))]
mod emulator;
mod failover;
mod front;
#[cfg_attr(not(all(feature = "cuda", feature = "opencl")), allow(dead_code))]
mod gpu;
mod info;
#[cfg(feature = "opencl")]
mod opencl;
mod restart;
mod ring;
mod samples;
mod sequence;
mod singly;
mod spread;
#[cfg(test)]
mod test_devices;

pub use choice::{Device, Which};
pub use gpu::notice::on_notice;
pub use info::{DeviceInfo, Kind, Problem};
pub use samples::{DeviceSamples, SampleBuffer, SampleFormat, Samples, SamplesMut};
pub(crate) use sequence::nothing_left;
pub use sequence::{Input, Sequence, picture};

use crate::bm3d::{self, Match};
use crate::{Control, Error, Plan, Plane, PlaneView, Result, ridge};

/// A device that can carry out plans, on several pictures at once if need be.
pub trait Backend: Send + Sync {
    /// What this is.
    fn info(&self) -> DeviceInfo;

    /// Pictures that are worth having in work at once: more than one where transfers and the host's own work go on
    /// beside the filtering.
    fn at_once(&self) -> usize {
        1
    }

    /// What this can do with a plan.
    fn caps(&self, plan: &Plan) -> Caps;

    /// Puts a plan to work on the frames of a video, or on a picture, which is a video of one frame.
    fn open(&self, plan: &Plan) -> Result<Box<dyn Sequence>>;

    /// Pass 2 of BM3D alone, on channels, with a basic estimate that the caller brings: a whole picture at once.
    fn refine(
        &self,
        plan: &bm3d::Plan,
        noisy: &[PlaneView<'_>],
        basic: &[PlaneView<'_>],
        control: &Control,
    ) -> Result<Vec<Plane>> {
        control.check()?;
        match self.probe() {
            Some(probe) => probe.wiener(plan, noisy, basic),
            None => Err(Error::Unsupported(format!("{}: pass 2 cannot be run alone", self.info().name))),
        }
    }

    /// Filters the last but `future` of `frames` `repeat` times, from device memory to device memory, and measures it.
    fn time(&self, plan: &Plan, frames: &[Input<'_>], repeat: usize) -> Result<Timing> {
        let _ = (plan, frames, repeat);
        Err(Error::Unsupported(format!("{}: kernels cannot be timed", self.info().name)))
    }

    /// What checks look into.
    fn probe(&self) -> Option<&dyn Probe> {
        None
    }
}

/// What a device can do with a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caps {
    /// Why it does not carry the plan out, if it does not; the processor carries out every one.
    pub refused: Option<String>,
    /// It computes in f32 throughout: checks are stricter then.
    pub full_precision: bool,
    /// It filters pictures in its own memory ([`Sequence::lent`]).
    pub device_memory: bool,
}

impl Caps {
    fn refusing(why: impl Into<String>) -> Self {
        Self { refused: Some(why.into()), ..Self::default() }
    }

    /// An error, if the plan is refused.
    pub(crate) fn check(&self) -> Result<()> {
        self.refused.clone().map_or(Ok(()), |why| Err(Error::Unsupported(why)))
    }
}

/// Parts of methods that no user asks for, for checks.
pub trait Probe {
    /// The groups of one pass of BM3D over `guide`: for every reference patch, by rows and then columns of the grid, its
    /// matches in order, cut to a power of two.
    fn groups(&self, plan: &bm3d::Plan, pass: usize, guide: &PlaneView<'_>) -> Result<Vec<Vec<Match>>>;

    /// Pass 2 of BM3D alone, with a basic estimate that the caller brings.
    fn wiener(
        &self,
        plan: &bm3d::Plan,
        noisy: &[PlaneView<'_>],
        basic: &[PlaneView<'_>],
    ) -> Result<Vec<Plane>>;

    /// The groups of a round of context ridge that groups anew, of this estimate and of what has noise left, by rows and
    /// then columns of the grid, in order.
    fn ridge_groups(
        &self,
        plan: &ridge::Plan,
        round: usize,
        x: &PlaneView<'_>,
        z: &PlaneView<'_>,
    ) -> Result<Vec<ridge::reference::Group>> {
        let _ = (plan, round, x, z);
        Err(Error::Unsupported("the groups of a round cannot be read".into()))
    }

    /// Such a round alone: the next estimate, and what has noise left.
    fn ridge_round(
        &self,
        plan: &ridge::Plan,
        round: usize,
        noisy: &[PlaneView<'_>],
        x: &[PlaneView<'_>],
        z: &[PlaneView<'_>],
    ) -> Result<(Vec<Plane>, Vec<Plane>)> {
        let _ = (plan, round, noisy, x, z);
        Err(Error::Unsupported("a round cannot be run alone".into()))
    }
}

/// What [`Backend::time`] measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timing {
    /// All kernels, in milliseconds, one value per repetition.
    pub total_ms: Vec<f32>,
    /// Each stage in the order of the work: its name, and the median of its milliseconds.
    pub stages: Vec<(String, f32)>,
    /// Device memory in use at most, in bytes.
    pub device_bytes: u64,
}

/// The smallest side of a tile that makes sense: smaller ones save no memory to speak of, since every tile needs its
/// border as well, and take a hundred times as long as the whole picture.
pub const LEAST_TILE: usize = 64;

/// Options that only concern how a device works, never what it computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceOptions {
    /// Worker threads of the processor; 0 is one per core.
    pub threads: usize,
    /// Side of the tiles that go through all passes at once, in pixels; 0 is the whole picture, or on a GPU as much as
    /// its memory holds. Below [`LEAST_TILE`] nearly all work is done for the borders of tiles.
    pub tile: usize,
    /// Highest instruction set to use; `None` is the best there is.
    pub level: Option<cpu::Level>,
}

/// Starts a device. A named one that cannot be used is an error; `auto` starts nothing before there is work.
pub fn open(device: Device, options: DeviceOptions) -> Result<Box<dyn Backend>> {
    match device {
        Device::Auto => Ok(Box::new(failover::Failover::automatic(options))),
        Device::Cpu => Ok(Box::new(cpu::Cpu::new(options)?)),
        Device::Cuda(which) => drivers::CUDA.open(which, options),
        Device::OpenCl(which) => drivers::OPENCL.open(which, options),
    }
}

/// Every device of this machine, whether it can be used or not; GPUs first, as `auto` looks at them.
pub fn list() -> Vec<DeviceInfo> {
    let mut all = drivers::CUDA.list();
    all.extend(drivers::OPENCL.list());
    all.extend(open(Device::Cpu, DeviceOptions::default()).map(|b| b.info()));
    all
}
