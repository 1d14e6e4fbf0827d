//! Where plans are carried out. A device is one [`Backend`]; a method adds one function to it.
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
#[cfg_attr(not(all(feature = "cuda", feature = "opencl")), allow(dead_code))]
mod gpu;
mod info;
#[cfg(feature = "opencl")]
mod opencl;
mod restart;
mod samples;
mod sequence;
mod spread;
#[cfg(test)]
mod test_devices;

pub use choice::{Device, Which};
pub use gpu::notice::on_notice;
pub use info::{DeviceInfo, Kind, Problem};
pub use samples::{DeviceSamples, Encoding, SampleBuffer, SampleFormat, Samples, SamplesMut};
pub(crate) use sequence::nothing_left;
pub use sequence::{Input, Sequence, picture};

use crate::bm3d::{self, Match, Plan};
use crate::{Control, Error, Plane, PlaneView, Result, isoline, nlm};

/// A device that can carry out plans, on several pictures at once if need be. Planes are on the 0..255 scale, channel
/// 0 is grouped on.
pub trait Backend: Send + Sync {
    /// What this is.
    fn info(&self) -> DeviceInfo;

    /// Pictures that are worth having in work at once: more than one where transfers and the host's own work go on
    /// beside the filtering.
    fn lanes(&self) -> usize {
        1
    }

    /// Runs BM3D on the channels of one picture.
    fn bm3d(&self, plan: &bm3d::Plan, noisy: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>>;

    /// Runs BM3D on the samples of one picture as they are stored, into samples of any type. A device that can, converts
    /// by itself, so that fewer bytes travel. What is in `to` after an error is undefined.
    fn bm3d_samples(
        &self,
        plan: &Plan,
        from: &[Samples<'_>],
        encoding: Encoding,
        to: &mut [SamplesMut<'_>],
        control: &Control,
    ) -> Result<()> {
        samples::by_conversion(self, plan, from, encoding, to, control)
    }

    /// Runs BM3D on a picture in device memory; the result is left there, and is complete on return.
    fn bm3d_device(
        &self,
        plan: &Plan,
        from: &[DeviceSamples],
        encoding: Encoding,
        to: &[DeviceSamples],
        control: &Control,
    ) -> Result<()> {
        let _ = (plan, from, encoding, to, control);
        Err(samples::no_device_memory(&self.info().name))
    }

    /// Runs BM3D `repeat` times on one picture, from device memory to device memory, and measures it.
    fn bm3d_timed(
        &self,
        plan: &Plan,
        from: &[Samples<'_>],
        encoding: Encoding,
        repeat: usize,
    ) -> Result<Timing> {
        let _ = (plan, from, encoding, repeat);
        Err(Error::Unsupported(format!("{}: kernels cannot be timed", self.info().name)))
    }

    /// Pass 2 alone, with a basic estimate that the caller brings, for checks.
    fn bm3d_wiener(
        &self,
        plan: &Plan,
        noisy: &[PlaneView<'_>],
        basic: &[PlaneView<'_>],
    ) -> Result<Vec<Plane>> {
        let _ = (plan, noisy, basic);
        Err(Error::Unsupported(format!("{}: pass 2 cannot be run alone", self.info().name)))
    }

    /// Whether this plan is computed in f32 throughout: checks are stricter then.
    fn full_precision(&self, plan: &Plan) -> bool {
        let _ = plan;
        false
    }

    /// The groups of one pass over `guide`, for checks: for every reference patch, by rows and then columns of the grid,
    /// its matches in order, cut to a power of two.
    fn bm3d_groups(&self, plan: &Plan, pass: usize, guide: &PlaneView<'_>) -> Result<Vec<Vec<Match>>> {
        let _ = (plan, pass, guide);
        Err(Error::Unsupported(format!("{}: groups cannot be read back", self.info().name)))
    }

    /// Starts NL-means on the frames of a video, or on one picture.
    fn nlm(&self, plan: &nlm::Plan) -> Result<Box<dyn Sequence>> {
        let _ = plan;
        Err(Error::Unsupported(format!("{}: NL-means is not offered", self.info().name)))
    }

    /// Starts an isoline filter on the frames of a video, or on one picture.
    fn isoline(&self, plan: &isoline::Plan) -> Result<Box<dyn Sequence>> {
        let _ = plan;
        Err(Error::Unsupported(format!("{}: isoline filters are not offered", self.info().name)))
    }

    /// What an isoline filter knows about a picture, as a plane.
    fn isoline_map(
        &self,
        plan: &isoline::Plan,
        planes: &[PlaneView<'_>],
        map: isoline::Map,
    ) -> Result<Plane> {
        let _ = (plan, planes, map);
        Err(Error::Unsupported(format!("{}: maps of isolines are not offered", self.info().name)))
    }

    /// Filters the last but `future` of `frames` `repeat` times along isolines, as [`nlm_timed`](Self::nlm_timed) does.
    fn isoline_timed(&self, plan: &isoline::Plan, frames: &[Input<'_>], repeat: usize) -> Result<Timing> {
        let _ = (plan, frames, repeat);
        Err(Error::Unsupported(format!("{}: kernels cannot be timed", self.info().name)))
    }

    /// Filters the last but `future` of `frames` `repeat` times with NL-means, from device memory to device memory, and
    /// measures it.
    fn nlm_timed(&self, plan: &nlm::Plan, frames: &[Input<'_>], repeat: usize) -> Result<Timing> {
        let _ = (plan, frames, repeat);
        Err(Error::Unsupported(format!("{}: kernels cannot be timed", self.info().name)))
    }
}

/// What [`Backend::bm3d_timed`], [`Backend::nlm_timed`] or [`Backend::isoline_timed`] measured.
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
