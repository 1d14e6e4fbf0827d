//! A curve through any points: stabilised by the integral of 1/deviation.

use super::table::Table;
use super::{STRONGEST, WHITE};

/// Steps of both tables.
const STEPS: usize = 4096;

/// Deviations at some brightnesses, and the transform.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Free {
    points: Vec<(f32, f32)>,
    sigma: f32,
    forward: Table,
    inverse: Table,
}

impl Free {
    /// Points of rising brightness and positive deviation, at least two.
    pub(super) fn new(points: &[(f32, f32)]) -> Self {
        let wide: Vec<(f64, f64)> = points.iter().map(|&(y, s)| (y.into(), s.into())).collect();
        let sums = sums(&wide);
        let (first, last) = (wide[0], wide[wide.len() - 1]);
        let integral = |y: f64| integral(&wide, &sums, y);
        let (black, white) = (integral(0.0), integral(WHITE.into()));
        let sigma = (f64::from(WHITE) / (white - black)).min(STRONGEST);
        let slopes = (sigma / first.1, sigma / last.1);
        let forward = Table::new((first.0, last.0), STEPS, slopes, |y| sigma * (integral(y) - black));
        // Beyond six deviations from the ends the transform is straight wherever noise reaches.
        let (low, high) = (first.0 - 6.0 * first.1, last.0 + 6.0 * last.1);
        let from: Vec<f64> = (0..=STEPS).map(|i| low + (high - low) * i as f64 / STEPS as f64).collect();
        let mut highest = f64::NEG_INFINITY;
        let mean = |y: &f64| {
            let deviation = deviation(&wide, *y);
            let mean = normal_mean(|n| f64::from(forward.at((y + deviation * n) as f32)));
            // Where the deviation falls steeply, means may fall too: they have no inverse there.
            highest = mean.max(highest + 1e-9 * (1.0 + highest.abs()).min(1e9));
            highest
        };
        let to: Vec<f64> = from.iter().map(mean).collect();
        let inverse = Table::inverse(&from, &to, STEPS, (1.0 / slopes.0, 1.0 / slopes.1));
        Self { points: points.to_vec(), sigma: sigma as f32, forward, inverse }
    }

    pub(super) fn points(&self) -> &[(f32, f32)] {
        &self.points
    }

    pub(super) fn deviation(&self, y: f32) -> f32 {
        let above = self.points.partition_point(|p| p.0 <= y);
        match (above.checked_sub(1).map(|i| self.points[i]), self.points.get(above)) {
            (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (y - a.0) / (b.0 - a.0),
            (Some(last), None) => last.1,
            (None, _) => self.points[0].1,
        }
    }

    pub(super) fn sigma(&self) -> f32 {
        self.sigma
    }

    #[inline(always)]
    pub(super) fn forward(&self, z: f32) -> f32 {
        self.forward.at(z)
    }

    #[inline(always)]
    pub(super) fn inverse(&self, d: f32) -> f32 {
        self.inverse.at(d)
    }
}

fn deviation(points: &[(f64, f64)], y: f64) -> f64 {
    let above = points.partition_point(|p| p.0 <= y).clamp(1, points.len() - 1);
    let (a, b) = (points[above - 1], points[above]);
    a.1 + (b.1 - a.1) * ((y - a.0) / (b.0 - a.0)).clamp(0.0, 1.0)
}

/// The integral of 1/deviation from the first point to each.
fn sums(points: &[(f64, f64)]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for pair in points.windows(2) {
        sums.push(sums[sums.len() - 1] + over(pair[0], pair[1]));
    }
    sums
}

/// The integral of 1/deviation between two points.
fn over(a: (f64, f64), b: (f64, f64)) -> f64 {
    let (width, rise) = (b.0 - a.0, b.1 / a.1 - 1.0);
    if rise.abs() < 1e-6 { width / a.1 } else { width * rise.ln_1p() / (b.1 - a.1) }
}

fn integral(points: &[(f64, f64)], sums: &[f64], y: f64) -> f64 {
    let (first, last) = (points[0], points[points.len() - 1]);
    if y <= first.0 {
        return (y - first.0) / first.1;
    }
    if y >= last.0 {
        return sums[sums.len() - 1] + (y - last.0) / last.1;
    }
    let above = points.partition_point(|p| p.0 <= y);
    sums[above - 1] + over(points[above - 1], (y, deviation(points, y)))
}

/// The mean of a function of a standard normal variable.
fn normal_mean(f: impl Fn(f64) -> f64) -> f64 {
    const REACH: i32 = 16;
    let node = |i: i32| 0.3 * f64::from(i);
    let weight = |i: i32| (-0.5 * node(i) * node(i)).exp();
    let sum: f64 = (-REACH..=REACH).map(|i| weight(i) * f(node(i))).sum();
    sum / (-REACH..=REACH).map(weight).sum::<f64>()
}
