//! Parameters of the classic filters, as a user sets them, and the one list that names them all.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::method::parameter::{from_name, parameters, within};

/// Which filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Average over the neighbourhood, weighted by distance in space.
    Gauss,
    /// The same, weighted by the difference of the samples, too.
    Bilateral,
    /// The picture of least total variation near the noisy one.
    Tv,
    /// Every frequency weakened by the part of the noise in it.
    Wiener,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Self; 4] = [Self::Gauss, Self::Bilateral, Self::Tv, Self::Wiener];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gauss => "gauss",
            Self::Bilateral => "bilateral",
            Self::Tv => "tv",
            Self::Wiener => "wiener",
        }
    }
}

from_name!(Variant, "variant");

/// All parameters of the classic filters. Each filter looks at its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Which filter.
    pub variant: Variant,
    /// Gauss, bilateral: deviation of the Gaussian in space, in pixels, 0.1 to 20.
    pub spread: f32,
    /// Gauss, bilateral: pixels either way that are averaged, up to 60; 0 is three (gauss) or two (bilateral) times the
    /// spread, rounded up: beyond it nothing is gained.
    pub radius: usize,
    /// Bilateral: deviation of the Gaussian over differences of samples, in units of the noise, 0.01 to 1000.
    pub range: f32,
    /// TV: how much smoothness counts against closeness to the noisy picture (lambda), in units of the noise, 0.001 to 100.
    pub lambda: f32,
    /// TV: steps of the minimisation, 1 to 10000.
    pub iterations: usize,
    /// Wiener: deviation of the Gaussian that smooths the power spectrum, in frequencies, 0.1 to 20.
    pub smoothing: f32,
}

/// Widest Gaussian, in pixels or frequencies.
const WIDEST: f32 = 20.0;
/// Largest radius: three times the widest Gaussian.
const FARTHEST: usize = 60;

parameters! {
    Params;
    "variant", variant, "gauss, bilateral, tv, wiener";
    "spread", spread, "gauss, bilateral: deviation of the Gaussian in space, in pixels";
    "radius", radius, "gauss, bilateral: pixels either way that are averaged; 0 follows from the spread";
    "range", range, "bilateral: how different averaged samples may be, in units of the noise";
    "lambda", lambda, "tv: how much smoothness counts, in units of the noise";
    "iterations", iterations, "tv: steps of the minimisation, 1 to 10000";
    "smoothing", smoothing, "wiener: how far the power spectrum is smoothed, in frequencies";
}

impl Params {
    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        within("spread", self.spread, 0.1..=WIDEST)?;
        within("radius", self.radius, 0..=FARTHEST)?;
        within("range", self.range, 0.01..=1000.0)?;
        within("lambda", self.lambda, 0.001..=100.0)?;
        within("iterations", self.iterations, 1..=10_000)?;
        within("smoothing", self.smoothing, 0.1..=WIDEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::classic::Profile;

    #[test]
    fn every_field_is_in_the_list_and_round_trips() {
        let from = Params { radius: 4, ..Profile::Bilateral.params(60.0, 3) };
        let mut to = Profile::Gauss.params(10.0, 1);
        let table = toml::Table::try_from(&from).unwrap();
        assert_eq!(table.len(), PARAMETERS.len());
        assert!(PARAMETERS.iter().all(|p| table.contains_key(p.name)));
        for p in PARAMETERS {
            p.set(&mut to, &p.get(&from)).unwrap();
        }
        assert_eq!(from, to);
        assert_eq!(Params::from_toml(&from.to_toml(), &Profile::Tv.params(5.0, 1)).unwrap(), from);
    }

    #[test]
    fn errors_name_the_parameter_and_its_range() {
        let good = Profile::Tv.params(25.0, 1);
        let message = |p: Params| p.validate().unwrap_err().to_string();
        for (bad, text) in [
            (Params { spread: 0.0, ..good.clone() }, "spread = 0: must be from 0.1 to 20"),
            (Params { radius: 61, ..good.clone() }, "radius = 61: must be from 0 to 60"),
            (Params { range: -1.0, ..good.clone() }, "range = -1: must be from 0.01 to 1000"),
            (Params { lambda: f32::NAN, ..good.clone() }, "lambda = NaN: must be from 0.001 to 100"),
            (Params { iterations: 0, ..good.clone() }, "iterations = 0: must be from 1 to 10000"),
            (Params { smoothing: 21.0, ..good.clone() }, "smoothing = 21: must be from 0.1 to 20"),
        ] {
            assert_eq!(message(bad), text);
        }
        let e = "median".parse::<Variant>().unwrap_err().to_string();
        assert_eq!(e, "variant = median: one of gauss, bilateral, tv, wiener");
        let variant = &PARAMETERS[0];
        let e = variant.set(&mut good.clone(), "median").unwrap_err().to_string();
        assert!(e.starts_with("variant = median: "), "{e}");
    }
}
