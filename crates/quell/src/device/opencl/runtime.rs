//! [`Runtime`] on OpenCL 1.2 and newer.

use std::ffi::{CString, c_void};
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cl3::command_queue as queue;
use cl3::error_codes::{ClError, DLOPEN_FUNCTION_NOT_AVAILABLE};
use cl3::event;
use cl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE};
use cl3::types::{CL_FALSE, CL_TRUE, cl_event, cl_int, cl_mem};
use opencl3::device::Device;

use super::discover::{Found, Id};
use super::handle::{self, Context, Event, Memory, Queue, bytes_of};
use crate::device::gpu::{Arg, GpuError, GpuResult, Limits, Program, Runtime, Shape, cache, notice};

const OUT_OF_MEMORY: [cl_int; 4] = [
    cl3::error_codes::CL_MEM_OBJECT_ALLOCATION_FAILURE,
    cl3::error_codes::CL_OUT_OF_RESOURCES,
    cl3::error_codes::CL_OUT_OF_HOST_MEMORY,
    cl3::error_codes::CL_INVALID_BUFFER_SIZE,
];
/// What a queue answers whose device does not work any more. -9999 is NVIDIA's word for a kernel that was stopped.
const LOST: [cl_int; 4] = [
    cl3::error_codes::CL_OUT_OF_RESOURCES,
    cl3::error_codes::CL_INVALID_COMMAND_QUEUE,
    cl3::error_codes::CL_DEVICE_NOT_AVAILABLE,
    -9999,
];

/// A device behind an OpenCL driver.
pub(crate) struct OpenClRuntime {
    name: String,
    limits: Limits,
    device: Id,
    context: Arc<Context>,
    /// For mapping memory and for touching it.
    service: Arc<Queue>,
    options: CString,
    /// `#define` lines that say what the compiler offers.
    offers: &'static str,
    /// The device in words.
    product: String,
    /// What the compiled binaries depend on besides the program.
    driver: String,
}

/// A built program.
pub(crate) struct Module {
    program: handle::Program,
}

/// Device memory.
pub(crate) struct Buffer {
    memory: Memory,
    bytes: usize,
}

/// Host memory, page-locked where the driver gives such.
pub(crate) enum Staging {
    /// Mapped for as long as it lives.
    Pinned { memory: Memory, at: *mut u8, bytes: usize, service: Arc<Queue> },
    /// When the driver refuses.
    Plain(Vec<u8>),
}

// SAFETY: the mapped memory belongs to this value alone.
unsafe impl Send for Staging {}

impl Deref for Staging {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            // SAFETY: `bytes` bytes are mapped at `at` until this is dropped.
            Self::Pinned { at, bytes, .. } => unsafe { std::slice::from_raw_parts(*at, *bytes) },
            Self::Plain(v) => v,
        }
    }
}

