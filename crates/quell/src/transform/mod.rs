//! Transforms of patches and of groups, and the aggregation window, in exact (`f64`) matrix form.
//!
//! These matrices define what every device computes; the fast flow graphs of the devices are tested
//! against them.

mod matrix;

pub use matrix::Matrix;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Transform of a patch's rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transform {
    /// Orthonormal DCT-II.
    Dct,
    /// The authors' biorthogonal spline wavelet `bior1.5`, all synthesis atoms of one norm; needs a power of two.
    Bior,
    /// Orthonormal full dyadic Haar; needs a power of two.
    Haar,
    /// Orthonormal Walsh-Hadamard; needs a power of two.
    Wht,
    /// Orthonormal DST-I, which has no constant atom.
    Dst,
}

impl Transform {
    /// Every transform.
    pub const ALL: [Self; 5] = [Self::Dct, Self::Bior, Self::Haar, Self::Wht, Self::Dst];

    /// The name used on the command line and in plan files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dct => "dct",
            Self::Bior => "bior",
            Self::Haar => "haar",
            Self::Wht => "wht",
            Self::Dst => "dst",
        }
    }

    /// Whether the transform exists for `n` points.
    pub fn check(self, n: usize) -> Result<()> {
        if matches!(self, Self::Bior | Self::Haar | Self::Wht) && !n.is_power_of_two() {
            return Err(Error::parameter(
                "transform",
                self.name(),
                format!("needs a power of two, not {n} points"),
            ));
        }
        Ok(())
    }

    /// The analysis matrix for `n` points, one atom per row.
    ///
    /// # Panics
    /// If [`check`](Self::check) would fail.
    pub fn forward(self, n: usize) -> Matrix {
        assert!(self.check(n).is_ok(), "{} has no {n}-point form", self.name());
        match self {
            Self::Dct => dct(n),
            Self::Bior => bior(n),
            Self::Haar => haar(n),
            Self::Wht => wht(n),
            Self::Dst => dst(n),
        }
    }

    /// The synthesis matrix: the inverse of [`forward`](Self::forward) (for `bior` it is not the transpose).
    pub fn inverse(self, n: usize) -> Matrix {
        let forward = self.forward(n);
        if self == Self::Bior { forward.inverse() } else { forward.transpose() }
    }
}

impl std::str::FromStr for Transform {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|t| t.name() == s)
            .ok_or_else(|| Error::parameter("transform", s, "one of dct, bior, haar, wht, dst"))
    }
}

fn dct(n: usize) -> Matrix {
    Matrix::from_fn(n, |k, i| {
        let c = if k == 0 { (1.0 / n as f64).sqrt() } else { (2.0 / n as f64).sqrt() };
        c * (std::f64::consts::PI * (2 * i + 1) as f64 * k as f64 / (2 * n) as f64).cos()
    })
}

fn dst(n: usize) -> Matrix {
    let m = (n + 1) as f64;
    Matrix::from_fn(n, |k, i| {
        (2.0 / m).sqrt() * (std::f64::consts::PI * ((k + 1) * (i + 1)) as f64 / m).sin()
    })
}

fn wht(n: usize) -> Matrix {
    let c = 1.0 / (n as f64).sqrt();
    Matrix::from_fn(n, |k, i| if (k & i).count_ones().is_multiple_of(2) { c } else { -c })
}

/// Row 0 is the mean, row `2^l + j` the difference of the two halves of the `j`-th of `2^l` intervals.
fn haar(n: usize) -> Matrix {
    Matrix::from_fn(n, |k, i| {
        if k == 0 {
            return 1.0 / (n as f64).sqrt();
        }
        let intervals = 1 << k.ilog2();
        let (len, j) = (n / intervals, k - intervals);
        let c = 1.0 / (len as f64).sqrt();
        match i / len == j {
            true if i % len < len / 2 => c,
            true => -c,
            false => 0.0,
        }
    })
}

