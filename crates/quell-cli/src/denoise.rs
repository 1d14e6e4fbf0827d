//! `quell IN…`: every picture or clip read, filtered and written, one line each; a bad one does not stop the others.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use quell::isoline::Map;
use quell::{Cancel, Control, Error, Plane, PlaneView, device};
use quell_io::video::VideoKind;
use quell_io::{Format, Metadata, Page, SampleType, WriteOptions};
use serde::Serialize;

use crate::args::DenoiseArgs;
use crate::engine::Engine;
use crate::expand::expand;
use crate::failure::{self, EXTENSIONS, Exit, Failure};
use crate::job::{self, Job, Target};
use crate::nan;
use crate::order::in_order;
use crate::progress::{Bars, PictureBar};
use crate::range::Used;
use crate::reading::{Reader, Source};
use crate::report::{self, count, name};
use crate::video::{self, Clip, ClipOptions};

/// Runs the command.
pub(crate) fn run(args: &DenoiseArgs, cancel: &Cancel) -> anyhow::Result<Exit> {
    let expanded = expand(&args.inputs, args.recursive);
    let reader = Reader::new(&args.reading);
    if args.print_plan {
        let paths = expanded.sources.iter().map(|s| &*s.path);
        return print_plans(paths, &Engine::new(&args.engine)?, &reader, expanded.errors);
    }
    let target = match &args.output {
        Some(out) => Target::To(out.clone()),
        None if args.in_place => Target::InPlace,
        None => Target::Beside,
    };
    // What the command line gets wrong is said before a device is started.
    Engine::check(&args.engine)?;
    let jobs = job::plan(&expanded, &target, args.force)?;
    check_map(args, &jobs.list)?;
    if args.json && jobs.list.iter().any(|j| j.output.as_os_str() == "-") {
        return Err(Failure::usage("--json prints on standard output, where the clip goes").into());
    }
    let left = jobs.list.iter().filter(|j| !j.finished).count();
    let bars = Bars::new(left, args.quiet);
    if !args.quiet {
        let print = bars.printer();
        device::on_notice(move |line| print(&format!("note: {line}")));
    }
    let engine = Engine::new(&args.engine)?;
    let lanes = match args.jobs {
        Some(n) => n,
        // The device is not asked where the answer does not matter: it would be started.
        None if left < 2 => 1,
        None => engine.backend().lanes(),
    };
    let mut work = Work {
        reader,
        engine,
        writing: WriteOptions::default(),
        cancel: cancel.clone(),
        create: jobs.folder.is_some(),
        bars: &bars,
        quiet: args.quiet,
        clips: ClipOptions::default(),
        map: args.map,
    };
    if let Some(quality) = args.jpeg_quality {
        work.writing.jpeg_quality = quality;
    }
    work.clips.set(args, &work.writing);
    let what = if jobs.list.iter().any(|j| j.clip) { "file" } else { "picture" };
    let mut batch = Batch { bars: &bars, quiet: args.quiet, json: args.json, what, tally: Tally::default() };
    for error in expanded.errors {
        batch.fail(&error);
    }
    let filter = |job: &Job| (!job.finished).then(|| failure::guard(|| work.filter(job)));
    in_order(&jobs.list, lanes.min(left), filter, |job, result| batch.take(job, result))?;
    bars.clear();
    if let Some(interrupted) = batch.tally.interrupted.take() {
        batch.say(&format!("interrupted, {} done", count(batch.tally.done, what)));
        return Err(interrupted);
    }
    batch.summary(jobs.own);
    Ok(if batch.tally.failures.is_empty() { Exit::Done } else { Exit::Failed })
}

/// What became of the pictures.
#[derive(Debug, Default)]
struct Tally {
    done: usize,
    skipped: usize,
    failures: Vec<String>,
    interrupted: Option<anyhow::Error>,
}

/// What is said of the pictures, in the order of the inputs.
struct Batch<'a> {
    bars: &'a Bars,
    quiet: bool,
    json: bool,
    /// What the inputs are called.
    what: &'static str,
    tally: Tally,
}

/// What is done with every picture; several threads may do it.
struct Work<'a> {
    reader: Reader,
    engine: Engine,
    writing: WriteOptions,
    cancel: Cancel,
    /// Folders for the outputs are made.
    create: bool,
    bars: &'a Bars,
    quiet: bool,
    clips: ClipOptions,
    /// Written instead of the result.
    map: Option<Map>,
}

