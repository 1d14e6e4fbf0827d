//! A small square matrix.

/// A square matrix of `f64`, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    n: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// `f(row, column)` for every element.
    pub fn from_fn(n: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        Self { n, data: (0..n * n).map(|i| f(i / n, i % n)).collect() }
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.n
    }

    /// Element at `row`, `column`.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.data[row * self.n + column]
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.data[row * self.n..][..self.n]
    }

    /// Rows and columns exchanged.
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self::from_fn(self.n, |r, c| self.at(c, r))
    }

    /// `self * other`.
    #[must_use]
    pub fn mul(&self, other: &Self) -> Self {
        Self::from_fn(self.n, |r, c| (0..self.n).map(|k| self.at(r, k) * other.at(k, c)).sum())
    }

    /// `self * v`.
    pub fn apply(&self, v: &[f64]) -> Vec<f64> {
        (0..self.n).map(|r| self.row(r).iter().zip(v).map(|(a, b)| a * b).sum()).collect()
    }

    /// The inverse, by Gauss-Jordan elimination with pivoting.
    ///
    /// # Panics
    /// If the matrix is singular; the transforms here never are.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let n = self.n;
        let mut a = self.clone();
        let mut inv = Self::from_fn(n, |r, c| if r == c { 1.0 } else { 0.0 });
        for col in 0..n {
            let pivot =
                (col..n).max_by(|&x, &y| a.at(x, col).abs().total_cmp(&a.at(y, col).abs())).unwrap_or(col);
            assert!(a.at(pivot, col).abs() > 1e-12, "singular matrix");
            for c in 0..n {
                a.data.swap(pivot * n + c, col * n + c);
                inv.data.swap(pivot * n + c, col * n + c);
            }
            let scale = a.at(col, col);
            for c in 0..n {
                a.data[col * n + c] /= scale;
                inv.data[col * n + c] /= scale;
            }
            for r in (0..n).filter(|&r| r != col) {
                let factor = a.at(r, col);
                for c in 0..n {
                    a.data[r * n + c] -= factor * a.data[col * n + c];
                    inv.data[r * n + c] -= factor * inv.data[col * n + c];
                }
            }
        }
        inv
    }
}
