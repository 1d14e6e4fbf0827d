//! Noise as the smallest eigenvalues of the covariance of patches: Chen, Zhu, Heng, "An Efficient Statistical
//! Method for Image Noise Level Estimation", ICCV 2015.
//!
//! Clean patches lie near a subspace, so that beyond its dimension the eigenvalues are those of the noise alone,
//! spread evenly around its variance: the largest eigenvalues are dropped until the mean of the rest is also
//! their median.
//!
//! Differences from the paper: each channel on its own instead of all channels in one patch (a ninth of the
//! work), and patches that are flat or clipped are left out.

use super::blocks::{self, Blocks, SIDE};
use super::eigen::eigenvalues;
use super::judge::Judge;
use crate::PlaneView;

/// Dimension of a patch.
const N: usize = SIDE * SIDE;
/// Distance of patches where there are not too many.
const STEP: usize = 3;
/// Patches looked at, over all channels.
pub(super) const LIMIT: usize = 16_384;
/// Fewer patches than this do not determine the covariance.
const FEWEST: usize = 8 * N;
/// Patches whose products are summed in `f32` before they are added in `f64`.
const FLUSH: usize = 256;

/// Variance of the noise of a plane; `None` if it has too few usable patches to tell. `limit`: the most to look at.
pub(super) fn variance(plane: &PlaneView<'_>, judge: &mut Judge<'_>, limit: usize) -> (Option<f64>, Blocks) {
    let corners = blocks::corners(plane, STEP, limit);
    let start = || Covariance::new(plane.row(plane.height() / 2)[plane.width() / 2]);
    let (covariance, blocks) =
        blocks::survey(plane, judge, &corners, start, |to, _, block, _| to.add(block.as_flattened()));
    ((covariance.count >= FEWEST).then(|| noise_variance(&covariance.eigenvalues())), blocks)
}

/// Mean of as many of the ascending eigenvalues as have their mean in their middle.
fn noise_variance(eigenvalues: &[f64]) -> f64 {
    let balanced = |m: &usize| {
        let kept = &eigenvalues[..*m];
        let mean = kept.iter().sum::<f64>() / *m as f64;
        kept.iter().filter(|v| **v > mean).count() == kept.iter().filter(|v| **v < mean).count()
    };
    let m = (1..=eigenvalues.len()).rev().find(balanced).unwrap_or(1);
    (eigenvalues[..m].iter().sum::<f64>() / m as f64).max(0.0)
}

/// Collects patches and their covariance.
struct Covariance {
    /// Subtracted from all samples: large means would cost digits.
    offset: f32,
    pending: Vec<[f32; N]>,
    sums: Vec<f64>,
    products: Vec<f64>,
    count: usize,
}

impl Covariance {
    fn new(offset: f32) -> Self {
        let pending = Vec::with_capacity(FLUSH);
        Self { offset, pending, sums: vec![0.0; N], products: vec![0.0; N * N], count: 0 }
    }

    fn add(&mut self, patch: &[f32]) {
        self.pending.push(std::array::from_fn(|i| patch[i] - self.offset));
        self.count += 1;
        if self.pending.len() == FLUSH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        for patch in &self.pending {
            for (s, v) in self.sums.iter_mut().zip(patch) {
                *s += f64::from(*v);
            }
        }
        self.pending.resize(self.pending.len().next_multiple_of(4), [0.0; N]);
        let mut part = [0.0_f32; N * N];
        for quad in self.pending.chunks_exact(4) {
            let [a, b, c, d] = [&quad[0], &quad[1], &quad[2], &quad[3]];
            for i in 0..N {
                // The upper triangle, from a multiple of 8 so that vectors are whole.
                let from = i / 8 * 8;
                let row = &mut part[i * N + from..(i + 1) * N];
                let right = a[from..].iter().zip(&b[from..]).zip(&c[from..]).zip(&d[from..]);
                for (o, (((aj, bj), cj), dj)) in row.iter_mut().zip(right) {
                    *o += a[i] * aj + b[i] * bj + c[i] * cj + d[i] * dj;
                }
            }
        }
        for (p, v) in self.products.iter_mut().zip(&part) {
            *p += f64::from(*v);
        }
        self.pending.clear();
    }

    fn eigenvalues(mut self) -> Vec<f64> {
        self.flush();
        let n = self.count as f64;
        let mut matrix = vec![0.0; N * N];
        for (i, j) in (0..N).flat_map(|i| (i..N).map(move |j| (i, j))) {
            let v = self.products[i * N + j] / n - self.sums[i] / n * (self.sums[j] / n);
            matrix[i * N + j] = v;
            matrix[j * N + i] = v;
        }
        eigenvalues(&mut matrix, N)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signal_eigenvalues_are_dropped_until_the_mean_is_the_median() {
        // Noise 0.8 to 1.2 around 1, and three directions of signal.
        assert!((noise_variance(&[0.8, 0.9, 1.1, 1.2, 5.0, 20.0, 900.0]) - 1.0).abs() < 1e-12);
        assert_eq!(noise_variance(&[2.0; 5]), 2.0);
        assert_eq!(noise_variance(&[-1e-9]), 0.0);
    }

    #[test]
    fn the_covariance_is_that_of_the_patches() {
        // Patches t * e0 + 2 t * e1 with t of variance 2: one eigenvalue 5 * 2, the others 0.
        let mut c = Covariance::new(3.0);
        for k in 0..1000 {
            let t = [-2.0, -1.0, 0.0, 1.0, 2.0][k % 5];
            let mut patch = [50.0; N];
            patch[0] += t;
            patch[1] += 2.0 * t;
            c.add(&patch);
        }
        let found = c.eigenvalues();
        assert!((found[N - 1] - 10.0).abs() < 1e-3, "{}", found[N - 1]);
        assert!(found[..N - 1].iter().all(|v| v.abs() < 1e-3), "{}", found[N - 2]);
    }
}
