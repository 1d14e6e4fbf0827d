//! What stands between samples and the channels that a method filters.

use std::sync::Arc;

use crate::noise::{Curve, Ends};
use crate::{ColorMode, Error, Result};

/// How samples become channels, and results samples again.
#[derive(Clone, Debug, PartialEq)]
pub struct Front {
    /// The sample value of white; integers are clipped to it.
    pub white: f32,
    /// The planes are red, green and blue, and are filtered in this space: all three channels of it, only the first
    /// ([`ColorMode::Luma`]), or one by one ([`ColorMode::Independent`]). `None`: the planes are the channels.
    pub color: Option<ColorMode>,
    /// What clipping at black and white did to the noise is undone.
    pub unclip: Option<Unclip>,
    /// The deviation of the noise by brightness: the work is done on the scale on which it is the same everywhere, with
    /// white at 255.
    pub curve: Option<Arc<Curve>>,
    /// What of the noisy samples is mixed into the result.
    pub mix: Mix,
}

/// Undoes what clipping did to noise ([`noise::undo_clipping`](crate::noise::undo_clipping)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unclip {
    /// The deviation of the noise, in the units of the samples.
    pub sigma: f32,
    /// Where it was clipped. `None`: every frame is looked at.
    pub ends: Option<Ends>,
}

/// What of the residue r = noisy - clean comes back: (grain + detail w) r, where w says how much of r around a pixel is
/// more than noise: max(0, 1 - 1.5 sigma^2 / mean of r^2 over 5 x 5).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mix {
    /// How much of what is structure, 0 to 1.
    pub detail: f32,
    /// How much of everything, 0 to 1.
    pub grain: f32,
    /// The deviation of the noise, in the units of the samples.
    pub sigma: f32,
}

impl Mix {
    /// Rows around a row that it looks at.
    pub(crate) const REACH: usize = 2;

    /// Whether nothing comes back.
    pub fn is_none(&self) -> bool {
        self.detail == 0.0 && self.grain == 0.0
    }

    /// Both parts must lie in 0..=1.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [("detail", self.detail), ("grain", self.grain)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::parameter(name, value, "must lie between 0 and 1"));
            }
        }
        Ok(())
    }
}

impl Front {
    /// The planes are the channels.
    pub fn channels(white: f32) -> Self {
        Self { white, color: None, unclip: None, curve: None, mix: Mix::default() }
    }

    /// That of the picture of half the size: what is done to samples and results is done once, to the picture itself.
    pub(super) fn of_coarser(&self) -> Self {
        Self { color: self.color, ..Self::channels(self.white) }
    }

    /// Rows around a row of the result that it looks at.
    pub(crate) fn reach(&self) -> usize {
        let unclip = if self.unclip.is_some() { crate::noise::UNCLIP_REACH } else { 0 };
        unclip + if self.mix.is_none() { 0 } else { Mix::REACH }
    }
}
