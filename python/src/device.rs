//! Devices that are started, once per process and kind of use.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use quell::device::{self, Backend, DeviceInfo, DeviceOptions, Kind};
use quell::{Device, Error};

use crate::errors::raise;

/// The process that started a GPU; 0 if none did.
static WITH_GPU: AtomicU32 = AtomicU32::new(0);

/// Remembers that a device was started.
pub(crate) fn started(info: &DeviceInfo) {
    if info.kind != Kind::Cpu {
        WITH_GPU.store(std::process::id(), Ordering::Relaxed);
    }
}

/// Drivers of GPUs do not survive a fork, and crash or wait for ever in the new process.
pub(crate) fn check_fork(device: Device) -> quell::Result<()> {
    let with_gpu = WITH_GPU.load(Ordering::Relaxed);
    if device == Device::Cpu || with_gpu == 0 || with_gpu == std::process::id() {
        return Ok(());
    }
    let reason = "this process was forked from one that had started a GPU; use the start method \"spawn\" of \
                  multiprocessing, or device=\"cpu\"";
    Err(Error::Device { device: device.to_string(), reason: reason.into() })
}

/// The device with these options; started once, and shared by all that ask for it.
pub(crate) fn open(device: Device, options: DeviceOptions) -> quell::Result<Arc<dyn Backend>> {
    type Started = (u32, Device, DeviceOptions, Arc<dyn Backend>);
    // Never dropped, not even in a forked process, where its threads are missing.
    static ALL: Mutex<Vec<Started>> = Mutex::new(Vec::new());
    check_fork(device)?;
    let process = std::process::id();
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |(p, d, o, _): &&Started| (*p, *d, *o) == (process, device, options);
    if let Some((.., backend)) = all.iter().find(same) {
        return Ok(backend.clone());
    }
    let backend: Arc<dyn Backend> = device::open(device, options)?.into();
    if !matches!(device, Device::Auto) {
        started(&backend.info());
    }
    all.push((process, device, options, backend.clone()));
    Ok(backend)
}

/// What is known of a device.
pub(crate) fn describe<'py>(py: Python<'py>, info: &DeviceInfo) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("name", &info.name)?;
    all.set_item("kind", info.kind.to_string())?;
    all.set_item("description", &info.description)?;
    all.set_item("detail", &info.detail)?;
    all.set_item("units", info.units)?;
    all.set_item("memory_bytes", info.memory_bytes)?;
    all.set_item("driver", &info.driver)?;
    all.set_item("usable", info.usable())?;
    let problem = info.problem.as_ref();
    all.set_item("problem", problem.map(|p| format!("{}; {}", p.why, p.remedy)))?;
    Ok(all)
}

/// Every device of this machine, whether it can be used or not.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    check_fork(Device::Auto).map_err(raise)?;
    let all = py.detach(device::list);
    // Drivers for the processor are only asked who they are.
    all.iter().filter(|info| info.usable() && !info.is_processor).for_each(started);
    all.iter().map(|info| describe(py, info)).collect()
}
