//! NVIDIA GPUs through the driver, with kernels compiled at run time.
//!
//! | file | what is in it |
//! |---|---|
//! | `driver` | is the driver there and new enough; its errors in our words |
//! | `nvrtc` | finding and calling the compiler library |
//! | `ptxas` | registers and spills of each kernel, from the compiler's log |
//! | `handles` | a context, and what is in it until dropped |
//! | `memory` | device memory for callers |
//! | `runtime` | the runtime interface of GPUs over the driver |
//! | `probe` | a test of all that on a real device, and of pictures in its memory |
//!
//! Nothing here but the last of them knows about denoising.

mod driver;
mod handles;
mod memory;
mod nvrtc;
mod probe;
mod ptxas;
mod runtime;

use std::fmt;

pub use memory::{DeviceMemory, host_bytes, wait_for_default_stream};
pub use probe::self_test;
pub(crate) use ptxas::usage;
pub(crate) use runtime::CudaRuntime;

use super::gpu::Gpu;
use super::gpu::{GpuError, GpuResult, Program, cache};
use super::{DeviceInfo, DeviceOptions, Kind};
use crate::device;
use nvrtc::{Compiled, Failure, Nvrtc};

/// The oldest devices that the general kernels run on.
const OLDEST_MAJOR: i32 = 5;

/// Why CUDA, or one device, cannot be used, and what to do about it. Both on one line, without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) reason: String,
    pub(crate) hint: String,
}

impl Problem {
    fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: hint.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.reason, self.hint)
    }
}

impl From<Problem> for GpuError {
    fn from(problem: Problem) -> Self {
        Self::Driver { call: "CUDA", reason: problem.to_string() }
    }
}

/// A device as the driver lists it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The N of `cuda:N`.
    pub(crate) index: usize,
    /// For example `NVIDIA H200`.
    pub(crate) name: String,
    /// All of its memory.
    pub(crate) memory_bytes: u64,
    /// Version of the driver and of the CUDA that it supports.
    pub(crate) driver: String,
    /// Compute capability, major and minor.
    pub(crate) capability: (i32, i32),
    /// Multiprocessors.
    pub(crate) units: usize,
    /// The compiler that would be used.
    pub(crate) compiler: Option<String>,
    /// Why it cannot be used, if so.
    pub(crate) problem: Option<Problem>,
}

/// Every CUDA device, usable or not; or why there is none. Opens nothing.
pub(crate) fn devices() -> Result<Vec<Found>, Problem> {
    let driver = driver::driver()?;
    let n = driver::count(driver)?;
    if n == 0 {
        return Err(driver::no_device());
    }
    let compiler = nvrtc::nvrtc(Some(driver.cuda));
    let look = |index| {
        let found = driver::properties(driver, index).map(|p| Found {
            index,
            problem: problem(&p, compiler.clone()),
            name: p.name,
            memory_bytes: p.memory_bytes,
            driver: driver.text.clone(),
            capability: (p.major, p.minor),
            units: p.units,
            compiler: compiler.as_ref().ok().map(|c| c.name()),
        });
        found.unwrap_or_else(|e| Found {
            index,
            name: "unknown".into(),
            memory_bytes: 0,
            driver: driver.text.clone(),
            capability: (0, 0),
            units: 0,
            compiler: None,
            problem: Some(Problem::new(e.to_string(), "check nvidia-smi")),
        })
    };
    Ok((0..n).map(look).collect())
}

fn problem(p: &driver::Properties, compiler: Result<&Nvrtc, Problem>) -> Option<Problem> {
    if p.major < OLDEST_MAJOR {
        let reason = format!("compute capability {}.{}, needs {OLDEST_MAJOR}.0 or newer", p.major, p.minor);
        return Some(Problem::new(reason, "use --device opencl or cpu"));
    }
    if p.prohibited {
        return Some(Problem::new("its compute mode is Prohibited", "nvidia-smi --compute-mode=DEFAULT"));
    }
    compiler.and_then(|c| c.target(10 * p.major + p.minor)).err()
}

/// Every CUDA device for `quell devices`. Without a driver, or with one that has no device, there are none; a driver
/// that is there and does not work is a line of its own.
pub(crate) fn list() -> Vec<DeviceInfo> {
    match devices() {
        Ok(all) => all.iter().map(info).collect(),
        Err(problem) if driver::is_there(&problem) => {
            vec![DeviceInfo { problem: Some(broken(&problem)), ..DeviceInfo::new(Kind::Cuda, "cuda:0") }]
        }
        Err(_) => Vec::new(),
    }
}

