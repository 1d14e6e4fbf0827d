//! Between the caller's samples and the channels that a method filters: what a device does not do by itself is done here,
//! around its sequence, and is the same for pictures, samples and video.

mod colors;
mod each;
mod stabilise;
mod unclip;

use super::Sequence;
use crate::method::{Front, Plan};
use crate::{ColorMode, Result};
use colors::Converted;
use each::Each;
use stabilise::Stabilised;
use unclip::Unclipped;

/// What the sequences of a device take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// Samples of any type; colours are converted by the device.
    Colors,
    /// Channels, as samples of any type.
    Samples,
    /// Channels, as floats on the scale of the method.
    Floats,
}

/// Opens a plan on a device, with whatever has to stand around it.
pub(super) fn open(
    plan: &Plan,
    takes: Takes,
    open: impl Fn(&Plan) -> Result<Box<dyn Sequence>>,
) -> Result<Box<dyn Sequence>> {
    layers(plan, takes, &open)
}

fn layers(
    plan: &Plan,
    takes: Takes,
    open: &dyn Fn(&Plan) -> Result<Box<dyn Sequence>>,
) -> Result<Box<dyn Sequence>> {
    let front = plan.front().clone();
    if let Some(sigma) = front.unclip {
        let inside = plan.with_front(Front { unclip: None, ..front.clone() });
        return Ok(Box::new(Unclipped::new(layers(&inside, takes, open)?, plan, sigma)));
    }
    if let Some(curve) = &front.curve {
        let inside = plan.with_front(Front { color: front.color, ..Front::channels(255.0) });
        // The next round looks at rows that are not wanted in the end.
        let inside = if plan.rounds() > 1 { inside.with_all_rows() } else { inside };
        return Ok(Box::new(Stabilised::new(layers(&inside, takes, open)?, plan, curve.clone())));
    }
    let converted = || -> Result<Box<dyn Sequence>> {
        let channels = plan.with_front(Front::channels(front.white * plan.scale()));
        Ok(Box::new(Converted::new(open(&channels)?, plan)))
    };
    match front.color {
        Some(ColorMode::Independent) => {
            let alone = plan.with_front(Front { color: None, ..front.clone() });
            let each = (0..3).map(|_| layers(&alone, takes, open)).collect::<Result<Vec<_>>>()?;
            Ok(Box::new(Each::new(each)))
        }
        // What is left of colours whose luma alone is filtered has to wait for it somewhere.
        Some(mode) if takes != Takes::Colors || mode == ColorMode::Luma => converted(),
        None if takes == Takes::Floats => converted(),
        _ => open(plan),
    }
}
