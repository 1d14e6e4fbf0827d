//! Exact distances of 32 neighbouring reference patches at once, one displacement after the other.
//!
//! The matching plane is split into `STEP` column phases, so lane `i` of phase `j` is pixel `STEP * i + j`
//! and the references of a row are neighbouring lanes. Squared differences fit 16 bits, sums saturate; the
//! plan chose the plane's scale so that every distance up to the threshold is exact. A sum over 8 rows (or
//! columns) is made of `8 / STEP` whole chunks of `STEP` rows and a part of the next one, and the chunks are
//! shared by neighbouring references.

use super::matching::Window;
use super::unit::Unit;
use crate::device::cpu::simd::{Simd, inlined};

/// Lanes of a vector.
pub(super) const LANES: usize = 32;

/// References per block: the last lanes of a vector lack their right neighbours.
pub(super) fn lanes(step: usize) -> usize {
    LANES + 1 - 8usize.div_ceil(step)
}

/// Rows of references that are scanned together: many share sums, but their distances must stay in the cache.
pub(super) fn band_rows(step: usize, window: Window) -> usize {
    const DISTANCE_BYTES: usize = 600 << 10;
    let fit = DISTANCE_BYTES / (window.side() * window.side() * LANES * 2);
    (24 / step).clamp(1, fit.max(1))
}

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    /// Phase planes of a region, padded by the window: `[row][phase][lane]`.
    planes: Vec<u16>,
    /// Lanes in a row of one phase.
    stride: usize,
    /// Picture position of the planes' first reference column and first row.
    origin: (usize, isize),
    /// Size of the picture.
    size: (usize, usize),
    /// Reference patches of the current block: `[row][phase][32]`.
    reference: Vec<u16>,
    /// All ones where a displacement leaves the picture sideways: `[dx][32]`.
    outside: Vec<u16>,
    /// `[row of the band][displacement][32]`.
    distances: Vec<u16>,
}

impl Scratch {
    /// Splits the matching values of a unit's region into phases.
    pub(super) fn load<const STEP: usize>(&mut self, unit: &Unit, window: Window, plane: &[u8], size: (usize, usize)) {
        let pad = window.radius.div_ceil(STEP) * STEP;
        let (x0, y0) = (unit.xs[0], unit.ys[0]);
        let width = unit.xs[unit.xs.len() - 1] - x0 + 8 + 2 * pad;
        let height = unit.ys[unit.ys.len() - 1] - y0 + 8 + 2 * window.radius + STEP;
        self.stride = width.div_ceil(STEP) + 2 * LANES;
        self.origin = (x0, y0 as isize - window.radius as isize);
        self.size = size;
        self.planes.clear();
        self.planes.resize(height * STEP * self.stride, 0);
        let region = &unit.region;
        for (i, row) in plane.chunks_exact(region.width()).enumerate() {
            let y = ((region.y.start + i) as isize - self.origin.1) as usize;
            let out = &mut self.planes[y * STEP * self.stride..][..STEP * self.stride];
            // Column of the first sample, counted from `pad` left of the first reference.
            let first = region.x.start + pad - x0;
            for j in 0..STEP {
                // The first sample of this phase, and the lane it goes to.
                let skip = (j + STEP - first % STEP) % STEP;
                let lane = (first + skip) / STEP;
                let line = &mut out[j * self.stride + lane..(j + 1) * self.stride];
                for (o, &v) in line.iter_mut().zip(row.iter().skip(skip).step_by(STEP)) {
                    *o = v.into();
                }
            }
        }
    }

    /// The distances of row `r` of the band: 32 lanes per displacement.
    pub(super) fn row(&self, window: Window, r: usize) -> &[u16] {
        let n = window.side() * window.side() * LANES;
        &self.distances[r * n..][..n]
    }
}

