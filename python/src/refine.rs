//! BM3D with an estimate of the caller's own in the place of pass 1.

use pyo3::prelude::*;

use crate::arrays::{Input, Output, with_frame};
use crate::denoiser::{Engine, Spectrum, Told};
use crate::errors::raise;
use crate::job;
use crate::noise::NoiseModel;

/// Filters `x`, channels first, into `out`, by pass 2 alone; `pilot` is of the same shape and in the same units.
#[pyfunction]
#[pyo3(signature = (engine, x, pilot, out, white, noise, psd = None, progress = None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn refine(
    py: Python<'_>,
    engine: &Engine,
    x: Input<'_>,
    pilot: Input<'_>,
    mut out: Output<'_>,
    white: f32,
    noise: &NoiseModel,
    psd: Option<Spectrum<'_>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let told = Told::new(white, Some(noise), psd, None).map_err(raise)?;
    let (x, pilot, mut out) = (x.view(), pilot.view(), out.view());
    job::run(py, progress.as_ref(), move |control| {
        let denoiser = engine.with(told)?;
        let host = job::host(engine.threads())?;
        let clean = with_frame(&x.planes(), x.size(), white, |frame| {
            with_frame(&pilot.planes(), pilot.size(), white, |pilot| {
                host.install(|| denoiser.refine(frame, pilot, control))
            })
        })?;
        out.write(|to| {
            let stored = to.iter_mut().zip(clean.planes());
            stored.for_each(|(to, plane)| to.store(plane.as_slice(), 1.0, white));
            Ok(())
        })?;
        engine.worked();
        Ok(())
    })
}
