//! `quell IN…`: every picture or clip read, filtered and written, one line each; a bad one does not stop the others.

use std::collections::HashSet;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use anyhow::Context;
use quell::isoline::Map;
use quell::{Cancel, Control, Error, device};
use quell_io::bands::BandWriter;
use quell_io::video::VideoKind;
use quell_io::{Format, Metadata, Page, SampleType, WriteOptions};

use crate::args::{DenoiseArgs, Given};
use crate::batch::{Batch, Done, Found, Made, Tally};
use crate::done::{self, Before, Records};
use crate::engine::Engine;
use crate::expand::expand;
use crate::failure::{self, EXTENSIONS, Exit, Failure};
use crate::job::{self, Job, Target};
use crate::large::Large;
use crate::level::Level;
use crate::nan;
use crate::order::in_order;
use crate::plans;
use crate::progress::{Bars, PictureBar};
use crate::range::Used;
use crate::reading::{Reader, Source, alpha};
use crate::report::{count, name};
use crate::video::{self, ClipOptions};

/// Runs the command.
pub(crate) fn run(args: &DenoiseArgs, cancel: &Cancel) -> anyhow::Result<Exit> {
    let expanded = expand(&args.inputs, args.recursive);
    if args.print_plan {
        let paths = expanded.sources.iter().map(|s| &*s.path);
        let reader = Reader::new(&args.reading);
        return plans::print(paths, &Engine::new(&args.engine)?, &reader, expanded.errors);
    }
    let target = match &args.output {
        Some(out) => Target::To(out.clone()),
        None if args.in_place => Target::InPlace,
        None => Target::Beside,
    };
    // What the command line gets wrong is said before a device is started.
    Engine::check(&args.engine)?;
    let records = Records::new(args);
    let before = |input: &Path, output: &Path| {
        if args.force { Before::Nothing } else { records.before(input, output) }
    };
    let jobs = job::plan(&expanded, &target, before)?;
    check_map(args, &jobs.list)?;
    check_region(args, &jobs.list)?;
    check_clips(args, &jobs.list)?;
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
        None => engine.backend().at_once(),
    };
    let mut work = Work::new(args, engine, &bars, cancel);
    work.create = jobs.folder.is_some();
    work.records = jobs.batch.then_some(records);
    let what = if jobs.list.iter().any(|j| j.clip) { "file" } else { "picture" };
    let mut batch = Batch { bars: &bars, quiet: args.quiet, json: args.json, what, tally: Tally::default() };
    expanded.notes.iter().for_each(|note| batch.say(&format!("note: {note}")));
    for error in expanded.errors {
        batch.fail(&error);
    }
    // What an earlier run left behind where nothing is to be written any more.
    let folders: HashSet<&Path> = jobs.list.iter().filter_map(|j| j.output.parent()).collect();
    folders
        .into_iter()
        .for_each(|f| quell_io::remove_stale(if f.as_os_str().is_empty() { ".".as_ref() } else { f }));
    let filter = |job: &Job| (!job.finished).then(|| failure::guard(|| work.filter(job)));
    in_order(&jobs.list, lanes.min(left), filter, |job, result| batch.take(job, result))?;
    bars.clear();
    if let Some(interrupted) = batch.tally.interrupted.take() {
        batch.say(&format!("interrupted, {} done", count(batch.tally.done, what)));
        return Err(interrupted);
    }
    if let Some(why) = work.unrecorded.get() {
        batch.say(&format!("note: {why}: the next run does these files again"));
    }
    Ok(batch.end(jobs.own))
}

/// One file into another, for who has an engine and wants to be told in other ways: with the same refusals. Gives the lines
/// that are said of it.
pub(crate) fn one(
    args: &DenoiseArgs,
    engine: Engine,
    bars: &Bars,
    cancel: &Cancel,
) -> anyhow::Result<Vec<String>> {
    let expanded = expand(&args.inputs, false);
    let target = args.output.clone().map_or(Target::Beside, Target::To);
    let jobs = job::plan(&expanded, &target, |_, _| Before::Nothing)?;
    check_region(args, &jobs.list)?;
    let job = jobs.list.first().context("there is nothing to do")?;
    let work = Work::new(args, engine, bars, cancel);
    let done = failure::guard(|| work.filter(job))?;
    Ok([vec![done.describe(job)], done.notes().to_vec()].concat())
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
    /// What is done is recorded here.
    records: Option<Records>,
    /// Why something could not be recorded.
    unrecorded: OnceLock<String>,
}

impl<'a> Work<'a> {
    /// As the flags say, on an engine that is there.
    fn new(args: &DenoiseArgs, engine: Engine, bars: &'a Bars, cancel: &Cancel) -> Self {
        let mut work = Self {
            reader: Reader::new(&args.reading),
            engine,
            writing: WriteOptions::default(),
            cancel: cancel.clone(),
            create: false,
            bars,
            quiet: args.quiet,
            clips: ClipOptions::default(),
            map: args.map,
            records: None,
            unrecorded: OnceLock::new(),
        };
        if let Some(quality) = args.jpeg_quality {
            work.writing.jpeg_quality = quality;
        }
        work.clips.set(args, &work.writing);
        work
    }

