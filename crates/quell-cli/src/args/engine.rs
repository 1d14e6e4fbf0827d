//! Flags on how to filter, shared by `quell IN…` and `quell bench`.

use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Arg, ArgMatches, value_parser};
use quell::device::cpu::Level;
use quell::device::{DeviceOptions, LEAST_TILE};
use quell::{Device, Method};

use super::noise::Given;
use super::parameters::{self, flag};
use super::values::{names, not_negative, on, one, option, parsed, positive, profiles, share, switch, tile};
use crate::failure::{Failure, message};
use crate::report;

/// How to filter.
#[derive(Clone, Debug)]
pub(crate) struct EngineArgs {
    /// What is known of the noise.
    pub(crate) noise: Given,
    /// Covariance of the noise of red, green and blue.
    pub(crate) noise_cov: Option<Known>,
    /// What is in its file, read once: it may be a pipe.
    pub(crate) noise_cov_text: Option<String>,
    /// Power spectrum of the noise.
    pub(crate) noise_psd: Option<Known>,
    /// Name of the method.
    pub(crate) method: String,
    /// Name of the profile; `None` is the method's own.
    pub(crate) profile: Option<String>,
    /// Factor on the noise.
    pub(crate) strength: Option<f32>,
    /// Factors on that of luma and of colour.
    pub(crate) luma: Option<f32>,
    pub(crate) chroma: Option<f32>,
    /// Shares of what was removed that are given back: what has structure, and all of it.
    pub(crate) detail: Option<f32>,
    pub(crate) grain: Option<f32>,
    /// What clipping did to strong noise is left as it is.
    pub(crate) keep_clipping: bool,
    /// A file of parameters over the profile.
    pub(crate) params: Option<PathBuf>,
    /// What is in it, read once as well.
    pub(crate) params_text: Option<String>,
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

impl EngineArgs {
    /// The method and its profile.
    pub(crate) fn method(&self) -> quell::Result<Method> {
        Method::named(&self.method, self.profile.as_deref())
    }

    /// The flags; `sigma_default` differs between commands.
    pub(super) fn define(sigma_default: &'static str) -> Vec<Arg> {
        let mut args = Given::define(sigma_default);
        args.extend([
            option("profile", "NAME")
                .value_parser(names(profiles()))
                .help("Quality against speed [default: normal]"),
            option("strength", "F")
                .value_parser(positive)
                .help("Filter as for F times the noise [default: 1]"),
            option("luma", "F")
                .value_parser(not_negative)
                .hide_short_help(true)
                .help("Filter luma as for F times its noise; 0 leaves it alone [default: 1]"),
            option("chroma", "F")
                .value_parser(not_negative)
                .hide_short_help(true)
                .help("Filter colour as for F times its noise; 0 leaves it alone [default: 1]"),
            option("detail", "F")
                .value_parser(share)
                .hide_short_help(true)
                .help("Give back F of the detail that was taken for noise, 0 to 1 [default: 0]"),
            option("grain", "F")
                .value_parser(share)
                .help("Leave F of the noise, so that nothing looks like wax, 0 to 1 [default: 0]"),
            switch("keep-clipping")
                .hide_short_help(true)
                .help("Do not undo what clipping at black and white did to the mean of strong noise"),
            option("method", "NAME")
                .value_parser(names(Method::all().into_iter().map(|m| (m.name(), m.help()))))
                .default_value("bm3d")
                .help("How"),
            option("noise-cov", "FILE|auto").value_parser(known()).hide_short_help(true).help(
                "Noise is correlated between the colours: its 3 x 3 covariance on the 0..255 scale (nlm)",
            ),
            option("noise-psd", "FILE|auto").value_parser(known()).hide_short_help(true).help(
                "Noise is correlated in space: its power spectrum, a float picture of the same size (bm3d, nlm)",
            ),
            option("params", "FILE")
                .value_parser(value_parser!(PathBuf))
                .hide_short_help(true)
                .help("Parameters over the profile, as TOML; --print-plan writes such a file"),
        ]);
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
                    .value_parser(tile)
                    .default_value("0")
                    .hide_short_help(true)
                    .help(format!(
                        "Work in tiles of N pixels a side, at least {LEAST_TILE}, and read and write rows as they are \
                         needed where the format allows, for less memory; 0 is as large as is good"
                    )),
                option("level", "NAME")
                    .value_parser(Level::ALL.map(Level::name))
                    .hide_short_help(true)
                    .help("Highest instruction set to use [default: the best there is]"),
            ]
            .map(|a| a.help_heading(WORK)),
        );
        args.extend(parameters::define(FILTERING));
        args
    }

    /// What was typed.
    pub(super) fn from_matches(m: &ArgMatches) -> Result<Self, Failure> {
        let names = parameters::names().into_iter();
        let sets: Vec<_> = names.filter_map(|name| Some((name, one::<String>(m, name)?))).collect();
        let one_pass = sets.iter().any(|(name, v)| *name == "passes" && v == "1");
        let of_pass_2 = sets.iter().find(|(n, _)| n.starts_with("wiener.") || *n == "mu2");
        if let (true, Some((name, _))) = (one_pass, of_pass_2) {
            return Err(Failure::usage(format!("--{} has no effect with --passes 1", flag(name)))
                .hint("the Wiener filter is pass 2: leave one of them out"));
        }
        let (noise_cov, params) = (one::<Known>(m, "noise-cov"), one::<PathBuf>(m, "params"));
        Ok(Self {
            noise: Given::from_matches(m)?,
            noise_cov_text: match &noise_cov {
                Some(Known::File(path)) => Some(read_text("--noise-cov", path)?),
                _ => None,
            },
            noise_cov,
            noise_psd: one(m, "noise-psd"),
            method: one(m, "method").unwrap_or_default(),
            profile: one(m, "profile"),
            strength: one(m, "strength"),
            luma: one(m, "luma"),
            chroma: one(m, "chroma"),
            detail: one(m, "detail"),
            grain: one(m, "grain"),
            keep_clipping: on(m, "keep-clipping"),
            params_text: params.as_deref().map(|path| read_text("--params", path)).transpose()?,
            params,
            sets,
            device: one(m, "device").unwrap_or_default(),
            options: DeviceOptions {
                threads: one::<u16>(m, "threads").map_or(0, usize::from),
                tile: one(m, "tile").unwrap_or_default(),
                level: one::<String>(m, "level").and_then(|l| l.parse().ok()),
            },
        })
    }
}

/// The text that a flag names.
pub(super) fn read_text(flag: &str, path: &Path) -> Result<String, Failure> {
    let wrong = |e| Failure::usage(format!("{flag} {}: {}", report::name(path), message(&e)));
    crate::reading::text(path).map_err(wrong)
}
