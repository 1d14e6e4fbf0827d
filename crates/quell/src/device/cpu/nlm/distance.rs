//! Distances of patches, and their weights, row by row for a few neighbouring displacements at once.
//!
//! Sums over patches are sums over columns, then over rows, each made from its neighbour's, so that the size of the
//! patch does not matter. Nothing drifts:
//! - Whole numbers whose sums stay below 2^24 (8-bit samples, up to 258 of them in a patch) are exact in f32: a sum runs
//!   along by adding what enters and subtracting what leaves.
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
    /// Whether sums are of whole numbers below 2^24.
    pub(super) exact: bool,
    /// The weight of a distance.
    pub(super) weighing: Weighing,
}

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
    /// Sums over columns of the patch: of whole patches if exact, else of their beginnings.
    columns: Aligned,
    /// Ends of the columns of a block of rows; then their sums with the beginnings.
    ends: Aligned,
    weights: Aligned,
    /// The next row, counted within its block.
    phase: usize,
}

impl Distances {
    /// Prepares for the rows from `y` on.
    pub(super) fn start<S: Simd>(&mut self, of: &Comparison<'_>, y: isize) {
        let (n, count, b, lanes) = (of.side(), of.count(), of.radius as isize, lanes::<S>());
        let step = (count + n) * lanes;
        self.weights.fit(of.displacements * count * lanes);
        self.columns.fit(of.displacements * step);
        self.phase = 0;
        if !of.exact {
            self.ends.fit((n + 1) * of.displacements * step);
            return;
        }
        // One row too early: the first step takes it away again.
        self.columns[..of.displacements * step].fill(0.0);
        for row in y - b - 1..y + b {
            for plane in 0..of.here.len() {
                let pair = of.pair(plane, row, of.x.start - b - 1, count + n);
                by_count!(of.displacements, add::<S>(&mut self.columns, Some(0), 0, step, pair));
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
        let last = of.here.len() - 1;
        if of.exact {
            let sides = |plane| {
                let x = of.x.start - b - 1;
                (of.pair(plane, y + b, x, count + n), of.pair(plane, y - b - 1, x, count + n))
            };
            for plane in 0..last {
                let (new, old) = sides(plane);
                by_count!(k, slide::<S>(&mut self.columns, new, old));
            }
            let (new, old) = sides(last);
            by_count!(k, slide_and_weigh::<S, W>(weigh, &mut self.columns, new, old, n, &mut self.weights));
            return;
        }
        let (columns, block) = (count + n - 1, k * step);
        let pair = |plane, row| of.pair(plane, row, of.x.start - b, columns);
        // A row of `ends` for every row of the block, and one more for the sums.
        if self.phase == 0 {
            for i in (0..n).rev() {
                for plane in 0..=last {
                    let from =
                        if plane > 0 { Some(i * block) } else { (i + 1 < n).then_some((i + 1) * block) };
                    let pair = pair(plane, y - b + i as isize);
                    by_count!(k, add::<S>(&mut self.ends, from, i * block, step, pair));
                }
            }
            by_count!(k, box_and_weigh::<S, W>(weigh, &self.ends, step, n, count, &mut self.weights));
        } else {
            for plane in 0..=last {
                let from = (plane > 0 || self.phase > 1).then_some(0);
                by_count!(k, add::<S>(&mut self.columns, from, 0, step, pair(plane, y + b)));
            }
            let (ends, sums) = self.ends.split_at_mut(n * block);
            join::<S>(&ends[self.phase * block..][..block], &self.columns[..block], &mut sums[..block]);
            by_count!(k, box_and_weigh::<S, W>(weigh, sums, step, n, count, &mut self.weights));
        }
        self.phase = (self.phase + 1) % n;
    }
}

/// For every displacement, sums at `into` become those at `from` (`None`: 0) plus squared differences.
fn add<S: Simd, const K: usize>(
    sums: &mut [f32],
    from: Option<usize>,
    into: usize,
    step: usize,
    pair: Pair<'_>,
) {
    let (len, lanes) = (pair.here.len(), lanes::<S>());
    assert!(pair.there.len() == len + (K - 1) * lanes && len <= step);
    assert!(into.max(from.unwrap_or(0)) + (K - 1) * step + len <= sums.len());
    let base = sums.as_mut_ptr();
    S::vectorize(
        #[inline(always)]
        move || {
            for i in (0..len).step_by(lanes) {
                // SAFETY: the lengths were asserted.
                unsafe {
                    let here = V::<S>::load(pair.here.as_ptr().add(i));
                    for j in 0..K {
                        let d = V::<S>::sub(V::<S>::load(pair.there.as_ptr().add(i + j * lanes)), here);
                        let at = i + j * step;
                        let sum = match from {
                            Some(from) => V::<S>::fma(d, d, V::<S>::load(base.add(from + at))),
                            None => V::<S>::mul(d, d),
                        };
                        V::<S>::store(base.add(into + at), sum);
                    }
                }
            }
        },
    );
}

/// `to = a + b`.
fn join<S: Simd>(a: &[f32], b: &[f32], to: &mut [f32]) {
    let (len, lanes) = (to.len(), lanes::<S>());
    assert!(a.len() == len && b.len() == len && len.is_multiple_of(lanes));
    S::vectorize(
        #[inline(always)]
        move || {
            for i in (0..len).step_by(lanes) {
                // SAFETY: the lengths were asserted.
                unsafe {
                    let sum = V::<S>::add(V::<S>::load(a.as_ptr().add(i)), V::<S>::load(b.as_ptr().add(i)));
                    V::<S>::store(to.as_mut_ptr().add(i), sum);
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
    let lanes = lanes::<S>();
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
    let (base, lanes) = (columns.as_mut_ptr(), lanes::<S>());
    S::vectorize(
        #[inline(always)]
        move || {
            for i in (0..len).step_by(lanes) {
                // SAFETY: the lengths were checked.
                unsafe { slide_column::<S, K>(base, len, new, old, i) };
            }
        },
    );
}

/// The same, and then the weights of their sums over `n` columns.
fn slide_and_weigh<S: Simd, W: Weigh, const K: usize>(
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
            let mut sums = [V::<S>::splat(0.0); K];
            for i in (0..ahead).step_by(lanes) {
                // SAFETY: the lengths were checked.
                let column = unsafe { slide_column::<S, K>(base, len, new, old, i) };
                for j in 0..K {
                    sums[j] = V::<S>::add(sums[j], column[j]);
                }
            }
            for i in (0..count).step_by(lanes) {
                // SAFETY: the lengths were checked.
                unsafe {
                    let column = slide_column::<S, K>(base, len, new, old, i + ahead);
                    for j in 0..K {
                        let change = V::<S>::sub(column[j], V::<S>::load(base.add(i + j * len)));
                        sums[j] = V::<S>::add(sums[j], change);
                        V::<S>::store(out.add(i + j * count), weigh.at::<S>(sums[j]));
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
    const MOST_SIDE: usize = 21;
    let lanes = lanes::<S>();
    assert!((1..=MOST_SIDE).contains(&n) && (count + n - 1) * lanes <= step && K * step <= columns.len());
    assert!(K * count * lanes <= weights.len());
    let (base, out) = (columns.as_ptr(), weights.as_mut_ptr());
    S::vectorize(
        #[inline(always)]
        move || {
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