/// What `--json` prints of a picture. Width, height and channels are those of its first page.
#[derive(Debug, Default, Serialize)]
struct Record {
    input: String,
    output: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    found: Option<Done>,
}

/// What is known of an input that is done.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Done {
    Picture(Found),
    Clip(Box<Clip>),
}

impl Done {
    /// The line for the user.
    fn describe(&self, job: &Job) -> String {
        match self {
            Self::Picture(found) => describe(job, found),
            Self::Clip(clip) => clip.describe(job),
        }
    }

    /// Remarks that were not said before.
    fn notes(&self) -> &[String] {
        match self {
            Self::Picture(found) => &found.notes,
            Self::Clip(clip) => &clip.notes[clip.said..],
        }
    }
}

/// What was found out about a picture.
#[derive(Debug, Serialize)]
struct Found {
    width: usize,
    height: usize,
    channels: usize,
    pages: usize,
    /// Noise of the first page on the 0..255 scale; nothing if there is none.
    sigma: Option<f32>,
    /// Noise of every page.
    sigmas: Vec<Option<f32>>,
    estimated: bool,
    method: String,
    profile: String,
    device: String,
    /// The map that was written instead of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    map: Option<&'static str>,
    seconds: f64,
    notes: Vec<String>,
}

impl Batch<'_> {
    /// Reports one picture; no result: it was done before. An error here ends the batch.
    fn take(&mut self, job: &Job, result: Option<anyhow::Result<Done>>) -> anyhow::Result<()> {
        let mut record = Record { input: name(&job.input), output: name(&job.output), ..Record::default() };
        match result {
            // Pictures behind the interrupted one may be done, if several were in work: they are reported.
            None if self.tally.interrupted.is_some() => return Ok(()),
            None => {
                self.tally.skipped += 1;
                record.status = "skipped";
            }
            Some(Ok(found)) => {
                self.tally.done += 1;
                self.say(&found.describe(job));
                for note in found.notes() {
                    self.say(&format!("note: {}: {note}", job.input.display()));
                }
                record.status = "done";
                record.found = Some(found);
            }
            Some(Err(e)) if failure::is_cancelled(&e) => {
                self.tally.interrupted.get_or_insert(e);
                return Ok(());
            }
            // The reader of standard output has seen enough.
            Some(Err(e)) if job.output.as_os_str() == "-" && failure::is_broken_pipe(&e) => return Err(e),
            Some(Err(e)) => {
                record.status = "failed";
                record.error = Some(failure::message(&e));
                self.fail(&e.context(name(&job.input)));
            }
        }
        if self.json { report::json(&record) } else { Ok(()) }
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            self.bars.message(line);
        }
    }

    fn fail(&mut self, error: &anyhow::Error) {
        let what = failure::message(error);
        self.bars.message(&report::error_text(&what, failure::hint(error).as_deref()));
        self.tally.failures.push(what);
    }

    /// The end of a batch: what was left out and what went wrong.
    fn summary(&self, own: usize) {
        if own > 0 {
            self.say(&format!("{} of quell left out", count(own, "result")));
        }
        let Tally { done, skipped, failures, .. } = &self.tally;
        if *skipped > 0 {
            let (output, input) =
                if *skipped == 1 { ("output is", "input") } else { ("outputs are", "inputs") };
            self.say(&format!("{skipped} skipped: {output} newer than {input}, --force redoes"));
        }
        let all = done + skipped + failures.len();
        if all < 2 {
            return;
        }
        if failures.is_empty() && *done == 0 {
            return;
        }
        if failures.is_empty() {
            self.say(&format!("{} done", count(*done, self.what)));
            return;
        }
        self.bars.message(&format!("{} of {} failed:", failures.len(), count(all, self.what)));
        for failure in failures {
            self.bars.message(&format!("  {failure}"));
        }
    }
}