fn info(found: &Found) -> DeviceInfo {
    DeviceInfo {
        description: found.name.clone(),
        detail: match &found.compiler {
            Some(compiler) => format!("sm_{}{}, {compiler}", found.capability.0, found.capability.1),
            None => format!("sm_{}{}", found.capability.0, found.capability.1),
        },
        units: found.units,
        memory_bytes: Some(found.memory_bytes),
        driver: found.driver.clone(),
        problem: found.problem.as_ref().map(|p| device::Problem::missing(&p.reason, &p.hint)),
        ..DeviceInfo::new(Kind::Cuda, format!("cuda:{}", found.index))
    }
}

fn broken(problem: &Problem) -> device::Problem {
    device::Problem::broken(&problem.reason, &problem.hint)
}

/// Starts device `index`.
pub(crate) fn start(index: usize, options: DeviceOptions) -> crate::Result<Gpu<CudaRuntime>> {
    let failed = |reason: String| crate::Error::Device { device: format!("cuda:{index}"), reason };
    let all = devices().map_err(|p| failed(p.to_string()))?;
    let runtime = open(index).map_err(|e| failed(e.to_string()))?;
    let info = all.get(index).map_or_else(|| DeviceInfo::new(Kind::Cuda, format!("cuda:{index}")), info);
    Ok(Gpu::new(runtime, info, options.tile))
}

/// Opens device `index`.
pub(crate) fn open(index: usize) -> GpuResult<CudaRuntime> {
    let driver = driver::driver()?;
    let n = driver::count(driver)?;
    if n == 0 {
        return Err(driver::no_device().into());
    }
    if index >= n {
        let hint = format!("use cuda:0{}", if n > 1 { format!(" to cuda:{}", n - 1) } else { String::new() });
        return Err(Problem::new(format!("there is no device {index}"), hint).into());
    }
    let properties = driver::properties(driver, index)?;
    let compiler = nvrtc::nvrtc(Some(driver.cuda));
    if let Some(problem) = problem(&properties, compiler.clone()) {
        return Err(problem.into());
    }
    CudaRuntime::open(driver, compiler?, index, &properties)
}

/// Compiles a program for an architecture such as `sm_90` and returns the binary and the log, which [`usage`] reads.
/// Needs NVRTC, but neither a driver nor a GPU.
pub(crate) fn compile_only(program: &Program, arch: &str) -> GpuResult<(Vec<u8>, String)> {
    let compiled = compile(nvrtc::nvrtc(None)?, program, arch, arch)?;
    Ok((compiled.binary, compiled.log))
}

/// What programs take on some architectures. They must compile, keep everything in registers, and get by with the shared
/// memory that needs no asking. Nothing where there is no NVRTC.
#[cfg(test)]
pub(crate) fn lean(programs: &[Program], archs: &[&str]) -> Vec<ptxas::Usage> {
    let mut all = Vec::new();
    for (program, arch) in programs.iter().flat_map(|p| archs.iter().map(move |arch| (p, arch))) {
        let log = match compile_only(program, arch) {
            Ok((_, log)) => log,
            Err(e @ GpuError::Compile { .. }) => panic!("{e}"),
            Err(e) => {
                println!("skipped: {e}");
                return all;
            }
        };
        for kernel in usage(&log) {
            println!("{} {kernel}", program.name);
            let fits = kernel.stack == 0 && kernel.spill_stores == 0 && kernel.shared <= 48 * 1024;
            assert!(fits, "{kernel} with {:?}", program.defines);
            all.push(kernel);
        }
    }
    all
}

/// Options that are the same for every program. The last one puts registers and spills into the log.
const OPTIONS: [&str; 3] = ["--std=c++17", "-default-device", "--ptxas-options=-v"];

