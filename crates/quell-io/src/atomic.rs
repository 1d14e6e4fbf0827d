//! Writing files so that nothing is ever half-written.
//!
//! A file is filled under a hidden temporary name in the same folder (renaming across file systems is not
//! atomic), then renamed. Whatever goes wrong before that, the old file stays as it was.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Cursor, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Error, Result};

/// Temporary files of writes in progress.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of writes in progress, and ends programs that write such files. For signal handlers:
/// the process must end afterwards.
pub fn remove_unfinished() {
    crate::video::stop_all();
    for path in unfinished().drain(..) {
        // Nothing can be done about a failure while the process ends.
        let _ = fs::remove_file(path);
    }
}

/// Removes its file when dropped, unless it was renamed.
struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    fn create(folder: &Path, suffix: &str) -> io::Result<(Self, File)> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        loop {
            let n = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".quell-{}-{n}.tmp{suffix}", std::process::id()));
            // Registered first, so that a signal in between leaves nothing behind.
            unfinished().push(path.clone());
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((Self { path, renamed: false }, file)),
                Err(e) => {
                    unfinished().retain(|p| *p != path);
                    // Left behind by a killed process of the same number: take the next name.
                    if e.kind() != io::ErrorKind::AlreadyExists {
                        return Err(e);
                    }
                }
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.path);
        }
        unfinished().retain(|p| *p != self.path);
    }
}

/// What [`replace`] writes to.
pub(crate) trait Sink: Write + Seek {}

impl<T: Write + Seek> Sink for T {}

/// A file that takes its name when it is complete; dropped before that, it is removed.
pub(crate) struct Pending {
    temporary: Temporary,
    target: PathBuf,
    old: Option<fs::Permissions>,
}

impl Pending {
    /// Opens a file beside `target`, whose temporary name ends in `suffix`. What is there but no file (a pipe, a
    /// device) must be written to, not replaced: it is opened itself.
    pub(crate) fn create(target: &Path, suffix: &str) -> Result<(Option<Self>, File)> {
        // A symbolic link is followed, so that it still points to the picture afterwards.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_path_buf());
        let old = fs::metadata(&target).ok();
        if let Some(old) = &old
            && !old.is_file()
        {
            if old.is_dir() {
                return Err(Error::Io(io::Error::new(io::ErrorKind::IsADirectory, "is a folder")));
            }
            return Ok((None, OpenOptions::new().write(true).open(&target)?));
        }
        let folder = match target.parent() {
            Some(p) if !p.as_os_str().is_empty() => p,
            _ => Path::new("."),
        };
        let (temporary, file) = Temporary::create(folder, suffix)?;
        Ok((Some(Self { temporary, target, old: old.map(|o| o.permissions()) }), file))
    }

    /// Where it lies until then.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary.path
    }

    /// Whether there is a file of that name, which would be lost.
    pub(crate) fn replaces(&self) -> bool {
        self.old.is_some()
    }

    /// The same as [`commit`](Self::commit), but what is replaced is lost only when the new file is on the disk.
    pub(crate) fn commit_safely(self) -> Result<()> {
        if self.replaces() {
            File::open(self.path())?.sync_data()?;
        }
        self.commit()
    }

    /// Puts the file, which must be closed or at least flushed, in its place.
    pub(crate) fn commit(mut self) -> Result<()> {
        if let Some(old) = self.old.take() {
            // Not every file system knows permissions; the content matters more.
            let _ = fs::set_permissions(&self.temporary.path, old);
        }
        fs::rename(&self.temporary.path, &self.target)?;
        self.temporary.renamed = true;
        Ok(())
    }
}

/// Lets `fill` write a file and puts it in place of `target` only when that succeeded.
pub(crate) fn replace<T>(target: &Path, fill: impl FnOnce(&mut dyn Sink) -> Result<T>) -> Result<T> {
    let (value, pending) = prepare(target, fill)?;
    if let Some(pending) = pending {
        pending.commit()?;
    }
    Ok(value)
}

