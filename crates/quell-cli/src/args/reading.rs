//! Flags on how pictures are read, shared by every command that reads one.

use clap::{Arg, ArgMatches, value_parser};
use quell_io::Axes;

use super::values::{one, option, pixels, positive};

/// What happens to samples that are NaN or infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NanPolicy {
    /// Such a picture is refused.
    #[default]
    Error,
    /// They become zero.
    Zero,
    /// They are worked around, and are in the output as they were.
    Keep,
}

impl clap::ValueEnum for NanPolicy {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Error, Self::Zero, Self::Keep]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        let (name, help) = match self {
            Self::Error => ("error", "refuse the picture and say where the first one is"),
            Self::Zero => ("zero", "set them to zero"),
            Self::Keep => ("keep", "filter around them and leave them as they are"),
        };
        Some(clap::builder::PossibleValue::new(name).help(help))
    }
}

/// How pictures are read.
#[derive(Clone, Debug)]
pub(crate) struct ReadingArgs {
    /// The sample value of white where it is not the usual one.
    pub(crate) white: Option<f32>,
    /// Larger pictures are refused.
    pub(crate) max_pixels: Option<u64>,
    /// What the sides of NumPy arrays are.
    pub(crate) axes: Option<Axes>,
    /// NaN and infinity.
    pub(crate) nan: NanPolicy,
}

impl ReadingArgs {
    /// The flags.
    pub(super) fn define() -> [Arg; 4] {
        [
            option("white", "N")
                .value_parser(positive)
                .help("Sample value of white [default: 255, 65535 or 32767 by type, 1 for float]"),
            option("max-pixels", "N")
                .value_parser(pixels)
                .help("Refuse larger pictures; k, M and G are understood [default: 537M]"),
            option("axes", "AXES")
                .value_parser(|text: &str| text.parse::<Axes>())
                .help("Sides of NumPy arrays: Y, X, colours S, channels C, slices Z, times T, like ZYX"),
            option("nan", "WHAT")
                .value_parser(value_parser!(NanPolicy))
                .default_value("error")
                .help("What to do with samples that are NaN or infinite"),
        ]
        .map(|a| a.help_heading("Reading").hide_short_help(true))
    }

    /// What was typed.
    pub(super) fn from_matches(m: &ArgMatches) -> Self {
        Self {
            white: one(m, "white"),
            max_pixels: one(m, "max-pixels"),
            axes: one(m, "axes"),
            nan: one(m, "nan").unwrap_or_default(),
        }
    }
}
