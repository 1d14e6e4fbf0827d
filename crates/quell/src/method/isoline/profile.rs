//! Named sets of parameters: quell's own and the paper's.

use super::params::from_name;
use super::{Params, Variant};
use crate::{Error, Result};

/// A named set of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// quell's fastest: one round.
    Fast,
    /// quell's default: two rounds.
    #[default]
    Normal,
    /// The hybrid filter with the settings of the paper's table of 13 pictures.
    Paper,
    /// The hybrid filter with the settings of the paper's pictures.
    PaperLong,
}

impl Profile {
    /// Every profile, in the order of `--help`.
    pub const ALL: [Self; 4] = [Self::Fast, Self::Normal, Self::Paper, Self::PaperLong];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Normal => "normal",
            Self::Paper => "paper",
            Self::PaperLong => "paper-long",
        }
    }

    /// The parameters for noise of deviation `sigma` on the 0..255 scale and pictures of 1 or 3 channels.
    pub fn params(self, sigma: f32, channels: usize) -> Params {
        match self {
            Self::Fast => Params::of(Variant::Line, sigma, channels),
            Self::Normal => Params::of(Variant::TwoRound, sigma, channels),
            Self::Paper => Params::of(Variant::Hybrid, sigma, channels),
            Self::PaperLong => Params {
                length: 4,
                max_length: 50,
                threshold: 2.0,
                ..Params::of(Variant::Hybrid, sigma, channels)
            },
        }
    }
}

impl Params {
    /// The parameters that suit a variant, for noise of deviation `sigma` on the 0..255 scale and pictures of 1 or 3
    /// channels.
    pub fn of(variant: Variant, sigma: f32, channels: usize) -> Self {
        let _ = (sigma, channels);
        let own = Self {
            variant,
            length: 3,
            max_length: 7,
            threshold: 6.0,
            edge_threshold: 2.0,
            directions: 32,
            thickness: 1,
            turn: 8,
            blur: 0.9,
            window: 11,
            pilot_threshold: 0.6,
            pilot_blur: 0.9,
            pilot_window: 3,
            pilot_noise: 0.4,
            pilot_share: 0.4,
        };
        match variant {
            // The settings of the paper's table of 13 pictures.
            Variant::PiPd | Variant::Hybrid => Self { length: 5, max_length: 25, threshold: 1.0, ..own },
            Variant::PiLd => Self { turn: 2, length: 5, max_length: 25, threshold: 1.0, ..own },
            Variant::Pooled => Self { threshold: 4.0, blur: 0.8, ..own },
            Variant::Line | Variant::TwoRound => own,
        }
    }
}

from_name!(Profile, "profile");
