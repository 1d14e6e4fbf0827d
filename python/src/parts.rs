//! Parts of pictures: some rows, filtered without the others, with the result of the whole.

use std::ops::Range;

use pyo3::prelude::*;
use quell::device::Samples;
use quell::method::Part;
use quell::noise::Model;
use quell::{Denoiser, Error, Frame, FrameView, Plane, Resolved, Result};

use crate::arrays::{Input, Output, with_frame};
use crate::denoiser::{Engine, Told};
use crate::errors::raise;
use crate::job;
use crate::noise::NoiseModel;

/// Rows, from the first to the one behind the last.
type Rows = (usize, usize);

/// Pixels around a pixel that its result depends on.
#[pyfunction]
pub(crate) fn halo(engine: &Engine, noise: &NoiseModel, channels: usize) -> PyResult<usize> {
    let job = engine.planned(noise, (1 << 10, 1 << 14), channels).map_err(raise)?;
    Ok(job.map_or(0, |job| job.plan.halo()))
}

/// The rows to read for each of some rows of a picture of `size`, columns and rows.
#[pyfunction]
pub(crate) fn part_rows(
    engine: &Engine,
    noise: &NoiseModel,
    size: (usize, usize),
    channels: usize,
    rows: Vec<Rows>,
) -> PyResult<Vec<Rows>> {
    let read = || {
        let Some(job) = engine.planned(noise, size, channels)? else { return Ok(rows) };
        let read = |&(first, last): &Rows| {
            let read = part_of(&job, first..last)?.read();
            Ok((read.start, read.end))
        };
        rows.iter().map(read).collect::<Result<Vec<_>>>()
    };
    read().map_err(raise)
}

/// Filters `rows` of a picture of `height` rows. `x` has the rows that are read for them, and of `out`, which has as many,
/// those that are asked for are filled.
#[pyfunction]
#[pyo3(signature = (engine, x, out, white, noise, height, rows, progress = None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn denoise_part(
    py: Python<'_>,
    engine: &Engine,
    x: Input<'_>,
    mut out: Output<'_>,
    white: f32,
    noise: &NoiseModel,
    height: usize,
    rows: Rows,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let told = Told::new(white, Some(noise), None, None).map_err(raise)?;
    let (x, mut out) = (x.view(), out.view());
    job::run(py, progress.as_ref(), move |control| {
        let (size, planes) = (x.size(), x.planes());
        let denoiser = engine.with(told)?;
        let host = job::host(engine.threads())?;
        with_frame(&planes, size, white, |frame| {
            let Some(job) = host.install(|| resolve(&denoiser, height, frame.clone()))? else {
                let clean = host.install(|| denoiser.run(frame, control))?.frame;
                return out.write(|to| {
                    let stored = to.iter_mut().zip(clean.planes());
                    stored.for_each(|(to, plane)| to.store(plane.as_slice(), 1.0, white));
                    Ok(())
                });
            };
            let part = part_of(&job, rows.0..rows.1)?;
            if part.read().len() != size.1 {
                let (given, read) = (size.1, part.read());
                let what = format!("x: has {given} rows, and must have rows {} to {}", read.start, read.end);
                return Err(Error::Shape(what));
            }
            let samples: Vec<Samples<'_>> = planes.iter().map(|plane| plane.samples()).collect();
            out.write(|to| denoiser.run_part(&job, &part, &samples, to, control))
        })?;
        engine.worked();
        Ok(())
    })
}

/// The part whose result is these rows, whole.
fn part_of(job: &Resolved, rows: Range<usize>) -> Result<Part> {
    let window = job.plan.window();
    if rows.is_empty() || rows.end > window.height {
        let what =
            format!("rows {}..{} are no part of a picture of {} rows", rows.start, rows.end, window.height);
        return Err(Error::Shape(what));
    }
    Ok(job.plan.region(0..window.width, rows))
}

impl Engine {
    /// The job for pictures of this size, whatever is in them.
    fn planned(
        &self,
        noise: &NoiseModel,
        (width, height): (usize, usize),
        channels: usize,
    ) -> Result<Option<Resolved>> {
        let rows = height.min(16);
        let planes = vec![Plane::from_vec(width, rows, vec![100.0; width * rows])?; channels];
        let some = Frame::new(planes, 255.0)?;
        let planned = |model: &Model| {
            let told = Told::new(255.0, Some(&NoiseModel::new(model.clone(), 255.0)), None, None)?;
            resolve(&self.with(told)?, height, FrameView::from(&some))
        };
        match planned(&noise.model)? {
            // How strong it is in each colour moves nothing.
            None => planned(&Model::white(noise.model.sigma())?),
            job => Ok(job),
        }
    }
}

/// The job for a picture of which these rows are known. `None`: colours that NL-means compares by the covariance of their
/// noise, which the engine knows for whole pictures; each part is one then.
fn resolve(denoiser: &Denoiser, height: usize, some: FrameView<'_>) -> Result<Option<Resolved>> {
    match denoiser.resolve_rows(height, some, None) {
        Err(Error::Unsupported(_)) => Ok(None),
        job => job,
    }
}
