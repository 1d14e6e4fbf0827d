//! Named sets of parameters: quell's own and the papers'.

use super::params::from_name;
use super::{Center, Params, Weight};
use crate::{Error, Result};

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
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Normal => "normal",
            Self::Ipol => "ipol",
            Self::Goossens => "goossens",
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
        };
        let patchwise = |patch, search, h| Params {
            weight: Weight::Gauss,
            center: Center::Max,
            correct: true,
            patchwise: true,
            ..bisquare(patch, search, h)
        };
        match self {
            Self::Fast => Params { center: Center::Max, ..bisquare(5, 13, 1.8) },
            Self::Normal => patchwise(7, 21, 0.45),
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
            // B = 4; h = 0.16 for windows beyond 7 x 7, here over 6 sigma^2 at sigma = 25/255. See `Plan::goossens_h`.
            Self::Goossens => bisquare(9, 11, GOOSSENS_LARGE),
        }
    }
}

/// h = 0.16 of the paper over the distance that noise of 25/255 makes in three channels.
const GOOSSENS_LARGE: f32 = 2.77;

from_name!(Profile, "profile");