    /// Reads, filters, writes and records one picture or clip.
    fn filter(&self, job: &Job) -> anyhow::Result<Done> {
        // Before it is read: whatever changes it later makes it another one.
        let input = self.records.as_ref().and_then(|_| done::identity(&job.input));
        let made = self.make(job)?;
        if let (Some(records), Some(input)) = (&self.records, input)
            && let Err(e) = records.add(input, &job.output)
        {
            let folder = job.output.parent().unwrap_or(Path::new("."));
            let e = failure::message(&e.into());
            self.unrecorded.get_or_init(|| format!("cannot record what was done in {}: {e}", name(folder)));
        }
        Ok(made)
    }

    fn make(&self, job: &Job) -> anyhow::Result<Done> {
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled.into());
        }
        if job.clip {
            check_output(job, self.create)?;
            let clip = video::filter(job, &self.engine, &self.clips, self.bars, self.quiet, &self.cancel)?;
            return Ok(Done::Clip(Box::new(clip)));
        }
        self.picture(job).map(|found| Done::Picture(Box::new(found)))
    }

    fn picture(&self, job: &Job) -> anyhow::Result<Found> {
        let started = Instant::now();
        if let Some(large) = self.large(job)? {
            return self.in_bands(job, large, started);
        }
        let Source { mut picture, holes, changed } = self.reader.read(&job.input)?;
        check_output(job, self.create)?;
        let pixels = picture.pages.iter().map(|p| p.frame.width() * p.frame.height()).sum();
        let pages = picture.pages.len();
        let first = picture.pages.first().context("the file holds no picture")?;
        let shape = (first.frame.width(), first.frame.height(), first.frame.channels());
        let mut found = Found { notes: std::mem::take(&mut picture.notes), ..self.found(shape, pages) };
        let read = found.notes.len();
        let coarse = self.engine.coarse_noise(&first.frame, alpha(first).as_ref());
        let mut used = Used::new(first.frame.white());
        picture.pages.iter().for_each(|page| used.add(&page.frame.view()));
        found.notes.extend(used.note(true));
        found.notes.extend(self.engine.other_camera(&picture.metadata.camera()));
        let bar = self.bars.picture(&name(&job.input), pixels, pages);
        let mut levels = Vec::with_capacity(pages);
        for (i, page) in picture.pages.iter_mut().enumerate() {
            let level = match self.map {
                Some(map) => self.map_page(page, map),
                None => self.page(page, i, &bar),
            };
            levels.push(if pages == 1 {
                level?
            } else {
                level.with_context(|| format!("page {}", i + 1))?
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
        found.set_noise(levels);
        found.device = self.engine.device().name;
        found.notes.extend(coarse.and_then(|c| coarse_note(c, found.levels[0].as_ref())));
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled.into());
        }
        let clean = self.map.is_none() && found.sigmas.iter().all(Option::is_none);
        let cannot = || format!("cannot write {}", name(&job.output));
        if clean && !changed && Format::from_path(&job.output) == Some(picture.format) {
            quell_io::copy(&job.input, &job.output).with_context(cannot)?;
            found.made = if job.input == job.output { Made::Kept } else { Made::Copied };
            // What was to be said of reading does not concern a copy.
            found.notes.drain(..read);
        } else {
            let writing = WriteOptions { source: Some(job.input.clone()), ..self.writing.clone() };
            found.notes.extend(quell_io::write(&job.output, &picture, &writing).with_context(cannot)?);
            found.made = if clean { Made::Converted } else { Made::Filtered };
        }
        found.seconds = started.elapsed().as_secs_f64();
        Ok(found)
    }

    /// What is known of a picture before it is filtered.
    fn found(&self, (width, height, channels): (usize, usize, usize), pages: usize) -> Found {
        Found {
            width,
            height,
            channels,
            pages,
            sigma: None,
            noise: None,
            grain: None,
            sigmas: Vec::new(),
            levels: Vec::new(),
            estimated: self.engine.estimates(),
            method: self.engine.method().to_owned(),
            profile: self.engine.profile().to_owned(),
            device: String::new(),
            map: self.map.map(Map::name),
            made: Made::Filtered,
            seconds: 0.0,
            notes: Vec::new(),
        }
    }

    /// A picture that is to be filtered in bands of rows.
    fn large(&self, job: &Job) -> anyhow::Result<Option<Large>> {
        let Some(reader) = self.map.is_none().then(|| self.reader.bands(&job.input)).flatten() else {
            return Ok(None);
        };
        let large = Large::open(&self.engine, reader, self.reader.nan(), |reader| {
            let writing = WriteOptions { source: Some(job.input.clone()), ..self.writing.clone() };
            check_output(job, self.create)
                .map_or(Ok(None), |()| BandWriter::create(&job.output, reader, &writing))
        });
        large.with_context(|| format!("cannot write {}", name(&job.output)))
    }

    fn in_bands(&self, job: &Job, large: Large, started: Instant) -> anyhow::Result<Found> {
        let mut found = self.found(large.shape(), 1);
        let bar = self.bars.picture(&name(&job.input), found.width * found.height, 1);
        let mut control = Control::new().with_cancel(self.cancel.clone());
        if let Some(show) = bar.page(0) {
            control = control.with_progress(show);
        }
        let copy = || {
            let cannot = || format!("cannot write {}", name(&job.output));
            quell_io::copy(&job.input, &job.output).with_context(cannot)
        };
        let outcome = large.run(&self.engine, &control, Format::from_path(&job.output), copy)?;
        drop(bar);
        found.set_noise(vec![outcome.level]);
        found.made = outcome.made;
        if found.made == Made::Copied && job.input == job.output {
            found.made = Made::Kept;
        }
        found.notes = outcome.notes;
        found.notes.extend(outcome.used.note(true));
        found.notes.extend(outcome.coarse.and_then(|c| coarse_note(c, found.levels[0].as_ref())));
        found.device = self.engine.device().name;
        found.seconds = started.elapsed().as_secs_f64();
        Ok(found)
    }

    /// Filters one page in place and says which noise it had.
    fn page(&self, page: &mut Page, index: usize, bar: &PictureBar) -> quell::Result<Option<Level>> {
        let mut control = Control::new().with_cancel(self.cancel.clone());
        if let Some(show) = bar.page(index) {
            control = control.with_progress(show);
        }
        let resolved = self.engine.resolve(&page.frame, alpha(page).as_ref())?;
        let level = self.engine.noise(resolved.as_ref());
        if let Some(job) = resolved.filter(|_| level.is_some()) {
            page.frame = self.engine.denoiser().run_resolved(&page.frame, &job, &control)?;
        }
        Ok(level)
    }

    /// Puts a map in the place of a page and says which noise that had.
    fn map_page(&self, page: &mut Page, map: Map) -> quell::Result<Option<Level>> {
        let found = self.engine.denoiser().isoline_map(&page.frame, map)?;
        let level = self.engine.noise(Some(&found.resolved));
        *page = Page { frame: found.picture()?, alpha: None, samples: SampleType::U8 };
        Ok(level)
    }
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
        Some(clip) => Err(Failure::usage(format!("{flag} is for pictures; {} is a clip", name(&clip.input)))),
        None => Ok(()),
    }
}