impl DerefMut for Staging {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            // SAFETY: as above, and nothing else refers to them.
            Self::Pinned { at, bytes, .. } => unsafe { std::slice::from_raw_parts_mut(*at, *bytes) },
            Self::Plain(v) => v,
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Self::Pinned { memory, at, service, .. } = self {
            // SAFETY: it was mapped from this memory, and is unmapped once.
            let event = unsafe {
                queue::enqueue_unmap_mem_object(service.0, memory.0, at.cast::<c_void>(), 0, ptr::null())
            };
            if let Ok(event) = event {
                drop(Event(event));
            }
            let _ = queue::finish(service.0);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(call: &'static str) -> impl Fn(cl_int) -> GpuError {
    move |code| match code {
        cl3::error_codes::CL_MEM_OBJECT_ALLOCATION_FAILURE => GpuError::OutOfMemory { bytes: 0 },
        code if LOST.contains(&code) => GpuError::Lost(format!("{call}: {}", ClError(code))),
        DLOPEN_FUNCTION_NOT_AVAILABLE => {
            GpuError::Driver { call, reason: "not in the OpenCL library of this machine".into() }
        }
        code => GpuError::Driver { call, reason: ClError(code).to_string() },
    }
}

/// Releases the event of a command that nobody waits for.
fn forget(call: &'static str, event: Result<cl_event, cl_int>) -> GpuResult<()> {
    event.map(|e| drop(Event(e))).map_err(failed(call))
}

impl OpenClRuntime {
    /// Starts a device, `opencl:index` in the list.
    pub(crate) fn new(found: &Found, index: usize) -> GpuResult<Self> {
        let name = format!("opencl:{index}");
        if let Some(problem) = &found.problem {
            return Err(GpuError::Driver { call: "start", reason: problem.clone() });
        }
        let device = Device::new(found.id.0);
        let context = cl3::context::create_context(&[found.id.0], ptr::null(), None, ptr::null_mut())
            .map(|c| Arc::new(Context(c)))
            .map_err(failed("clCreateContext"))?;
        let service = Arc::new(in_order(&context, found.id)?);
        let extensions = device.extensions().unwrap_or_default();
        let has = |name: &str| extensions.split_whitespace().any(|e| e == name);
        // dp4a is in NVIDIA GPUs from compute capability 6.1 on; their compiler takes PTX but offers neither dot
        // products nor float atomics.
        let ptx = device
            .compute_capability_major_nv()
            .is_ok_and(|major| (major, device.compute_capability_minor_nv().unwrap_or(0)) >= (6, 1));
        let new_language = has("cl_ext_float_atomics") || has("cl_khr_integer_dot_product");
        let (standard, offers) = if ptx {
            ("-cl-std=CL1.2", "#define QUELL_PTX 1\n")
        } else if new_language && found.version.split_whitespace().nth(1) >= Some("3.0") {
            ("-cl-std=CL3.0", "#define QUELL_FLOAT_ATOMICS 1\n")
        } else {
            ("-cl-std=CL1.2", "")
        };
        let limits = Limits {
            local_bytes: device.local_mem_size().unwrap_or(0) as usize,
            // No single buffer may be larger than this, and a quarter of the memory is the least it can be.
            memory_bytes: found.memory_bytes.min(4 * device.max_mem_alloc_size().unwrap_or(u64::MAX / 4)),
            units: found.units,
            tensor: false,
            is_cpu: found.is_cpu,
        };
        Ok(Self {
            name,
            limits,
            device: found.id,
            context,
            service,
            options: CString::new(standard).unwrap_or_default(),
            offers,
            product: found.name.clone(),
            driver: format!("{} {} {} {}", found.platform, found.name, found.version, found.driver),
        })
    }

    /// The text of a program: its constants as lines, since drivers read long options in different ways.
    fn source(&self, program: &Program) -> String {
        let mut text = String::from(self.offers);
        for (name, value) in &program.defines {
            text += &format!("#define {name} {value}\n");
        }
        for part in &program.sources {
            text += part;
            text += "\n";
        }
        text
    }

    fn compile(&self, program: &Program) -> GpuResult<handle::Program> {
        let source = self.source(program);
        let raw = cl3::program::create_program_with_source(self.context.0, &[&source])
            .map_err(failed("clCreateProgramWithSource"))?;
        let built = handle::Program(raw);
        let result = cl3::program::build_program(raw, &[self.device.0], &self.options, None, ptr::null_mut());
        if let Err(code) = result {
            return Err(self.explain(program, &built, &source, code));
        }
        Ok(built)
    }

    /// A program from what [`binary`] gave at another start.
    fn load(&self, binary: &[u8]) -> GpuResult<handle::Program> {
        // SAFETY: one binary for one device; the driver checks what is in it.
        let raw =
            unsafe { cl3::program::create_program_with_binary(self.context.0, &[self.device.0], &[binary]) };
        let built = handle::Program(raw.map_err(failed("clCreateProgramWithBinary"))?);
        cl3::program::build_program(built.0, &[self.device.0], &self.options, None, ptr::null_mut())
            .map_err(failed("clBuildProgram"))?;
        Ok(built)
    }

    fn explain(&self, program: &Program, built: &handle::Program, source: &str, code: cl_int) -> GpuError {
        let log =
            cl3::program::get_program_build_info(built.0, self.device.0, cl3::program::CL_PROGRAM_BUILD_LOG)
                .map(String::from)
                .unwrap_or_default();
        let first_line = log.lines().find(|l| l.contains("error")).or_else(|| log.lines().next());
        let first_line = first_line.filter(|l| !l.trim().is_empty()).map(str::to_owned);
        let first_line = first_line.unwrap_or_else(|| ClError(code).to_string());
        let text = format!("{log}\n\n{source}");
        GpuError::Compile {
            program: program.name,
            target: self.driver.clone(),
            first_line,
            log: cache::save_log(program.name, &text).display().to_string(),
        }
    }
}

/// What a driver made of a program, if it tells.
fn binary(program: &handle::Program) -> Option<Vec<u8>> {
    let info = cl3::program::get_program_info(program.0, cl3::program::CL_PROGRAM_BINARIES).ok()?;
    Vec::<Vec<u8>>::from(info).into_iter().next().filter(|b| !b.is_empty())
}

fn in_order(context: &Context, device: Id) -> GpuResult<Queue> {
    // SAFETY: context and device belong together; the properties are a plain bit mask.
    unsafe { queue::create_command_queue(context.0, device.0, queue::CL_QUEUE_PROFILING_ENABLE) }
        .map(Queue)
        .map_err(failed("clCreateCommandQueue"))
}

impl Runtime for OpenClRuntime {
    type Buffer = Buffer;
    type Module = Module;
    /// Arguments are set before every start, by one thread at a time.
    type Kernel = Mutex<handle::Kernel>;
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
        // Drivers for processors keep binaries themselves, and take long to hand one out.
        if self.limits.is_cpu {
            return self.compile(program).map(|program| Module { program });
        }
        let compiler = format!("{} {}", self.options.to_string_lossy(), self.offers);
        let key = cache::Key::new(program, &compiler, &self.driver, "");
        if let Some(binary) = cache::load(&key) {
            match self.load(&binary) {
                Ok(program) => return Ok(Module { program }),
                Err(_) => cache::remove(&key),
            }
        }
        notice::notice(&format!("compiling kernels of {} for {} (once)", program.name, self.product));
        let program = self.compile(program)?;
        if let Some(binary) = binary(&program) {
            cache::store(&key, &binary);
        }
        Ok(Module { program })
    }

    fn kernel(&self, module: &Module, name: &'static str, local: usize) -> GpuResult<Self::Kernel> {
        if local > 0 {
            return Err(GpuError::Driver {
                call: "kernel",
                reason: format!("{name} wants dynamic local memory"),
            });
        }
        let text = CString::new(name).unwrap_or_default();
        cl3::kernel::create_kernel(module.program.0, &text)
            .map(|k| Mutex::new(handle::Kernel(k)))
            .map_err(failed("clCreateKernel"))
    }

    fn queue(&self) -> GpuResult<Queue> {
        in_order(&self.context, self.device)
    }

    fn alloc(&self, bytes: usize) -> GpuResult<Buffer> {
        let bytes = bytes.next_multiple_of(4).max(4);
        let short = |call: &'static str| {
            move |code| {
                if OUT_OF_MEMORY.contains(&code) {
                    GpuError::OutOfMemory { bytes }
                } else {
                    failed(call)(code)
                }
            }
        };
        // SAFETY: no host memory is handed over.
        let memory =
            unsafe { cl3::memory::create_buffer(self.context.0, CL_MEM_READ_WRITE, bytes, ptr::null_mut()) };
        let buffer = Buffer { memory: memory.map(Memory).map_err(short("clCreateBuffer"))?, bytes };
        // Drivers take the memory when it is first used: use it here, where running out of it is expected.
        let zero = 0u32;
        // SAFETY: the pattern is copied by the call, and the range is inside the buffer.
        let event = unsafe {
            queue::enqueue_fill_buffer(
                self.service.0,
                buffer.memory.0,
                bytes_of(&zero),
                4,
                0,
                bytes,
                0,
                ptr::null(),
            )
        };
        drop(Event(event.map_err(short("clEnqueueFillBuffer"))?));
        queue::finish(self.service.0).map_err(short("clFinish"))?;
        Ok(buffer)
    }

