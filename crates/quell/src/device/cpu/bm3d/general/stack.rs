//! The transform across the patches of a group, and the exact variances of what it yields.

use super::super::group8::MAX;
use super::patch::{Blocked, columns, times};
use crate::bm3d::Spectrum;
use crate::transform::{Matrix, Transform};

/// Least relative variance: a combination that cancels keeps clear of 0 / 0. The same in the reference.
const LEAST: f32 = 1e-6;

/// A transform across groups of 1, 2, 4, ... patches.
#[derive(Default)]
pub(super) struct StackTransform {
    /// What the tables were made for: the transform and the largest group.
    made_for: Option<(Transform, usize)>,
    sizes: Vec<Size>,
}

/// The transform across a group of one size. Coefficients are in the order of [`atom`].
struct Size {
    /// What patch `j` adds to coefficient `k`, at `j * patches + k`.
    columns: Vec<f32>,
    method: Method,
}

enum Method {
    Haar,
    Wht,
    Product { forward: Blocked, inverse: Blocked },
}

impl StackTransform {
    /// Makes the tables, unless the last pass left the same.
    pub(super) fn prepare(&mut self, transform: Transform, group: usize) {
        if self.made_for.replace((transform, group)) != Some((transform, group)) {
            self.sizes = (0..=group.ilog2()).map(|log| Size::new(transform, 1 << log)).collect();
        }
    }

    /// The matrix for `m` patches, column by column.
    pub(super) fn columns(&self, m: usize) -> &[f32] {
        &self.sizes[m.ilog2() as usize].columns
    }

    /// In place on `m` patches.
    #[inline(always)]
    pub(super) fn forward<const P: usize>(&self, stack: &mut [[f32; P]], m: usize) {
        match &self.sizes[m.ilog2() as usize].method {
            Method::Haar => {
                for log in 0..m.ilog2() {
                    haar_level(stack, m, 1 << log);
                }
            }
            Method::Wht => wht(stack, m),
            Method::Product { forward, .. } => product(forward, stack, m),
        }
    }

    /// Undoes [`forward`](Self::forward).
    #[inline(always)]
    pub(super) fn inverse<const P: usize>(&self, stack: &mut [[f32; P]], m: usize) {
        match &self.sizes[m.ilog2() as usize].method {
            Method::Haar => {
                for log in (0..m.ilog2()).rev() {
                    haar_level(stack, m, 1 << log);
                }
            }
            Method::Wht => wht(stack, m),
            Method::Product { inverse, .. } => product(inverse, stack, m),
        }
    }
}

impl Size {
    fn new(transform: Transform, m: usize) -> Self {
        let matrix = transform.forward(m);
        let method = match transform {
            Transform::Haar => Method::Haar,
            Transform::Wht => Method::Wht,
            Transform::Dct | Transform::Bior | Transform::Dst => Method::Product {
                forward: Blocked::new(&matrix),
                inverse: Blocked::new(&transform.inverse(m)),
            },
        };
        let columns = (0..m * m).map(|i| matrix.at(atom(&method, m, i % m), i / m) as f32).collect();
        Self { columns, method }
    }
}

/// The row of the transform's matrix that ends up as coefficient `k`. Shrinkage does not ask for the order, so
/// Haar leaves every difference where the second half's sum was.
fn atom(method: &Method, m: usize, k: usize) -> usize {
    match method {
        Method::Haar if k > 0 => {
            let size = 2 << k.trailing_zeros();
            m / size + k / size
        }
        _ => k,
    }
}

/// Sums and differences of patches `half` apart, of which every second one is the first of an interval.
#[inline(always)]
fn haar_level<const P: usize>(stack: &mut [[f32; P]], m: usize, half: usize) {
    let n = stack.len() / m;
    for interval in stack.chunks_exact_mut(2 * half * n) {
        let (a, b) = interval.split_at_mut(half * n);
        butterfly(&mut a[..n], &mut b[..n]);
    }
}

#[inline(always)]
fn wht<const P: usize>(stack: &mut [[f32; P]], m: usize) {
    let n = stack.len() / m;
    for log in 0..m.ilog2() {
        let half = n << log;
        for interval in stack.chunks_exact_mut(2 * half) {
            let (a, b) = interval.split_at_mut(half);
            butterfly(a, b);
        }
    }
}

/// `(a + b, a - b) / sqrt(2)`, which is its own inverse.
#[inline(always)]
fn butterfly<const P: usize>(a: &mut [[f32; P]], b: &mut [[f32; P]]) {
    for (a, b) in a.as_flattened_mut().iter_mut().zip(b.as_flattened_mut()) {
        let (sum, difference) = (*a + *b, *a - *b);
        *a = sum * std::f32::consts::FRAC_1_SQRT_2;
        *b = difference * std::f32::consts::FRAC_1_SQRT_2;
    }
}

