//! From inputs to jobs: where each result goes, and what need not be done. Everything that can be refused is
//! refused here, before any work.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use quell_io::Format;
use quell_io::video::VideoKind;

use crate::done::Before;
use crate::expand::{Expanded, Source, identity};
use crate::failure::{CLIPS, EXTENSIONS, Failure};
use crate::report::{self, count};

/// One picture or clip to filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// Read from here.
    pub(crate) input: PathBuf,
    /// Written here.
    pub(crate) output: PathBuf,
    /// The output is there, and made from this input with these settings.
    pub(crate) finished: bool,
    /// What is there was made by quell and changed by somebody since.
    pub(crate) changed: bool,
    /// It is a clip.
    pub(crate) clip: bool,
}

/// Where results go.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// `NAME.quell.EXT` beside the input.
    Beside,
    /// Over the input.
    InPlace,
    /// As `-o` says: a file or a folder.
    To(PathBuf),
}

/// What is to be done.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    /// In the order of the inputs.
    pub(crate) list: Vec<Job>,
    /// The folder to create first.
    pub(crate) folder: Option<PathBuf>,
    /// Inputs that were left out because they are results of quell.
    pub(crate) own: usize,
    /// There may be many: what was done before is left out, and what is done is recorded.
    pub(crate) batch: bool,
}

/// Plans the outputs. `before` tells what is known of an output; in a batch what is finished is not done again. One
/// input that was named is no batch: whoever names it wants it done.
pub(crate) fn plan(
    expanded: &Expanded,
    target: &Target,
    before: impl Fn(&Path, &Path) -> Before,
) -> Result<Jobs, Failure> {
    let (sources, own) = without_own_outputs(&expanded.sources, target);
    let mut jobs = Jobs { own, ..Jobs::default() };
    let place: Box<dyn Fn(&Source) -> PathBuf> = match target {
        Target::Beside => Box::new(|s| beside(&s.path)),
        Target::InPlace => Box::new(|s| s.path.clone()),
        Target::To(out) if is_folder(out, expanded, sources.len())? => {
            jobs.folder = Some(out.clone());
            Box::new(|s| out.join(&s.place))
        }
        Target::To(out) => {
            check_file(out)?;
            Box::new(|_| out.clone())
        }
    };
    let in_place = matches!(target, Target::InPlace);
    let many = expanded.sources.len() > 1 || expanded.sources.iter().any(|s| s.found);
    jobs.batch = many && !in_place && (jobs.folder.is_some() || matches!(target, Target::Beside));
    for source in &sources {
        let output = place(source);
        let pipe = is_pipe(&source.path) || is_pipe(&output);
        if in_place && pipe {
            return Err(Failure::usage("--in-place: standard input cannot be overwritten"));
        }
        let before = if jobs.batch && !pipe { before(&source.path, &output) } else { Before::Nothing };
        let clip = VideoKind::of_file(&source.path).is_some();
        check_kinds(&source.path, clip, &output)?;
        let (finished, changed) = (before == Before::Same, before == Before::Changed);
        jobs.list.push(Job { input: source.path.clone(), output, finished, changed, clip });
    }
    if !in_place {
        check_collisions(&jobs.list)?;
    }
    Ok(jobs)
}

