//! How close two pictures are, plane by plane.

use pyo3::prelude::*;
use quell::metrics::{self, Quality};
use quell::{FrameView, Result};

use crate::arrays::{Input, with_frame};
use crate::job;

fn compare(
    py: Python<'_>,
    a: &Input<'_>,
    b: &Input<'_>,
    white: f32,
    measure: fn(FrameView<'_>, FrameView<'_>) -> Result<Quality>,
) -> PyResult<Vec<f64>> {
    let (a, b) = (a.view(), b.view());
    job::run(py, None, move |_| {
        let pool = job::host(0)?;
        let planes = a.planes().into_iter().zip(b.planes());
        let one = |(p, q)| {
            with_frame(&[p], a.size(), white, |p| {
                with_frame(&[q], b.size(), white, |q| pool.install(|| measure(p, q)))
            })
        };
        planes.map(one).map(|quality| Ok(quality?.all)).collect()
    })
}

/// Mean squared errors.
#[pyfunction]
pub(crate) fn mse(py: Python<'_>, a: Input<'_>, b: Input<'_>, white: f32) -> PyResult<Vec<f64>> {
    compare(py, &a, &b, white, |a, b| metrics::mse(a, b))
}

/// Structural similarities.
#[pyfunction]
pub(crate) fn ssim(py: Python<'_>, a: Input<'_>, b: Input<'_>, white: f32) -> PyResult<Vec<f64>> {
    compare(py, &a, &b, white, |a, b| metrics::ssim(a, b))
}
