//! Whether two sets of pixels share one grey level: the generalised likelihood ratio of Perrot et al., with unknown
//! levels and an unknown variance that is common to both.

use std::ops::Add;

/// Number, sum and sum of squares of some samples (n, Cx, Cx2).
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) n: f64,
    pub(super) x: f64,
    pub(super) x2: f64,
}

impl Sums {
    pub(super) fn of(sample: f64) -> Self {
        Self { n: 1.0, x: sample, x2: sample * sample }
    }

    pub(super) fn mean(&self) -> f64 {
        self.x / self.n
    }

    /// `n^2` times the variance: a whole number for whole samples, so that equal ones compare as equal.
    pub(super) fn spread(&self) -> f64 {
        self.n * self.x2 - self.x * self.x
    }

    /// Sum of squared differences from the mean.
    fn within(&self) -> f64 {
        self.spread() / self.n
    }
}

impl Add for Sums {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { n: self.n + other.n, x: self.x + other.x, x2: self.x2 + other.x2 }
    }
}

/// Least variance.
const LEAST: f64 = 1e-12;

/// Lambda: the logarithm, times 2, of how much likelier two levels are than one. About chi-square with one degree of
/// freedom if there is one level.
pub(super) fn lambda(a: Sums, b: Sums) -> f64 {
    let n = a.n + b.n;
    let one = (a + b).within() / n;
    let two = (a.within() + b.within()) / n;
    n * (one.max(LEAST).ln() - two.max(LEAST).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(samples: &[f64]) -> Sums {
        samples.iter().fold(Sums::default(), |s, &v| s + Sums::of(v))
    }

    #[test]
    fn the_ratio_is_that_of_the_student_statistic() {
        let (a, b) = ([10.0, 14.0, 12.0, 9.0], [20.0, 15.0, 19.0]);
        // Lambda = N log(1 + t^2 / (N - 2)).
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let within = |v: &[f64]| v.iter().map(|x| (x - mean(v)).powi(2)).sum::<f64>();
        let pooled = (within(&a) + within(&b)) / 5.0;
        let t2 = (mean(&a) - mean(&b)).powi(2) / (pooled * (1.0 / 4.0 + 1.0 / 3.0));
        let want = 7.0 * (1.0 + t2 / 5.0).ln();
        assert!((lambda(sums(&a), sums(&b)) - want).abs() < 1e-9);
    }

    #[test]
    fn one_flat_level_is_accepted_and_two_are_not() {
        let flat = |v: f64| sums(&[v; 5]);
        assert_eq!(lambda(flat(80.0), flat(80.0)), 0.0);
        assert!(lambda(flat(80.0), flat(81.0)) > 100.0);
    }
}
