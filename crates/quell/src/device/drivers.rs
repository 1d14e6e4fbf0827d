//! The families of GPU drivers: what each lists, and how a device of it is started.

use std::any::Any;
use std::panic::catch_unwind;

use super::spread::Spread;
use super::{Backend, DeviceInfo, DeviceOptions, Kind, Problem, Which};
use crate::{Error, Result};

/// A family of drivers.
#[derive(Clone, Copy)]
pub(super) struct Driver {
    pub(super) kind: Kind,
    /// What to say when there is no device at all.
    pub(super) nothing: &'static str,
    pub(super) list: fn() -> Vec<DeviceInfo>,
    pub(super) open: fn(usize, DeviceOptions) -> Result<Box<dyn Backend>>,
}

/// NVIDIA's.
pub(super) const CUDA: Driver = Driver {
    kind: Kind::Cuda,
    nothing: "no CUDA device was found: is the NVIDIA driver installed?",
    list: cuda_list,
    open: cuda_open,
};

/// Everybody's.
pub(super) const OPENCL: Driver = Driver {
    kind: Kind::OpenCl,
    nothing: "no OpenCL device was found: is a driver for it installed?",
    list: opencl_list,
    open: opencl_open,
};

impl Driver {
    /// Its devices, in the order of their numbers.
    pub(super) fn list(&self) -> Vec<DeviceInfo> {
        catch_unwind(self.list).unwrap_or_else(|panic| {
            let problem = Problem::broken(damaged(&*panic), "install the driver again, or use --device cpu");
            vec![DeviceInfo {
                problem: Some(problem),
                ..DeviceInfo::new(self.kind, format!("{}:0", self.kind))
            }]
        })
    }

    /// Starts device `index`.
    pub(super) fn start(&self, index: usize, options: DeviceOptions) -> Result<Box<dyn Backend>> {
        let open = self.open;
        catch_unwind(move || open(index, options)).unwrap_or_else(|panic| {
            Err(Error::Device { device: format!("{}:{index}", self.kind), reason: damaged(&*panic) })
        })
    }

    /// Starts what the user named; nothing else is tried.
    pub(super) fn open(&self, which: Which, options: DeviceOptions) -> Result<Box<dyn Backend>> {
        let listed = self.list();
        let mut usable = listed.iter().enumerate().filter(|(_, d)| d.usable());
        let index = match which {
            Which::One(n) => match listed.get(n) {
                Some(d) if d.usable() => n,
                Some(d) => return Err(unusable(d)),
                None => return Err(self.no_such(&format!("{}:{n}", self.kind), &listed)),
            },
            // GPUs before processors.
            Which::First => match usable.min_by_key(|(_, d)| d.is_processor) {
                Some((n, _)) => n,
                None => return Err(self.none_usable(&listed)),
            },
            Which::All => {
                let all: Vec<(usize, &DeviceInfo)> = usable.by_ref().collect();
                let gpus = all.iter().filter(|(_, d)| !d.is_processor).count();
                // A processor is slower than any GPU beside it: the others would wait for it.
                let chosen = all.iter().filter(|(_, d)| gpus == 0 || !d.is_processor);
                let started = chosen.map(|&(n, _)| self.start(n, options)).collect::<Result<Vec<_>>>()?;
                return match Spread::of(started) {
                    Some(spread) => Ok(spread),
                    None => Err(self.none_usable(&listed)),
                };
            }
        };
        self.start(index, options)
    }

    fn no_such(&self, name: &str, listed: &[DeviceInfo]) -> Error {
        let names: Vec<&str> = listed.iter().map(|d| d.name.as_str()).collect();
        let reason = if names.is_empty() {
            self.nothing.to_owned()
        } else {
            format!("no such device; there is {}", names.join(", "))
        };
        Error::Device { device: name.to_owned(), reason }
    }

    fn none_usable(&self, listed: &[DeviceInfo]) -> Error {
        match listed.first() {
            Some(d) => unusable(d),
            None => self.no_such(&self.kind.to_string(), listed),
        }
    }
}

/// A library that lacks what every driver has ends in a panic of the crate that calls it: no reason to end with it.
fn damaged(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("the driver is damaged or too old ({})", text.unwrap_or("it does not say why"))
}

/// The error for a device that is there but cannot be used.
pub(super) fn unusable(device: &DeviceInfo) -> Error {
    let reason = device.problem.as_ref().map_or_else(String::new, |p| format!("{}; {}", p.why, p.remedy));
    Error::Device { device: device.name.clone(), reason }
}

