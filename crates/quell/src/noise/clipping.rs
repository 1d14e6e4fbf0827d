//! What clipping to the range of the samples does to noise, and undoing it: near black and white, noisy samples that
//! were clipped have a mean that is not the clean value, and averages inherit it (Foi, "Clipped noisy images", 2009).

/// The mean of clipped noisy samples as a function of the clean value, and its inverse.
///
/// ```
/// use quell::noise::Clipping;
/// let clipping = Clipping::new(50.0, 255.0);
/// // Black becomes sigma / sqrt(2 pi) on average, and comes back.
/// assert!((clipping.mean(0.0) - 19.947).abs() < 1e-3);
/// assert!(clipping.undo(19.947) < 0.01);
/// ```
#[derive(Clone, Debug)]
pub struct Clipping {
    sigma: f64,
    white: f64,
    /// Means of equally spaced clean values from black to white.
    means: Vec<f64>,
}

/// Steps from black to white.
const STEPS: usize = 4096;

impl Clipping {
    /// For Gaussian noise of deviation `sigma` that was clipped to `0..=white`.
    pub fn new(sigma: f32, white: f32) -> Self {
        let mut clipping = Self { sigma: sigma.into(), white: white.into(), means: Vec::new() };
        let value = |i: usize| (i as f64 / STEPS as f64 * f64::from(white)) as f32;
        clipping.means = (0..=STEPS).map(|i| f64::from(clipping.mean(value(i)))).collect();
        clipping
    }

    /// The mean of the clipped samples of a clean value.
    pub fn mean(&self, clean: f32) -> f32 {
        let (x, s, w) = (f64::from(clean), self.sigma, self.white);
        if s <= 0.0 {
            return clean.clamp(0.0, w as f32);
        }
        let (a, b) = (-x / s, (w - x) / s);
        (w * (1.0 - below(b)) + x * (below(b) - below(a)) + s * (density(a) - density(b))) as f32
    }

    /// The clean value with this mean; black or white where there is none.
    pub fn undo(&self, mean: f32) -> f32 {
        let mean = f64::from(mean);
        let above = self.means.partition_point(|&m| m < mean);
        let at = match above {
            0 => 0.0,
            i if i > STEPS => STEPS as f64,
            i => {
                let (low, high) = (self.means[i - 1], self.means[i]);
                (i - 1) as f64 + (mean - low) / (high - low)
            }
        };
        (at / STEPS as f64 * self.white) as f32
    }
}

/// The standard normal density.
fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

/// The standard normal distribution, within 1e-7 (Abramowitz and Stegun, 26.2.17).
fn below(x: f64) -> f64 {
    const B: [f64; 5] = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let tail = density(x) * t * B.iter().rev().fold(0.0, |sum, b| sum * t + b);
    if x >= 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_undone_comes_back() {
        for (sigma, white) in [(5.0, 255.0), (50.0, 255.0), (100.0, 255.0), (0.1, 1.0)] {
            let clipping = Clipping::new(sigma, white);
            for i in 0..=50 {
                let clean = white * i as f32 / 50.0;
                let back = clipping.undo(clipping.mean(clean));
                assert!((back - clean).abs() < 1e-3 * white, "{clean} came back as {back}, sigma {sigma}");
            }
        }
    }

    #[test]
    fn far_from_the_limits_nothing_changes() {
        let clipping = Clipping::new(10.0, 255.0);
        assert!((clipping.mean(128.0) - 128.0).abs() < 1e-4);
        assert!((clipping.undo(128.0) - 128.0).abs() < 1e-2);
    }

    #[test]
    fn values_beyond_the_limits_become_the_limits() {
        let clipping = Clipping::new(50.0, 255.0);
        assert_eq!([clipping.undo(-3.0), clipping.undo(10.0), clipping.undo(300.0)], [0.0, 0.0, 255.0]);
    }

    #[test]
    fn the_mean_is_that_of_samples() {
        use crate::{Frame, Plane};
        let clean = Frame::grey(Plane::from_vec(256, 256, vec![20.0; 65536]).unwrap(), 255.0).unwrap();
        let noisy = crate::noise::add_gaussian(&clean, 40.0, 1).unwrap();
        let sum: f64 = noisy.planes()[0].as_slice().iter().map(|v| f64::from(v.clamp(0.0, 255.0))).sum();
        // Three standard errors.
        assert!((sum / 65536.0 - f64::from(Clipping::new(40.0, 255.0).mean(20.0))).abs() < 0.35);
    }
}
