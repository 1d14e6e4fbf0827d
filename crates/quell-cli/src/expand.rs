//! Files, folders and patterns on the command line become a list of files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use quell_io::Format;
use quell_io::video::VideoKind;
use walkdir::WalkDir;

use crate::failure::Failure;

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
    let before = all.sources.len();
    for entry in walk.into_iter().filter_entry(|e| e.depth() == 0 || !hidden(e.file_name())) {
        match entry {
            Ok(e) if e.file_type().is_file() && is_ours(e.path()) => {
                let place = e.path().strip_prefix(folder).unwrap_or(e.path()).to_owned();
                all.sources.push(Source { path: e.into_path(), place, found: true });
            }
            Ok(_) => {}
            Err(e) => all.errors.push(listing_error(folder, e)),
        }
    }
    if all.sources.len() == before && all.errors.is_empty() {
        let failure = Failure::new(format!("{}: no pictures in this folder", folder.display()));
        let failure =
            if recursive { failure } else { failure.hint("--recursive looks into its folders too") };
        return Err(failure.into());
    }
    Ok(())
}

/// Other clips have to be named: between photographs they are seldom meant.
fn is_ours(path: &Path) -> bool {
    Format::from_path(path).is_some() || VideoKind::of_name(path) == Some(VideoKind::Y4m)
}

fn listing_error(folder: &Path, e: walkdir::Error) -> anyhow::Error {
    let path = e.path().unwrap_or(folder).display().to_string();
    match e.into_io_error() {
        Some(io) => anyhow::Error::new(io).context(path),
        None => Failure::new(format!("{path}: a link that leads back to itself")).into(),
    }
}

fn add_pattern(all: &mut Expanded, pattern: &str, recursive: bool) -> anyhow::Result<()> {
    let matches = glob::glob(pattern).with_context(|| pattern.to_owned())?;
    let mut any = false;
    for entry in matches {
        any = true;
        match entry {
            Ok(path) => add(all, &path, recursive, true)?,
            Err(e) => all.errors.push(anyhow::Error::new(e)),
        }
    }
    if any { Ok(()) } else { Err(Failure::new(format!("{pattern}: no file matches")).into()) }
}

/// Tells whether two paths are the same file, also when it does not exist yet.
pub(crate) fn identity(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
