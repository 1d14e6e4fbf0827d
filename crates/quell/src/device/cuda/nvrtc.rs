//! NVRTC, the compiler in a library: found and loaded at run time, because it comes with the CUDA toolkit or a Python
//! wheel and not with the driver.

use std::ffi::{CStr, CString, OsString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

use super::Problem;

/// Newest first. Other systems than Linux and Windows have no CUDA.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"]
} else {
    &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
};
/// Where the wheels of CUDA 13 and 12 put it, below a folder of Python packages.
const WHEELS: [&str; 4] =
    ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", "nvidia/cu13/bin/x86_64", "nvidia/cuda_nvrtc/bin"];
const OLDEST_MAJOR: i32 = 12;

/// Why a source gave no binary.
#[derive(Debug)]
pub(super) enum Failure {
    /// The source or the options are wrong: the compiler's log.
    Source(String),
    /// NVRTC itself failed.
    Compiler(String),
}

/// A binary, and what the compiler and the assembler had to say.
pub(super) struct Compiled {
    pub(super) binary: Vec<u8>,
    pub(super) log: String,
}

type Handle = *mut c_void;
type Status = c_int;
type SizeFn = unsafe extern "C" fn(Handle, *mut usize) -> Status;
type CopyFn = unsafe extern "C" fn(Handle, *mut c_char) -> Status;
type CreateFn = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> Status;

/// The library's functions, as in its header `nvrtc.h`.
pub(super) struct Nvrtc {
    version: (i32, i32),
    architectures: Vec<i32>,
    path: String,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    create: CreateFn,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> Status,
    destroy: unsafe extern "C" fn(*mut Handle) -> Status,
    log_size: SizeFn,
    log: CopyFn,
    cubin_size: SizeFn,
    cubin: CopyFn,
    ptx_size: SizeFn,
    ptx: CopyFn,
    /// The functions above are in it.
    _library: Library,
}

/// The NVRTC of this process for a driver of the given CUDA version; without a driver the newest is fine.
pub(super) fn nvrtc(driver_cuda: Option<i32>) -> Result<&'static Nvrtc, Problem> {
    static NVRTC: OnceLock<Result<Nvrtc, Problem>> = OnceLock::new();
    let found = NVRTC.get_or_init(|| find(&|name| std::env::var_os(name), driver_cuda));
    found.as_ref().map_err(Clone::clone)
}

type Env<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The first that works and is not newer than the driver; if all are newer, the first that works.
fn find(env: Env<'_>, driver_cuda: Option<i32>) -> Result<Nvrtc, Problem> {
    let named = env("QUELL_NVRTC").filter(|v| !v.is_empty()).map(PathBuf::from);
    let candidates = match &named {
        Some(path) if path.is_dir() => in_folder(path),
        Some(path) => vec![path.clone()],
        None => {
            let system = NAMES.iter().map(PathBuf::from);
            system.chain(usual_folders(env).iter().flat_map(|f| in_folder(f))).collect()
        }
    };
    let driver_major = driver_cuda.map_or(i32::MAX, |v| v / 1000);
    let mut newer = None;
    let mut broken = None;
    for path in &candidates {
        match Nvrtc::load(path) {
            Ok(nvrtc) if nvrtc.version.0 <= driver_major => return Ok(nvrtc),
            Ok(nvrtc) => newer = newer.or(Some(nvrtc)),
            // A plain name that the system does not know is no news; a file that is there is.
            Err(e) if path.is_file() => broken = broken.or(Some(format!("{}: {e}", path.display()))),
            Err(_) => {}
        }
    }
    newer.ok_or_else(|| not_found(named.as_deref(), broken, driver_major))
}

