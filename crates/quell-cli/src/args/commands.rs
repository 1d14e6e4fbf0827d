//! Flags of the commands other than denoising.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use super::denoise::inputs;
use super::values::{
    csv_switch, json_switch, many, not_negative, on, one, option, positive, size, style, switch,
};
use super::{EngineArgs, ReadingArgs};
use crate::failure::Failure;
use crate::table::Style;

/// `quell noise IN…`.
#[derive(Clone, Debug)]
pub(crate) struct NoiseArgs {
    /// Files, folders and patterns.
    pub(crate) inputs: Vec<PathBuf>,
    /// Folders with everything under them.
    pub(crate) recursive: bool,
    /// How to read.
    pub(crate) reading: ReadingArgs,
    /// How to print.
    pub(crate) style: Style,
}

/// `quell compare CLEAN OTHER…`.
#[derive(Clone, Debug)]
pub(crate) struct CompareArgs {
    /// The picture that is right.
    pub(crate) clean: PathBuf,
    /// Those that are measured.
    pub(crate) others: Vec<PathBuf>,
    /// How to read.
    pub(crate) reading: ReadingArgs,
    /// How to print.
    pub(crate) style: Style,
}

/// `quell degrade CLEAN -o OUT`.
#[derive(Clone, Debug)]
pub(crate) struct DegradeArgs {
    /// The picture to spoil.
    pub(crate) clean: PathBuf,
    /// Where to write.
    pub(crate) output: PathBuf,
    /// Deviation of the Gaussian noise on the 0..255 scale.
    pub(crate) sigma: f32,
    /// Gain of the Poisson noise on the 0..255 scale.
    pub(crate) poisson: Option<f32>,
    /// Same seed, same noise.
    pub(crate) seed: u64,
    /// Store 32-bit float.
    pub(crate) float: bool,
    /// How to read.
    pub(crate) reading: ReadingArgs,
}

/// `quell bench`.
#[derive(Clone, Debug)]
pub(crate) struct BenchArgs {
    /// The noisy picture; `None` makes one.
    pub(crate) input: Option<PathBuf>,
    /// Size of the made picture.
    pub(crate) size: (usize, usize),
    /// Seed of the made noise.
    pub(crate) seed: u64,
    /// The clean picture, for PSNR and SSIM.
    pub(crate) reference: Option<PathBuf>,
    /// Where the result is written.
    pub(crate) output: Option<PathBuf>,
    /// Runs.
    pub(crate) repeat: u32,
    /// One JSON object per profile.
    pub(crate) json: bool,
    /// How to filter.
    pub(crate) engine: EngineArgs,
    /// How to read.
    pub(crate) reading: ReadingArgs,
}

/// The commands in the order of `--help`.
pub(super) fn define() -> [Command; 6] {
    [
        Command::new("noise")
            .about("Says how noisy pictures are")
            .long_about("Estimates the noise of pictures with every estimator, on the 0..255 scale")
            .arg(inputs().help("Pictures, folders of pictures, patterns"))
            .arg(switch("recursive").short('r').help("Take folders with all folders in them"))
            .args(ReadingArgs::define())
            .args([json_switch(), csv_switch()]),
        Command::new("compare")
            .about("Measures PSNR and SSIM against a clean picture")
            .arg(file("clean", "CLEAN").required(true).help("The picture that is right"))
            .arg(file("others", "OTHER").required(true).num_args(1..).help("Pictures to measure"))
            .args(ReadingArgs::define())
            .args([json_switch(), csv_switch()]),
        Command::new("degrade")
            .about("Adds noise to a clean picture, for experiments")
            .arg(file("clean", "CLEAN").required(true).help("The picture to add noise to"))
            .args([
                file("output", "OUT").short('o').long("output").required(true).help("File to write"),
                option("sigma", "N")
                    .value_parser(not_negative)
                    .required(true)
                    .help("Deviation of the Gaussian noise on the 0..255 scale"),
                option("poisson", "GAIN")
                    .value_parser(positive)
                    .help("Signal-dependent noise too: its variance is GAIN times the sample, 0..255 scale"),
                option("seed", "S")
                    .value_parser(value_parser!(u64))
                    .default_value("0")
                    .help("Same seed, same noise"),
                switch("float").help("Store 32-bit float, so that nothing is rounded or clipped"),
            ])
            .args(ReadingArgs::define()),
        Command::new("devices").about("Lists what quell can work on").arg(json_switch()),
        bench(),
        Command::new("completions")
            .about("Prints the completion script of a shell")
            .arg(Arg::new("shell").value_name("SHELL").value_parser(value_parser!(Shell)).required(true)),
    ]
}

