//! Settings are flags of the program: one mapping, which is also what is copied as a command line.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use quell::method::{Kind as Values, ParameterInfo};
use quell::{Denoiser, DenoiserBuilder, Method};
use serde::{Deserialize, Serialize};

use crate::Problem;

/// What is set in the window. What is not said is as the method and its profile have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The method.
    pub method: Option<String>,
    /// Its profile.
    pub profile: Option<String>,
    /// Where it is computed.
    pub device: Option<String>,
    /// What is known of the noise.
    pub noise: Noise,
    /// Factor on the noise.
    pub strength: Option<f64>,
    /// Factor on that of luma.
    pub luma: Option<f64>,
    /// Factor on that of colour.
    pub chroma: Option<f64>,
    /// Share of the detail that is given back.
    pub detail: Option<f64>,
    /// Share of the noise that stays.
    pub grain: Option<f64>,
    /// Single parameters by name.
    pub params: BTreeMap<String, String>,
}

/// What is known of the noise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Noise {
    /// It is estimated.
    #[default]
    Auto,
    /// By its deviation.
    Sigma {
        /// On the 0..255 scale.
        sigma: f64,
    },
    /// It is measured in a flat part.
    Region {
        /// Column, row, width, height.
        region: [usize; 4],
    },
    /// As a file has it.
    Profile {
        /// Below the folder of exports.
        path: String,
    },
}

impl Settings {
    /// The method with its profile.
    pub fn method(&self) -> Result<Method, Problem> {
        Ok(Method::named(
            self.method.as_deref().unwrap_or(Method::default().name()),
            self.profile.as_deref(),
        )?)
    }

    /// The flags, without those that say what is so anyway: equal settings have equal flags.
    pub fn flags(&self) -> Result<Vec<String>, Problem> {
        let method = self.method()?;
        let mut flags = Vec::new();
        let mut say = |name: &str, value: String| flags.extend([format!("--{name}"), value]);
        if method.name() != Method::default().name() {
            say("method", method.name().to_owned());
        }
        if Method::named(method.name(), None)? != method {
            say("profile", method.profile().to_owned());
        }
        if let Some(device) = self.device.as_deref().filter(|device| *device != "auto") {
            say("device", device.to_owned());
        }
        match &self.noise {
            Noise::Auto => {}
            Noise::Sigma { sigma } => say("sigma", sigma.to_string()),
            Noise::Region { region } => say("noise-from", region.map(|n| n.to_string()).join(",")),
            Noise::Profile { path } => say("noise-profile", path.clone()),
        }
        let factors = [
            ("strength", self.strength, 1.0),
            ("luma", self.luma, 1.0),
            ("chroma", self.chroma, 1.0),
            ("detail", self.detail, 0.0),
            ("grain", self.grain, 0.0),
        ];
        for (name, value, neutral) in factors {
            if let Some(value) = value.filter(|value| *value != neutral) {
                say(name, value.to_string());
            }
        }
        let known = method.parameters(25.0);
        for (name, value) in &self.params {
            if !known.iter().any(|p| p.name == name) {
                return Err(Problem::sense(format!("method {} has no parameter {name}", method.name())));
            }
            flags.push(format!("--{}={value}", name.replace('.', "-")));
        }
        Ok(flags)
    }

    /// What looking at a picture depends on: the rest only changes what is done with the noise.
    pub(crate) fn looks_for(&self) -> Result<String, Problem> {
        let nlm = self.method()?.name() == "nlm" && self.noise != Noise::Auto;
        let of_colors = if nlm { format!("nlm {:?} {:?}", self.luma, self.chroma) } else { String::new() };
        Ok(format!("{:?} {of_colors}", self.noise))
    }

