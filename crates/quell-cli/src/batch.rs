//! What is said of the files of a batch, in the order of the inputs: a line for people, a record for `--json`.

use serde::Serialize;

use crate::failure::{self, Exit};
use crate::job::Job;
use crate::level::{self, Level};
use crate::progress::Bars;
use crate::report::{self, count, exact, name};
use crate::video::Clip;

/// What became of the pictures.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) done: usize,
    skipped: usize,
    failures: Vec<String>,
    pub(crate) interrupted: Option<anyhow::Error>,
    /// Why records are no longer written: nobody reads them, say.
    unheard: Option<anyhow::Error>,
}

/// What is said of the pictures, in the order of the inputs.
pub(crate) struct Batch<'a> {
    pub(crate) bars: &'a Bars,
    pub(crate) quiet: bool,
    pub(crate) json: bool,
    /// What the inputs are called.
    pub(crate) what: &'static str,
    pub(crate) tally: Tally,
}

/// What `--json` prints of a picture. Width, height and channels are those of its first page.
#[derive(Debug, Default, Serialize)]
struct Record {
    input: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_bytes: Option<String>,
    output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_bytes: Option<String>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    found: Option<Done>,
}

/// What is known of an input that is done.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Done {
    Picture(Box<Found>),
    Clip(Box<Clip>),
}

impl Done {
    /// The line for the user.
    pub(crate) fn describe(&self, job: &Job) -> String {
        match self {
            Self::Picture(found) => describe(job, found),
            Self::Clip(clip) => clip.describe(job),
        }
    }

    /// Remarks that were not said before.
    pub(crate) fn notes(&self) -> &[String] {
        match self {
            Self::Picture(found) => &found.notes,
            Self::Clip(clip) => &clip.notes[clip.said..],
        }
    }
}

/// What was found out about a picture.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) channels: usize,
    pub(crate) pages: usize,
    /// Noise of the first page on the 0..255 scale; nothing if there is none.
    pub(crate) sigma: Option<f32>,
    /// What that noise is, where it was estimated: `camera` or `white`.
    pub(crate) noise: Option<&'static str>,
    /// Size of a camera's grain in pixels.
    pub(crate) grain: Option<f32>,
    /// Noise of every page.
    pub(crate) sigmas: Vec<Option<f32>>,
    /// The same with all that is known of it.
    #[serde(skip)]
    pub(crate) levels: Vec<Option<Level>>,
    pub(crate) estimated: bool,
    pub(crate) method: String,
    pub(crate) profile: String,
    pub(crate) device: String,
    /// The map that was written instead of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) map: Option<&'static str>,
    pub(crate) made: Made,
    pub(crate) seconds: f64,
    pub(crate) notes: Vec<String>,
}

/// How an output came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Made {
    /// With less noise.
    Filtered,
    /// No noise was found, but it is stored otherwise than the input.
    Converted,
    /// No noise was found: byte by byte.
    Copied,
    /// No noise was found, and the output is the input.
    Kept,
}

impl Made {
    /// Behind `no noise found`.
    fn without_noise(self) -> &'static str {
        match self {
            Self::Filtered => "",
            Self::Converted => ", converted",
            Self::Copied => ", copied",
            Self::Kept => ", left as it is",
        }
    }
}

impl Found {
    /// Notes the noise of every page.
    pub(crate) fn set_noise(&mut self, levels: Vec<Option<Level>>) {
        let first = levels.first().and_then(Option::as_ref);
        self.sigma = first.map(Level::sigma);
        self.noise = first.and_then(Level::kind);
        self.grain = first.and_then(Level::grain);
        self.sigmas = levels.iter().map(|level| level.as_ref().map(Level::sigma)).collect();
        self.levels = levels;
    }
}

impl Batch<'_> {
    /// Reports one picture; no result: it was done before. An error here ends the batch.
    pub(crate) fn take(&mut self, job: &Job, result: Option<anyhow::Result<Done>>) -> anyhow::Result<()> {
        let ((input, input_bytes), (output, output_bytes)) = (exact(&job.input), exact(&job.output));
        let mut record = Record { input, input_bytes, output, output_bytes, ..Record::default() };
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
                if job.changed {
                    self.say(&report::note(&job.output, "was changed since quell made it, made again"));
                }
                for note in found.notes() {
                    self.say(&report::note(&job.input, note));
                }
                record.status = "done";
                record.found = Some(found);
            }
            Some(Err(e)) if failure::is_cancelled(&e) => {
                self.tally.interrupted.get_or_insert(e);
                return Ok(());
            }
            // The reader of standard output has seen enough.
            Some(Err(e)) if job.output.as_os_str() == "-" && failure::is_broken_pipe(&e) => {
                return Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe).into());
            }
            Some(Err(e)) => {
                record.status = "failed";
                record.error = Some(failure::message(&e));
                self.fail(&e.context(name(&job.input)));
            }
        }
        // Nobody may listen any more, but the files are still wanted.
        if self.json && self.tally.unheard.is_none() {
            self.tally.unheard = report::json(&record).err();
        }
        Ok(())
    }

    pub(crate) fn say(&self, line: &str) {
        if !self.quiet {
            self.bars.message(line);
        }
    }

    pub(crate) fn fail(&mut self, error: &anyhow::Error) {
        let what = failure::message(error);
        self.bars.message(&report::error_text(&what, failure::hint(error).as_deref()));
        self.tally.failures.push(what);
    }

    /// The end of a batch: what was left out and what went wrong, and how to exit.
    pub(crate) fn end(&self, own: usize) -> Exit {
        self.summary(own);
        if let Some(error) = &self.tally.unheard {
            let what = format!("records cannot be written to standard output: {}", failure::message(error));
            let hint =
                "the files were done without them; read standard output to its end, or leave out --json";
            self.bars.message(&report::error_text(&what, Some(hint)));
        }
        let all = self.tally.failures.is_empty() && self.tally.unheard.is_none();
        if all { Exit::Done } else { Exit::Failed }
    }

    fn summary(&self, own: usize) {
        if own > 0 {
            self.say(&format!("{} of quell left out", count(own, "result")));
        }
        let Tally { done, skipped, failures, .. } = &self.tally;
        if *skipped > 0 {
            let input = if *skipped == 1 { "input" } else { "inputs" };
            self.say(&format!(
                "{skipped} skipped: made before from the same {input} with the same settings, --force redoes"
            ));
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

/// `noisy.png: 512 x 512 grey, sigma 24.8 (estimated) -> noisy.quell.png, 0.21 s`.
fn describe(job: &Job, found: &Found) -> String {
    let pages = if found.pages > 1 { format!("{} pages, ", found.pages) } else { String::new() };
    format!(
        "{}: {pages}{}, {} -> {}, {}",
        name(&job.input),
        report::shape(found.width, found.height, found.channels),
        match found.map {
            Some(map) => format!("map of {map}"),
            None => level::describe(&found.levels, found.made.without_noise()),
        },
        name(&job.output),
        report::seconds(found.seconds)
    )
}
