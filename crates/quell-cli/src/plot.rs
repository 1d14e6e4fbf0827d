//! `quell noise --plot`: what was found of the noise, as a drawing.

use std::path::Path;

use anyhow::Context;
use kuva::backend::raster::RasterBackend;
use kuva::backend::svg::SvgBackend;
use kuva::plot::LinePlot;
use kuva::render::figure::Figure;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use quell::noise::Model;

use crate::failure::Failure;
use crate::report::name;

/// How many pixels of a PNG stand for one of the drawing.
const DENSITY: f32 = 2.0;

/// What is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    /// Of which picture.
    pub(crate) title: String,
    /// Brightness and deviation.
    pub(crate) levels: Vec<(f32, f32)>,
    /// Cycles per pixel with the level of luma there, and of colour.
    pub(crate) luma: Vec<(f32, f32)>,
    pub(crate) chroma: Vec<(f32, f32)>,
}

/// Middles of the bands of a spectrum, in cycles per pixel.
const FREQUENCIES: [f32; 5] = [0.047, 0.125, 0.234, 0.344, 0.438];

impl Drawn {
    /// A model.
    pub(crate) fn new(title: String, model: &Model) -> Self {
        let bands = |levels: [f32; 5]| FREQUENCIES.into_iter().zip(levels).collect();
        let flat = |level: f32| vec![(FREQUENCIES[0], level), (FREQUENCIES[4], level)];
        let (luma, chroma) = match model.developed() {
            Some(camera) => (bands(camera.luma), camera.chroma.map(bands).unwrap_or_default()),
            None => (flat(model.levels()[0]), Vec::new()),
        };
        let levels = match model.brightness() {
            Some(curve) => curve.points(),
            None if model.developed().is_some_and(|camera| !camera.curve.is_empty()) => {
                model.developed().map(|camera| camera.curve.clone()).unwrap_or_default()
            }
            None => [0.0, 255.0].map(|y| (y, model.sigma())).to_vec(),
        };
        Self { title, levels, luma, chroma }
    }

    /// The file, by its extension.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        let scene = self.figure().render();
        let bytes = match extension.as_deref() {
            Some("svg") => SvgBackend.render_scene(&scene).into_bytes(),
            Some("png") => RasterBackend::new()
                .with_scale(DENSITY)
                .render_scene(&scene)
                .map_err(|e| anyhow::anyhow!("{e}"))?,
            _ => {
                return Err(
                    Failure::usage(format!("--plot {}: drawings are .svg or .png", name(path))).into()
                );
            }
        };
        quell_io::save(path, &bytes).with_context(|| format!("cannot write {}", name(path)))
    }

    fn figure(&self) -> Figure {
        let levels = vec![line(&self.levels, "black", "deviation")];
        let mut spectrum = vec![line(&self.luma, "black", "luma")];
        if !self.chroma.is_empty() {
            spectrum.push(line(&self.chroma, "crimson", "colour"));
        }
        let layout = |plots: &[Plot], title: &str, x: &str| {
            Layout::auto_from_plots(plots)
                .with_title(title)
                .with_x_label(x)
                .with_y_label("level (white is 255)")
        };
        let layouts = vec![
            layout(&levels, &format!("{}: level by brightness", self.title), "brightness"),
            layout(&spectrum, "spectrum", "cycles per pixel"),
        ];
        Figure::new(1, 2).with_plots(vec![levels, spectrum]).with_layouts(layouts)
    }
}

fn line(points: &[(f32, f32)], color: &str, legend: &str) -> Plot {
    let points: Vec<(f64, f64)> = points.iter().map(|(x, y)| (f64::from(*x), f64::from(*y))).collect();
    Plot::Line(LinePlot::new().with_data(points).with_color(color).with_legend(legend))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_file_are_drawn() {
        let folder = std::env::temp_dir().join(format!("quell-plot-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let drawn = Drawn::new("a.jpg".into(), &Model::white(5.0).unwrap());
        for (file, start) in [("a.svg", &b"<"[..]), ("a.PNG", b"\x89PNG")] {
            drawn.write(&folder.join(file)).unwrap();
            assert!(std::fs::read(folder.join(file)).unwrap().starts_with(start), "{file}");
        }
        let e = drawn.write(&folder.join("a.pdf")).unwrap_err().to_string();
        assert!(e.contains(".svg or .png"), "{e}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
