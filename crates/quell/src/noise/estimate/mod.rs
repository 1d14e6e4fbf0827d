//! Estimators of the deviation of white noise from a single picture.

mod blocks;
mod dct;
mod eigen;
mod mad;
mod pca;

use crate::{Error, FrameView, Result};

/// How the noise is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Estimator {
    /// Median of the finest diagonal wavelet band (Donoho).
    #[default]
    Mad,
    Ponomarenko,
    Pca,
}

impl Estimator {
    /// Every estimator, in the order of `--help`.
    pub const ALL: [Self; 3] = [Self::Ponomarenko, Self::Pca, Self::Mad];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mad => "mad",
            Self::Ponomarenko => "ponomarenko",
            Self::Pca => "pca",
        }
    }
}

impl std::str::FromStr for Estimator {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|e| e.name() == s)
            .ok_or_else(|| Error::parameter("estimator", s, "one of ponomarenko, pca, mad"))
    }
}

/// Deviation of the noise in the frame's own units, the mean over its channels.
pub fn estimate(frame: &FrameView<'_>, estimator: Estimator) -> Result<f32> {
    match estimator {
        Estimator::Mad =>
    Ok(frame.planes().iter().map(mad::estimate).sum::<f32>() / frame.channels() as f32),
        Estimator::Ponomarenko => Ok(dct::estimate(frame).unwrap_or(0.0) as f32),
        Estimator::Pca => Ok(pca::estimate(frame).unwrap_or(0.0) as f32),
    }
}
