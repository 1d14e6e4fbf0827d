//! A curve as files have it.

use serde::{Deserialize, Serialize};

use super::Curve;
use crate::{Error, Result};

/// A kind and its numbers, on the scale on which white is 255.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Stored {
    /// `variance = gain * brightness + floor`
    PoissonGauss { gain: f32, floor: f32 },
    /// Pairs of brightness and deviation.
    Points { points: Vec<[f32; 2]> },
}

impl TryFrom<Stored> for Curve {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        match stored {
            Stored::PoissonGauss { gain, floor } => Self::poisson_gauss(gain, floor),
            Stored::Points { points } => {
                Self::from_points(&points.into_iter().map(|[y, s]| (y, s)).collect::<Vec<_>>())
            }
        }
    }
}

impl From<Curve> for Stored {
    fn from(curve: Curve) -> Self {
        match curve.gain_and_floor() {
            Some((gain, floor)) => Self::PoissonGauss { gain, floor },
            None => Self::Points { points: curve.points().into_iter().map(|(y, s)| [y, s]).collect() },
        }
    }
}
