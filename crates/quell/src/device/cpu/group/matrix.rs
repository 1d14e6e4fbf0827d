//! Small matrices of floats, in loops that a compiler makes vectors of.

/// A matrix by rows. Its memory is used again.
#[derive(Default)]
pub(in crate::device::cpu) struct Matrix {
    columns: usize,
    data: Vec<f32>,
}

impl Matrix {
    #[inline(always)]
    fn reset(&mut self, rows: usize, columns: usize) {
        self.columns = columns;
        self.data.clear();
        self.data.resize(rows * columns, 0.0);
    }

    #[inline(always)]
    pub(in crate::device::cpu) fn rows(&self) -> std::slice::ChunksExact<'_, f32> {
        self.data.chunks_exact(self.columns)
    }

    #[inline(always)]
    fn height(&self) -> usize {
        self.data.len() / self.columns
    }

    /// Patches, a row each: `row` gives `patch` samples from a place on.
    #[inline(always)]
    pub(in crate::device::cpu) fn gather<'a>(
        &mut self,
        patch: usize,
        places: impl Iterator<Item = (usize, usize)>,
        row: impl Fn(usize, usize) -> &'a [f32],
    ) {
        self.columns = patch * patch;
        self.data.clear();
        for (x, y) in places {
            (0..patch).for_each(|i| self.data.extend_from_slice(row(x, y + i)));
        }
    }

    /// The mean row.
    #[inline(always)]
    pub(in crate::device::cpu) fn mean(&self, to: &mut Vec<f32>) {
        to.clear();
        to.resize(self.columns, 0.0);
        for row in self.rows() {
            to.iter_mut().zip(row).for_each(|(to, v)| *to += v);
        }
        let part = 1.0 / self.height() as f32;
        to.iter_mut().for_each(|v| *v *= part);
    }

    /// Takes a row off every row.
    #[inline(always)]
    pub(in crate::device::cpu) fn less(&mut self, row: &[f32]) {
        for own in self.data.chunks_exact_mut(self.columns) {
            own.iter_mut().zip(row).for_each(|(own, v)| *own -= v);
        }
    }

    /// Takes a matrix off.
    #[inline(always)]
    pub(in crate::device::cpu) fn less_each(&mut self, other: &Self) {
        self.data.iter_mut().zip(&other.data).for_each(|(own, v)| *own -= v);
    }

    /// Adds a matrix.
    #[inline(always)]
    pub(in crate::device::cpu) fn add_each(&mut self, other: &Self) {
        self.data.iter_mut().zip(&other.data).for_each(|(own, v)| *own += v);
    }

    /// The sum of squares.
    #[inline(always)]
    pub(in crate::device::cpu) fn square(&self) -> f32 {
        self.rows().map(|row| row.iter().map(|v| v * v).sum::<f32>()).sum()
    }

    /// `A' B`.
    #[inline(always)]
    pub(in crate::device::cpu) fn transposed_times(&self, other: &Self, to: &mut Self) {
        to.reset(self.columns, other.columns);
        for (left, right) in self.rows().zip(other.rows()) {
            for (&left, to) in left.iter().zip(to.data.chunks_exact_mut(other.columns)) {
                to.iter_mut().zip(right).for_each(|(to, right)| *to += left * right);
            }
        }
    }

    /// `A B`.
    #[inline(always)]
    pub(in crate::device::cpu) fn times(&self, other: &Self, to: &mut Self) {
        to.reset(self.height(), other.columns);
        for (left, to) in self.rows().zip(to.data.chunks_exact_mut(other.columns)) {
            for (&left, right) in left.iter().zip(other.rows()) {
                to.iter_mut().zip(right).for_each(|(to, right)| *to += left * right);
            }
        }
    }

    /// `A A'`.
    #[inline(always)]
    pub(in crate::device::cpu) fn times_transposed(&self, to: &mut Self) {
        to.reset(self.height(), self.height());
        for (left, to) in self.rows().zip(to.data.chunks_exact_mut(self.height())) {
            for (right, to) in self.rows().zip(to) {
                *to = dot(left, right);
            }
        }
    }

    #[inline(always)]
    pub(in crate::device::cpu) fn add_diagonal(&mut self, value: f32) {
        let next = self.columns + 1;
        self.data.iter_mut().step_by(next).for_each(|v| *v += value);
    }

    /// `I - D A`.
    #[inline(always)]
    pub(in crate::device::cpu) fn complement(&mut self, factor: f32) {
        self.data.iter_mut().for_each(|v| *v *= -factor);
        self.add_diagonal(1.0);
    }
}

/// Eight sums side by side, so that they become a vector.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0f32; 8];
    for (a, b) in a.iter().zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

/// Inverts a symmetric positive matrix in place (Gauss and Jordan, without pivots).
#[inline(always)]
pub(in crate::device::cpu) fn invert(a: &mut Matrix) {
    let n = a.columns;
    for p in 0..n {
        let (above, rest) = a.data.split_at_mut(p * n);
        let (row, below) = rest.split_at_mut(n);
        let pivot = 1.0 / std::mem::replace(&mut row[p], 1.0);
        row.iter_mut().for_each(|v| *v *= pivot);
        for other in above.chunks_exact_mut(n).chain(below.chunks_exact_mut(n)) {
            let factor = std::mem::take(&mut other[p]);
            other.iter_mut().zip(&*row).for_each(|(v, r)| *v -= factor * r);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_times_the_matrix_is_one() {
        let mut x = Matrix { columns: 9, data: (0..180).map(|i| ((i * 37) % 101) as f32).collect() };
        let mut mean = Vec::new();
        x.mean(&mut mean);
        x.less(&mean);
        let (mut gram, mut inverse, mut one) = (Matrix::default(), Matrix::default(), Matrix::default());
        x.transposed_times(&x, &mut gram);
        gram.add_diagonal(50.0);
        x.transposed_times(&x, &mut inverse);
        inverse.add_diagonal(50.0);
        invert(&mut inverse);
        gram.times(&inverse, &mut one);
        one.add_diagonal(-1.0);
        assert!(one.square() < 1e-6, "{}", one.square());
    }
}
