//! Methods that look at several frames: what a device keeps between the frames of a video.

use super::{Samples, SamplesMut};
use crate::nlm::Plan;
use crate::{Control, Error, Result};

/// One frame on its way to a device.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The planes that are filtered, in their own units; all of one type.
    pub planes: &'a [Samples<'a>],
    /// The planes that patches are compared on, if not the same; of floats.
    pub guide: &'a [Samples<'a>],
}

/// A method at work on the frames of a video, on one device. Frames go in and come out in order; a picture is a video of
/// one frame. After an error it is of no further use.
pub trait Sequence: Send {
    /// Takes the next frame; its samples have been read when this returns.
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()>;

    /// Filters the oldest frame that has not been, with the frames around it that are there, into `to` (integers are
    /// rounded, and clipped to the plan's white). For the full window as many frames as the plan's `future` must have
    /// been pushed after it. An error if every frame has been filtered.
    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()>;
}

/// A frame must have the planes of the plan.
pub(crate) fn check_input(plan: &Plan, frame: &Input<'_>) -> Result<()> {
    if frame.planes.len() != plan.channels || frame.guide.len() != plan.guides {
        return Err(Error::Shape(format!(
            "{} planes and {} guide planes are needed, not {} and {}",
            plan.channels,
            plan.guides,
            frame.planes.len(),
            frame.guide.len()
        )));
    }
    check_sizes(plan, frame.planes.iter().chain(frame.guide).map(Samples::len))
}

/// So must a result.
pub(crate) fn check_output(plan: &Plan, to: &[SamplesMut<'_>]) -> Result<()> {
    if to.len() != plan.channels {
        return Err(Error::Shape(format!("{} planes are needed, not {}", plan.channels, to.len())));
    }
    check_sizes(plan, to.iter().map(SamplesMut::len))
}

fn check_sizes(plan: &Plan, mut sizes: impl Iterator<Item = usize>) -> Result<()> {
    match sizes.find(|&n| n != plan.width * plan.height) {
        Some(n) => {
            Err(Error::Shape(format!("{n} samples cannot be a {} x {} plane", plan.width, plan.height)))
        }
        None => Ok(()),
    }
}

/// What a sequence says that has no frame to filter.
pub(crate) fn nothing_left() -> Error {
    Error::Shape("every frame has been filtered already".into())
}
