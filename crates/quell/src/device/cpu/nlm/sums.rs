//! What is added up over all displacements: weights, their maxima, weighted samples.
//!
//! A weight serves two pixels, the reference `p` and the one it is compared with, `p + q`. Neighbouring displacements
//! of a sweep add to the same references, and one step later to the same others: both are kept in registers meanwhile,
//! so that sums are loaded and stored once a sweep and not once a displacement.

use super::aligned::{Aligned, spread_rows};
use super::by_count;
use super::grid::{Grid, MOST, V, lanes};
use crate::device::cpu::simd::{Simd, Wide};

/// Sums of a tile by lanes: some quantities for one or two frames.
#[derive(Default)]
pub(super) struct Sums {
    data: Aligned,
    quantities: usize,
    rows: usize,
    stride: usize,
    margin: usize,
    lanes: usize,
}

impl Sums {
    /// Room for two frames.
    pub(super) fn shape(&mut self, grid: &Grid, quantities: usize, rows: usize) {
        *self = Self {
            data: std::mem::take(&mut self.data),
            quantities,
            rows,
            stride: spread_rows(grid.columns + 2 * grid.margin, grid.lanes),
            margin: grid.margin,
            lanes: grid.lanes,
        };
        // What is read by columns goes on to a multiple of 8.
        let len = 2 * self.frame_len() + 8 * self.lanes;
        self.data.zero(len);
    }

    fn frame_len(&self) -> usize {
        self.quantities * self.rows * self.stride * self.lanes
    }

    /// All sums of a frame.
    pub(super) fn frame(&mut self, frame: usize) -> &mut [f32] {
        let len = self.frame_len();
        &mut self.data[frame * len..][..len]
    }

    /// Where a sum is.
    #[inline(always)]
    pub(super) fn at(&self, frame: usize, quantity: usize, y: isize, x: isize) -> usize {
        let row = (frame * self.quantities + quantity) * self.rows + y as usize;
        (row * self.stride + (x + self.margin as isize) as usize) * self.lanes
    }

    /// Floats from one quantity to the next.
    pub(super) fn step(&self) -> usize {
        self.rows * self.stride * self.lanes
    }

    /// One row of a quantity, beside the tile too, and 8 columns more.
    pub(super) fn row(&self, quantity: usize, y: usize) -> &[f32] {
        let at = self.at(0, quantity, y as isize, -(self.margin as isize));
        &self.data[at..][..(self.stride + 7) * self.lanes]
    }

    pub(super) fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }
}

/// Weights of the displacements of a sweep: one row for each, `step` floats apart.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) data: &'a [f32],
    pub(super) step: usize,
    pub(super) displacements: usize,
}

impl Rows<'_> {
    fn check(&self, displacements: usize, len: usize) {
        assert!(self.displacements == displacements);
        assert!((displacements - 1) * self.step + len <= self.data.len());
    }
}

/// Where the sums of the references begin, and those of the others.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) own: Option<usize>,
    pub(super) other: Option<usize>,
}

/// Adds weights times samples: `here` are the samples of the references, `there` those they are compared with.
pub(super) fn add_samples<S: Simd>(
    sums: &mut [f32],
    places: Places,
    own: Rows<'_>,
    other: Rows<'_>,
    here: &[f32],
    there: &[f32],
) {
    let job = Samples { sums, own, other, here, there };
    let same = std::ptr::eq(own.data, other.data);
    match (places.own, places.other) {
        (Some(a), Some(b)) if same => by_count!(own.displacements, samples::<S, true, true, true>(job, a, b)),
        (Some(a), Some(b)) => by_count!(own.displacements, samples::<S, true, true, false>(job, a, b)),
        (Some(a), None) => by_count!(own.displacements, samples::<S, true, false, false>(job, a, 0)),
        (None, Some(b)) => by_count!(own.displacements, samples::<S, false, true, false>(job, 0, b)),
        (None, None) => {}
    }
}

struct Samples<'a> {
    sums: &'a mut [f32],
    own: Rows<'a>,
    other: Rows<'a>,
    here: &'a [f32],
    there: &'a [f32],
}

/// `SAME`: references and others have the same weights, which are loaded once.
fn samples<S: Simd, const OWN: bool, const OTHER: bool, const SAME: bool, const K: usize>(
    job: Samples<'_>,
    own: usize,
    other: usize,
) {
    let lanes = lanes::<S>();
    let count = job.here.len() / lanes;
    job.own.check(K, count * lanes);
    job.other.check(K, count * lanes);
    assert!(job.there.len() >= (count + K - 1) * lanes);
    assert!(!OWN || own + count * lanes <= job.sums.len());
    assert!(!OTHER || other + (count + K - 1) * lanes <= job.sums.len());
    let (w, v) = (job.own.data.as_ptr(), job.other.data.as_ptr());
    let (own_step, other_step) = (job.own.step, job.other.step);
    let (here, there) = (job.here.as_ptr(), job.there.as_ptr());
    let base = job.sums.as_mut_ptr();
    S::vectorize(
        #[inline(always)]
        move || {
            let lanes = V::<S>::LANES;
            // SAFETY: every access is to one of the `count` vectors (`count + K - 1` of `there` and of the others' sums)
            // that were asserted to be there. Where both kinds of sums are one row, an other is stored before it is
            // a reference: displacements of a row are positive then.
            unsafe {
                let (own, other) = (base.wrapping_add(own), base.wrapping_add(other));
                let mut late = [V::<S>::splat(0.0); K];
                if OTHER {
                    for (j, late) in late.iter_mut().enumerate().take(K - 1) {
                        *late = V::<S>::load(other.add(j * lanes));
                    }
                }
                for i in (0..count * lanes).step_by(lanes) {
                    let mut weight = [V::<S>::splat(0.0); K];
                    if OWN {
                        let mut sum = V::<S>::load(own.add(i));
                        for j in 0..K {
                            weight[j] = V::<S>::load(w.add(j * own_step + i));
                            sum = V::<S>::fma(weight[j], V::<S>::load(there.add(i + j * lanes)), sum);
                        }
                        V::<S>::store(own.add(i), sum);
                    }
                    if OTHER {
                        late[K - 1] = V::<S>::load(other.add(i + (K - 1) * lanes));
                        let sample = V::<S>::load(here.add(i));
                        // The first is done; the others move up. (A loop that only moves would go through memory.)
                        for j in 0..K {
                            let weight =
                                if SAME { weight[j] } else { V::<S>::load(v.add(j * other_step + i)) };
                            let sum = V::<S>::fma(weight, sample, late[j]);
                            if j == 0 {
                                V::<S>::store(other.add(i), sum);
                            } else {
                                late[j - 1] = sum;
                            }
                        }
                    }
                }
                if OTHER {
                    for (j, late) in late.iter().enumerate().take(K - 1) {
                        V::<S>::store(other.add((count + j) * lanes), *late);
                    }
                }
            }
        },
    );
}

