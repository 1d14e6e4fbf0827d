//! Between the caller's samples and the channels that a method filters: what a device does not do by itself is done here,
//! around its sequence, and is the same for pictures, samples and video.

mod averaged;
mod colors;
mod each;
mod layer;
mod mix;
mod pyramid;
mod scales;
mod stabilise;
mod unclip;

use super::Sequence;
use crate::method::{Front, Mix, Plan};
use crate::{ColorMode, Result};
use averaged::Averaged;
use colors::Converted;
use each::Each;
pub(super) use layer::host_only;
use layer::{Layer, Layered};
use mix::Mixed;
#[cfg(all(test, any(feature = "emulator", feature = "opencl")))]
pub(super) use pyramid::{down, merge};
use scales::Scaled;
use stabilise::Stabilised;
use unclip::Unclipped;

/// What the sequences of a device take: whoever takes something takes what is above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Takes {
    /// Channels, as floats on the scale of the method.
    Floats,
    /// Channels, as samples of any type.
    Samples,
    /// Samples of any type; colours are converted by the device.
    Colors,
    /// The same for plans of several sizes.
    Sizes,
    /// Colours, and frames that the device averages; of several sizes, each is averaged on its own.
    Frames,
}

/// Opens a plan on a device, with whatever has to stand around it.
pub(super) fn open(
    plan: &Plan,
    takes: Takes,
    open: impl Fn(&Plan) -> Result<Box<dyn Sequence>>,
) -> Result<Box<dyn Sequence>> {
    layers(plan, takes, &open)
}

fn layers(plan: &Plan, takes: Takes, open: Open<'_>) -> Result<Box<dyn Sequence>> {
    let front = plan.front().clone();
    // Frames are averaged on channels, by the host or by the device.
    let averaged = plan.frames().window().is_some();
    let by_host = averaged && takes < Takes::Frames;
    let takes = if by_host { takes.min(Takes::Samples) } else { takes };
    if !front.mix.is_none() {
        return layered(Mixed::new(plan), plan, Front { mix: Mix::default(), ..front }, takes, open);
    }
    if let Some(unclip) = front.unclip {
        return layered(Unclipped::new(plan, unclip), plan, Front { unclip: None, ..front }, takes, open);
    }
    if let Some(curve) = &front.curve {
        let inside = plan.with_front(Front { color: front.color, ..Front::channels(255.0) });
        // Every round but the last is needed as far around as the next one looks.
        let reach = (plan.rounds() - 1).saturating_mul(inside.halo());
        let inside = inside.wider(reach);
        return Ok(Box::new(Stabilised::new(layers(&inside, takes, open)?, plan, curve.clone())));
    }
    let sizes = (takes < Takes::Sizes || averaged) && plan.coarser().is_some();
    // What has a limit by channel is done to channels, and the rest to whatever comes first.
    let limited = !plan.limits().is_empty();
    if sizes && !limited {
        return scaled(plan, takes, open);
    }
    let converted = || -> Result<Box<dyn Sequence>> {
        let channels = plan.with_front(Front::channels(front.white * plan.scale()));
        Ok(Box::new(Converted::new(layers(&channels, takes.max(Takes::Samples), open)?, plan)))
    };
    match front.color {
        Some(ColorMode::Independent) => {
            let alone = plan.with_front(Front { color: None, ..front.clone() });
            let each = (0..3).map(|_| layers(&alone, takes, open)).collect::<Result<Vec<_>>>()?;
            Ok(Box::new(Each::new(each)))
        }
        // What is left of colours whose luma alone is filtered has to wait for it somewhere.
        Some(mode) if takes < Takes::Colors || mode == ColorMode::Luma || sizes => converted(),
        // Averages are made on the scale of the method.
        None if takes == Takes::Floats || by_host && plan.scale() != 1.0 => converted(),
        _ if sizes => scaled(plan, takes, open),
        _ => match plan.frames().window() {
            Some(frames) if by_host => Ok(Box::new(Averaged::new(open(&plan.counted())?, plan, frames)?)),
            _ => open(plan),
        },
    }
}

/// Both sizes of a plan, and around them what makes one of the other.
fn scaled(plan: &Plan, takes: Takes, open: Open<'_>) -> Result<Box<dyn Sequence>> {
    let Some((fine, rows, coarse)) = plan.scales() else { return layers(plan, takes, open) };
    let (fine, coarse) = (layers(&fine, takes, open)?, layers(&coarse, takes, open)?);
    Ok(Box::new(Scaled::new(fine, rows, coarse, plan)))
}

type Open<'a> = &'a dyn Fn(&Plan) -> Result<Box<dyn Sequence>>;

/// A layer of a plan, and inside it the plan with the rest of its front.
fn layered<L: Layer + 'static>(
    layer: L,
    plan: &Plan,
    rest: Front,
    takes: Takes,
    open: Open<'_>,
) -> Result<Box<dyn Sequence>> {
    let inner = layers(&plan.with_front(rest).wider(L::REACH), takes, open)?;
    Ok(Box::new(Layered::new(inner, layer, plan)))
}
