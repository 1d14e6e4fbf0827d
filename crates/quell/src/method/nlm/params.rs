//! Parameters of NL-means, as a user sets them, and the one list that names them all.

use serde::{Deserialize, Serialize};

use crate::method::parameter::{from_name, parameters, within};
use crate::{Error, Result};

/// How the weight of a pixel falls with the distance of its patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// `(1 - u^2)^2`, zero from `u = 1` on (Goossens et al. sec. 2).
    Bisquare,
    /// `(1 - u^2)^8`, zero from `u = 1` on (Goossens et al. 2008).
    Bisquare8,
    /// `exp(-u)` (Buades et al.).
    Gauss,
}

impl Weight {
    /// Every function.
    pub const ALL: [Self; 3] = [Self::Bisquare, Self::Bisquare8, Self::Gauss];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bisquare => "bisquare",
            Self::Bisquare8 => "bisquare8",
            Self::Gauss => "gauss",
        }
    }

    /// The weight at `u >= 0`.
    pub fn at(self, u: f64) -> f64 {
        let falling = (1.0 - u * u).max(0.0);
        match self {
            Self::Bisquare => falling.powi(2),
            Self::Bisquare8 => falling.powi(8),
            Self::Gauss => (-u).exp(),
        }
    }
}

/// What the reference patch itself weighs: its distance is 0 whatever the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Center {
    /// As much as the best of the others (IPOL 2011), but at least [`Center::LEAST`]: where nothing is similar, the pixel
    /// stays as it is instead of being averaged with the least bad.
    Max,
    /// 1 (Goossens et al.).
    One,
}

impl Center {
    /// What the reference patch weighs at least.
    pub const LEAST: f32 = 1e-6;

    /// Every rule.
    pub const ALL: [Self; 2] = [Self::Max, Self::One];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::One => "one",
        }
    }
}

/// What the chroma planes of a video are compared on, where they are smaller than luma. They keep their own resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Chroma {
    /// Luma at their resolution, and themselves.
    Joint,
    /// Luma at their resolution.
    Luma,
    /// Themselves.
    Own,
}

impl Chroma {
    /// Every rule.
    pub const ALL: [Self; 3] = [Self::Joint, Self::Luma, Self::Own];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Joint => "joint",
            Self::Luma => "luma",
            Self::Own => "own",
        }
    }
}

from_name!(Weight, "weight");
from_name!(Center, "center");
from_name!(Chroma, "guide");

/// All parameters of NL-means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Side of a patch in pixels, odd, 1 to 21 (2B+1).
    pub patch: usize,
    /// Side of the search window in pixels, odd, 1 to 101 (2A+1).
    pub search: usize,
    /// How much difference is tolerated, in units of the noise. For `gauss` the filtering parameter over sigma (k of
    /// IPOL); for the bisquares the distance at which the weight is zero, over `2 sigma^2`, the distance of equal
    /// patches.
    pub h: f32,
    /// How the weight falls with the distance.
    pub weight: Weight,
    /// What the reference patch weighs.
    pub center: Center,
    /// Takes what noise adds to the distance, `2 sigma^2`, off it.
    pub correct: bool,
    /// Averages whole patches, and every pixel over the patches that cover it (IPOL's patchwise variant).
    pub patchwise: bool,
    /// Frames before the present one that are searched too (Dpast).
    pub past: usize,
    /// Frames after the present one that are searched too: so many frames the result is late (Dfuture).
    pub future: usize,
    /// What chroma at a lower resolution is compared on.
    pub guide: Chroma,
}

/// Most frames before or after the present one.
const MOST_FRAMES: usize = 16;

parameters! {
    Params;
    "patch", patch, "side of a patch, odd, 1 to 21";
    "search", search, "side of the search window, odd, 1 to 101";
    "h", h, "how much difference is tolerated, in units of the noise";
    "weight", weight, "weight of a distance: bisquare, bisquare8, gauss";
    "center", center, "weight of the pixel itself: max (of the others) or one";
    "correct", correct, "take the noise's own part off the distance";
    "patchwise", patchwise, "average whole patches instead of pixels";
    "past", past, "video: frames before the present one to search";
    "future", future, "video: frames after the present one to search, and the delay";
    "guide", guide, "video: what 4:2:0 and 4:2:2 chroma is compared on: joint, luma, own";
}

impl Params {
    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        for (name, side, most) in [("patch", self.patch, 21), ("search", self.search, 101)] {
            if side % 2 == 0 || side > most {
                return Err(Error::parameter(name, side, format!("must be odd and from 1 to {most}")));
            }
        }
        within("h", self.h, 0.01..=1000.0)?;
        within("past", self.past, 0..=MOST_FRAMES)?;
        within("future", self.future, 0..=MOST_FRAMES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nlm::Profile;

    #[test]
    fn every_field_is_in_the_list_and_round_trips() {
        let from = Params { past: 3, future: 2, ..Profile::Ipol.params(60.0, 3) };
        let mut to = Profile::Fast.params(10.0, 1);
        let table = toml::Table::try_from(&from).unwrap();
        assert_eq!(table.len(), PARAMETERS.len());
        assert!(PARAMETERS.iter().all(|p| table.contains_key(p.name)));
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
        assert_eq!(message(Params { patch: 4, ..good.clone() }), "patch = 4: must be odd and from 1 to 21");
        assert_eq!(
            message(Params { search: 103, ..good.clone() }),
            "search = 103: must be odd and from 1 to 101"
        );
        assert!(message(Params { h: f32::NAN, ..good.clone() }).starts_with("h = NaN"));
        assert_eq!(message(Params { past: 17, ..good }), "past = 17: must be from 0 to 16");
        let e = "gaus".parse::<Weight>().unwrap_err().to_string();
        assert_eq!(e, "weight = gaus: one of bisquare, bisquare8, gauss");
    }
}
