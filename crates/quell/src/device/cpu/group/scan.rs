//! Exact distances of 32 neighbouring reference patches at once, one displacement after the other.
//!
//! The matching plane is split into `STEP` column phases, so lane `i` of phase `j` is pixel `STEP * i + j`
//! and the references of a row are neighbouring lanes. Squared differences fit 16 bits, sums saturate; the
//! plan chose the plane's scale so that every distance up to the threshold is exact. A sum over `P` rows (or
//! columns) is made of `P / STEP` whole chunks of `STEP` rows and a part of the next one, and the chunks are
//! shared by neighbouring references.

#![expect(clippy::needless_range_loop, reason = "unrolled kernels read better with the index of the paper")]

use std::ops::Range;

use super::matching::Window;
use super::unit::Unit;
use crate::device::cpu::simd::{Simd, inlined};

/// Lanes of a vector.
pub(in crate::device::cpu) const LANES: usize = 32;

/// References per block: the last lanes of a vector lack their right neighbours.
pub(super) fn lanes(patch: usize, step: usize) -> usize {
    LANES + 1 - patch.div_ceil(step)
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
    /// Splits the matching values of a unit's region into phases. Lane 0 is the reference column `x0`.
    pub(super) fn load<const STEP: usize, const P: usize>(
        &mut self,
        unit: &Unit,
        x0: usize,
        window: Window,
        plane: &[u8],
        size: (usize, usize),
    ) {
        let pad = window.radius.div_ceil(STEP) * STEP;
        let y0 = unit.ys[0];
        let width = unit.xs[unit.xs.len() - 1] - x0 + P + 2 * pad;
        let height = unit.ys[unit.ys.len() - 1] - y0 + P + 2 * window.radius + STEP;
        self.stride = width.div_ceil(STEP) + 2 * LANES;
        self.origin = (x0, y0 as isize - window.radius as isize);
        self.size = size;
        self.planes.clear();
        self.planes.resize(height * STEP * self.stride, 0);
        let region = &unit.region;
        for (i, row) in plane.chunks_exact(region.width()).enumerate() {
            let y = ((region.y.start + i) as isize - self.origin.1) as usize;
            let out = &mut self.planes[y * STEP * self.stride..][..STEP * self.stride];
            // Column of the first sample, counted from `pad` left of the first reference; nobody looks further left.
            let beyond = x0.saturating_sub(region.x.start + pad);
            let (first, row) = (region.x.start + beyond + pad - x0, &row[beyond..]);
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
#[inline(never)]
pub(super) fn distances<S: Simd, const STEP: usize, const P: usize>(
    s: &mut Scratch,
    window: Window,
    column: usize,
    lanes: usize,
    ys: &[usize],
) {
    S::vectorize(
        #[inline(always)]
        || distances_inner::<S, STEP, P>(s, window, column, lanes, ys),
    );
}

#[inline(always)]
fn distances_inner<S: Simd, const STEP: usize, const P: usize>(
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
    let pixel_rows = (rows - 1) * STEP + P;
    s.reference.resize(((rows + 2) * STEP + P) * STEP * LANES, 0);
    for y in 0..pixel_rows {
        for j in 0..STEP {
            let from = (top + y) * row_stride + j * s.stride + column + pad / STEP;
            let (from, to) =
                (&s.planes[from..][..LANES], &mut s.reference[(y * STEP + j) * LANES..][..LANES]);
            // SAFETY: both have 32 elements.
            unsafe { S::u16_store(to.as_mut_ptr(), S::u16_load(from.as_ptr())) };
        }
    }
    let x0 = s.origin.0 + column * STEP;
    s.outside.clear();
    for dx in 0..side {
        s.outside.extend((0..LANES).map(|lane| {
            let x = (x0 + lane * STEP + dx) as isize - radius as isize;
            if lane < lanes && x >= 0 && x <= (w - P) as isize { 0 } else { u16::MAX }
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
            y >= 0 && y <= (h - P) as isize
        };
        let (valid_from, valid_to) = (
            (0..rows).find(|&r| inside(r)).unwrap_or(rows),
            (0..rows).rfind(|&r| inside(r)).map_or(0, |r| r + 1),
        );
        let line = Line { window, dy, column, top, pad, rows, valid: valid_from..valid_to };
        // SAFETY: the assertion above covers the last candidate row; `reference` and `outside` were sized for
        // this block, `distances` for `rows` rows.
        unsafe {
            let mut dx = 0;
            if S::WIDE {
                while dx + 3 <= side {
                    line.displacements::<S, STEP, P, 3>(s, dx);
                    dx += 3;
                }
            }
            while dx < side {
                line.displacements::<S, STEP, P, 1>(s, dx);
                dx += 1;
            }
        }
    }
    let own = window.own() as usize * LANES;
    for r in 0..rows {
        s.distances[r * per_row + own..][..LANES].fill(u16::MAX);
    }
}

/// One row of displacements of a block.
struct Line {
    window: Window,
    dy: usize,
    column: usize,
    top: usize,
    pad: usize,
    rows: usize,
    /// Rows of the band whose candidates lie inside the picture.
    valid: Range<usize>,
}

impl Line {
    /// The distances of the displacements `dx..dx + G`. Neighbouring displacements share candidate loads:
    /// pixel `dx + j` of a candidate meets phase `j` for one of them, phase `j - 1` for the next.
    ///
    /// # Safety
    /// The buffers of `s` were sized for this block.
    #[inline(always)]
    unsafe fn displacements<S: Simd, const STEP: usize, const P: usize, const G: usize>(
        &self,
        s: &mut Scratch,
        dx: usize,
    ) {
        let row_stride = STEP * s.stride;
        let shift = dx + self.pad - self.window.radius;
        let mut candidate = [std::ptr::null(); 16];
        for (q, c) in candidate.iter_mut().enumerate().take(STEP + G - 1) {
            let (phase, lane) = ((shift + q) % STEP, (shift + q) / STEP);
            let at = (self.top + self.dy - self.window.radius) * row_stride
                + phase * s.stride
                + self.column
                + lane;
            // SAFETY: by this function's contract.
            *c = unsafe { s.planes.as_ptr().add(at) };
        }
        let side = self.window.side();
        let per_row = side * side * LANES;
        let (outside, out) = (s.outside.as_ptr(), s.distances.as_mut_ptr());
        let store = inlined(
            #[inline(always)]
            |r: usize, g: usize, d: S::U16| {
                // SAFETY: by this function's contract.
                unsafe {
                    let d = if self.valid.contains(&r) {
                        S::u16_or(d, S::u16_load(outside.add((dx + g) * LANES)))
                    } else {
                        S::u16_splat(u16::MAX)
                    };
                    S::u16_store(out.add(r * per_row + (self.dy * side + dx + g) * LANES), d);
                }
            },
        );
        // SAFETY: by this function's contract.
        unsafe {
            columns_of_sums::<S, STEP, P, G>(s.reference.as_ptr(), &candidate, row_stride, self.rows, store)
        }
    }
}

/// Walks down `G` displacements, chunk by chunk, and hands out the 32 sums of each reference row.
///
/// # Safety
/// `reference` and `candidate` are readable for every pixel row of `rows` reference rows.
#[inline(always)]
unsafe fn columns_of_sums<S: Simd, const STEP: usize, const P: usize, const G: usize>(
    reference: *const u16,
    candidate: &[*const u16; 16],
    row_stride: usize,
    rows: usize,
    mut out: impl FnMut(usize, usize, S::U16),
) {
    let (whole, part) = (P / STEP, P % STEP);
    let zero = S::u16_splat(0);
    // Sums over the first `part` phases and over the rest, for each displacement.
    let line = inlined(
        #[inline(always)]
        |y: usize| {
            let mut sum = [(zero, zero); G];
            for q in 0..STEP + G - 1 {
                // SAFETY: by this function's contract.
                let c = unsafe { S::u16_load(candidate[q].add(y * row_stride)) };
                for g in 0..G {
                    if q < g || q - g >= STEP {
                        continue;
                    }
                    let j = q - g;
                    // SAFETY: by this function's contract.
                    let d = S::u16_sub(unsafe { S::u16_load(reference.add((y * STEP + j) * LANES)) }, c);
                    let square = S::u16_mul(d, d);
                    if j < part {
                        sum[g].0 = if j == 0 { square } else { S::u16_adds(sum[g].0, square) };
                    } else {
                        sum[g].1 = if j == part { square } else { S::u16_adds(sum[g].1, square) };
                    }
                }
            }
            sum
        },
    );
    let add = inlined(
        #[inline(always)]
        |mut a: [(S::U16, S::U16); G], b: [(S::U16, S::U16); G]| {
            for g in 0..G {
                a[g] =
                    (if part > 0 { S::u16_adds(a[g].0, b[g].0) } else { zero }, S::u16_adds(a[g].1, b[g].1));
            }
            a
        },
    );
    let mut finish = inlined(
        #[inline(always)]
        |r: usize, sums: [(S::U16, S::U16); G]| {
            for (g, sum) in sums.into_iter().enumerate() {
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
                out(r, g, d);
            }
        },
    );
    // The previous chunks, newest first.
    let mut history = [[(zero, zero); G]; 8];
    let chunks = rows + whole - 1;
    for k in 0..chunks {
        let y = k * STEP;
        let mut sum = [(zero, zero); G];
        for j in 0..STEP {
            sum = if j == 0 { line(y) } else { add(sum, line(y + j)) };
            if part > 0 && j + 1 == part && k >= whole {
                let mut total = sum;
                for h in history.iter().take(whole) {
                    total = add(total, *h);
                }
                finish(k - whole, total);
            }
        }
        if part == 0 && k + 1 >= whole {
            let mut total = sum;
            for h in history.iter().take(whole - 1) {
                total = add(total, *h);
            }
            finish(k + 1 - whole, total);
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
        finish(rows - 1, total);
    }
}
