//! The samples of a frame: kept by rows, laid out by lanes for a tile.

use super::grid::{Grid, LANES, Tile};
use crate::device::Samples;
use crate::device::cpu::simd::Simd;
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
        // Lanes are loaded in steps of 8 columns.
        let stride = grid.across * grid.width_of_tile() + 2 * grid.reach + LANES;
        Self { data: vec![0.0; stride * grid.height], stride, reach: grid.reach, height: grid.height }
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

/// The samples of a tile and around it, by lanes: eight floats for every row and column.
#[derive(Default)]
pub(super) struct Block {
    data: Vec<f32>,
    stride: usize,
    reach: usize,
}

impl Block {
    /// Takes the samples of a tile out of a plane.
    pub(super) fn load<S: Simd>(&mut self, grid: &Grid, tile: Tile, from: &Mirrored) {
        self.reach = grid.reach;
        self.stride = (grid.columns + 2 * grid.reach).next_multiple_of(LANES);
        let rows = tile.rows + 2 * grid.reach;
        self.data.resize(rows * self.stride * LANES, 0.0);
        for (i, to) in self.data.chunks_exact_mut(self.stride * LANES).enumerate() {
            let y = fold((tile.y + i) as isize - grid.reach as isize, from.height);
            interleave::<S>(to, &from.data[y * from.stride + tile.x..][..from.stride - tile.x], grid.columns);
        }
    }

    /// The vectors of `count` columns from `x` on.
    #[inline(always)]
    pub(super) fn row(&self, y: isize, x: isize, count: usize) -> &[f32] {
        let reach = self.reach as isize;
        let at = (y + reach) as usize * self.stride + (x + reach) as usize;
        &self.data[at * LANES..][..count * LANES]
    }
}

/// Lane `k` of `to` is `from`, `k * columns` on.
fn interleave<S: Simd>(to: &mut [f32], from: &[f32], columns: usize) {
    let groups = to.len() / (LANES * LANES);
    assert!(from.len() >= (LANES - 1) * columns + groups * LANES);
    S::vectorize(
        #[inline(always)]
        move || {
            for g in 0..groups {
                // SAFETY: eight loads `columns` apart, the last within `from` as asserted; 64 floats of `to`.
                unsafe {
                    let mut r = S::load8(from.as_ptr().add(g * LANES), columns);
                    S::transpose(&mut r);
                    for (i, r) in r.into_iter().enumerate() {
                        S::store(to.as_mut_ptr().add((g * LANES + i) * LANES), r);
                    }
                }
            }
        },
    );
}

/// The first `columns` vectors of `from` as a row of samples.
pub(super) fn by_columns<S: Simd>(to: &mut [f32], from: &[f32], columns: usize) {
    let groups = columns.div_ceil(LANES);
    let wide = groups * LANES;
    let mut line = [0.0f32; 8];
    assert!(from.len() >= wide * LANES && to.len() == columns * LANES);
    S::vectorize(
        #[inline(always)]
        move || {
            for g in 0..groups {
                // SAFETY: 64 floats of `from`, within it as asserted.
                let mut r = unsafe { S::load8(from.as_ptr().add(g * LANES * LANES), LANES) };
                S::transpose(&mut r);
                let count = LANES.min(columns - g * LANES);
                for (k, r) in r.into_iter().enumerate() {
                    // SAFETY: `line` has 8 floats.
                    unsafe { S::store(line.as_mut_ptr(), r) };
                    to[k * columns + g * LANES..][..count].copy_from_slice(&line[..count]);
                }
            }
        },
    );
}