/// The authors' matrix of 2020: periodic bior1.5 iterated on the low band, rows of unit norm, then scaled so that
/// every synthesis atom has the same norm and a lost coefficient costs the same error everywhere (+0.006 dB over
/// the unit rows of 2007).
fn bior(n: usize) -> Matrix {
    const LOW: [f64; 10] = [3.0, -3.0, -22.0, 22.0, 128.0, 128.0, 22.0, -22.0, -3.0, 3.0];
    // Rows of the low band so far, as combinations of the input; then split it again and again.
    let mut low: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect();
    let mut rows = Vec::new();
    while low.len() > 1 {
        let m = low.len();
        let mix = |taps: &[(isize, f64)], k: usize| -> Vec<f64> {
            let mut row = vec![0.0; n];
            for &(offset, tap) in taps {
                let source = &low[(2 * k as isize + offset).rem_euclid(m as isize) as usize];
                row.iter_mut().zip(source).for_each(|(r, s)| *r += tap * s);
            }
            row
        };
        let taps: Vec<(isize, f64)> = LOW.iter().enumerate().map(|(i, &t)| (i as isize - 4, t)).collect();
        let details: Vec<_> = (0..m / 2).map(|k| mix(&[(0, 1.0), (1, -1.0)], k)).collect();
        let next: Vec<_> = (0..m / 2).map(|k| mix(&taps, k)).collect();
        rows.splice(0..0, details);
        low = next;
    }
    rows.splice(0..0, low);
    for row in &mut rows {
        let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        row.iter_mut().for_each(|v| *v /= norm);
    }
    let unit = Matrix::from_fn(n, |k, i| rows[k][i]);
    let synthesis = unit.inverse().transpose();
    let norm = |k: usize| synthesis.row(k).iter().map(|v| v * v).sum::<f64>().sqrt();
    Matrix::from_fn(n, |k, i| rows[k][i] * norm(k) / norm(n - 1))
}

/// The Kaiser window of `n` points that weights the pixels of a patch; `beta` 0 is flat.
///
/// ```
/// let k = quell::transform::kaiser(8, 2.0);
/// assert!((k[0] - 0.438676).abs() < 1e-6 && (k[3] - 0.985823).abs() < 1e-6);
/// ```
pub fn kaiser(n: usize, beta: f64) -> Vec<f64> {
    let i0 = |x: f64| {
        let (mut sum, mut term) = (1.0, 1.0);
        for k in 1..60 {
            term *= (x / 2.0 / k as f64).powi(2);
            sum += term;
        }
        sum
    };
    let last = (n.max(2) - 1) as f64;
    (0..n)
        .map(|i| i0(beta * (1.0 - (2.0 * i as f64 / last - 1.0).powi(2)).max(0.0).sqrt()) / i0(beta))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_undoes_forward_at_every_size() {
        for t in Transform::ALL {
            for n in (1..=32).filter(|&n| t.check(n).is_ok()) {
                let product = t.inverse(n).mul(&t.forward(n));
                for r in 0..n {
                    for c in 0..n {
                        let want = if r == c { 1.0 } else { 0.0 };
                        assert!((product.at(r, c) - want).abs() < 1e-9, "{t:?} {n}");
                    }
                }
            }
        }
    }

    fn norms(rows: &Matrix) -> Vec<f64> {
        (0..rows.size()).map(|r| rows.row(r).iter().map(|v| v * v).sum::<f64>().sqrt()).collect()
    }

    #[test]
    fn atoms_have_one_norm() {
        for t in Transform::ALL {
            for n in [4, 8, 16] {
                let atoms = norms(&t.inverse(n).transpose());
                let want = if t == Transform::Bior { atoms[n - 1] } else { 1.0 };
                assert!(atoms.iter().all(|a| (a - want).abs() < 1e-12), "{t:?} {n}");
            }
        }
    }

    #[test]
    fn bior_is_the_authors_matrix() {
        // REFERENCE 1.3, 2020 version: absolute values, signs are free per row.
        let mirror = |a: [f64; 4]| [a[0], a[1], a[2], a[3], a[3], a[2], a[1], a[0]];
        let want = [
            [0.343550200747110; 8],
            mirror([0.225454819240296, 0.461645582253923, 0.461645582253923, 0.225454819240296]),
            [
                0.569359398342846,
                0.402347308162278,
                0.402347308162278,
                0.569359398342846,
                0.083506045090284,
                0.083506045090284,
                0.083506045090284,
                0.083506045090284,
            ],
        ];
        let got = Transform::Bior.forward(8);
        for (r, row) in want.iter().enumerate() {
            for (c, v) in row.iter().enumerate() {
                assert!((got.at(r, c).abs() - v).abs() < 1e-12, "row {r}, column {c}: {}", got.at(r, c));
            }
        }
        assert!((got.at(4, 0) - 0.5f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn odd_sizes_are_refused_where_they_do_not_exist() {
        assert!(Transform::Haar.check(12).is_err());
        assert!(Transform::Dct.check(11).is_ok());
    }
}