fn not_found(named: Option<&Path>, broken: Option<String>, driver_major: i32) -> Problem {
    let wheel = if driver_major < 13 { "nvidia-cuda-nvrtc-cu12" } else { "nvidia-cuda-nvrtc" };
    let tried = match named {
        Some(path) => format!("QUELL_NVRTC={}", path.display()),
        None => format!("{}, /usr/local/cuda*/lib64, Python packages nvidia/*/lib", NAMES.join(", ")),
    };
    let reason = match broken {
        Some(broken) => format!("NVRTC does not load: {broken}"),
        None => format!("NVRTC, the CUDA compiler library, not found (tried {tried})"),
    };
    Problem::new(
        reason,
        format!("pip install {wheel}, or set QUELL_NVRTC to its file or folder, or use --device opencl"),
    )
}

/// The library's files in a folder, best first.
fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = NAMES.iter().map(|n| folder.join(n)).filter(|p| p.is_file()).collect();
    if found.is_empty() {
        // A full version in the name only, such as libnvrtc.so.12.4.127.
        let prefix = if cfg!(windows) { "nvrtc64_" } else { "libnvrtc.so." };
        found = below(folder, |name| name.starts_with(prefix));
    }
    found
}

/// Entries of a folder whose names are accepted, last in the alphabet (newest) first.
fn below(folder: &Path, accept: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let accepted = entries.flatten().filter(|e| e.file_name().to_str().is_some_and(&accept));
    let mut found: Vec<PathBuf> = accepted.map(|e| e.path()).collect();
    found.sort();
    found.reverse();
    found
}

