//! Our own arrays on a CUDA device, and filtering those of others into them.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quell::Error;
use quell::device::cuda::{DeviceMemory, host_bytes, wait_for_default_stream};
use quell::device::{DeviceSamples, SampleFormat};

use crate::denoiser::{Engine, Told};
use crate::dlpack::{CUDA, Tensor, dtype_name, give};
use crate::errors::raise;
use crate::job;
use crate::layout::Layout;
use crate::noise::NoiseModel;

/// An array on a CUDA device. Other libraries take it without a copy: `torch.from_dlpack(a)`, `cupy.asarray(a)`.
#[pyclass(frozen, module = "quell")]
pub(crate) struct DeviceArray {
    memory: Arc<Memory>,
    layout: Layout,
    format: SampleFormat,
}

/// Memory that is freed in the process that it was taken in: in one that was forked the driver is not there.
struct Memory(ManuallyDrop<DeviceMemory>, u32);

impl Drop for Memory {
    fn drop(&mut self) {
        if self.1 == std::process::id() {
            // SAFETY: dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

impl Deref for Memory {
    type Target = DeviceMemory;
    fn deref(&self) -> &DeviceMemory {
        &self.0
    }
}

#[pymethods]
impl DeviceArray {
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.layout.shape)
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        dtype_name(self.format)
    }

    /// The device, as `cuda:0`.
    #[getter]
    fn device(&self) -> String {
        format!("cuda:{}", self.memory.device())
    }

    fn __dlpack_device__(&self) -> (i32, usize) {
        (CUDA, self.memory.device())
    }

    /// Results are complete, so that every stream may use them at once.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, usize)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = stream;
        if dl_device.is_some_and(|device| device != self.__dlpack_device__()) || copy == Some(true) {
            return Err(PyBufferError::new_err(
                "neither copies nor other devices are offered: numpy() copies",
            ));
        }
        let place = (self.memory.address(), self.memory.device());
        let versioned = max_version.is_some_and(|v| v.0 >= 1);
        give(py, self.memory.clone(), place, self.format, &self.layout, versioned)
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let bytes = self.format.bytes() as i64;
        let all = PyDict::new(py);
        all.set_item("shape", self.shape(py)?)?;
        let strides = self.layout.strides.iter().map(|s| s * bytes);
        all.set_item("strides", PyTuple::new(py, strides.collect::<Vec<_>>())?)?;
        let kind = match self.format {
            SampleFormat::U8 => "|u1",
            SampleFormat::U16 => "<u2",
            SampleFormat::F32 => "<f4",
        };
        all.set_item("typestr", kind)?;
        all.set_item("data", (self.memory.address(), false))?;
        all.set_item("version", 3)?;
        Ok(all)
    }

    /// A copy on the host.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut bytes = vec![0; self.layout.len() * self.format.bytes()];
        py.detach(|| self.memory.read(&mut bytes)).map_err(raise)?;
        let flat = PyArray1::from_vec(py, bytes).call_method1("view", (self.dtype(),))?;
        // As the samples lie in memory, then as the axes are.
        let order = self.layout.order();
        let sizes: Vec<usize> = order.iter().map(|axis| self.layout.shape[*axis]).collect();
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, axis)| back[*axis] = i);
        flat.call_method1("reshape", (sizes,))?.call_method1("transpose", (back,))
    }

    fn __repr__(&self) -> String {
        format!("<quell.DeviceArray {:?} {} on {}>", self.layout.shape, self.dtype(), self.device())
    }
}

/// Filters every picture of a tensor, which an engine on its device gets, into an array on the same device. `noise` is one
/// for all, or one for each.
#[pyfunction]
#[pyo3(signature = (engine, x, channel_axis, white, noise, progress = None))]
pub(crate) fn denoise_tensor(
    py: Python<'_>,
    engine: &Engine,
    x: &Tensor,
    channel_axis: Option<usize>,
    white: f32,
    noise: Vec<NoiseModel>,
    progress: Option<Py<PyAny>>,
) -> PyResult<DeviceArray> {
    let format = x.format().ok_or_else(|| PyTypeError::new_err("x: uint8, uint16 and float32 are known"))?;
    let device = usize::try_from(x.device.1).unwrap_or(0);
    let layout = Layout::planar(x.layout.shape.clone(), channel_axis);
    let (memory, layout) = job::run(py, progress.as_ref(), move |control| {
        let bytes = format.bytes();
        let (from, height, width, pitch) = x.layout.pictures(channel_axis);
        let (to, .., to_pitch) = layout.pictures(channel_axis);
        let memory = DeviceMemory::new(device, layout.len() * bytes)?;
        wait_for_default_stream(device)?;
        let planes = |base: u64, offsets: &[i64], pitch: i64| -> quell::Result<Vec<DeviceSamples>> {
            let pitch =
                usize::try_from(pitch).map_err(|_| Error::Shape("x: rows go backwards".into()))? * bytes;
            let at = |offset: &i64| {
                // SAFETY: the tensor is borrowed and its producer has been waited for; `memory` is ours. Both are in the
                // primary context, which is where DLPack has pointers of CUDA.
                unsafe { DeviceSamples::new(base.wrapping_add_signed(offset * bytes as i64), pitch, format) }
            };
            Ok(offsets.iter().map(at).collect())
        };
        let count = from.len();
        for (i, (from, to)) in from.iter().zip(&to).enumerate() {
            let model = noise.get(i).or(noise.first());
            let denoiser = engine.with(Told::new(white, model, None, None)?)?;
            let (x, out) = (planes(x.address, from, pitch)?, planes(memory.address(), to, to_pitch)?);
            let control = control.section(i, count);
            // Channels that are no colours are pictures of their own.
            let together = if matches!(x.len(), 1 | 3) { x.len() } else { 1 };
            for (x, out) in x.chunks(together).zip(out.chunks(together)) {
                denoiser.denoise_device(width, height, white, x, out, &control)?;
            }
        }
        Ok((memory, layout))
    })?;
    engine.worked();
    let memory = Arc::new(Memory(ManuallyDrop::new(memory), std::process::id()));
    Ok(DeviceArray { memory, layout, format })
}

/// Bytes that were copied to devices and from there, so far.
#[pyfunction]
pub(crate) fn host_traffic() -> (u64, u64) {
    host_bytes()
}
