//! The covariance of noise between the three channels of a picture, and the matrix that undoes it.

use std::fmt;

use super::Matrix;
use crate::{Error, Result};

/// How far `C[i][j]` and `C[j][i]` may lie apart, against the larger variance of the two channels: what a file with few
/// digits needs.
const SYMMETRY: f64 = 1e-3;
/// The smallest eigenvalue against the largest one from which a covariance is positive definite: below it one direction
/// of colour has no noise, and distances there would decide alone.
const DEFINITE: f64 = 1e-6;

/// Covariance of the noise of red, green and blue (or whatever the three planes are), in squared units of the samples.
///
/// ```
/// use quell::noise::correlated::Covariance;
/// let c: Covariance = "625 500 375\n500 625 500  # any separator\n375, 500, 625".parse()?;
/// assert_eq!(c.variance(), 625.0);
/// let e = "1 2 0\n2 1 0\n0 0 1".parse::<Covariance>().unwrap_err();
/// assert!(e.to_string().contains("smallest eigenvalue is -1"));
/// # Ok::<(), quell::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Covariance {
    rows: Matrix,
}

impl Covariance {
    /// A covariance from its rows: finite, symmetric and positive definite, or an error that says which it is not.
    pub fn new(rows: [[f64; 3]; 3]) -> Result<Self> {
        for (i, row) in rows.iter().enumerate() {
            if let Some(j) = row.iter().position(|v| !v.is_finite()) {
                return Err(bad(format!("[{}][{}]", i + 1, j + 1), row[j], "must be a finite number"));
            }
        }
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let scale = rows[i][i].abs().max(rows[j][j].abs());
            if (rows[i][j] - rows[j][i]).abs() > SYMMETRY * scale {
                let at = format!("[{}][{}]", i + 1, j + 1);
                let reason = format!("must be symmetric, but [{}][{}] is {}", j + 1, i + 1, rows[j][i]);
                return Err(bad(at, rows[i][j], reason));
            }
        }
        let rows = std::array::from_fn(|i| std::array::from_fn(|j| 0.5 * (rows[i][j] + rows[j][i])));
        let c = Self { rows };
        let (values, _) = c.eigen();
        let (least, most) = (
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(0.0, f64::max),
        );
        if least <= DEFINITE * most || most == 0.0 {
            let reason =
                format!("must be positive definite, but its smallest eigenvalue is {}", short(least));
            return Err(bad(String::new(), c, reason));
        }
        Ok(c)
    }

    /// Of noise with these deviations in luma and two channels of colour, in an opponent space with rows of length 1.
    /// Every channel is taken to have at least a hundredth of the strongest one.
    ///
    /// ```
    /// use quell::noise::correlated::Covariance;
    /// let white = Covariance::of_channels([5.0; 3])?;
    /// assert!((white.rows()[0][0] - 25.0).abs() < 1e-9 && white.rows()[0][1].abs() < 1e-9);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn of_channels(levels: [f64; 3]) -> Result<Self> {
        let most = levels.into_iter().fold(0.0, f64::max);
        let opponent = [[1.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -2.0, 1.0]];
        let sum = |i: usize, j: usize| {
            let part = |(row, level): (&[f64; 3], f64)| {
                let length: f64 = row.iter().map(|v| v * v).sum();
                level.max(0.01 * most).powi(2) * row[i] * row[j] / length
            };
            opponent.iter().zip(levels).map(part).sum()
        };
        Self::new(std::array::from_fn(|i| std::array::from_fn(|j| sum(i, j))))
    }

    /// The rows.
    pub fn rows(&self) -> &[[f64; 3]; 3] {
        &self.rows
    }

    /// Mean variance of the channels: the square of what is called sigma elsewhere.
    pub fn variance(&self) -> f64 {
        (self.rows[0][0] + self.rows[1][1] + self.rows[2][2]) / 3.0
    }

    /// The same for samples in units `factor` times as small: every entry times the square of it.
    pub fn scaled(&self, factor: f64) -> Self {
        Self { rows: self.rows.map(|row| row.map(|v| v * factor * factor)) }
    }

    /// The same shape with this mean variance.
    pub fn with_variance(&self, variance: f64) -> Self {
        self.scaled((variance / self.variance()).sqrt())
    }

    /// The correlation of two channels, -1 to 1.
    pub fn correlation(&self, i: usize, j: usize) -> f64 {
        self.rows[i][j] / (self.rows[i][i] * self.rows[j][j]).sqrt()
    }

    /// `C^(-1/2)`, symmetric: makes noise of covariance `C` independent in the channels and of unit variance (Goossens et
    /// al. 2.4).
    pub fn inverse_root(&self) -> [[f64; 3]; 3] {
        self.power(|v| 1.0 / v.sqrt())
    }

    /// `C^(1/2)`, symmetric: makes such noise from independent noise of unit variance.
    pub fn root(&self) -> [[f64; 3]; 3] {
        self.power(f64::sqrt)
    }

    /// `Q f(L) Q^T` for the eigenvalues `L` and eigenvectors `Q`.
    fn power(&self, f: impl Fn(f64) -> f64) -> Matrix {
        let (values, q) = self.eigen();
        let values = values.map(f);
        std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| q[i][k] * values[k] * q[j][k]).sum()))
    }

    /// Eigenvalues and, in the columns, eigenvectors: Jacobi's rotations (Golub, Van Loan, "Matrix Computations", 8.5).
    pub(super) fn eigen(&self) -> ([f64; 3], Matrix) {
        // Each sweep squares what is off the diagonal: five reach the last bit.
        const SWEEPS: usize = 12;
        let mut a = self.rows;
        let mut q = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        for (i, j) in (0..SWEEPS).flat_map(|_| [(0, 1), (0, 2), (1, 2)]) {
            if a[i][j] == 0.0 {
                continue;
            }
            let theta = (a[j][j] - a[i][i]) / (2.0 * a[i][j]);
            let t = 1.0_f64.copysign(theta) / (theta.abs() + theta.hypot(1.0));
            let c = 1.0 / t.hypot(1.0);
            let s = t * c;
            for row in a.iter_mut().chain(q.iter_mut()) {
                (row[i], row[j]) = (c * row[i] - s * row[j], s * row[i] + c * row[j]);
            }
            let (u, v) = (a[i], a[j]);
            a[i] = std::array::from_fn(|k| c * u[k] - s * v[k]);
            a[j] = std::array::from_fn(|k| s * u[k] + c * v[k]);
        }
        ([a[0][0], a[1][1], a[2][2]], q)
    }
}

