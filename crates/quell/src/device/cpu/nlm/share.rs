//! Patchwise NL-means: what every displacement's weights come to for a pixel, over all patches that cover it.
//!
//! The patch centred at `c` gives displacement `q` the share `w(c,q) / sum of w(c,.)`; a pixel gets the shares of all
//! patches around it, a sum over `n x n` centres that runs along like the distances. Shares are at most 1, so what
//! rounding leaves behind in a tile's running sums is some 1e-7 of the result, whatever the noise.

use super::aligned::Aligned;
use super::by_count;
use super::grid::{V, lanes};
use super::sums::Rows;
use crate::device::cpu::simd::{Simd, Wide};

/// Running sums of shares for the displacements of a sweep.
#[derive(Default)]
pub(super) struct Shares {
    /// The shares of the last `n` rows.
    ring: Aligned,
    columns: Aligned,
    sums: Aligned,
    next: usize,
}

impl Shares {
    /// Prepares for rows of `count` columns, and patches of side `n`.
    pub(super) fn start<S: Simd>(&mut self, displacements: usize, n: usize, count: usize) {
        let lanes = lanes::<S>();
        let len = displacements * (count + n) * lanes;
        self.next = 0;
        self.ring.zero(n * len);
        self.columns.zero(len);
        self.sums.fit(displacements * count * lanes);
    }

    /// Adds the next row of centres, of `count + n` columns: weights times the reciprocal totals in `inverse`, which go on
    /// `shift` floats from one displacement to the next.
    pub(super) fn push<S: Simd>(&mut self, n: usize, weights: Rows<'_>, inverse: &[f32], shift: usize) {
        let len = weights.displacements * weights.step;
        let slot = &mut self.ring[self.next * len..][..len];
        for j in 0..weights.displacements {
            let part = j * weights.step..(j + 1) * weights.step;
            let inverse = &inverse[j * shift..][..weights.step];
            enter::<S>(
                &mut self.columns[part.clone()],
                &mut slot[part.clone()],
                &weights.data[part],
                inverse,
            );
        }
        self.next = (self.next + 1) % n;
    }

    /// Sums around the row that lies half a patch above the last one.
    pub(super) fn rows<S: Simd>(&mut self, displacements: usize, n: usize, count: usize) -> Rows<'_> {
        by_count!(displacements, run::<S>(&self.columns, n, count, &mut self.sums));
        Rows { data: &self.sums, step: count * lanes::<S>(), displacements }
    }
}

/// Column sums take the new shares in place of the old ones.
fn enter<S: Simd>(columns: &mut [f32], slot: &mut [f32], weights: &[f32], inverse: &[f32]) {
    let (len, lanes) = (columns.len(), lanes::<S>());
    assert!(slot.len() == len && weights.len() == len && inverse.len() == len && len.is_multiple_of(lanes));
    let (columns, slot) = (columns.as_mut_ptr(), slot.as_mut_ptr());
    S::vectorize(
        #[inline(always)]
        move || {
            let lanes = V::<S>::LANES;
            for i in (0..len).step_by(lanes) {
                // SAFETY: the lengths were asserted.
                unsafe {
                    let share = V::<S>::mul(
                        V::<S>::load(weights.as_ptr().add(i)),
                        V::<S>::load(inverse.as_ptr().add(i)),
                    );
                    let change = V::<S>::sub(share, V::<S>::load(slot.add(i)));
                    V::<S>::store(columns.add(i), V::<S>::add(V::<S>::load(columns.add(i)), change));
                    V::<S>::store(slot.add(i), share);
                }
            }
        },
    );
}

/// Sums over `n` columns, `count` of them; the first begins at column 1.
fn run<S: Simd, const K: usize>(columns: &[f32], n: usize, count: usize, sums: &mut [f32]) {
    let lanes = lanes::<S>();
    let (step, ahead) = ((count + n) * lanes, n * lanes);
    assert!(K * step <= columns.len() && K * count * lanes <= sums.len());
    let (base, out) = (columns.as_ptr(), sums.as_mut_ptr());
    S::vectorize(
        #[inline(always)]
        move || {
            let lanes = V::<S>::LANES;
            let mut run = [V::<S>::splat(0.0); K];
            // SAFETY: all columns are before `count + n`, as asserted.
            unsafe {
                for i in (0..ahead).step_by(lanes) {
                    for (j, run) in run.iter_mut().enumerate() {
                        *run = V::<S>::add(*run, V::<S>::load(base.add(i + j * step)));
                    }
                }
                for i in (0..count * lanes).step_by(lanes) {
                    for (j, run) in run.iter_mut().enumerate() {
                        let at = base.add(i + j * step);
                        *run = V::<S>::add(*run, V::<S>::sub(V::<S>::load(at.add(ahead)), V::<S>::load(at)));
                        V::<S>::store(out.add(i + j * count * lanes), *run);
                    }
                }
            }
        },
    );
}