/// Adds weights, and finds their maxima, `maxima` floats behind the sums (0: not asked for), in `count` columns.
pub(super) fn add_weights<S: Simd>(
    sums: &mut [f32],
    places: Places,
    maxima: usize,
    weights: Rows<'_>,
    count: usize,
) {
    let job = Weights { sums, weights, maxima, count };
    let k = weights.displacements;
    match (places.own, places.other, maxima > 0) {
        (Some(a), Some(b), true) => by_count!(k, totals::<S, true, true, true>(job, a, b)),
        (Some(a), Some(b), false) => by_count!(k, totals::<S, true, true, false>(job, a, b)),
        (Some(a), None, true) => by_count!(k, totals::<S, true, false, true>(job, a, 0)),
        (Some(a), None, false) => by_count!(k, totals::<S, true, false, false>(job, a, 0)),
        (None, Some(b), true) => by_count!(k, totals::<S, false, true, true>(job, 0, b)),
        (None, Some(b), false) => by_count!(k, totals::<S, false, true, false>(job, 0, b)),
        (None, None, _) => {}
    }
}

struct Weights<'a> {
    sums: &'a mut [f32],
    weights: Rows<'a>,
    maxima: usize,
    count: usize,
}

fn totals<S: Simd, const OWN: bool, const OTHER: bool, const MAX: bool, const K: usize>(
    job: Weights<'_>,
    own: usize,
    other: usize,
) {
    let (count, maxima, lanes) = (job.count, job.maxima, lanes::<S>());
    job.weights.check(K, count * lanes);
    assert!(!OWN || own + maxima + count * lanes <= job.sums.len());
    assert!(!OTHER || other + maxima + (count + K - 1) * lanes <= job.sums.len());
    let (w, step) = (job.weights.data.as_ptr(), job.weights.step);
    let base = job.sums.as_mut_ptr();
    S::vectorize(
        #[inline(always)]
        move || {
            let lanes = V::<S>::LANES;
            // SAFETY: as in `samples`.
            unsafe {
                let (own, other) = (base.wrapping_add(own), base.wrapping_add(other));
                let mut late = [V::<S>::splat(0.0); K];
                let mut best = [V::<S>::splat(0.0); K];
                if OTHER {
                    for j in 0..K - 1 {
                        late[j] = V::<S>::load(other.add(j * lanes));
                        if MAX {
                            best[j] = V::<S>::load(other.add(maxima + j * lanes));
                        }
                    }
                }
                for i in (0..count * lanes).step_by(lanes) {
                    let mut weight = [V::<S>::splat(0.0); K];
                    for (j, weight) in weight.iter_mut().enumerate() {
                        *weight = V::<S>::load(w.add(j * step + i));
                    }
                    if OWN {
                        let mut sum = V::<S>::load(own.add(i));
                        for &weight in &weight {
                            sum = V::<S>::add(sum, weight);
                        }
                        V::<S>::store(own.add(i), sum);
                        if MAX {
                            let mut most = V::<S>::load(own.add(maxima + i));
                            for &weight in &weight {
                                most = V::<S>::max(most, weight);
                            }
                            V::<S>::store(own.add(maxima + i), most);
                        }
                    }
                    if OTHER {
                        late[K - 1] = V::<S>::load(other.add(i + (K - 1) * lanes));
                        for j in 0..K {
                            let sum = V::<S>::add(late[j], weight[j]);
                            if j == 0 {
                                V::<S>::store(other.add(i), sum);
                            } else {
                                late[j - 1] = sum;
                            }
                        }
                        if MAX {
                            best[K - 1] = V::<S>::load(other.add(maxima + i + (K - 1) * lanes));
                            for j in 0..K {
                                let most = V::<S>::max(best[j], weight[j]);
                                if j == 0 {
                                    V::<S>::store(other.add(maxima + i), most);
                                } else {
                                    best[j - 1] = most;
                                }
                            }
                        }
                    }
                }
                if OTHER {
                    for j in 0..K - 1 {
                        V::<S>::store(other.add((count + j) * lanes), late[j]);
                        if MAX {
                            V::<S>::store(other.add(maxima + (count + j) * lanes), best[j]);
                        }
                    }
                }
            }
        },
    );
}

const _: () = assert!(MOST == 4, "`by_count` knows sweeps of 1 to 4 displacements");
