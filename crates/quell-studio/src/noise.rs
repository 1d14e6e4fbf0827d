//! What the noise of a picture is like, for plots, and kept as a profile of camera and ISO.

use std::path::PathBuf;
use std::sync::Arc;

use quell::noise::{Model, Origin};
use serde_json::{Value, json};

use crate::page::Page;
use crate::plans::measure;
use crate::settings::{Settings, Setup, key};
use crate::source::Source;
use crate::spectrum;
use crate::studio::Studio;
use crate::tile::Area;
use crate::{Kind, Problem};

/// Middles of the bands of a camera's spectrum, in cycles per pixel.
const BANDS: [f32; 5] = [0.047, 0.125, 0.234, 0.344, 0.438];

/// Settings that nobody changed.
fn plain(studio: &Studio) -> Result<Arc<Setup>, Problem> {
    let settings = Settings::default();
    let flags = settings.flags()?;
    let key = key(&flags);
    studio.setups.find(&key).or_else(|_| {
        let denoiser = studio.program.denoiser(&flags)?;
        Ok(studio.setups.keep(Setup { key, settings, flags, denoiser }))
    })
}

/// The noise of a frame, estimated or measured in a part.
fn model(
    studio: &Studio,
    file: u64,
    frame: usize,
    region: Option<[usize; 4]>,
) -> Result<Option<Model>, Problem> {
    let source = studio.library.open(&*studio.program, file)?;
    let setup = plain(studio)?;
    match (region, &*source) {
        (Some(region), Source::Giant(giant)) => {
            let [x, y, width, height] = region;
            let area = Area { x, y, width, height };
            if area.within(giant.shape().width, giant.shape().height) != area || area.pixels() == 0 {
                return Err(Problem::sense("the region is not inside the picture"));
            }
            let part = crate::page::frame(giant.planes(area)?, area, giant.shape().white)?;
            Ok(Some(quell::noise::measure_region(&part.view(), [0, 0, width, height])?))
        }
        (Some(region), _) => measure(&*source.page(frame)?, region).map(Some),
        (None, Source::Giant(giant)) => {
            let (some, alpha) = giant.some_rows(&*studio.program)?;
            let alpha = alpha.as_ref().map(quell::Plane::view);
            Ok(setup.denoiser.see(some, alpha.as_ref())?.map(|seen| seen.noise().clone()))
        }
        (None, _) => {
            let seen = studio.plans.seen(file, frame, &setup, &source)?;
            Ok((*seen).as_ref().map(|seen| seen.noise().clone()))
        }
    }
}

/// What the page is told of the noise.
pub(crate) fn describe(
    studio: &Studio,
    file: u64,
    frame: usize,
    region: Option<[usize; 4]>,
) -> Result<Value, Problem> {
    let found = model(studio, file, frame, region)?;
    let text = studio.program.describe(found.as_ref(), region.is_some());
    let Some(model) = found else {
        return Ok(json!({"sigma": [], "text": text, "curve": null, "spectrum": null, "clean": true}));
    };
    let source = studio.library.open(&*studio.program, file)?;
    let channels = source.shape(frame)?.channels;
    let sigma = &model.levels()[..channels.min(3)];
    let points = match (model.brightness(), model.developed()) {
        (Some(curve), _) => curve.points(),
        (None, Some(camera)) => camera.curve.clone(),
        (None, None) => Vec::new(),
    };
    let curve = (!points.is_empty()).then(|| {
        let (levels, sigma): (Vec<f32>, Vec<f32>) = points.iter().map(|(y, s)| (y / 255.0, *s)).unzip();
        json!([{"channel": 0, "levels": levels, "sigma": sigma}])
    });
    let spectrum = match (region, model.developed()) {
        (Some([x, y, width, height]), _) => {
            let area = Area { x, y, width, height };
            let shape = source.shape(frame)?;
            luma(source.planes(frame, area)?, shape.white, |plane| spectrum::spectrum(plane, width, height))
        }
        (None, Some(camera)) => Some(spectrum::of_bands(&BANDS, &camera.luma)),
        (None, None) => None,
    };
    Ok(json!({"sigma": sigma, "text": text, "curve": curve, "spectrum": spectrum, "clean": false}))
}

/// The brightness of planes on the 0..255 scale: their mean.
pub(crate) fn luma<T>(planes: Vec<Vec<f32>>, white: f32, with: impl FnOnce(&[f32]) -> T) -> T {
    let factor = 255.0 / white / planes.len() as f32;
    let mut sum = vec![0.0; planes[0].len()];
    for plane in &planes {
        sum.iter_mut().zip(plane).for_each(|(sum, v)| *sum += v * factor);
    }
    with(&sum)
}

/// Keeps the noise as a profile in the folder of exports.
pub(crate) fn save(
    studio: &Studio,
    file: u64,
    frame: usize,
    name: &str,
    region: Option<[usize; 4]>,
) -> Result<PathBuf, Problem> {
    let name = if name.ends_with(".toml") { name.to_owned() } else { format!("{name}.toml") };
    let path = studio.library.output(&name)?;
    if path.exists() {
        return Err(Problem::new(Kind::Superseded, format!("{name} exists")).hint("choose another name"));
    }
    let Some(model) = model(studio, file, frame, region)? else {
        return Err(Problem::sense("no noise was found").hint("measure it in a flat part"));
    };
    let camera = studio.library.open(&*studio.program, file)?.camera();
    let picture = Some(studio.library.entry(file)?.name.clone());
    let text = model.to_toml_from(&Origin { camera: camera.name, iso: camera.iso, picture });
    quell_io::save(&path, text.as_bytes())?;
    Ok(path)
}

/// Counts of values, of every channel in 256 steps up to white.
#[derive(Clone)]
pub(crate) struct Histogram {
    white: f32,
    counts: Vec<Vec<u64>>,
}

impl Histogram {
    pub(crate) fn new(channels: usize, white: f32) -> Self {
        Self { white, counts: vec![vec![0; 256]; channels] }
    }

    /// Counts interleaved samples.
    pub(crate) fn add(&mut self, samples: &crate::tile::Samples) {
        let channels = self.counts.len();
        let scale = 255.0 / self.white;
        for i in 0..samples.len() {
            let bin = (samples.get(i) * scale + 0.5).clamp(0.0, 255.0) as usize;
            self.counts[i % channels][bin] += 1;
        }
    }

    pub(crate) fn of_page(page: &Page) -> Self {
        let mut all = Self::new(page.shape().channels, page.shape().white);
        all.add(page.samples());
        all
    }

    pub(crate) fn describe(&self) -> Value {
        json!({"bins": 256, "counts": self.counts})
    }
}
