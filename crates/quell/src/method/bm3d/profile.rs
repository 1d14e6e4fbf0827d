//! Named sets of parameters: quell's own, the papers' and the authors'.

use super::{Params, PassParams};
use crate::transform::Transform::{Bior, Dct, Haar};
use crate::{ColorMode, Error, Result};

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
    pub fn name(self) -> &'static str {
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

    /// The parameters for noise of deviation `sigma` on the 0..255 scale.
    pub fn params(self, sigma: f32) -> Params {
        let noisy = sigma > 40.0;
        let pass = |step, window, group, tau, transform| PassParams {
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
        };
        let base = Params {
            hard: pass(3, 39, 16, if noisy { 5000.0 } else { 2500.0 }, Bior),
            lambda: 2.7,
            wiener: pass(3, 39, 32, if noisy { 3500.0 } else { 400.0 }, Dct),
            mu2: 1.0,
            passes: 2,
            color: ColorMode::Opp,
        };
        match self {
            Self::Np => base,
            _ => base,
        }
    }
}

impl std::str::FromStr for Profile {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|p| p.name() == s).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|p| p.name()).collect();
            Error::parameter("profile", s, format!("one of {}", names.join(", ")))
        })
    }
}
