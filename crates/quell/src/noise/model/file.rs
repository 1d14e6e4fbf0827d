//! Models as files: TOML that a person can read and change.

use serde::{Deserialize, Serialize};

use super::Model;
use crate::noise::camera::CameraNoise;
use crate::noise::correlated::Covariance;
use crate::noise::curve::Curve;
use crate::{Error, Result};

/// What a model was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Maker and model of the camera.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub camera: Option<String>,
    /// Its sensitivity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iso: Option<u32>,
    /// The picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
}

/// A file as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// One deviation, or those of luma and two channels of colour, where white is 255. Not needed with a curve.
    #[serde(skip_serializing_if = "Option::is_none")]
    sigma: Option<Levels>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<Curve>,
    #[serde(skip_serializing_if = "Option::is_none")]
    covariance: Option<[[f64; 3]; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    developed: Option<Developed>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Levels {
    One(f32),
    Channels([f32; 3]),
}

/// Noise of a developed photograph; its level is `sigma`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Developed {
    confidence: f32,
    grain: f32,
    luma: [f32; 5],
    #[serde(skip_serializing_if = "Option::is_none")]
    chroma: Option<[f32; 5]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    by_brightness: Vec<(f32, f32)>,
}

impl Model {
    /// As a file has it.
    pub fn to_toml(&self) -> String {
        self.to_toml_from(&Origin::default())
    }

    /// As a file has it, with what it was made from.
    pub fn to_toml_from(&self, origin: &Origin) -> String {
        let developed = self.camera.as_ref().map(|c| Developed {
            confidence: c.confidence,
            grain: c.grain,
            luma: c.luma,
            chroma: c.chroma,
            by_brightness: c.curve.clone(),
        });
        let [y, a, b] = self.levels;
        let levels = if y == a && y == b { Levels::One(y) } else { Levels::Channels(self.levels) };
        let written = Written {
            sigma: self.curve.is_none().then_some(levels),
            origin: (*origin != Origin::default()).then(|| origin.clone()),
            curve: self.curve.as_deref().cloned(),
            covariance: self.covariance.map(|c| *c.rows()),
            developed,
        };
        let text = toml::to_string(&written).unwrap_or_default();
        format!("# Noise of a picture for quell, on the scale on which white is 255: {self}.\n{text}")
    }

    /// Reads what [`to_toml`](Self::to_toml) writes.
    pub fn from_toml(text: &str) -> Result<Self> {
        Self::read(text).map(|(model, _)| model)
    }

    /// The same, with what it was made from.
    pub fn read(text: &str) -> Result<(Self, Origin)> {
        let written: Written =
            toml::from_str(text).map_err(|e| wrong(e.to_string().trim_end().replace('\n', "\n  ")))?;
        let origin = written.origin.clone().unwrap_or_default();
        Ok((written.model()?, origin))
    }
}

impl Written {
    fn model(self) -> Result<Model> {
        let mut model = match (self.sigma, self.curve) {
            (Some(_), Some(_)) => return Err(wrong("sigma and [curve] cannot both be given")),
            (None, None) => return Err(wrong("sigma or [curve] is missing")),
            (None, Some(curve)) => Model::curve(curve),
            (Some(Levels::One(sigma)), None) => Model::white(sigma)?,
            (Some(Levels::Channels(levels)), None) => Model::channels(levels)?,
        };
        if let Some(rows) = self.covariance {
            model = model.with_covariance(Covariance::new(rows)?);
        }
        if let Some(d) = self.developed {
            let numbers = d.luma.iter().chain(d.chroma.iter().flatten()).chain([&d.confidence]);
            if let Some(v) = { numbers }.find(|v| !(v.is_finite() && **v >= 0.0)) {
                return Err(Error::parameter("developed", v, "levels are numbers of 0 or more"));
            }
            if !(1.0..=64.0).contains(&d.grain) {
                return Err(Error::parameter("developed.grain", d.grain, "must be 1 to 64 pixels"));
            }
            model.camera = Some(CameraNoise {
                sigma: model.sigma(),
                confidence: d.confidence,
                luma: d.luma,
                chroma: d.chroma,
                grain: d.grain,
                curve: d.by_brightness,
            });
        }
        Ok(model)
    }
}

fn wrong(reason: impl Into<String>) -> Error {
    Error::parameter("noise model", "file", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_as_they_were() {
        let camera = CameraNoise {
            sigma: 16.5,
            confidence: 1.0,
            luma: [12.0, 10.8, 8.0, 4.0, 1.0],
            chroma: Some([9.0, 8.0, 4.0, 1.0, 0.5]),
            grain: 2.8,
            curve: vec![(20.0, 8.0), (120.0, 11.0)],
        };
        let covariance = Covariance::new([[4.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 4.0]]).unwrap();
        let models = [
            Model::white(7.25).unwrap(),
            Model::channels([10.0, 0.0, 3.5]).unwrap(),
            Model::camera(camera).unwrap(),
            Model::white(2.0).unwrap().with_covariance(covariance),
            Model::curve(Curve::poisson_gauss(0.5, 2.0).unwrap()),
            Model::curve(Curve::from_points(&[(0.0, 2.0), (100.0, 5.0), (255.0, 4.0)]).unwrap()),
        ];
        for model in models {
            assert_eq!(Model::from_toml(&model.to_toml()).unwrap(), model, "{}", model.to_toml());
        }
        let origin = Origin { camera: Some("Canon EOS 5D".into()), iso: Some(3200), picture: None };
        let text = Model::white(3.0).unwrap().to_toml_from(&origin);
        assert_eq!(Model::read(&text).unwrap().1, origin);
    }

    #[test]
    fn wrong_files_are_refused_with_the_reason() {
        for (text, reason) in [
            ("", "sigma or [curve] is missing"),
            ("sigma = -3", "must be a positive number"),
            ("sigma = nan", "must be a positive number"),
            ("sigma = [1, 2]", "noise model"),
            ("sigma = [1, -2, 3]", "0 or more"),
            ("sigma = [0, 0, 0]", "at least one"),
            ("sigma = 3\nsgima = 4", "unknown field"),
            ("sigma = 3\ncovariance = [[1, 0, 0], [0, 1, 0]]", "noise model"),
            ("sigma = 3\n[curve]\nkind = \"poisson-gauss\"\ngain = 1\nfloor = 0", "cannot both"),
            ("[curve]\nkind = \"points\"\npoints = [[0, 1], [10, -2]]", "deviation of point 2 = -2"),
            ("[developed]\nconfidence = 1\ngrain = 0.2\nluma = [1, 1, 1, 1, 1]", "missing"),
            ("sigma = 3\n[developed]\nconfidence = 1\ngrain = 0.2\nluma = [1, 1, 1, 1, 1]", "1 to 64"),
            ("sigma = 3\n[developed]\nconfidence = 1\ngrain = 2\nluma = [1, 1, 1, 1]", "noise model"),
        ] {
            let e = Model::from_toml(text).unwrap_err().to_string();
            assert!(e.contains(reason), "{text}: {e}");
        }
    }
}
