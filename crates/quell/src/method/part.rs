//! Some of a picture: rows and columns that are filtered without the others, and those of the picture of half the size.

use std::ops::Range;

/// A rectangle of a picture that is filtered without the rest: often some rows, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub(crate) rows: Span,
    pub(crate) columns: Span,
}

/// What is given and what is wanted along one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The side of the whole picture.
    pub(crate) whole: usize,
    /// What is given.
    pub(crate) read: Range<usize>,
    /// What of that is wanted: what becomes of the rest is undefined.
    pub(crate) write: Range<usize>,
}

impl Part {
    /// The rows of the picture that have to be given.
    pub fn read(&self) -> Range<usize> {
        self.rows.read.clone()
    }

    /// The rows of the picture that are wanted.
    pub fn write(&self) -> Range<usize> {
        self.rows.write.clone()
    }

    /// The same, counted from the first row that is given.
    pub fn kept(&self) -> Range<usize> {
        self.rows.kept()
    }

    /// The columns of the picture that have to be given.
    pub fn read_columns(&self) -> Range<usize> {
        self.columns.read.clone()
    }

    /// The columns of the picture that are wanted.
    pub fn write_columns(&self) -> Range<usize> {
        self.columns.write.clone()
    }

    /// The same, counted from the first column that is given.
    pub fn kept_columns(&self) -> Range<usize> {
        self.columns.kept()
    }

    /// The same where `reach` pixels around are wanted, too.
    pub(super) fn wider(&self, reach: usize) -> Self {
        Self { rows: self.rows.wider(reach), columns: self.columns.wider(reach) }
    }

    /// The same where no more than `margin` rows around are given, from a multiple of `grid`. Columns stay: rows are what is
    /// cheap to leave out.
    pub(super) fn narrower(&self, margin: usize, grid: usize) -> Self {
        let Span { whole, read, write } = &self.rows;
        let around = Span::around(*whole, write.clone(), margin, grid);
        let read = around.read.start.max(read.start)..around.read.end.min(read.end);
        Self { rows: Span { read, ..around }, ..self.clone() }
    }

    /// What of the picture of half the size lies in it, and what results depend on.
    pub(super) fn coarser(&self) -> Self {
        Self { rows: self.rows.coarser(), columns: self.columns.coarser() }
    }
}

impl Span {
    /// All of a side.
    pub(super) fn all(whole: usize) -> Self {
        Self { whole, read: 0..whole, write: 0..whole }
    }

    /// What is wanted, and `margin` around it, from a multiple of `grid`.
    pub(super) fn around(whole: usize, write: Range<usize>, margin: usize, grid: usize) -> Self {
        let first = write.start.saturating_sub(margin) / grid * grid;
        Self { whole, read: first..write.end.saturating_add(margin).min(whole), write }
    }

    fn kept(&self) -> Range<usize> {
        self.write.start - self.read.start..self.write.end - self.read.start
    }

    fn wider(&self, reach: usize) -> Self {
        let (start, end) = (self.write.start.saturating_sub(reach), self.write.end.saturating_add(reach));
        Self { write: start.max(self.read.start)..end.min(self.read.end), ..self.clone() }
    }

    fn coarser(&self) -> Self {
        let (whole, read) = (self.whole / 2, self.read.start / 2..self.read.end / 2);
        let start = (self.write.start / 2).saturating_sub(COARSE_REACH).max(read.start);
        let end = (self.write.end.div_ceil(2) + COARSE_REACH).min(read.end);
        Self { whole, write: start..end, read }
    }
}

/// Rows of the picture of half the size, on both sides, that a row depends on: one by blurring, one by interpolation.
pub(super) const COARSE_REACH: usize = 2;
/// Rows of its own size: those that these are the means of.
pub(super) const FINE_REACH: usize = 2 * COARSE_REACH + 1;
