//! Any parameters of any method: a grid of them, and what is best in a given time.

use quell::Method;

use crate::catalogue::{Catalogue, Experiment, On, Variant};
use crate::report::points;
use crate::run::Measured;
use crate::{Error, Result};

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Dotted name of the parameter.
    pub name: String,
    /// Values as text.
    pub values: Vec<String>,
}

impl std::str::FromStr for Axis {
    type Err = Error;

    /// `hard.step=1..8`, `group=8,16,32`, `lambda=2.5..3.5:0.25`.
    ///
    /// ```
    /// let axis: quell_lab::Axis = "lambda=2.5..3:0.25".parse()?;
    /// assert_eq!(axis.values, ["2.5", "2.75", "3"]);
    /// # Ok::<(), quell_lab::Error>(())
    /// ```
    fn from_str(s: &str) -> Result<Self> {
        let bad = |why: &str| Error::Axis { what: s.into(), why: why.into() };
        let (name, values) =
            s.split_once('=').ok_or_else(|| bad("is to be NAME=VALUES, as hard.step=1..8"))?;
        let values = match values.split_once("..") {
            None => values.split(',').map(|v| v.trim().to_owned()).collect::<Vec<_>>(),
            Some((low, rest)) => {
                let (high, step) = rest.split_once(':').unwrap_or((rest, "1"));
                let number = |t: &str| {
                    t.trim().parse::<f64>().map_err(|_| bad("a range is LOW..HIGH or LOW..HIGH:STEP"))
                };
                let (low, high, step) = (number(low)?, number(high)?, number(step)?);
                if !(step > 0.0 && high >= low) || (high - low) / step > 1000.0 {
                    return Err(bad("a range rises from LOW to HIGH in at most 1000 steps"));
                }
                let count = ((high - low) / step + 1e-9).floor() as usize;
                // Rounded: 0.1 + 0.2 is not to be seen.
                (0..=count)
                    .map(|i| ((low + step * i as f64) * 1e9).round() / 1e9)
                    .map(|v| v.to_string())
                    .collect()
            }
        };
        if name.is_empty() || values.iter().any(String::is_empty) {
            return Err(bad("is to be NAME=VALUES, as hard.step=1..8"));
        }
        Ok(Self { name: name.into(), values })
    }
}

/// A grid of settings.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Name of the method.
    pub method: String,
    /// And of its profile.
    pub profile: Option<String>,
    /// What is varied.
    pub axes: Vec<Axis>,
    /// So many points of the grid, by chance; all of them if there are fewer, or if nothing is said.
    pub random: Option<usize>,
    /// Noise on the 0..255 scale.
    pub sigma: f32,
    /// On colours.
    pub colors: bool,
}

/// A point of the grid, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Swept {
    /// Its settings.
    pub settings: Vec<(String, String)>,
    /// Mean PSNR over the pictures.
    pub psnr: f64,
    /// Milliseconds a picture.
    pub ms: f64,
}

impl Sweep {
    /// The grid as an experiment, so that everything that is done with those can be done with it. Settings that the method
    /// refuses are named.
    pub fn experiment(&self) -> Result<Experiment> {
        let method = Method::named(&self.method, self.profile.as_deref())?;
        let known = method.parameters(self.sigma);
        // Several passes may have a parameter of that name: both are meant.
        let expand = |name: &str| -> Vec<String> {
            if known.iter().any(|p| p.name == name) {
                return vec![name.into()];
            }
            let suffix = format!(".{name}");
            known.iter().filter(|p| p.name.ends_with(&suffix)).map(|p| p.name.to_owned()).collect()
        };
        let mut grid: Vec<Vec<(String, String)>> = vec![Vec::new()];
        for axis in &self.axes {
            let names = expand(&axis.name);
            if names.is_empty() {
                let why = format!("method {} has no such parameter", self.method);
                return Err(Error::Axis { what: axis.name.clone(), why });
            }
            let mut next = Vec::new();
            for settings in &grid {
                for value in &axis.values {
                    let mut more = settings.clone();
                    more.extend(names.iter().map(|n| (n.clone(), value.clone())));
                    next.push(more);
                }
            }
            if next.len() > 100_000 {
                return Err(Error::Axis {
                    what: axis.name.clone(),
                    why: "the grid has more than 100000 points".into(),
                });
            }
            grid = next;
        }
        if let Some(count) = self.random {
            grid = choose(grid, count);
        }
        for settings in &grid {
            let mut builder = quell::DenoiserBuilder::new(method).sigma(self.sigma);
            for (name, value) in settings {
                builder = builder.set(name, value);
            }
            builder.check()?;
        }
        let mut e = Catalogue::new().find("pareto")?.clone();
        e.name = "sweep".into();
        e.question =
            format!("Which settings of {} are worth their time at sigma {}?", self.method, self.sigma);
        e.on = if self.colors { On::Colours } else { On::Pictures };
        (e.sigmas, e.crops) = (vec![self.sigma], false);
        e.plots.truncate(1);
        e.plots[0].sigma = None;
        let variant = |settings: Vec<(String, String)>| Variant {
            name: settings.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(" "),
            method: self.method.clone(),
            profile: self.profile.clone(),
            set: settings.into_iter().map(|(n, v)| (n, toml::Value::String(v))).collect(),
            spectrum: None,
            full: false,
            value: None,
        };
        e.variants = grid.into_iter().map(variant).collect();
        Ok(e)
    }

