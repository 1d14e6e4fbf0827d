//! What noise is like.

use pyo3::prelude::*;
use quell::noise::correlated::Covariance;
use quell::noise::{self, Curve, Estimator, Model};

use crate::arrays::{Input, with_frame};
use crate::errors::raise;
use crate::job;

/// The noise of a picture. The engine knows it on the scale on which white is 255; here its numbers are in units in
/// which white is `white`.
#[pyclass(frozen, eq, from_py_object, module = "quell")]
#[derive(Clone, PartialEq)]
pub(crate) struct NoiseModel {
    pub(crate) model: Model,
    white: f32,
}

impl NoiseModel {
    pub(crate) fn new(model: Model, white: f32) -> Self {
        Self { model, white }
    }

    /// What a number of the engine's scale is in our units.
    fn unit(&self) -> f32 {
        self.white / 255.0
    }
}

/// Levels in the opponent space of noise in red, green and blue that is independent.
fn opponent([r, g, b]: [f32; 3]) -> [f32; 3] {
    let [r, g, b] = [r * r, g * g, b * b];
    [(r + g + b) / 3.0, (r + b) / 2.0, (r + 4.0 * g + b) / 6.0].map(f32::sqrt)
}

#[pymethods]
impl NoiseModel {
    /// Reads what `to_toml` writes.
    #[new]
    #[pyo3(signature = (toml, white = 255.0))]
    fn read(toml: &str, white: f32) -> PyResult<Self> {
        Ok(Self::new(Model::from_toml(toml).map_err(raise)?, white))
    }

    /// The same by a name.
    #[staticmethod]
    #[pyo3(signature = (toml, white = 255.0))]
    fn from_toml(toml: &str, white: f32) -> PyResult<Self> {
        Self::read(toml, white)
    }

    /// White noise of one deviation.
    #[staticmethod]
    fn gauss(sigma: f32, white: f32) -> PyResult<Self> {
        Ok(Self::new(Model::white(sigma * 255.0 / white).map_err(raise)?, white))
    }

    /// White noise with a deviation of its own for red, green and blue.
    #[staticmethod]
    fn rgb(sigma: [f32; 3], white: f32) -> PyResult<Self> {
        let sigma = sigma.map(|v| v * 255.0 / white);
        if sigma[0] == sigma[1] && sigma[0] == sigma[2] {
            return Ok(Self::new(Model::white(sigma[0]).map_err(raise)?, white));
        }
        let model = Model::channels(opponent(sigma)).map_err(raise)?;
        let [r, g, b] = sigma.map(|v| f64::from(v * v));
        // NL-means compares colours as they are.
        let covariance = Covariance::new([[r, 0.0, 0.0], [0.0, g, 0.0], [0.0, 0.0, b]]);
        Ok(Self::new(covariance.map_or(model.clone(), |c| model.with_covariance(c)), white))
    }

    /// White noise with a deviation of its own for luma and two channels of colour.
    #[staticmethod]
    fn opponent(sigma: [f32; 3], white: f32) -> PyResult<Self> {
        Ok(Self::new(Model::channels(sigma.map(|v| v * 255.0 / white)).map_err(raise)?, white))
    }

    /// White noise of variance `gain * y + floor` at brightness `y`.
    #[staticmethod]
    fn poisson_gauss(gain: f32, floor: f32, white: f32) -> PyResult<Self> {
        let unit = 255.0 / white;
        let curve = Curve::poisson_gauss(gain * unit, floor * unit * unit).map_err(raise)?;
        Ok(Self::new(Model::curve(curve), white))
    }

    /// White noise of these deviations at these brightnesses.
    #[staticmethod]
    fn points(points: Vec<(f32, f32)>, white: f32) -> PyResult<Self> {
        let unit = 255.0 / white;
        let points: Vec<(f32, f32)> = points.iter().map(|(y, s)| (y * unit, s * unit)).collect();
        Ok(Self::new(Model::curve(Curve::from_points(&points).map_err(raise)?), white))
    }