/// Fills the distances of a block of `lanes` references from `column` of the unit, at the rows `ys` (spaced by
/// `STEP`). Displacements that leave the picture, and (0, 0), get the largest distance.
#[inline(always)]
pub(super) fn distances<S: Simd, const STEP: usize>(
    s: &mut Scratch,
    window: Window,
    column: usize,
    lanes: usize,
    ys: &[usize],
) {
    let (side, radius, rows) = (window.side(), window.radius, ys.len());
    let (w, h) = s.size;
    let pad = radius.div_ceil(STEP) * STEP;
    let row_stride = STEP * s.stride;
    let top = (ys[0] as isize - s.origin.1) as usize;
    let pixel_rows = (rows - 1) * STEP + 8;
    s.reference.resize(((rows + 2) * STEP + 8) * STEP * LANES, 0);
    for y in 0..pixel_rows {
        for j in 0..STEP {
            let from = (top + y) * row_stride + j * s.stride + column + pad / STEP;
            s.reference[(y * STEP + j) * LANES..][..LANES].copy_from_slice(&s.planes[from..][..LANES]);
        }
    }
    let x0 = s.origin.0 + column * STEP;
    s.outside.clear();
    for dx in 0..side {
        s.outside.extend((0..LANES).map(|lane| {
            let x = (x0 + lane * STEP + dx) as isize - radius as isize;
            if lane < lanes && x >= 0 && x <= (w - 8) as isize { 0 } else { u16::MAX }
        }));
    }
    let per_row = side * side * LANES;
    if s.distances.len() < rows * per_row {
        s.distances.resize(rows * per_row, 0);
    }
    assert!(s.planes.len() >= (top + radius + pixel_rows) * row_stride + column + pad / STEP + LANES);
    for dy in 0..side {
        let inside = |r: usize| {
            let y = (ys[r] + dy) as isize - radius as isize;
            y >= 0 && y <= (h - 8) as isize
        };
        let (valid_from, valid_to) =
            ((0..rows).find(|&r| inside(r)).unwrap_or(rows), (0..rows).rfind(|&r| inside(r)).map_or(0, |r| r + 1));
        for dx in 0..side {
            // Candidate of phase j: pixel dx - radius + j from the reference.
            let shift = dx + pad - radius;
            let candidate: [usize; STEP] = std::array::from_fn(
                #[inline(always)]
                |j| {
                    let (phase, lane) = ((shift + j) % STEP, (shift + j) / STEP);
                    (top + dy - radius) * row_stride + phase * s.stride + column + lane
                },
            );
            // SAFETY: the assertion above covers the last candidate row; `reference` and `outside` were sized
            // for this block, `distances` for `rows` rows.
            unsafe {
                let outside = S::u16_load(s.outside.as_ptr().add(dx * LANES));
                column_of_sums::<S, STEP>(
                    s.reference.as_ptr(),
                    s.planes.as_ptr(),
                    &candidate,
                    row_stride,
                    rows,
                    #[inline(always)]
                    |r, d| {
                        let d = if r >= valid_from && r < valid_to {
                            S::u16_or(d, outside)
                        } else {
                            S::u16_splat(u16::MAX)
                        };
                        S::u16_store(s.distances.as_mut_ptr().add(r * per_row + (dy * side + dx) * LANES), d);
                    },
                );
            }
        }
    }
    let own = window.own() as usize * LANES;
    for r in 0..rows {
        s.distances[r * per_row + own..][..LANES].fill(u16::MAX);
    }
}

/// Walks down one displacement, chunk by chunk, and hands out the 32 sums of each reference row.
///
/// # Safety
/// `reference` and `planes + candidate[j]` are readable for every pixel row of `rows` reference rows.
#[inline(always)]
unsafe fn column_of_sums<S: Simd, const STEP: usize>(
    reference: *const u16,
    planes: *const u16,
    candidate: &[usize; STEP],
    row_stride: usize,
    rows: usize,
    mut out: impl FnMut(usize, S::U16),
) {
    let (whole, part) = (8 / STEP, 8 % STEP);
    let zero = S::u16_splat(0);
    let square = inlined(#[inline(always)]
    |y: usize, j: usize| {
        // SAFETY: by this function's contract.
        let d = unsafe {
            let a = S::u16_load(reference.add((y * STEP + j) * LANES));
            S::u16_sub(a, S::u16_load(planes.add(candidate[j] + y * row_stride)))
        };
        S::u16_mul(d, d)
    });
    // Sums over the first `part` phases and over the rest, of the previous chunks, newest first.
    let mut history = [(zero, zero); 8];
    let add = inlined(#[inline(always)]
    |a: (S::U16, S::U16), b: (S::U16, S::U16)| (S::u16_adds(a.0, b.0), S::u16_adds(a.1, b.1)));
    let line = inlined(#[inline(always)]
    |y: usize| {
        let mut sum = (zero, zero);
        for j in 0..STEP {
            let q = square(y, j);
            if j < part {
                sum.0 = if j == 0 { q } else { S::u16_adds(sum.0, q) };
            } else {
                sum.1 = if j == part { q } else { S::u16_adds(sum.1, q) };
            }
        }
        sum
    });
    let finish = inlined(#[inline(always)]
    |sum: (S::U16, S::U16)| {
        let full = if part > 0 { S::u16_adds(sum.0, sum.1) } else { sum.1 };
        let mut d = full;
        macro_rules! right {
            ($($n:literal)+) => {$(
                if $n < whole {
                    d = S::u16_adds(d, S::u16_down::<$n>(full));
                } else if $n == whole && part > 0 {
                    d = S::u16_adds(d, S::u16_down::<$n>(sum.0));
                }
            )+};
        }
        right!(1 2 3 4 5 6 7);
        d
    });
    let chunks = rows + whole - 1;
    for k in 0..chunks {
        let y = k * STEP;
        let mut sum = (zero, zero);
        for j in 0..STEP {
            sum = if j == 0 { line(y) } else { add(sum, line(y + j)) };
            if part > 0 && j + 1 == part && k >= whole {
                let mut total = sum;
                for h in history.iter().take(whole) {
                    total = add(total, *h);
                }
                out(k - whole, finish(total));
            }
        }
        if part == 0 && k + 1 >= whole {
            let mut total = sum;
            for h in history.iter().take(whole - 1) {
                total = add(total, *h);
            }
            out(k + 1 - whole, finish(total));
        }
        for i in (1..whole).rev() {
            history[i] = history[i - 1];
        }
        history[0] = sum;
    }
    if part > 0 {
        let y = chunks * STEP;
        let mut total = line(y);
        for j in 1..part {
            total = add(total, line(y + j));
        }
        for h in history.iter().take(whole) {
            total = add(total, *h);
        }
        out(rows - 1, finish(total));
    }
}