/// Toolkits, then Python packages.
fn usual_folders(env: Env<'_>) -> Vec<PathBuf> {
    let var = |name: &str| env(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let mut toolkits: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(var).collect();
    toolkits.extend(below(Path::new("/usr/local"), |n| n.starts_with("cuda")));
    toolkits.push("/opt/cuda".into());
    let mut folders: Vec<PathBuf> = toolkits.iter().flat_map(|t| [t.join("lib64"), t.join("bin")]).collect();
    folders.extend(var("CONDA_PREFIX").map(|p| p.join("lib")));

    // An environment that is active, the one that this program or the first Python on the path lies in, the user's.
    let mut prefixes: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(var).collect();
    prefixes.extend(std::env::current_exe().ok().and_then(|p| Some(p.parent()?.parent()?.to_path_buf())));
    let path = env("PATH").unwrap_or_default();
    let pythons = std::env::split_paths(&path).filter(|p| p.join("python3").is_file());
    prefixes.extend(pythons.take(1).filter_map(|p| p.parent().map(Path::to_path_buf)));
    prefixes.extend(var("HOME").map(|h| h.join(".local")));
    prefixes.extend(["/usr/local".into(), "/usr".into()]);
    let mut packages: Vec<PathBuf> = Vec::new();
    for prefix in prefixes {
        packages.push(prefix.join("Lib/site-packages"));
        for python in below(&prefix.join("lib"), |n| n.starts_with("python3")) {
            packages.extend([python.join("site-packages"), python.join("dist-packages")]);
        }
    }
    folders.extend(packages.iter().flat_map(|p| WHEELS.map(|w| p.join(w))));
    folders
}

impl Nvrtc {
    fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: NVRTC's initialisers may run at any time; a wrong file in these places is the owner's doing.
        let library = unsafe { Library::new(path) }.map_err(|e| e.to_string())?;
        macro_rules! function {
            ($name:literal) => {{
                // SAFETY: every name and type below is that of nvrtc.h, unchanged since CUDA 11.2.
                let found = unsafe { library.get($name) };
                *found.map_err(|e| e.to_string())?
            }};
        }
        let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status = function!(b"nvrtcVersion\0");
        let count: unsafe extern "C" fn(*mut c_int) -> Status = function!(b"nvrtcGetNumSupportedArchs\0");
        let list: unsafe extern "C" fn(*mut c_int) -> Status = function!(b"nvrtcGetSupportedArchs\0");
        let (mut major, mut minor, mut n) = (0, 0, 0);
        // SAFETY: both write what they are given pointers to.
        if unsafe { version(&raw mut major, &raw mut minor) } != 0 || unsafe { count(&raw mut n) } != 0 {
            return Err("it does not tell its version".into());
        }
        if major < OLDEST_MAJOR {
            return Err(format!("NVRTC {major}.{minor} is too old, needs {OLDEST_MAJOR}.0 or newer"));
        }
        let mut architectures = vec![0; usize::try_from(n).unwrap_or(0)];
        // SAFETY: writes as many numbers as the call before has said.
        if unsafe { list(architectures.as_mut_ptr()) } != 0 {
            return Err("it does not tell its architectures".into());
        }
        architectures.sort_unstable();
        Ok(Self {
            version: (major, minor),
            architectures,
            path: path.display().to_string(),
            error_string: function!(b"nvrtcGetErrorString\0"),
            create: function!(b"nvrtcCreateProgram\0"),
            compile: function!(b"nvrtcCompileProgram\0"),
            destroy: function!(b"nvrtcDestroyProgram\0"),
            log_size: function!(b"nvrtcGetProgramLogSize\0"),
            log: function!(b"nvrtcGetProgramLog\0"),
            cubin_size: function!(b"nvrtcGetCUBINSize\0"),
            cubin: function!(b"nvrtcGetCUBIN\0"),
            ptx_size: function!(b"nvrtcGetPTXSize\0"),
            ptx: function!(b"nvrtcGetPTX\0"),
            _library: library,
        })
    }

    /// For people and for the cache, for example `NVRTC 13.4`.
    pub(super) fn name(&self) -> String {
        format!("NVRTC {}.{}", self.version.0, self.version.1)
    }

    /// The file or name it was loaded by.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// What to compile for on a device of capability `sm` (10 major + minor): its own machine code, or, when this
    /// NVRTC is older than the device, the newest portable code below, which the driver translates.
    pub(super) fn target(&self, sm: i32) -> Result<String, Problem> {
        target(&self.architectures, sm).ok_or_else(|| {
            Problem::new(
                format!("{} does not know this GPU (sm_{sm})", self.name()),
                "pip install nvidia-cuda-nvrtc-cu12, and point QUELL_NVRTC at it if a newer one is there too",
            )
        })
    }

    /// Compiles for `arch`: `sm_90` gives machine code, `compute_90` portable code with a zero at its end.
    pub(super) fn compile(&self, source: &str, arch: &str, options: &[String]) -> Result<Compiled, Failure> {
        let c_string = |text: &str| {
            CString::new(text)
                .map_err(|_| Failure::Source("error: a zero byte in the source or an option".into()))
        };
        let source = c_string(source)?;
        let mut options = options.iter().map(|o| c_string(o)).collect::<Result<Vec<_>, _>>()?;
        options.push(c_string(&format!("--gpu-architecture={arch}"))?);
        let options: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();

        let mut program = Unit { nvrtc: self, handle: ptr::null_mut() };
        // SAFETY: both texts are C strings that outlive the call; there are no headers.
        let status = unsafe {
            (self.create)(
                &raw mut program.handle,
                source.as_ptr(),
                c"quell.cu".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        self.check("nvrtcCreateProgram", status)?;
        // SAFETY: a program that was just made; the options are C strings that outlive the call.
        let status = unsafe { (self.compile)(program.handle, options.len() as c_int, options.as_ptr()) };
        let log = program.bytes("nvrtcGetProgramLog", self.log_size, self.log)?;
        let log = String::from_utf8_lossy(&log).trim_end_matches('\0').to_owned();
        // 5 is a wrong option, 6 a wrong source. A machine-code failure may say so in the log only.
        if status == 5 || status == 6 || (status != 0 && log.contains("error")) {
            return Err(Failure::Source(log));
        }
        self.check("nvrtcCompileProgram", status)?;
        let binary = if arch.starts_with("sm_") {
            program.bytes("nvrtcGetCUBIN", self.cubin_size, self.cubin)?
        } else {
            program.bytes("nvrtcGetPTX", self.ptx_size, self.ptx)?
        };
        Ok(Compiled { binary, log })
    }

    fn check(&self, call: &str, status: Status) -> Result<(), Failure> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: gives a constant C string for every number.
        let words = unsafe { CStr::from_ptr((self.error_string)(status)) };
        Err(Failure::Compiler(format!("{call}: {}", words.to_string_lossy())))
    }
}

fn target(known: &[i32], sm: i32) -> Option<String> {
    let newest = *known.iter().filter(|&&k| k <= sm).max()?;
    Some(if newest == sm { format!("sm_{sm}") } else { format!("compute_{newest}") })
}

/// A program inside NVRTC, destroyed when dropped.
struct Unit<'a> {
    nvrtc: &'a Nvrtc,
    handle: Handle,
}

