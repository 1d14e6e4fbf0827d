//! Parameters of context ridge, as a user sets them, and the one list that names them all.

use serde::{Deserialize, Serialize};

use crate::method::parameter::{from_name, parameters, within};
use crate::{ColorMode, Error, Result};

/// What the first estimate is made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PilotKind {
    /// BM3D with its profile `fast`.
    Fast,
    /// BM3D with its profile `middle`.
    Middle,
    /// BM3D with its profile `normal`.
    Normal,
    /// BM3D with its profile `high`.
    High,
    /// A ridge regression of the noisy patches on themselves (NL-Ridge, step 1).
    Ridge,
}

impl PilotKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Fast, Self::Middle, Self::Normal, Self::High, Self::Ridge];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Middle => "middle",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Ridge => "ridge",
        }
    }
}

from_name!(PilotKind, "first.kind");

/// How the first estimate is made. All but `kind` are for kind `ridge`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PilotParams {
    /// By what.
    pub kind: PilotKind,
    /// Side of a patch in pixels.
    pub patch: usize,
    /// Patches in a group.
    pub group: usize,
    /// Side of the search window, odd.
    pub window: usize,
    /// Distance between reference patches.
    pub step: usize,
    /// How noisy the patches count that are regressed on, in units of sigma (alpha).
    pub alpha: f32,
}

/// All parameters of context ridge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// How the first estimate is made.
    #[serde(rename = "first")]
    pub pilot: PilotParams,
    /// Rounds in which the noise is taken out (M).
    pub rounds: usize,
    /// Rounds that use the same groups.
    pub rematch: usize,
    /// Pixels by which the grid of reference patches moves with every new grouping.
    pub shift: usize,
    /// Noise that the rounds begin with leaving, in units of sigma (t0).
    pub start: f32,
    /// How much of the pilot is in what is compared in the first round, 0 to 1.
    pub blend: f32,
    /// Side of a patch in pixels, 2 to 13.
    pub patch: usize,
    /// Pixels around a patch that are compared as well.
    pub margin: usize,
    /// Distance between reference patches.
    pub step: usize,
    /// Side of the search window, odd.
    pub window: usize,
    /// Least patches in a group.
    pub least: usize,
    /// Most patches in a group.
    pub most: usize,
    /// A group has all patches that are up to so many times as far as the last one of the least (kappa).
    pub spread: f32,
    /// Ridge parameter for every pixel of a patch, in units of the noise variance.
    pub lambda: f32,
    /// Ridge parameter for every patch of a group: the noise of the estimate that is regressed on.
    pub mu: f32,
    /// Whether the mean patch of a group is left out of the regression.
    pub center: bool,
    /// Sizes at which a picture is filtered: its own, half of that, and so on.
    pub scales: usize,
    /// How far a smaller picture corrects, in units of sigma.
    pub limit: f32,
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
    "rounds", rounds, "rounds in which the noise is taken out";
    "rematch", rematch, "rounds that use the same groups";
    "shift", shift, "pixels by which the grid of reference patches moves with new groups";
    "start", start, "noise that is left after the first round, in units of sigma";
    "blend", blend, "how much of the pilot is in what is compared at first, 0 to 1";
    "patch", patch, "side of a patch, 2 to 13";
    "margin", margin, "pixels around a patch that are compared as well, 0 to 4";
    "step", step, "distance between reference patches";
    "window", window, "side of the search window, odd";
    "least", least, "least patches in a group";
    "most", most, "most patches in a group, up to 128";
    "spread", spread, "a group has patches up to so many times as far as the last of the least";
    "lambda", lambda, "ridge parameter for every pixel of a patch, in noise variances";
    "mu", mu, "ridge parameter for every patch of a group, in noise variances";
    "center", center, "leave the mean patch of a group out of the regression";
    "scales", scales, "sizes at which a picture is filtered, 1 to 4";
    "limit", limit, "how far a smaller picture corrects, in units of sigma";
    "color", color, "colour space for RGB pictures: opp, ycbcr, independent, luma";
    "past", past, "video: frames before each one, 0 to 8";
    "future", future, "video: frames after each one, 0 to 8";
    "motion", motion, "video: how far blocks may move between frames, 0 to 32 in steps of 4";
    "frame-threshold", frame_threshold, "video: how different another frame may be";
    "first.kind", pilot.kind, "first estimate: BM3D fast, middle, normal or high; or ridge";
    "first.patch", pilot.patch, "first estimate by ridge: side of a patch, 2 to 13";
    "first.group", pilot.group, "first estimate by ridge: patches in a group";
    "first.window", pilot.window, "first estimate by ridge: side of the search window, odd";
    "first.step", pilot.step, "first estimate by ridge: distance between reference patches";
    "first.alpha", pilot.alpha, "first estimate by ridge: how noisy the regressors count, in units of sigma";
}

