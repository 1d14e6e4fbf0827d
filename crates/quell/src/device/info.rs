//! What is known of a device without starting it.

use std::fmt;

use serde::Serialize;

/// A family of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The processor, by quell's own code.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// A GPU or processor behind an OpenCL driver.
    OpenCl,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::OpenCl => "opencl",
        })
    }
}

/// Why a device cannot be used, and what to do about it; one line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// What is wrong.
    pub why: String,
    /// What to do.
    pub remedy: String,
    /// It ought to work and does not, so that `auto` says so before it takes another device; otherwise something is
    /// merely not there (an old GPU, no compiler), and `auto` passes over it in silence.
    pub broken: bool,
}

impl Problem {
    /// Something that was never there: an older GPU, a compiler that is not installed.
    pub fn missing(why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { why: why.into(), remedy: remedy.into(), broken: false }
    }

    /// Something that should work: a driver that does not start.
    pub fn broken(why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { why: why.into(), remedy: remedy.into(), broken: true }
    }
}

/// What `quell devices` shows.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The name that `--device` takes, for example `cuda:0`.
    pub name: String,
    /// Its family.
    pub kind: Kind,
    /// What it is, in words.
    pub description: String,
    /// Instruction set, compute capability, platform or the like.
    pub detail: String,
    /// Threads, multiprocessors or compute units.
    pub units: usize,
    /// Its own memory in bytes, where that can be told.
    pub memory_bytes: Option<u64>,
    /// Name and version of its driver; empty if it needs none.
    pub driver: String,
    /// It is the processor, whoever drives it: `auto` never takes it by way of OpenCL.
    pub is_processor: bool,
    /// What keeps it from being used; `None` if nothing does.
    pub problem: Option<Problem>,
}

impl DeviceInfo {
    /// A device that can be used, of which nothing but its name is known yet.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind,
            description: String::new(),
            detail: String::new(),
            units: 0,
            memory_bytes: None,
            driver: String::new(),
            is_processor: kind == Kind::Cpu,
            problem: None,
        }
    }

    /// Whether it can be used.
    pub fn usable(&self) -> bool {
        self.problem.is_none()
    }
}