fn bench() -> Command {
    Command::new("bench")
        .about("Measures speed, memory and quality")
        .long_about(
            "Measures speed, memory and quality, on a picture of your own or on one that is made up. \
             --profile all goes through every profile.",
        )
        .args(
            [
                file("input", "FILE").long("input").help("A noisy picture [default: one is made]"),
                option("size", "WxH")
                    .value_parser(size)
                    .default_value("512x512")
                    .conflicts_with("input")
                    .help("Size of the picture that is made"),
                option("seed", "S")
                    .value_parser(value_parser!(u64))
                    .default_value("0")
                    .conflicts_with("input")
                    .help("Seed of its noise"),
                file("reference", "FILE")
                    .long("reference")
                    .requires("input")
                    .help("The clean picture, for PSNR and SSIM"),
                file("output", "FILE").short('o').long("output").help("Write the result of the last run"),
                option("repeat", "N")
                    .value_parser(value_parser!(u32).range(1..=100_000))
                    .default_value("3")
                    .help("Runs; the table shows the fastest"),
                json_switch(),
            ]
            .map(|a| a.help_heading("Bench")),
        )
        .args(EngineArgs::define("25"))
        .mut_arg("profile", |a| {
            use quell::bm3d::Profile;
            let all = [("all", "every profile in turn")];
            let profiles = Profile::ALL.map(|p| (p.name(), super::values::describe(p)));
            a.value_parser(super::values::names(profiles.into_iter().chain(all)))
        })
        .args(ReadingArgs::define())
}

/// A path, positional unless it gets a flag.
fn file(name: &'static str, value: &'static str) -> Arg {
    Arg::new(name).value_name(value).value_parser(value_parser!(PathBuf))
}

impl NoiseArgs {
    /// What was typed.
    pub(super) fn from_matches(m: &ArgMatches) -> Self {
        Self {
            inputs: many(m, "inputs"),
            recursive: on(m, "recursive"),
            reading: ReadingArgs::from_matches(m),
            style: style(m),
        }
    }
}

impl CompareArgs {
    /// What was typed.
    pub(super) fn from_matches(m: &ArgMatches) -> Self {
        Self {
            clean: one(m, "clean").unwrap_or_default(),
            others: many(m, "others"),
            reading: ReadingArgs::from_matches(m),
            style: style(m),
        }
    }
}

impl DegradeArgs {
    /// What was typed.
    pub(super) fn from_matches(m: &ArgMatches) -> Self {
        Self {
            clean: one(m, "clean").unwrap_or_default(),
            output: one(m, "output").unwrap_or_default(),
            sigma: one(m, "sigma").unwrap_or_default(),
            poisson: one(m, "poisson"),
            seed: one(m, "seed").unwrap_or_default(),
            float: on(m, "float"),
            reading: ReadingArgs::from_matches(m),
        }
    }
}

impl BenchArgs {
    /// What was typed.
    pub(super) fn from_matches(m: &ArgMatches) -> Result<Self, Failure> {
        Ok(Self {
            input: one(m, "input"),
            size: one(m, "size").unwrap_or((512, 512)),
            seed: one(m, "seed").unwrap_or_default(),
            reference: one(m, "reference"),
            output: one(m, "output"),
            repeat: one(m, "repeat").unwrap_or(1),
            json: on(m, "json"),
            engine: EngineArgs::from_matches(m)?,
            reading: ReadingArgs::from_matches(m),
        })
    }
}