/// Lets `fill` write a file, complete but under its temporary name; pipes and devices are written at once.
pub(crate) fn prepare<T>(
    target: &Path,
    fill: impl FnOnce(&mut dyn Sink) -> Result<T>,
) -> Result<(T, Option<Pending>)> {
    let (pending, mut file) = Pending::create(target, "")?;
    let Some(pending) = pending else {
        // Pipes and devices cannot seek.
        let mut buffer = Cursor::new(Vec::new());
        let value = fill(&mut buffer)?;
        file.write_all(buffer.get_ref())?;
        return Ok((value, None));
    };
    let mut writer = BufWriter::new(file);
    let value = fill(&mut writer)?;
    let file = writer.into_inner().map_err(|e| e.into_error())?;
    file.sync_data()?;
    drop(file);
    Ok((value, Some(pending)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests in this module look at the shared registry: one at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("quell-io-atomic-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folder("failed");
        let target = folder.join("a.png");
        fs::write(&target, "old").unwrap();
        let result = replace(&target, |w| {
            w.write_all(&[7; 100_000])?;
            assert_eq!(names(&folder).len(), 2);
            Err::<(), _>(Error::Encode("no".into()))
        });
        assert!(result.is_err());
        assert_eq!(names(&folder), ["a.png"]);
        assert_eq!(fs::read(&target).unwrap(), b"old");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn unfinished_files_can_be_removed_from_outside() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folder("unfinished");
        let result = replace(&folder.join("a.png"), |w| {
            w.write_all(b"half")?;
            assert_eq!(names(&folder).len(), 1);
            remove_unfinished();
            assert_eq!(names(&folder).len(), 0);
            Ok(())
        });
        assert!(matches!(result, Err(Error::Io(_))));
        assert_eq!(names(&folder).len(), 0);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_finished_write_replaces_the_file_and_its_registration() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folder("finished");
        let target = folder.join("a.png");
        fs::write(&target, "old").unwrap();
        replace(&target, |w| Ok(w.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(names(&folder), ["a.png"]);
        assert!(unfinished().is_empty());
        fs::remove_dir_all(folder).unwrap();
    }

    /// A disk with room for `left` bytes.
    struct Full<W> {
        inner: W,
        left: usize,
    }

    impl<W: Write> Write for Full<W> {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            if self.left == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let n = self.inner.write(&data[..data.len().min(self.left)])?;
            self.left -= n;
            Ok(n)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.inner.flush()
        }
    }

    impl<W: Seek> Seek for Full<W> {
        fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
            self.inner.seek(to)
        }
    }

    #[test]
    fn a_full_disk_is_an_error_and_leaves_no_trace_in_any_format() {
        use crate::{Format, Metadata, Page, Picture, SampleType, WriteOptions, encode};
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let noise =
            (0..3 * 50 * 40_u32).map(|i| (i.wrapping_mul(2654435761) >> 24) as f32).collect::<Vec<_>>();
        let frame = quell::Frame::from_interleaved(50, 40, 3, &noise, 255.0).unwrap();
        let page = Page { frame, alpha: None, samples: SampleType::U8 };
        let metadata = Metadata { icc: Some(vec![5; 300]), ..Metadata::default() };
        let picture = Picture { pages: vec![page], metadata, format: Format::Png, notes: vec![] };
        let folder = folder("full");
        let target = folder.join("a");
        fs::write(&target, "old").unwrap();
        for format in Format::ALL {
            let mut whole = Cursor::new(Vec::new());
            encode(&picture, format, &WriteOptions::default(), &mut whole).unwrap();
            let len = whole.get_ref().len();
            for left in [0, 1, 7, 40, 200, len / 2, len - 1] {
                let result = replace(&target, |inner| {
                    encode(&picture, format, &WriteOptions::default(), Full { inner, left })
                });
                let e = result.unwrap_err();
                assert!(matches!(e, Error::Io(_)), "{format:?} with room for {left}: {e:?}");
                assert_eq!(names(&folder), ["a"], "{format:?}");
                assert_eq!(fs::read(&target).unwrap(), b"old", "{format:?}");
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_devices_and_permissions_survive() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folder("links");
        let (real, link) = (folder.join("real.png"), folder.join("link.png"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        replace(&link, |w| Ok(w.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        replace(Path::new("/dev/null"), |w| Ok(w.write_all(b"new")?)).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(matches!(replace(&folder, |_| Ok(())), Err(Error::Io(_))));
        fs::remove_dir_all(folder).unwrap();
    }
}
