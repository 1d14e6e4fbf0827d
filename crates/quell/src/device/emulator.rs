//! The CUDA kernels on the processor: the same source, compiled by the system's C++ compiler and run thread by
//! thread in fibers. Slow and exact; it lets the fast kernels be tested where there is no GPU.

use std::ffi::{CString, c_void};
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::gpu::{Arg, GpuError, GpuResult, Limits, Program, Runtime, Shape};

const PRELUDE: &str = include_str!("../../kernels/emulator/emulator.h");

/// The emulated device.
pub(crate) struct Emulator {
    limits: Limits,
    compiler: String,
}

/// A loaded program. Its kernels share one block's memory, so one runs at a time.
pub(crate) struct Module {
    library: libloading::Library,
    running: Mutex<()>,
    file: PathBuf,
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

pub(crate) struct Kernel {
    module: std::sync::Arc<Module>,
    entry: unsafe extern "C" fn(u32, u32, u32, *const *const c_void),
}

/// Host memory in the place of device memory, aligned as a device would.
pub(crate) struct Buffer {
    words: Mutex<Box<[u128]>>,
    bytes: usize,
}

impl Buffer {
    fn new(bytes: usize) -> Self {
        // Poison: memory that nobody wrote shows.
        Self { words: Mutex::new(vec![u128::MAX; bytes.div_ceil(16) + 1].into()), bytes }
    }

    fn address(&self) -> *mut u8 {
        lock(&self.words).as_mut_ptr().cast()
    }
}

/// Staging memory.
pub(crate) struct Staging(Vec<u8>);

impl Deref for Staging {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Staging {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn failed(call: &'static str, reason: impl ToString) -> GpuError {
    GpuError::Driver { call, reason: reason.to_string() }
}

impl Emulator {
    /// Looks for a C++ compiler; says what is missing.
    pub(crate) fn new() -> Result<Self, String> {
        if !cfg!(all(target_arch = "x86_64", unix)) {
            return Err("the emulator runs on x86-64 Unix only".into());
        }
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
        match Command::new(&compiler).arg("--version").output() {
            Ok(out) if out.status.success() => {}
            _ => return Err(format!("no C++ compiler `{compiler}` (set CXX)")),
        }
        let limits =
            Limits { local_bytes: 227 * 1024, memory_bytes: 1 << 32, units: 1, tensor: true, is_cpu: true };
        Ok(Self { limits, compiler })
    }

    /// The stub that calls a kernel with arguments behind pointers, as a driver does.
    fn source(program: &Program) -> String {
        let mut text = String::from(PRELUDE);
        for part in &program.sources {
            text += part;
        }
        for name in &program.kernels {
            text += &format!(
                "\nextern \"C\" void quell_start_{name}(unsigned gx, unsigned gy, unsigned items, void** args) {{ \
                 emulator::start({name}, gx, gy, items, args); }}\n"
            );
        }
        text
    }
}

impl Runtime for Emulator {
    type Buffer = Buffer;
    type Module = std::sync::Arc<Module>;
    type Kernel = Kernel;
    type Queue = ();
    type Staging = Staging;
    type Event = ();

