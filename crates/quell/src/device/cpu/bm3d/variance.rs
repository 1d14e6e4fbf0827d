//! Exact noise variances of the coefficients of a group whose patches overlap (Makinen et al. 2020).
//!
//! With Haar across the group, the variance of a coefficient is a sum over the pairs of patches below its
//! node: pairs in the same half count plus, pairs across the halves count minus. A pair that does not overlap
//! counts nothing. The correlation of an atom with itself, shifted, is a product over rows and columns; where the noise
//! is correlated, it is what the spectrum says, and patches count as near as far as that reaches.

use super::group8::MAX;
use super::half::Row;
use super::patch8::{Points8, Scales};
use crate::bm3d::Spectrum;
use crate::device::cpu::group::LANES;
use crate::device::cpu::group::matching::Window;
use crate::device::cpu::simd::Simd;

/// Least relative variance: a combination that cancels keeps clear of 0 / 0. The same in the reference.
const LEAST: f32 = 1e-6;

/// Variances of the current group, in units of those of patches that do not overlap.
#[derive(Default)]
pub(super) struct Variances {
    /// `[dy][dx][u]`: correlation of the atoms at a displacement, relative to their norms.
    table: Vec<[Row; 8]>,
    /// Displacement of every number.
    displacements: Vec<(i16, i16)>,
    nodes: Box<Nodes>,
}

/// Fixed arrays, so that the compiler sees that no index leaves them.
struct Nodes {
    /// Per coefficient.
    relative: [[Row; 8]; MAX],
    /// Per node: the sum over all pairs below it.
    within: [[Row; 8]; MAX],
}

impl Default for Nodes {
    fn default() -> Self {
        Self { relative: [[[1.0; 8]; 8]; MAX], within: [[[0.0; 8]; 8]; MAX] }
    }
}

/// Bit `j % 64` of `near[i][j / 64]`: patches `i` and `j` overlap.
type Near = [[u64; MAX / 64]; MAX];

impl Variances {
    /// Tables of one transform and window.
    pub(super) fn prepare<T: Points8>(&mut self, window: Window) {
        let numbers = 0..(window.side() * window.side()) as u32;
        let short = |(dy, dx): (i32, i32)| (dy as i16, dx as i16);
        self.displacements.clear();
        self.displacements.extend(numbers.map(|n| short(window.displacement(n))));
        let scales = Scales::of::<T>();
        let r = |d: usize, u: usize| scales.autocorrelation[d][u];
        self.table.clear();
        self.table.extend((0..64).map(|i| -> [Row; 8] {
            std::array::from_fn(|u| std::array::from_fn(|v| (r(i / 8, u) * r(i % 8, v)) as f32))
        }));
    }

    /// Relative variance of coefficient `k`, row `u`.
    #[inline(always)]
    pub(super) fn relative<S: Simd>(&self, k: usize, u: usize) -> S::F32 {
        let row = &self.nodes.relative[k % MAX][u];
        // SAFETY: a row has 8 floats.
        unsafe { S::load(row.as_ptr()) }
    }

    /// The same without exact variances: every coefficient has that of a single patch.
    pub(super) fn prepare_single(&mut self, spectrum: &Spectrum) {
        let own: [Row; 8] =
            std::array::from_fn(|u| std::array::from_fn(|v| spectrum.own()[8 * u + v].max(LEAST)));
        self.nodes.relative.fill(own);
    }

    /// Computes the variances of a group.
    #[inline(never)]
    pub(super) fn of_group<S: Simd>(&mut self, group: &[u32], spectrum: Option<&Spectrum>) {
        S::vectorize(
            #[inline(always)]
            || match spectrum {
                None => {
                    let table = std::mem::take(&mut self.table);
                    self.of_group_inner::<S>(group, White(&table));
                    self.table = table;
                }
                Some(spectrum) => self.of_group_inner::<S>(group, Coloured::new(spectrum)),
            },
        );
    }

