//! Frames averaged along motion, for isolines, and in front of methods that take frames one by one: planes with a margin, the
//! motion of blocks, sums.

mod average;
mod boxes;
mod motion;
mod padded;

pub(in crate::device) use average::{Count, Frame, average};
pub(in crate::device::cpu) use boxes::{BoxSums, Part};
pub(in crate::device::cpu) use padded::{Band, each_band};
pub(in crate::device) use padded::{Layout, Padded, Pool};

use std::ops::Range;

/// Rows of a band.
pub(in crate::device::cpu) const ROWS: usize = 32;
/// Columns that are worked on at once where many values are kept of each.
const COLUMNS: usize = 512;

/// The columns of a picture, as many at a time as are worked on at once.
pub(in crate::device::cpu) fn columns(width: usize) -> impl Iterator<Item = Range<usize>> {
    (0..width).step_by(COLUMNS).map(move |x| x..(x + COLUMNS).min(width))
}
