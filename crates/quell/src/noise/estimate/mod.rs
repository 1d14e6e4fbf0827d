//! Estimators of the deviation of white noise from a single picture.
//!
//! All of them are equivariant: a picture in other units gives the same estimate in those units. All of them
//! look at a bounded number of places, the same for the same size, so that large pictures cost little more than
//! small ones and the result never depends on threads or chance.

mod blocks;
mod dct;
mod eigen;
mod mad;
mod pca;

use serde::{Deserialize, Serialize};

use crate::{Error, FrameView, Result};

/// How the noise is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Estimator {
    /// High frequencies of the quietest blocks (after Ponomarenko et al.). The most accurate one by far where
    /// there is texture.
    #[default]
    Ponomarenko,
    /// Smallest principal components of patches (Chen et al. 2015). Too high on textured pictures with little
    /// noise.
    Pca,
    /// Median of the finest diagonal wavelet band (Donoho). The fastest; too high on textured pictures.
    Mad,
}

impl Estimator {
    /// Every estimator, in the order of `--help`.
    pub const ALL: [Self; 3] = [Self::Ponomarenko, Self::Pca, Self::Mad];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ponomarenko => "ponomarenko",
            Self::Pca => "pca",
            Self::Mad => "mad",
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

/// Deviation of the noise in the frame's own units: for colour, the root of the channels' mean variance.
///
/// 0 means that no noise was found: the picture is constant, or mostly made of areas of one exact value, as
/// drawings are. Pictures with too few blocks for the chosen estimator (sides below 8 pixels, hardly anything
/// that is not black or white) are estimated by [`Estimator::Mad`]; a single pixel gives 0.
///
/// ```
/// use quell::{Frame, Plane, noise};
/// let grey = Frame::grey(Plane::from_vec(64, 64, vec![0.5; 4096])?, 1.0)?;
/// let noisy = noise::add_gaussian(&grey, 0.1, 0)?;
/// let sigma = noise::estimate(&noisy.view(), noise::Estimator::default())?;
/// assert!((sigma - 0.1).abs() < 0.005);
/// # Ok::<(), quell::Error>(())
/// ```
pub fn estimate(frame: &FrameView<'_>, estimator: Estimator) -> Result<f32> {
    frame.check_finite()?;
    let found = match estimator {
        Estimator::Ponomarenko => dct::estimate(frame),
        Estimator::Pca => pca::estimate(frame),
        Estimator::Mad => None,
    };
    Ok(found.map_or_else(|| median_deviation(frame), |sigma| sigma as f32))
}

fn median_deviation(frame: &FrameView<'_>) -> f32 {
    let squares = frame.planes().iter().map(|p| mad::estimate(p).powi(2));
    (squares.sum::<f32>() / frame.channels() as f32).sqrt()
}