    #[inline(always)]
    fn of_group_inner<'a, S: Simd>(&mut self, group: &[u32], noise: impl Noise<'a>) {
        let n = group.len().min(MAX);
        let (mut ys, mut xs, mut near): (_, _, Near) = ([0u16; MAX], [0u16; MAX], [[0; MAX / 64]; MAX]);
        for ((&key, y), x) in group.iter().zip(&mut ys).zip(&mut xs) {
            let (dy, dx) = self.displacements[(key & 0xffff) as usize];
            (*y, *x) = (dy as u16, dx as u16);
        }
        for (i, near) in near.iter_mut().enumerate().take(n) {
            *near = overlaps::<S>(&ys, &xs, i, n, noise.reach());
        }
        // Node 1 is the root, node i has the children 2i and 2i + 1; node i is also coefficient i.
        for node in (1..n).rev() {
            self.node::<S>(node, n, &ys, &xs, &near, noise);
        }
        for u in 0..8 {
            // SAFETY: rows have 8 floats.
            unsafe {
                let pairs = if n > 1 { S::load(self.nodes.within[1][u].as_ptr()) } else { S::splat(0.0) };
                let v = S::fma(pairs, S::splat(2.0 / n as f32), noise.own::<S>(u));
                S::store(self.nodes.relative[0][u].as_mut_ptr(), S::max(v, S::splat(LEAST)));
            }
        }
    }

    /// The variance of the coefficient at `node` from the pairs across its halves and those within them.
    #[inline(always)]
    fn node<'a, S: Simd>(
        &mut self,
        node: usize,
        n: usize,
        ys: &[u16; MAX],
        xs: &[u16; MAX],
        near: &Near,
        noise: impl Noise<'a>,
    ) {
        let size = n >> node.ilog2();
        let first = (node - (1 << node.ilog2())) * size;
        let left = ((1u128 << (size / 2)) - 1) << first;
        let left = [left as u64, (left >> 64) as u64];
        let mut across = [S::splat(0.0); 8];
        for i in first + size / 2..first + size {
            let i = i % MAX;
            for word in 0..MAX / 64 {
                let mut pairs = near[i][word] & left[word];
                while pairs != 0 {
                    let j = word * 64 + pairs.trailing_zeros() as usize;
                    pairs &= pairs - 1;
                    let (dy, dx) = (ys[i].wrapping_sub(ys[j]) as i16, xs[i].wrapping_sub(xs[j]) as i16);
                    let rows = noise.pair(dy, dx);
                    for u in 0..8 {
                        // SAFETY: rows have 8 floats.
                        across[u] = S::add(across[u], unsafe { S::load(rows[u].as_ptr()) });
                    }
                }
            }
        }
        let Nodes { relative, within } = &mut *self.nodes;
        for u in 0..8 {
            // SAFETY: rows have 8 floats.
            unsafe {
                let (sum, difference) = if size > 2 {
                    let (low, high) = (&within[2 * node % MAX][u], &within[(2 * node + 1) % MAX][u]);
                    let halves = S::add(S::load(low.as_ptr()), S::load(high.as_ptr()));
                    (S::add(halves, across[u]), S::sub(halves, across[u]))
                } else {
                    (across[u], S::sub(S::splat(0.0), across[u]))
                };
                S::store(within[node % MAX][u].as_mut_ptr(), sum);
                let v = S::fma(difference, S::splat(2.0 / size as f32), noise.own::<S>(u));
                S::store(relative[node % MAX][u].as_mut_ptr(), S::max(v, S::splat(LEAST)));
            }
        }
    }
}

/// What the noise of two patches has in common.
trait Noise<'a>: Copy {
    /// Displacements from here on count nothing.
    fn reach(self) -> u16;

    /// Covariances of the coefficients of patches a displacement apart that is less than the reach.
    fn pair(self, dy: i16, dx: i16) -> &'a [Row; 8];

    /// Row `u` of the variances of a single patch.
    fn own<S: Simd>(self, u: usize) -> S::F32;
}

/// White noise: patches have in common what they overlap.
#[derive(Clone, Copy)]
struct White<'a>(&'a [[Row; 8]]);

impl<'a> Noise<'a> for White<'a> {
    #[inline(always)]
    fn reach(self) -> u16 {
        8
    }

    #[inline(always)]
    fn pair(self, dy: i16, dx: i16) -> &'a [Row; 8] {
        &self.0[(dy.unsigned_abs() % 8 * 8 + dx.unsigned_abs() % 8) as usize]
    }

    #[inline(always)]
    fn own<S: Simd>(self, _: usize) -> S::F32 {
        S::splat(1.0)
    }
}

/// Noise that is correlated in space.
#[derive(Clone, Copy)]
struct Coloured<'a> {
    table: &'a [[Row; 8]],
    reach: i32,
}

impl<'a> Coloured<'a> {
    #[inline(always)]
    fn new(spectrum: &'a Spectrum) -> Self {
        let (rows, _) = spectrum.table().as_chunks::<8>();
        Self { table: rows.as_chunks().0, reach: spectrum.reach() as i32 }
    }
}

impl<'a> Noise<'a> for Coloured<'a> {
    #[inline(always)]
    fn reach(self) -> u16 {
        self.reach as u16
    }

    #[inline(always)]
    fn pair(self, dy: i16, dx: i16) -> &'a [Row; 8] {
        // The same both ways: the table has the rows from 0 on.
        let sign = if dy < 0 { -1 } else { 1 };
        let (dy, dx) = (sign * i32::from(dy), sign * i32::from(dx));
        &self.table[(dy * (2 * self.reach - 1) + dx + self.reach - 1) as usize]
    }

    #[inline(always)]
    fn own<S: Simd>(self, u: usize) -> S::F32 {
        // SAFETY: rows have 8 floats.
        unsafe { S::load(self.table[(self.reach - 1) as usize][u].as_ptr()) }
    }
}

/// Which of the `n` patches are less than `reach` away from patch `i`, in rows and in columns.
#[inline(always)]
fn overlaps<S: Simd>(ys: &[u16; MAX], xs: &[u16; MAX], i: usize, n: usize, reach: u16) -> [u64; MAX / 64] {
    let mut near = [0; MAX / 64];
    for block in (0..n).step_by(LANES) {
        let close = close::<S>(ys, i, block, reach) & close::<S>(xs, i, block, reach);
        near[block / 64] |= u64::from(close) << (block % 64);
    }
    near
}

/// Which of the 32 positions from `block` are less than `reach` away from position `i`.
#[inline(always)]
fn close<S: Simd>(all: &[u16; MAX], i: usize, block: usize, reach: u16) -> u32 {
    assert!(block + LANES <= MAX);
    // SAFETY: the assertion keeps the load inside the array.
    let others = unsafe { S::u16_load(all.as_ptr().add(block)) };
    let first = all[i].wrapping_sub(reach - 1);
    S::u16_lt(S::u16_sub(others, S::u16_splat(first)), S::u16_splat(2 * reach - 1))
}
