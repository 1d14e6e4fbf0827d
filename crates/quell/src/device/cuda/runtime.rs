//! The runtime interface over the CUDA driver: memory, queues, programs, launches.
//!
//! Works in the device's primary context, which is the one that other CUDA libraries of the process use too, so that
//! device pointers can be shared with them. The context is made current in every call, because callers come from
//! several threads. After an error that ends the context every call says `Lost` and dropping things is quiet.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{
    self, CUcontext, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute as Attribute, CUmodule, CUstream,
};

use super::driver::{self, Driver, Properties, check, check_for};
use super::handles::{Buffer, Context, Event, Kernel, Loaded, Module, Queue, Staging};
use super::memory::HOST_BYTES;
use super::nvrtc::Nvrtc;
use super::{OPTIONS, compile};
use crate::device::DeviceSamples;
use crate::device::gpu::{Arg, GpuError, GpuResult, Limits, Program, Runtime, Shape, cache, notice};

/// Kernel arguments that a launch takes at most; they are marshalled without allocating.
const MAX_ARGS: usize = 48;
/// From the driver's header: the stream does not wait for the default one; page-locked for every context.
const STREAM_NON_BLOCKING: c_uint = 1;
const HOST_PORTABLE: c_uint = 1;

/// One CUDA device, open.
pub(crate) struct CudaRuntime {
    context: Arc<Context>,
    name: String,
    /// What it is, for example `NVIDIA H200`.
    product: String,
    limits: Limits,
    driver: &'static Driver,
    nvrtc: &'static Nvrtc,
    arch: String,
}

impl CudaRuntime {
    /// Opens a device that `super::open` has found usable.
    pub(super) fn open(
        driver: &'static Driver,
        nvrtc: &'static Nvrtc,
        index: usize,
        p: &Properties,
    ) -> GpuResult<Self> {
        let sm = 10 * p.major + p.minor;
        let arch = nvrtc.target(sm)?;
        let mut handle: CUcontext = ptr::null_mut();
        // SAFETY: a device of a driver that has been started; `handle` is written.
        let result = unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut handle, p.handle) };
        if driver::code(result) != 0 {
            // Not `OutOfMemory` or `Lost`: no smaller tile helps, and nothing was there to lose.
            return Err(GpuError::Driver { call: "cuDevicePrimaryCtxRetain", reason: driver::text(result) });
        }
        let context = Arc::new(Context { device: p.handle, handle });
        context.enter()?;
        Ok(Self {
            context,
            name: format!("cuda:{index}"),
            product: p.name.clone(),
            limits: Limits {
                local_bytes: p.local_bytes,
                memory_bytes: p.memory_bytes,
                units: p.units,
                tensor: sm >= 80,
                is_cpu: false,
            },
            driver,
            nvrtc,
            arch,
        })
    }

    fn load(&self, program: &'static str, binary: &[u8]) -> GpuResult<Module> {
        self.context.enter()?;
        let mut handle: CUmodule = ptr::null_mut();
        // SAFETY: whole machine code, or portable code that ends with a zero, as NVRTC made it.
        let result = unsafe { sys::cuModuleLoadData(&raw mut handle, binary.as_ptr().cast()) };
        check_for("cuModuleLoadData", binary.len(), result, || {
            if driver::UNLOADABLE.contains(&driver::code(result)) {
                // A driver takes what compilers of its own or an older CUDA made.
                format!(
                    "{program} built by {} for {}, driver {} (try an NVRTC of the driver's CUDA version)",
                    self.nvrtc.name(),
                    self.arch,
                    self.driver.text
                )
            } else {
                program.into()
            }
        })?;
        let context = self.context.clone();
        Ok(Module(Arc::new(Loaded { context, handle, program, raising: Mutex::new(()) })))
    }
}

impl Runtime for CudaRuntime {
    type Buffer = Buffer;
    type Module = Module;
    type Kernel = Kernel;
    type Queue = Queue;
    type Staging = Staging;
    type Event = Event;