    /// As a call from Python; `white` is that of the picture, in whose units sigma is there.
    pub fn python(&self, white: f32, channels: usize) -> Result<String, Problem> {
        let method = self.method()?;
        let mut call = format!("quell.{}(noisy", method.name());
        if let Noise::Sigma { sigma } = &self.noise {
            call += &format!(", sigma={}", (sigma * f64::from(white) / 255.0) as f32);
        }
        if Method::named(method.name(), None)? != method {
            call += &format!(", profile=\"{}\"", method.profile());
        }
        if channels == 3 {
            call += ", channel_axis=-1";
        }
        let numbers = [
            ("strength", self.strength),
            ("luma", self.luma),
            ("chroma", self.chroma),
            ("detail", self.detail),
            ("grain", self.grain),
        ];
        for (name, value) in numbers {
            call += &value.map_or(String::new(), |value| format!(", {name}={value}"));
        }
        let known = method.parameters(25.0);
        for (name, value) in &self.params {
            let value = match known.iter().find(|p| p.name == name).map(|p| p.kind) {
                Some(Values::Choice(_)) => format!("{value:?}"),
                Some(Values::Switch) if value == "true" => "True".to_owned(),
                Some(Values::Switch) => "False".to_owned(),
                _ => value.clone(),
            };
            let name = if name == "lambda" { "lambda_".to_owned() } else { name.replace('.', "_") };
            call += &format!(", {name}={value}");
        }
        let noise = match &self.noise {
            Noise::Region { region: [x, y, w, h] } => {
                format!("# the noise was measured in the flat part noisy[{y}:{}, {x}:{}]\n", y + h, x + w)
            }
            Noise::Profile { path } => format!("# with the noise of {path}\n"),
            _ => String::new(),
        };
        Ok(format!("{noise}clean = {call})"))
    }

    /// As a parameter file: what was set over the profile, and in a remark the rest.
    pub fn toml(&self) -> Result<String, Problem> {
        let method = self.method()?;
        let known = method.parameters(25.0);
        let mut sections: BTreeMap<&str, String> = BTreeMap::new();
        for (name, value) in &self.params {
            let kind = known.iter().find(|p| p.name == name).map(|p| p.kind);
            let value =
                if matches!(kind, Some(Values::Choice(_))) { format!("{value:?}") } else { value.clone() };
            let (section, name) = name.split_once('.').unwrap_or(("", name));
            *sections.entry(section).or_default() += &format!("{name} = {value}\n");
        }
        let mut text =
            format!("# method {}, profile {}: --params reads this\n", method.name(), method.profile());
        text += &format!("# quell IN {}\n", command(&self.flags()?));
        for (section, lines) in sections {
            if !section.is_empty() {
                text += &format!("\n[{section}]\n");
            }
            text += &lines;
        }
        Ok(text)
    }
}

/// The smallest and largest value of a parameter, as the engine says when it refuses one that is far off.
pub(crate) fn range(method: Method, parameter: &ParameterInfo) -> Option<(f64, f64)> {
    if !matches!(parameter.kind, Values::Whole | Values::Number) {
        return None;
    }
    let refused = |value: &str| match DenoiserBuilder::new(method).set(parameter.name, value).check() {
        Err(quell::Error::Parameter { name, reason, .. }) if name == parameter.name => Some(reason),
        _ => None,
    };
    ["1000000000", "-1"].into_iter().find_map(|value| {
        let reason = refused(value)?;
        if let Some(most) = reason.strip_prefix("must be odd and at most ") {
            return Some((1.0, most.parse().ok()?));
        }
        let (_, limits) = reason.split_once("from ")?;
        let (low, high) = limits.split_once(" to ")?;
        // A limit that is another parameter has its value behind it, in brackets.
        let mut words = high.split([' ', ',', '(', ')']).filter_map(|word| word.parse().ok());
        Some((low.parse().ok()?, words.next()?))
    })
}

