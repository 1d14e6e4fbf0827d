//! Compiled kernels on disk, so that only the first start compiles.
//!
//! A file is found by a hash over everything that the binary depends on, and is believed only when its header fits:
//! a corrupt or truncated one is removed and built again. Files are written beside their place and renamed, so that
//! programs that start together never see half of one. A folder that cannot be used means compiling every time; it
//! is never an error.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use super::Program;

const MAGIC: [u8; 8] = *b"quellkc1";
/// Magic, hash of the key, length and hash of the payload.
const HEADER: usize = 8 + 16 + 8 + 16;
/// No program comes near this: a header that says more is not ours.
const MAX_PAYLOAD: u64 = 1 << 30;
/// Entries above which the oldest are removed, and how many stay.
const MAX_ENTRIES: usize = 256;
const KEPT_ENTRIES: usize = 192;
/// What a program that was killed while writing left behind is removed after this time.
const STALE: Duration = Duration::from_secs(3600);

/// What a compiled binary depends on, hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    program: &'static str,
    hash: u128,
}

impl Key {
    /// The key of `program` built by `compiler` (name, version, options) for `target` (device or architecture) under
    /// `driver`.
    pub(crate) fn new(program: &Program, compiler: &str, driver: &str, target: &str) -> Self {
        let mut hash = Fnv::new();
        // Every text is hashed with its length, so that moving a character from one to the next changes the hash.
        for text in [env!("CARGO_PKG_VERSION"), program.name, compiler, driver, target] {
            hash.text(text);
        }
        hash.count(program.sources.len());
        for source in &program.sources {
            hash.text(source);
        }
        hash.count(program.defines.len());
        for (name, value) in &program.defines {
            hash.text(name);
            hash.text(value);
        }
        Self { program: program.name, hash: hash.0 }
    }

    fn file(&self) -> String {
        format!("{}-{:032x}.bin", file_name(self.program), self.hash)
    }
}

/// The binary stored under `key`, if it is there and whole.
pub(crate) fn load(key: &Key) -> Option<Vec<u8>> {
    Cache::from_env().load(key)
}

/// Keeps a binary for the next start.
pub(crate) fn store(key: &Key, binary: &[u8]) {
    Cache::from_env().store(key, binary);
}

/// Forgets a binary that the driver did not take.
pub(crate) fn remove(key: &Key) {
    Cache::from_env().remove(key);
}

/// Writes the log of a compilation that failed, to the cache or else to the folder for temporary files, and says
/// where it is.
pub(crate) fn save_log(program: &str, text: &str) -> PathBuf {
    Cache::from_env().save_log(program, text)
}

/// A folder of binaries; without one nothing is found and nothing kept.
struct Cache(Option<PathBuf>);

impl Cache {
    fn from_env() -> Self {
        Self(folder(|name| std::env::var_os(name)))
    }

    fn load(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.0.as_ref()?.join(key.file());
        let mut file = File::open(&path).ok()?;
        let binary = read(&mut file, key.hash);
        drop(file);
        if binary.is_none() {
            // Not ours or not whole. Another program may just have renamed a good one onto it: then that one is
            // lost, and built once more.
            let _ = fs::remove_file(&path);
        }
        binary
    }

    fn store(&self, key: &Key, binary: &[u8]) {
        let Some(folder) = &self.0 else { return };
        // Failing is fine: the next start compiles again.
        if write(folder, key, binary).is_ok() {
            let _ = prune(folder);
        }
    }

    fn remove(&self, key: &Key) {
        if let Some(folder) = &self.0 {
            let _ = fs::remove_file(folder.join(key.file()));
        }
    }

    fn save_log(&self, program: &str, text: &str) -> PathBuf {
        let mut hash = Fnv::new();
        hash.text(text);
        let name = format!("quell-{}-{:016x}", file_name(program), hash.0 as u64);
        if let Some(folder) = &self.0 {
            let path = folder.join(format!("{name}.log"));
            if fs::create_dir_all(folder).and_then(|()| fs::write(&path, text)).is_ok() {
                return path;
            }
        }
        // Others write to this folder too: only a file that was not there before is ours.
        let path = std::env::temp_dir().join(format!("{name}-{}.log", unique()));
        match create_new(&path).and_then(|mut f| f.write_all(text.as_bytes())) {
            Ok(()) => path,
            Err(e) => PathBuf::from(format!("not written, {e}")),
        }
    }
}

