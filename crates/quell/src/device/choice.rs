//! Which device the user wants, as it is written on the command line.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// Which device to use.
///
/// ```
/// use quell::Device;
/// use quell::device::Which;
/// assert_eq!("cuda:1".parse::<Device>()?, Device::Cuda(Which::One(1)));
/// assert_eq!(Device::OpenCl(Which::First).to_string(), "opencl");
/// # Ok::<(), quell::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The best one that works: CUDA, else a GPU with OpenCL, else the processor. One that fails is left for the next.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// NVIDIA GPUs by CUDA.
    Cuda(Which),
    /// GPUs, and processors, by OpenCL.
    OpenCl(Which),
}

/// Which of several devices of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// The first that can be used; GPUs come before processors.
    #[default]
    First,
    /// The one with this number in [`list`](super::list).
    One(usize),
    /// All that can be used: they share the pictures of a batch and the tiles of a large picture.
    All,
}

const ALLOWED: &str = "must be auto, cpu, cuda, cuda:N, cuda:all, opencl, opencl:N or opencl:all";

impl FromStr for Device {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        let (kind, which) = match s.split_once(':') {
            Some((kind, which)) => (kind, Some(which)),
            None => (s, None),
        };
        let which = match which {
            None => Some(Which::First),
            Some("all") => Some(Which::All),
            // Digits only: the parser of numbers would take +1 as well.
            Some(n) if n.bytes().all(|b| b.is_ascii_digit()) => n.parse().ok().map(Which::One),
            Some(_) => None,
        };
        match (kind, which) {
            ("auto", Some(Which::First)) => Ok(Self::Auto),
            ("cpu", Some(Which::First)) => Ok(Self::Cpu),
            ("cuda", Some(which)) => Ok(Self::Cuda(which)),
            ("opencl", Some(which)) => Ok(Self::OpenCl(which)),
            _ => Err(Error::parameter("device", s, ALLOWED)),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(which) => write!(f, "cuda{which}"),
            Self::OpenCl(which) => write!(f, "opencl{which}"),
        }
    }
}

/// What stands behind the kind: nothing, `:2`, `:all`.
impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => Ok(()),
            Self::One(n) => write!(f, ":{n}"),
            Self::All => f.write_str(":all"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_alike() {
        for name in
            ["auto", "cpu", "cuda", "cuda:0", "cuda:12", "cuda:all", "opencl", "opencl:3", "opencl:all"]
        {
            assert_eq!(name.parse::<Device>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_is_allowed() {
        for name in [
            "",
            "gpu",
            "CUDA",
            "cuda:",
            "cuda:x",
            "cuda:-1",
            "cuda:+1",
            "cuda:1:2",
            "cuda:99999999999999999999",
            "cpu:0",
            "auto:all",
            "cpu:",
            "opencl: 1",
            "cudaall",
            "opencl0",
        ] {
            let e = name.parse::<Device>().unwrap_err();
            assert!(
                matches!(&e, Error::Parameter { .. }) && e.to_string().contains("cuda:all"),
                "{name}: {e}"
            );
        }
    }
}
