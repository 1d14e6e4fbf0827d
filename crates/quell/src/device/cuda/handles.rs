//! What the driver hands out and takes back: a context, and memory, programs, streams and events in it. Each is given
//! back when it is dropped.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{self, CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUmodule, CUstream};

use super::driver::check;
use crate::device::gpu::GpuResult;

/// The primary context of a device, kept alive by everything in it.
pub(super) struct Context {
    pub(super) device: CUdevice,
    pub(super) handle: CUcontext,
}

// SAFETY: contexts may be made current on, and used from, any number of threads (CUDA programming guide, driver API).
unsafe impl Send for Context {}
// SAFETY: as above; there is no state besides the handle.
unsafe impl Sync for Context {}

impl Context {
    pub(super) fn enter(&self) -> GpuResult<()> {
        // SAFETY: the handle is retained as long as `self` lives.
        check("cuCtxSetCurrent", 0, unsafe { sys::cuCtxSetCurrent(self.handle) })
    }

    /// Frees something. Errors have nowhere to go: the device is lost, or the process is ending.
    fn free(&self, free: impl FnOnce()) {
        if self.enter().is_ok() {
            free();
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once in `CudaRuntime::open`, released only here.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// Device memory.
pub(crate) struct Buffer {
    pub(super) context: Arc<Context>,
    pub(super) pointer: CUdeviceptr,
    pub(super) bytes: usize,
    /// Somebody else's, who frees it.
    pub(super) borrowed: bool,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.borrowed {
            return;
        }
        // SAFETY: allocated in `alloc`, freed only here; the driver waits for work that uses it.
        self.context.free(|| unsafe {
            sys::cuMemFree_v2(self.pointer);
        });
    }
}

/// Page-locked host memory, aligned to a page.
pub(crate) struct Staging {
    pub(super) context: Arc<Context>,
    pub(super) pointer: NonNull<u8>,
    pub(super) bytes: usize,
}

// SAFETY: owns its memory, which is ordinary host memory to the processor.
unsafe impl Send for Staging {}
// SAFETY: shared access only reads.
unsafe impl Sync for Staging {}

impl Deref for Staging {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `bytes` bytes were allocated and zeroed in `staging`, and are owned.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Staging {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.bytes) }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // SAFETY: allocated in `staging`, freed only here; the driver waits for copies that use it.
        self.context.free(|| unsafe {
            sys::cuMemFreeHost(self.pointer.as_ptr().cast());
        });
    }
}

/// A loaded program.
pub(crate) struct Module(pub(super) Arc<Loaded>);

pub(super) struct Loaded {
    pub(super) context: Arc<Context>,
    pub(super) handle: CUmodule,
    pub(super) program: &'static str,
    /// Held while the shared memory of one of its functions is raised.
    pub(super) raising: Mutex<()>,
}

// SAFETY: module handles may be used from any thread in which their context is current.
unsafe impl Send for Loaded {}
// SAFETY: as above; functions are changed under the lock.
unsafe impl Sync for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: loaded in `load`, unloaded only here; kernels keep it alive.
        self.context.free(|| unsafe {
            sys::cuModuleUnload(self.handle);
        });
    }
}

/// An entry point.
pub(crate) struct Kernel {
    pub(super) module: Arc<Loaded>,
    pub(super) handle: CUfunction,
    pub(super) name: &'static str,
    /// Bytes of each parameter, to compare with the arguments, when the driver tells.
    pub(super) parameters: Option<Vec<usize>>,
}

// SAFETY: function handles may be used from any thread in which their context is current.
unsafe impl Send for Kernel {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for Kernel {}

/// A stream.
pub(crate) struct Queue {
    pub(super) context: Arc<Context>,
    pub(super) handle: CUstream,
}

// SAFETY: stream handles may be used from any thread in which their context is current.
unsafe impl Send for Queue {}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: created in `queue`, destroyed only here; work in it still runs to its end.
        self.context.free(|| unsafe {
            sys::cuStreamDestroy_v2(self.handle);
        });
    }
}

/// A point in a stream.
pub(crate) struct Event {
    pub(super) context: Arc<Context>,
    pub(super) handle: CUevent,
}

// SAFETY: event handles may be used from any thread in which their context is current.
unsafe impl Send for Event {}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created in `mark`, destroyed only here.
        self.context.free(|| unsafe {
            sys::cuEventDestroy_v2(self.handle);
        });
    }
}
