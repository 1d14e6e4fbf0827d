//! Files, folders and patterns on the command line become a list of files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use quell_io::Format;
use quell_io::video::VideoKind;
use walkdir::WalkDir;

use crate::failure::Failure;
use crate::report::{count, name};

/// One input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The file.
    pub(crate) path: PathBuf,
    /// Where it goes under an output folder: its place in the folder that was given, or just its name.
    pub(crate) place: PathBuf,
    /// It was found in a folder or by a pattern, not named.
    pub(crate) found: bool,
}

/// All inputs in the order given; what cannot be listed is an error of its own and stops nothing else.
#[derive(Debug, Default)]
pub(crate) struct Expanded {
    /// The files, each once.
    pub(crate) sources: Vec<Source>,
    /// What could not be listed.
    pub(crate) errors: Vec<anyhow::Error>,
    /// Whether a folder was among the inputs.
    pub(crate) folders: bool,
    /// What was left out.
    pub(crate) notes: Vec<String>,
}

/// Expands folders (files with the extension of a picture or `.y4m`, sorted, without hidden ones) and the patterns that the
/// shell left alone. A file that does not exist stays in the list: reading it will say so.
pub(crate) fn expand(inputs: &[PathBuf], recursive: bool) -> Expanded {
    let mut all = Expanded::default();
    for input in inputs {
        if let Err(e) = add(&mut all, input, recursive, false) {
            all.errors.push(e);
        }
    }
    let mut seen = HashSet::new();
    all.sources.retain(|s| seen.insert(identity(&s.path)));
    all
}

fn add(all: &mut Expanded, input: &Path, recursive: bool, found: bool) -> anyhow::Result<()> {
    if input.is_dir() {
        all.folders = true;
        return add_folder(all, input, recursive);
    }
    match input.to_str() {
        Some(text) if !input.exists() && text.contains(['*', '?', '[']) => add_pattern(all, text, recursive),
        _ => {
            let place = input.file_name().map_or_else(|| input.to_owned(), PathBuf::from);
            all.sources.push(Source { path: input.to_owned(), place, found });
            Ok(())
        }
    }
}

fn add_folder(all: &mut Expanded, folder: &Path, recursive: bool) -> anyhow::Result<()> {
    let depth = if recursive { usize::MAX } else { 1 };
    let hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
    let walk = WalkDir::new(folder).min_depth(1).max_depth(depth).follow_links(true).sort_by_file_name();
    let mut links = Links::new(folder);
    let mut left = LeftOut::default();
    let (mut any, mut failed) = (false, false);
    let mut walk = walk.into_iter();
    while let Some(entry) = walk.next() {
        match entry {
            Ok(e) if hidden(e.file_name()) => {
                if e.file_type().is_dir() {
                    walk.skip_current_dir();
                }
            }
            Ok(e) if e.file_type().is_dir() => {
                if recursive && e.path_is_symlink() && !links.follow(e.path()) {
                    walk.skip_current_dir();
                }
            }
            Ok(e) if e.file_type().is_file() && is_ours(e.path()) => {
                any = true;
                let place = e.path().strip_prefix(folder).unwrap_or(e.path()).to_owned();
                all.sources.push(Source { path: e.into_path(), place, found: true });
            }
            Ok(e) if e.file_type().is_file() => left.count(e.path()),
            Ok(_) => {}
            Err(e) if e.loop_ancestor().is_some() => links.circles.extend(e.path().map(name)),
            // A link to nothing is missed where it stands for a picture.
            Err(e) if e.path().is_some_and(|p| p.is_symlink() && !is_ours(p)) => {}
            Err(e) => {
                failed = true;
                all.errors.push(listing_error(folder, e));
            }
        }
    }
    if recursive {
        all.notes.extend(
            links.circles.iter().map(|at| format!("{at}: leads back to a folder above it, left out")),
        );
    }
    let folder = name(folder);
    if any {
        all.notes.extend(left.describe().map(|what| format!("{folder}: {what} left out, {}", left.remedy())));
    } else if let Some(what) = left.describe() {
        return Err(Failure::new(format!("{folder}: no pictures in this folder, but {what}"))
            .hint(left.remedy())
            .into());
    } else if !failed {
        let failure = Failure::new(format!("{folder}: no pictures in this folder"));
        let failure =
            if recursive { failure } else { failure.hint("--recursive looks into its folders too") };
        return Err(failure.into());
    }
    Ok(())
}

