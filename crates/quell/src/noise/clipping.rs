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
    ends: Ends,
    /// The means of black and white.
    lowest: f64,
    highest: f64,
    /// Clean values of equally spaced means from the one to the other.
    clean: Vec<f32>,
}

/// The ends of the scale at which samples were clipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// At black.
    pub black: bool,
    /// At white.
    pub white: bool,
}

impl Ends {
    /// At one of them, at least.
    pub fn any(self) -> bool {
        self.black || self.white
    }
}

/// Steps of the tables.
const STEPS: usize = 1024;

impl Clipping {
    /// For Gaussian noise of deviation `sigma` that was clipped to `0..=white`.
    pub fn new(sigma: f32, white: f32) -> Self {
        Self::at(sigma, white, Ends { black: true, white: true })
    }

    /// The same for noise that was clipped at some ends only.
    pub(super) fn at(sigma: f32, white: f32, ends: Ends) -> Self {
        let (sigma, white) = (f64::from(sigma), f64::from(white));
        let mut clipping = Self { sigma, white, ends, lowest: 0.0, highest: white, clean: Vec::new() };
        let means: Vec<f64> =
            (0..=STEPS).map(|i| clipping.mean_of(i as f64 / STEPS as f64 * white)).collect();
        (clipping.lowest, clipping.highest) = (means[0], means[STEPS]);
        let mut above = 1;
        let clean = |i: usize| {
            let mean = clipping.lowest + i as f64 / STEPS as f64 * (clipping.highest - clipping.lowest);
            while above < STEPS && means[above] < mean {
                above += 1;
            }
            let part = (mean - means[above - 1]) / (means[above] - means[above - 1]);
            (((above - 1) as f64 + part.clamp(0.0, 1.0)) / STEPS as f64 * white) as f32
        };
        clipping.clean = (0..=STEPS).map(clean).collect();
        clipping
    }

    /// The mean of the clipped samples of a clean value.
    pub fn mean(&self, clean: f32) -> f32 {
        self.mean_of(clean.into()) as f32
    }

    fn mean_of(&self, x: f64) -> f64 {
        let (s, w) = (self.sigma, self.white);
        if s <= 0.0 {
            let x = if self.ends.black { x.max(0.0) } else { x };
            return if self.ends.white { x.min(w) } else { x };
        }
        let a = if self.ends.black { -x / s } else { f64::NEG_INFINITY };
        let b = if self.ends.white { (w - x) / s } else { f64::INFINITY };
        w * (1.0 - below(b)) + x * (below(b) - below(a)) + s * (density(a) - density(b))
    }

    /// The clean value with this mean; black or white where there is none.
    pub fn undo(&self, mean: f32) -> f32 {
        let at = (f64::from(mean) - self.lowest) / (self.highest - self.lowest) * STEPS as f64;
        if at < 0.0 {
            return if self.ends.black { 0.0 } else { mean - self.lowest as f32 };
        }
        if at >= STEPS as f64 {
            return (self.white + if self.ends.white { 0.0 } else { f64::from(mean) - self.highest }) as f32;
        }
        let (i, part) = (at as usize, at.fract() as f32);
        self.clean[i] + part * (self.clean[i + 1] - self.clean[i])
    }

    /// The parts of the samples of a clean value that become black and white.
    pub(super) fn clipped(&self, clean: f32) -> [f64; 2] {
        let x = f64::from(clean);
        [below(-x / self.sigma), below((x - self.white) / self.sigma)]
    }
}

/// The standard normal density.
fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

/// The standard normal distribution, within 1e-7 (Abramowitz and Stegun, 26.2.17).
fn below(x: f64) -> f64 {
    if x.is_infinite() {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
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
    fn an_end_that_was_not_clipped_is_left() {
        let clipping = Clipping::at(30.0, 255.0, Ends { black: false, white: true });
        let both = Clipping::new(30.0, 255.0);
        for v in [-60.0, -5.0, 0.0, 10.0, 60.0] {
            assert!((clipping.undo(v) - v).abs() < 1e-2, "{v} became {}", clipping.undo(v));
        }
        for v in [200.0, 230.0, 243.0, 300.0] {
            assert!((clipping.undo(v) - both.undo(v)).abs() < 0.02, "{v} became {}", clipping.undo(v));
        }
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
