//! The NVIDIA driver: is it there, is it new enough, and what do its error codes mean for us.

use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute as Attribute, CUresult};

use super::Problem;
use crate::device::gpu::{GpuError, GpuResult};

/// CUDA 12.4: what the bindings are made for. Every function that we call is in this driver and all later ones,
/// so that none can be missing.
const OLDEST: i32 = 12040;

/// A driver that answers.
pub(super) struct Driver {
    /// The CUDA version it supports, as 1000 major + 10 minor.
    pub(super) cuda: i32,
    /// For people and for the cache.
    pub(super) text: String,
}

/// The driver, started once per process.
pub(super) fn driver() -> Result<&'static Driver, Problem> {
    static DRIVER: OnceLock<Result<Driver, Problem>> = OnceLock::new();
    DRIVER.get_or_init(start).as_ref().map_err(Clone::clone)
}

fn start() -> Result<Driver, Problem> {
    // SAFETY: opens the driver's library, whose initialisers are NVIDIA's and meant to run at any time.
    if !unsafe { sys::is_culib_present() } {
        return Err(no_driver());
    }
    let mut cuda: c_int = 0;
    // SAFETY: the library is there, so nothing panics; the function is in every driver and may be called before cuInit.
    let result = unsafe { sys::cuDriverGetVersion(&raw mut cuda) };
    if code(result) != 0 {
        return Err(no_start(&text(result)));
    }
    if let Some(problem) = too_old(cuda) {
        return Err(problem);
    }
    // SAFETY: as above.
    let result = unsafe { sys::cuInit(0) };
    match code(result) {
        0 => {}
        NO_DEVICE => return Err(no_device()),
        _ => return Err(no_start(&text(result))),
    }
    // The kernel module's version is the one people know; Linux shows it.
    let module = std::fs::read_to_string("/sys/module/nvidia/version").unwrap_or_default();
    let version = format!("CUDA {}.{}", cuda / 1000, cuda % 1000 / 10);
    let text = match module.trim() {
        "" => version,
        module => format!("{module} ({version})"),
    };
    Ok(Driver { cuda, text })
}

/// Whether there is a driver with a device, working or not.
pub(super) fn is_there(problem: &Problem) -> bool {
    // SAFETY: as in `start`.
    let library = unsafe { sys::is_culib_present() };
    library && *problem != no_device()
}

fn no_driver() -> Problem {
    Problem::new("no NVIDIA driver (libcuda is not there)", "install the NVIDIA driver, 550 or newer")
}

fn no_start(why: &str) -> Problem {
    Problem::new(
        format!("the NVIDIA driver does not start: {why}"),
        "check that nvidia-smi works; after an update of the driver, restart the machine",
    )
}

pub(super) fn no_device() -> Problem {
    Problem::new("the NVIDIA driver finds no GPU", "check nvidia-smi and CUDA_VISIBLE_DEVICES")
}

fn too_old(cuda: i32) -> Option<Problem> {
    (cuda < OLDEST).then(|| {
        Problem::new(
            format!("NVIDIA driver too old (CUDA {}.{}), needs 550 or newer", cuda / 1000, cuda % 1000 / 10),
            "update the driver",
        )
    })
}

const OUT_OF_MEMORY: u32 = 2;
const NO_DEVICE: u32 = 100;
/// Loading a program: not for this GPU, or from a newer CUDA than the driver's.
pub(super) const UNLOADABLE: [u32; 6] = [200, 209, 218, 221, 222, 223];

/// Errors after which nothing in the context works any more, or the device itself has gone.
fn is_lost(code: u32) -> bool {
    matches!(
        code,
        4 // DEINITIALIZED
        | 46 // DEVICE_UNAVAILABLE
        | 101 | 102 // INVALID_DEVICE, DEVICE_NOT_LICENSED
        | 201 // INVALID_CONTEXT: reset by someone else
        | 214 | 220 // ECC_UNCORRECTABLE, NVLINK_UNCORRECTABLE
        | 700 | 702 // ILLEGAL_ADDRESS, LAUNCH_TIMEOUT
        | 709 | 710 // CONTEXT_IS_DESTROYED, ASSERT
        | 714
            ..=719 // stack, instruction, alignment, address space, program counter, LAUNCH_FAILED
        | 721 // CONTAINED
        | 911 // EXTERNAL_DEVICE
        | 999 // UNKNOWN: what a driver says after a reset
    )
}

/// The number behind a result. Newer drivers may return numbers that the bindings do not list, so results are only
/// ever handled as numbers.
pub(super) fn code(result: CUresult) -> u32 {
    result as u32
}

/// The driver's words for a result.
pub(super) fn text(result: CUresult) -> String {
    let mut words: *const c_char = std::ptr::null();
    // SAFETY: a result exists only when the library is there; the function writes a pointer to a constant or null.
    unsafe { sys::cuGetErrorString(result, &raw mut words) };
    if words.is_null() {
        return format!("error {}", code(result));
    }
    // SAFETY: a C string that lives as long as the library, which is never closed.
    let words = unsafe { CStr::from_ptr(words) };
    format!("{} (error {})", words.to_string_lossy(), code(result))
}

/// An error unless the call went well. `bytes` is what it asked for, when it asked for memory.
pub(super) fn check(call: &'static str, bytes: usize, result: CUresult) -> GpuResult<()> {
    check_for(call, bytes, result, String::new)
}

