//! Writing files so that nothing is ever half-written.
//!
//! A file is filled under a hidden temporary name in the same folder (renaming across file systems is not
//! atomic), then renamed. Whatever goes wrong before that, the old file stays as it was. A temporary file is locked as
//! long as it is in work, which tells it from those that a killed process left behind: see [`stale`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Cursor, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::access::Access;
use crate::{Error, Result, stale};

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
    /// Holds the lock, also while another program writes to the file; none when it was set aside.
    file: Option<File>,
}

impl Temporary {
    fn create(folder: &Path, suffix: &str) -> io::Result<(Self, File)> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        loop {
            let path = folder.join(stale::name(COUNTER.fetch_add(1, Ordering::Relaxed), suffix));
            // Registered first, so that a signal in between leaves nothing behind.
            unfinished().push(path.clone());
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) if stale::claim(&file, &path) => {
                    let temporary = Self { path, renamed: false, file: Some(file.try_clone()?) };
                    return Ok((temporary, file));
                }
                // Another quell took it for stale before it was locked: take the next name.
                Ok(_) => unfinished().retain(|p| *p != path),
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
    access: Box<Access>,
}

impl Pending {
    /// Opens a file beside `target`, whose temporary name ends in `suffix`. What is there but no file (a pipe, a
    /// device) must be written to, not replaced: it is opened itself.
    pub(crate) fn create(target: &Path, suffix: &str) -> Result<(Option<Self>, File)> {
        // A symbolic link is followed, so that it still points to the picture afterwards.
        let target = followed(target)?;
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
        stale::remove_once(folder);
        let (temporary, file) = Temporary::create(folder, suffix)?;
        let access = Box::new(Access::new(&file, old));
        Ok((Some(Self { temporary, target, access }), file))
    }

    /// Says what the file is made from: a new one grants nobody more than that does. What is no file says nothing.
    pub(crate) fn made_from(&mut self, source: Option<&Path>) {
        if let Some(source) = source.and_then(|s| fs::metadata(s).ok()).filter(fs::Metadata::is_file) {
            self.access.limit(source);
        }
    }

    /// Where it lies until then.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary.path
    }

    /// Whether there is a file of that name, which would be lost.
    pub(crate) fn replaces(&self) -> bool {
        self.access.replaces()
    }

    /// Sets the file, which must be flushed, aside until it is put in its place. It is not held open any longer: many
    /// that wait for each other, as the pictures of a clip do, are more than a process may have open.
    pub(crate) fn set_aside(mut self) -> Result<Self> {
        // Locked until it has the other name.
        let _locked = self.settle()?;
        let old = self.temporary.path.clone();
        if let Some(name) = old.file_name().and_then(|n| n.to_str()) {
            let new = old.with_file_name(stale::unlocked(name));
            unfinished().push(new.clone());
            fs::rename(&old, &new)?;
            self.temporary.path = new;
            unfinished().retain(|p| *p != old);
        }
        Ok(self)
    }

    /// On the disk and with the rights that it is to have; gives the lock away.
    fn settle(&mut self) -> Result<Option<File>> {
        let Some(file) = self.temporary.file.take() else { return Ok(None) };
        if self.access.replaces() {
            // What is replaced is gone for good: its successor must not be in the system's memory alone.
            file.sync_data()?;
        }
        self.access.settle(&file);
        Ok(Some(file))
    }

    /// Puts the file, which must be closed or at least flushed, in its place.
    pub(crate) fn commit(mut self) -> Result<()> {
        let _locked = self.settle()?;
        fs::rename(&self.temporary.path, &self.target)?;
        self.temporary.renamed = true;
        Ok(())
    }
}

/// Where a path leads: links are followed, also those to a file that does not exist yet.
fn followed(path: &Path) -> Result<PathBuf> {
    // As many as the usual systems follow.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Ok(real) = fs::canonicalize(&path) {
            return Ok(real);
        }
        let Ok(to) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().map_or(to.clone(), |folder| folder.join(&to));
    }
    Err(Error::Io(io::Error::other("a link that leads to itself")))
}

