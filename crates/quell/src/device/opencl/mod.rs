//! OpenCL: any GPU with a driver for it, and processors for the tests. The library is looked for at run time.

mod discover;
mod handle;
mod runtime;

pub(crate) use discover::{Found, devices};
pub(crate) use runtime::OpenClRuntime;

use crate::device::gpu::Gpu;
use crate::device::{DeviceInfo, DeviceOptions, Kind, Problem};
use crate::{Error, Result};

/// Every OpenCL device, GPUs first; a device's place in the list is its number.
pub(crate) fn list() -> Vec<DeviceInfo> {
    devices().iter().enumerate().map(|(i, found)| info(found, i)).collect()
}

/// Starts the device with a number.
pub(crate) fn open(index: usize, options: DeviceOptions) -> Result<Gpu<OpenClRuntime>> {
    let name = format!("opencl:{index}");
    let all = devices();
    let Some(found) = all.get(index) else {
        let reason = if all.is_empty() {
            "no OpenCL device was found".into()
        } else {
            format!("there are {}", all.len())
        };
        return Err(Error::Device { device: name, reason });
    };
    let runtime = OpenClRuntime::new(found, index)
        .map_err(|e| Error::Device { device: name, reason: e.to_string() })?;
    Ok(Gpu::new(runtime, info(found, index), options.tile))
}

fn info(found: &Found, index: usize) -> DeviceInfo {
    DeviceInfo {
        description: found.name.clone(),
        detail: format!("{}, {}", found.platform, found.version),
        units: found.units,
        memory_bytes: Some(found.memory_bytes),
        driver: found.driver.clone(),
        is_processor: found.is_cpu,
        problem: found.problem.as_ref().map(|why| Problem::missing(why, "use another device")),
        ..DeviceInfo::new(Kind::OpenCl, format!("opencl:{index}"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;

    /// The first device that can be used; drivers for processors count.
    fn first(tile: usize) -> Option<Gpu<OpenClRuntime>> {
        let index = devices().iter().position(|d| d.problem.is_none());
        let Some(index) = index else {
            println!("skipped: no OpenCL device");
            return None;
        };
        Some(open(index, DeviceOptions { tile, ..DeviceOptions::default() }).unwrap())
    }

    /// One for all tests: they run at once, as the pictures of a batch do.
    fn shared() -> Option<&'static Gpu<OpenClRuntime>> {
        static SHARED: OnceLock<Option<Gpu<OpenClRuntime>>> = OnceLock::new();
        SHARED.get_or_init(|| first(0)).as_ref()
    }

    mod sizes {
        crate::device::gpu::bm3d::sizes_tests::suite!(super::shared());
    }

    mod averages {
        crate::device::gpu::bm3d::counted_tests::suite!(super::shared(), super::first);
    }

    mod clips {
        crate::device::gpu::average::tests::suite!(super::shared());
    }

    mod ridge {
        crate::device::gpu::ridge::tests::suite!(super::shared(), super::first);
    }

    mod nlm {
        crate::device::gpu::nlm::tests::suite!(super::shared());
    }

    mod isoline {
        crate::device::gpu::isoline::tests::suite!(super::shared());
    }

    mod conformance {
        crate::device::gpu::bm3d::conformance::suite!(super::shared(), super::first);
    }
}
