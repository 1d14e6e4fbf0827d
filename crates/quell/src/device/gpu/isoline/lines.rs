//! PI-LD, PI-PD and the hybrid filter.

use super::frames::Frames;
use crate::Error;
use crate::device::SampleFormat;
use crate::device::gpu::clock::Clock;
use crate::device::gpu::{Runtime, Stop};
use crate::isoline::Map;

/// Filters the frame into the buffer of the result.
pub(super) fn filter<R: Runtime>(
    all: &mut Frames<R>,
    to: SampleFormat,
    clock: &mut Clock<R>,
) -> Result<(), Stop> {
    let _ = (to, clock);
    Err(not_yet(all).into())
}

/// What the filter knows, as floats into the buffer of the result.
pub(super) fn map<R: Runtime>(all: &mut Frames<R>, map: Map) -> Result<(), Stop> {
    let _ = map;
    Err(not_yet(all).into())
}

fn not_yet<R: Runtime>(all: &Frames<R>) -> Error {
    Error::Unsupported(format!("{}: {} is not offered", all.runtime.name(), all.plan.variant.name()))
}
