//! Device memory for whoever works with pictures there: results that stay on the device, and what has to be known to take
//! pictures from other libraries.

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::sys::{self, CUdevice, CUdeviceptr, CUstream};

use super::driver::{self, check};
use super::handles::{Buffer, Context};
use crate::device::gpu::{GpuError, GpuResult};
use crate::{Error, Result};

/// Memory of a CUDA device, in its primary context, which all libraries of a process share. Freed when it is dropped.
pub struct DeviceMemory {
    buffer: Buffer,
    device: usize,
}

impl std::fmt::Debug for DeviceMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceMemory").field("device", &self.device).field("bytes", &self.bytes()).finish()
    }
}

impl DeviceMemory {
    /// So many bytes on device `device`, with anything in them.
    pub fn new(device: usize, bytes: usize) -> Result<Self> {
        let alloc = || {
            let context = primary(device)?;
            let mut pointer: CUdeviceptr = 0;
            // The driver refuses to allocate nothing.
            // SAFETY: the context is current; `pointer` is written.
            let result = unsafe { sys::cuMemAlloc_v2(&raw mut pointer, bytes.max(1)) };
            check("cuMemAlloc", bytes, result)?;
            Ok(Buffer { context, pointer, bytes, borrowed: false })
        };
        Ok(Self { buffer: alloc().map_err(|e| of(device, e))?, device })
    }

    /// Where it begins (`CUdeviceptr`).
    pub fn address(&self) -> u64 {
        self.buffer.pointer
    }

    /// How long it is.
    pub fn bytes(&self) -> usize {
        self.buffer.bytes
    }

    /// The number of the device.
    pub fn device(&self) -> usize {
        self.device
    }

    /// Copies its first bytes to the host.
    pub fn read(&self, to: &mut [u8]) -> Result<()> {
        if to.len() > self.bytes() {
            return Err(Error::Shape(format!("{} bytes are more than there are", to.len())));
        }
        let mut copy = || {
            self.buffer.context.enter()?;
            HOST_BYTES[1].fetch_add(to.len() as u64, Ordering::Relaxed);
            // SAFETY: both sides have that many bytes; the call returns when they are copied.
            let result =
                unsafe { sys::cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), self.buffer.pointer, to.len()) };
            check("cuMemcpyDtoH", 0, result)
        };
        copy().map_err(|e| of(self.device, e))
    }
}

/// Waits for all that other libraries have queued on the default stream of a device, such as what fills a picture.
pub fn wait_for_default_stream(device: usize) -> Result<()> {
    /// `CU_STREAM_LEGACY`.
    const DEFAULT: usize = 1;
    let wait = || {
        let _context = primary(device)?;
        let stream: CUstream = ptr::without_provenance_mut(DEFAULT);
        // SAFETY: the context is current; the handle is the driver's own name for its default stream.
        check("cuStreamSynchronize", 0, unsafe { sys::cuStreamSynchronize(stream) })
    };
    wait().map_err(|e| of(device, e))
}

/// The primary context of a device, made current.
fn primary(index: usize) -> GpuResult<Arc<Context>> {
    driver::driver()?;
    let (mut device, mut handle): (CUdevice, _) = (0, ptr::null_mut());
    let ordinal = c_int::try_from(index).unwrap_or(c_int::MAX);
    // SAFETY: the driver has been started; `device` is written.
    check("cuDeviceGet", 0, unsafe { sys::cuDeviceGet(&raw mut device, ordinal) })?;
    // SAFETY: `device` is a device of this driver; `handle` is written.
    let result = unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut handle, device) };
    check("cuDevicePrimaryCtxRetain", 0, result)?;
    let context = Arc::new(Context { device, handle });
    context.enter()?;
    Ok(context)
}

fn of(device: usize, error: GpuError) -> Error {
    let device = format!("cuda:{device}");
    match error {
        GpuError::OutOfMemory { bytes } => Error::DeviceMemory { device, bytes: bytes as u64 },
        other => Error::Device { device, reason: other.to_string() },
    }
}

/// Bytes to devices, and back.
pub(super) static HOST_BYTES: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Bytes that this process has copied from the host to CUDA devices, and from there to the host: pictures that stay on
/// the device add none.
pub fn host_bytes() -> (u64, u64) {
    let [to, from] = [0, 1].map(|i| HOST_BYTES[i].load(Ordering::Relaxed));
    (to, from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_driver_there_is_no_memory_and_no_crash() {
        // SAFETY: opens the driver's library, whose initialisers are meant to run at any time.
        if unsafe { sys::is_culib_present() } {
            println!("skipped: this machine has an NVIDIA driver");
            return;
        }
        for error in [DeviceMemory::new(0, 16).map(drop), wait_for_default_stream(0)] {
            let error = error.unwrap_err();
            assert!(error.is_of_device() && error.to_string().contains("no NVIDIA driver"), "{error}");
        }
    }
}