/// Words as a shell takes them.
pub(crate) fn command(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:%+@".contains(c);
    let quoted = |word: &String| match word {
        word if !word.is_empty() && word.chars().all(plain) => word.clone(),
        word => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Settings that were checked.
pub(crate) struct Setup {
    pub(crate) key: Arc<str>,
    pub(crate) settings: Settings,
    pub(crate) flags: Vec<String>,
    pub(crate) denoiser: Denoiser,
}

/// Settings that are kept; the page sends them again when it comes back to them.
const MOST: usize = 1024;

/// Settings by their keys, and which of them are looked at.
#[derive(Default)]
pub(crate) struct Setups {
    known: Mutex<HashMap<Arc<str>, Arc<Setup>>>,
    /// Of every candidate.
    current: Mutex<HashMap<String, Arc<str>>>,
}

/// The key of flags.
pub(crate) fn key(flags: &[String]) -> Arc<str> {
    let mut hasher = DefaultHasher::new();
    flags.hash(&mut hasher);
    format!("{:016x}", hasher.finish()).into()
}

impl Setups {
    /// Settings that were checked before.
    pub(crate) fn find(&self, key: &str) -> Result<Arc<Setup>, Problem> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).cloned().ok_or_else(|| Problem::missing(format!("there are no settings {key}")))
    }

    /// Keeps settings.
    pub(crate) fn keep(&self, setup: Setup) -> Arc<Setup> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|key, _| self.is_current(key));
        }
        known.entry(setup.key.clone()).or_insert_with(|| Arc::new(setup)).clone()
    }

    /// A candidate has these settings now.
    pub(crate) fn choose(&self, candidate: &str, key: Arc<str>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.insert(candidate.to_owned(), key);
    }

    /// Whether some candidate has these settings.
    pub(crate) fn is_current(&self, key: &str) -> bool {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).values().any(|k| **k == *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn settings_are_flags_and_what_is_so_anyway_is_not_said() {
        assert!(settings("{}").flags().unwrap().is_empty());
        let same = r#"{"method": "bm3d", "profile": "normal", "device": "auto", "strength": 1, "noise": {"kind": "auto"},
            "grain": 0, "luma": null}"#;
        assert_eq!(settings(same).flags().unwrap(), settings("{}").flags().unwrap());
        let all = r#"{"method": "nlm", "profile": "fast", "device": "cpu", "noise": {"kind": "sigma", "sigma": 12.5},
            "strength": 0.8, "chroma": 1.5, "params": {"search": "7"}}"#;
        let flags = settings(all).flags().unwrap();
        assert_eq!(
            command(&flags),
            "--method nlm --profile fast --device cpu --sigma 12.5 --strength 0.8 --chroma 1.5 --search=7"
        );
        assert_eq!(key(&flags), key(&flags.clone()));
        let region = r#"{"noise": {"kind": "region", "region": [1, 2, 30, 40]}}"#;
        assert_eq!(settings(region).flags().unwrap(), ["--noise-from", "1,2,30,40"]);
    }

    #[test]
    fn a_parameter_is_no_way_to_another_flag() {
        for bad in [r#"{"params": {"output": "/etc/x"}}"#, r#"{"params": {"hard.step --o": "1"}}"#] {
            assert!(settings(bad).flags().is_err());
        }
        let odd = settings(r#"{"params": {"hard.step": "4 -o x"}}"#);
        assert_eq!(odd.flags().unwrap(), ["--hard-step=4 -o x"], "one word, which the program refuses");
        assert!(serde_json::from_str::<Settings>(r#"{"output": "x"}"#).is_err());
    }

    #[test]
    fn settings_are_copied_as_shell_python_and_toml() {
        let some = settings(
            r#"{"noise": {"kind": "sigma", "sigma": 25}, "strength": 0.5, "params": {"hard.step": "4", "hard.stack": "haar", "lambda": "3"}}"#,
        );
        assert_eq!(
            some.python(1.0, 3).unwrap(),
            "clean = quell.bm3d(noisy, sigma=0.09803922, channel_axis=-1, strength=0.5, hard_stack=\"haar\", hard_step=4, lambda_=3)"
        );
        let toml = some.toml().unwrap();
        assert!(toml.contains("\nlambda = 3\n\n[hard]\nstack = \"haar\"\nstep = 4\n"), "{toml}");
        assert_eq!(command(&["it's".to_owned(), "a b".to_owned()]), r"'it'\''s' 'a b'");
    }
}
