//! Noise that is correlated between channels and in space.
//!
//! NL-means averages pixels whose patches are alike. Where the noise is correlated, patches near each other share their
//! noise and look more alike than they are, and directions of colour or frequencies with much noise drown the others.
//! Distances are therefore computed on a guide, in which the noise is nearly white ([`Whitening`]); what is averaged are
//! the samples themselves (Goossens et al. 2008, 2010).
//!
//! ```
//! use quell::noise::correlated::{Correlation, Kernel, PsdSource};
//! use quell::{Frame, Plane};
//! let clean = Frame::grey(Plane::from_vec(160, 128, vec![100.0; 20480])?, 255.0)?;
//! let noisy = Kernel::G1.add(&clean, 25.0, None, 0)?;
//! let correlation = Correlation { psd: Some(PsdSource::Auto), ..Correlation::default() };
//! let whitening = correlation.resolve(&noisy.view(), None)?;
//! let guide = whitening.guide(noisy.view().planes())?;
//! assert_eq!(guide.len(), 1);
//! # Ok::<(), quell::Error>(())
//! ```

mod covariance;
mod flat;
mod fourier;
mod kernel;
mod psd;
#[cfg(test)]
mod tests;
mod whitening;

pub use covariance::Covariance;
pub use kernel::Kernel;
pub use psd::Psd;
pub use whitening::Whitening;

use super::{Estimator, estimate};
use crate::{FrameView, Result};

/// Three rows of three numbers.
type Matrix = [[f64; 3]; 3];

/// Less noise than this part of white is the rounding of `f32`.
const ROUNDING: f32 = 1e-6;

/// Where the covariance of the channels comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CovarianceSource {
    /// It is known, in squared units of the samples.
    Known(Covariance),
    /// It is estimated from flat areas. A grey picture has none.
    Auto,
}

/// Where the power spectrum comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum PsdSource {
    /// It is known, for pictures of its size, in squared units of the samples.
    Known(Psd),
    /// It is estimated from flat areas.
    Auto,
}

/// How noise is correlated, as far as it is to be taken into account. The same spectrum is assumed for all channels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correlation {
    /// Between channels.
    pub covariance: Option<CovarianceSource>,
    /// In space.
    pub psd: Option<PsdSource>,
}

impl Correlation {
    /// Nothing is to be taken into account.
    pub fn is_none(&self) -> bool {
        self.covariance.is_none() && self.psd.is_none()
    }

    /// The same for samples in units `factor` times as small.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            covariance: self.covariance.map(|c| match c {
                CovarianceSource::Known(c) => CovarianceSource::Known(c.scaled(factor)),
                CovarianceSource::Auto => CovarianceSource::Auto,
            }),
            psd: self.psd.as_ref().map(|p| match p {
                PsdSource::Known(p) => PsdSource::Known(p.scaled(factor)),
                PsdSource::Auto => PsdSource::Auto,
            }),
        }
    }

    /// What makes the guides of this picture, or of all frames of a video whose first one this is.
    ///
    /// `sigma` is the level of the noise, the root of the channels' mean variance, in units of the samples. If it is given,
    /// covariance and spectrum count by their shape only. Otherwise the level is that of the covariance if it is known,
    /// else that of the spectrum if it is known, else what flat areas show.
    pub fn resolve(&self, frame: &FrameView<'_>, sigma: Option<f32>) -> Result<Whitening> {
        frame.check_finite()?;
        let (width, height) = (frame.width(), frame.height());
        let colour = frame.channels() == 3;
        let auto =
            (colour && self.covariance == Some(CovarianceSource::Auto)) || self.psd == Some(PsdSource::Auto);
        let found = if auto { Some(flat::Found::new(frame)?) } else { None };
        let psd = match (&self.psd, &found) {
            (Some(PsdSource::Known(p)), _) => {
                p.check_size(width, height)?;
                Some(p.clone())
            }
            (Some(PsdSource::Auto), Some(found)) => Some(found.psd(width, height)?),
            _ => None,
        };
        let covariance = match (&self.covariance, &found) {
            (Some(CovarianceSource::Known(c)), _) => Some(*c),
            (Some(CovarianceSource::Auto), Some(found)) if colour => Some(found.covariance(psd.as_ref())?),
            _ => None,
        };
        let variance = match (sigma, &self.covariance, &self.psd) {
            (Some(sigma), ..) => f64::from(sigma).powi(2),
            (None, Some(CovarianceSource::Known(c)), _) => c.variance(),
            (None, _, Some(PsdSource::Known(p))) => p.variance(),
            _ => match (&psd, &covariance) {
                (Some(psd), _) => psd.variance(),
                (None, Some(covariance)) => covariance.variance(),
                (None, None) => f64::from(estimate(frame, Estimator::Ponomarenko)?).powi(2),
            },
        };
        Whitening::new((width, height), frame.channels(), variance.sqrt(), covariance, psd)
    }
}
