//! What CUDA and OpenCL have in common: one small runtime interface, and every method written once on top of it.
//!
//! A runtime knows devices, memory, queues and programs, and nothing of denoising. A method knows its kernels and
//! their order, and nothing of drivers.

mod ahead;
pub(crate) mod average;
mod backend;
pub(crate) mod bm3d;
pub(crate) mod cache;
mod clock;
mod device;
mod frames;
mod growing;
pub(crate) mod isoline;
mod library;
pub(crate) mod nlm;
pub(crate) mod notice;
mod recent;
pub(crate) mod ridge;
mod sizes;
mod transfer;

pub(crate) use device::Gpu;

use std::borrow::Cow;
use std::fmt;

use super::DeviceSamples;

/// Why a GPU could not do something.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GpuError {
    /// Not enough device memory: the caller may try again with smaller tiles.
    #[error("out of device memory ({bytes} bytes asked for)")]
    OutOfMemory { bytes: usize },
    /// A program did not compile. The log is in a file, because it can be long.
    #[error("the kernels of {program} did not compile for {target}: {first_line} (log: {log})")]
    Compile { program: &'static str, target: String, first_line: String, log: String },
    /// The device is gone: driver reset, unplugged, killed by a watchdog.
    #[error("the device was lost: {0}")]
    Lost(String),
    /// Anything else that the driver reports.
    #[error("{call}: {reason}")]
    Driver { call: &'static str, reason: String },
}

pub(crate) type GpuResult<T> = Result<T, GpuError>;

/// Why work was not finished.
pub(crate) enum Stop {
    Gpu(GpuError),
    Error(crate::Error),
}

impl From<GpuError> for Stop {
    fn from(e: GpuError) -> Self {
        Self::Gpu(e)
    }
}

impl From<crate::Error> for Stop {
    fn from(e: crate::Error) -> Self {
        Self::Error(e)
    }
}

/// What a device can do, as far as kernels are chosen by it.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Local (shared) memory that one work-group may have, in bytes.
    pub(crate) local_bytes: usize,
    /// Device memory in bytes.
    pub(crate) memory_bytes: u64,
    /// Multiprocessors or compute units.
    pub(crate) units: usize,
    /// Work-groups of 32 run in lockstep with shuffles, and there are tensor cores for bytes and halves: the fast
    /// kernels can run. CUDA on sm_80 and newer, and the emulator.
    pub(crate) tensor: bool,
    /// The processor behind an OpenCL driver: fine for tests, never chosen by `auto`.
    pub(crate) is_cpu: bool,
}

#[cfg(test)]
impl Limits {
    /// Those of a large GPU, with so much local memory.
    pub(crate) fn large(local_kilobytes: usize) -> Self {
        Self {
            local_bytes: local_kilobytes << 10,
            memory_bytes: 8 << 30,
            units: 100,
            tensor: true,
            is_cpu: false,
        }
    }
}

/// A program to build: sources in order, and the constants baked into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    /// For messages and the cache.
    pub(crate) name: &'static str,
    /// Concatenated behind the prelude of the language.
    pub(crate) sources: Vec<&'static str>,
    /// `-D NAME=VALUE`, in order.
    pub(crate) defines: Vec<(&'static str, Cow<'static, str>)>,
    /// Names of the kernels that will be asked for.
    pub(crate) kernels: Vec<&'static str>,
}

impl Program {
    /// Adds a constant.
    pub(crate) fn define(&mut self, name: &'static str, value: impl fmt::Display) {
        self.defines.push((name, value.to_string().into()));
    }
}

/// One argument of a kernel, in the order of its signature.
pub(crate) enum Arg<'a, R: Runtime> {
    Buffer(&'a R::Buffer),
    I32(i32),
    F32(f32),
}

/// How a kernel is started. Work-groups are one-dimensional, the grid may have two dimensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Work-groups in x and y.
    pub(crate) grid: [usize; 2],
    /// Work-items per group.
    pub(crate) items: usize,
    /// Dynamic local memory in bytes: `extern __shared__` in CUDA. OpenCL kernels declare theirs.
    pub(crate) local: usize,
}

