//! The experiments, as data.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{Error, Result};

/// All experiments.
pub struct Catalogue {
    all: Vec<Experiment>,
}

/// One experiment: what varies, what is measured, what it is drawn as.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: String,
    /// Whose it is: a key of the sources in `published.toml`.
    pub source: String,
    /// What it asks.
    pub question: String,
    pub(crate) on: On,
    #[serde(default = "plain")]
    pub(crate) noise: String,
    #[serde(default)]
    pub(crate) sizes: Vec<String>,
    /// Further ones, left out when time is short.
    #[serde(default)]
    pub(crate) full_sizes: Vec<String>,
    #[serde(default)]
    pub(crate) sigmas: Vec<f32>,
    /// Sizes with a deviation each, in their place.
    #[serde(default)]
    pub(crate) tests: Vec<Test>,
    #[serde(default)]
    pub(crate) variants: Vec<Variant>,
    #[serde(default)]
    pub(crate) vary: Option<Vary>,
    #[serde(default)]
    pub(crate) devices: Devices,
    #[serde(default)]
    pub(crate) threads: Vec<usize>,
    #[serde(default)]
    pub(crate) tiles: Vec<usize>,
    #[serde(default)]
    pub(crate) levels: Vec<String>,
    /// Frames before each one of a clip.
    #[serde(default)]
    pub(crate) past: Vec<usize>,
    /// As many after it.
    #[serde(default)]
    pub(crate) future: bool,
    #[serde(default)]
    pub(crate) memory: bool,
    #[serde(default)]
    pub(crate) stages: bool,
    #[serde(default)]
    pub(crate) plots: Vec<PlotSpec>,
    /// Parts of pictures are shown.
    #[serde(default)]
    pub(crate) crops: bool,
    pub(crate) finding: Finding,
    #[serde(default)]
    pub(crate) published: Option<String>,
    #[serde(default)]
    pub(crate) remark: Option<String>,
}

fn plain() -> String {
    "plain".into()
}

/// What is filtered.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum On {
    Pictures,
    Colours,
    Drawn,
    Clip,
    Pairs,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Devices {
    #[default]
    Cpu,
    Each,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Test {
    pub(crate) size: String,
    pub(crate) sigma: f32,
    #[serde(default)]
    pub(crate) full: bool,
}

/// A method with its settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) profile: Option<String>,
    #[serde(default)]
    pub(crate) set: BTreeMap<String, toml::Value>,
    /// What is known of the spectrum of the noise: `known`, `found`, or nothing.
    #[serde(default)]
    pub(crate) spectrum: Option<String>,
    #[serde(default)]
    pub(crate) full: bool,
    /// What was varied, as a number.
    #[serde(skip)]
    pub(crate) value: Option<f64>,
}

/// A parameter, or several at once, over some values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vary {
    pub(crate) label: String,
    pub(crate) parameters: Vec<String>,
    pub(crate) values: Vec<f64>,
    pub(crate) method: String,
    pub(crate) profile: String,
    #[serde(default)]
    pub(crate) set: BTreeMap<String, toml::Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlotSpec {
    pub(crate) x: String,
    pub(crate) y: String,
    /// Of this deviation alone.
    #[serde(default)]
    pub(crate) sigma: Option<f32>,
    /// With the line of those that nothing beats in both.
    #[serde(default)]
    pub(crate) front: bool,
}

/// How the sentence above a section is made.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Finding {
    Gain { of: String, over: String },
    Share { of: String, over: String },
    Slope { of: String },
    Best { within: f64 },
    Enough { within: f64 },
    Spread,
    Range,
    Speed,
    Tiles,
    Levels,
    Threads,
    Past,
    Displacement,
    Estimate,
    Real,
}

impl Variant {
    /// Parameters as text, as the engine takes them.
    pub(crate) fn sets(&self) -> impl Iterator<Item = (&str, String)> {
        self.set.iter().map(|(name, value)| match value {
            toml::Value::String(text) => (name.as_str(), text.clone()),
            other => (name.as_str(), other.to_string()),
        })
    }

    /// The flags of the program that ask for it.
    pub(crate) fn flags(&self) -> String {
        let profile = self.profile.as_ref().map(|p| format!(" --profile {p}")).unwrap_or_default();
        let sets: String = self.sets().map(|(n, v)| format!(" --{}={v}", n.replace('.', "-"))).collect();
        format!("--method {}{profile}{sets}", self.method)
    }
}

