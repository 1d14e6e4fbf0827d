//! Estimators of the deviation of white noise from a single picture.

mod mad;

use crate::{FrameView, Result};

/// How the noise is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Estimator {
    /// Median of the finest diagonal wavelet band (Donoho).
    #[default]
    Mad,
}

/// Deviation of the noise in the frame's own units, the mean over its channels.
pub fn estimate(frame: &FrameView<'_>, estimator: Estimator) -> Result<f32> {
    let per_plane = match estimator {
        Estimator::Mad => mad::estimate,
    };
    Ok(frame.planes().iter().map(per_plane).sum::<f32>() / frame.channels() as f32)
}