/// `QUELL_CACHE`, else the cache folder of the user. `QUELL_CACHE=off` is no cache.
fn folder(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // A relative path in the XDG variables is to be ignored, says their specification.
    let base = |name: &str| var(name).map(PathBuf::from).filter(|p| p.is_absolute());
    match var("QUELL_CACHE") {
        Some(v) if v == "off" => return None,
        Some(v) if !v.is_empty() => return Some(v.into()),
        _ => {}
    }
    let user = base("XDG_CACHE_HOME").or_else(|| {
        if cfg!(windows) {
            base("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            base("HOME").map(|h| h.join("Library/Caches"))
        } else {
            base("HOME").map(|h| h.join(".cache"))
        }
    });
    user.map(|u| u.join("quell").join("kernels"))
}

fn read(file: &mut File, key: u128) -> Option<Vec<u8>> {
    let mut header = [0; HEADER];
    file.read_exact(&mut header).ok()?;
    let (magic, rest) = header.split_first_chunk::<8>()?;
    let (stored_key, rest) = rest.split_first_chunk::<16>()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (sum, _) = rest.split_first_chunk::<16>()?;
    let length = u64::from_le_bytes(*length);
    if *magic != MAGIC || u128::from_le_bytes(*stored_key) != key || length > MAX_PAYLOAD {
        return None;
    }
    let mut binary = Vec::new();
    file.take(length + 1).read_to_end(&mut binary).ok()?;
    let whole = binary.len() as u64 == length && Fnv::of(&binary) == u128::from_le_bytes(*sum);
    whole.then_some(binary)
}

fn write(folder: &Path, key: &Key, binary: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let name = key.file();
    let part = folder.join(format!("{name}.{}.part", unique()));
    let written = create_new(&part).and_then(|mut file| {
        file.write_all(&MAGIC)?;
        file.write_all(&key.hash.to_le_bytes())?;
        file.write_all(&(binary.len() as u64).to_le_bytes())?;
        file.write_all(&Fnv::of(binary).to_le_bytes())?;
        file.write_all(binary)
    });
    let done = written.and_then(|()| fs::rename(&part, folder.join(name)));
    if done.is_err() {
        let _ = fs::remove_file(&part);
    }
    done
}

/// Bounds the folder: removes the oldest binaries, logs, and what was left half-written.
fn prune(folder: &Path) -> io::Result<()> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Ok(modified) = fs::metadata(&path).and_then(|m| m.modified()) else { continue };
        let stale = SystemTime::now().duration_since(modified).is_ok_and(|age| age > STALE);
        match path.extension().and_then(|e| e.to_str()) {
            Some("part") if stale => {
                let _ = fs::remove_file(&path);
            }
            Some("bin" | "log") => entries.push((modified, path)),
            _ => {}
        }
    }
    if entries.len() > MAX_ENTRIES {
        entries.sort();
        for (_, path) in &entries[..entries.len() - KEPT_ENTRIES] {
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Different in every call of every running program.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.subsec_nanos());
    format!("{}-{}-{time:x}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A program's name with nothing in it that a file system could mind.
fn file_name(program: &str) -> String {
    program.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

/// FNV-1a with 128 bits (Fowler, Noll, Vo): the same on every machine and in every version, unlike the hashes of the
/// standard library.
struct Fnv(u128);

impl Fnv {
    const PRIME: u128 = (1 << 88) + 0x13b;

    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn of(bytes: &[u8]) -> u128 {
        let mut hash = Self::new();
        hash.bytes(bytes);
        hash.0
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = (self.0 ^ u128::from(b)).wrapping_mul(Self::PRIME);
        }
    }

    fn count(&mut self, n: usize) {
        self.bytes(&(n as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that goes away with the test.
    struct Temp(PathBuf);

    impl Temp {
        fn new() -> Self {
            let path = std::env::temp_dir().join(format!("quell-cache-test-{}", unique()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn cache(&self) -> Cache {
            Cache(Some(self.0.clone()))
        }

        fn names(&self) -> Vec<String> {
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    impl Drop for Temp {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn program() -> Program {
        Program {
            name: "test",
            sources: vec!["first", "second"],
            defines: vec![("A", "1".into()), ("B", "23".into())],
            kernels: vec!["k"],
        }
    }

    fn key() -> Key {
        Key::new(&program(), "NVRTC 13.4", "580.1", "sm_90")
    }

    #[test]
    fn hash_is_fnv1a_128() {
        // From the authors' test vectors.
        assert_eq!(Fnv::of(b""), 0x6c62272e07bb014262b821756295c58d);
        assert_eq!(Fnv::of(b"a"), 0xd228cb696f1a8caf78912b704e4a8964);
        assert_eq!(Fnv::of(b"foobar"), 0x343e1662793c64bf6f0d3597ba446f18);
    }

    #[test]
    fn key_changes_with_everything_it_is_made_of() {
        let with = |change: &dyn Fn(&mut Program)| {
            let mut p = program();
            change(&mut p);
            Key::new(&p, "NVRTC 13.4", "580.1", "sm_90")
        };
        let keys = [
            key(),
            with(&|p| p.sources[1] = "secon"),
            with(&|p| p.sources = vec!["firstsecond"]),
            with(&|p| p.sources = vec!["firsts", "econd"]),
            with(&|p| p.defines[1].1 = "24".into()),
            with(&|p| p.defines = vec![("A", "12".into()), ("B", "3".into())]),
            with(&|p| p.defines.swap(0, 1)),
            Key::new(&program(), "NVRTC 12.4", "580.1", "sm_90"),
            Key::new(&program(), "NVRTC 13.4", "580.2", "sm_90"),
            Key::new(&program(), "NVRTC 13.4", "580.1", "sm_80"),
        ];
        for (i, a) in keys.iter().enumerate() {
            assert_eq!(keys.iter().position(|b| b == a), Some(i));
        }
    }

    #[test]
    fn what_is_stored_is_found() {
        let temp = Temp::new();
        let binary: Vec<u8> = (0..10_000).map(|i| (i * 7) as u8).collect();
        assert_eq!(temp.cache().load(&key()), None);
        temp.cache().store(&key(), &binary);
        assert_eq!(temp.cache().load(&key()), Some(binary));
        assert_eq!(temp.names(), [key().file()]);
        temp.cache().remove(&key());
        assert_eq!(temp.cache().load(&key()), None);
    }

    #[test]
    fn any_damaged_byte_or_length_is_found_and_the_file_removed() {
        let temp = Temp::new();
        let binary = b"a small binary".to_vec();
        temp.cache().store(&key(), &binary);
        let path = temp.0.join(key().file());
        let good = fs::read(&path).unwrap();
        let mut bad: Vec<Vec<u8>> = (0..good.len()).map(|n| good[..n].to_vec()).collect();
        bad.push([&good[..], b"x"].concat());
        for i in 0..good.len() {
            let mut b = good.clone();
            b[i] ^= 0x10;
            bad.push(b);
        }
        for b in bad {
            fs::write(&path, &b).unwrap();
            assert_eq!(temp.cache().load(&key()), None, "{} bytes", b.len());
            assert!(!path.exists());
            // And it is built again.
            temp.cache().store(&key(), &binary);
            assert_eq!(temp.cache().load(&key()).as_ref(), Some(&binary));
        }
    }

    #[test]
    fn a_file_of_another_key_is_not_believed() {
        let temp = Temp::new();
        let other = Key::new(&program(), "NVRTC 12.4", "580.1", "sm_90");
        temp.cache().store(&other, b"other");
        fs::rename(temp.0.join(other.file()), temp.0.join(key().file())).unwrap();
        assert_eq!(temp.cache().load(&key()), None);
    }

    #[test]
    fn an_unusable_folder_is_no_error() {
        let temp = Temp::new();
        // A file where the folder should be: refused to everyone, root included.
        let blocked = temp.0.join("file");
        fs::write(&blocked, "x").unwrap();
        for cache in [Cache(Some(blocked.clone())), Cache(Some(blocked.join("below"))), Cache(None)] {
            cache.store(&key(), b"binary");
            assert_eq!(cache.load(&key()), None);
            cache.remove(&key());
            // The log still lands somewhere.
            let log = cache.save_log("test", "line 1");
            assert_eq!(fs::read_to_string(&log).unwrap(), "line 1");
            fs::remove_file(log).unwrap();
        }
        assert_eq!(fs::read_to_string(&blocked).unwrap(), "x");
    }

    #[test]
    fn concurrent_writers_and_readers_see_whole_files_only() {
        let temp = Temp::new();
        let found = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|s| {
            for t in 0..8_u8 {
                let (temp, found) = (&temp, &found);
                s.spawn(move || {
                    for i in 0..25_u8 {
                        temp.cache().store(&key(), &vec![t; 50_000 + usize::from(i)]);
                        if let Some(b) = temp.cache().load(&key()) {
                            assert!(b.len() >= 50_000 && b.iter().all(|&x| x == b[0]));
                            found.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        // A rename never leaves a moment without a file, so every reader found one.
        assert_eq!(found.into_inner(), 200);
        assert_eq!(temp.names(), [key().file()]);
    }

    #[test]
    fn the_folder_does_not_grow_without_bound() {
        let temp = Temp::new();
        for i in 0..MAX_ENTRIES {
            fs::write(temp.0.join(format!("old-{i}.bin")), "").unwrap();
        }
        fs::write(temp.0.join("keep.txt"), "").unwrap();
        temp.cache().store(&key(), b"binary");
        assert_eq!(temp.names().len(), KEPT_ENTRIES + 1);
        assert!(temp.0.join("keep.txt").exists());
        assert_eq!(temp.cache().load(&key()).as_deref(), Some(&b"binary"[..]));
    }

    #[test]
    fn folder_follows_the_environment() {
        let at = |vars: &[(&str, &str)]| {
            folder(|n| vars.iter().find(|(name, _)| *name == n).map(|(_, v)| OsString::from(v)))
        };
        assert_eq!(at(&[("QUELL_CACHE", "here"), ("HOME", "/home/u")]), Some("here".into()));
        assert_eq!(at(&[("QUELL_CACHE", "off"), ("HOME", "/home/u")]), None);
        assert_eq!(at(&[]), None);
        if cfg!(target_os = "linux") {
            let home = Some("/home/u/.cache/quell/kernels".into());
            assert_eq!(at(&[("HOME", "/home/u"), ("QUELL_CACHE", "")]), home);
            assert_eq!(at(&[("HOME", "/home/u"), ("XDG_CACHE_HOME", "relative")]), home);
            let xdg = at(&[("HOME", "/home/u"), ("XDG_CACHE_HOME", "/xdg")]);
            assert_eq!(xdg, Some("/xdg/quell/kernels".into()));
        }
    }
}