/// Which links to folders are followed, so that every folder is walked once.
struct Links {
    /// The folder that is walked, and those that links lead to.
    walked: Vec<PathBuf>,
    /// Links that lead back to a folder they are in.
    circles: Vec<String>,
}

impl Links {
    fn new(folder: &Path) -> Self {
        Self { walked: folder.canonicalize().into_iter().collect(), circles: Vec::new() }
    }

    /// Whether to go into the folder that a link leads to.
    fn follow(&mut self, link: &Path) -> bool {
        let Ok(to) = link.canonicalize() else { return false };
        let at = link.parent().and_then(|p| p.canonicalize().ok());
        if at.is_some_and(|at| at.starts_with(&to)) {
            self.circles.push(name(link));
            return false;
        }
        // What is inside a folder that is walked comes by itself, unless that is hidden.
        let comes = |walked: &PathBuf| {
            to.strip_prefix(walked).is_ok_and(|rest| {
                !rest.components().any(|c| c.as_os_str().as_encoded_bytes().starts_with(b"."))
            })
        };
        if self.walked.iter().any(comes) {
            return false;
        }
        self.walked.push(to);
        true
    }
}

/// Files of a folder that are no inputs, but may have been meant.
#[derive(Default)]
struct LeftOut {
    clips: usize,
    raw: usize,
    /// The extension of the first clip.
    extension: String,
}

impl LeftOut {
    fn count(&mut self, path: &Path) {
        if VideoKind::of_name(path) == Some(VideoKind::Container) {
            if self.clips == 0 {
                self.extension = path.extension().map(|e| name(Path::new(e))).unwrap_or_default();
            }
            self.clips += 1;
        } else if quell_io::is_raw(path) {
            self.raw += 1;
        }
    }

    /// `2 clips and 3 camera raw files`; nothing if there are none.
    fn describe(&self) -> Option<String> {
        let (clips, raw) = (count(self.clips, "clip"), count(self.raw, "camera raw file"));
        match (self.clips, self.raw) {
            (0, 0) => None,
            (_, 0) => Some(clips),
            (0, _) => Some(raw),
            _ => Some(format!("{clips} and {raw}")),
        }
    }

    fn remedy(&self) -> String {
        let clips = format!("clips are taken when they are named: '*.{}'", self.extension);
        let raw = "develop raw files to 16-bit TIFF first".to_owned();
        match (self.clips, self.raw) {
            (_, 0) => clips,
            (0, _) => raw,
            _ => format!("{clips}; {raw}"),
        }
    }
}

/// Other clips have to be named: between photographs they are seldom meant.
fn is_ours(path: &Path) -> bool {
    Format::from_path(path).is_some() || VideoKind::of_name(path) == Some(VideoKind::Y4m)
}

fn listing_error(folder: &Path, e: walkdir::Error) -> anyhow::Error {
    let path = name(e.path().unwrap_or(folder));
    match e.into_io_error() {
        Some(io) => anyhow::Error::new(io).context(path),
        None => Failure::new(format!("{path}: cannot be listed")).into(),
    }
}

fn add_pattern(all: &mut Expanded, pattern: &str, recursive: bool) -> anyhow::Result<()> {
    let matches = glob::glob(pattern).with_context(|| name(Path::new(pattern)))?;
    let mut any = false;
    for entry in matches {
        any = true;
        match entry {
            Ok(path) => add(all, &path, recursive, true)?,
            Err(e) => all.errors.push(anyhow::Error::new(e)),
        }
    }
    if any {
        Ok(())
    } else {
        Err(Failure::new(format!("{}: no file matches", name(Path::new(pattern)))).into())
    }
}

/// Tells whether two paths are the same file, also when it does not exist yet, and when a link leads to it.
pub(crate) fn identity(path: &Path) -> PathBuf {
    // As many links as the usual systems follow; one that leads to itself exists nowhere.
    follow(path, 40)
}

fn follow(path: &Path, links: usize) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(to) = path.read_link()
        && links > 0
    {
        return follow(&folder.join(to), links - 1);
    }
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