/// The matrix product across the patches, one row of the patches at a time.
#[inline(always)]
fn product<const P: usize>(matrix: &Blocked, stack: &mut [[f32; P]], m: usize) {
    let n = stack.len() / m;
    let mut copy = [[0.0; P]; MAX];
    for u in 0..n {
        for (copy, patch) in copy.iter_mut().zip(stack.chunks_exact(n)) {
            *copy = patch[u];
        }
        matrix.apply(
            #[inline(always)]
            |j| copy[j],
            #[inline(always)]
            |k, row| stack[k * n + u] = *row,
        );
    }
}

/// The same where the noise is correlated: the sum over all pairs of `h_k[i] h_k[j]` times what the spectrum has for their
/// displacement.
#[inline(always)]
pub(super) fn correlated<const P: usize>(
    spectrum: &Spectrum,
    n: usize,
    at: &[(usize, usize)],
    across: &[f32],
    relative: &mut [[f32; P]],
) {
    let m = at.len();
    relative[..m * n].fill([0.0; P]);
    let apart = |a: usize, b: usize| a as isize - b as isize;
    for (j, (a, column)) in at.iter().zip(across.chunks_exact(m)).enumerate() {
        for (i, (b, other)) in at.iter().zip(across.chunks_exact(m)).enumerate().take(j + 1) {
            let Some(atoms) = spectrum.at(apart(a.1, b.1), apart(a.0, b.0)) else { continue };
            let count = if i == j { 1.0 } else { 2.0 };
            for ((relative, a), b) in relative.chunks_exact_mut(n).zip(column).zip(other) {
                let product = count * a * b;
                if product == 0.0 {
                    continue;
                }
                for (row, atoms) in relative.iter_mut().zip(atoms.chunks_exact(n)) {
                    row.iter_mut().zip(atoms).for_each(|(v, r)| *v += product * r);
                }
            }
        }
    }
    at_least(&mut relative[..m * n]);
}

/// The variances of patches on their own.
pub(super) fn single<const P: usize>(spectrum: &Spectrum, n: usize, relative: &mut [[f32; P]]) {
    for (row, atoms) in relative.iter_mut().zip(spectrum.own().chunks_exact(n)) {
        row[..n].copy_from_slice(atoms);
    }
    at_least(relative);
}

#[inline(always)]
fn at_least<const P: usize>(relative: &mut [[f32; P]]) {
    relative.as_flattened_mut().iter_mut().for_each(|v| *v = v.max(LEAST));
}

/// Exact noise variances of the coefficients of a group whose patches overlap (Makinen et al. 2020).
///
/// The variance of coefficient `k` of atom `(u, v)` is the sum over all pairs of patches of
/// `h_k[i] h_k[j] r_u(|dy|) r_v(|dx|)`, `r` being the autocorrelation of the atoms. Pairs of one displacement
/// share their `r`; so the `h_k[i] h_k[j]` are first added up by displacement, and what is left is a separable
/// transform of that table by the matrix of the autocorrelations.
pub(super) struct Correlation<const P: usize> {
    rows: Blocked,
    columns: Vec<[f32; P]>,
}

impl<const P: usize> Correlation<P> {
    pub(super) fn new(forward: &Matrix) -> Self {
        let n = forward.size();
        let correlation = |u: usize, d: usize| -> f64 {
            let a = forward.row(u);
            a[d..].iter().zip(a).map(|(a, b)| a * b).sum()
        };
        let relative = Matrix::from_fn(n, |u, d| correlation(u, d) / correlation(u, 0));
        Self { rows: Blocked::new(&relative), columns: columns(&relative) }
    }

    /// Variances of the group with patches `at`; `across` are the columns of the transform across it.
    #[inline(always)]
    pub(super) fn variances(
        &self,
        at: &[(usize, usize)],
        across: &[f32],
        pairs: &mut Vec<f32>,
        relative: &mut [[f32; P]],
    ) {
        let (n, m) = (self.columns.len(), at.len());
        pairs.clear();
        pairs.resize(n * n * m, 0.0);
        for (j, (a, column)) in at.iter().zip(across.chunks_exact(m)).enumerate() {
            for (i, (b, other)) in at.iter().zip(across.chunks_exact(m)).enumerate().take(j + 1) {
                let (dx, dy) = (a.0.abs_diff(b.0), a.1.abs_diff(b.1));
                if dx < n && dy < n {
                    let count = if i == j { 1.0 } else { 2.0 };
                    let sums = &mut pairs[(dy * n + dx) * m..][..m];
                    for ((sum, a), b) in sums.iter_mut().zip(column).zip(other) {
                        *sum += count * a * b;
                    }
                }
            }
        }
        for (k, relative) in relative.chunks_exact_mut(n).enumerate().take(m) {
            let mut half = [[0.0; P]; P];
            for (half, pairs) in half.iter_mut().zip(pairs.chunks_exact(n * m)) {
                *half = times(&self.columns, pairs[k..].iter().step_by(m));
            }
            self.rows.apply(
                #[inline(always)]
                |d| half[d],
                #[inline(always)]
                |u, row| relative[u] = row.map(|v| v.max(LEAST)),
            );
        }
    }
}
