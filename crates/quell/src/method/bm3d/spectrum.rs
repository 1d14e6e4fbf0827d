//! Noise that is correlated in space, as the coefficients of a pass see it (Makinen, Azzari, Foi 2020).

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::noise::correlated::Psd;
use crate::transform::{Matrix, Transform};

/// Covariance of the noise of two coefficients of the same atom, at patches a displacement apart.
///
/// In units of the noise variance of a pixel times the squared norm of the atom, so that with white noise a coefficient has
/// variance 1. It is `IDFT(Psi |F b|^2)`, `Psi` the power spectrum and `b` the atom: the autocorrelation of the atom,
/// convolved with that of the noise.
#[derive(Clone, PartialEq)]
pub struct Spectrum {
    patch: usize,
    reach: usize,
    /// By rows down (0 and more), columns right (from `1 - reach`), `u`, `v`.
    table: Arc<[f32]>,
}

impl Spectrum {
    /// For patches of this side and transform; displacements of `reach` and more count as far away.
    pub fn new(psd: &Psd, transform: Transform, patch: usize, reach: usize) -> Self {
        let reach = reach.max(1);
        let (near, side) = (reach + patch - 2, 2 * reach - 1);
        let noise = psd.correlations(near);
        let across = 2 * near + 1;
        let atoms = autocorrelations(&transform.forward(patch));
        let taps = 2 * patch - 1;
        let mut table = vec![0.0; reach * side * patch * patch];
        let mut rows = vec![0.0; across];
        for dy in 0..reach {
            for (u, vertical) in atoms.iter().enumerate() {
                // Lines of the noise from dy - patch + 1 on, each by its weight.
                rows.fill(0.0);
                let first = dy + near + 1 - patch;
                for (weight, line) in vertical.iter().zip(noise.chunks_exact(across).skip(first)) {
                    rows.iter_mut().zip(line).for_each(|(row, n)| *row += weight * n);
                }
                for (i, near) in rows.windows(taps).enumerate() {
                    for (v, horizontal) in atoms.iter().enumerate() {
                        let sum: f64 = horizontal.iter().zip(near).map(|(a, n)| a * n).sum();
                        table[((dy * side + i) * patch + u) * patch + v] = sum as f32;
                    }
                }
            }
        }
        Self { patch, reach, table: table.into() }
    }

    /// Patches that lie this many rows or columns apart, or more, are taken to have noise of their own.
    pub fn reach(&self) -> usize {
        self.reach
    }

    /// The whole table: by rows down from 0 on, columns right from `1 - reach` on, and the atom's rows and columns.
    pub fn table(&self) -> &[f32] {
        &self.table
    }

    /// The covariances of all atoms at a displacement, or `None` if it is out of reach.
    pub fn at(&self, dy: isize, dx: isize) -> Option<&[f32]> {
        // The same both ways, but not mirrored.
        let (dy, dx) = if dy < 0 { (-dy, -dx) } else { (dy, dx) };
        let (y, x) = (dy as usize, (dx + self.reach as isize - 1) as usize);
        let side = 2 * self.reach - 1;
        let atoms = self.patch * self.patch;
        (y < self.reach && dx > -(self.reach as isize) && x < side)
            .then(|| &self.table[(y * side + x) * atoms..][..atoms])
    }

    /// How unevenly the noise is spread over the coefficients of a patch: the mean square of their variances over the
    /// square of the mean. 1 for white noise, up to the number of coefficients.
    pub fn unevenness(&self) -> f64 {
        let count = self.own().len() as f64;
        let (sum, squares) =
            self.own().iter().map(|&v| f64::from(v)).fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
        squares * count / (sum * sum)
    }

    /// Variances of the coefficients of one patch.
    pub fn own(&self) -> &[f32] {
        &self.table[(self.reach - 1) * self.patch * self.patch..][..self.patch * self.patch]
    }
}

/// Autocorrelations of the rows of a transform, 1 in the middle.
fn autocorrelations(forward: &Matrix) -> Vec<Vec<f64>> {
    let n = forward.size();
    let one = |u: usize| {
        let a = forward.row(u);
        let correlation = |d: usize| a[d..].iter().zip(a).map(|(a, b)| a * b).sum::<f64>();
        (0..2 * n - 1).map(|i| correlation((i + 1).abs_diff(n)) / correlation(0)).collect()
    };
    (0..n).map(one).collect()
}

impl std::fmt::Debug for Spectrum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spectrum")
            .field("patch", &self.patch)
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}

/// A plan shows that there is one and how far it reaches, not its tables.
impl Serialize for Spectrum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut s = serializer.serialize_struct("Spectrum", 1)?;
        s.serialize_field("reach", &self.reach)?;
        s.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::correlated::Kernel;

    #[test]
    fn white_noise_has_the_autocorrelation_of_the_atoms() {
        let psd = Kernel::White.psd(48, 40, 9.0).unwrap();
        for transform in [Transform::Bior, Transform::Dct] {
            let spectrum = Spectrum::new(&psd, transform, 8, 11);
            let atoms = autocorrelations(&transform.forward(8));
            assert!(spectrum.own().iter().all(|v| (v - 1.0).abs() < 1e-5));
            assert!((spectrum.unevenness() - 1.0).abs() < 1e-5);
            for (dy, dx) in [(0, 1), (3, -2), (-5, 7), (8, 0), (0, -10), (-9, 9)] {
                let at = spectrum.at(dy, dx).unwrap();
                for (i, &got) in at.iter().enumerate() {
                    let tap = |u: usize, d: isize| atoms[u].get((d + 7) as usize).copied().unwrap_or(0.0);
                    let want = tap(i / 8, dy) * tap(i % 8, dx);
                    assert!((f64::from(got) - want).abs() < 1e-5, "({dy}, {dx}) {i}: {got} for {want}");
                }
            }
            assert!(
                spectrum.at(11, 0).is_none()
                    && spectrum.at(0, -11).is_none()
                    && spectrum.at(-3, 11).is_none()
            );
        }
    }

    #[test]
    fn coloured_noise_has_the_covariance_of_the_definition() {
        // Diagonal stripes: not the same mirrored.
        let psd = Kernel::G3w.psd(64, 48, 4.0).unwrap();
        let (n, reach) = (4, 7);
        let spectrum = Spectrum::new(&psd, Transform::Dct, n, reach);
        let forward = Transform::Dct.forward(n);
        for (dy, dx) in [(0, 0), (2, 3), (-2, -3), (2, -3), (6, 6), (0, -5)] {
            for (u, v) in [(0, 0), (1, 2), (3, 3)] {
                let b = |i: usize| forward.at(u, i / n) * forward.at(v, i % n);
                let mut want = 0.0;
                for (p, q) in (0..n * n).flat_map(|p| (0..n * n).map(move |q| (p, q))) {
                    let apart = |p: usize, q: usize, d: isize| p as isize - q as isize + d;
                    want += b(p) * b(q) * psd.correlation(apart(p % n, q % n, dx), apart(p / n, q / n, dy));
                }
                let got = f64::from(spectrum.at(dy, dx).unwrap()[u * n + v]);
                assert!((got - want).abs() < 1e-4, "({dy}, {dx}), atom ({u}, {v}): {got} for {want}");
            }
        }
        let (there, mirrored) = (spectrum.at(2, 3).unwrap()[0], spectrum.at(2, -3).unwrap()[0]);
        assert!((there - mirrored).abs() > 0.1);
    }
}