impl Work<'_> {
    /// Reads, filters and writes one picture or clip.
    fn filter(&self, job: &Job) -> anyhow::Result<Done> {
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled.into());
        }
        if job.clip {
            check_output(job, self.create)?;
            let clip = video::filter(job, &self.engine, &self.clips, self.bars, self.quiet, &self.cancel)?;
            return Ok(Done::Clip(Box::new(clip)));
        }
        self.picture(job).map(Done::Picture)
    }

    fn picture(&self, job: &Job) -> anyhow::Result<Found> {
        let started = Instant::now();
        let Source { mut picture, holes } = self.reader.read(&job.input)?;
        check_output(job, self.create)?;
        let pixels = picture.pages.iter().map(|p| p.frame.width() * p.frame.height()).sum();
        let pages = picture.pages.len();
        let first = picture.pages.first().context("the file holds no picture")?;
        let mut found = Found {
            width: first.frame.width(),
            height: first.frame.height(),
            channels: first.frame.channels(),
            pages,
            sigma: None,
            sigmas: Vec::with_capacity(pages),
            estimated: self.engine.estimates(),
            method: self.engine.method().to_owned(),
            profile: self.engine.profile().to_owned(),
            device: String::new(),
            map: self.map.map(Map::name),
            seconds: 0.0,
            notes: std::mem::take(&mut picture.notes),
        };
        let coarse = self.engine.coarse_noise(&first.frame, alpha(first).as_ref());
        let mut used = Used::new(first.frame.white());
        picture.pages.iter().for_each(|page| used.add(&page.frame.view()));
        found.notes.extend(used.note(true));
        let bar = self.bars.picture(&name(&job.input), pixels, pages);
        for (i, page) in picture.pages.iter_mut().enumerate() {
            let sigma = match self.map {
                Some(map) => self.map_page(page, map),
                None => self.page(page, i, &bar),
            };
            found.sigmas.push(if pages == 1 {
                sigma?
            } else {
                sigma.with_context(|| format!("page {}", i + 1))?
            });
            if self.map.is_none() {
                nan::restore(&mut page.frame, &holes[i]);
            }
        }
        if self.map.is_some() {
            // Colours and remarks of the picture are not the map's; which way up it is shown is.
            picture.metadata = Metadata { exif: picture.metadata.exif.take(), ..Metadata::default() };
        }
        drop(bar);
        found.sigma = found.sigmas[0];
        found.device = self.engine.device().name;
        found.notes.extend(coarse.and_then(|c| coarse_note(c, found.sigma.unwrap_or(0.0))));
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled.into());
        }
        let remarks = quell_io::write(&job.output, &picture, &self.writing)
            .with_context(|| format!("cannot write {}", job.output.display()))?;
        found.notes.extend(remarks);
        found.seconds = started.elapsed().as_secs_f64();
        Ok(found)
    }

    /// Filters one page in place and says which noise it had.
    fn page(&self, page: &mut Page, index: usize, bar: &PictureBar) -> quell::Result<Option<f32>> {
        let mut control = Control::new().with_cancel(self.cancel.clone());
        if let Some(show) = bar.page(index) {
            control = control.with_progress(show);
        }
        let white = page.frame.white();
        let resolved = self.engine.denoiser(white)?.resolve_seen(&page.frame, alpha(page).as_ref())?;
        let sigma = self.engine.noise(resolved.as_ref(), white);
        if let Some(job) = resolved.filter(|_| sigma.is_some()) {
            page.frame = self.engine.denoiser(white)?.run_resolved(&page.frame, &job, &control)?;
        }
        Ok(sigma)
    }

    /// Puts a map in the place of a page and says which noise that had.
    fn map_page(&self, page: &mut Page, map: Map) -> quell::Result<Option<f32>> {
        let white = page.frame.white();
        let found = self.engine.denoiser(white)?.isoline_map(&page.frame, map)?;
        let sigma = self.engine.noise(Some(&found.resolved), white);
        *page = Page { frame: found.picture()?, alpha: None, samples: SampleType::U8 };
        Ok(sigma)
    }
}

/// Where a page is seen.
fn alpha(page: &Page) -> Option<PlaneView<'_>> {
    page.alpha.as_ref().map(Plane::view)
}

/// Maps are of isolines, and of pictures.
fn check_map(args: &DenoiseArgs, jobs: &[Job]) -> Result<(), Failure> {
    let Some(map) = args.map else { return Ok(()) };
    let flag = format!("--map {}", map.name());
    if args.engine.method != "isoline" {
        return Err(Failure::usage(format!("{flag} shows isolines; method {} has none", args.engine.method))
            .hint("add --method isoline"));
    }
    match jobs.iter().find(|j| j.clip) {
        Some(clip) => {
            Err(Failure::usage(format!("{flag} is for pictures; {} is a clip", clip.input.display())))
        }
        None => Ok(()),
    }
}

