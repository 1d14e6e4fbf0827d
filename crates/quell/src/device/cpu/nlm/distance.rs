//! Distances of patches, and their weights, row by row for a few neighbouring displacements at once.
//!
//! Sums over patches are sums over columns, then over rows, each made from its neighbour's, so that the size of the
//! patch does not matter. Nothing drifts:
//! - Whole numbers whose sums stay below 2^24 (8-bit samples, up to 258 of them) are exact in f32: a sum runs along by
//!   adding what enters and subtracting what leaves. Where this holds for columns but not for whole patches, these are
//!   integers.
//! - Otherwise nothing is ever subtracted: a window of `n` over blocks of `n` is the end of one block and the beginning of
//!   the next, each added up on its own (van Herk's scheme for maxima), so every distance is as accurate as if its
//!   squares were added one by one, however large those beside it are.

use std::ops::Range;

use super::aligned::Aligned;
use super::by_count;
use super::grid::{V, lanes};
use super::samples::Block;
use super::sums::Rows;
use super::weight::{Weigh, Weighing};
use crate::device::cpu::simd::{Simd, Wide};

/// Which sums are of whole numbers below 2^24.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Exact {
    /// Those of whole patches.
    Patches,
    /// Those of a column of a patch.
    Columns,
    /// None.
    Nothing,
}

/// What is compared, and where.
#[derive(Clone)]
pub(super) struct Comparison<'a> {
    /// The planes of the references.
    pub(super) here: &'a [Block],
    /// The planes that they are compared with.
    pub(super) there: &'a [Block],
    /// Rows of the displacement.
    pub(super) dy: isize,
    /// Columns of the first displacement.
    pub(super) dx: isize,
    /// Displacements, in neighbouring columns.
    pub(super) displacements: usize,
    /// Columns of the references in every lane.
    pub(super) x: Range<isize>,
    /// Half the side of a patch.
    pub(super) radius: usize,
    /// Which sums may run.
    pub(super) exact: Exact,
    /// The weight of a distance.
    pub(super) weighing: Weighing,
}

/// Largest side of a patch.
const MOST_SIDE: usize = 21;

/// Samples of the patches' rows on one plane.
#[derive(Clone, Copy)]
struct Pair<'a> {
    here: &'a [f32],
    there: &'a [f32],
}

impl Comparison<'_> {
    fn count(&self) -> usize {
        (self.x.end - self.x.start) as usize
    }

    fn side(&self) -> usize {
        2 * self.radius + 1
    }

    /// Row `y` of a plane, `columns` from `x` on.
    fn pair(&self, plane: usize, y: isize, x: isize, columns: usize) -> Pair<'_> {
        Pair {
            here: self.here[plane].row(y, x, columns),
            there: self.there[plane].row(y + self.dy, x + self.dx, columns + self.displacements - 1),
        }
    }
}

/// The state of the sums, and the weights of the present row.
#[derive(Default)]
pub(super) struct Distances {
    /// Sums over columns of the patch: of the present row, or if they do not run of a block of rows.
    columns: Aligned,
    weights: Aligned,
    /// The first row of the next block, and the end of all rows.
    next: isize,
    end: isize,
}

impl Distances {
    /// Prepares for these rows.
    pub(super) fn start<S: Simd>(&mut self, of: &Comparison<'_>, rows: Range<isize>) {
        let (n, count, b, lanes) = (of.side(), of.count(), of.radius as isize, lanes::<S>());
        let step = (count + n) * lanes;
        self.weights.fit(of.displacements * count * lanes);
        (self.next, self.end) = (rows.start, rows.end);
        if of.exact == Exact::Nothing {
            self.columns.fit(n * of.displacements * step);
            return;
        }
        // One row too early: the first step takes it away again.
        self.columns.zero(of.displacements * step);
        for row in rows.start - b - 1..rows.start + b {
            for plane in 0..of.here.len() {
                let pair = of.pair(plane, row, of.x.start - b - 1, count + n);
                by_count!(of.displacements, add::<S>(&mut self.columns, pair));
            }
        }
    }