/// Standard input or output.
fn is_pipe(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A clip does not become a picture, nor a picture a clip.
fn check_kinds(input: &Path, clip: bool, output: &Path) -> Result<(), Failure> {
    let (input, name) = (report::name(input), report::name(output));
    match (clip, VideoKind::of_name(output)) {
        (true, None) if Format::from_path(output).is_some() => {
            let (stem, extension) = (output.with_extension(""), output.extension().unwrap_or_default());
            let many = format!("{}_%04d.{}", report::name(&stem), report::name(Path::new(extension)));
            Err(Failure::usage(format!("{input} is a clip, and {name} is one picture"))
                .hint(format!("{many} writes a picture for every frame")))
        }
        (false, Some(VideoKind::Pipe)) => {
            Err(Failure::usage(format!("{input} is a picture; only clips can go to standard output")))
        }
        (false, Some(_)) => Err(Failure::usage(format!("{input} is a picture, and {name} is a clip"))
            .hint("a place for the number makes a clip of numbered pictures: frame_%04d.png")),
        _ => Ok(()),
    }
}

/// `a/noisy.png` to `a/noisy.quell.png`; what comes from standard input goes to standard output.
fn beside(input: &Path) -> PathBuf {
    if is_pipe(input) {
        return input.to_owned();
    }
    let mut name = OsString::from(input.file_stem().unwrap_or_default());
    name.push(".quell");
    if let Some(extension) = input.extension() {
        name.push(".");
        name.push(extension);
    }
    input.with_file_name(name)
}

/// Whether a name is one that [`beside`] makes.
fn is_own_output(path: &Path) -> bool {
    path.file_stem().is_some_and(|s| Path::new(s).extension().is_some_and(|e| e == "quell"))
}

/// Leaves out our own results: those found in folders, those in an output folder inside an input folder, and
/// those named beside the picture they come from (a shell expands `*.png` to both).
fn without_own_outputs(sources: &[Source], target: &Target) -> (Vec<Source>, usize) {
    let folder = match target {
        Target::To(out) if out.is_dir() => Some(identity(out)),
        _ => None,
    };
    let in_folder = |s: &Source| {
        let id = identity(&s.path);
        // Where input and output are the same folder, nothing is left out, but refused later.
        s.found && folder.as_ref().is_some_and(|f| id.starts_with(f) && id != f.join(&s.place))
    };
    let results: HashSet<PathBuf> = sources.iter().map(|s| identity(&beside(&s.path))).collect();
    let keep: Vec<Source> = sources
        .iter()
        .filter(|s| !(is_own_output(&s.path) && (s.found || results.contains(&identity(&s.path)))))
        .filter(|s| !in_folder(s))
        .cloned()
        .collect();
    let own = sources.len() - keep.len();
    (keep, own)
}

/// Whether `-o` means a folder.
fn is_folder(out: &Path, expanded: &Expanded, inputs: usize) -> Result<bool, Failure> {
    if is_pipe(out) {
        return match inputs {
            0 | 1 => Ok(false),
            n => Err(Failure::usage(format!("-o -: one stream for {}", count(n, "input")))),
        };
    }
    let slash = out.as_os_str().as_encoded_bytes().last().is_some_and(|b| matches!(b, b'/' | b'\\'));
    // The path of a file with a slash behind it does not exist: look without it.
    let exists = out.components().collect::<PathBuf>().exists();
    if out.is_dir() || (slash && !exists) {
        return Ok(true);
    }
    if inputs <= 1 && !expanded.folders && !slash {
        return Ok(false);
    }
    let name = report::name(out);
    if exists {
        return Err(Failure::usage(format!("-o {name}: is a file, but a folder is needed"))
            .hint("name a folder for several inputs"));
    }
    if Format::from_path(out).is_some() || VideoKind::of_name(out).is_some() {
        return Err(Failure::usage(format!("-o {name}: one file for {}", count(inputs, "input")))
            .hint(format!("to name a folder, end it with a slash: {name}/")));
    }
    Ok(true)
}

fn check_file(out: &Path) -> Result<(), Failure> {
    if Format::from_path(out).is_none() && VideoKind::of_name(out).is_none() {
        return Err(Failure::usage(format!(
            "-o {}: the extension tells no picture format",
            report::name(out)
        ))
        .hint(format!("known extensions: {EXTENSIONS}; {CLIPS}; a folder ends in a slash")));
    }
    Ok(())
}

/// No output may be an input, nor the output of another input.
fn check_collisions(jobs: &[Job]) -> Result<(), Failure> {
    let inputs: HashMap<PathBuf, &Path> = jobs.iter().map(|j| (identity(&j.input), &*j.input)).collect();
    let mut outputs: HashMap<PathBuf, &Path> = HashMap::new();
    for job in jobs.iter().filter(|j| !is_pipe(&j.output)) {
        let id = identity(&job.output);
        let output = report::name(&job.output);
        if let Some(input) = inputs.get(&id) {
            return Err(Failure::usage(format!(
                "{output} would overwrite the input {}",
                report::name(input)
            ))
            .hint("name another output with -o, or say --in-place"));
        }
        if let Some(other) = outputs.insert(id, &job.input) {
            return Err(Failure::usage(format!(
                "{} and {} would both be written to {output}",
                report::name(other),
                report::name(&job.input)
            ))
            .hint("give each its own output folder"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_stand_beside_their_inputs() {
        assert_eq!(beside(Path::new("a/b.c.png")), Path::new("a/b.c.quell.png"));
        assert_eq!(beside(Path::new("noisy")), Path::new("noisy.quell"));
        assert_eq!(beside(Path::new("a/f_%04d.png")), Path::new("a/f_%04d.quell.png"));
        assert_eq!(beside(Path::new("-")), Path::new("-"));
    }

    #[test]
    fn own_outputs_are_known_by_name() {
        assert!(is_own_output(Path::new("a/b.quell.png")));
        assert!(!is_own_output(Path::new("a/quell.png")));
        assert!(!is_own_output(Path::new("a/b.png")));
    }
}
