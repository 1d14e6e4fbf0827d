//! What is said of the noise: `--sigma`, `--noise`, `--noise-model`, `--noise-profile`, `--noise-from`.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::parser::ValueSource::CommandLine;
use clap::{Arg, ArgMatches, value_parser};
use quell::noise::{Curve, Estimator, Model, Origin};

use super::engine::read_text;
use super::values::{names, not_negative, one, option, positive};
use crate::failure::{Failure, message};
use crate::report;

/// What is known of the noise before there is a picture.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    /// Nothing: it is estimated.
    Auto(Estimator),
    /// By numbers.
    Model(Model),
    /// By a file, and what that was made from.
    File(Profile),
    /// It is measured in this part of every picture: column, row, width, height.
    Region([usize; 4]),
    /// It is measured in another picture.
    Picture(PathBuf),
}

/// A model that was saved.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) path: PathBuf,
    pub(crate) model: Model,
    pub(crate) origin: Origin,
}

impl Given {
    /// The model, if it is known before there is a picture.
    pub(crate) fn model(&self) -> Option<&Model> {
        match self {
            Self::Model(model) => Some(model),
            Self::File(profile) => Some(&profile.model),
            _ => None,
        }
    }

    /// One deviation on the 0..255 scale, if that is known.
    pub(crate) fn sigma(&self) -> Option<f32> {
        self.model().map(Model::sigma)
    }

    /// How it is estimated, where it is.
    pub(crate) fn estimator(&self) -> Option<Estimator> {
        match self {
            Self::Auto(estimator) => Some(*estimator),
            _ => None,
        }
    }

    /// The flags; `sigma_default` differs between commands.
    pub(super) fn define(sigma_default: &'static str) -> Vec<Arg> {
        vec![
            option("sigma", "N|Y,C1,C2")
                .value_parser(sigma)
                .default_value(sigma_default)
                .help("Noise deviation on the 0..255 scale, or auto")
                .long_help(
                    "Noise deviation on the 0..255 scale whatever the depth of the picture; three numbers are those of \
                     luma and two channels of colour, which white noise has alike; auto estimates it from each picture",
                ),
            option("noise", "KIND")
                .value_parser(names(KINDS.map(|(name, help, _)| (name, help))))
                .default_value("auto")
                .hide_short_help(true)
                .help("Which noise is looked for when --sigma is auto"),
            option("estimator", "NAME")
                .value_parser(names(Estimator::ALL.map(|e| (e.name(), describe_estimator(e)))))
                .default_value(Estimator::default().name())
                .hide_short_help(true)
                .help("How the noise is estimated when --sigma is auto"),
            option("noise-model", "MODEL|FILE").value_parser(model()).hide_short_help(true).help(
                "What the noise is like, on the 0..255 scale: gauss:S, poisson:A (variance A times the sample), \
                 poisson-gauss:A,B (B more), or a file of quell noise --save",
            ),
            option("noise-profile", "FILE")
                .value_parser(value_parser!(PathBuf))
                .hide_short_help(true)
                .help("Noise of a camera at some ISO, as quell noise --save has written it"),
            from().hide_short_help(true),
        ]
    }

    /// What was typed.
    pub(super) fn from_matches(m: &ArgMatches) -> Result<Self, Failure> {
        let typed = |name: &str| m.value_source(name) == Some(CommandLine);
        let sigma = one::<Option<Model>>(m, "sigma").flatten();
        let known = [
            (sigma.is_some() && typed("sigma"), "--sigma"),
            (typed("noise-model"), "--noise-model"),
            (typed("noise-profile"), "--noise-profile"),
            (typed("noise-from"), "--noise-from"),
        ];
        let given: Vec<&str> = known.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag).collect();
        if let [first, second, ..] = given[..] {
            return Err(Failure::usage(format!("{second} has no effect: {first} gives the noise"))
                .hint("leave one of them out"));
        }
        let first = given.first().copied().or_else(|| sigma.as_ref().map(|_| "--sigma"));
        let how = ["estimator", "noise"].into_iter().find(|name| typed(name));
        if let (Some(first), Some(how)) = (first, how) {
            return Err(Failure::usage(format!("--{how} has no effect: {first} gives the noise"))
                .hint("leave one of them out"));
        }
        if typed("estimator") && typed("noise") {
            return Err(Failure::usage("--estimator has no effect: --noise says what is looked for")
                .hint("leave one of them out"));
        }
        if let Some(path) = one::<PathBuf>(m, "noise-profile") {
            return Ok(Self::File(Profile::read("--noise-profile", path)?));
        }
        match one::<ModelArg>(m, "noise-model") {
            Some(ModelArg::Known(model)) => return Ok(Self::Model(model)),
            Some(ModelArg::File(path)) => return Ok(Self::File(Profile::read("--noise-model", path)?)),
            None => {}
        }
        match (one::<From>(m, "noise-from"), sigma) {
            (Some(From::Region(region)), _) => Ok(Self::Region(region)),
            (Some(From::Picture(path)), _) => Ok(Self::Picture(path)),
            (None, Some(model)) => Ok(Self::Model(model)),
            (None, None) if typed("noise") => {
                let kind = one::<String>(m, "noise");
                let found = KINDS.iter().find(|(name, ..)| Some(*name) == kind.as_deref());
                Ok(Self::Auto(found.map_or_else(Estimator::default, |(_, _, estimator)| *estimator)))
            }
            (None, None) => {
                Ok(Self::Auto(one::<String>(m, "estimator").and_then(|e| e.parse().ok()).unwrap_or_default()))
            }
        }
    }
}

