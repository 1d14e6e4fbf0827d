//! Flags of the commands other than denoising.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use quell::Device;
use quell::device::SampleFormat;
use quell::noise::correlated::Kernel;

use super::denoise::inputs;
use super::values::{
    csv_switch, json_switch, many, not_negative, on, one, option, parsed, positive, sample, size, style,
    switch,
};
use super::{EngineArgs, From, ReadingArgs};
use crate::failure::Failure;
use crate::table::Style;

/// `quell noise IN…`.
#[derive(Clone, Debug)]
pub(crate) struct NoiseArgs {
    /// Files, folders and patterns.
    pub(crate) inputs: Vec<PathBuf>,
    /// Folders with everything under them.
    pub(crate) recursive: bool,
    /// How the noise is correlated, instead of how strong it is.
    pub(crate) correlation: bool,
    /// Level by brightness and spectrum, instead.
    pub(crate) curves: bool,
    /// Where it is measured, instead of estimated all over each picture.
    pub(crate) from: Option<From>,
    /// Where the model of a picture is written, to be used again.
    pub(crate) save: Option<PathBuf>,
    /// Where a picture of the model is written.
    pub(crate) plot: Option<PathBuf>,
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
    /// Deviation of the Gaussian noise on the 0..255 scale; `None`: that of the covariance.
    pub(crate) sigma: Option<f32>,
    /// Gain of the Poisson noise on the 0..255 scale.
    pub(crate) poisson: Option<f32>,
    /// How the noise is correlated in space.
    pub(crate) kernel: Kernel,
    /// File with its covariance between channels.
    pub(crate) covariance: Option<PathBuf>,
    /// Where its power spectrum is written.
    pub(crate) psd: Option<PathBuf>,
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
    /// A clip for the table of Goossens et al.
    pub(crate) clip: Option<PathBuf>,
    /// Sizes of the made pictures.
    pub(crate) sizes: Vec<(usize, usize)>,
    /// The made pictures have colours.
    pub(crate) rgb: bool,
    /// Type of the samples that a GPU gets.
    pub(crate) sample: SampleFormat,
    /// Frames of a stream; `None` as the device likes, 0 none.
    pub(crate) stream: Option<usize>,
    /// Seed of the made noise.
    pub(crate) seed: u64,
    /// The clean picture, for PSNR and SSIM.
    pub(crate) reference: Option<PathBuf>,
    /// Where the result is written.
    pub(crate) output: Option<PathBuf>,
    /// Runs; `None` as the device likes.
    pub(crate) repeat: Option<u32>,
    /// One JSON object per profile and size.
    pub(crate) json: bool,
    /// How to filter.
    pub(crate) engine: EngineArgs,
    /// How to read.
    pub(crate) reading: ReadingArgs,
}

/// `quell gpu-check`.
#[derive(Clone, Debug)]
pub(crate) struct CheckArgs {
    /// The device to check.
    pub(crate) device: Device,
    /// Only this method, by its name.
    pub(crate) method: Option<String>,
    /// Fewer cases.
    pub(crate) quick: bool,
    /// One JSON object per case.
    pub(crate) style: Style,
}

