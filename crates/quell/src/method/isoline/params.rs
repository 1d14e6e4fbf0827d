//! Parameters of the isoline filters, as a user sets them, and the one list that names them all.

use serde::{Deserialize, Serialize};

use crate::method::frames;
use crate::method::parameter::{from_name, parameters, within};
use crate::{Error, Result};

/// Which isoline filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Lines of limited deviation, searched from every pixel in every direction (PI-LD).
    PiLd,
    /// Lines that follow precomputed directions (PI-PD).
    PiPd,
    /// PI-PD at edges, means of neighbourhoods elsewhere.
    Hybrid,
    /// All segments around the pixel that fit its level, weighted.
    Pooled,
    /// Pooled, and what the residual holds of lines and pixels is put back.
    Line,
    /// The same again, guided by the first result.
    TwoRound,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Self; 6] =
        [Self::PiLd, Self::PiPd, Self::Hybrid, Self::Pooled, Self::Line, Self::TwoRound];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PiLd => "pi-ld",
            Self::PiPd => "pi-pd",
            Self::Hybrid => "hybrid",
            Self::Pooled => "pooled",
            Self::Line => "line",
            Self::TwoRound => "two-round",
        }
    }

    /// Whether this is one of the paper's filters, which do not know the noise.
    pub fn is_blind(self) -> bool {
        matches!(self, Self::PiLd | Self::PiPd | Self::Hybrid)
    }
}

/// What the filter knows about a picture, to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Map {
    /// The direction of the isoline at every pixel, as an index of [`Patterns`](super::Patterns).
    Directions,
    /// In how many of 8 directions the edge detector sees an edge.
    Edges,
    /// Pixels that were averaged, by their weights.
    Lengths,
}

impl Map {
    /// Every map.
    pub const ALL: [Self; 3] = [Self::Directions, Self::Edges, Self::Lengths];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Directions => "directions",
            Self::Edges => "edges",
            Self::Lengths => "lengths",
        }
    }
}

from_name!(Variant, "variant");
from_name!(Map, "map");

/// All parameters of the isoline filters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Which filter.
    pub variant: Variant,
    /// Pixels of a segment, its start excluded, 1 to 10 (l).
    pub length: usize,
    /// Pixels of the longest line, its start included (n): it has `(max_length - 1) / length` segments.
    pub max_length: usize,
    /// How different a segment may be to be taken (Tmax): a likelihood ratio, about chi-square with one degree.
    pub threshold: f32,
    /// How different the two sides of a pixel must be to be an edge (T2max).
    pub edge_threshold: f32,
    /// Directions of segments: 8, 16 or 32 (D).
    pub directions: usize,
    /// Pixels across a segment, 1 or 3.
    pub thickness: usize,
    /// Largest turn from one segment to the next, in directions (PI-LD's Delta, 2; PI-PD: a quarter of a turn).
    pub turn: usize,
    /// Deviation of the Gaussian that finds a pixel's own level, in pixels.
    pub blur: f32,
    /// Side of the window in which the residual's energy is measured.
    pub window: usize,
    /// Side of the cells whose pixels have one window: 1, 2, 4 or 8.
    pub cell: usize,
    /// As `threshold`, in the second round, over the variance of the noise.
    pub pilot_threshold: f32,
    /// The part of the second pooling in what guides the second round; the rest is the first round.
    pub pilot_mix: f32,
    /// As `blur`, for what the second round takes as flat.
    pub pilot_blur: f32,
    /// As `window`, in the second round.
    pub pilot_window: usize,
    /// As `cell`, in the second round.
    pub pilot_cell: usize,
    /// The part of the noise that the second round takes into account.
    pub pilot_noise: f32,
    /// The part of the guide in the result.
    pub pilot_share: f32,
    /// Frames before the present one that are averaged with it, 0 to 4.
    pub past: usize,
    /// Frames after it, 0 to 4.
    pub future: usize,
    /// How far a block may have moved to another frame, in pixels either way, 0 to 32 in steps of 4.
    pub motion: usize,
    /// How different another frame may be, over the variance of the noise: its weight is a quarter then.
    pub frame_threshold: f32,
}

/// Longest line, its start included.
const LONGEST: usize = 101;
/// Most frames before, and after, the present one.
const MOST_FRAMES: usize = 4;

parameters! {
    Params;
    "variant", variant, "pi-ld, pi-pd, hybrid, pooled, line, two-round";
    "length", length, "pixels of a segment, 1 to 10";
    "max-length", max_length, "pixels of the longest line";
    "threshold", threshold, "how different a segment may be to be taken";
    "edge-threshold", edge_threshold, "how different two sides must be to be an edge";
    "directions", directions, "directions of segments: 8, 16, 32";
    "thickness", thickness, "pixels across a segment, 1 or 3";
    "turn", turn, "largest turn from segment to segment, in directions";
    "blur", blur, "deviation of the Gaussian that finds a pixel's level";
    "window", window, "side of the window for the residual's energy";
    "cell", cell, "side of the cells that share a window: 1, 2, 4, 8";
    "pilot-threshold", pilot_threshold, "two-round: threshold of the second round";
    "pilot-mix", pilot_mix, "two-round: part of the second pooling in the guide";
    "pilot-blur", pilot_blur, "two-round: blur of the second round";
    "pilot-window", pilot_window, "two-round: window of the second round";
    "pilot-cell", pilot_cell, "two-round: cells of the second round";
    "pilot-noise", pilot_noise, "two-round: part of the noise in the second round";
    "pilot-share", pilot_share, "two-round: part of the guide in the result";
    "past", past, "video: frames before the present one to average with it, 0 to 4";
    "future", future, "video: frames after the present one to average with it, and the delay, 0 to 4";
    "motion", motion, "how far blocks may move between frames, 0 to 32 in steps of 4";
    "frame-threshold", frame_threshold, "how different another frame may be";
}

