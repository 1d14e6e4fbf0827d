//! Where plans are carried out. A device is one [`Backend`]; a method adds one function to it.
//!
//! `cpu` is the only one so far; `cuda` and `opencl` will stand beside it as sibling modules.

pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "emulator")]
#[allow(dead_code)]
mod emulator;
#[allow(dead_code)]
mod gpu;
#[cfg(feature = "opencl")]
mod opencl;

pub use gpu::notice::on_notice;

use serde::Serialize;

use crate::{Control, Error, Plane, PlaneView, Result, bm3d};

/// Which device to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The fastest one that works.
    #[default]
    Auto,
    /// The processor.
    Cpu,
}

impl std::str::FromStr for Device {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        match s {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            _ if s.starts_with("cuda") || s.starts_with("opencl") => {
                Err(Error::Unsupported(format!("device {s}: GPUs are not in this version, use cpu or auto")))
            }
            _ => Err(Error::parameter("device", s, "one of auto, cpu")),
        }
    }
}

/// What `quell devices` shows.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The name that `--device` takes.
    pub name: String,
    /// What it is, in words.
    pub description: String,
    /// Instruction set, driver or the like.
    pub detail: String,
    /// Threads or compute units.
    pub units: usize,
}

/// A device that can carry out plans. Planes are on the 0..255 scale, channel 0 is grouped on.
pub trait Backend: Send + Sync {
    /// What this is.
    fn info(&self) -> DeviceInfo;

    /// Runs BM3D on the channels of one picture.
    fn bm3d(&self, plan: &bm3d::Plan, noisy: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>>;
}

/// Options that only concern how a device works, never what it computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceOptions {
    /// Worker threads; 0 is one per core.
    pub threads: usize,
    /// Side of the tiles that go through all passes at once, in pixels; 0 is the whole picture.
    pub tile: usize,
    /// Highest instruction set to use; `None` is the best there is.
    pub level: Option<cpu::Level>,
}

/// Starts a device.
pub fn open(device: Device, options: DeviceOptions) -> Result<Box<dyn Backend>> {
    match device {
        Device::Auto | Device::Cpu => Ok(Box::new(cpu::Cpu::new(options)?)),
    }
}

/// Every device of this machine.
pub fn list() -> Vec<DeviceInfo> {
    open(Device::Cpu, DeviceOptions::default()).map(|b| b.info()).into_iter().collect()
}
