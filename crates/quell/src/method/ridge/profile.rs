//! Named sets of parameters: quell's own, and the methods it grew out of as they were published.

use super::{Params, PilotKind, PilotParams};
use crate::ColorMode;
use crate::method::frames;
use crate::method::parameter::from_name;

/// A named set of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Two rounds.
    Fast,
    /// Four rounds.
    #[default]
    Normal,
    /// Eight rounds.
    High,
    /// Nine rounds, every other pixel a reference patch.
    Best,
    /// NL-Ridge as published (Herbreteau and Kervrann 2022).
    NlRidge,
    /// LIChI as published (the same 2022).
    Lichi,
}

impl Profile {
    /// Every profile, in the order of `--help`.
    pub const ALL: [Self; 6] = [Self::Fast, Self::Normal, Self::High, Self::Best, Self::NlRidge, Self::Lichi];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Best => "best",
            Self::NlRidge => "nl-ridge",
            Self::Lichi => "lichi",
        }
    }

    /// What it is, in a few words.
    pub fn help(self) -> &'static str {
        match self {
            Self::Fast => "two rounds from BM3D on",
            Self::Normal => "four rounds from BM3D on: 0.3 dB above BM3D",
            Self::High => "eight rounds: 0.4 dB above BM3D",
            Self::Best => "nine rounds, four times as many groups",
            Self::NlRidge => "NL-Ridge as published",
            Self::Lichi => "LIChI as published",
        }
    }

    /// The parameters for noise of deviation `sigma` on the 0..255 scale.
    pub fn params(self, sigma: f32) -> Params {
        // For patches on themselves; strong noise wants larger ones.
        let patch = if sigma > 30.0 { 13 } else { 11 };
        let pilot = |kind| PilotParams { kind, patch, group: 16, window: 33, step: 4, alpha: 0.5 };
        let own = |rounds, rematch, shift, start, blend, most, window, scales| Params {
            pilot: pilot(PilotKind::Normal),
            rounds,
            rematch,
            shift,
            start,
            blend,
            patch: 4,
            margin: 1,
            step: 4,
            window,
            least: 32,
            most,
            spread: 1.15,
            lambda: 1.0,
            mu: 0.24,
            center: true,
            scales,
            limit: 0.3,
            color: ColorMode::Opp,
            past: frames::AROUND,
            future: frames::AROUND,
            motion: frames::MOTION,
            frame_threshold: frames::THRESHOLD,
        };
        // Strong noise wants more patches.
        let most = if sigma > 40.0 { 96 } else { 64 };
        // Strong noise hides what is alike from the noisy patches themselves.
        let trust = if sigma.is_finite() { (sigma / 80.0).clamp(0.1, 0.7) } else { 0.7 };
        let normal = own(4, 2, 2, 0.65, 0.6, most, 39, 3);
        // One grouping, of as many patches as there are, without surroundings.
        let plain = |patch, group, window, step| Params {
            patch,
            margin: 0,
            step,
            window,
            least: group,
            most: group,
            shift: 0,
            lambda: 1.0,
            mu: 0.0,
            scales: 1,
            past: 0,
            future: 0,
            ..normal.clone()
        };
        match self {
            Self::Fast => own(2, 1, 2, 0.5, 0.7, most, 39, 3),
            Self::Normal => normal,
            // Regressions lead further than BM3D where there are rounds enough.
            Self::High => Params { pilot: pilot(PilotKind::Ridge), ..own(8, 2, 1, 0.85, trust, 96, 49, 3) },
            Self::Best => {
                let many = own(9, 3, 1, 0.85, trust, 96, 57, 3);
                Params { pilot: pilot(PilotKind::Ridge), step: 2, ..many }
            }
            Self::NlRidge => {
                let (own, group) = if sigma <= 35.0 { (9, 18) } else { (11, 20) };
                let first = if sigma <= 15.0 { 7 } else { own };
                let (patch, most) = match sigma {
                    ..=15.0 => (7, 55),
                    ..=35.0 => (9, 90),
                    _ => (9, 120),
                };
                Params {
                    pilot: PilotParams {
                        patch: first,
                        group,
                        window: 37,
                        alpha: 0.05_f32.sqrt(),
                        ..pilot(PilotKind::Ridge)
                    },
                    rounds: 1,
                    rematch: 1,
                    start: 0.0,
                    blend: 1.0,
                    center: false,
                    ..plain(patch, most, 37, 4)
                }
            }
            Self::Lichi => {
                let (patch, rounds) = match sigma {
                    ..=10.0 => (9, 6),
                    ..=30.0 => (11, 9),
                    _ => (13, 11),
                };
                Params {
                    pilot: PilotParams { patch, window: 65, step: 3, ..pilot(PilotKind::Ridge) },
                    rounds,
                    rematch: 3,
                    start: 0.75,
                    blend: 0.0,
                    ..plain(6, 64, 65, 3)
                }
            }
        }
    }
}

from_name!(Profile, "profile");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_valid_for_any_noise() {
        for profile in Profile::ALL {
            assert_eq!(profile.name().parse::<Profile>().unwrap(), profile);
            for sigma in [0.0, 1e-9, 0.5, 25.0, 1e9, f32::INFINITY, f32::NAN] {
                profile.params(sigma).validate().unwrap();
            }
        }
    }
}