/// Three rows of three numbers, separated by blanks, commas, semicolons or brackets; `#` begins a comment.
impl std::str::FromStr for Covariance {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let mut numbers = Vec::new();
        for (n, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            // `covariance = [[...` of a TOML file.
            let line = line.rsplit('=').next().unwrap_or_default();
            let words =
                line.split(|c: char| c.is_whitespace() || ",;[]".contains(c)).filter(|w| !w.is_empty());
            for word in words {
                let number = word.parse::<f64>().map_err(|_| {
                    bad(String::new(), word, format!("line {} has something that is not a number", n + 1))
                })?;
                numbers.push(number);
            }
        }
        let n = numbers.len();
        let rows = <[f64; 9]>::try_from(numbers)
            .map_err(|_| bad(String::new(), format!("{n} numbers"), "must be 3 rows of 3 numbers"))?;
        Self::new(std::array::from_fn(|i| std::array::from_fn(|j| rows[3 * i + j])))
    }
}

/// As the text that is read back.
impl fmt::Display for Covariance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |r: &[f64; 3]| r.map(short).join(" ");
        write!(f, "{}, {}, {}", row(&self.rows[0]), row(&self.rows[1]), row(&self.rows[2]))
    }
}

/// Six significant digits at most.
fn short(v: f64) -> String {
    if v == 0.0 {
        return "0".into();
    }
    let digits = (5.0 - v.abs().log10().floor()).clamp(0.0, 17.0) as usize;
    let text = format!("{v:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

fn bad(at: String, value: impl ToString, reason: impl Into<String>) -> Error {
    Error::parameter(format!("noise covariance{at}"), value, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(a: &Matrix, b: &Matrix) -> Matrix {
        std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
    }

    fn close(a: &Matrix, b: &Matrix, error: f64) {
        let far = a.as_flattened().iter().zip(b.as_flattened()).any(|(a, b)| (a - b).abs() > error);
        assert!(!far, "{a:?} for {b:?}");
    }

    #[test]
    fn the_inverse_root_undoes_the_covariance() {
        for rows in [
            [[625.0, 500.0, 375.0], [500.0, 625.0, 500.0], [375.0, 500.0, 625.0]],
            [[4.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 25.0]],
            [[1.0, 0.99, -0.5], [0.99, 1.0, -0.5], [-0.5, -0.5, 3.0]],
        ] {
            let c = Covariance::new(rows).unwrap();
            let (g, r) = (c.inverse_root(), c.root());
            close(
                &product(&product(&g, &rows), &g),
                &[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
                1e-10,
            );
            close(&product(&r, &r), &rows, 1e-10 * c.variance());
            close(&g, &std::array::from_fn(|i| std::array::from_fn(|j| g[j][i])), 1e-12);
        }
    }

    #[test]
    fn bad_covariances_are_refused_with_the_reason() {
        let message = |text: &str| text.parse::<Covariance>().unwrap_err().to_string();
        assert_eq!(message("1 2 3"), "noise covariance = 3 numbers: must be 3 rows of 3 numbers");
        assert_eq!(
            message("1 0 0\n0 one 0\n0 0 1"),
            "noise covariance = one: line 2 has something that is not a number"
        );
        assert_eq!(message("1 0 0\n0 nan 0\n0 0 1"), "noise covariance[2][2] = NaN: must be a finite number");
        assert_eq!(
            message("1 .5 0\n.2 1 0\n0 0 1"),
            "noise covariance[1][2] = 0.5: must be symmetric, but [2][1] is 0.2"
        );
        assert_eq!(
            message("1 2 0\n2 1 0\n0 0 1"),
            "noise covariance = 1 2 0, 2 1 0, 0 0 1: must be positive definite, but its smallest eigenvalue is -1"
        );
        assert!(message("0 0 0 0 0 0 0 0 0").ends_with("smallest eigenvalue is 0"));
        assert!(message("1 1 1 1 1 1 1 1 1").contains("positive definite"));
    }

    #[test]
    fn files_may_be_written_in_many_ways() {
        let expected = Covariance::new([[4.0, 1.0, 0.5], [1.0, 9.0, -2.0], [0.5, -2.0, 16.0]]).unwrap();
        for text in [
            "4 1 .5\n1 9 -2\n.5 -2 16\n",
            "# noise of my camera\r\n4,1,0.5\r\n1,9,-2\r\n0.5,-2,1.6e1",
            "covariance = [[4, 1, 0.5], [1, 9, -2],  # red, green\n [0.5, -2, 16]]",
            &expected.to_string(),
        ] {
            assert_eq!(text.parse::<Covariance>().unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn units_are_squared() {
        let c: Covariance = "4 1 0 1 4 0 0 0 4".parse().unwrap();
        assert_eq!(c.scaled(2.0).variance(), 16.0);
        assert!((c.with_variance(9.0).rows()[0][1] - 2.25).abs() < 1e-12);
        assert_eq!(c.correlation(0, 1), 0.25);
    }
}