    fn name(&self) -> &str {
        &self.name
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn build(&self, program: &Program) -> GpuResult<Module> {
        let compiler = format!("{} {}", self.nvrtc.name(), OPTIONS.join(" "));
        let key = cache::Key::new(program, &compiler, &self.driver.text, &self.arch);
        if let Some(binary) = cache::load(&key) {
            match self.load(program.name, &binary) {
                Err(GpuError::Driver { .. }) => cache::remove(&key),
                loaded => return loaded,
            }
        }
        notice::notice(&format!("compiling kernels of {} for {} (once)", program.name, self.product));
        let target = format!("{} ({})", self.product, self.arch);
        let compiled = compile(self.nvrtc, program, &self.arch, &target)?;
        let module = self.load(program.name, &compiled.binary)?;
        cache::store(&key, &compiled.binary);
        Ok(module)
    }

    fn kernel(&self, module: &Module, name: &'static str, local: usize) -> GpuResult<Kernel> {
        self.context.enter()?;
        let program = module.0.program;
        if local > self.limits.local_bytes {
            return Err(GpuError::Driver {
                call: "kernel",
                reason: format!(
                    "{name} needs {local} bytes of shared memory, {} has {}",
                    self.product, self.limits.local_bytes
                ),
            });
        }
        let c_name = CString::new(name).map_err(|_| GpuError::Driver {
            call: "cuModuleGetFunction",
            reason: "a zero in the name".into(),
        })?;
        let mut handle: CUfunction = ptr::null_mut();
        // SAFETY: the module is loaded; the name is a C string.
        let result = unsafe { sys::cuModuleGetFunction(&raw mut handle, module.0.handle, c_name.as_ptr()) };
        check_for("cuModuleGetFunction", 0, result, || format!("{name} in {program}"))?;

        if local > 0 {
            // The handle is the same for all that ask for this kernel, so the limit is only ever raised.
            let _one_at_a_time = module.0.raising.lock().unwrap_or_else(PoisonError::into_inner);
            let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let mut now: c_int = 0;
            // SAFETY: the function was just found; `now` is written.
            let result = unsafe { sys::cuFuncGetAttribute(&raw mut now, attribute, handle) };
            check_for("cuFuncGetAttribute", 0, result, || name.into())?;
            let local = c_int::try_from(local).unwrap_or(c_int::MAX);
            if local > now {
                // SAFETY: as above.
                let result = unsafe { sys::cuFuncSetAttribute(handle, attribute, local) };
                check_for("cuFuncSetAttribute", 0, result, || format!("{local} bytes for {name}"))?;
            }
        }

        let parameters = parameters(handle);
        Ok(Kernel { module: module.0.clone(), handle, name, parameters })
    }

    fn queue(&self) -> GpuResult<Queue> {
        self.context.enter()?;
        let mut handle: CUstream = ptr::null_mut();
        // SAFETY: `handle` is written.
        let result = unsafe { sys::cuStreamCreate(&raw mut handle, STREAM_NON_BLOCKING) };
        check("cuStreamCreate", 0, result)?;
        Ok(Queue { context: self.context.clone(), handle })
    }

    fn alloc(&self, bytes: usize) -> GpuResult<Buffer> {
        self.context.enter()?;
        let mut pointer: CUdeviceptr = 0;
        // The driver refuses to allocate nothing.
        // SAFETY: `pointer` is written.
        let result = unsafe { sys::cuMemAlloc_v2(&raw mut pointer, bytes.max(1)) };
        check("cuMemAlloc", bytes, result)?;
        Ok(Buffer { context: self.context.clone(), pointer, bytes, borrowed: false })
    }

    fn lends(&self) -> bool {
        true
    }

    fn borrow(&self, samples: &DeviceSamples, offset: usize, bytes: usize) -> Option<Buffer> {
        // Who made the samples vouches for the memory (`DeviceSamples::new`).
        let pointer = samples.address() + offset as u64;
        Some(Buffer { context: self.context.clone(), pointer, bytes, borrowed: true })
    }

    fn staging(&self, bytes: usize) -> GpuResult<Staging> {
        self.context.enter()?;
        let mut pointer: *mut c_void = ptr::null_mut();
        // SAFETY: `pointer` is written.
        let result = unsafe { sys::cuMemHostAlloc(&raw mut pointer, bytes.max(1), HOST_PORTABLE) };
        check("cuMemHostAlloc", bytes, result)?;
        let Some(pointer) = NonNull::new(pointer.cast::<u8>()) else {
            return Err(GpuError::OutOfMemory { bytes });
        };
        // SAFETY: just allocated with this size. The driver does not promise zeroes, and a slice must be initialised.
        unsafe { ptr::write_bytes(pointer.as_ptr(), 0, bytes) };
        Ok(Staging { context: self.context.clone(), pointer, bytes })
    }

    fn write(&self, queue: &Queue, to: &Buffer, from: &Staging, bytes: usize) -> GpuResult<()> {
        fits("cuMemcpyHtoDAsync", bytes, to.bytes.min(from.bytes))?;
        self.context.enter()?;
        HOST_BYTES[0].fetch_add(bytes as u64, Ordering::Relaxed);
        // SAFETY: both sides have that many bytes; the caller keeps them until the queue is finished, and freeing
        // either waits for the copy.
        let result = unsafe {
            sys::cuMemcpyHtoDAsync_v2(to.pointer, from.pointer.as_ptr().cast(), bytes, queue.handle)
        };
        check("cuMemcpyHtoDAsync", 0, result)
    }

    fn read(&self, queue: &Queue, to: &mut Staging, from: &Buffer, bytes: usize) -> GpuResult<()> {
        fits("cuMemcpyDtoHAsync", bytes, from.bytes.min(to.bytes))?;
        self.context.enter()?;
        HOST_BYTES[1].fetch_add(bytes as u64, Ordering::Relaxed);
        // SAFETY: as in `write`.
        let result = unsafe {
            sys::cuMemcpyDtoHAsync_v2(to.pointer.as_ptr().cast(), from.pointer, bytes, queue.handle)
        };
        check("cuMemcpyDtoHAsync", 0, result)
    }

    fn zero(&self, queue: &Queue, buffer: &Buffer, bytes: usize) -> GpuResult<()> {
        fits("cuMemsetD32Async", bytes, buffer.bytes)?;
        if !bytes.is_multiple_of(4) {
            let reason = format!("{bytes} bytes are not a multiple of 4");
            return Err(GpuError::Driver { call: "cuMemsetD32Async", reason });
        }
        self.context.enter()?;
        // SAFETY: the buffer has that many bytes and starts at a multiple of 256.
        let result = unsafe { sys::cuMemsetD32Async(buffer.pointer, 0, bytes / 4, queue.handle) };
        check("cuMemsetD32Async", 0, result)
    }

    /// A grid without work-groups is no work and no error.
    fn launch(&self, queue: &Queue, kernel: &Kernel, shape: Shape, args: &[Arg<'_, Self>]) -> GpuResult<()> {
        let name = kernel.name;
        let wrong = |reason: String| GpuError::Driver { call: "cuLaunchKernel", reason };
        if shape.grid.contains(&0) {
            return Ok(());
        }
        let [x, y, items, local] =
            [shape.grid[0], shape.grid[1], shape.items, shape.local].map(c_uint::try_from);
        let (Ok(x), Ok(y), Ok(items), Ok(local)) = (x, y, items, local) else {
            return Err(wrong(format!("{name}: {shape:?} is too large")));
        };
        let parameters = kernel.parameters.as_deref();
        if args.len() > MAX_ARGS || parameters.is_some_and(|p| !agree(p, args)) {
            let sizes: Vec<usize> = args.iter().map(size_of_arg).collect();
            let takes = parameters.unwrap_or_default();
            return Err(wrong(format!("{name} takes parameters of {takes:?} bytes, called with {sizes:?}")));
        }
        // Eight bytes hold any argument; the driver reads as many as the parameter has.
        let mut values = [0_u64; MAX_ARGS];
        let mut pointers = [ptr::null_mut::<c_void>(); MAX_ARGS];
        for ((value, pointer), arg) in values.iter_mut().zip(&mut pointers).zip(args) {
            let mut bytes = [0; 8];
            match arg {
                Arg::Buffer(b) => bytes = b.pointer.to_ne_bytes(),
                Arg::I32(i) => bytes[..4].copy_from_slice(&i.to_ne_bytes()),
                Arg::F32(f) => bytes[..4].copy_from_slice(&f.to_ne_bytes()),
            }
            *value = u64::from_ne_bytes(bytes);
            *pointer = ptr::from_mut(value).cast();
        }
        self.context.enter()?;
        // SAFETY: the function is loaded; number and sizes of the arguments are those of its parameters, and the
        // driver copies them before it returns. What the kernel does with its buffers is the kernel's contract.
        let result = unsafe {
            sys::cuLaunchKernel(
                kernel.handle,
                x,
                y,
                1,
                items,
                1,
                1,
                local,
                queue.handle,
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        check_for("cuLaunchKernel", 0, result, || {
            format!("{name} of {} with {shape:?}", kernel.module.program)
        })
    }

    fn finish(&self, queue: &Queue) -> GpuResult<()> {
        self.context.enter()?;
        // SAFETY: the stream exists.
        check("cuStreamSynchronize", 0, unsafe { sys::cuStreamSynchronize(queue.handle) })
    }

    fn wait(&self, event: &Event) -> GpuResult<()> {
        self.context.enter()?;
        // SAFETY: the event exists.
        check("cuEventSynchronize", 0, unsafe { sys::cuEventSynchronize(event.handle) })
    }

    fn mark(&self, queue: &Queue) -> GpuResult<Event> {
        self.context.enter()?;
        let mut handle: CUevent = ptr::null_mut();
        // SAFETY: `handle` is written. 0: with time.
        check("cuEventCreate", 0, unsafe { sys::cuEventCreate(&raw mut handle, 0) })?;
        let event = Event { context: self.context.clone(), handle };
        // SAFETY: event and stream exist, in the same context.
        check("cuEventRecord", 0, unsafe { sys::cuEventRecord(event.handle, queue.handle) })?;
        Ok(event)
    }

    fn elapsed(&self, from: &Event, to: &Event) -> GpuResult<f32> {
        self.context.enter()?;
        let mut ms = 0.0;
        // SAFETY: both events exist; `ms` is written.
        let result = unsafe { sys::cuEventElapsedTime(&raw mut ms, from.handle, to.handle) };
        check("cuEventElapsedTime", 0, result)?;
        Ok(ms)
    }
}

/// Sizes of a function's parameters.
fn parameters(function: CUfunction) -> Option<Vec<usize>> {
    const NO_SUCH_PARAMETER: u32 = 1; // INVALID_VALUE
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function is loaded; the call writes both, or says that there is no such parameter.
        let result =
            unsafe { sys::cuFuncGetParamInfo(function, sizes.len(), &raw mut offset, &raw mut size) };
        match driver::code(result) {
            0 => sizes.push(size),
            NO_SUCH_PARAMETER => return Some(sizes),
            _ => return None,
        }
    }
}

fn fits(call: &'static str, bytes: usize, room: usize) -> GpuResult<()> {
    if bytes <= room {
        return Ok(());
    }
    Err(GpuError::Driver { call, reason: format!("{bytes} bytes do not fit into {room}") })
}

fn size_of_arg(arg: &Arg<'_, CudaRuntime>) -> usize {
    match arg {
        Arg::Buffer(_) => 8,
        Arg::I32(_) | Arg::F32(_) => 4,
    }
}

/// Number and sizes are those of the kernel's parameters.
fn agree(parameters: &[usize], args: &[Arg<'_, CudaRuntime>]) -> bool {
    parameters.len() == args.len() && parameters.iter().zip(args).all(|(&p, a)| p == size_of_arg(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_compared_with_the_parameters() {
        let args = [Arg::I32(1), Arg::F32(2.0)];
        assert!(agree(&[4, 4], &args) && agree(&[], &[]));
        assert!(!agree(&[4], &args) && !agree(&[4, 8], &args) && !agree(&[4, 4, 4], &args));
    }

    #[test]
    fn copies_stay_inside_their_buffers() {
        assert!(fits("copy", 8, 8).is_ok());
        let error = fits("copy", 9, 8).unwrap_err().to_string();
        assert_eq!(error, "copy: 9 bytes do not fit into 8");
    }
}