    /// Every point, the best last.
    pub fn results(measured: &Measured) -> Vec<Swept> {
        let of = |p: &crate::report::Point| {
            let settings = p.variant.split(' ').filter_map(|s| s.split_once('='));
            Some(Swept {
                settings: settings.map(|(n, v)| (n.to_owned(), v.to_owned())).collect(),
                psnr: p.psnr?,
                ms: p.ms?,
            })
        };
        let mut all: Vec<Swept> = points(measured.iter().map(|(_, r)| r)).iter().filter_map(of).collect();
        all.sort_by(|a, b| a.psnr.total_cmp(&b.psnr));
        all
    }

    /// The best in so many milliseconds, as a parameter file for `--params`.
    pub fn best(&self, measured: &Measured, budget: Option<f64>) -> Option<(Swept, String)> {
        let fits = |s: &Swept| budget.is_none_or(|ms| s.ms <= ms);
        let best = Self::results(measured).into_iter().rfind(fits)?;
        let mut tables: std::collections::BTreeMap<&str, Vec<(&str, &str)>> = Default::default();
        for (name, value) in &best.settings {
            let (table, key) = name.split_once('.').unwrap_or(("", name));
            tables.entry(table).or_default().push((key, value));
        }
        let quoted = |v: &str| match v.parse::<f64>().is_ok() || v == "true" || v == "false" {
            true => v.to_owned(),
            false => format!("{v:?}"),
        };
        let mut text = format!(
            "# {} {}: {:.2} dB in {:.1} ms a picture, sigma {}\n",
            self.method,
            self.profile.as_deref().unwrap_or_default(),
            best.psnr,
            best.ms,
            self.sigma
        );
        for (table, keys) in tables {
            if !table.is_empty() {
                text += &format!("\n[{table}]\n");
            }
            keys.iter().for_each(|(k, v)| text += &format!("{k} = {}\n", quoted(v)));
        }
        Some((best, text))
    }
}

/// Some of the points, the same ones every time.
fn choose<T>(mut all: Vec<T>, count: usize) -> Vec<T> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for i in 0..all.len().min(count) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let j = i + (state >> 33) as usize % (all.len() - i);
        all.swap(i, j);
    }
    all.truncate(count);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Row;

    fn sweep(axes: &[&str]) -> Sweep {
        let axes = axes.iter().map(|a| a.parse().unwrap()).collect();
        Sweep {
            method: "bm3d".into(),
            profile: Some("fast".into()),
            axes,
            random: None,
            sigma: 25.0,
            colors: false,
        }
    }

    #[test]
    fn a_grid_has_every_combination_and_short_names_mean_both_passes() {
        let e = sweep(&["hard.step=3..5", "group=8,16"]).experiment().unwrap();
        assert_eq!(e.variants.len(), 6);
        assert_eq!(e.variants[1].name, "hard.step=3 hard.group=16 wiener.group=16");
        let some = Sweep { random: Some(4), ..sweep(&["hard.step=3..5", "group=8,16"]) };
        assert_eq!(some.experiment().unwrap().variants.len(), 4);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let e = |axes: &[&str]| sweep(axes).experiment().err().unwrap().to_string();
        assert!(e(&["grup=8"]).contains("grup"), "{}", e(&["grup=8"]));
        assert!(e(&["hard.group=7"]).contains("hard.group"), "{}", e(&["hard.group=7"]));
        for bad in ["step", "step=", "step=5..3", "step=a..b", "=3", "x=1..2:0"] {
            assert!(bad.parse::<Axis>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_best_is_the_best_that_fits_into_the_time() {
        let sweep = sweep(&["hard.step=3,4"]);
        let e = sweep.experiment().unwrap();
        let material = crate::Material::new(&[], true).unwrap();
        let cases = crate::case::cases(&e, &material, &[quell::Device::Cpu], true);
        let row = |variant: &str, psnr, ms| Row {
            variant: variant.into(),
            picture: "a".into(),
            psnr: Some(psnr),
            ms: Some(ms),
            ..Row::default()
        };
        let rows = [row("hard.step=3", 30.0, 80.0), row("hard.step=4", 29.5, 40.0)];
        let measured: Measured = cases.into_iter().zip(rows).collect();
        assert_eq!(sweep.best(&measured, None).unwrap().0.psnr, 30.0);
        let (fits, text) = sweep.best(&measured, Some(50.0)).unwrap();
        assert_eq!((fits.psnr, fits.settings.len()), (29.5, 1));
        assert!(text.ends_with("\n[hard]\nstep = 4\n"), "{text}");
        assert!(sweep.best(&measured, Some(1.0)).is_none());
    }
}
