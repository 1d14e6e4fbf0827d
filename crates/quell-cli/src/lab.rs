//! `quell lab`: the papers' experiments.

use std::io::IsTerminal;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use quell::{Cancel, Device, device};
use quell_lab::{Axis, Catalogue, Experiment, Material, Options, Section, Sweep, Watch};
use serde::Serialize;

use crate::args::{LabArgs, LabRun};
use crate::failure::{Exit, Failure};
use crate::report::{self, count, name};
use crate::table::{Cell, Style, Table};

/// Runs the command.
pub(crate) fn run(args: &LabArgs, cancel: &Cancel) -> anyhow::Result<Exit> {
    match args {
        LabArgs::List(style) => list(*style),
        LabArgs::Run { names, common } => {
            let catalogue = Catalogue::new();
            let chosen = catalogue.select(names).map_err(usage)?;
            let (_, sections) = measure(&chosen, common, cancel)?;
            let absent = sections.iter().filter(|s| s.rows == 0).count();
            if absent > 0 && !common.quiet {
                report::message(&format!(
                    "note: {} could not be run with these pictures",
                    count(absent, "experiment")
                ));
            }
            Ok(Exit::Done)
        }
        LabArgs::Sweep { method, profile, axes, random, sigma, rgb, budget, save, common } => {
            let axes = axes.iter().map(|a| a.parse::<Axis>()).collect::<Result<_, _>>().map_err(usage)?;
            let (profile, random) = (profile.clone(), *random);
            let sweep = Sweep { method: method.clone(), profile, axes, random, sigma: *sigma, colors: *rgb };
            let experiment = sweep.experiment().map_err(usage)?;
            let (measured, _) = measure(&[&experiment], common, cancel)?;
            let budget = budget.map(f64::from);
            let Some((best, text)) = sweep.best(&measured, budget) else {
                let what = budget
                    .map_or("nothing could be measured".into(), |ms| format!("nothing is done in {ms} ms"));
                return Err(Failure::usage(what)
                    .hint("the report has all points: raise --budget, or sweep faster settings")
                    .into());
            };
            if let Some(path) = save {
                quell_io::save(path, text.as_bytes())
                    .with_context(|| format!("cannot write {}", name(path)))?;
            }
            let settings: Vec<String> = best.settings.iter().map(|(n, v)| format!("{n}={v}")).collect();
            report::data(&format!("{:.2} dB, {:.1} ms: {}", best.psnr, best.ms, settings.join(" ")))?;
            Ok(Exit::Done)
        }
    }
}

fn usage(e: quell_lab::Error) -> anyhow::Error {
    Failure::usage(e.to_string()).into()
}

/// An experiment as `--json` has it.
#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    source: &'a str,
    question: &'a str,
}

fn list(style: Style) -> anyhow::Result<Exit> {
    let catalogue = Catalogue::new();
    let mut table = Table::new(&["name", "source", "question"]);
    for e in catalogue.all() {
        if style == Style::Json {
            report::json(&Listed { name: &e.name, source: &e.source, question: &e.question })?;
        } else {
            table.push([&e.name, &e.source, &e.question].map(|t| Cell::Text(t.clone())).to_vec());
        }
    }
    if style != Style::Json {
        table.print(style)?;
    }
    Ok(Exit::Done)
}

type Measured = Vec<(quell_lab::Case, quell_lab::Row)>;

fn measure(
    chosen: &[&Experiment],
    args: &LabRun,
    cancel: &Cancel,
) -> anyhow::Result<(Measured, Vec<Section>)> {
    let material = Material::new(&args.inputs, args.quick).map_err(usage)?;
    let devices = if args.devices.is_empty() { usable() } else { args.devices.clone() };
    let options = Options {
        folder: args.output.clone(),
        devices,
        quick: args.quick,
        fresh: args.fresh,
        cancel: cancel.clone(),
    };
    let progress = Bar::new(args.quiet);
    let measured = quell_lab::run(chosen, &material, &options, |watch| progress.show(&watch));
    progress.end();
    let measured = match measured {
        Err(quell_lab::Error::Quell(quell::Error::Cancelled)) => {
            report::message(&format!(
                "interrupted: the same command goes on, with what is in {}",
                name(&args.output)
            ));
            return Err(quell::Error::Cancelled.into());
        }
        other => other?,
    };
    let (path, sections) = quell_lab::report(chosen, &measured, &material, &options, &command())?;
    if !args.quiet {
        for s in &sections {
            report::message(&s.title);
        }
        report::message(&format!("{}: {}", count(measured.len(), "measurement"), name(&path)));
    }
    Ok((measured, sections))
}

/// The command line as it was typed, for the report.
fn command() -> String {
    let words = std::env::args().skip(1).map(|a| if a.contains(' ') { format!("'{a}'") } else { a });
    std::iter::once("quell".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Every device that can be used; the processor first, which all are compared with.
fn usable() -> Vec<Device> {
    let gpus = device::list().into_iter().filter(|d| d.kind != device::Kind::Cpu && d.usable());
    std::iter::once(Device::Cpu).chain(gpus.filter_map(|d| d.name.parse().ok())).collect()
}

/// A bar on a terminal; elsewhere a line for every experiment.
struct Bar {
    bar: Option<ProgressBar>,
    last: std::cell::RefCell<String>,
    quiet: bool,
}

impl Bar {
    fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}");
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { bar, last: Default::default(), quiet }
    }

    fn show(&self, watch: &Watch<'_>) {
        let left = watch.seconds_left.map(|s| format!(", {} left", report::seconds(s))).unwrap_or_default();
        if let Some(bar) = &self.bar {
            bar.set_length(watch.done.1 as u64);
            bar.set_position(watch.done.0 as u64);
            bar.set_message(format!("{}{left}", watch.now.experiment));
        } else if !self.quiet && *self.last.borrow() != watch.now.experiment {
            report::message(&format!("{}/{} {}{left}", watch.done.0, watch.done.1, watch.now.experiment));
        }
        self.last.replace(watch.now.experiment.clone());
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
