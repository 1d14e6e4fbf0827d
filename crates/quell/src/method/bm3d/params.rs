//! Parameters of BM3D, as a user sets them, and the one list that names them all.

use serde::{Deserialize, Serialize};

use crate::method::parameter::parameters;
use crate::transform::Transform;
use crate::{ColorMode, Error, Result};

/// Parameters of one pass. Distances and deviations are on the 0..255 scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassParams {
    /// Side of a patch in pixels, 4 to 16 (N1).
    pub patch: usize,
    /// Distance between reference patches in pixels, at most `patch` (Nstep).
    pub step: usize,
    /// Side of the search window, odd (NS).
    pub window: usize,
    /// Most patches in a group, a power of two up to 128 (N2).
    pub group: usize,
    /// Largest mean squared difference of two similar patches (tau).
    pub tau: f32,
    /// Transform of a patch (T2D).
    pub transform: Transform,
    /// Transform across the group (T1D).
    pub stack: Transform,
    /// Shape of the Kaiser window, 0 for flat (beta).
    pub beta: f32,
    /// Hard threshold on the patches before they are compared, in units of sigma; 0 is off (lambda2D).
    pub lambda2d: f32,
    /// Exact noise variances where the patches of a group overlap (Makinen et al. 2020).
    pub exact: bool,
    /// What a group counts in the aggregation.
    pub weight: Weight,
}

/// What a group counts in the aggregation, given the noise variance that is left in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// The inverse of the variance (DAB07 eq. 10 and 11).
    Variance,
    /// The inverse of the standard deviation (LEB12 sec. 4.2).
    Deviation,
}

impl Weight {
    /// The weight for a variance in units of the noise variance.
    #[inline(always)]
    pub fn of(self, variance: f32) -> f32 {
        match self {
            Self::Variance => 1.0 / variance,
            Self::Deviation => 1.0 / variance.sqrt(),
        }
    }
}

impl crate::method::parameter::Typed for Weight {
    const KIND: crate::method::Kind = crate::method::Kind::Choice(&["variance", "deviation"]);
}

impl std::str::FromStr for Weight {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        match s {
            "variance" => Ok(Self::Variance),
            "deviation" => Ok(Self::Deviation),
            _ => Err(Error::parameter("weight", s, "one of variance, deviation")),
        }
    }
}

/// All parameters of BM3D.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Pass 1, hard threshold.
    pub hard: PassParams,
    /// Threshold of pass 1 in units of the coefficient's deviation (lambda3D).
    pub lambda: f32,
    /// Pass 2, empirical Wiener filter.
    pub wiener: PassParams,
    /// Factor on the noise variance in the Wiener filter (mu2; 1 in the 2007 paper).
    pub mu2: f32,
    /// 1: only the basic estimate; 2: the whole method.
    pub passes: usize,
    /// How colour pictures are filtered.
    pub color: ColorMode,
    /// Frames of a video before the present one that it is averaged with, along motion.
    pub past: usize,
    /// Frames after it.
    pub future: usize,
    /// How far blocks may move between frames, in pixels.
    pub motion: usize,
    /// How different another frame may be, in units of the noise variance.
    #[serde(rename = "frame-threshold")]
    pub frame_threshold: f32,
}

parameters! {
    Params;
    "passes", passes, "1: basic estimate only, 2: basic estimate and Wiener filter";
    "color", color, "colour space for RGB pictures: opp, ycbcr, independent, luma";
    "past", past, "video: frames before each one, 0 to 8";
    "future", future, "video: frames after each one, 0 to 8";
    "motion", motion, "video: how far blocks may move between frames, 0 to 32 in steps of 4";
    "frame-threshold", frame_threshold, "video: how different another frame may be";
    "lambda", lambda, "threshold of pass 1 in units of the noise (lambda3D)";
    "mu2", mu2, "factor on the noise variance in the Wiener filter";
    "hard.patch", hard.patch, "pass 1: side of a patch, 4 to 16";
    "hard.step", hard.step, "pass 1: distance between reference patches";
    "hard.window", hard.window, "pass 1: side of the search window, odd";
    "hard.group", hard.group, "pass 1: most patches in a group, a power of two up to 128";
    "hard.tau", hard.tau, "pass 1: largest mean squared difference of similar patches";
    "hard.transform", hard.transform, "pass 1: patch transform: dct, bior, haar, wht, dst";
    "hard.stack", hard.stack, "pass 1: transform across the group: haar, wht, dct, bior, dst";
    "hard.beta", hard.beta, "pass 1: shape of the Kaiser window, 0 for flat";
    "hard.lambda2d", hard.lambda2d, "pass 1: threshold before patches are compared, 0 is off";
    "hard.exact", hard.exact, "pass 1: exact variances of overlapping patches";
    "hard.weight", hard.weight, "pass 1: weight of a group: inverse variance or deviation";
    "wiener.patch", wiener.patch, "pass 2: side of a patch, 4 to 16";
    "wiener.step", wiener.step, "pass 2: distance between reference patches";
    "wiener.window", wiener.window, "pass 2: side of the search window, odd";
    "wiener.group", wiener.group, "pass 2: most patches in a group, a power of two up to 128";
    "wiener.tau", wiener.tau, "pass 2: largest mean squared difference of similar patches";
    "wiener.transform", wiener.transform, "pass 2: patch transform: dct, bior, haar, wht, dst";
    "wiener.stack", wiener.stack, "pass 2: transform across the group: haar, wht, dct, bior, dst";
    "wiener.beta", wiener.beta, "pass 2: shape of the Kaiser window, 0 for flat";
    "wiener.exact", wiener.exact, "pass 2: exact variances of overlapping patches";
    "wiener.weight", wiener.weight, "pass 2: weight of a group: inverse variance or deviation";
}