impl Profile {
    fn read(flag: &str, path: PathBuf) -> Result<Self, Failure> {
        let text = read_text(flag, &path)?;
        let (model, origin) = Model::read(&text).map_err(|e| {
            let e = match e {
                quell::Error::Parameter { name, reason, .. } if name == "noise model" => reason,
                other => other.to_string(),
            };
            Failure::usage(format!("{flag} {}: {}", report::name(&path), e))
                .hint("quell noise IN --save FILE writes such a file")
        })?;
        Ok(Self { path, model, origin })
    }
}

/// What `--noise` looks for.
const KINDS: [(&str, &str, Estimator); 3] = [
    ("auto", "whatever there is", Estimator::Auto),
    ("white", "white noise: raw data, float, synthetic", Estimator::Ponomarenko),
    ("poisson", "white noise that depends on brightness: counts, microscopy, raw", Estimator::Poisson),
];

/// `--noise-from`, which `quell noise` has too.
pub(super) fn from() -> Arg {
    option("noise-from", "X,Y,W,H|FILE")
        .value_parser(OsStringValueParser::new().try_map(|text| -> Result<From, String> {
            let numbers: Option<Vec<usize>> =
                text.to_str().and_then(|t| t.split(',').map(|n| n.trim().parse().ok()).collect());
            match numbers.map(<[usize; 4]>::try_from) {
                Some(Ok([_, _, 0, _] | [_, _, _, 0])) => Err("the region is empty".into()),
                Some(Ok(region)) => Ok(From::Region(region)),
                Some(Err(_)) => Err("must be X,Y,W,H: column, row, width and height of a flat part".into()),
                None => Ok(From::Picture(text.into())),
            }
        }))
        .help("Measure the noise in a flat part of each picture, or in another picture such as a grey card or a dark frame")
}

/// Where noise is measured.
#[derive(Clone, Debug)]
pub(crate) enum From {
    Region([usize; 4]),
    Picture(PathBuf),
}

#[derive(Clone, Debug)]
enum ModelArg {
    Known(Model),
    File(PathBuf),
}

/// Names of files need not be text.
fn model() -> impl TypedValueParser<Value = ModelArg> {
    OsStringValueParser::new().try_map(|text| -> Result<ModelArg, String> {
        let Some((kind, numbers)) = text.to_str().and_then(|t| t.split_once(':')) else {
            return Ok(ModelArg::File(text.into()));
        };
        let numbers: Vec<&str> = numbers.split(',').collect();
        let reason = |e: quell::Error| message(&e.into());
        let model = match (kind, &numbers[..]) {
            ("gauss", [s]) => Model::white(positive(s)?).map_err(reason)?,
            ("poisson", [a]) => Model::curve(Curve::poisson_gauss(positive(a)?, 0.0).map_err(reason)?),
            ("poisson-gauss", [a, b]) => {
                let b: f32 = b.trim().parse().map_err(|_| format!("{b} is not a number"))?;
                Model::curve(Curve::poisson_gauss(positive(a.trim())?, b).map_err(reason)?)
            }
            ("gauss" | "poisson" | "poisson-gauss", _) => {
                return Err("must be gauss:S, poisson:A or poisson-gauss:A,B".into());
            }
            _ => return Ok(ModelArg::File(text.into())),
        };
        Ok(ModelArg::Known(model))
    })
}

/// A noise deviation, or three: `None` for `auto`.
fn sigma(text: &str) -> Result<Option<Model>, String> {
    let wrong =
        || "must be auto, a positive number, or three numbers for luma and two channels of colour".to_owned();
    if text == "auto" {
        return Ok(None);
    }
    let numbers: Vec<f32> =
        text.split(',').map(|n| not_negative(n.trim())).collect::<Result<_, _>>().map_err(|_| wrong())?;
    let model = match numbers[..] {
        [one] => Model::white(one),
        [y, a, b] => Model::channels([y, a, b]),
        _ => return Err(wrong()),
    };
    model.map(Some).map_err(|_| wrong())
}

fn describe_estimator(estimator: Estimator) -> &'static str {
    match estimator {
        Estimator::Auto => "noise of a camera where it is found, else as ponomarenko",
        Estimator::Ponomarenko => {
            "high frequencies of the quietest blocks; the most accurate for white noise"
        }
        Estimator::Coarse => "the same at half the size; for noise that is no longer white (resized, JPEG)",
        Estimator::Pca => "smallest principal components of patches",
        Estimator::Mad => "median of the finest wavelet band; the fastest, takes texture for noise",
        Estimator::Poisson => "variances of quiet blocks against their brightness; for counts and raw data",
    }
}

/// Whether a file was named that a picture is measured in.
pub(super) fn region_or_file(m: &ArgMatches) -> Option<From> {
    one(m, "noise-from")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_positive_numbers_are_noise() {
        let of = |text: &str| sigma(text).map(|model| model.map(|m| m.levels()));
        assert_eq!(of("auto"), Ok(None));
        assert_eq!(of("2.5"), Ok(Some([2.5; 3])));
        assert_eq!(of("2.5, 3,0"), Ok(Some([2.5, 3.0, 0.0])));
        for bad in ["0", "-1", "nan", "inf", "1e99", "", "x", "1,2", "0,0,0", "1,2,3,4", "1,-2,3"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
