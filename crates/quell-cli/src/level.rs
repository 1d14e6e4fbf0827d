//! The noise of a picture in words.

use crate::report::{count, short};

/// The noise of a page on the 0..255 scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Level {
    pub(crate) sigma: f32,
    pub(crate) kind: Kind,
}

/// Where it is known from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// By the user.
    Given,
    /// Estimated, as white noise is.
    White,
    /// Estimated: noise of a developed photograph, with grain of so many pixels.
    Camera {
        /// 1 to 4.
        grain: f32,
    },
}

impl Kind {
    /// The name that `--json` and tables have.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Given => None,
            Self::White => Some("white"),
            Self::Camera { .. } => Some("camera"),
        }
    }

    /// Size of the grain in pixels.
    pub(crate) fn grain(self) -> Option<f32> {
        match self {
            Self::Camera { grain } => Some(grain),
            _ => None,
        }
    }
}

/// `sigma 24.8 (estimated)`, over several pages `sigma 24.1 to 25.3 (estimated)`; without noise, what was made.
pub(crate) fn describe(pages: &[Option<Level>], made: &str) -> String {
    let known: Vec<Level> = pages.iter().flatten().copied().collect();
    if known.is_empty() {
        return format!("no noise found{made}");
    }
    let (low, high) = range(known.iter().map(|level| level.sigma));
    let (low, high) = (short(low), short(high));
    let sigma = if low == high { low } else { format!("{low} to {high}") };
    let clean = pages.len() - known.len();
    let rest =
        if clean > 0 { format!(", {} without noise unchanged", count(clean, "page")) } else { String::new() };
    format!("sigma {sigma}{}{rest}", how(&known))
}

/// Behind sigma: how it was found, and what it is.
fn how(known: &[Level]) -> String {
    let grains: Vec<f32> = known.iter().filter_map(|level| level.kind.grain()).collect();
    if grains.len() == known.len() {
        let (low, high) = range(grains.into_iter().map(f32::round));
        let grain =
            if low == high { count(low as usize, "pixel") } else { format!("{low} to {high} pixels") };
        return format!(" (camera noise, grain of {grain})");
    }
    if known.iter().all(|level| level.kind == Kind::Given) { String::new() } else { " (estimated)".into() }
}

fn range(values: impl Iterator<Item = f32>) -> (f32, f32) {
    values.fold((f32::MAX, 0.0), |(low, high), v| (low.min(v), high.max(v)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(sigma: f32, kind: Kind) -> Option<Level> {
        Some(Level { sigma, kind })
    }

    #[test]
    fn noise_is_said_in_words() {
        let camera = |grain| Kind::Camera { grain };
        for (pages, words) in [
            (vec![page(24.84, Kind::White)], "sigma 24.8 (estimated)"),
            (vec![page(24.84, Kind::Given)], "sigma 24.8"),
            (vec![page(16.8, camera(2.8))], "sigma 16.8 (camera noise, grain of 3 pixels)"),
            (vec![page(16.8, camera(1.2))], "sigma 16.8 (camera noise, grain of 1 pixel)"),
            (
                vec![page(12.0, camera(1.8)), page(16.8, camera(2.8)), None],
                "sigma 12 to 16.8 (camera noise, grain of 2 to 3 pixels), 1 page without noise unchanged",
            ),
            (vec![page(12.0, camera(1.8)), page(16.8, Kind::White)], "sigma 12 to 16.8 (estimated)"),
            (vec![None], "no noise found, copied"),
        ] {
            assert_eq!(describe(&pages, ", copied"), words);
        }
    }
}