impl Params {
    /// Checks every parameter and every pair of them.
    pub fn validate(&self) -> Result<()> {
        let range = |name: &str, v: f32, lo: f32, hi: f32| {
            if v >= lo && v <= hi {
                return Ok(());
            }
            Err(Error::parameter(name, v, format!("must be from {lo} to {hi}")))
        };
        if !matches!(self.passes, 1 | 2) {
            return Err(Error::parameter("passes", self.passes, "must be 1 or 2"));
        }
        crate::method::frames::validate(self.past, self.future, self.motion, self.frame_threshold)?;
        range("lambda", self.lambda, 0.0, 100.0)?;
        range("mu2", self.mu2, 0.0, 100.0)?;
        for (pass, p) in [("hard", &self.hard), ("wiener", &self.wiener)] {
            let name = |field: &str| format!("{pass}.{field}");
            let fail = |field: &str, v: String, why: String| Err(Error::parameter(name(field), v, why));
            if !(4..=16).contains(&p.patch) {
                return fail("patch", p.patch.to_string(), "must be from 4 to 16".into());
            }
            if p.step == 0 || p.step > p.patch {
                let why = format!("must be from 1 to {pass}.patch ({}), or pixels are left out", p.patch);
                return fail("step", p.step.to_string(), why);
            }
            if p.window % 2 == 0 || p.window > 127 {
                return fail("window", p.window.to_string(), "must be odd and at most 127".into());
            }
            if !p.group.is_power_of_two() || p.group > 128 {
                return fail("group", p.group.to_string(), "must be a power of two from 1 to 128".into());
            }
            range(&name("tau"), p.tau, 0.0, 65025.0)?;
            range(&name("beta"), p.beta, 0.0, 20.0)?;
            range(&name("lambda2d"), p.lambda2d, 0.0, 100.0)?;
            if let Err(Error::Parameter { reason, .. }) = p.transform.check(p.patch) {
                return fail("transform", p.transform.name().into(), reason);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bm3d::Profile;

    #[test]
    fn every_field_is_in_the_list() {
        let params = Profile::Normal.params(25.0);
        let table = toml::Table::try_from(&params).unwrap();
        let mut names = Vec::new();
        for (key, value) in &table {
            match value {
                toml::Value::Table(t) => names.extend(t.keys().map(|k| format!("{key}.{k}"))),
                _ => names.push(key.clone()),
            }
        }
        // The Wiener pass compares clean patches: it takes no prefilter.
        names.retain(|n| n != "wiener.lambda2d");
        for name in &names {
            assert!(PARAMETERS.iter().any(|p| p.name == name), "{name} is missing from PARAMETERS");
        }
        assert_eq!(names.len(), PARAMETERS.len());
    }

    #[test]
    fn text_round_trips_through_every_parameter() {
        let from = Profile::Vn.params(60.0);
        let mut to = Profile::Fast.params(10.0);
        for p in PARAMETERS {
            p.set(&mut to, &p.get(&from)).unwrap();
        }
        assert_eq!(from, to);
    }

    #[test]
    fn errors_name_the_parameter() {
        let mut p = Profile::Normal.params(25.0);
        p.hard.step = 9;
        assert_eq!(
            p.validate().unwrap_err().to_string(),
            "hard.step = 9: must be from 1 to hard.patch (8), or pixels are left out"
        );
        let step = PARAMETERS.iter().find(|p| p.name == "hard.step").unwrap();
        assert_eq!(step.set(&mut p, "x").unwrap_err().to_string(), "hard.step = x: not a valid whole number");
        assert!(Params::from_toml("[hard]\nstpe = 3", &p).unwrap_err().to_string().contains("stpe"));
    }
}
