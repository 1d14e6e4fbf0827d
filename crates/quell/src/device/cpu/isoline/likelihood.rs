//! The test whether two sets of pixels share one level, as the reference makes it, without logarithms.

/// Sums over some pixels.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    pub(super) x: f64,
    pub(super) x2: f64,
}

impl Sums {
    pub(super) fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, x2: self.x2 + other.x2 }
    }

    /// Squared number times variance.
    pub(super) fn spread(self, n: f64) -> f64 {
        n * self.x2 - self.x * self.x
    }
}

/// Least variance.
const LEAST: f64 = 1e-12;

/// Tests of `first` pixels against `second`.
#[derive(Clone, Copy)]
pub(super) struct Test {
    first: f64,
    second: f64,
    /// What makes variances of spreads.
    parts: [f64; 2],
    whole: f64,
    ratio: f64,
}

impl Test {
    /// Lambda is compared with `threshold`.
    pub(super) fn new(first: usize, second: usize, threshold: f32) -> Self {
        let (first, second) = (first as f64, second as f64);
        let n = first + second;
        Self {
            first,
            second,
            parts: [1.0 / (first * n), 1.0 / (second * n)],
            whole: 1.0 / (n * n),
            ratio: (f64::from(threshold) / n).exp(),
        }
    }

    /// The variances under one level, and under two, times what makes lambda reach the threshold.
    #[inline(always)]
    pub(super) fn sides(&self, a: Sums, b: Sums) -> (f64, f64) {
        let one = a.add(b).spread(self.first + self.second) * self.whole;
        let two = a.spread(self.first) * self.parts[0] + b.spread(self.second) * self.parts[1];
        (one.max(LEAST), two.max(LEAST) * self.ratio)
    }

    /// Whether lambda is below the threshold.
    #[inline(always)]
    pub(super) fn one_level(&self, a: Sums, b: Sums) -> bool {
        let (one, two) = self.sides(a, b);
        one < two
    }
}
