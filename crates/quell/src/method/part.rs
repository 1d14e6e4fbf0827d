//! Some rows of a picture, and those of the picture of half the size.

use std::ops::Range;

/// Some rows of a picture that are filtered without the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Rows of the whole picture.
    pub(crate) height: usize,
    /// The rows that are given.
    pub(crate) read: Range<usize>,
    /// The rows of them that are wanted: what becomes of the others is undefined.
    pub(crate) write: Range<usize>,
}

impl Part {
    /// The rows of the picture that have to be given.
    pub fn read(&self) -> Range<usize> {
        self.read.clone()
    }

    /// The rows of the picture that are wanted.
    pub fn write(&self) -> Range<usize> {
        self.write.clone()
    }

    /// The same, counted from the first row that is given.
    pub fn kept(&self) -> Range<usize> {
        self.write.start - self.read.start..self.write.end - self.read.start
    }

    /// The same where `reach` rows around are wanted, too.
    pub(super) fn wider(&self, reach: usize) -> Self {
        let (start, end) = (self.write.start.saturating_sub(reach), self.write.end.saturating_add(reach));
        Self { write: start.max(self.read.start)..end.min(self.read.end), ..self.clone() }
    }

    /// The same where no more than `margin` rows around are given, from a multiple of `grid`.
    pub(super) fn narrower(&self, margin: usize, grid: usize) -> Self {
        let start = self.write.start.saturating_sub(margin) / grid * grid;
        let end = self.write.end.saturating_add(margin).min(self.read.end);
        Self { read: start.max(self.read.start)..end, ..self.clone() }
    }

    /// The rows of the picture of half the size that lie in it, and those that results depend on.
    pub(super) fn coarser(&self) -> Self {
        let (height, read) = (self.height / 2, self.read.start / 2..self.read.end / 2);
        let start = (self.write.start / 2).saturating_sub(COARSE_REACH).max(read.start);
        let end = (self.write.end.div_ceil(2) + COARSE_REACH).min(read.end);
        Self { height, write: start..end, read }
    }
}

/// Rows of the picture of half the size, on both sides, that a row depends on: one by blurring, one by interpolation.
pub(super) const COARSE_REACH: usize = 2;
/// Rows of its own size: those that these are the means of.
pub(super) const FINE_REACH: usize = 2 * COARSE_REACH + 1;
