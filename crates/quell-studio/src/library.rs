//! What may be read and where may be written: the files that were named or dropped into the window, and the folder of
//! exports.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use quell_io::video::VideoKind;
use serde_json::{Value, json};

use crate::source::Source;
use crate::{Kind, Problem, Program};

/// Bytes of an upload at most.
pub(crate) const UPLOAD: u64 = 1 << 30;
/// Characters of a name at most.
const LONGEST_NAME: usize = 120;

/// The files of a session.
pub struct Library {
    files: Mutex<Vec<Arc<Entry>>>,
    next: AtomicU64,
    clock: AtomicU64,
    /// Where exports go; it is there, and has no links in it.
    folder: PathBuf,
    /// Where uploads are, once there are any; it goes with the session.
    temporary: Mutex<Option<PathBuf>>,
}

/// A file that may be opened.
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    source: Mutex<Option<Result<Arc<Source>, Problem>>>,
    used: AtomicU64,
    thumb: OnceLock<Vec<u8>>,
}

impl Library {
    /// Of these files; exports go below `folder`, which is made if need be.
    pub fn new(paths: Vec<PathBuf>, folder: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(folder)?;
        let library = Self {
            files: Mutex::default(),
            next: AtomicU64::new(1),
            clock: AtomicU64::new(1),
            folder: folder.canonicalize()?,
            temporary: Mutex::default(),
        };
        paths.into_iter().for_each(|path| drop(library.add(path)));
        Ok(library)
    }

    fn add(&self, path: PathBuf) -> Arc<Entry> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let entry = Arc::new(Entry {
            id,
            path,
            name,
            source: Mutex::default(),
            used: AtomicU64::new(0),
            thumb: OnceLock::new(),
        });
        self.all().push(entry.clone());
        entry
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every file, in the order it came.
    pub(crate) fn entries(&self) -> Vec<Arc<Entry>> {
        self.all().clone()
    }

    /// A file by its number.
    pub(crate) fn entry(&self, id: u64) -> Result<Arc<Entry>, Problem> {
        let found = self.all().iter().find(|entry| entry.id == id).cloned();
        found.ok_or_else(|| Problem::missing(format!("there is no file {id}")))
    }

    /// A file that is open; it is opened if it is not. Blocks.
    pub(crate) fn open(&self, program: &dyn Program, id: u64) -> Result<Arc<Source>, Problem> {
        let entry = self.entry(id)?;
        entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let mut slot = entry.source.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = slot.get_or_insert_with(|| Source::open(program, &entry.path).map(Arc::new));
        opened.clone()
    }

