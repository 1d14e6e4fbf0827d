//! Flags of `quell lab`.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use quell::Device;

use super::values::{csv_switch, json_switch, many, on, one, option, parsed, positive, style, switch};
use crate::table::Style;

/// `quell lab …`.
#[derive(Clone, Debug)]
pub(crate) enum LabArgs {
    /// `quell lab list`
    List(Style),
    /// `quell lab run NAME…`
    Run {
        /// Experiments, papers, or `all`.
        names: Vec<String>,
        common: LabRun,
    },
    /// `quell lab sweep`
    Sweep {
        /// The name of the method, and of its profile.
        method: String,
        profile: Option<String>,
        /// `NAME=VALUES`.
        axes: Vec<String>,
        /// Some points of the grid, by chance.
        random: Option<usize>,
        sigma: f32,
        rgb: bool,
        /// Milliseconds that a picture may take.
        budget: Option<f32>,
        /// Where the best settings are written.
        save: Option<PathBuf>,
        common: LabRun,
    },
}

/// What both have in common.
#[derive(Clone, Debug)]
pub(crate) struct LabRun {
    /// Pictures and clips; without any, what quell ships and draws.
    pub(crate) inputs: Vec<PathBuf>,
    /// Where the report goes.
    pub(crate) output: PathBuf,
    /// What to measure on; without any, all that can be used.
    pub(crate) devices: Vec<Device>,
    /// Little of everything.
    pub(crate) quick: bool,
    /// Nothing is taken from an earlier run.
    pub(crate) fresh: bool,
    /// No progress.
    pub(crate) quiet: bool,
}

/// The command.
pub(super) fn define() -> Command {
    Command::new("lab")
        .about("Repeats the papers' experiments on this machine, with plots")
        .long_about(
            "Repeats the experiments of the papers behind quell on this machine, beside what they published, and writes a \
             report: one HTML page with plots and tables, and every number as CSV and JSON. A run that is interrupted goes on \
             where it stopped.",
        )
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands([
            Command::new("list").about("Names the experiments").args([json_switch(), csv_switch()]),
            Command::new("run")
                .about("Runs experiments and writes a report")
                .arg(
                    Arg::new("names")
                        .value_name("NAME")
                        .required(true)
                        .num_args(1..)
                        .help("Experiments, papers (thesis, honzatko, cuenat, perrot, goossens, quell), or all"),
                )
                .args(common()),
            Command::new("sweep")
                .about("Measures settings of a method, and finds the best for a given time")
                .args([
                    option("method", "NAME")
                        .value_parser(clap::builder::PossibleValuesParser::new(quell::Method::NAMES))
                        .default_value("bm3d")
                        .help("The method"),
                    option("profile", "NAME").help("The profile that settings are put over"),
                    option("param", "NAME=VALUES").action(clap::ArgAction::Append).required(true).help(
                        "A parameter and its values: hard.step=1..8, lambda=2.5..3.5:0.25, group=8,16,32; a name without \
                         its pass means both",
                    ),
                    option("random", "N").value_parser(value_parser!(u32).range(1..)).help("Only N points of the grid, by chance"),
                    option("sigma", "N").value_parser(positive).default_value("25").help("Noise on the 0..255 scale"),
                    switch("rgb").help("On colours"),
                    option("budget", "MS").value_parser(positive).help("The best in so many milliseconds a picture"),
                    Arg::new("save")
                        .long("save")
                        .value_name("FILE")
                        .value_parser(value_parser!(PathBuf))
                        .help("Write the best settings as a parameter file, for --params"),
                ])
                .args(common()),
        ])
}

fn common() -> [Arg; 6] {
    [
        option("input", "PATH")
            .value_parser(value_parser!(PathBuf))
            .action(clap::ArgAction::Append)
            .help("Pictures, folders, clips (.y4m), pairs (NAME_noisy, NAME_clean) [default: what quell ships and draws]"),
        option("output", "FOLDER")
            .short('o')
            .value_parser(value_parser!(PathBuf))
            .default_value("report")
            .help("Where the report goes"),
        option("device", "NAME,...")
            .value_parser(parsed::<Device>)
            .value_delimiter(',')
            .help("What to measure on [default: every device that can be used]"),
        switch("quick").help("Parts of few pictures: minutes instead of hours"),
        switch("fresh").help("Measure again what an earlier run into this folder measured"),
        switch("quiet").short('q').help("Say nothing while it works"),
    ]
}

impl LabRun {
    fn from_matches(m: &ArgMatches) -> Self {
        Self {
            inputs: many(m, "input"),
            output: one(m, "output").unwrap_or_default(),
            devices: many(m, "device"),
            quick: on(m, "quick"),
            fresh: on(m, "fresh"),
            quiet: on(m, "quiet"),
        }
    }
}

impl LabArgs {
    /// What was typed.
    pub(super) fn from_matches(m: &ArgMatches) -> Self {
        match m.subcommand() {
            Some(("run", m)) => Self::Run { names: many(m, "names"), common: LabRun::from_matches(m) },
            Some(("sweep", m)) => Self::Sweep {
                method: one(m, "method").unwrap_or_default(),
                profile: one(m, "profile"),
                axes: many(m, "param"),
                random: one::<u32>(m, "random").map(|n| n as usize),
                sigma: one(m, "sigma").unwrap_or(25.0),
                rgb: on(m, "rgb"),
                budget: one(m, "budget"),
                save: one(m, "save"),
                common: LabRun::from_matches(m),
            },
            other => Self::List(other.map_or(Style::Text, |(_, m)| style(m))),
        }
    }
}
