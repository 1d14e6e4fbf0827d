//! Values: how they are parsed, and how they are taken out of clap's matches.

use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, StyledStr};
use clap::{Arg, ArgAction, ArgMatches};
use quell::Method;
use quell::device::{LEAST_TILE, SampleFormat};

use crate::table::Style;

/// A flag without a value.
pub(super) fn switch(name: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue)
}

/// A flag with a value. A negative number is a value, so that its own message is shown.
pub(super) fn option(name: &'static str, value: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).allow_negative_numbers(true)
}

/// Whether a switch was given.
pub(super) fn on(matches: &ArgMatches, name: &str) -> bool {
    matches.get_flag(name)
}

/// The value of an option.
pub(super) fn one<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Option<T> {
    matches.get_one::<T>(name).cloned()
}

/// All values of an argument.
pub(super) fn many<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Vec<T> {
    matches.get_many::<T>(name).unwrap_or_default().cloned().collect()
}

/// `--json`.
pub(super) fn json_switch() -> Arg {
    switch("json").help("Print one JSON object per line").help_heading("Output")
}

/// `--csv`.
pub(super) fn csv_switch() -> Arg {
    switch("csv").help("Print comma-separated values").conflicts_with("json").help_heading("Output")
}

/// What `--json` and `--csv` ask for.
pub(super) fn style(matches: &ArgMatches) -> Style {
    let given = |name| matches.try_get_one::<bool>(name).ok().flatten() == Some(&true);
    match (given("json"), given("csv")) {
        (true, _) => Style::Json,
        (_, true) => Style::Csv,
        _ => Style::Text,
    }
}

/// A finite number above zero.
pub(super) fn positive(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(v) if v.is_finite() && v > 0.0 => Ok(v),
        _ => Err("must be a positive number".to_owned()),
    }
}

/// A finite number, zero or above.
pub(super) fn not_negative(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(v) if v.is_finite() && v >= 0.0 => Ok(v),
        _ => Err("must be zero or a positive number".to_owned()),
    }
}

/// A share, from nothing to all.
pub(super) fn share(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(v) if (0.0..=1.0).contains(&v) => Ok(v),
        _ => Err("must be a number from 0 to 1".to_owned()),
    }
}

/// A number of pixels, with `k`, `M` or `G` for thousands, millions, billions.
pub(super) fn pixels(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        Some((at, 'm' | 'M')) => (&text[..at], 1e6),
        Some((at, 'g' | 'G')) => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    match digits.parse::<f64>() {
        Ok(n) if n * unit >= 1.0 && n * unit < 1e18 => Ok((n * unit) as u64),
        _ => Err("must be a number of pixels such as 500M".to_owned()),
    }
}

/// A frame rate: `25`, `30000/1001`, `23.976`.
pub(super) fn rate(text: &str) -> Result<(u32, u32), String> {
    let whole = |s: &str| s.parse::<u32>().ok().filter(|n| *n > 0);
    let found = match text.split_once(['/', ':']) {
        Some((n, d)) => whole(n).zip(whole(d)),
        // Rates with a point are those of television, or thousandths.
        None if text.contains('.') => positive(text).ok().filter(|r| (0.001..=1e6).contains(r)).map(|r| {
            let tv = (r * 1.001).round();
            let is_tv = (tv / 1.001 - r).abs() < 2e-3 && r.fract() != 0.0;
            if is_tv { ((tv * 1000.0) as u32, 1001) } else { ((r * 1000.0).round() as u32, 1000) }
        }),
        None => whole(text).map(|n| (n, 1)),
    };
    found.ok_or_else(|| "must be a rate such as 25, 23.976 or 30000/1001".to_owned())
}

/// The side of a tile: 0 for the whole picture.
pub(super) fn tile(text: &str) -> Result<usize, String> {
    let side = text.parse::<u32>().map_or(None, |n| usize::try_from(n).ok());
    side.filter(|n| *n == 0 || *n >= LEAST_TILE).ok_or_else(|| {
        format!("must be 0, which is the whole picture, or at least {LEAST_TILE}: every tile needs a border as well")
    })
}

/// A size such as `512x512`.
pub(super) fn size(text: &str) -> Result<(usize, usize), String> {
    let parse = |s: &str| s.parse::<usize>().ok().filter(|n| (1..=65_536).contains(n));
    text.split_once('x')
        .and_then(|(w, h)| Some((parse(w)?, parse(h)?)))
        .ok_or_else(|| "must be WIDTHxHEIGHT, each from 1 to 65536".to_owned())
}

/// A type of samples.
pub(super) fn sample(text: &str) -> Result<SampleFormat, String> {
    let known = SampleFormat::ALL.into_iter().find(|f| f.name() == text);
    known.ok_or_else(|| "must be u8, u16 or f32".to_owned())
}

/// Anything of the library that parses from text; its own message is shown.
pub(super) fn parsed<T: FromStr<Err = quell::Error>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|e| match e {
        quell::Error::Parameter { reason, .. } => reason,
        other => other.to_string(),
    })
}

/// One of a few names with a line of help each.
pub(super) fn names<H: Into<StyledStr>>(
    of: impl IntoIterator<Item = (&'static str, H)>,
) -> PossibleValuesParser {
    PossibleValuesParser::new(of.into_iter().map(|(name, help)| PossibleValue::new(name).help(help)))
}

/// Every profile in one line, by name; those of several methods share it.
pub(super) fn profiles() -> Vec<(&'static str, String)> {
    let mut all: Vec<(&'static str, Vec<String>)> = Vec::new();
    for method in Method::all().into_iter().flat_map(Method::profiles) {
        let line = format!("{}: {}", method.name(), method.profile_help());
        match all.iter_mut().find(|(name, _)| *name == method.profile()) {
            Some((_, lines)) => lines.push(line),
            None => all.push((method.profile(), vec![line])),
        }
    }
    all.into_iter().map(|(name, lines)| (name, lines.join("; "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_listed() {
        let listed = profiles();
        let fast = &listed.iter().find(|(name, _)| *name == "fast").unwrap().1;
        assert!(fast.starts_with("bm3d: quell's fastest") && fast.contains("; nlm: "), "{fast}");
        let wiener = &listed.iter().find(|(name, _)| *name == "wiener").unwrap().1;
        assert!(wiener.starts_with("classic: "), "{wiener}");
    }

    #[test]
    fn pixel_counts_take_units() {
        assert_eq!((pixels("1500"), pixels("1.5k"), pixels("2G")), (Ok(1500), Ok(1500), Ok(2_000_000_000)));
        assert!(["0", "M", "-3", "1e30", "nan"].iter().all(|t| pixels(t).is_err()));
    }

    #[test]
    fn tiles_are_none_or_not_too_small() {
        assert_eq!((tile("0"), tile("64"), tile("4096")), (Ok(0), Ok(64), Ok(4096)));
        for bad in ["1", "63", "-1", "", "64.5", "99999999999"] {
            assert!(tile(bad).unwrap_err().contains("at least 64"), "{bad}");
        }
    }

    #[test]
    fn sizes_need_both_sides() {
        assert_eq!(size("640x480"), Ok((640, 480)));
        assert!(["640", "0x4", "x", "5x", "99999999x3"].iter().all(|t| size(t).is_err()));
    }
}
