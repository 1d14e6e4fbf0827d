//! Groups of similar patches on the processor: units of reference patches, their groups, and how what becomes of them adds
//! up. For every method that groups patches.

pub(super) mod aggregate;
pub(super) mod matching;
pub(super) mod matrix;
mod scan;
mod select;
pub(super) mod unit;

/// Lanes of a vector of distances.
pub(in crate::device::cpu) use scan::LANES;
