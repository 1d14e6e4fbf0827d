//! What the noise of a picture is like: one type for noise that is given, measured, estimated or read from a file.
//!
//! ```
//! use quell::noise::Model;
//! let white = Model::white(25.0)?;
//! assert_eq!((white.sigma(), white.to_string().as_str()), (25.0, "sigma 25"));
//! // Colour may have more of it, or less, than brightness.
//! let colour = Model::channels([10.0, 14.0, 14.0])?;
//! assert_eq!(Model::from_toml(&colour.to_toml())?, colour);
//! # Ok::<(), quell::Error>(())
//! ```

mod file;

use std::fmt;
use std::sync::Arc;

pub use file::Origin;

use super::camera::CameraNoise;
use super::correlated::Covariance;
use super::curve::Curve;
use crate::{Error, Result};

/// The noise of a picture, on the scale on which white is 255.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Deviation of luma and of two channels of colour, in an opponent space whose rows have length 1: white noise of equal
    /// strength in red, green and blue has its deviation in each.
    levels: [f32; 3],
    /// The deviation as a function of brightness, where it depends on that.
    curve: Option<Arc<Curve>>,
    /// How red, green and blue are correlated.
    covariance: Option<Covariance>,
    /// What it is like in a developed photograph.
    camera: Option<CameraNoise>,
}

impl Model {
    /// White Gaussian noise of this deviation in every channel.
    pub fn white(sigma: f32) -> Result<Self> {
        check("sigma", sigma)?;
        Ok(Self { levels: [sigma; 3], curve: None, covariance: None, camera: None })
    }

    /// White Gaussian noise with deviations of its own for luma and two channels of colour; 0 leaves a channel alone.
    pub fn channels(levels: [f32; 3]) -> Result<Self> {
        if let Some(wrong) = levels.into_iter().find(|v| !(v.is_finite() && *v >= 0.0)) {
            return Err(Error::parameter("sigma", wrong, "must be a number of 0 or more"));
        }
        if levels == [0.0; 3] {
            return Err(Error::parameter("sigma", "0,0,0", "at least one channel must have noise"));
        }
        Ok(Self { levels, curve: None, covariance: None, camera: None })
    }

    /// White noise whose deviation depends on brightness.
    pub fn curve(curve: Curve) -> Self {
        let levels = [curve.typical(); 3];
        Self { levels, curve: Some(Arc::new(curve)), covariance: None, camera: None }
    }

    /// Noise of a developed photograph, on the scale on which white is 255.
    pub fn camera(found: CameraNoise) -> Result<Self> {
        Ok(Self { camera: Some(found.clone()), ..Self::white(found.sigma)? })
    }

    /// Noise of a developed photograph with levels of its own for luma and colour.
    pub(crate) fn developed_with(levels: [f32; 3], found: CameraNoise) -> Result<Self> {
        Ok(Self { camera: Some(found), ..Self::channels(levels)? })
    }

    /// The same with noise that is correlated between red, green and blue; the level stays.
    #[must_use]
    pub fn with_covariance(mut self, covariance: Covariance) -> Self {
        self.covariance = Some(covariance);
        self
    }

    /// The level of all channels together, the root of their mean variance: what a filter is told that knows one number.
    pub fn sigma(&self) -> f32 {
        match self.levels {
            [y, a, b] if y == a && y == b => y,
            levels => (levels.iter().map(|v| v * v).sum::<f32>() / 3.0).sqrt(),
        }
    }

    /// Deviation of luma and of two channels of colour.
    pub fn levels(&self) -> [f32; 3] {
        self.levels
    }

    /// How it depends on brightness, if it does.
    pub fn brightness(&self) -> Option<&Arc<Curve>> {
        self.curve.as_ref()
    }

    /// How red, green and blue are correlated, where that is known.
    pub fn covariance(&self) -> Option<&Covariance> {
        self.covariance.as_ref()
    }

    /// What it is like in a developed photograph.
    pub fn developed(&self) -> Option<&CameraNoise> {
        self.camera.as_ref()
    }

    /// One word for it: `white`, `camera`, `poisson` (it depends on brightness).
    pub fn kind(&self) -> &'static str {
        match (&self.camera, &self.curve) {
            (Some(_), _) => "camera",
            (None, Some(_)) => "poisson",
            (None, None) => "white",
        }
    }

    /// The level of each channel in units of all together.
    pub(crate) fn relative(&self) -> [f32; 3] {
        let all = self.sigma();
        self.levels.map(|v| v / all)
    }
}

/// What it is, in words: `sigma 25`, or `camera noise: luma 10.8, chroma 8.3, grain of 3 pixels`.
impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |v: f32| format!("{:.1}", v).trim_end_matches(".0").to_owned();
        if let Some(camera) = &self.camera {
            write!(f, "camera noise: luma {}", short(camera.luma_level()))?;
            if let Some(chroma) = camera.chroma_level() {
                write!(f, ", chroma {}", short(chroma))?;
            }
            let grain = camera.grain.round();
            return write!(f, ", grain of {grain} pixel{}", if grain == 1.0 { "" } else { "s" });
        }
        if let Some(curve) = &self.curve {
            let [dark, bright] = [0.0, 255.0].map(|y| short(curve.deviation(y)));
            return write!(f, "sigma {dark} in the dark to {bright} in the light");
        }
        match self.levels {
            [y, a, b] if y == a && y == b => write!(f, "sigma {}", short(y)),
            [y, a, b] => write!(f, "luma {}, chroma {} and {}", short(y), short(a), short(b)),
        }
    }
}

fn check(name: &str, v: f32) -> Result<()> {
    if v.is_finite() && v > 0.0 {
        return Ok(());
    }
    Err(Error::parameter(name, v, "must be a positive number"))
}