/// Some flags are for clips alone.
fn check_clips(args: &DenoiseArgs, jobs: &[Job]) -> Result<(), Failure> {
    let flag = match (args.frames, args.compare, &args.grain_table) {
        (Some(_), ..) => "--frames",
        (None, true, _) => "--compare",
        (None, false, Some(_)) => "--grain-table",
        (None, false, None) => return Ok(()),
    };
    if args.grain_table.is_some() && jobs.len() > 1 {
        return Err(Failure::usage(format!("--grain-table: one table for {} clips", jobs.len()))
            .hint("filter them one by one"));
    }
    match jobs.iter().find(|j| !j.clip) {
        Some(picture) => {
            Err(Failure::usage(format!("{flag} is for clips; {} is a picture", name(&picture.input)))
                .hint("numbered pictures are a clip when they are named shot_%04d.png"))
        }
        None => Ok(()),
    }
}

/// A region is one of a picture, and of what is filtered.
fn check_region(args: &DenoiseArgs, jobs: &[Job]) -> Result<(), Failure> {
    if !matches!(args.engine.noise, Given::Region(_)) {
        return Ok(());
    }
    let hint =
        "quell noise IN --noise-from X,Y,W,H --save FILE measures it once; --noise-profile FILE uses it";
    if args.map.is_some() {
        return Err(Failure::usage("--noise-from X,Y,W,H is not for maps").hint(hint));
    }
    match jobs.iter().find(|j| j.clip) {
        Some(clip) => {
            let what = format!("--noise-from X,Y,W,H is for pictures; {} is a clip", name(&clip.input));
            Err(Failure::usage(what).hint(hint))
        }
        None => Ok(()),
    }
}

/// For noise that is far stronger at half the size, and not known to be a camera's: it is not white.
fn coarse_note(coarse: f32, found: Option<&Level>) -> Option<String> {
    if found.is_some_and(|level| level.grain().is_some()) {
        return None;
    }
    let sigma = found.map_or(0.0, Level::sigma);
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
            .with_context(|| format!("cannot create the folder {}", name(folder)))?;
    } else if !folder.is_dir() {
        return Err(Failure::new(format!("cannot write {}: no such folder", name(output))).into());
    }
    Ok(())
}
