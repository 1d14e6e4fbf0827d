//! The generalised Anscombe transform and its exact unbiased inverse (Mäkitalo and Foi 2013), for samples
//! `a * Poisson(y / a) + N(0, b)`.

use super::table::Table;
use super::{STRONGEST, WHITE};

/// Steps of the inverse.
const STEPS: usize = 4096;
/// Means are added up photon by photon below this many, and by moments above.
const COUNTED: f64 = 60.0;
/// The inverse is tabulated to this many times white; above, the asymptotic one is as good.
const HIGHEST: f64 = 4.0;

/// `variance = a*y + b`, and its transform.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Anscombe {
    a: f32,
    b: f32,
    /// Scale of the result: the root has noise of deviation 1.
    sigma: f32,
    /// The scale on which white stays white.
    natural: f32,
    /// What is below the root at 0.
    under: f32,
    /// The root of it, 0 if that is below 0.
    root: f32,
    /// The least sample that is not clipped to it.
    least: f32,
    inverse: Table,
}

impl Anscombe {
    /// There is noise at white, and `a` is more than a trifle of it.
    pub(super) fn new(a: f32, b: f32) -> Self {
        Self::with_sigma(a, b, None)
    }

    /// The same with this deviation on the transformed scale.
    pub(super) fn with_sigma(a: f32, b: f32, sigma: Option<f32>) -> Self {
        let (gain, floor) = (f64::from(a), f64::from(b));
        // A floor below 0 is a pedestal, and no Gaussian noise.
        let (black, spread) = if floor < 0.0 { (-floor / gain, 0.0) } else { (0.0, floor.sqrt() / gain) };
        let under = 0.375 * gain * gain + floor;
        let root = under.max(0.0).sqrt();
        let span = 2.0 / gain * ((gain * f64::from(WHITE) + under).sqrt() - root);
        let natural = f64::from(WHITE) / span;
        let sigma = sigma.map_or(natural.min(STRONGEST), f64::from);
        // Means of the root over a grid that is even in the root, from black.
        let mean = Mean::new(spread);
        let (first, last) =
            (mean.under(0.0).sqrt(), mean.under((HIGHEST * f64::from(WHITE) - black) / gain).sqrt());
        let photons = |i: usize| {
            let root = first + (last - first) * i as f64 / STEPS as f64;
            (root * root - first * first).max(0.0)
        };
        let photons: Vec<f64> = (0..=STEPS).map(photons).collect();
        let origin = 2.0 / gain * root;
        let to: Vec<f64> = photons.iter().map(|&n| sigma * (mean.of(n) - origin)).collect();
        let from: Vec<f64> = photons.iter().map(|&n| gain * n + black).collect();
        Self {
            a,
            b,
            sigma: sigma as f32,
            natural: natural as f32,
            under: under as f32,
            root: root as f32,
            least: (-under / gain) as f32,
            inverse: Table::inverse(&from, &to, STEPS, (0.0, 0.0)),
        }
    }

    pub(super) fn gain(&self) -> f32 {
        self.a
    }

    pub(super) fn floor(&self) -> f32 {
        self.b
    }

    pub(super) fn sigma(&self) -> f32 {
        self.sigma
    }

    /// The deviation on the scale on which white stays white: large, where there are few photons.
    pub(super) fn natural(&self) -> f32 {
        self.natural
    }

    /// `sigma * (2/a) * (sqrt(max(a z + under, 0)) - root)`.
    #[inline(always)]
    pub(super) fn forward(&self, z: f32) -> f32 {
        if self.root > 0.0 {
            let top = (self.a * z + self.under).max(0.0).sqrt();
            // The difference of two roots, without losing its digits where the gain is small.
            return 2.0 * self.sigma * z.max(self.least) / (top + self.root);
        }
        // From a pedestal: a high one is taken off first, for the same reason.
        2.0 * self.sigma / self.a * (self.a * (z - self.least).max(0.0)).sqrt()
    }

    #[inline(always)]
    pub(super) fn inverse(&self, d: f32) -> f32 {
        if d <= self.inverse.end() { self.inverse.at(d) } else { self.asymptotic(d) }
    }

    /// Of a root of very many photons: D^2/4 - 1/8 - s^2.
    fn asymptotic(&self, d: f32) -> f32 {
        let (a, sigma) = (f64::from(self.a), f64::from(self.sigma));
        let f = f64::from(d) / sigma + 2.0 / a * f64::from(self.root);
        let floor = f64::from(self.b) / a;
        (a * (f * f / 4.0 - 0.125) - floor) as f32
    }
}

/// The mean of `2 sqrt(max(p + s n + 3/8 + s^2, 0))` for `p` of a Poisson and `n` of a standard normal law.
pub(super) struct Mean {
    spread: f64,
    /// Given the number of photons.
    counted: Vec<f64>,
}

impl Mean {
    pub(super) fn new(spread: f64) -> Self {
        // Of COUNTED photons on average, hardly ever more than these come.
        let most = (COUNTED + 9.0 * COUNTED.sqrt()) as usize;
        let counted = (0..=most).map(|p| mean_of_root(p as f64, spread)).collect();
        Self { spread, counted }
    }

    /// The mean of what is below the root.
    pub(super) fn under(&self, photons: f64) -> f64 {
        photons + 0.375 + self.spread * self.spread
    }

    pub(super) fn of(&self, photons: f64) -> f64 {
        if photons >= COUNTED {
            return self.by_moments(photons);
        }
        let (mut part, mut sum) = ((-photons).exp(), 0.0);
        for (p, root) in self.counted.iter().enumerate() {
            sum += part * root;
            part *= photons / (p + 1) as f64;
        }
        sum
    }

    /// The root's power series around the mean, with the moments of the noise up to the sixth.
    fn by_moments(&self, photons: f64) -> f64 {
        let (m, y) = (self.under(photons), photons);
        let v = y + self.spread * self.spread;
        let moments =
            [v, y, 3.0 * v * v + y, 10.0 * v * y + y, 15.0 * v * v * v + 25.0 * v * y + 10.0 * y * y + y];
        let series = [-1.0 / 8.0, 1.0 / 16.0, -5.0 / 128.0, 7.0 / 256.0, -21.0 / 1024.0];
        let (mut power, mut sum) = (m * m, 1.0);
        for (moment, coefficient) in moments.into_iter().zip(series) {
            sum += coefficient * moment / power;
            power *= m;
        }
        2.0 * m.sqrt() * sum
    }
}

/// The mean of `2 sqrt(max(p + s n + 3/8 + s^2, 0))` over `n`. In the root itself the integrand is smooth and even, so
/// that equal steps are exact.
fn mean_of_root(p: f64, s: f64) -> f64 {
    const NODES: usize = 240;
    const FAR: f64 = 9.0;
    let under = p + 0.375 + s * s;
    if s < 1e-6 {
        return 2.0 * under.sqrt();
    }
    // p + s n + 3/8 + s^2 = s t^2
    let start = -under / s;
    let (low, high) = ((-FAR - start).max(0.0).sqrt(), (FAR - start).max(0.0).sqrt());
    let step = (high - low) / NODES as f64;
    let density = |t: f64| {
        let n = start + t * t;
        t * t * (-0.5 * n * n).exp()
    };
    let sum: f64 = (0..=NODES).map(|i| density(low + i as f64 * step)).sum();
    4.0 * s.sqrt() * step * sum / std::f64::consts::TAU.sqrt()
}
