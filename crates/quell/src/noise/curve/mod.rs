//! Noise whose deviation depends on brightness, and the transform that makes it the same everywhere.
//!
//! Counted light has variance `a*y + b` (Foi et al. 2008). The generalised Anscombe transform makes that about constant;
//! what is averaged on its scale has to come back by the exact unbiased inverse, not by the algebraic one (Mäkitalo and
//! Foi 2013). A curve that was measured is treated alike: its transform is the integral of 1/deviation.

mod anscombe;
mod estimate;
mod free;
mod stored;
mod table;

pub(crate) use estimate::find;
pub use estimate::{CurveFound, CurvePoint, estimate_curve};

use anscombe::Anscombe;
use free::Free;

use crate::{Error, Result};

/// The deviation of noise as a function of brightness, on the scale on which white is 255, and the transform to a scale
/// on which it is the same everywhere.
///
/// ```
/// use quell::noise::Curve;
/// let curve = Curve::poisson_gauss(2.0, 9.0)?; // variance 2 y + 9
/// assert!((curve.deviation(20.0) - 7.0).abs() < 1e-4);
/// // Without noise, what is transformed comes back nearly as it was: the difference is what averages need.
/// assert!((curve.inverse(curve.forward(100.0)) - 100.0).abs() < 1.0);
/// # Ok::<(), quell::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "stored::Stored", into = "stored::Stored")]
pub struct Curve {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// The same everywhere.
    Flat(f32),
    PoissonGauss(Anscombe),
    Free(Free),
}

/// White on the scale of curves.
const WHITE: f32 = 255.0;
/// The largest deviation on the transformed scale. Methods have thresholds on the 0..255 scale, and none is made for
/// noise that is as strong as white; with very few photons the transformed picture spans less of it instead.
const STRONGEST: f64 = 80.0;
/// With noise of more than this on the scale on which white stays white, about ten photons, filtering again helps.
const FEW_PHOTONS: f32 = 50.0;
/// What the noisy samples count when they are filtered again, mixed with the result so far.
const MIXTURES: [f32; 2] = [0.7, 0.45];
/// Variances that change by less than this part from black to white are the same everywhere.
const SAME: f32 = 1e-4;
/// The least variance: far below a step of 16 bits.
const LEAST: f32 = 1e-9;
/// The most points of a curve.
const MOST_POINTS: usize = 4096;

impl Curve {
    /// Variance `a*y + b` at brightness `y`: `a` is the gain of the sensor, `b` the variance of what does not come from
    /// light. A `b` below 0 is a pedestal: black is at `-b/a`.
    pub fn poisson_gauss(a: f32, b: f32) -> Result<Self> {
        if !(a.is_finite() && (0.0..=1e6).contains(&a)) {
            return Err(Error::parameter("gain", a, "must be 0 or a positive number, at most a million"));
        }
        if !(b.is_finite() && b <= 1e8) {
            return Err(Error::parameter("floor", b, "must be a number, at most a hundred million"));
        }
        if a * WHITE + b < LEAST {
            return Err(Error::parameter(
                "floor",
                b,
                format!("leaves no noise at white, with a gain of {a}"),
            ));
        }
        let kind = match a * WHITE <= SAME * b {
            true => Kind::Flat((a * WHITE / 2.0 + b).sqrt()),
            false => Kind::PoissonGauss(Anscombe::new(a, b)),
        };
        Ok(Self { kind })
    }

    /// The deviation at some brightnesses: at least two, rising; linear between them, and constant outside.
    ///
    /// ```
    /// use quell::noise::Curve;
    /// let curve = Curve::from_points(&[(0.0, 2.0), (100.0, 6.0)])?;
    /// assert_eq!([curve.deviation(50.0), curve.deviation(200.0)], [4.0, 6.0]);
    /// assert!(Curve::from_points(&[(0.0, 2.0), (100.0, -6.0)]).is_err());
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn from_points(points: &[(f32, f32)]) -> Result<Self> {
        if !(2..=MOST_POINTS).contains(&points.len()) {
            let why = format!("2 to {MOST_POINTS} are needed");
            return Err(Error::parameter("points", points.len(), why));
        }
        for (i, &(y, s)) in points.iter().enumerate() {
            let name = |what: &str| format!("{what} of point {}", i + 1);
            if !(y.is_finite() && y.abs() <= 1e6) {
                return Err(Error::parameter(name("brightness"), y, "must be a number, at most a million"));
            }
            if !(s.is_finite() && (1e-5..=1e4).contains(&s)) {
                return Err(Error::parameter(name("deviation"), s, "must be from 0.00001 to 10000"));
            }
            if i > 0 && y - points[i - 1].0 < 1e-3 {
                return Err(Error::parameter(
                    name("brightness"),
                    y,
                    "must be more than that of the one before",
                ));
            }
        }
        Ok(Self { kind: Kind::Free(Free::new(points)) })
    }

    /// The deviation at a brightness.
    pub fn deviation(&self, brightness: f32) -> f32 {
        match &self.kind {
            Kind::Flat(sigma) => *sigma,
            Kind::PoissonGauss(pg) => (pg.gain() * brightness + pg.floor()).max(0.0).sqrt(),
            Kind::Free(free) => free.deviation(brightness),
        }
    }

    /// Brightness and deviation at some places, for tables, plots and files: those that were given, or 17 from black to
    /// white.
    pub fn points(&self) -> Vec<(f32, f32)> {
        match &self.kind {
            Kind::Free(free) => free.points().to_vec(),
            _ => (0..=16).map(|i| i as f32 * WHITE / 16.0).map(|y| (y, self.deviation(y))).collect(),
        }
    }

