//! Flags on how to filter, shared by `quell IN…` and `quell bench`. One flag per entry of the engine's
//! parameter list, made from that list.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Arg, ArgMatches, value_parser};
use quell::device::DeviceOptions;
use quell::device::cpu::Level;
use quell::method::Parameter;
use quell::noise::Estimator;
use quell::{ColorMode, Device, Method, bm3d, isoline, nlm};

use super::values::{names, one, option, parsed, positive, profiles, sigma};
use crate::failure::Failure;

/// How to filter.
#[derive(Clone, Debug)]
pub(crate) struct EngineArgs {
    /// Noise on the 0..255 scale; `None` to estimate it.
    pub(crate) sigma: Option<f32>,
    /// How it is estimated.
    pub(crate) estimator: Estimator,
    /// Covariance of the noise of red, green and blue.
    pub(crate) noise_cov: Option<Known>,
    /// Power spectrum of the noise.
    pub(crate) noise_psd: Option<Known>,
    /// Name of the method.
    pub(crate) method: String,
    /// Name of the profile; `None` is the method's own.
    pub(crate) profile: Option<String>,
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

/// Something known from a file, or to be estimated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// `auto`.
    Auto,
    /// A file.
    File(PathBuf),
}

/// Names of files need not be text.
fn known() -> impl TypedValueParser<Value = Known> {
    OsStringValueParser::new().map(|text| match text.to_str() {
        Some("auto") => Known::Auto,
        _ => Known::File(text.into()),
    })
}

const FILTERING: &str = "Filtering";
const WORK: &str = "Work";
const NLM: &str = "Parameters of --method nlm";
const ISOLINE: &str = "Parameters of --method isoline";
const BM3D: &str = "Parameters of --method bm3d";

impl EngineArgs {
    /// The method and its profile.
    pub(crate) fn method(&self) -> quell::Result<Method> {
        Method::named(&self.method, self.profile.as_deref())
    }

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
                .value_parser(names(profiles()))
                .help("Quality against speed [default: normal]"),
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
                .hide_short_help(true)
                .help("Colour space for RGB [default: opp]"),
            option("estimator", "NAME")
                .value_parser(names(Estimator::ALL.map(|e| (e.name(), describe_estimator(e)))))
                .default_value(Estimator::default().name())
                .hide_short_help(true)
                .help("How the noise is estimated when --sigma is auto"),
            option("method", "NAME")
                .value_parser(names([
                    ("bm3d", "block matching and 3-D filtering (Dabov et al. 2007); the best"),
                    ("nlm", "non-local means (Buades et al., Goossens et al.); video in real time"),
                    ("isoline", "averages along isolines (Perrot et al.); the fastest"),
                ]))
                .default_value("bm3d")
                .help("Denoising method"),
            option("noise-cov", "FILE|auto").value_parser(known()).hide_short_help(true).help(
                "Noise is correlated between the colours: its 3 x 3 covariance on the 0..255 scale (nlm)",
            ),
            option("noise-psd", "FILE|auto").value_parser(known()).hide_short_help(true).help(
                "Noise is correlated in space: its power spectrum, a float picture of the same size (nlm)",
            ),
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
                    .hide_short_help(true)
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
        let normal = nlm::Profile::Normal.params(25.0, 1);
        args.extend(nlm::PARAMETERS.iter().map(|p| {
            let frames = matches!(p.name, "past" | "future");
            let heading = if frames { FILTERING } else { NLM };
            advanced(p, &normal, heading).hide_short_help(p.name != "past")
        }));
        let normal = isoline::Profile::Normal.params(25.0, 1);
        let own = isoline_parameters();
        args.extend(own.map(|p| advanced(p, &normal, ISOLINE).hide_short_help(true)));
        let normal = bm3d::Profile::Normal.params(25.0);
        let rest = bm3d::PARAMETERS.iter().filter(|p| !matches!(p.name, "passes" | "color"));
        args.extend(rest.map(|p| advanced(p, &normal, BM3D).hide_short_help(true)));
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
        let names = bm3d::PARAMETERS.iter().map(|p| p.name);
        let names = names.chain(nlm::PARAMETERS.iter().map(|p| p.name));
        let names = names.chain(isoline_parameters().map(|p| p.name));
        let sets: Vec<_> = names.filter_map(|name| Some((name, one::<String>(m, name)?))).collect();
        let one_pass = sets.iter().any(|(name, v)| *name == "passes" && v == "1");
        let of_pass_2 = sets.iter().find(|(n, _)| n.starts_with("wiener.") || *n == "mu2");
        if let (true, Some((name, _))) = (one_pass, of_pass_2) {
            return Err(Failure::usage(format!("--{} has no effect with --passes 1", flag(name)))
                .hint("the Wiener filter is pass 2: leave one of them out"));
        }
        Ok(Self {
            sigma,
            estimator: one::<String>(m, "estimator").and_then(|e| e.parse().ok()).unwrap_or_default(),
            noise_cov: one(m, "noise-cov"),
            noise_psd: one(m, "noise-psd"),
            method: one(m, "method").unwrap_or_default(),
            profile: one(m, "profile"),
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

/// Those that NL-means does not have, too.
fn isoline_parameters() -> impl Iterator<Item = &'static Parameter<isoline::Params>> {
    isoline::PARAMETERS.iter().filter(|p| nlm::PARAMETERS.iter().all(|other| other.name != p.name))
}

/// The flag's name: dots become dashes.
pub(crate) fn flag(parameter: &str) -> String {
    parameter.replace('.', "-")
}

/// The flag of a parameter, checked by the engine.
fn parameter(name: &'static str) -> Arg {
    option(name, "V").long(flag(name)).allow_hyphen_values(true)
}

/// The flag of a parameter with its value in a profile.
fn advanced<P>(p: &Parameter<P>, of: &P, heading: &'static str) -> Arg {
    let arg = parameter(p.name).help(format!("{} [normal: {}]", p.help, p.get(of))).help_heading(heading);
    // A choice may be named alone.
    if p.name == "patchwise" || p.name == "correct" {
        return arg.num_args(0..=1).require_equals(true).default_missing_value("true");
    }
    arg
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