    fn name(&self) -> &str {
        "emulator"
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn build(&self, program: &Program) -> GpuResult<Self::Module> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let stem = format!("quell-emulator-{}-{number}-{}", std::process::id(), program.name);
        let (source, file) = (
            std::env::temp_dir().join(format!("{stem}.cpp")),
            std::env::temp_dir().join(format!("{stem}.so")),
        );
        std::fs::write(&source, Self::source(program)).map_err(|e| failed("write", e))?;
        let mut compile = Command::new(&self.compiler);
        compile.args(["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-DQUELL_EMULATOR=1"]);
        compile.args(program.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
        let out = compile.arg("-o").arg(&file).arg(&source).output().map_err(|e| failed("c++", e))?;
        if !out.status.success() {
            let log = String::from_utf8_lossy(&out.stderr).into_owned();
            let first_line = log.lines().find(|l| l.contains("error")).unwrap_or("?").to_owned();
            return Err(GpuError::Compile {
                program: program.name,
                target: "the emulator".into(),
                first_line,
                log: source.display().to_string(),
            });
        }
        let _ = std::fs::remove_file(&source);
        // SAFETY: the library was just built from our source and has no initialisers with effects.
        let library = unsafe { libloading::Library::new(&file) }.map_err(|e| failed("dlopen", e))?;
        Ok(Module { library, running: Mutex::new(()), file }.into())
    }

    fn kernel(&self, module: &Self::Module, name: &'static str, local: usize) -> GpuResult<Kernel> {
        if local > self.limits.local_bytes {
            return Err(failed("kernel", format!("{name} asks for {local} bytes of local memory")));
        }
        let symbol = CString::new(format!("quell_start_{name}")).map_err(|e| failed("kernel", e))?;
        // SAFETY: the stub was generated with exactly this signature.
        let entry =
            unsafe { module.library.get(symbol.as_bytes_with_nul()) }.map_err(|e| failed("dlsym", e))?;
        Ok(Kernel { module: module.clone(), entry: *entry })
    }

    fn queue(&self) -> GpuResult<()> {
        Ok(())
    }

    fn alloc(&self, bytes: usize) -> GpuResult<Buffer> {
        Ok(Buffer::new(bytes))
    }

    fn staging(&self, bytes: usize) -> GpuResult<Staging> {
        Ok(Staging(vec![0; bytes]))
    }

    fn write(&self, (): &(), to: &Buffer, from: &Staging, bytes: usize) -> GpuResult<()> {
        assert!(bytes <= to.bytes && bytes <= from.len(), "copy inside both buffers");
        // SAFETY: both are long enough, and different memory.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.address(), bytes) };
        Ok(())
    }

    fn read(&self, (): &(), to: &mut Staging, from: &Buffer, bytes: usize) -> GpuResult<()> {
        assert!(bytes <= from.bytes && bytes <= to.len(), "copy inside both buffers");
        // SAFETY: both are long enough, and different memory.
        unsafe { std::ptr::copy_nonoverlapping(from.address(), to.as_mut_ptr(), bytes) };
        Ok(())
    }

    fn zero(&self, (): &(), buffer: &Buffer, bytes: usize) -> GpuResult<()> {
        assert!(bytes <= buffer.bytes, "inside the buffer");
        // SAFETY: the buffer is that long.
        unsafe { std::ptr::write_bytes(buffer.address(), 0, bytes) };
        Ok(())
    }

    fn launch(&self, (): &(), kernel: &Kernel, shape: Shape, args: &[Arg<'_, Self>]) -> GpuResult<()> {
        // Values first, so that the pointers to them stay.
        let values: Vec<u64> = args
            .iter()
            .map(|arg| match arg {
                Arg::Buffer(b) => b.address() as u64,
                Arg::I32(v) => u64::from(*v as u32),
                Arg::F32(v) => u64::from(v.to_bits()),
            })
            .collect();
        let pointers: Vec<*const c_void> = values.iter().map(|v| std::ptr::from_ref(v).cast()).collect();
        let _one = lock(&kernel.module.running);
        // SAFETY: the arguments match the kernel's signature, which the pipeline's tests check; buffers are alive.
        unsafe {
            (kernel.entry)(shape.grid[0] as u32, shape.grid[1] as u32, shape.items as u32, pointers.as_ptr())
        };
        Ok(())
    }

    fn finish(&self, (): &()) -> GpuResult<()> {
        Ok(())
    }

    fn mark(&self, (): &()) -> GpuResult<()> {
        Ok(())
    }

    fn elapsed(&self, (): &(), (): &()) -> GpuResult<f32> {
        Ok(0.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::device::gpu::bm3d::Gpu;
    use crate::device::{DeviceInfo, Kind};

    fn first(tile: usize) -> Option<Gpu<Emulator>> {
        let emulator = Emulator::new().inspect_err(|e| println!("skipped: {e}")).ok()?;
        Some(Gpu::new(emulator, DeviceInfo::new(Kind::Cpu, "emulator"), tile))
    }

    fn shared() -> Option<&'static Gpu<Emulator>> {
        static SHARED: OnceLock<Option<Gpu<Emulator>>> = OnceLock::new();
        SHARED.get_or_init(|| first(0)).as_ref()
    }

    // The part of the suite that goes through the tensor kernels; the rest is the general kernels', which run elsewhere.
    crate::device::gpu::bm3d::conformance::suite! {
        shared(), first;
        groups_at_odd_sizes, groups_of_ties, pixels_at_odd_sizes, colour_channels_share_groups,
        psnr_is_that_of_the_reference, samples_of_every_format, work_is_reported_and_can_be_stopped,
    }
}
