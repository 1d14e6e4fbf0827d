//! The samples of a frame: kept by rows, laid out by lanes for a tile.

use super::aligned::{Aligned, spread_rows};
use super::grid::{Grid, Tile, V, lanes};
use crate::device::Samples;
use crate::device::cpu::simd::{Simd, Wide};
use crate::nlm::fold;

/// A plane whose rows go on as in a mirror on both sides, as far as any tile reads.
#[derive(Clone, Debug)]
pub(super) struct Mirrored {
    data: Vec<f32>,
    stride: usize,
    reach: usize,
    height: usize,
}

impl Mirrored {
    /// Zeros.
    pub(super) fn new(grid: &Grid) -> Self {
        let reach = grid.margin + grid.reach;
        // Lanes are loaded in steps of 8 columns.
        let tile = grid.lanes * grid.columns + 2 * grid.reach + 8;
        let stride = ((grid.across - 1) * grid.wide + tile).max(grid.width + 2 * reach);
        Self { data: vec![0.0; stride * grid.height], stride, reach, height: grid.height }
    }

    /// A plane of samples, and their least and greatest value if all are whole numbers.
    pub(super) fn from_samples(grid: &Grid, samples: Samples<'_>) -> (Self, Option<(f32, f32)>) {
        let mut plane = Self::new(grid);
        let mut range = Some((f32::INFINITY, f32::NEG_INFINITY));
        for y in 0..grid.height {
            let row = plane.row_mut(y, grid.width);
            let from = y * grid.width..(y + 1) * grid.width;
            match samples {
                Samples::U8(v) => row.iter_mut().zip(&v[from]).for_each(|(to, &v)| *to = v.into()),
                Samples::U16(v) => row.iter_mut().zip(&v[from]).for_each(|(to, &v)| *to = v.into()),
                Samples::F32(v) => row.copy_from_slice(&v[from]),
            }
            range = range.and_then(|range| whole_range(row, range));
        }
        plane.mirror(grid.width);
        (plane, range)
    }

    /// A row of the picture, and what comes after it in the mirror.
    pub(super) fn row(&self, y: usize) -> &[f32] {
        &self.data[y * self.stride + self.reach..(y + 1) * self.stride]
    }

    /// The samples of a row of the picture.
    pub(super) fn row_mut(&mut self, y: usize, width: usize) -> &mut [f32] {
        &mut self.data[y * self.stride + self.reach..][..width]
    }

    /// Fills both sides.
    pub(super) fn mirror(&mut self, width: usize) {
        let reach = self.reach;
        for row in self.data.chunks_exact_mut(self.stride) {
            for i in (0..reach).chain(reach + width..row.len()) {
                row[i] = row[reach + fold(i as isize - reach as isize, width)];
            }
        }
    }
}

/// Widens `range` by a row of whole numbers; `None` if not all of them are.
fn whole_range(row: &[f32], (least, most): (f32, f32)) -> Option<(f32, f32)> {
    // Lane by lane, so that it is vectorised.
    let mut whole = true;
    let (mut low, mut high) = ([least; 16], [most; 16]);
    for part in row.chunks(16) {
        for (i, &v) in part.iter().enumerate() {
            // Whole numbers below 2^22 come back from this sum; greater ones are of no use to exact sums.
            const ROUND: f32 = 12_582_912.0;
            whole &= (v + ROUND) - ROUND == v;
            low[i] = if v < low[i] { v } else { low[i] };
            high[i] = if v > high[i] { v } else { high[i] };
        }
    }
    whole.then(|| (low.into_iter().fold(least, f32::min), high.into_iter().fold(most, f32::max)))
}

/// The samples of a tile and around it, by lanes: a vector for every row and column.
#[derive(Default)]
pub(super) struct Block {
    data: Aligned,
    stride: usize,
    reach: usize,
    lanes: usize,
}

impl Block {
    /// Takes the samples of a tile out of a plane.
    pub(super) fn load<S: Simd>(&mut self, grid: &Grid, tile: Tile, from: &Mirrored) {
        (self.reach, self.lanes) = (grid.reach, lanes::<S>());
        self.stride = spread_rows((grid.columns + 2 * grid.reach).next_multiple_of(8), self.lanes);
        let rows = tile.rows + 2 * grid.reach;
        self.data.fit(rows * self.stride * self.lanes);
        for (i, to) in self.data.chunks_exact_mut(self.stride * self.lanes).take(rows).enumerate() {
            let y = fold((tile.y + i) as isize - grid.reach as isize, from.height);
            let row = &from.data[y * from.stride..][..from.stride];
            // The strips begin `margin + reach` columns before the tile, as the row does before the picture.
            by_lanes::<S>(to, &row[tile.x..], grid.columns);
        }
    }

    /// The same for several rows, and the floats from one to the next.
    pub(super) fn rows(&self, y: isize, x: isize, rows: usize, count: usize) -> (&[f32], usize) {
        (self.row(y, x, (rows - 1) * self.stride + count), self.stride * self.lanes)
    }

    /// The vectors of `count` columns from `x` on.
    #[inline(always)]
    pub(super) fn row(&self, y: isize, x: isize, count: usize) -> &[f32] {
        let reach = self.reach as isize;
        let at = (y + reach) as usize * self.stride + (x + reach) as usize;
        &self.data[at * self.lanes..][..count * self.lanes]
    }
}

/// Lane `k` of `to` is `from`, `k * columns` on.
fn by_lanes<S: Simd>(to: &mut [f32], from: &[f32], columns: usize) {
    let lanes = lanes::<S>();
    let groups = to.len() / (8 * lanes);
    assert!(from.len() >= (lanes - 1) * columns + groups * 8);
    let (to, from) = (to.as_mut_ptr(), from.as_ptr());
    S::vectorize(
        #[inline(always)]
        move || {
            let lanes = V::<S>::LANES;
            for x in (0..groups * 8).step_by(8) {
                for k in (0..lanes).step_by(8) {
                    // SAFETY: 8 columns of lane `k` and the next 7 are in `from`, as asserted; 8 vectors are in `to`.
                    unsafe {
                        let mut r = S::load8(from.add(k * columns + x), columns);
                        S::transpose(&mut r);
                        for (i, r) in r.into_iter().enumerate() {
                            S::store(to.add((x + i) * lanes + k), r);
                        }
                    }
                }
            }
        },
    );
}

/// The first `columns` vectors of `from`: a line of `columns` floats, or up to 7 more, for every lane. Returns the floats
/// from one line to the next.
pub(super) fn by_columns<S: Simd>(to: &mut Vec<f32>, from: &[f32], columns: usize) -> usize {
    let (lanes, step) = (lanes::<S>(), columns.next_multiple_of(8));
    to.resize(lanes * step, 0.0);
    assert!(from.len() >= step * lanes);
    let (to, from) = (to.as_mut_ptr(), from.as_ptr());
    S::vectorize(
        #[inline(always)]
        move || {
            let lanes = V::<S>::LANES;
            for x in (0..step).step_by(8) {
                for k in (0..lanes).step_by(8) {
                    // SAFETY: 8 vectors of `from`, and 8 floats of 8 lines, are there as asserted.
                    unsafe {
                        let mut r = S::load8(from.add(x * lanes + k), lanes);
                        S::transpose(&mut r);
                        for (i, r) in r.into_iter().enumerate() {
                            S::store(to.add((k + i) * step + x), r);
                        }
                    }
                }
            }
        },
    );
    step
}