/// The same, with the name of the thing that the call was about.
pub(super) fn check_for(
    call: &'static str,
    bytes: usize,
    result: CUresult,
    what: impl FnOnce() -> String,
) -> GpuResult<()> {
    match code(result) {
        0 => Ok(()),
        OUT_OF_MEMORY => Err(GpuError::OutOfMemory { bytes }),
        lost if is_lost(lost) => Err(GpuError::Lost(format!("{call}: {}", text(result)))),
        _ => {
            let what = what();
            let reason = if what.is_empty() { text(result) } else { format!("{what}: {}", text(result)) };
            Err(GpuError::Driver { call, reason })
        }
    }
}

/// How many devices there are. The driver has been started.
pub(super) fn count(_: &Driver) -> Result<usize, Problem> {
    let mut n: c_int = 0;
    // SAFETY: the driver has been started; `n` is written.
    let result = unsafe { sys::cuDeviceGetCount(&raw mut n) };
    match code(result) {
        0 => Ok(usize::try_from(n).unwrap_or(0)),
        _ => Err(no_start(&text(result))),
    }
}

/// What the driver tells about a device without opening it.
pub(super) struct Properties {
    pub(super) handle: CUdevice,
    pub(super) name: String,
    pub(super) memory_bytes: u64,
    pub(super) major: i32,
    pub(super) minor: i32,
    pub(super) units: usize,
    pub(super) local_bytes: usize,
    pub(super) prohibited: bool,
}

/// Asks about device `index`.
pub(super) fn properties(_: &Driver, index: usize) -> GpuResult<Properties> {
    let mut handle: CUdevice = 0;
    let ordinal = c_int::try_from(index).unwrap_or(c_int::MAX);
    // SAFETY: the driver has been started; `handle` is written.
    check("cuDeviceGet", 0, unsafe { sys::cuDeviceGet(&raw mut handle, ordinal) })?;
    let mut name = [0 as c_char; 256];
    // SAFETY: at most the given length is written, with a zero at its end.
    let result = unsafe { sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, handle) };
    check("cuDeviceGetName", 0, result)?;
    let name: Vec<u8> = name.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    let mut memory = 0_usize;
    // SAFETY: `handle` is a device; `memory` is written.
    check("cuDeviceTotalMem", 0, unsafe { sys::cuDeviceTotalMem_v2(&raw mut memory, handle) })?;
    let get = |attribute: Attribute| {
        let mut value: c_int = 0;
        // SAFETY: `handle` is a device; `value` is written.
        let result = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, handle) };
        check("cuDeviceGetAttribute", 0, result).map(|()| value)
    };
    let size = |attribute| get(attribute).map(|v| usize::try_from(v).unwrap_or(0));
    Ok(Properties {
        handle,
        name: String::from_utf8_lossy(&name).trim().to_owned(),
        memory_bytes: memory as u64,
        major: get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        minor: get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        units: size(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        local_bytes: size(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        prohibited: get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)?
            == sys::CUcomputemode::CU_COMPUTEMODE_PROHIBITED as c_int,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_driver_gets_one_clear_line() {
        // SAFETY: as in `start`.
        if unsafe { sys::is_culib_present() } {
            println!("skipped: this machine has an NVIDIA driver");
            return;
        }
        let problem = driver().map(|d| d.text.clone()).unwrap_err();
        assert!(problem.reason.contains("no NVIDIA driver"), "{problem:?}");
        assert!(problem.hint.contains("550"), "{problem:?}");
        let error = super::super::open(0).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("no NVIDIA driver") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn drivers_before_550_are_refused() {
        assert!(too_old(12040).is_none() && too_old(13000).is_none());
        let problem = too_old(12030).unwrap();
        assert_eq!(problem.reason, "NVIDIA driver too old (CUDA 12.3), needs 550 or newer");
    }

    #[test]
    fn errors_that_end_the_context_are_told_from_those_that_do_not() {
        use CUresult as R;
        for r in [
            R::CUDA_ERROR_ILLEGAL_ADDRESS,
            R::CUDA_ERROR_LAUNCH_FAILED,
            R::CUDA_ERROR_LAUNCH_TIMEOUT,
            R::CUDA_ERROR_ECC_UNCORRECTABLE,
            R::CUDA_ERROR_DEVICE_UNAVAILABLE,
            R::CUDA_ERROR_DEVICE_NOT_LICENSED,
            R::CUDA_ERROR_ILLEGAL_INSTRUCTION,
            R::CUDA_ERROR_MISALIGNED_ADDRESS,
            R::CUDA_ERROR_CONTEXT_IS_DESTROYED,
        ] {
            assert!(is_lost(code(r)), "{r:?}");
        }
        for r in [
            R::CUDA_ERROR_OUT_OF_MEMORY,
            R::CUDA_ERROR_INVALID_VALUE,
            R::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
            R::CUDA_ERROR_NOT_READY,
            R::CUDA_ERROR_NOT_FOUND,
            R::CUDA_ERROR_NO_BINARY_FOR_GPU,
        ] {
            assert!(!is_lost(code(r)), "{r:?}");
        }
        for r in [
            R::CUDA_ERROR_INVALID_IMAGE,
            R::CUDA_ERROR_NO_BINARY_FOR_GPU,
            R::CUDA_ERROR_INVALID_PTX,
            R::CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
            R::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
            R::CUDA_ERROR_JIT_COMPILATION_DISABLED,
        ] {
            assert!(UNLOADABLE.contains(&code(r)), "{r:?}");
        }
        assert_eq!(
            (OUT_OF_MEMORY, NO_DEVICE),
            (code(R::CUDA_ERROR_OUT_OF_MEMORY), code(R::CUDA_ERROR_NO_DEVICE))
        );
    }
}
