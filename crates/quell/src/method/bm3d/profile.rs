//! Named sets of parameters: quell's own, the papers' and the authors'.

use super::{Params, PassParams, Weight};
use crate::ColorMode;
use crate::method::frames;
use crate::method::parameter::from_name;
use crate::transform::Transform::{Bior, Dct, Haar};

/// A named set of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// quell's fastest.
    Fast,
    /// Between fast and normal.
    Middle,
    /// quell's default: the published quality.
    #[default]
    Normal,
    /// quell's best.
    High,
    /// The thesis's profile with DCT in both passes.
    Original,
    /// The thesis's profile for speed.
    Modified,
    /// The authors' low-complexity profile.
    Lc,
    /// The authors' normal profile.
    Np,
    /// The authors' profile for strong noise (Hou et al. 2011).
    Vn,
}

impl Profile {
    /// Every profile, in the order of `--help`.
    pub const ALL: [Self; 9] = [
        Self::Fast,
        Self::Middle,
        Self::Normal,
        Self::High,
        Self::Original,
        Self::Modified,
        Self::Lc,
        Self::Np,
        Self::Vn,
    ];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Middle => "middle",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Original => "original",
            Self::Modified => "modified",
            Self::Lc => "lc",
            Self::Np => "np",
            Self::Vn => "vn",
        }
    }

    /// What it is, in a few words.
    pub fn help(self) -> &'static str {
        match self {
            Self::Fast => "quell's fastest, for previews and video",
            Self::Middle => "most of the quality in a fraction of the time",
            Self::Normal => "the published quality",
            Self::High => "a little better, three times as slow",
            Self::Original => "settings of the GPU thesis, DCT in both passes",
            Self::Modified => "settings of the GPU thesis for speed",
            Self::Lc => "the authors' low-complexity profile",
            Self::Np => "the authors' normal profile",
            Self::Vn => "the authors' profile for strong noise",
        }
    }

    /// The parameters for noise of deviation `sigma` on the 0..255 scale.
    ///
    /// Above 40 the profiles switch to their settings for strong noise, as the authors' program does.
    pub fn params(self, sigma: f32) -> Params {
        let noisy = sigma > 40.0;
        // The authors' pass: 8 x 8 patches, Haar across the group, Kaiser window 2.
        let pass = |transform, step, window, group, tau| PassParams {
            patch: 8,
            step,
            window,
            group,
            tau,
            transform,
            stack: Haar,
            beta: 2.0,
            lambda2d: 0.0,
            exact: false,
            weight: Weight::Variance,
        };
        // The authors know of no frames.
        let own = matches!(self, Self::Fast | Self::Middle | Self::Normal | Self::High);
        let frames = if own { frames::AROUND } else { 0 };
        let method = |hard, lambda, wiener, mu2| Params {
            hard,
            lambda,
            wiener,
            mu2,
            passes: 2,
            color: ColorMode::Opp,
            past: frames,
            future: frames,
            motion: frames::MOTION,
            frame_threshold: frames::THRESHOLD,
        };
        // quell's own passes, tuned on Set12. Both taus leave room for the noise of the distance, 2 sigma^2;
        // beyond that, how large they are hardly matters.
        let own = |step: (usize, usize), window: (usize, usize), group: (usize, usize), exact, mu2| {
            let hard = PassParams {
                exact,
                weight: Weight::Deviation,
                ..pass(Bior, step.0, window.0, group.0, (6.0 * sigma * sigma).clamp(4000.0, 65000.0))
            };
            let wiener = PassParams {
                beta: 1.5,
                exact,
                ..pass(Dct, step.1, window.1, group.1, (40.0 * sigma).clamp(1000.0, 16000.0))
            };
            method(hard, 2.8, wiener, mu2)
        };
        let groups = |few: (usize, usize)| if noisy { (32, 32) } else { few };
        // With exact variances the Wiener filter wants less noise than there is, but for weak noise.
        let gentle = (0.9 - 0.02 * sigma).clamp(0.6, 0.8);
        match self {
            Self::Fast => own((6, 6), (15, 9), (8, 8), false, 1.0),
            Self::Middle => own((4, 4), (31, 23), (16, 16), true, gentle),
            Self::Normal => own((3, 3), (39, 39), groups((16, 16)), true, gentle),
            Self::High => own((2, 2), (45, 39), groups((16, 32)), true, gentle),
            Self::Original => method(pass(Dct, 3, 39, 16, 2500.0), 2.7, pass(Dct, 3, 39, 32, 400.0), 1.0),
            Self::Modified => {
                let flat = |step, tau| PassParams { beta: 0.0, ..pass(Dct, step, 21, 8, tau) };
                method(flat(7, 2500.0), 2.7, flat(7, 400.0), 1.0)
            }
            Self::Lc if !noisy => {
                method(pass(Bior, 6, 25, 16, 3000.0), 2.7, pass(Dct, 5, 25, 16, 400.0), 1.0)
            }
            Self::Np if !noisy => {
                method(pass(Bior, 3, 39, 16, 3000.0), 2.7, pass(Dct, 3, 39, 32, 400.0), 1.0)
            }
            Self::Lc | Self::Np | Self::Vn => {
                let wiener = PassParams { patch: 11, ..pass(Dct, 6, 39, 32, 3500.0) };
                method(pass(Bior, 4, 39, 32, 25000.0), 2.8, wiener, 1.0)
            }
        }
    }

    /// The parameters for RGB pictures. Patches are grouped once for three channels, so quell's better profiles
    /// search further and take larger groups there: on 12 Kodak pictures at sigma 25 that gives 0.08 dB.
    pub fn color_params(self, sigma: f32) -> Params {
        let mut params = self.params(sigma);
        if matches!(self, Self::Normal | Self::High) {
            (params.hard.window, params.wiener.window) = (59, 59);
            params.wiener.group = 32;
        }
        params
    }
}

from_name!(Profile, "profile");