    fn staging(&self, bytes: usize) -> GpuResult<Staging> {
        let bytes = bytes.max(1);
        let flags = CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
        // SAFETY: no host memory is handed over.
        let memory = unsafe { cl3::memory::create_buffer(self.context.0, flags, bytes, ptr::null_mut()) };
        let Ok(memory) = memory.map(Memory) else { return Ok(Staging::Plain(vec![0; bytes])) };
        let mut at: cl_mem = ptr::null_mut();
        // SAFETY: the whole buffer is mapped, blocking, and unmapped when the staging memory is dropped.
        let event = unsafe {
            queue::enqueue_map_buffer(
                self.service.0,
                memory.0,
                CL_TRUE,
                CL_MAP_READ | CL_MAP_WRITE,
                0,
                bytes,
                &mut at,
                0,
                ptr::null(),
            )
        };
        match event {
            Ok(event) => {
                drop(Event(event));
                let staging = Staging::Pinned { memory, at: at.cast(), bytes, service: self.service.clone() };
                Ok(staging)
            }
            Err(_) => Ok(Staging::Plain(vec![0; bytes])),
        }
    }

    fn write(&self, queue: &Queue, to: &Buffer, from: &Staging, bytes: usize) -> GpuResult<()> {
        check_copy(bytes, to.bytes, from.len())?;
        // SAFETY: both ranges are inside their memory; the staging memory outlives the copy by the contract of
        // `Runtime`.
        let event = unsafe {
            queue::enqueue_write_buffer(
                queue.0,
                to.memory.0,
                CL_FALSE,
                0,
                bytes,
                from.as_ptr().cast(),
                0,
                ptr::null(),
            )
        };
        forget("clEnqueueWriteBuffer", event)
    }

