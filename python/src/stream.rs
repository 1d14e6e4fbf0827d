//! Frames of a video through a denoiser.

use std::sync::{Mutex, PoisonError};

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use quell::device::{SampleBuffer, SampleFormat};
use quell::{Cancel, Control, Layout, VideoFormat, VideoFrame};

use crate::denoiser::{Engine, Told};
use crate::errors::raise;
use crate::job;
use crate::noise::NoiseModel;

/// A video on its way.
#[pyclass(frozen, module = "quell._core")]
pub(crate) struct Stream {
    inner: Mutex<quell::Stream>,
    cancel: Cancel,
    threads: usize,
}

/// A plane that comes in.
#[derive(FromPyObject)]
pub(crate) enum Plane<'py> {
    U8(PyReadonlyArray2<'py, u8>),
    U16(PyReadonlyArray2<'py, u16>),
    F32(PyReadonlyArray2<'py, f32>),
}

impl Plane<'_> {
    /// A copy, which is what a stream keeps.
    fn to_buffer(&self) -> SampleBuffer {
        match self {
            Self::U8(a) => SampleBuffer::U8(a.as_array().iter().copied().collect()),
            Self::U16(a) => SampleBuffer::U16(a.as_array().iter().copied().collect()),
            Self::F32(a) => SampleBuffer::F32(a.as_array().iter().copied().collect()),
        }
    }
}

fn to_array<'py>(py: Python<'py>, plane: SampleBuffer, size: (usize, usize)) -> PyResult<Bound<'py, PyAny>> {
    let shape = [size.1, size.0];
    Ok(match plane {
        SampleBuffer::U8(v) => PyArray1::from_vec(py, v).reshape(shape)?.into_any(),
        SampleBuffer::U16(v) => PyArray1::from_vec(py, v).reshape(shape)?.into_any(),
        SampleBuffer::F32(v) => PyArray1::from_vec(py, v).reshape(shape)?.into_any(),
    })
}

#[pymethods]
impl Stream {
    /// A stream of frames of this size; `layout` is mono, 4:2:0, 4:2:2, 4:4:4 or RGB, `sample` is u8, u16 or f32.
    #[new]
    #[pyo3(signature = (engine, width, height, layout, sample, white, noise = None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        engine: &Engine,
        width: usize,
        height: usize,
        layout: &str,
        sample: &str,
        white: f32,
        noise: Option<&NoiseModel>,
    ) -> PyResult<Self> {
        let layout = Layout::ALL.into_iter().find(|l| l.name() == layout);
        let sample = SampleFormat::ALL.into_iter().find(|s| s.name() == sample);
        let (Some(layout), Some(sample)) = (layout, sample) else {
            return Err(PyValueError::new_err("no such layout or sample type"));
        };
        let format = VideoFormat { width, height, layout, sample, white };
        let told = Told::new(white, noise, None, None).map_err(raise)?;
        let cancel = Cancel::new();
        let control = Control::new().with_cancel(cancel.clone());
        let stream = py.detach(|| engine.with_shared(told)?.stream_with(format, control)).map_err(raise)?;
        Ok(Self { inner: Mutex::new(stream), cancel, threads: engine.threads() })
    }

    /// Takes the next frame, and gives the one that is due.
    fn push<'py>(
        &self,
        py: Python<'py>,
        planes: Vec<Plane<'py>>,
    ) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let frame = VideoFrame { planes: planes.iter().map(Plane::to_buffer).collect() };
        self.step(py, |stream| stream.push(frame))
    }

    /// At the end: gives a frame that is still in, or nothing.
    fn flush<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        self.step(py, quell::Stream::flush)
    }

    /// Frames that have to follow a frame before it comes out.
    #[getter]
    fn latency(&self, py: Python<'_>) -> usize {
        py.detach(|| self.inner.lock().unwrap_or_else(PoisonError::into_inner).latency())
    }

    /// Noise of every plane as given or estimated so far; nothing before the first frame.
    #[getter]
    fn sigma(&self, py: Python<'_>) -> Vec<f32> {
        py.detach(|| self.inner.lock().unwrap_or_else(PoisonError::into_inner).sigma().to_vec())
    }
}

impl Stream {
    fn step<'py>(
        &self,
        py: Python<'py>,
        step: impl FnOnce(&mut quell::Stream) -> quell::Result<Option<VideoFrame>> + Send,
    ) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let (frame, format) = job::run_with(py, self.cancel.clone(), None, |_| {
            let stream = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            let frame = job::host(self.threads)?.install(|| step(stream))?;
            Ok((frame, *stream.format()))
        })?;
        let Some(frame) = frame else { return Ok(None) };
        let planes = frame.planes.into_iter().enumerate();
        planes.map(|(i, plane)| to_array(py, plane, format.plane_size(i))).collect::<PyResult<_>>().map(Some)
    }
}
