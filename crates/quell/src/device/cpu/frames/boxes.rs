//! Means over the box of every pixel of a part of a picture. Sums are made anew for every box, not kept running: they are
//! the same wherever the parts begin.

use std::ops::Range;

use super::padded::Layout;
use crate::device::cpu::simd::Simd;
use crate::isoline::Square;

/// A part of a picture and what its squares reach, in buffers with rows of `wide` samples that begin left of the part.
pub(in crate::device) struct Part {
    layout: Layout,
    first: usize,
    rows: usize,
    columns: Range<usize>,
    square: Square,
    /// Columns of the buffer before the part, a multiple of 8.
    left: usize,
    /// Columns of the buffer.
    pub(in crate::device) wide: usize,
    /// Rows of the picture that the squares reach: the first, and how many.
    top: usize,
    pub(in crate::device) tall: usize,
}

impl Part {
    /// `first` and `columns` must begin at a multiple of 8: cells do.
    pub(in crate::device) fn new(
        layout: Layout,
        first: usize,
        rows: usize,
        columns: Range<usize>,
        square: Square,
    ) -> Self {
        let left = square.reach().next_multiple_of(8);
        let top = first.saturating_sub(square.margin);
        let bottom = (first + rows.next_multiple_of(square.cell) + square.margin).min(layout.height);
        let wide = columns.len().next_multiple_of(8) + 2 * left;
        Self { layout, first, rows, columns, square, left, wide, top, tall: bottom - top }
    }

    /// The vectors of the part, as columns of the buffer.
    pub(in crate::device) fn vectors(&self) -> impl Iterator<Item = usize> + use<> {
        (self.left..self.left + self.columns.len()).step_by(8)
    }

    /// The column of the picture that is column `x` of the buffer.
    pub(in crate::device) fn column(&self, x: usize) -> usize {
        self.columns.start + x - self.left
    }

    /// The row of the picture that is row `row` of the buffer.
    pub(in crate::device) fn row(&self, row: usize) -> usize {
        self.top + row
    }

    /// The row of the buffer that is the part's row `y`.
    pub(in crate::device) fn inside(&self, y: usize) -> usize {
        self.first + y - self.top
    }

    /// Where the part's row `y` and the buffer's column `x` are in a band.
    pub(in crate::device) fn to(&self, y: usize, x: usize) -> usize {
        y * self.layout.stride + self.layout.margin + self.column(x)
    }
}

/// Buffers for the sums of one part.
pub(in crate::device) struct BoxSums {
    line: Vec<f32>,
    across: Vec<f32>,
}

impl BoxSums {
    pub(in crate::device) fn new(part: &Part) -> Self {
        Self { line: vec![0.0; part.wide], across: vec![0.0; part.wide * part.tall] }
    }

    /// The means of `value(row of the buffer, column of the buffer, index in a plane)` over boxes. Values outside of the
    /// picture are those of its edge. `out` has a row of `wide` for each row of the part.
    #[inline(always)]
    pub(in crate::device) fn means<S: Simd>(
        &mut self,
        part: &Part,
        mut value: impl FnMut(usize, usize, usize) -> S::F32,
        out: &mut [f32],
    ) {
        let Part { layout, square, left, wide, .. } = *part;
        let (cell, margin, side) = (square.cell, square.margin, square.side());
        assert!(out.len() >= part.rows * wide && self.across.len() >= part.tall * wide);
        assert!(self.line.len() >= wide && left >= square.reach());
        for row in 0..part.tall {
            // Only columns inside of the picture: values beyond its borders are not what a filter sees there.
            for x in (0..wide).step_by(8) {
                let Some(column) = (part.columns.start + x).checked_sub(left) else { continue };
                if column < layout.width {
                    let v = value(row, x, layout.index(part.top + row, column));
                    // SAFETY: `line` has `wide` samples, a multiple of 8.
                    unsafe { S::store(self.line.as_mut_ptr().add(x), v) };
                }
            }
            if part.columns.start == 0 {
                let edge = self.line[left];
                self.line[left - margin..left].fill(edge);
            }
            let end = left + layout.width - part.columns.start;
            if end < wide {
                let edge = self.line[end - 1];
                self.line[end..wide.min(end + square.reach())].fill(edge);
            }
            if cell > 1 {
                // Down the columns first: there are fewer sums along rows, then.
                self.across[row * wide..][..wide].copy_from_slice(&self.line);
                continue;
            }
            for x in part.vectors() {
                // SAFETY: the vectors of a part are `left` columns or more, so `margin`, from both ends of the line.
                unsafe {
                    let p = self.line.as_ptr().add(x - margin);
                    let mut sum = S::load(p);
                    for i in 1..side {
                        sum = S::add(sum, S::load(p.add(i)));
                    }
                    S::store(self.across.as_mut_ptr().add(row * wide + x), sum);
                }
            }
        }
        let area = 1.0 / (side * side) as f32;
        for y in (0..part.rows).step_by(cell) {
            let reach = cell - 1 + margin;
            let above = (part.first + y).saturating_sub(margin) - part.top;
            let below = (part.first + y + reach).min(layout.height - 1) - part.top;
            // How often the first and the last row count, where the box goes beyond the picture.
            let upper = margin - (part.first + y).min(margin);
            let lower = (part.first + y + reach).saturating_sub(layout.height - 1);
            let columns = if cell > 1 { 0..wide } else { left..left + part.columns.len() };
            for x in columns.step_by(8) {
                // SAFETY: rows `above` to `below` are among the `tall` of `across`; `out` and `line` were checked.
                unsafe {
                    let p = self.across.as_ptr().add(x);
                    let mut sum = S::load(p.add(above * wide));
                    for row in above + 1..=below {
                        sum = S::add(sum, S::load(p.add(row * wide)));
                    }
                    if upper > 0 {
                        sum = S::fma(S::splat(upper as f32), S::load(p.add(above * wide)), sum);
                    }
                    if lower > 0 {
                        sum = S::fma(S::splat(lower as f32), S::load(p.add(below * wide)), sum);
                    }
                    let to = if cell > 1 {
                        self.line.as_mut_ptr().add(x)
                    } else {
                        out.as_mut_ptr().add(y * wide + x)
                    };
                    S::store(to, S::mul(sum, S::splat(area)));
                }
            }
            if cell > 1 {
                let row = &mut out[y * wide..];
                for x in (left..left + part.columns.len()).step_by(cell) {
                    let sum: f32 = self.line[x - margin..][..side].iter().sum();
                    row[x..x + cell].fill(sum);
                }
                for below in 1..cell.min(part.rows - y) {
                    out.copy_within(y * wide..(y + 1) * wide, (y + below) * wide);
                }
            }
        }
    }
}