    fn read(&self, queue: &Queue, to: &mut Staging, from: &Buffer, bytes: usize) -> GpuResult<()> {
        check_copy(bytes, from.bytes, to.len())?;
        // SAFETY: both ranges are inside their memory; the staging memory outlives the copy by the contract of
        // `Runtime`.
        let event = unsafe {
            queue::enqueue_read_buffer(
                queue.0,
                from.memory.0,
                CL_FALSE,
                0,
                bytes,
                to.as_mut_ptr().cast(),
                0,
                ptr::null(),
            )
        };
        forget("clEnqueueReadBuffer", event)
    }

    fn zero(&self, queue: &Queue, buffer: &Buffer, bytes: usize) -> GpuResult<()> {
        check_copy(bytes, buffer.bytes, bytes)?;
        let zero = 0u32;
        // SAFETY: the pattern is copied by the call, and the range is inside the buffer.
        let event = unsafe {
            queue::enqueue_fill_buffer(queue.0, buffer.memory.0, bytes_of(&zero), 4, 0, bytes, 0, ptr::null())
        };
        forget("clEnqueueFillBuffer", event)
    }

    fn launch(
        &self,
        queue: &Queue,
        kernel: &Self::Kernel,
        shape: Shape,
        args: &[Arg<'_, Self>],
    ) -> GpuResult<()> {
        if shape.grid.contains(&0) {
            return Ok(());
        }
        let kernel = lock(kernel);
        for (i, arg) in (0..).zip(args) {
            let (size, value) = match arg {
                Arg::Buffer(buffer) => (size_of::<cl_mem>(), bytes_of(&buffer.memory.0)),
                Arg::I32(v) => (4, bytes_of(v)),
                Arg::F32(v) => (4, bytes_of(v)),
            };
            // SAFETY: the value has that size and is copied by the call.
            unsafe { cl3::kernel::set_kernel_arg(kernel.0, i, size, value) }
                .map_err(failed("clSetKernelArg"))?;
        }
        let global = [shape.grid[0] * shape.items, shape.grid[1]];
        let local = [shape.items, 1];
        // SAFETY: both arrays have two elements; the kernel's arguments were just set, all of them by the contract
        // of the method that calls.
        let event = unsafe {
            queue::enqueue_nd_range_kernel(
                queue.0,
                kernel.0,
                2,
                ptr::null(),
                global.as_ptr(),
                local.as_ptr(),
                0,
                ptr::null(),
            )
        };
        forget("clEnqueueNDRangeKernel", event)
    }

    fn finish(&self, queue: &Queue) -> GpuResult<()> {
        queue::finish(queue.0).map_err(failed("clFinish"))
    }

    fn wait(&self, event: &Event) -> GpuResult<()> {
        event::wait_for_events(&[event.0]).map_err(failed("clWaitForEvents"))
    }

    fn mark(&self, queue: &Queue) -> GpuResult<Event> {
        // SAFETY: there is no list of events to wait for.
        let event = unsafe { queue::enqueue_marker_with_wait_list(queue.0, 0, ptr::null()) }
            .map(Event)
            .map_err(failed("clEnqueueMarkerWithWaitList"))?;
        queue::flush(queue.0).map_err(failed("clFlush"))?;
        Ok(event)
    }

    fn elapsed(&self, from: &Event, to: &Event) -> GpuResult<f32> {
        let end = |event: &Event| {
            cl3::event::get_event_profiling_info(event.0, cl3::event::CL_PROFILING_COMMAND_END)
                .map(u64::from)
                .map_err(failed("clGetEventProfilingInfo"))
        };
        Ok(end(to)?.saturating_sub(end(from)?) as f32 * 1e-6)
    }
}

/// A copy that would leave its memory is a fault of the caller, and must not reach the driver.
fn check_copy(bytes: usize, device: usize, host: usize) -> GpuResult<()> {
    if bytes <= device && bytes <= host {
        return Ok(());
    }
    Err(GpuError::Driver { call: "copy", reason: format!("{bytes} bytes, with {device} and {host} there") })
}