/// The commands in the order of `--help`.
pub(super) fn define() -> [Command; 9] {
    [
        Command::new("noise")
            .about("Says how noisy pictures are")
            .long_about(
                "Estimates the noise of pictures with every estimator, on the 0..255 scale. --save keeps what was found \
                 of a picture for others of the same camera and ISO: quell OTHER --noise-profile FILE.",
            )
            .arg(inputs().help("Pictures, folders of pictures, patterns"))
            .arg(switch("recursive").short('r').help("Take folders with all folders in them"))
            .arg(switch("correlation").help("Show how the noise of neighbours and of channels is correlated"))
            .arg(
                switch("curves")
                    .conflicts_with("correlation")
                    .help("Show the level at every brightness, and the spectrum"),
            )
            .arg(super::noise::from().value_name("X,Y,W,H").conflicts_with("correlation").help(
                "Measure the noise in this flat part of each picture: column, row, width, height",
            ))
            .args([
                file("save", "FILE").long("save").conflicts_with("correlation").help(
                    "Write what was found as TOML, with camera and ISO, for --noise-profile",
                ),
                file("plot", "FILE")
                    .long("plot")
                    .conflicts_with("correlation")
                    .help("Draw what was found, level by brightness and spectrum, as .svg or .png"),
            ])
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
                    .required_unless_present("noise-cov")
                    .help("Deviation of the Gaussian noise on the 0..255 scale [default: that of --noise-cov]"),
                option("poisson", "GAIN")
                    .value_parser(positive)
                    .help("Signal-dependent noise too: its variance is GAIN times the sample, 0..255 scale"),
                option("noise-kernel", "NAME")
                    .value_parser(parsed::<Kernel>)
                    .default_value("white")
                    .conflicts_with("poisson")
                    .help("Noise correlated in space: white, soft, g1 (streaks), g2 (rings), g3 (stripes), g4 (pink), or these with a fifth white: g1w, g2w, g3w, g4w"),
                file("noise-cov", "FILE")
                    .long("noise-cov")
                    .conflicts_with("poisson")
                    .help("Noise correlated between channels: 3 x 3 numbers in a text file, 0..255 scale; --sigma gives their level"),
                file("write-psd", "FILE")
                    .long("write-psd")
                    .conflicts_with("poisson")
                    .help("Write the power spectrum of the noise, 0..255 scale, to .npy, .tif, .pfm or .exr"),
                option("seed", "S")
                    .value_parser(value_parser!(u64))
                    .default_value("0")
                    .help("Same seed, same noise"),
                switch("float").help("Store 32-bit float, so that nothing is rounded or clipped"),
            ])
            .args(ReadingArgs::define()),
        super::studio::define(),
        Command::new("devices").about("Lists what quell can work on").arg(json_switch()),
        bench(),
        super::lab::define(),
        Command::new("gpu-check")
            .about("Compares a GPU with the reference, case by case")
            .long_about(
                "Compares what a device computes with the scalar reference and with the processor: profiles, sizes, \
                 steps, groups, colours, sample types, ties, tiles. Ends with exit code 1 if a case fails.",
            )
            .arg(
                option("device", "NAME")
                    .value_parser(parsed::<Device>)
                    .default_value("auto")
                    .help("What to check: auto, cpu, cuda[:N|:all] or opencl[:N|:all]"),
            )
            .arg(
                option("method", "NAME")
                    .value_parser(clap::builder::PossibleValuesParser::new(quell::Method::NAMES))
                    .help("Only the cases of this method"),
            )
            .arg(switch("quick").help("Only the most telling cases"))
            .args([json_switch(), csv_switch()]),
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
             --profile all goes through every profile. On a GPU it shows the time of the kernels alone, from \
             device memory to device memory, and of a stream of frames from host to host.",
        )
        .args(
            [
                file("input", "FILE").long("input").help("A noisy picture [default: one is made]"),
                file("clip", "VIDEO").long("clip").conflicts_with_all(["input", "size", "rgb", "reference"]).help(
                    "A clean clip: fps and PSNR of NL-means for every window of table 1 of Goossens et al.",
                ),
                option("size", "WxH,...")
                    .value_parser(size)
                    .value_delimiter(',')
                    .default_value("512x512")
                    .conflicts_with("input")
                    .help("Sizes of the pictures that are made"),
                switch("rgb").alias("colour").conflicts_with("input").help("Make colour pictures"),
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
                option("repeat", "N").value_parser(value_parser!(u32).range(1..=100_000)).help(
                    "Runs; the table shows the fastest of the processor [default: 3], the median of a GPU \
                         [default: 20]",
                ),
                option("sample", "TYPE")
                    .value_parser(sample)
                    .default_value("u8")
                    .help("Type of the samples that a GPU gets and returns: u8, u16 or f32"),
                option("stream", "N").value_parser(value_parser!(u32).range(0..=1_000_000)).help(
                    "Frames per second, host to host, over N frames of which several are in work at once; 0: \
                         not measured [default: 100 on a GPU, 0 on the processor]",
                ),
                json_switch(),
            ]
            .map(|a| a.help_heading("Bench")),
        )
        .args(EngineArgs::define("25"))
        .mut_arg("profile", |a| {
            let all = [("all", "every profile in turn".to_owned())];
            a.value_parser(super::values::names(super::values::profiles().into_iter().chain(all)))
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
            correlation: on(m, "correlation"),
            curves: on(m, "curves"),
            from: super::noise::region_or_file(m),
            save: one(m, "save"),
            plot: one(m, "plot"),
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
            sigma: one(m, "sigma"),
            poisson: one(m, "poisson"),
            kernel: one(m, "noise-kernel").unwrap_or_default(),
            covariance: one(m, "noise-cov"),
            psd: one(m, "write-psd"),
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
            clip: one(m, "clip"),
            sizes: many(m, "size"),
            rgb: on(m, "rgb"),
            sample: one(m, "sample").unwrap_or(SampleFormat::U8),
            stream: one::<u32>(m, "stream").map(|n| n as usize),
            seed: one(m, "seed").unwrap_or_default(),
            reference: one(m, "reference"),
            output: one(m, "output"),
            repeat: one(m, "repeat"),
            json: on(m, "json"),
            engine: EngineArgs::from_matches(m)?,
            reading: ReadingArgs::from_matches(m),
        })
    }
}

impl CheckArgs {
    /// What was typed.
    pub(super) fn from_matches(m: &ArgMatches) -> Self {
        Self {
            device: one(m, "device").unwrap_or_default(),
            method: one(m, "method"),
            quick: on(m, "quick"),
            style: style(m),
        }
    }
}