/// A driver: CUDA, OpenCL, or the emulator of the tests.
///
/// Calls that take a queue are asynchronous and ordered within it; buffers must outlive the work, which
/// [`finish`](Self::finish) guarantees.
pub(crate) trait Runtime: Send + Sync + Sized + 'static {
    /// Device memory, freed when dropped unless borrowed.
    type Buffer: Send + Sync;
    /// A loaded program.
    type Module: Send + Sync;
    /// An entry point.
    type Kernel: Send + Sync;
    /// A stream or command queue.
    type Queue: Send;
    /// Host memory that the device copies from and to at full speed (page-locked where there is such a thing).
    type Staging: Send + std::ops::DerefMut<Target = [u8]>;
    /// A point in a queue.
    type Event: Send;

    /// The name that `--device` takes, for example `cuda:0`.
    fn name(&self) -> &str;
    fn limits(&self) -> &Limits;

    /// Compiles a program, or takes it from the cache.
    fn build(&self, program: &Program) -> GpuResult<Self::Module>;
    /// An entry point that will be started with up to `local` bytes of dynamic local memory.
    fn kernel(&self, module: &Self::Module, name: &'static str, local: usize) -> GpuResult<Self::Kernel>;

    fn queue(&self) -> GpuResult<Self::Queue>;
    fn alloc(&self, bytes: usize) -> GpuResult<Self::Buffer>;
    fn staging(&self, bytes: usize) -> GpuResult<Self::Staging>;
    /// Whether callers can share device memory: it has addresses.
    fn lends(&self) -> bool {
        false
    }
    /// `bytes` of a caller's samples from `offset` on, in place; dropping it frees nothing. Only kernels may be given it.
    /// `None` where device memory has no addresses to share.
    fn borrow(&self, samples: &DeviceSamples, offset: usize, bytes: usize) -> Option<Self::Buffer> {
        let _ = (samples, offset, bytes);
        None
    }

    /// The first `bytes` of `from` to the start of `to`.
    fn write(
        &self,
        queue: &Self::Queue,
        to: &Self::Buffer,
        from: &Self::Staging,
        bytes: usize,
    ) -> GpuResult<()>;
    /// The first `bytes` of `from` to the start of `to`; they are there after [`finish`](Self::finish).
    fn read(
        &self,
        queue: &Self::Queue,
        to: &mut Self::Staging,
        from: &Self::Buffer,
        bytes: usize,
    ) -> GpuResult<()>;
    /// Zeroes the first `bytes`, a multiple of 4.
    fn zero(&self, queue: &Self::Queue, buffer: &Self::Buffer, bytes: usize) -> GpuResult<()>;
    /// Starts a kernel.
    fn launch(
        &self,
        queue: &Self::Queue,
        kernel: &Self::Kernel,
        shape: Shape,
        args: &[Arg<'_, Self>],
    ) -> GpuResult<()>;
    /// Waits for everything in the queue.
    fn finish(&self, queue: &Self::Queue) -> GpuResult<()>;

    /// Waits until a point in a queue has been passed.
    fn wait(&self, event: &Self::Event) -> GpuResult<()>;

    /// Marks a point in the queue, and sees to it that what is before it is worked on.
    fn mark(&self, queue: &Self::Queue) -> GpuResult<Self::Event>;
    /// Milliseconds between two points that have both been passed.
    fn elapsed(&self, from: &Self::Event, to: &Self::Event) -> GpuResult<f32>;
}

/// A number as an argument; sizes are checked before.
pub(crate) fn int<R: Runtime>(v: usize) -> Arg<'static, R> {
    Arg::I32(v as i32)
}

/// A buffer that must be there.
pub(crate) fn buffer<R: Runtime>(of: &growing::Growing<R::Buffer>) -> GpuResult<Arg<'_, R>> {
    let missing = || GpuError::Driver { call: "buffer", reason: "it is missing".into() };
    of.peek().map(Arg::Buffer).ok_or_else(missing)
}
