//! `quell studio`: the window in the browser, over what the command line can do.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use quell::device::{self, Backend};
use quell::noise::Model;
use quell::{Cancel, Denoiser, Frame, Plane};
use quell_io::Picture;
use quell_io::bands::BandReader;
use quell_io::video::VideoKind;
use quell_studio::{Export, Kind, Opened, Options, Problem, Program};

use crate::args::{self, DenoiseArgs, StudioArgs};
use crate::engine::Engine;
use crate::expand::expand;
use crate::failure::{self, Exit, Failure};
use crate::level::{self, Level};
use crate::progress::Bars;
use crate::reading::Reader;
use crate::report;
use crate::{denoise, large};

/// Runs the command.
pub(crate) fn run(args: &StudioArgs, cancel: &Cancel) -> anyhow::Result<Exit> {
    let expanded = expand(&args.inputs, args.recursive);
    expanded.notes.iter().for_each(|note| report::message(&format!("note: {note}")));
    for error in &expanded.errors {
        report::error(&failure::message(error), failure::hint(error).as_deref());
    }
    let there = |path: &PathBuf| path.exists() || VideoKind::of_name(path) == Some(VideoKind::Pictures);
    let named = expanded.sources.into_iter().map(|source| source.path);
    let (files, missing): (Vec<PathBuf>, Vec<PathBuf>) = named.partition(there);
    missing.iter().for_each(|path| report::error(&format!("{}: no such file", report::name(path)), None));
    if files.is_empty() && !args.inputs.is_empty() {
        return Ok(Exit::Failed);
    }
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from("."));
    let options = Options { files, folder, memory: args.memory.map(|mib| mib << 20) };
    let opened = |opened: &Opened| {
        // Nobody may read it: the browser is opened all the same.
        let _ = report::data(&opened.url);
        report::message(&format!("exports go to {}; Ctrl-C ends", report::name(&opened.folder)));
        if !args.no_browser {
            open_browser(&opened.url);
        }
    };
    match quell_studio::serve(options, Box::new(Cli::new()?), opened, cancel) {
        Ok(()) => Ok(Exit::Done),
        Err(problem) => Err(Failure::new(problem.error).hint(problem.hint.unwrap_or_default()).into()),
    }
}

/// Opens an address in the user's browser, if there is one.
fn open_browser(url: &str) {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/c", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // It may stay for as long as the browser does.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(_) => report::message("note: no browser could be opened: open the address above in one"),
    }
}

/// The command line, as the window needs it.
struct Cli {
    reader: Reader,
    /// Devices that were started, by their flag.
    devices: Mutex<HashMap<String, Arc<dyn Backend>>>,
}

impl Cli {
    fn new() -> anyhow::Result<Self> {
        let args = args::denoise_args(["-".into()])?;
        Ok(Self { reader: Reader::new(&args.reading), devices: Mutex::default() })
    }

    /// The device that flags name, started once.
    fn backend(&self, args: &DenoiseArgs) -> anyhow::Result<Arc<dyn Backend>> {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        let name = args.engine.device.to_string();
        if let Some(device) = devices.get(&name) {
            return Ok(device.clone());
        }
        let started: Arc<dyn Backend> = device::open(args.engine.device, args.engine.options)?.into();
        devices.insert(name, started.clone());
        Ok(started)
    }

    fn engine(&self, args: &DenoiseArgs) -> anyhow::Result<Engine> {
        Engine::check(&args.engine)?;
        Engine::on(&args.engine, self.backend(args)?)
    }
}

/// What the page is told of an error.
fn problem(error: &anyhow::Error) -> Problem {
    let kind = if failure::is_cancelled(error) { Kind::Cancelled } else { Kind::Sense };
    let mut problem = Problem::new(kind, failure::message(error));
    problem.hint = failure::hint(error);
    problem
}

impl Program for Cli {
    fn denoiser(&self, flags: &[String]) -> Result<Denoiser, Problem> {
        let words = ["-".to_owned()].into_iter().chain(flags.iter().cloned());
        let args = args::denoise_args(words.map(OsString::from)).map_err(|e| problem(&e.into()))?;
        self.engine(&args).map(Engine::into_denoiser).map_err(|e| problem(&e))
    }

    fn read(&self, path: &Path) -> Result<Picture, Problem> {
        failure::guard(|| Ok(self.reader.read(path)?.picture)).map_err(|e| problem(&e))
    }

    fn bands(&self, path: &Path) -> Option<BandReader> {
        self.reader.bands(path).filter(large::is_large)
    }

    fn some_rows(&self, reader: &mut BandReader) -> Result<(Frame, Option<Plane>), Problem> {
        large::sample(reader).map_err(|e| problem(&e))
    }

    fn export(
        &self,
        export: &Export,
        progress: Arc<dyn Fn(f64) + Send + Sync>,
        cancel: &Cancel,
    ) -> Result<String, Problem> {
        let files =
            [export.input.clone().into(), "-o".into(), export.output.clone().into(), "--quiet".into()];
        let words = files.into_iter().chain(export.flags.iter().map(OsString::from));
        let done = || -> anyhow::Result<Vec<String>> {
            let args = args::denoise_args(words)?;
            denoise::one(&args, self.engine(&args)?, &Bars::told(progress), cancel)
        };
        done().map(|lines| lines.join("\n")).map_err(|e| problem(&e))
    }

    fn another_address(&self, url: &str) {
        report::message(&format!("another window: {url}"));
    }

    fn describe(&self, noise: Option<&Model>, given: bool) -> String {
        level::describe(&[noise.map(|model| Level { model: model.clone(), given })], "")
    }
}