    /// The weights of row `y`; rows are asked for one after the other.
    pub(super) fn row<S: Simd>(&mut self, of: &Comparison<'_>, y: isize) -> Rows<'_> {
        match of.weighing {
            Weighing::Plain(w) => self.weigh::<S, _>(of, w, y),
            Weighing::Bisquare(w) => self.weigh::<S, _>(of, w, y),
            Weighing::Bisquare8(w) => self.weigh::<S, _>(of, w, y),
            Weighing::Gauss(w) => self.weigh::<S, _>(of, w, y),
        }
        Rows { data: &self.weights, step: of.count() * lanes::<S>(), displacements: of.displacements }
    }

    fn weigh<S: Simd, W: Weigh>(&mut self, of: &Comparison<'_>, weigh: W, y: isize) {
        let (n, count, b, k) = (of.side(), of.count(), of.radius as isize, of.displacements);
        let step = (count + n) * lanes::<S>();
        let sides = |plane| {
            let x = of.x.start - b - 1;
            (of.pair(plane, y + b, x, count + n), of.pair(plane, y - b - 1, x, count + n))
        };
        let last = of.here.len() - 1;
        if of.exact != Exact::Nothing {
            for plane in 0..last {
                let (new, old) = sides(plane);
                by_count!(k, slide::<S>(&mut self.columns, new, old));
            }
            let (new, old) = sides(last);
            let (columns, weights) = (&mut self.columns, &mut self.weights);
            return match of.exact {
                Exact::Columns => {
                    by_count!(k, slide_and_weigh::<S, W, true>(weigh, columns, new, old, n, weights))
                }
                _ => by_count!(k, slide_and_weigh::<S, W, false>(weigh, columns, new, old, n, weights)),
            };
        }
        if y == self.next {
            let rows = n.min((self.end - y).max(1) as usize);
            for plane in 0..=last {
                let block = RowBlock { of, plane, y, n, rows, step };
                by_count!(k, add_blocks::<S>(block, &mut self.columns));
            }
            self.next += n as isize;
        }
        let first = (y + n as isize - self.next) as usize * k * step;
        by_count!(k, box_and_weigh::<S, W>(weigh, &self.columns[first..], step, n, count, &mut self.weights));
    }
}

/// Rows whose sums over columns are made together.
struct RowBlock<'a, 'b> {
    of: &'a Comparison<'b>,
    plane: usize,
    /// The first row, how many a sum has, and how many sums are wanted.
    y: isize,
    n: usize,
    rows: usize,
    step: usize,
}

/// Sums over columns for a block of rows, added to those of the planes before: ends of the first `n` rows of squares, and
/// beginnings of the rows after them.
fn add_blocks<S: Simd, const K: usize>(block: RowBlock<'_, '_>, sums: &mut [f32]) {
    let RowBlock { of, plane, y, n, rows, step } = block;
    let (b, columns) = (of.radius as isize, of.count() + n - 1);
    let height = n + rows - 1;
    let (here, here_step) = of.here[plane].rows(y - b, of.x.start - b, height, columns);
    let (there, there_step) =
        of.there[plane].rows(y - b + of.dy, of.x.start - b + of.dx, height, columns + K - 1);
    assert!((1..=MOST_SIDE).contains(&n) && (1..=n).contains(&rows) && columns * lanes::<S>() <= step);
    assert!(rows * K * step <= sums.len());
    let (here, there, sums) = (here.as_ptr(), there.as_ptr(), sums.as_mut_ptr());
    S::vectorize(
        #[inline(always)]
        move || {
            let lanes = V::<S>::LANES;
            let mut ends = [[V::<S>::splat(0.0); K]; MOST_SIDE];
            for x in (0..columns * lanes).step_by(lanes) {
                // SAFETY: `rows` gave slices of `height` rows of so many columns; the sums were asserted.
                unsafe {
                    let mut sum = [V::<S>::splat(0.0); K];
                    for i in (0..n).rev() {
                        let a = V::<S>::load(here.add(i * here_step + x));
                        for j in 0..K {
                            let d = V::<S>::sub(V::<S>::load(there.add(i * there_step + x + j * lanes)), a);
                            sum[j] = V::<S>::fma(d, d, sum[j]);
                            ends[i][j] = sum[j];
                        }
                    }
                    let mut begun = [V::<S>::splat(0.0); K];
                    for i in 0..rows {
                        if i > 0 {
                            let row = n - 1 + i;
                            let a = V::<S>::load(here.add(row * here_step + x));
                            for j in 0..K {
                                let b = V::<S>::load(there.add(row * there_step + x + j * lanes));
                                let d = V::<S>::sub(b, a);
                                begun[j] = V::<S>::fma(d, d, begun[j]);
                            }
                        }
                        for j in 0..K {
                            let at = sums.add((i * K + j) * step + x);
                            let mut sum = V::<S>::add(ends[i][j], begun[j]);
                            if plane > 0 {
                                sum = V::<S>::add(sum, V::<S>::load(at));
                            }
                            V::<S>::store(at, sum);
                        }
                    }
                }
            }
        },
    );
}

/// Adds the squared differences of a row to the sums of every displacement.
fn add<S: Simd, const K: usize>(sums: &mut [f32], pair: Pair<'_>) {
    let len = pair.here.len();
    assert!(pair.there.len() == len + (K - 1) * lanes::<S>() && K * len <= sums.len());
    let base = sums.as_mut_ptr();
    S::vectorize(
        #[inline(always)]
        move || {
            let lanes = V::<S>::LANES;
            for i in (0..len).step_by(lanes) {
                // SAFETY: the lengths were asserted.
                unsafe {
                    let here = V::<S>::load(pair.here.as_ptr().add(i));
                    for j in 0..K {
                        let d = V::<S>::sub(V::<S>::load(pair.there.as_ptr().add(i + j * lanes)), here);
                        let at = base.add(i + j * len);
                        V::<S>::store(at, V::<S>::fma(d, d, V::<S>::load(at)));
                    }
                }
            }
        },
    );
}

/// The squared differences of one column of a running sum: the new row's come, the old row's go.
///
/// # Safety
/// Column `i` and `K - 1` more must be in all rows, and the sums `sum` valid.
#[inline(always)]
unsafe fn slide_column<S: Simd, const K: usize>(
    sum: *mut f32,
    step: usize,
    new: Pair<'_>,
    old: Pair<'_>,
    i: usize,
) -> [V<S>; K] {
    let lanes = V::<S>::LANES;
    let mut sums = [V::<S>::splat(0.0); K];
    // SAFETY: the caller vouches for it.
    unsafe {
        let (a, b) = (V::<S>::load(new.here.as_ptr().add(i)), V::<S>::load(old.here.as_ptr().add(i)));
        for (j, to) in sums.iter_mut().enumerate() {
            let coming = V::<S>::sub(V::<S>::load(new.there.as_ptr().add(i + j * lanes)), a);
            let going = V::<S>::sub(V::<S>::load(old.there.as_ptr().add(i + j * lanes)), b);
            let at = sum.add(i + j * step);
            *to = V::<S>::fnma(going, going, V::<S>::fma(coming, coming, V::<S>::load(at)));
            V::<S>::store(at, *to);
        }
    }
    sums
}

/// All rows of a running sum must be as long as one another.
fn check_slide<S: Simd, const K: usize>(columns: &[f32], new: Pair<'_>, old: Pair<'_>) -> usize {
    let (len, lanes) = (new.here.len(), lanes::<S>());
    assert!(old.here.len() == len && K * len <= columns.len());
    assert!([new, old].iter().all(|p| p.there.len() == len + (K - 1) * lanes));
    len
}

/// Moves sums over columns one row down.
fn slide<S: Simd, const K: usize>(columns: &mut [f32], new: Pair<'_>, old: Pair<'_>) {
    let len = check_slide::<S, K>(columns, new, old);
    let base = columns.as_mut_ptr();
    S::vectorize(
        #[inline(always)]
        move || {
            let lanes = V::<S>::LANES;
            for i in (0..len).step_by(lanes) {
                // SAFETY: the lengths were checked.
                unsafe { slide_column::<S, K>(base, len, new, old, i) };
            }
        },
    );
}

/// The same, and then the weights of their sums over `n` columns, which are integers if `LONG`.
fn slide_and_weigh<S: Simd, W: Weigh, const LONG: bool, const K: usize>(
    weigh: W,
    columns: &mut [f32],
    new: Pair<'_>,
    old: Pair<'_>,
    n: usize,
    weights: &mut [f32],
) {
    let len = check_slide::<S, K>(columns, new, old);
    let lanes = lanes::<S>();
    let (ahead, out) = (n * lanes, weights.as_mut_ptr());
    let count = len - ahead;
    assert!(K * count <= weights.len());
    let base = columns.as_mut_ptr();
    S::vectorize(
        #[inline(always)]
        move || {
            let lanes = V::<S>::LANES;
            let mut sums = [V::<S>::splat(0.0); K];
            let ahead = n * lanes;
            for i in (0..ahead).step_by(lanes) {
                // SAFETY: the lengths were checked.
                let column = unsafe { slide_column::<S, K>(base, len, new, old, i) };
                for j in 0..K {
                    sums[j] = if LONG { sums[j].whole_add(column[j]) } else { sums[j].add(column[j]) };
                }
            }
            for i in (0..count).step_by(lanes) {
                // SAFETY: the lengths were checked.
                unsafe {
                    let column = slide_column::<S, K>(base, len, new, old, i + ahead);
                    for j in 0..K {
                        let change = V::<S>::sub(column[j], V::<S>::load(base.add(i + j * len)));
                        sums[j] = if LONG { sums[j].whole_add(change) } else { sums[j].add(change) };
                        let ssd = if LONG { sums[j].whole_value() } else { sums[j] };
                        V::<S>::store(out.add(i + j * count), weigh.at::<S>(ssd));
                    }
                }
            }
        },
    );
}

/// The weights of sums over `n` columns, added up by blocks.
fn box_and_weigh<S: Simd, W: Weigh, const K: usize>(
    weigh: W,
    columns: &[f32],
    step: usize,
    n: usize,
    count: usize,
    weights: &mut [f32],
) {
    let lanes = lanes::<S>();
    let len = (count + n - 1) * lanes;
    assert!((1..=MOST_SIDE).contains(&n) && len <= step && (K - 1) * step + len <= columns.len());
    assert!(K * count * lanes <= weights.len());
    let (base, out) = (columns.as_ptr(), weights.as_mut_ptr());
    S::vectorize(
        #[inline(always)]
        move || {
            let lanes = V::<S>::LANES;
            let mut ends = [[V::<S>::splat(0.0); K]; MOST_SIDE];
            for x in (0..count).step_by(n) {
                let mut sums = [V::<S>::splat(0.0); K];
                for i in (0..n).rev() {
                    for j in 0..K {
                        // SAFETY: column `x + i` is before `count + n - 1`, as asserted.
                        let column = unsafe { V::<S>::load(base.add((x + i) * lanes + j * step)) };
                        sums[j] = V::<S>::add(sums[j], column);
                        ends[i][j] = sums[j];
                    }
                }
                let mut begun = [V::<S>::splat(0.0); K];
                for i in 0..n.min(count - x) {
                    for j in 0..K {
                        if i > 0 {
                            // SAFETY: `x + i < count`, so this one is too.
                            let column =
                                unsafe { V::<S>::load(base.add((x + n - 1 + i) * lanes + j * step)) };
                            begun[j] = V::<S>::add(begun[j], column);
                        }
                        let weight = weigh.at::<S>(V::<S>::add(ends[i][j], begun[j]));
                        // SAFETY: `x + i < count`.
                        unsafe { V::<S>::store(out.add((x + i + j * count) * lanes), weight) };
                    }
                }
            }
        },
    );
}