    /// A file for a moment: one that is not open is not kept, so that what is looked at stays. Blocks.
    pub(crate) fn glance(&self, program: &dyn Program, id: u64) -> Result<Arc<Source>, Problem> {
        let entry = self.entry(id)?;
        let slot = entry.source.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some(opened) => opened.clone(),
            None => Source::open(program, &entry.path).map(Arc::new),
        }
    }

    /// The small picture of a file, made once.
    pub(crate) fn thumb(
        &self,
        id: u64,
        make: impl FnOnce() -> Result<Vec<u8>, Problem>,
    ) -> Result<Vec<u8>, Problem> {
        let entry = self.entry(id)?;
        if let Some(thumb) = entry.thumb.get() {
            return Ok(thumb.clone());
        }
        let thumb = make()?;
        Ok(entry.thumb.get_or_init(|| thumb).clone())
    }

    /// Bytes of all files that are open, and of the largest.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let sizes: Vec<u64> =
            self.entries().iter().filter_map(|entry| Some(entry.opened()?.bytes())).collect();
        (sizes.iter().sum(), sizes.iter().copied().max().unwrap_or(0))
    }

    /// Closes files that were not asked for in the longest time, all but `most` of them.
    pub(crate) fn shrink(&self, most: usize) {
        let mut open: Vec<_> = self.entries().into_iter().filter(|entry| entry.opened().is_some()).collect();
        open.sort_by_key(|entry| std::cmp::Reverse(entry.used.load(Ordering::Relaxed)));
        for entry in open.iter().skip(most) {
            *entry.source.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Forgets a file.
    pub(crate) fn close(&self, id: u64) -> Result<(), Problem> {
        let entry = self.entry(id)?;
        self.all().retain(|other| other.id != id);
        let temporary = self.temporary.lock().unwrap_or_else(PoisonError::into_inner);
        if temporary.as_ref().is_some_and(|folder| entry.path.starts_with(folder)) {
            // It goes with the session otherwise.
            let _ = fs::remove_file(&entry.path);
        }
        Ok(())
    }

    /// A place for an upload of this name; [`uploaded`](Self::uploaded) makes a file of it.
    pub(crate) fn place_for(&self, name: &str) -> Result<PathBuf, Problem> {
        let name = plain_name(name)?;
        let mut temporary = self.temporary.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match &*temporary {
            Some(folder) => folder.clone(),
            None => temporary.insert(private_folder()?).clone(),
        };
        // Of its own, so that two of a name do not meet.
        let place = folder.join(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        fs::create_dir(&place)?;
        Ok(place.join(name))
    }

    /// An upload is complete.
    pub(crate) fn uploaded(&self, path: PathBuf) -> Arc<Entry> {
        self.add(path)
    }

    /// The folder of exports.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a file below the folder of exports.
    pub fn output(&self, name: &str) -> Result<PathBuf, Problem> {
        let refused = |why: &str| {
            Problem::new(Kind::Forbidden, format!("{name:?}: {why}"))
                .hint("files are written below the folder of exports only")
        };
        let path = Path::new(name);
        let normal = |c: Component<'_>| match c {
            Component::Normal(c) => !c.as_encoded_bytes().starts_with(b"."),
            _ => false,
        };
        if name.is_empty() || name.contains(['\0', '\\']) || !path.components().all(normal) {
            return Err(refused("is not the name of a file in the folder of exports"));
        }
        let (Some(parent), Some(file)) = (path.parent(), path.file_name()) else {
            return Err(refused("is not the name of a file"));
        };
        let folder = self.folder.join(parent);
        let folder = folder.canonicalize().map_err(|_| refused("there is no such folder"))?;
        if !folder.starts_with(&self.folder) {
            return Err(refused("leads out of the folder of exports"));
        }
        let output = folder.join(file);
        match fs::symlink_metadata(&output) {
            Ok(found) if !found.is_file() => Err(refused("is a link, or no file")),
            _ => Ok(output),
        }
    }

    /// A file below the folder of exports that is there, by its path or name.
    pub(crate) fn in_folder(&self, path: &str) -> Result<PathBuf, Problem> {
        let path = Path::new(path);
        let relative = path.strip_prefix(&self.folder).unwrap_or(path);
        let found = self.output(&relative.to_string_lossy())?;
        if found.is_file() {
            Ok(found)
        } else {
            Err(Problem::missing(format!("there is no file {}", path.display())))
        }
    }
}

impl Library {
    /// Removes all uploads. At the end, even if somebody still works with one.
    pub(crate) fn remove_uploads(&self) {
        if let Some(folder) = self.temporary.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        self.remove_uploads();
    }
}

impl Entry {
    /// What is open of it.
    fn opened(&self) -> Option<Arc<Source>> {
        // Who opens it holds the lock for long; it is not open then.
        let slot = self.source.try_lock().ok()?;
        slot.as_ref().and_then(|opened| opened.as_ref().ok().cloned())
    }

    /// Where exports of it go, below the folder.
    pub(crate) fn output_name(&self) -> String {
        let path = Path::new(&self.name);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        match path.extension() {
            Some(extension) => format!("{stem}.quell.{}", extension.to_string_lossy()),
            None => format!("{stem}.quell"),
        }
    }

    /// What the page is told of it.
    pub(crate) fn describe(&self) -> Value {
        let clip = VideoKind::of_file(&self.path).is_some();
        let mut file = json!({
            "id": self.id.to_string(),
            "name": self.name,
            "path": self.path.display().to_string(),
            "kind": if clip { "clip" } else { "picture" },
            "error": null,
            "hint": null,
        });
        let failed = match self.source.try_lock() {
            Ok(slot) => slot.as_ref().and_then(|opened| opened.as_ref().err().cloned()),
            Err(_) => None,
        };
        if let Some(problem) = failed {
            file["error"] = problem.error.into();
            file["hint"] = problem.hint.into();
        }
        if let (Some(source), Some(to)) = (self.opened(), file.as_object_mut())
            && let Ok(Value::Object(known)) = source.describe()
        {
            to.extend(known);
        }
        file
    }
}

/// The last part of a name, without what would hide it or mean something to a shell or terminal.
fn plain_name(name: &str) -> Result<String, Problem> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    let plain = plain.trim().trim_start_matches('.').to_owned();
    if plain.is_empty() { Err(Problem::new(Kind::Request, "the file has no name")) } else { Ok(plain) }
}

/// A new folder that nobody else may look into.
fn private_folder() -> Result<PathBuf, Problem> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|e| Problem::new(Kind::Failed, e.to_string()))?;
    let path = std::env::temp_dir().join(format!("quell-studio-{:016x}", u64::from_le_bytes(bytes)));
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&path)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_stay_below_the_folder() {
        let root = private_folder().unwrap();
        let folder = root.join("out");
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(root.join("secret.png"), "x").unwrap();
        let library = Library::new(Vec::new(), &folder).unwrap();
        assert!(library.output("a.png").unwrap().ends_with("out/a.png"));
        assert!(library.output("sub/a.png").is_ok());
        for bad in [
            "",
            "..",
            "../a.png",
            "sub/../../a.png",
            "/etc/passwd",
            "none/a.png",
            ".hidden",
            "a\\b.png",
            "sub",
        ] {
            assert!(library.output(bad).is_err(), "{bad}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&root, folder.join("up")).unwrap();
            std::os::unix::fs::symlink(root.join("secret.png"), folder.join("link.png")).unwrap();
            assert!(library.output("up/a.png").is_err());
            assert!(library.output("link.png").is_err());
            assert!(library.in_folder("link.png").is_err());
        }
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn uploads_have_plain_names_and_go_with_the_session() {
        for (name, plain) in [
            ("a.png", "a.png"),
            ("../../etc/passwd", "passwd"),
            ("C:\\x\\b.tif", "b.tif"),
            ("..c\n.png", "c.png"),
        ] {
            assert_eq!(plain_name(name).unwrap(), plain);
        }
        assert!(plain_name("/").is_err() && plain_name("..").is_err());
        let root = private_folder().unwrap();
        let library = Library::new(Vec::new(), &root).unwrap();
        let place = library.place_for("a.png").unwrap();
        fs::write(&place, "x").unwrap();
        drop(library);
        assert!(!place.exists());
        fs::remove_dir_all(root).unwrap();
    }
}
