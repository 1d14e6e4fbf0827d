//! Flags on how to filter, shared by `quell IN…` and `quell bench`. One flag per entry of the engine's
//! parameter list, made from that list.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};
use quell::bm3d::{PARAMETERS, Params, Profile};
use quell::device::DeviceOptions;
use quell::device::cpu::Level;
use quell::method::Parameter;
use quell::noise::Estimator;
use quell::{ColorMode, Device};

use super::values::{describe, names, one, option, parsed, positive, sigma};
use crate::failure::Failure;

/// How to filter.
#[derive(Clone, Debug)]
pub(crate) struct EngineArgs {
    /// Noise on the 0..255 scale; `None` to estimate it.
    pub(crate) sigma: Option<f32>,
    /// How it is estimated.
    pub(crate) estimator: Estimator,
    /// Name of the profile.
    pub(crate) profile: String,
    /// Factor on the noise.
    pub(crate) strength: Option<f32>,
    /// A file of parameters over the profile.
    pub(crate) params: Option<PathBuf>,
    /// Single parameters over both, by name.
    pub(crate) sets: Vec<(&'static str, String)>,
    /// Where to work.
    pub(crate) device: Device,
    /// How to work.
    pub(crate) options: DeviceOptions,
}

const FILTERING: &str = "Filtering";
const WORK: &str = "Work";
const ADVANCED: &str = "Advanced (every parameter)";

impl EngineArgs {
    /// The flags; `sigma_default` differs between commands.
    pub(super) fn define(sigma_default: &'static str) -> Vec<Arg> {
        let mut args = vec![
            option("sigma", "N")
                .value_parser(sigma)
                .default_value(sigma_default)
                .help("Noise deviation on the 0..255 scale, or auto")
                .long_help(
                    "Noise deviation on the 0..255 scale whatever the depth of the picture, or auto to \
                     estimate it from each picture",
                ),
            option("profile", "NAME")
                .value_parser(names(Profile::ALL.map(|p| (p.name(), describe(p)))))
                .default_value(Profile::default().name())
                .help("Quality against speed"),
            option("strength", "F")
                .value_parser(positive)
                .help("Filter as for F times the noise [default: 1]"),
            parameter("passes")
                .value_name("N")
                .hide_short_help(true)
                .help("1: first estimate only, 2: Wiener filter too [default: 2]"),
            parameter("color")
                .value_name("MODE")
                .value_parser(names(ColorMode::ALL.map(|m| (m.name(), describe_color(m)))))
                .help("Colour space for RGB [default: opp]"),
            option("estimator", "NAME")
                .value_parser(names(Estimator::ALL.map(|e| (e.name(), describe_estimator(e)))))
                .default_value(Estimator::default().name())
                .hide_short_help(true)
                .help("How the noise is estimated when --sigma is auto"),
            option("method", "NAME")
                .value_parser(names([("bm3d", "block matching and 3-D filtering (Dabov et al. 2007)")]))
                .default_value("bm3d")
                .hide_short_help(true)
                .help("Denoising method"),
            option("params", "FILE")
                .value_parser(value_parser!(PathBuf))
                .hide_short_help(true)
                .help("Parameters over the profile, as TOML; --print-plan writes such a file"),
        ];
        args.iter_mut().for_each(|a| *a = a.clone().help_heading(FILTERING));
        args.extend(
            [
                option("device", "NAME")
                    .value_parser(parsed::<Device>)
                    .default_value("auto")
                    .help("Where to work: auto, cpu, cuda[:N|:all] or opencl[:N|:all]"),
                option("threads", "N")
                    .value_parser(value_parser!(u16).range(1..=1024))
                    .help("Worker threads [default: one per core]"),
                option("tile", "N")
                    .value_parser(value_parser!(u32))
                    .default_value("0")
                    .hide_short_help(true)
                    .help("Work in tiles of N pixels a side, for less memory; 0 is the whole picture"),
                option("level", "NAME")
                    .value_parser(Level::ALL.map(Level::name))
                    .hide_short_help(true)
                    .help("Highest instruction set to use [default: the best there is]"),
            ]
            .map(|a| a.help_heading(WORK)),
        );
        let normal = Profile::Normal.params(25.0);
        args.extend(PARAMETERS.iter().filter(|p| !is_basic(p)).map(|p| {
            parameter(p.name)
                .help(format!("{} [normal: {}]", p.help, p.get(&normal)))
                .help_heading(ADVANCED)
                .hide_short_help(true)
        }));
        args
    }

    /// What was typed.
    pub(super) fn from_matches(m: &ArgMatches) -> Result<Self, Failure> {
        use clap::parser::ValueSource::CommandLine;
        let sigma = one::<Option<f32>>(m, "sigma").flatten();
        if sigma.is_some() && m.value_source("estimator") == Some(CommandLine) {
            return Err(Failure::usage("--estimator has no effect: --sigma gives the noise")
                .hint("leave one of them out"));
        }
        let sets: Vec<_> =
            PARAMETERS.iter().filter_map(|p| Some((p.name, one::<String>(m, p.name)?))).collect();
        let one_pass = sets.iter().any(|(name, v)| *name == "passes" && v == "1");
        let of_pass_2 = sets.iter().find(|(n, _)| n.starts_with("wiener.") || *n == "mu2");
        if let (true, Some((name, _))) = (one_pass, of_pass_2) {
            return Err(Failure::usage(format!("--{} has no effect with --passes 1", flag(name)))
                .hint("the Wiener filter is pass 2: leave one of them out"));
        }
        Ok(Self {
            sigma,
            estimator: one::<String>(m, "estimator").and_then(|e| e.parse().ok()).unwrap_or_default(),
            profile: one(m, "profile").unwrap_or_default(),
            strength: one(m, "strength"),
            params: one(m, "params"),
            sets,
            device: one(m, "device").unwrap_or_default(),
            options: DeviceOptions {
                threads: one::<u16>(m, "threads").map_or(0, usize::from),
                tile: one::<u32>(m, "tile").map_or(0, |n| n as usize),
                level: one::<String>(m, "level").and_then(|l| l.parse().ok()),
            },
        })
    }
}

/// The flag's name: dots become dashes.
pub(crate) fn flag(parameter: &str) -> String {
    parameter.replace('.', "-")
}

/// The flag of a parameter, checked by the engine.
fn parameter(name: &'static str) -> Arg {
    option(name, "V").long(flag(name)).allow_hyphen_values(true)
}

/// Parameters that everybody meets; they are not under the advanced ones.
fn is_basic(p: &Parameter<Params>) -> bool {
    matches!(p.name, "passes" | "color")
}

fn describe_color(mode: ColorMode) -> &'static str {
    match mode {
        ColorMode::Opp => "opponent colours, patches grouped once; best for white noise",
        ColorMode::YCbCr => "YCbCr, patches grouped once",
        ColorMode::Independent => "each channel on its own",
        ColorMode::Luma => "only luma is filtered",
    }
}

fn describe_estimator(estimator: Estimator) -> &'static str {
    match estimator {
        Estimator::Ponomarenko => "high frequencies of the quietest blocks; the most accurate",
        Estimator::Coarse => "the same at half the size; for noise that is no longer white (resized, JPEG)",
        Estimator::Pca => "smallest principal components of patches",
        Estimator::Mad => "median of the finest wavelet band; the fastest, takes texture for noise",
    }
}