impl Unit<'_> {
    /// What a pair of functions, one for the size and one for the bytes, gives.
    fn bytes(&self, call: &str, size: SizeFn, copy: CopyFn) -> Result<Vec<u8>, Failure> {
        let mut n = 0;
        // SAFETY: the program is valid; `n` is written.
        self.nvrtc.check(call, unsafe { size(self.handle, &raw mut n) })?;
        let mut bytes = vec![0_u8; n];
        // SAFETY: writes the number of bytes that was just asked for.
        self.nvrtc.check(call, unsafe { copy(self.handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Unit<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: made by nvrtcCreateProgram and destroyed only here.
            unsafe { (self.nvrtc.destroy)(&raw mut self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&'static str, &str)]) -> impl Fn(&str) -> Option<OsString> + use<> {
        let vars: Vec<(&str, OsString)> = vars.iter().map(|(n, v)| (*n, OsString::from(v))).collect();
        move |name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone())
    }

    #[test]
    fn own_machine_code_or_the_newest_portable_code_below() {
        let known = [75, 80, 86, 90, 100];
        assert_eq!(target(&known, 90).as_deref(), Some("sm_90"));
        assert_eq!(target(&known, 89).as_deref(), Some("compute_86"));
        assert_eq!(target(&known, 121).as_deref(), Some("compute_100"));
        assert_eq!(target(&known, 61), None);
    }

    #[test]
    fn a_named_library_that_is_missing_or_broken_is_said_with_the_remedy() {
        let none = env(&[("QUELL_NVRTC", "/nowhere/libnvrtc.so.13")]);
        let problem = find(&none, Some(12040)).map(|_| ()).unwrap_err();
        assert!(problem.reason.contains("QUELL_NVRTC=/nowhere/libnvrtc.so.13"), "{problem:?}");
        assert!(problem.hint.contains("pip install nvidia-cuda-nvrtc-cu12"), "{problem:?}");

        let file = std::env::temp_dir().join(format!("quell-nvrtc-{}.so", std::process::id()));
        std::fs::write(&file, "not a library").unwrap();
        let broken = env(&[("QUELL_NVRTC", file.to_str().unwrap())]);
        let problem = find(&broken, Some(13000)).map(|_| ()).unwrap_err();
        std::fs::remove_file(&file).unwrap();
        assert!(problem.reason.contains("does not load") && !problem.reason.contains('\n'), "{problem:?}");
        assert!(problem.hint.contains("pip install nvidia-cuda-nvrtc,"), "{problem:?}");
    }

    #[test]
    fn wheels_of_environments_are_looked_at() {
        let root = std::env::temp_dir().join(format!("quell-venv-{}", std::process::id()));
        let wheel = root.join("lib/python3.12/site-packages/nvidia/cu13/lib");
        std::fs::create_dir_all(&wheel).unwrap();
        std::fs::write(wheel.join(NAMES[0]), "").unwrap();
        let folders = usual_folders(&env(&[("VIRTUAL_ENV", root.to_str().unwrap())]));
        let files: Vec<PathBuf> = folders.iter().flat_map(|f| in_folder(f)).collect();
        std::fs::remove_dir_all(&root).unwrap();
        assert!(files.contains(&wheel.join(NAMES[0])), "{folders:?}");
    }
}