fn compile(nvrtc: &Nvrtc, program: &Program, arch: &str, target: &str) -> GpuResult<Compiled> {
    let source = program.sources.join("\n");
    let mut options: Vec<String> = OPTIONS.iter().map(|&o| o.into()).collect();
    options.extend(program.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
    nvrtc.compile(&source, arch, &options).map_err(|failure| {
        let log = match failure {
            Failure::Source(log) => log,
            Failure::Compiler(reason) => return GpuError::Driver { call: "NVRTC", reason },
        };
        let first = log.lines().find(|l| l.contains("error")).or_else(|| log.lines().next());
        let first_line = first.unwrap_or("no reason given").trim().to_owned();
        // The lines that the log names are those of the sources put together.
        let numbered: String =
            source.lines().enumerate().map(|(i, l)| format!("{:5}  {l}\n", i + 1)).collect();
        let text = format!(
            "{} ({}) for {arch}\n{}\n\n{log}\n\n{numbered}",
            nvrtc.name(),
            nvrtc.path(),
            options.join(" ")
        );
        let log = cache::save_log(program.name, &text).display().to_string();
        GpuError::Compile { program: program.name, target: target.to_owned(), first_line, log }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shared memory, a spill-free loop, and a function that is not inlined.
    const SOURCE: &str = r#"
__noinline__ __device__ float twice(float x) { return x * FACTOR; }
extern "C" __global__ void add(float* to, const float* from, int n) {
    __shared__ float tile[256];
    tile[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = twice(tile[255 - threadIdx.x]);
}
extern "C" __global__ void zero(float* to) { to[threadIdx.x] = 0.0f; }
"#;

    fn program(source: &'static str) -> Program {
        let mut p =
            Program { name: "tiny", sources: vec![source], defines: vec![], kernels: vec!["add", "zero"] };
        p.define("FACTOR", "2.0f");
        p
    }

    fn has_nvrtc() -> bool {
        match nvrtc::nvrtc(None) {
            Ok(n) => {
                println!("{} at {}", n.name(), n.path());
                true
            }
            Err(problem) => {
                println!("skipped: {problem}");
                false
            }
        }
    }

    #[test]
    fn compiles_without_a_gpu_and_tells_registers() {
        if !has_nvrtc() {
            return;
        }
        for arch in ["sm_80", "sm_90", "sm_100"] {
            let (binary, log) = compile_only(&program(SOURCE), arch).unwrap();
            assert!(binary.starts_with(b"\x7fELF"));
            let mut found = usage(&log);
            found.sort_by(|a, b| a.kernel.cmp(&b.kernel));
            assert_eq!(found.iter().map(|u| &u.kernel[..]).collect::<Vec<_>>(), ["add", "zero"], "{log}");
            assert!(found.iter().all(|u| u.arch == arch && u.spill_stores == 0), "{log}");
            assert!(found.iter().all(|u| (2..=64).contains(&u.registers)), "{log}");
            assert!(found[0].shared >= 1024 && found[1].shared < 1024, "{log}");
        }
    }

    #[test]
    fn portable_code_ends_with_a_zero() {
        if !has_nvrtc() {
            return;
        }
        let (text, _) = compile_only(&program(SOURCE), "compute_80").unwrap();
        assert_eq!(text.last(), Some(&0));
        assert!(String::from_utf8_lossy(&text).contains(".target sm_80"));
    }

    #[test]
    fn a_program_that_does_not_compile_is_named_with_its_log() {
        if !has_nvrtc() {
            return;
        }
        let error = compile_only(&program("extern \"C\" __global__ void f() {\n  nonsense;\n}"), "sm_90");
        let GpuError::Compile { program, target, first_line, log } = error.map(|_| ()).unwrap_err() else {
            panic!("not a compile error");
        };
        assert_eq!((program, &target[..]), ("tiny", "sm_90"));
        assert!(first_line.contains("error") && first_line.contains("nonsense"), "{first_line}");
        let text = std::fs::read_to_string(&log).unwrap();
        std::fs::remove_file(&log).unwrap();
        assert!(text.contains("-DFACTOR=2.0f") && text.contains("    2    nonsense;"), "{text}");
    }

    #[test]
    fn a_wrong_architecture_is_an_error_and_not_a_crash() {
        if !has_nvrtc() {
            return;
        }
        let error = compile_only(&program(SOURCE), "sm_12345").map(|_| ()).unwrap_err();
        if let GpuError::Compile { log, .. } = &error {
            std::fs::remove_file(log).unwrap();
        }
        assert!(error.to_string().contains("arch"), "{error}");
    }
}