    /// `a` and `b` of `variance = a*y + b`, where it is that.
    pub fn gain_and_floor(&self) -> Option<(f32, f32)> {
        match &self.kind {
            Kind::Flat(sigma) => Some((0.0, sigma * sigma)),
            Kind::PoissonGauss(pg) => Some((pg.gain(), pg.floor())),
            Kind::Free(_) => None,
        }
    }

    /// To the scale on which the noise has deviation [`sigma`](Self::sigma) everywhere: 0 to 255 become 0 to 255, or less
    /// where there are so few photons that sigma would be out of all proportion.
    #[inline]
    pub fn forward(&self, z: f32) -> f32 {
        match &self.kind {
            Kind::Flat(_) => z,
            Kind::PoissonGauss(pg) => pg.forward(z),
            Kind::Free(free) => free.forward(z),
        }
    }

    /// The exact unbiased inverse: of the mean of `forward(z)`, the mean of `z`.
    #[inline]
    pub fn inverse(&self, d: f32) -> f32 {
        match &self.kind {
            Kind::Flat(_) => d,
            Kind::PoissonGauss(pg) => pg.inverse(d),
            Kind::Free(free) => free.inverse(d),
        }
    }

    /// The deviation of the noise after [`forward`](Self::forward).
    pub fn sigma(&self) -> f32 {
        match &self.kind {
            Kind::Flat(sigma) => *sigma,
            Kind::PoissonGauss(pg) => pg.sigma(),
            Kind::Free(free) => free.sigma(),
        }
    }

    /// One number for words: the root of the mean variance from black to white.
    pub fn typical(&self) -> f32 {
        let variance = |y: u16| f64::from(self.deviation(y.into())).powi(2);
        ((0..256).map(variance).sum::<f64>() / 256.0).sqrt() as f32
    }

    /// The same with the deviation times `strength`, a positive number.
    #[must_use]
    pub fn scaled(&self, strength: f32) -> Self {
        if !(strength.is_finite() && strength > 0.0) {
            return self.clone();
        }
        let kind = match &self.kind {
            Kind::Flat(sigma) => Kind::Flat(sigma * strength),
            Kind::PoissonGauss(pg) => {
                let by = strength * strength;
                Kind::PoissonGauss(Anscombe::new(pg.gain() * by, pg.floor() * by))
            }
            Kind::Free(free) => {
                let points: Vec<_> = free.points().iter().map(|&(y, s)| (y, s * strength)).collect();
                Kind::Free(Free::new(&points))
            }
        };
        Self { kind }
    }

    /// With very few photons the transform is far from making the noise alike. Samples mixed with the result so far have
    /// less noise, and are transformed better (Azzari and Foi 2016): what they count in each further round, and the curve of
    /// the mixture, whose transform has the same [`sigma`](Self::sigma). Nothing where there are enough photons.
    pub(crate) fn rounds(&self) -> Vec<(f32, Self)> {
        let Kind::PoissonGauss(pg) = &self.kind else { return Vec::new() };
        let round = |part: f32| {
            let mixed =
                Anscombe::with_sigma(pg.gain() * part * part, pg.floor() * part * part, Some(pg.sigma()));
            (part, Self { kind: Kind::PoissonGauss(mixed) })
        };
        MIXTURES[..self.further_rounds()].iter().map(|part| round(*part)).collect()
    }

    /// How many these are.
    pub(crate) fn further_rounds(&self) -> usize {
        match &self.kind {
            Kind::PoissonGauss(pg) if pg.natural() > FEW_PHOTONS => MIXTURES.len(),
            _ => 0,
        }
    }

    /// [`forward`](Self::forward) of samples times `scale` (255 over white); as many as fit into `to`.
    pub fn forward_into(&self, from: &[f32], scale: f32, to: &mut [f32]) {
        let all = to.iter_mut().zip(from);
        // One loop for each kind, so that the plain one is compiled to vectors.
        match &self.kind {
            Kind::Flat(_) => all.for_each(|(to, z)| *to = z * scale),
            Kind::PoissonGauss(pg) => all.for_each(|(to, z)| *to = pg.forward(z * scale)),
            Kind::Free(free) => all.for_each(|(to, z)| *to = free.forward(z * scale)),
        }
    }

    /// [`inverse`](Self::inverse) of samples, times `scale` (white over 255); as many as fit into `to`.
    pub fn inverse_into(&self, from: &[f32], scale: f32, to: &mut [f32]) {
        let all = to.iter_mut().zip(from);
        match &self.kind {
            Kind::Flat(_) => all.for_each(|(to, d)| *to = d * scale),
            Kind::PoissonGauss(pg) => all.for_each(|(to, d)| *to = pg.inverse(*d) * scale),
            Kind::Free(free) => all.for_each(|(to, d)| *to = free.inverse(*d) * scale),
        }
    }

    /// As TOML: a kind and its numbers.
    ///
    /// ```
    /// use quell::noise::Curve;
    /// let curve = Curve::from_points(&[(0.0, 2.0), (255.0, 6.0)])?;
    /// assert_eq!(Curve::from_toml(&curve.to_toml())?, curve);
    /// assert!(Curve::from_toml("kind = \"poisson-gauss\"\ngain = -1.0\nfloor = 4.0").is_err());
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// From TOML, as [`to_toml`](Self::to_toml) writes it.
    pub fn from_toml(text: &str) -> Result<Self> {
        let bad = |e: toml::de::Error| Error::parameter("noise curve", "file", e.message().trim());
        let stored: stored::Stored = toml::from_str(text).map_err(bad)?;
        stored.try_into()
    }
}

#[cfg(test)]
mod tests;