/// For noise that is far stronger at half the size: it is not white, as in photographs that went through JPEG.
fn coarse_note(coarse: f32, sigma: f32) -> Option<String> {
    let seen = coarse > 2.0 && coarse > 1.5 * sigma;
    seen.then(|| format!("sigma is {coarse:.1} at half the size: if noise is left, try --estimator coarse"))
}

/// What can be known to fail before the work is done.
fn check_output(job: &Job, create: bool) -> anyhow::Result<()> {
    let output = &*job.output;
    let kind = VideoKind::of_name(output);
    if kind == Some(VideoKind::Pipe) {
        return Ok(());
    }
    if Format::from_path(output).is_none() && kind.is_none() {
        return Err(Failure::new("the extension tells no picture format for the output")
            .hint(format!("name one with -o; known extensions: {EXTENSIONS}"))
            .into());
    }
    let folder = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if create {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    } else if !folder.is_dir() {
        return Err(Failure::new(format!("cannot write {}: no such folder", output.display())).into());
    }
    Ok(())
}

/// `noisy.png: 512 x 512 grey, sigma 24.8 (estimated) -> noisy.quell.png, 0.21 s`.
fn describe(job: &Job, found: &Found) -> String {
    let pages = if found.pages > 1 { format!("{} pages, ", found.pages) } else { String::new() };
    format!(
        "{}: {pages}{}, {} -> {}, {}",
        job.input.display(),
        report::shape(found.width, found.height, found.channels),
        match found.map {
            Some(map) => format!("map of {map}"),
            None => noise(&found.sigmas, found.estimated),
        },
        job.output.display(),
        report::seconds(found.seconds)
    )
}

/// `sigma 24.8 (estimated)`, over several pages `sigma 24.1 to 25.3 (estimated)`.
fn noise(sigmas: &[Option<f32>], estimated: bool) -> String {
    let known = || sigmas.iter().flatten().copied();
    let how = if estimated { " (estimated)" } else { "" };
    let (low, high) = (known().fold(f32::MAX, f32::min), known().fold(0.0, f32::max));
    match known().count() {
        0 => "no noise found, copied".to_owned(),
        n => {
            let (low, high) = (report::short(low), report::short(high));
            let range = if low == high { low } else { format!("{low} to {high}") };
            let clean = sigmas.len() - n;
            let rest = if clean > 0 {
                format!(", {} without noise copied", count(clean, "page"))
            } else {
                String::new()
            };
            format!("sigma {range}{how}{rest}")
        }
    }
}

/// `--print-plan`: the parameters of each picture as TOML, in a form that `--params` reads.
fn print_plans<'a>(
    paths: impl Iterator<Item = &'a Path>,
    engine: &Engine,
    reader: &Reader,
    errors: Vec<anyhow::Error>,
) -> anyhow::Result<Exit> {
    let mut exit = Exit::Done;
    let mut fail = |e: &anyhow::Error| {
        report::error(&failure::message(e), failure::hint(e).as_deref());
        exit = Exit::Failed;
    };
    errors.iter().for_each(&mut fail);
    for path in paths {
        match plans(path, engine, reader) {
            Ok(text) => report::data(&text)?,
            Err(e) => fail(&e.context(name(path))),
        }
    }
    Ok(exit)
}

fn plans(path: &Path, engine: &Engine, reader: &Reader) -> anyhow::Result<String> {
    if VideoKind::of_file(path).is_some() {
        anyhow::bail!("is a clip; --print-plan is for pictures");
    }
    let source = reader.read(path)?;
    let estimated = engine.estimates();
    let mut text = String::new();
    for (i, page) in source.picture.pages.iter().enumerate() {
        let frame = &page.frame;
        let resolved = engine.denoiser(frame.white())?.resolve_seen(frame, alpha(page).as_ref())?;
        let sigma = engine.noise(resolved.as_ref(), frame.white());
        let page = if source.picture.pages.len() > 1 { format!(", page {}", i + 1) } else { String::new() };
        let shape = report::shape(frame.width(), frame.height(), frame.channels());
        text += &format!("# {}{page}: {shape}, {}\n", path.display(), noise(&[sigma], estimated));
        if let Some(r) = resolved.filter(|_| sigma.is_some()) {
            text += &format!(
                "# method {}, profile {}, device {}\n",
                engine.method(),
                engine.profile(),
                engine.device().name
            );
            text += &format!(
                "# filtered for sigma {:.2}, {} pixels around each tile\n",
                r.sigma255,
                r.job.halo()
            );
            text += &r.job.to_toml();
        }
    }
    Ok(text)
}
