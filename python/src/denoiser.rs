//! A method with its settings, on a device.

use std::sync::Arc;

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quell::device::{Backend, DeviceOptions, Input as Picture, Samples};
use quell::noise::correlated::{Correlation, Covariance, CovarianceSource, Psd, PsdSource};
use quell::noise::{Estimator, Model};
use quell::{Denoiser, DenoiserBuilder, Device, Error, Method, Plane, Result};

use crate::arrays::{Input, Output, with_frame};
use crate::device::{check_fork, describe, open, started};
use crate::errors::raise;
use crate::job;
use crate::noise::NoiseModel;
use crate::threads::OnItsOwn;

/// A denoiser whose noise is told with every picture.
#[pyclass(frozen, module = "quell._core")]
pub(crate) struct Engine {
    builder: DenoiserBuilder,
    pub(crate) backend: Arc<dyn Backend>,
    device: Device,
    options: DeviceOptions,
}

/// Sets a number of a builder.
type Set = fn(DenoiserBuilder, f32) -> DenoiserBuilder;

/// A power spectrum, or the word `auto`.
#[derive(FromPyObject)]
pub(crate) enum Spectrum<'py> {
    Known(PyReadonlyArray2<'py, f32>),
    Word(String),
}

/// The rows of a covariance, or the word `auto`.
#[derive(FromPyObject)]
pub(crate) enum Covariances {
    Known([[f64; 3]; 3]),
    Word(String),
}

/// What is told of the noise of a picture.
pub(crate) struct Told {
    pub(crate) noise: Option<Model>,
    correlation: Correlation,
}

impl Told {
    /// Spectra and covariances are in squared units of samples of this white.
    pub(crate) fn new(
        white: f32,
        noise: Option<&NoiseModel>,
        psd: Option<Spectrum<'_>>,
        covariance: Option<Covariances>,
    ) -> Result<Self> {
        let psd = match psd {
            None => None,
            Some(Spectrum::Word(word)) => auto(&word).map(|()| Some(PsdSource::Auto))?,
            Some(Spectrum::Known(power)) => {
                let power = power.as_array();
                let (height, width) = power.dim();
                let plane = Plane::from_vec(width, height, power.iter().copied().collect())?;
                Some(PsdSource::Known(Psd::new(plane)?))
            }
        };
        let covariance = match covariance {
            None => None,
            Some(Covariances::Word(word)) => auto(&word).map(|()| Some(CovarianceSource::Auto))?,
            Some(Covariances::Known(rows)) => Some(CovarianceSource::Known(Covariance::new(rows)?)),
        };
        let correlation = Correlation { psd, covariance };
        let correlation =
            if correlation.is_none() { correlation } else { correlation.scaled(f64::from(255.0 / white)) };
        Ok(Self { noise: noise.map(|n| n.model.clone()), correlation })
    }
}

fn auto(word: &str) -> Result<()> {
    if word == "auto" { Ok(()) } else { Err(Error::parameter("noise", word, "must be an array or auto")) }
}

impl Engine {
    /// The denoiser for this noise.
    pub(crate) fn with(&self, told: Told) -> Result<Denoiser> {
        self.with_on(told, self.backend.clone())
    }

    /// The same for frames of a video, all of which are filtered by the same threads.
    pub(crate) fn with_shared(&self, told: Told) -> Result<Denoiser> {
        self.with_on(told, open(self.device, self.options)?)
    }

    fn with_on(&self, told: Told, backend: Arc<dyn Backend>) -> Result<Denoiser> {
        check_fork(self.device)?;
        let mut builder = self.builder.clone();
        if let Some(model) = told.noise {
            builder = builder.noise(model);
        }
        if !told.correlation.is_none() {
            builder = builder.correlation(told.correlation);
        }
        builder.build_on(backend)
    }

    /// Threads beside those of the device.
    pub(crate) fn threads(&self) -> usize {
        self.options.threads
    }

