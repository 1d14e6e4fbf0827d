//! Named sets of parameters: quell's own and the paper's.

use super::{Params, Variant};
use crate::method::parameter::from_name;

/// A named set of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// quell's fastest: one round, half of the directions.
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
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Normal => "normal",
            Self::Paper => "paper",
            Self::PaperLong => "paper-long",
        }
    }

    /// What it is, in a few words.
    pub fn help(self) -> &'static str {
        match self {
            Self::Fast => "one round",
            Self::Normal => "two rounds",
            Self::Paper => "the hybrid filter of Perrot et al., settings of their table",
            Self::PaperLong => "the same with long lines",
        }
    }

    /// The parameters for noise of deviation `sigma` on the 0..255 scale and pictures of 1 or 3 channels.
    pub fn params(self, sigma: f32, channels: usize) -> Params {
        match self {
            Self::Fast => Params { directions: 16, ..Params::of(Variant::Line, sigma, channels) },
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
        // The same for colour: luma has less noise, but decides for planes that have more.
        let _ = channels;
        let own = Self {
            variant,
            length: 3,
            max_length: 7,
            threshold: 9.0,
            edge_threshold: 2.0,
            directions: 32,
            thickness: 1,
            turn: 8,
            blur: 0.7,
            window: 12,
            cell: 4,
            pilot_threshold: 0.6,
            pilot_mix: 0.5,
            pilot_blur: 0.9,
            pilot_window: 4,
            pilot_cell: 2,
            pilot_noise: 0.4,
            pilot_share: 0.4,
            past: 0,
            future: 0,
            motion: 16,
            frame_threshold: 0.22,
        };
        // Tuned on 12 pictures of BSD68, two of Kodak and seven of Set12, for noise of 5, 10, 25, 50 and 75; every
        // parameter has a wide optimum.
        match variant {
            // The settings of the paper's table of 13 pictures.
            Variant::PiPd | Variant::Hybrid => Self { length: 5, max_length: 25, threshold: 1.0, ..own },
            Variant::PiLd => Self { turn: 2, length: 5, max_length: 25, threshold: 1.0, ..own },
            Variant::Pooled => Self { threshold: 6.0, blur: 0.8, ..own },
            Variant::Line => match sigma {
                s if s <= 7.0 => Self { threshold: 18.0, blur: 0.9, window: 8, ..own },
                s if s <= 20.0 => Self { threshold: 14.0, blur: 0.8, window: 8, ..own },
                s if s <= 40.0 => Self { threshold: 12.0, blur: 0.8, ..own },
                _ => Self { threshold: 10.0, blur: 0.9, window: 20, max_length: 10, ..own },
            },
            Variant::TwoRound => match sigma {
                s if s <= 7.0 => Self { blur: 0.6, window: 8, pilot_blur: 0.7, ..own },
                s if s <= 20.0 => Self { pilot_blur: 0.8, ..own },
                s if s <= 40.0 => Self { blur: 0.8, pilot_mix: 0.7, ..own },
                s => {
                    let strong = Self {
                        threshold: 10.0,
                        blur: 0.9,
                        max_length: 10,
                        pilot_mix: 0.8,
                        pilot_blur: 1.2,
                        ..own
                    };
                    match s {
                        s if s <= 65.0 => strong,
                        _ => Self { window: 20, pilot_noise: 0.7, pilot_share: 0.3, ..strong },
                    }
                }
            },
        }
    }
}

from_name!(Profile, "profile");
