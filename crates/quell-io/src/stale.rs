//! Temporary files: their names, and what becomes of those that a killed process left behind.
//!
//! A process holds a lock on each of its temporary files until that has its final name or is gone; the system lets go of
//! locks when a process ends, however it ends. So a file whose lock is free belongs to nobody, whatever became of the
//! number of its process and whatever container that ran in. Where a folder is shared by several machines, locks may not
//! reach from one to the other: the name holds what is different for each start of a system, and a file of another start
//! is left alone as long as it was written to during the last day.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

/// A file of which nothing is known but its age is stale after this time.
const OLD: Duration = Duration::from_secs(24 * 3600);
const START: &str = ".quell-";
const END: &str = ".tmp";

/// The temporary name with this number.
pub(crate) fn name(number: u64, suffix: &str) -> String {
    format!("{START}{}-{}-{number}{END}{suffix}", boot().unwrap_or("0"), std::process::id())
}

/// The name of a temporary file that is no longer locked: as of another start, so that its age protects it.
pub(crate) fn unlocked(name: &str) -> String {
    boot().map_or_else(|| name.to_owned(), |boot| name.replacen(boot, "0", 1))
}

/// What is different for each start of a system, and the same in all its containers.
fn boot() -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let id: String = id.chars().filter(char::is_ascii_hexdigit).take(12).collect();
        (id.len() == 12).then_some(id)
    };
    BOOT.get_or_init(read).as_deref()
}

/// Whether a name is one that [`name`] makes, and if so whether it was made since the system was started.
fn is_temporary(name: &OsStr) -> Option<bool> {
    let (core, _) = name.to_str()?.strip_prefix(START)?.split_once(END)?;
    let parts: Vec<&str> = core.split('-').collect();
    let numbers = |parts: &[&str]| parts.iter().all(|p| p.parse::<u64>().is_ok());
    match parts[..] {
        [of, pid, n] if of.chars().all(|c| c.is_ascii_hexdigit()) && numbers(&[pid, n]) => {
            Some(boot() == Some(of))
        }
        // As names were before.
        [pid, n] if numbers(&[pid, n]) => Some(false),
        _ => None,
    }
}

/// Locks a temporary file that was made just now. `false` if another process took it for stale before that. Without
/// locks, as on some network drives, its age is all that protects it.
pub(crate) fn claim(file: &File, path: &Path) -> bool {
    // On Windows a lock keeps all others from writing, ffmpeg among them.
    !cfg!(unix) || file.lock().is_err() || is_at(file, path)
}

/// Removes what killed processes left in a folder. Files of living processes stay, of this one and of all others.
pub fn remove_stale(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if let Some(recent) = is_temporary(&entry.file_name()) {
            remove_if_free(&entry.path(), recent);
        }
    }
}

/// The same, once for every folder: on the first file that is written to it.
pub(crate) fn remove_once(folder: &Path) {
    static DONE: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    if done.get_or_insert_default().insert(folder.to_owned()) {
        remove_stale(folder);
    }
}

fn remove_if_free(path: &Path, recent: bool) {
    // Opening anything else might wait, or lead elsewhere.
    if !fs::symlink_metadata(path).is_ok_and(|m| m.is_file()) {
        return;
    }
    let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else { return };
    let free = match if cfg!(unix) { file.try_lock() } else { Ok(()) } {
        Ok(()) => cfg!(unix),
        Err(TryLockError::WouldBlock) => return,
        Err(TryLockError::Error(_)) => false,
    };
    let age = file
        .metadata()
        .and_then(|m| m.modified())
        .ok()
        .and_then(|t| SystemTime::now().duration_since(t).ok());
    if ((free && recent) || age.is_some_and(|a| a > OLD)) && is_at(&file, path) {
        // Whoever cannot remove it leaves it to the next.
        let _ = fs::remove_file(path);
    }
}

/// Whether an open file is still the one at its path.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |m: &fs::Metadata| (m.dev(), m.ino());
        matches!((file.metadata(), fs::symlink_metadata(path)), (Ok(a), Ok(b)) if id(&a) == id(&b))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}