impl Params {
    /// Checks every parameter and every pair of them.
    pub fn validate(&self) -> Result<()> {
        crate::method::frames::validate(self.past, self.future, self.motion, self.frame_threshold)?;
        within("rounds", self.rounds, 1..=32)?;
        within("rematch", self.rematch, 1..=32)?;
        within("shift", self.shift, 0..=16)?;
        within("start", self.start, 0.0..=1.0)?;
        within("blend", self.blend, 0.0..=1.0)?;
        within("margin", self.margin, 0..=4)?;
        within("spread", self.spread, 1.0..=16.0)?;
        within("lambda", self.lambda, 0.0..=100.0)?;
        within("mu", self.mu, 0.0..=100.0)?;
        within("scales", self.scales, 1..=4)?;
        within("limit", self.limit, 0.01..=100.0)?;
        within("first.alpha", self.pilot.alpha, 0.01..=1.0)?;
        if self.lambda + self.mu == 0.0 {
            return Err(Error::parameter(
                "lambda",
                0,
                "must be above 0 where mu is 0: nothing would be filtered",
            ));
        }
        within("most", self.most, 1..=128)?;
        within("least", self.least, 1..=self.most)?;
        search("", self.patch, self.step, self.window)?;
        search("first.", self.pilot.patch, self.pilot.step, self.pilot.window)?;
        within("first.group", self.pilot.group, 2..=128)
    }
}

/// What is true of every search.
fn search(prefix: &str, patch: usize, step: usize, window: usize) -> Result<()> {
    let name = |field: &str| format!("{prefix}{field}");
    within(&name("patch"), patch, 2..=13)?;
    if step == 0 || step > patch {
        let why = format!("must be from 1 to {} ({patch}), or pixels are left out", name("patch"));
        return Err(Error::parameter(name("step"), step, why));
    }
    if window.is_multiple_of(2) || window > 127 {
        return Err(Error::parameter(name("window"), window, "must be odd and at most 127"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ridge::Profile;

    #[test]
    fn every_field_is_in_the_list_and_round_trips() {
        let from = Profile::Lichi.params(60.0);
        let table = toml::Table::try_from(&from).unwrap();
        let inner = table["first"].as_table().unwrap();
        assert_eq!(PARAMETERS.len(), table.len() - 1 + inner.len());
        let mut to = Profile::Fast.params(10.0);
        for p in PARAMETERS {
            p.set(&mut to, &p.get(&from)).unwrap();
        }
        assert_eq!(from, to);
    }

    #[test]
    fn errors_name_the_parameter() {
        let good = Profile::Normal.params(25.0);
        let message = |p: Params| p.validate().unwrap_err().to_string();
        for (bad, text) in [
            (
                Params { step: 5, ..good.clone() },
                "step = 5: must be from 1 to patch (4), or pixels are left out",
            ),
            (Params { least: 80, ..good.clone() }, "least = 80: must be from 1 to 64"),
            (Params { window: 40, ..good.clone() }, "window = 40: must be odd and at most 127"),
            (Params { rounds: 0, ..good.clone() }, "rounds = 0: must be from 1 to 32"),
        ] {
            assert_eq!(message(bad), text);
        }
    }
}