impl Params {
    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        within("length", self.length, 1..=10)?;
        within("max-length", self.max_length, self.length + 1..=LONGEST)?;
        within("threshold", self.threshold, 0.01..=1000.0)?;
        within("edge-threshold", self.edge_threshold, 0.01..=1000.0)?;
        if ![8, 16, 32].contains(&self.directions) {
            return Err(Error::parameter("directions", self.directions, "must be 8, 16 or 32"));
        }
        if ![1, 3].contains(&self.thickness) {
            return Err(Error::parameter("thickness", self.thickness, "must be 1 or 3"));
        }
        within("turn", self.turn, 0..=16)?;
        within("blur", self.blur, 0.1..=3.0)?;
        within("pilot-blur", self.pilot_blur, 0.1..=3.0)?;
        let cells = [("cell", self.cell), ("pilot-cell", self.pilot_cell)];
        if let Some((name, cell)) = cells.into_iter().find(|(_, cell)| ![1, 2, 4, 8].contains(cell)) {
            return Err(Error::parameter(name, cell, "must be 1, 2, 4 or 8"));
        }
        let windows =
            [("window", self.window, self.cell), ("pilot-window", self.pilot_window, self.pilot_cell)];
        for (name, side, cell) in windows {
            within(name, side, cell..=32)?;
            if (side - cell) % 2 != 0 {
                let kind = if cell == 1 { "odd" } else { "even" };
                return Err(Error::parameter(name, side, format!("must be {kind} with cells of {cell}")));
            }
        }
        within("pilot-threshold", self.pilot_threshold, 0.01..=1000.0)?;
        within("pilot-noise", self.pilot_noise, 0.001..=10.0)?;
        within("pilot-mix", self.pilot_mix, 0.0..=1.0)?;
        within("pilot-share", self.pilot_share, 0.0..=1.0)?;
        within("past", self.past, 0..=MOST_FRAMES)?;
        within("future", self.future, 0..=MOST_FRAMES)?;
        frames::validate(self.past, self.future, self.motion, self.frame_threshold)?;
        let others = [("past", self.past), ("future", self.future)];
        match others.into_iter().find(|&(_, frames)| frames > 0 && self.variant.is_blind()) {
            Some((name, frames)) => {
                Err(Error::parameter(name, frames, "the paper's filters look at one frame"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isoline::Profile;

    #[test]
    fn every_field_is_in_the_list_and_round_trips() {
        let from = Params { pilot_share: 0.25, turn: 3, past: 2, ..Profile::Paper.params(60.0, 3) };
        let mut to = Profile::Fast.params(10.0, 1);
        let table = toml::Table::try_from(&from).unwrap();
        let mut names = PARAMETERS.iter().map(|p| p.name).collect::<Vec<_>>();
        let mut fields = table.keys().map(String::as_str).collect::<Vec<_>>();
        names.sort_unstable();
        fields.sort_unstable();
        assert_eq!(fields, names);
        for p in PARAMETERS {
            p.set(&mut to, &p.get(&from)).unwrap();
        }
        assert_eq!(from, to);
        assert_eq!(Params::from_toml(&from.to_toml(), &Profile::Fast.params(5.0, 1)).unwrap(), from);
    }

    #[test]
    fn errors_name_the_parameter() {
        let good = Profile::Normal.params(25.0, 1);
        let message = |p: Params| p.validate().unwrap_err().to_string();
        assert_eq!(message(Params { length: 11, ..good.clone() }), "length = 11: must be from 1 to 10");
        assert_eq!(
            message(Params { length: 5, max_length: 5, ..good.clone() }),
            "max-length = 5: must be from 6 to 101"
        );
        assert_eq!(
            message(Params { directions: 12, ..good.clone() }),
            "directions = 12: must be 8, 16 or 32"
        );
        assert!(message(Params { blur: f32::NAN, ..good.clone() }).starts_with("blur = NaN"));
        assert_eq!(message(Params { cell: 3, ..good.clone() }), "cell = 3: must be 1, 2, 4 or 8");
        let odd = Params { pilot_window: 3, pilot_cell: 2, ..good.clone() };
        assert_eq!(message(odd), "pilot-window = 3: must be even with cells of 2");
        assert_eq!(message(Params { past: 5, ..good.clone() }), "past = 5: must be from 0 to 4");
        let motion = "motion = 6: must be from 0 to 32 in steps of 4";
        assert_eq!(message(Params { motion: 6, ..good.clone() }), motion);
        let blind = Params { future: 1, ..Profile::Paper.params(25.0, 1) };
        assert_eq!(message(blind), "future = 1: the paper's filters look at one frame");
        let e = "pi".parse::<Variant>().unwrap_err().to_string();
        assert_eq!(e, "variant = pi: one of pi-ld, pi-pd, hybrid, pooled, line, two-round");
    }
}