    /// The same noise in units in which white is another number.
    fn with_white(&self, white: f32) -> Self {
        Self::new(self.model.clone(), white)
    }

    /// As a file that the program reads, too; on the scale on which white is 255.
    fn to_toml(&self) -> String {
        self.model.to_toml()
    }

    /// The deviation; a typical one, where it depends on brightness.
    #[getter]
    fn sigma(&self) -> f32 {
        self.model.sigma() * self.unit()
    }

    /// Deviations of luma and of two channels of colour.
    #[getter]
    fn levels(&self) -> (f32, f32, f32) {
        let [y, a, b] = self.model.levels().map(|v| v * self.unit());
        (y, a, b)
    }

    /// `white`, `camera` or `poisson`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.model.kind()
    }

    /// The sample value of white that all numbers refer to.
    #[getter]
    fn white(&self) -> f32 {
        self.white
    }

    /// The deviation at a brightness.
    fn deviation(&self, brightness: f32) -> f32 {
        match self.model.brightness() {
            Some(curve) => curve.deviation(brightness / self.unit()) * self.unit(),
            None => self.sigma(),
        }
    }

    fn __repr__(&self) -> String {
        let words = match self.model.kind() {
            // Of the words of the engine only these have numbers in other units.
            "white" if self.model.levels().windows(2).all(|v| v[0] == v[1]) => {
                format!("sigma {}", short(self.sigma()))
            }
            "poisson" => {
                let [dark, bright] = [0.0, self.white].map(|y| short(self.deviation(y)));
                format!("sigma {dark} in the dark to {bright} in the light")
            }
            kind => {
                let (y, a, b) = self.levels();
                let what = if kind == "camera" { "camera noise: " } else { "" };
                format!("{what}luma {}, chroma {} and {}", short(y), short(a), short(b))
            }
        };
        format!("<NoiseModel: {words} (white is {})>", short(self.white))
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String, f32))> {
        let (this, class) = (slf.get(), slf.get_type());
        Ok((class.into_any().unbind(), (this.to_toml(), this.white)))
    }
}

/// Four digits that count.
fn short(v: f32) -> String {
    let digits = if v == 0.0 { 0 } else { (3 - v.abs().log10().floor() as i32).clamp(0, 9) };
    let text = format!("{v:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// What the noise of a picture is like; nothing, if there is none to speak of. `region` is column, row, width and height
/// of a flat part.
#[pyfunction]
#[pyo3(signature = (x, white, estimator, region = None, threads = 0))]
pub(crate) fn measure(
    py: Python<'_>,
    x: Input<'_>,
    white: f32,
    estimator: &str,
    region: Option<[usize; 4]>,
    threads: usize,
) -> PyResult<Option<NoiseModel>> {
    let estimator: Estimator = estimator.parse().map_err(raise)?;
    let view = x.view();
    let model = job::run(py, None, move |_| {
        let pool = job::host(threads)?;
        with_frame(&view.planes(), view.size(), white, |frame| {
            pool.install(|| match region {
                Some(region) => noise::measure_region(&frame, region).map(Some),
                None => noise::measure(&frame, None, estimator)?.model(white),
            })
        })
    })?;
    Ok(model.map(|model| NoiseModel::new(model, white)))
}

/// The deviation of the noise of every plane by itself.
#[pyfunction]
pub(crate) fn estimate(py: Python<'_>, x: Input<'_>, white: f32, estimator: &str) -> PyResult<Vec<f32>> {
    let estimator: Estimator = estimator.parse().map_err(raise)?;
    let view = x.view();
    job::run(py, None, move |_| {
        let pool = job::host(0)?;
        let one = |plane| {
            with_frame(&[plane], view.size(), white, |frame| {
                pool.install(|| noise::estimate(&frame, estimator))
            })
        };
        view.planes().into_iter().map(one).collect()
    })
}