// The CUDA room stands behind these two, ...

#[cfg(feature = "cuda")]
fn cuda_list() -> Vec<DeviceInfo> {
    super::cuda::list()
}

#[cfg(feature = "cuda")]
fn cuda_open(index: usize, options: DeviceOptions) -> Result<Box<dyn Backend>> {
    Ok(Box::new(super::cuda::start(index, options)?))
}

#[cfg(not(feature = "cuda"))]
fn cuda_list() -> Vec<DeviceInfo> {
    Vec::new()
}

#[cfg(not(feature = "cuda"))]
fn cuda_open(index: usize, _options: DeviceOptions) -> Result<Box<dyn Backend>> {
    Err(Error::Unsupported(format!("cuda:{index}: not in this build")))
}

// ... the OpenCL room behind these.

#[cfg(feature = "opencl")]
fn opencl_list() -> Vec<DeviceInfo> {
    super::opencl::list()
}

#[cfg(feature = "opencl")]
fn opencl_open(index: usize, options: DeviceOptions) -> Result<Box<dyn Backend>> {
    Ok(Box::new(super::opencl::open(index, options)?))
}

#[cfg(not(feature = "opencl"))]
fn opencl_list() -> Vec<DeviceInfo> {
    Vec::new()
}

#[cfg(not(feature = "opencl"))]
fn opencl_open(index: usize, _options: DeviceOptions) -> Result<Box<dyn Backend>> {
    Err(Error::Unsupported(format!("opencl:{index}: not in this build")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::cpu::Cpu;
    use crate::device::test_devices::{Fake, info};

    fn none() -> Vec<DeviceInfo> {
        Vec::new()
    }

    fn three() -> Vec<DeviceInfo> {
        let mut list = vec![info("cuda:0"), info("cuda:1"), info("cuda:2"), info("cuda:3")];
        list[0].problem = Some(Problem::missing("too old (sm_70)", "use opencl"));
        list[1].is_processor = true;
        list
    }

    fn start(index: usize, options: DeviceOptions) -> Result<Box<dyn Backend>> {
        Ok(Box::new(Fake::new(&format!("cuda:{index}"), Cpu::new(options)?)))
    }

    fn driver(list: fn() -> Vec<DeviceInfo>) -> Driver {
        Driver { kind: Kind::Cuda, nothing: "nothing there", list, open: start }
    }

    fn name(which: Which) -> String {
        driver(three).open(which, DeviceOptions::default()).unwrap().info().name
    }

    fn error(list: fn() -> Vec<DeviceInfo>, which: Which) -> String {
        driver(list).open(which, DeviceOptions::default()).map(|b| b.info()).unwrap_err().to_string()
    }

    #[test]
    fn the_first_is_a_gpu_that_can_be_used() {
        assert_eq!(name(Which::First), "cuda:2");
        assert_eq!(name(Which::One(1)), "cuda:1");
    }

    #[test]
    fn all_are_the_gpus_that_can_be_used() {
        let all = driver(three).open(Which::All, DeviceOptions::default()).unwrap().info();
        assert_eq!(all.name, "cuda:all");
        assert!(all.description.starts_with("2 x "), "{}", all.description);
    }

    #[test]
    fn a_driver_that_panics_is_broken_and_nothing_worse() {
        let list = || panic!("Missing symbol {}", "cuInit");
        let open = |_, _| panic!("lost");
        let driver = Driver { kind: Kind::Cuda, nothing: "", list, open };
        let listed = driver.list();
        let problem = listed[0].problem.as_ref().unwrap();
        assert!(problem.broken && listed[0].name == "cuda:0");
        assert_eq!(problem.why, "the driver is damaged or too old (Missing symbol cuInit)");
        let e = driver.start(2, DeviceOptions::default()).map(|b| b.info()).unwrap_err();
        assert_eq!(e.to_string(), "cuda:2: the driver is damaged or too old (lost)");
    }

    #[test]
    fn a_device_that_cannot_be_used_says_why_and_what_to_do() {
        assert_eq!(error(three, Which::One(0)), "cuda:0: too old (sm_70); use opencl");
        let there = "cuda:7: no such device; there is cuda:0, cuda:1, cuda:2, cuda:3";
        assert_eq!(error(three, Which::One(7)), there);
        assert_eq!(error(none, Which::One(0)), "cuda:0: nothing there");
        assert_eq!(error(none, Which::First), "cuda: nothing there");
        assert_eq!(error(none, Which::All), "cuda: nothing there");
    }
}
