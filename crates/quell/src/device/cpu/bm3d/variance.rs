//! Exact noise variances of the coefficients of a group whose patches overlap (Makinen et al. 2020).
//!
//! With Haar across the group, the variance of a coefficient is a sum over the pairs of patches below its
//! node: pairs in the same half count plus, pairs across the halves count minus. A pair that does not overlap
//! counts nothing. The correlation of an atom with itself, shifted, is a product over rows and columns.

use super::filter8::Row;
use super::matching::Window;
use super::patch8::{Points8, Scales};
use crate::device::cpu::simd::Simd;

/// Least relative variance: a combination that cancels keeps clear of 0 / 0. The same in the reference.
const LEAST: f32 = 1e-6;

/// Variances of the current group, in units of those of patches that do not overlap.
#[derive(Default)]
pub(super) struct Variances {
    /// `[dy][dx][u]`: correlation of the atoms at a displacement, relative to their norms.
    table: Vec<[Row; 8]>,
    /// Per coefficient.
    relative: Vec<[Row; 8]>,
    cross: Vec<[Row; 8]>,
    within: Vec<[Row; 8]>,
}

impl Variances {
    /// Tables of one transform.
    pub(super) fn prepare<T: Points8>(&mut self) {
        let scales = Scales::of::<T>();
        let r = |d: usize, u: usize| scales.autocorrelation[d][u] / scales.norm2[u];
        self.table = (0..64)
            .map(|i| std::array::from_fn(|u| std::array::from_fn(|v| (r(i / 8, u) * r(i % 8, v)) as f32)))
            .collect();
    }

    /// Relative variance of coefficient `k`, row `u`.
    #[inline(always)]
    pub(super) fn relative<S: Simd>(&self, k: usize, u: usize) -> S::F32 {
        let row = &self.relative[k][u];
        // SAFETY: a row has 8 floats.
        unsafe { S::load(row.as_ptr()) }
    }

    /// Computes the variances of a group.
    #[inline(always)]
    pub(super) fn of_group<S: Simd>(&mut self, group: &[u32], window: Window) {
        let n = group.len();
        let zero = [[0.0; 8]; 8];
        self.relative.clear();
        self.relative.resize(n, zero);
        // Node 1 is the root, node i has the children 2i and 2i + 1; node i is also coefficient i.
        self.cross.clear();
        self.cross.resize(n.max(2), zero);
        self.within.clear();
        self.within.resize(2 * n, zero);
        let mut at = [(0i32, 0i32); 128];
        for (a, &key) in at.iter_mut().zip(group) {
            *a = window.displacement(key);
        }
        for i in 0..n {
            for j in i + 1..n {
                let (dy, dx) = (at[i].0.abs_diff(at[j].0), at[i].1.abs_diff(at[j].1));
                if dy < 8 && dx < 8 {
                    let up = (i ^ j).ilog2() + 1;
                    let node = &mut self.cross[(n + i) >> up];
                    let pair = &self.table[(dy * 8 + dx) as usize];
                    for u in 0..8 {
                        add::<S>(&mut node[u], &pair[u]);
                    }
                }
            }
        }
        for node in (1..n).rev() {
            let size = (n >> node.ilog2()) as f32;
            for u in 0..8 {
                // SAFETY: rows have 8 floats.
                unsafe {
                    let load = |r: &Row| S::load(r.as_ptr());
                    let halves = S::add(load(&self.within[2 * node][u]), load(&self.within[2 * node + 1][u]));
                    let across = load(&self.cross[node][u]);
                    S::store(self.within[node][u].as_mut_ptr(), S::add(halves, across));
                    let v = S::fma(S::sub(halves, across), S::splat(2.0 / size), S::splat(1.0));
                    S::store(self.relative[node][u].as_mut_ptr(), S::max(v, S::splat(LEAST)));
                }
            }
        }
        for u in 0..8 {
            // SAFETY: rows have 8 floats.
            unsafe {
                let v = S::fma(S::load(self.within[1][u].as_ptr()), S::splat(2.0 / n as f32), S::splat(1.0));
                S::store(self.relative[0][u].as_mut_ptr(), S::max(v, S::splat(LEAST)));
            }
        }
    }
}

#[inline(always)]
fn add<S: Simd>(to: &mut Row, from: &Row) {
    // SAFETY: rows have 8 floats.
    unsafe { S::store(to.as_mut_ptr(), S::add(S::load(to.as_ptr()), S::load(from.as_ptr()))) }
}
