//! The noise of a picture in words.

use quell::noise::Model;

use crate::report::{count, short};

/// The noise of a page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Level {
    /// What it is like, on the 0..255 scale.
    pub(crate) model: Model,
    /// It was given by the user, not estimated.
    pub(crate) given: bool,
}

impl Level {
    /// What all channels have together.
    pub(crate) fn sigma(&self) -> f32 {
        self.model.sigma()
    }

    /// The name that `--json` and tables have; none for noise that was given.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        (!self.given).then(|| self.model.kind())
    }

    /// Size of the grain of a camera's noise in pixels.
    pub(crate) fn grain(&self) -> Option<f32> {
        self.model.developed().map(|camera| camera.grain)
    }
}

/// `sigma 24.8 (estimated)`, `camera noise: luma 10.8, chroma 8.3, grain of 3 pixels`; over several pages
/// `sigma 24.1 to 25.3 (estimated)`; without noise, what was made.
pub(crate) fn describe(pages: &[Option<Level>], made: &str) -> String {
    let known: Vec<&Level> = pages.iter().flatten().collect();
    let clean = pages.len() - known.len();
    let rest =
        if clean > 0 { format!(", {} without noise unchanged", count(clean, "page")) } else { String::new() };
    let words = match known[..] {
        [] => return format!("no noise found{made}"),
        [one] if one.given => one.model.to_string(),
        [one] if one.model.developed().is_some() => {
            let doubt = one.model.developed().filter(|camera| camera.confidence < 1.0);
            let doubt = doubt.map_or("", |_| ", filtered less: it may be texture");
            format!("{}{doubt}", one.model)
        }
        [one] => format!("{} (estimated)", one.model),
        ref several => format!("sigma {}{}", spread(several), how(several)),
    };
    format!("{words}{rest}")
}

/// `24.1 to 25.3`.
fn spread(levels: &[&Level]) -> String {
    let (low, high) = range(levels.iter().map(|level| level.sigma()));
    let (low, high) = (short(low), short(high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// Behind sigma: how it was found, and what it is.
fn how(known: &[&Level]) -> String {
    let grains: Vec<f32> = known.iter().filter_map(|level| level.grain()).collect();
    if grains.len() == known.len() {
        let (low, high) = range(grains.into_iter().map(f32::round));
        let grain =
            if low == high { count(low as usize, "pixel") } else { format!("{low} to {high} pixels") };
        return format!(" (camera noise, grain of {grain})");
    }
    if known.iter().all(|level| level.given) { String::new() } else { " (estimated)".into() }
}

fn range(values: impl Iterator<Item = f32>) -> (f32, f32) {
    values.fold((f32::MAX, 0.0), |(low, high), v| (low.min(v), high.max(v)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(model: &Model, given: bool) -> Option<Level> {
        Some(Level { model: model.clone(), given })
    }

    fn camera(sigma: f32, grain: f32) -> Model {
        let text = format!(
            "sigma = {sigma}\n[developed]\nconfidence = 1\ngrain = {grain}\nluma = [12, 10.8, 8, 4, 1]\n\
             chroma = [8.3, 8, 4, 1, 0.5]"
        );
        Model::from_toml(&text).unwrap()
    }

    #[test]
    fn noise_is_said_in_words() {
        let white = |sigma| Model::white(sigma).unwrap();
        let colour = Model::channels([10.0, 3.0, 2.5]).unwrap();
        for (pages, words) in [
            (vec![page(&white(24.84), false)], "sigma 24.8 (estimated)"),
            (vec![page(&white(24.84), true)], "sigma 24.8"),
            (vec![page(&colour, true)], "luma 10, chroma 3 and 2.5"),
            (vec![page(&camera(16.8, 2.8), false)], "camera noise: luma 10.8, chroma 8.3, grain of 3 pixels"),
            (vec![page(&camera(16.8, 1.2), false)], "camera noise: luma 10.8, chroma 8.3, grain of 1 pixel"),
            (
                vec![page(&camera(12.0, 1.8), false), page(&camera(16.8, 2.8), false), None],
                "sigma 12 to 16.8 (camera noise, grain of 2 to 3 pixels), 1 page without noise unchanged",
            ),
            (
                vec![page(&camera(12.0, 1.8), false), page(&white(16.8), false)],
                "sigma 12 to 16.8 (estimated)",
            ),
            (vec![page(&white(5.0), false), None], "sigma 5 (estimated), 1 page without noise unchanged"),
            (vec![None], "no noise found, copied"),
        ] {
            assert_eq!(describe(&pages, ", copied"), words);
        }
    }
}