impl Experiment {
    /// The variants, those of `vary` included.
    pub(crate) fn variants(&self, quick: bool) -> Vec<Variant> {
        let varied = self.vary.iter().flat_map(|vary| {
            vary.values.iter().map(|value| {
                let mut set = vary.set.clone();
                let text = toml::Value::String(value.to_string());
                set.extend(vary.parameters.iter().map(|p| (p.clone(), text.clone())));
                Variant {
                    name: format!("{} {value}", vary.label),
                    method: vary.method.clone(),
                    profile: Some(vary.profile.clone()),
                    set,
                    spectrum: None,
                    full: false,
                    value: Some(*value),
                }
            })
        });
        self.variants.iter().filter(|v| !(quick && v.full)).cloned().chain(varied).collect()
    }
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::new()
    }
}

impl Catalogue {
    /// What comes with quell.
    #[allow(clippy::missing_panics_doc, reason = "the data is part of the program, and a test reads it")]
    pub fn new() -> Self {
        #[derive(Deserialize)]
        struct File {
            experiment: Vec<Experiment>,
        }
        let file: File = toml::from_str(include_str!("../data/experiments.toml")).expect("our own data");
        Self { all: file.experiment }
    }

    /// Every experiment.
    pub fn all(&self) -> &[Experiment] {
        &self.all
    }

    /// One of them by its name.
    pub fn find(&self, name: &str) -> Result<&Experiment> {
        self.all.iter().find(|e| e.name == name).ok_or_else(|| {
            let begin = name.split('-').next().unwrap_or_default();
            let near: Vec<&str> =
                self.all.iter().map(|e| &*e.name).filter(|n| n.starts_with(begin)).collect();
            let near = match near.as_slice() {
                [] => "`quell lab list` names them".into(),
                near => format!("did you mean {}?", near.join(", ")),
            };
            Error::Unknown { name: name.into(), near }
        })
    }

    /// Those of these names, each once, in the order of the catalogue; `all` is every one, a paper all of its own.
    pub fn select(&self, names: &[String]) -> Result<Vec<&Experiment>> {
        let of_paper = |name: &str| self.all.iter().any(|e| e.source == name);
        names.iter().filter(|n| *n != "all" && !of_paper(n)).try_for_each(|n| self.find(n).map(|_| ()))?;
        let wanted = |e: &&Experiment| names.iter().any(|n| n == "all" || *n == e.name || *n == e.source);
        Ok(self.all.iter().filter(wanted).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::Published;

    #[test]
    fn every_experiment_can_be_asked_of_the_engine() {
        let (catalogue, published) = (Catalogue::new(), Published::new());
        let mut names = std::collections::HashSet::new();
        for e in catalogue.all() {
            assert!(names.insert(&e.name), "{} twice", e.name);
            assert!(published.source(&e.source).is_some(), "{}", e.name);
            assert!(!e.sigmas.is_empty() || !e.tests.is_empty(), "{}", e.name);
            let variants = e.variants(false);
            assert!(!variants.is_empty() && !e.variants(true).is_empty(), "{}", e.name);
            for v in &variants {
                if v.method == "estimate" {
                    v.name.parse::<quell::noise::Estimator>().unwrap();
                    continue;
                }
                let method = quell::Method::named(&v.method, v.profile.as_deref()).unwrap();
                let known = method.parameters(25.0);
                let mut builder = quell::DenoiserBuilder::new(method).sigma(25.0);
                for (name, value) in v.sets() {
                    assert!(known.iter().any(|p| p.name == name), "{}: {name}", e.name);
                    builder = builder.set(name, value);
                }
                if let Err(error) = builder.check() {
                    panic!("{}, {}: {error}", e.name, v.name);
                }
            }
            for row in e.published.iter().flat_map(|key| published.rows(key)) {
                let known = variants.iter().any(|v| v.name == row.variant);
                // A table of PSNR may serve several experiments, each with some of its variants.
                assert!(known || e.published.as_deref() == Some("grey"), "{}: {}", e.name, row.variant);
            }
        }
    }

    #[test]
    fn names_papers_and_all_select() {
        let catalogue = Catalogue::new();
        let select =
            |names: &[&str]| catalogue.select(&names.iter().map(|n| (*n).into()).collect::<Vec<_>>());
        assert_eq!(select(&["all"]).unwrap().len(), catalogue.all().len());
        assert!(select(&["cuenat"]).unwrap().len() >= 6, "its six empty sections");
        assert_eq!(select(&["pareto", "pareto"]).unwrap().len(), 1);
        let e = select(&["cuenat-windows"]).err().unwrap().to_string();
        assert!(e.contains("cuenat-window"), "{e}");
    }
}