/// Lets `fill` write a file and puts it in place of `target` only when that succeeded. A new file grants no more than
/// `source`, which it is made from.
pub(crate) fn replace<T>(
    target: &Path,
    source: Option<&Path>,
    fill: impl FnOnce(&mut dyn Sink) -> Result<T>,
) -> Result<T> {
    let (value, pending) = prepare(target, source, fill)?;
    if let Some(pending) = pending {
        pending.commit()?;
    }
    Ok(value)
}

/// Lets `fill` write a file, complete but under its temporary name; pipes and devices are written at once.
pub(crate) fn prepare<T>(
    target: &Path,
    source: Option<&Path>,
    fill: impl FnOnce(&mut dyn Sink) -> Result<T>,
) -> Result<(T, Option<Pending>)> {
    let (pending, mut file) = Pending::create(target, "")?;
    let Some(mut pending) = pending else {
        // Pipes and devices cannot seek.
        let mut buffer = Cursor::new(Vec::new());
        let value = fill(&mut buffer)?;
        file.write_all(buffer.get_ref())?;
        return Ok((value, None));
    };
    pending.made_from(source);
    let mut writer = BufWriter::new(file);
    let value = fill(&mut writer)?;
    complete(writer)?;
    Ok((value, Some(pending)))
}

/// Opens a file that is written bit by bit, [completed](complete), and then [committed](Pending::commit); nothing for
/// pipes and devices, which cannot seek.
pub(crate) fn begin(target: &Path, source: Option<&Path>) -> Result<Option<(Pending, BufWriter<File>)>> {
    // Not even opened: whoever reads from a pipe would see it closed again.
    if fs::metadata(target).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return Ok(None);
    }
    let (pending, file) = Pending::create(target, "")?;
    Ok(pending.map(|mut pending| {
        pending.made_from(source);
        (pending, BufWriter::new(file))
    }))
}

/// Brings all that was written to the disk.
pub(crate) fn complete(writer: BufWriter<File>) -> Result<()> {
    let file = writer.into_inner().map_err(|e| e.into_error())?;
    Ok(file.sync_data()?)
}

/// Writes a file of any kind, with the safety of every other write.
pub fn save(path: &Path, content: &[u8]) -> Result<()> {
    replace(path, None, |to| Ok(to.write_all(content)?))
}

/// Copies a file byte for byte, with the safety of every other write: complete under its name, or not there. A new file
/// grants no more than the input. A file is not copied over itself: it is left alone.
pub fn copy(input: &Path, output: &Path) -> Result<()> {
    let mut from = File::open(input)?;
    let from_file = from.metadata()?.is_file();
    if from_file && fs::canonicalize(input)? == followed(output)? {
        return Ok(());
    }
    let (pending, mut to) = Pending::create(output, "")?;
    let copied = io::copy(&mut from, &mut to)?;
    if from_file && copied != from.metadata()?.len() {
        let what = "the file changed while it was copied";
        return Err(Error::Io(io::Error::new(io::ErrorKind::UnexpectedEof, what)));
    }
    if let Some(mut pending) = pending {
        pending.made_from(Some(input));
        to.sync_data()?;
        pending.commit()?;
    }
    Ok(())
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
        let result = replace(&target, None, |w| {
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
        let result = replace(&folder.join("a.png"), None, |w| {
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
        replace(&target, None, |w| Ok(w.write_all(b"new")?)).unwrap();
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
                let result = replace(&target, None, |inner| {
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
        replace(&link, None, |w| Ok(w.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        replace(Path::new("/dev/null"), None, |w| Ok(w.write_all(b"new")?)).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(matches!(replace(&folder, None, |_| Ok(())), Err(Error::Io(_))));
        fs::remove_dir_all(folder).unwrap();
    }
}
