//! Which OpenCL devices there are. Nothing that a driver answers is an error here: a platform without devices, a
//! device that does not say its name, or no library at all only make the list shorter.

use std::sync::OnceLock;

use cl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU};
use cl3::types::cl_device_id;
use opencl3::device::Device;
use opencl3::platform::{Platform, get_platforms};

/// Least local memory that the kernels are written for, in bytes.
const LEAST_LOCAL: u64 = 32 * 1024;
/// Work-items of the largest work-group.
const LEAST_ITEMS: usize = 256;

/// A device, and what is known of it without starting it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(super) id: Id,
    /// The platform's name, for example `NVIDIA CUDA`.
    pub(crate) platform: String,
    /// The device's name.
    pub(crate) name: String,
    /// Version of the driver.
    pub(crate) driver: String,
    /// Version of OpenCL that the device speaks.
    pub(crate) version: String,
    /// Global memory in bytes.
    pub(crate) memory_bytes: u64,
    /// Compute units.
    pub(crate) units: usize,
    /// A processor: fine for tests, never chosen by `auto`.
    pub(crate) is_cpu: bool,
    /// Why it cannot be used; `None` if it can.
    pub(crate) problem: Option<String>,
}

/// A device's handle. Root devices live as long as the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Id(pub(super) cl_device_id);

// SAFETY: device handles are plain names that every OpenCL call may use from any thread.
unsafe impl Send for Id {}
// SAFETY: as above.
unsafe impl Sync for Id {}

/// Every device, GPUs first, then in the order of the platforms. Drivers are asked once, by one thread: some do not
/// stand being asked by two at a time.
pub(crate) fn devices() -> &'static [Found] {
    static DEVICES: OnceLock<Vec<Found>> = OnceLock::new();
    DEVICES.get_or_init(ask)
}

fn ask() -> Vec<Found> {
    // Without the check a missing library is an error of each single call.
    if !cl3::is_opencl_runtime_available() {
        return Vec::new();
    }
    let platforms = get_platforms().unwrap_or_default();
    let mut found: Vec<(bool, Found)> = Vec::new();
    for platform in &platforms {
        // A platform without devices answers with an error: it is passed over.
        for id in platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default() {
            let device = Device::new(id);
            let kind = device.dev_type().unwrap_or(0);
            found.push((
                kind & CL_DEVICE_TYPE_GPU == 0,
                describe(platform, &device, kind & CL_DEVICE_TYPE_CPU != 0),
            ));
        }
    }
    found.sort_by_key(|(other, _)| *other);
    found.into_iter().map(|(_, f)| f).collect()
}

fn describe(platform: &Platform, device: &Device, is_cpu: bool) -> Found {
    let trimmed = |s: String| s.trim().to_owned();
    Found {
        id: Id(device.id()),
        platform: platform.name().map(trimmed).unwrap_or_default(),
        name: device.name().map(trimmed).unwrap_or_default(),
        driver: device.driver_version().map(trimmed).unwrap_or_default(),
        version: device.version().map(trimmed).unwrap_or_default(),
        memory_bytes: device.global_mem_size().unwrap_or(0),
        units: device.max_compute_units().unwrap_or(0) as usize,
        is_cpu,
        problem: problem(device),
    }
}

/// What keeps a device from running the kernels.
fn problem(device: &Device) -> Option<String> {
    let version = device.version().unwrap_or_default();
    // "OpenCL 1.2 ...": the number is compared as text, digit by digit.
    let number = version.split_whitespace().nth(1).unwrap_or("0");
    let local = device.local_mem_size().unwrap_or(0);
    let items = device.max_work_group_size().unwrap_or(0);
    if !device.available().unwrap_or(false) {
        Some("the driver says that the device is not available".into())
    } else if !device.compiler_available().unwrap_or(false) {
        Some("the driver has no compiler for kernels".into())
    } else if number < "1.2" {
        Some(format!("it speaks OpenCL {number}, and 1.2 is needed"))
    } else if device.profile().is_ok_and(|p| p.trim() != "FULL_PROFILE") {
        Some("it has the embedded profile only".into())
    } else if !device.endian_little().unwrap_or(false) {
        Some("its byte order is big-endian".into())
    } else if local < LEAST_LOCAL {
        Some(format!("it has {local} bytes of local memory, and {LEAST_LOCAL} are needed"))
    } else if items < LEAST_ITEMS {
        Some(format!("it has work-groups of {items}, and {LEAST_ITEMS} are needed"))
    } else {
        None
    }
}
