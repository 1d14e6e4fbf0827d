//! Named sets of parameters: quell's own and the papers'.

use super::{Center, Chroma, Params, Weight};
use crate::method::parameter::from_name;

/// A named set of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// quell's fastest: pixel by pixel, for video.
    Fast,
    /// quell's default: whole patches.
    #[default]
    Normal,
    /// The published table of Buades, Coll and Morel (IPOL 2011).
    Ipol,
    /// The settings of Goossens et al. for video.
    Goossens,
}

impl Profile {
    /// Every profile, in the order of `--help`.
    pub const ALL: [Self; 4] = [Self::Fast, Self::Normal, Self::Ipol, Self::Goossens];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Normal => "normal",
            Self::Ipol => "ipol",
            Self::Goossens => "goossens",
        }
    }

    /// What it is, in a few words.
    pub fn help(self) -> &'static str {
        match self {
            Self::Fast => "pixel by pixel",
            Self::Normal => "whole patches",
            Self::Ipol => "the table of Buades et al. (IPOL 2011)",
            Self::Goossens => "settings of Goossens et al. for video",
        }
    }

    /// The parameters for noise of deviation `sigma` on the 0..255 scale and pictures of 1 or 3 channels.
    pub fn params(self, sigma: f32, channels: usize) -> Params {
        let bisquare = |patch, search, h| Params {
            patch,
            search,
            h,
            weight: Weight::Bisquare,
            center: Center::One,
            correct: false,
            patchwise: false,
            past: 0,
            future: 0,
            guide: Chroma::Joint,
        };
        let patchwise = |patch, search, h| Params {
            weight: Weight::Gauss,
            center: Center::Max,
            correct: true,
            patchwise: true,
            ..bisquare(patch, search, h)
        };
        match self {
            // Tuned on four pictures of Set12 from sigma 5 to 75, colours on two of Kodak from 10 to 50: three channels
            // make a distance as sure as a larger patch does.
            Self::Fast => {
                let (patch, h) = match (channels, sigma) {
                    (1, s) if s <= 30.0 => (3, 2.5),
                    (1, _) => (5, 2.0),
                    (_, s) if s <= 15.0 => (3, 2.3),
                    _ => (3, 1.8),
                };
                Params { center: Center::Max, ..bisquare(patch, 13, h) }
            }
            Self::Normal => {
                let (patch, h) = match (channels, sigma) {
                    (1, s) if s <= 15.0 => (5, 0.56),
                    (1, s) if s <= 35.0 => (7, 0.48),
                    (1, _) => (9, 0.40),
                    (_, s) if s <= 15.0 => (3, 0.56),
                    _ => (5, 0.42),
                };
                patchwise(patch, 21, h)
            }
            // IPOL 2011, tables 1 and 2.
            Self::Ipol => {
                let (patch, search, h) = match (channels, sigma) {
                    (1, s) if s <= 15.0 => (3, 21, 0.40),
                    (1, s) if s <= 30.0 => (5, 21, 0.40),
                    (1, s) if s <= 45.0 => (7, 35, 0.35),
                    (1, s) if s <= 75.0 => (9, 35, 0.35),
                    (1, _) => (11, 35, 0.30),
                    (_, s) if s <= 25.0 => (3, 21, 0.55),
                    (_, s) if s <= 55.0 => (5, 35, 0.40),
                    _ => (7, 35, 0.35),
                };
                patchwise(patch, search, h)
            }
            Self::Goossens => bisquare(9, 11, goossens_h(11)),
        }
    }

    /// What follows from parameters that were set over the profile, where `h` was not.
    pub(crate) fn follow(self, params: &mut Params) {
        if self == Self::Goossens {
            params.h = goossens_h(params.search);
        }
    }
}

/// The paper's h is 0.13 for windows up to 7 x 7 and 0.16 beyond, for noise of 25/255 in three channels: here it is over
/// the distance that this noise makes, 6 sigma^2.
fn goossens_h(search: usize) -> f32 {
    if search <= 7 { 2.25 } else { 2.77 }
}

from_name!(Profile, "profile");