    /// To be called when there was work: `auto` knows only then what it takes.
    pub(crate) fn worked(&self) {
        if self.device == Device::Auto {
            started(&self.backend.info());
        }
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (method, profile, *, settings, toml = None, estimator = "auto", strength = None, luma = None,
        chroma = None, detail = None, grain = None, undo_clipping = None, device = "auto", threads = 0, tile = 0))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        method: &str,
        profile: Option<&str>,
        settings: Vec<(String, String)>,
        toml: Option<String>,
        estimator: &str,
        strength: Option<f32>,
        luma: Option<f32>,
        chroma: Option<f32>,
        detail: Option<f32>,
        grain: Option<f32>,
        undo_clipping: Option<bool>,
        device: &str,
        threads: usize,
        tile: usize,
    ) -> PyResult<Self> {
        let build = || -> Result<Self> {
            let (method, device) = (Method::named(method, profile)?, device.parse::<Device>()?);
            let mut builder = DenoiserBuilder::new(method).estimate_sigma(estimator.parse::<Estimator>()?);
            let numbers: [(Option<f32>, Set); 5] = [
                (strength, DenoiserBuilder::strength),
                (luma, DenoiserBuilder::luma),
                (chroma, DenoiserBuilder::chroma),
                (detail, DenoiserBuilder::detail),
                (grain, DenoiserBuilder::grain),
            ];
            for (value, set) in numbers {
                builder = value.map_or(builder.clone(), |value| set(builder, value));
            }
            if let Some(undo) = undo_clipping {
                builder = builder.undo_clipping(undo);
            }
            if let Some(toml) = toml {
                builder = builder.toml(toml);
            }
            for (name, value) in &settings {
                builder = builder.set(name, value);
            }
            builder.check()?;
            let options = DeviceOptions { threads, tile, ..DeviceOptions::default() };
            let shared = open(device, options)?;
            let own = threads > 0 && matches!(device, Device::Cpu | Device::Auto);
            let backend = if own { Arc::new(OnItsOwn { shared, options }) } else { shared };
            Ok(Self { builder, backend, device, options })
        };
        py.detach(build).map_err(raise)
    }

    /// Filters `x`, channels first, into `out`. Returns the noise that was filtered for; nothing, if there was none.
    #[pyo3(signature = (x, out, white, noise = None, psd = None, covariance = None, progress = None))]
    #[allow(clippy::too_many_arguments)]
    fn denoise(
        &self,
        py: Python<'_>,
        x: Input<'_>,
        mut out: Output<'_>,
        white: f32,
        noise: Option<&NoiseModel>,
        psd: Option<Spectrum<'_>>,
        covariance: Option<Covariances>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Option<NoiseModel>> {
        let told = Told::new(white, noise, psd, covariance).map_err(raise)?;
        let (x, mut out) = (x.view(), out.view());
        let found = job::run(py, progress.as_ref(), move |control| {
            let (size, planes) = (x.size(), x.planes());
            let denoiser = self.with(told)?;
            let host = job::host(self.threads())?;
            let resolved =
                with_frame(&planes, size, white, |frame| host.install(|| denoiser.resolve(frame)))?;
            let samples: Vec<Samples<'_>> = planes.iter().map(|plane| plane.samples()).collect();
            out.write(|to| match &resolved {
                None => {
                    for (to, from) in to.iter_mut().zip(&samples) {
                        to.store(&from.to_floats(1.0), 1.0, f32::MAX);
                    }
                    Ok(())
                }
                Some(job) if job.plan.window().guides == 0 => {
                    let picture = Picture { planes: &samples, guide: &[] };
                    denoiser.backend().open(&job.plan)?.frame(&picture, to, control)
                }
                // What patches are compared on is made from floats.
                Some(job) => with_frame(&planes, size, white, |frame| {
                    let clean = host.install(|| denoiser.run_resolved(frame, job, control))?;
                    let stored = to.iter_mut().zip(clean.planes());
                    stored.for_each(|(to, plane)| to.store(plane.as_slice(), 1.0, white));
                    Ok(())
                }),
            })?;
            self.worked();
            Ok(resolved.map(|job| job.noise))
        })?;
        Ok(found.map(|model| NoiseModel::new(model, white)))
    }

    /// The device; `auto` starts it to tell.
    fn device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        check_fork(self.device).map_err(raise)?;
        let info = py.detach(|| self.backend.info());
        started(&info);
        describe(py, &info)
    }

    /// Pictures that are worth having in work at once.
    fn at_once(&self, py: Python<'_>) -> usize {
        py.detach(|| self.backend.at_once())
    }
}

/// Every method: its name, what it is, its profiles and which of them is the default.
#[pyfunction]
pub(crate) fn methods() -> Vec<(&'static str, &'static str, Vec<&'static str>, &'static str)> {
    let one = |m: Method| {
        (m.name(), m.help(), m.profiles().into_iter().map(Method::profile).collect(), m.profile())
    };
    Method::all().into_iter().map(one).collect()
}

/// The parameters of a method for noise of this deviation where white is 255: name, what it is, its value.
#[pyfunction]
pub(crate) fn parameters(
    method: &str,
    profile: Option<&str>,
    sigma: f32,
    color: bool,
) -> PyResult<Vec<(&'static str, &'static str, String)>> {
    let method = Method::named(method, profile).map_err(raise)?;
    let one = |p: quell::method::ParameterInfo| (p.name, p.help, if color { p.rgb } else { p.grey });
    Ok(method.parameters(sigma).into_iter().map(one).collect())
}
