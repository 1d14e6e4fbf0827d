//! Arrays on a GPU: those of other libraries by DLPack, and our own.
//!
//! The few structures of DLPack are written out here: crates for it bring arrays of their own, while all that is wanted
//! is where somebody else's samples lie, and a way to give ours away.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quell::Error;
use quell::device::cuda::{DeviceMemory, host_bytes, wait_for_default_stream};
use quell::device::{DeviceSamples, SampleFormat};

use crate::denoiser::{Engine, Told};
use crate::errors::raise;
use crate::job;
use crate::noise::NoiseModel;

/// `kDLCUDA`.
const CUDA: i32 = 2;
const UNSIGNED: u8 = 1;
const FLOAT: u8 = 2;
const READ_ONLY: u64 = 1;
const PLAIN: &CStr = c"dltensor";
const PLAIN_USED: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const VERSIONED_USED: &CStr = c"used_dltensor_versioned";

/// `DLTensor`.
#[repr(C)]
struct Raw {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct Plain {
    tensor: Raw,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Plain)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Raw,
}

/// Who frees a tensor of somebody else.
enum Owner {
    Plain(*mut Plain),
    Versioned(*mut Versioned),
}

// SAFETY: the deleter of a DLPack tensor may be called from any thread.
unsafe impl Send for Owner {}
// SAFETY: nothing but dropping is done with it.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: taken out of its capsule, so that nobody else frees it.
        unsafe {
            match self {
                Self::Plain(p) => (**p).deleter.into_iter().for_each(|free| free(*p)),
                Self::Versioned(p) => (**p).deleter.into_iter().for_each(|free| free(*p)),
            }
        }
    }
}

/// An array of another library, borrowed as long as this lives.
#[pyclass(frozen, module = "quell._core")]
pub(crate) struct Tensor {
    address: u64,
    device: (i32, i32),
    kind: (u8, u8, u16),
    layout: Layout,
    read_only: bool,
    _owner: Owner,
}

/// Sizes and distances along the axes, in samples.
#[derive(Clone)]
struct Layout {
    shape: Vec<usize>,
    strides: Vec<i64>,
}

#[pymethods]
impl Tensor {
    /// Takes what is in a capsule of DLPack.
    #[new]
    fn new(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        let object = capsule.as_ptr();
        let take = |name: &CStr, used: &CStr| {
            // SAFETY: an object of Python and strings that live for ever; the calls tell whether it is such a capsule.
            unsafe {
                if ffi::PyCapsule_IsValid(object, name.as_ptr()) == 0 {
                    return None;
                }
                let pointer = ffi::PyCapsule_GetPointer(object, name.as_ptr());
                (ffi::PyCapsule_SetName(object, used.as_ptr()) == 0).then_some(pointer)
            }
        };
        let (raw, read_only, owner) = if let Some(pointer) = take(VERSIONED, VERSIONED_USED) {
            let managed = pointer.cast::<Versioned>();
            let owner = Owner::Versioned(managed);
            // SAFETY: what a capsule of this name holds; it is ours now. Only versions 1 have this form.
            let (major, flags) = unsafe { ((*managed).major, (*managed).flags) };
            if major != 1 {
                return Err(PyBufferError::new_err(format!("x: DLPack {major} is not known, only 1 is")));
            }
            // SAFETY: as above.
            (unsafe { &raw const (*managed).tensor }, flags & READ_ONLY != 0, owner)
        } else if let Some(pointer) = take(PLAIN, PLAIN_USED) {
            let managed = pointer.cast::<Plain>();
            // SAFETY: what a capsule of this name holds; it is ours now.
            (unsafe { &raw const (*managed).tensor }, false, Owner::Plain(managed))
        } else {
            return Err(PyTypeError::new_err("x: __dlpack__ gave no capsule of DLPack, or a used one"));
        };
        // SAFETY: valid as long as its owner is.
        let raw = unsafe { &*raw };
        let layout = Layout::of(raw)?;
        let address = (raw.data as u64).wrapping_add(raw.byte_offset);
        if address == 0 && layout.shape.iter().all(|n| *n > 0) {
            return Err(PyBufferError::new_err("x: its memory has been freed"));
        }
        Ok(Self {
            address,
            device: (raw.device_type, raw.device_id),
            kind: (raw.code, raw.bits, raw.lanes),
            layout,
            read_only,
            _owner: owner,
        })
    }

    #[getter]
    fn shape(&self) -> Vec<usize> {
        self.layout.shape.clone()
    }

    #[getter]
    fn strides(&self) -> Vec<i64> {
        self.layout.strides.clone()
    }

    /// Kind and number of the device, as DLPack has them.
    #[getter]
    fn device(&self) -> (i32, i32) {
        self.device
    }

    /// As NumPy writes it; nothing for other types than 8 and 16 bits and float.
    #[getter]
    fn dtype(&self) -> Option<&'static str> {
        format_of(self.kind).map(dtype_name)
    }

    #[getter]
    fn read_only(&self) -> bool {
        self.read_only
    }
}

impl Layout {
    fn of(raw: &Raw) -> PyResult<Self> {
        let n = usize::try_from(raw.ndim).unwrap_or(0);
        if n == 0 || raw.shape.is_null() {
            return Err(PyValueError::new_err("x: an array without axes is no picture"));
        }
        // SAFETY: a tensor has as many sizes as axes, and strides or none.
        let (shape, strides) = unsafe {
            let strides =
                (!raw.strides.is_null()).then(|| std::slice::from_raw_parts(raw.strides, n).to_vec());
            (std::slice::from_raw_parts(raw.shape, n), strides)
        };
        let shape: Vec<usize> = shape.iter().map(|s| usize::try_from(*s).unwrap_or(0)).collect();
        let order: Vec<usize> = (0..n).collect();
        let strides = strides.unwrap_or_else(|| dense(&shape, &order));
        Ok(Self { shape, strides })
    }

    /// Without gaps, with the channels before rows and columns, whatever the order of the axes.
    fn planar(shape: Vec<usize>, channel: Option<usize>) -> Self {
        let (batch, channel, [y, x]) = roles(shape.len(), channel);
        let order: Vec<usize> = batch.into_iter().chain(channel).chain([y, x]).collect();
        let strides = dense(&shape, &order);
        Self { shape, strides }
    }

    /// For every picture, how far its planes lie from the first sample; then rows, columns and the distance of rows.
    fn pictures(&self, channel: Option<usize>) -> (Vec<Vec<i64>>, usize, usize, i64) {
        let (batch, channel, [y, x]) = roles(self.shape.len(), channel);
        let mut offsets = vec![0];
        for axis in batch {
            let steps =
                |at: &i64| (0..self.shape[axis]).map(move |i| at + i as i64 * self.strides[axis]).collect();
            offsets = offsets.iter().flat_map(|at| -> Vec<i64> { steps(at) }).collect();
        }
        let planes = |at: &i64| match channel {
            Some(c) => (0..self.shape[c]).map(|i| at + i as i64 * self.strides[c]).collect(),
            None => vec![*at],
        };
        (offsets.iter().map(planes).collect(), self.shape[y], self.shape[x], self.strides[y])
    }
}

/// Strides without gaps, the last axis of `order` being the densest.
fn dense(shape: &[usize], order: &[usize]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    let mut step = 1_i64;
    for &axis in order.iter().rev() {
        strides[axis] = step;
        step = step.saturating_mul(shape[axis].max(1) as i64);
    }
    strides
}

/// Which axes are the batch, the channel, rows and columns.
fn roles(ndim: usize, channel: Option<usize>) -> (Vec<usize>, Option<usize>, [usize; 2]) {
    let mut rest: Vec<usize> = (0..ndim).filter(|a| Some(*a) != channel).collect();
    let x = rest.pop().unwrap_or(0);
    let y = rest.pop().unwrap_or(0);
    (rest, channel, [y, x])
}

fn format_of(kind: (u8, u8, u16)) -> Option<SampleFormat> {
    match kind {
        (UNSIGNED, 8, 1) => Some(SampleFormat::U8),
        (UNSIGNED, 16, 1) => Some(SampleFormat::U16),
        (FLOAT, 32, 1) => Some(SampleFormat::F32),
        _ => None,
    }
}

fn dtype_name(format: SampleFormat) -> &'static str {
    match format {
        SampleFormat::U8 => "uint8",
        SampleFormat::U16 => "uint16",
        SampleFormat::F32 => "float32",
    }
}

/// An array on a CUDA device. Other libraries take it without a copy: `torch.from_dlpack(a)`, `cupy.asarray(a)`.
#[pyclass(frozen, module = "quell")]
pub(crate) struct DeviceArray {
    memory: Arc<DeviceMemory>,
    layout: Layout,
    format: SampleFormat,
}

/// What a tensor that was given away keeps alive.
struct Given {
    _memory: Arc<DeviceMemory>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

#[pymethods]
impl DeviceArray {
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, &self.layout.shape)
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
        let (code, bits) = match self.format {
            SampleFormat::U8 => (UNSIGNED, 8),
            SampleFormat::U16 => (UNSIGNED, 16),
            SampleFormat::F32 => (FLOAT, 32),
        };
        let mut given = Box::new(Given {
            _memory: self.memory.clone(),
            shape: self.layout.shape.iter().map(|n| *n as i64).collect(),
            strides: self.layout.strides.clone(),
        });
        let tensor = Raw {
            data: self.memory.address() as *mut c_void,
            device_type: CUDA,
            device_id: self.memory.device() as i32,
            ndim: given.shape.len() as i32,
            code,
            bits,
            lanes: 1,
            shape: given.shape.as_mut_ptr(),
            strides: given.strides.as_mut_ptr(),
            byte_offset: 0,
        };
        let context = Box::into_raw(given).cast();
        let (pointer, name, free): (*mut c_void, _, ffi::PyCapsule_Destructor) =
            if max_version.is_some_and(|v| v.0 >= 1) {
                let deleter = Some(free_versioned as unsafe extern "C" fn(*mut Versioned));
                let managed = Versioned { major: 1, minor: 0, context, deleter, flags: 0, tensor };
                (Box::into_raw(Box::new(managed)).cast(), VERSIONED, drop_versioned)
            } else {
                let deleter = Some(free_plain as unsafe extern "C" fn(*mut Plain));
                (Box::into_raw(Box::new(Plain { tensor, context, deleter })).cast(), PLAIN, drop_plain)
            };
        // SAFETY: the name lives for ever; the destructor frees what nobody has taken.
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(pointer, name.as_ptr(), Some(free))) }
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let bytes = self.format.bytes() as i64;
        let all = PyDict::new(py);
        all.set_item("shape", self.shape(py)?)?;
        let strides = self.layout.strides.iter().map(|s| s * bytes);
        all.set_item("strides", pyo3::types::PyTuple::new(py, strides.collect::<Vec<_>>())?)?;
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
        let samples: usize = self.layout.shape.iter().product();
        let mut bytes = vec![0; samples * self.format.bytes()];
        py.detach(|| self.memory.read(&mut bytes)).map_err(raise)?;
        let flat = PyArray1::from_vec(py, bytes).call_method1("view", (self.dtype(),))?;
        // As the samples lie in memory, then as the axes are.
        let mut order: Vec<usize> = (0..self.layout.shape.len()).collect();
        order.sort_by_key(|axis| std::cmp::Reverse(self.layout.strides[*axis]));
        let sizes: Vec<usize> = order.iter().map(|axis| self.layout.shape[*axis]).collect();
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, axis)| back[*axis] = i);
        flat.call_method1("reshape", (sizes,))?.call_method1("transpose", (back,))
    }

    fn __repr__(&self) -> String {
        format!("<quell.DeviceArray {:?} {} on {}>", self.layout.shape, self.dtype(), self.device())
    }
}

unsafe extern "C" fn free_plain(managed: *mut Plain) {
    // SAFETY: made by `__dlpack__`, and freed once, as DLPack demands.
    unsafe { drop(Box::from_raw(Box::from_raw(managed).context.cast::<Given>())) };
}

unsafe extern "C" fn free_versioned(managed: *mut Versioned) {
    // SAFETY: as above.
    unsafe { drop(Box::from_raw(Box::from_raw(managed).context.cast::<Given>())) };
}

unsafe extern "C" fn drop_plain(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of ours that is going away; one that was taken has another name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) != 0 {
            free_plain(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast());
        }
    }
}

unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            free_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
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
    let format =
        format_of(x.kind).ok_or_else(|| PyTypeError::new_err("x: uint8, uint16 and float32 are known"))?;
    let device = usize::try_from(x.device.1).unwrap_or(0);
    let layout = Layout::planar(x.layout.shape.clone(), channel_axis);
    let (memory, layout) = job::run(py, progress.as_ref(), move |control| {
        let bytes = format.bytes();
        let (from, height, width, pitch) = x.layout.pictures(channel_axis);
        let (to, .., to_pitch) = layout.pictures(channel_axis);
        let memory = DeviceMemory::new(device, layout.shape.iter().product::<usize>() * bytes)?;
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
        for (i, (from, to)) in from.iter().zip(&to).enumerate() {
            let model = noise.get(i).or(noise.first());
            let denoiser = engine.with(Told::new(white, model, None, None)?)?;
            let (x, out) = (planes(x.address, from, pitch)?, planes(memory.address(), to, to_pitch)?);
            let control = control.section(i, noise.len().max(to.len()));
            // Channels that are no colours are pictures of their own.
            let together = if matches!(x.len(), 1 | 3) { x.len() } else { 1 };
            for (x, out) in x.chunks(together).zip(out.chunks(together)) {
                denoiser.denoise_device(width, height, white, x, out, &control)?;
            }
        }
        Ok((memory, layout))
    })?;
    engine.worked();
    Ok(DeviceArray { memory: Arc::new(memory), layout, format })
}

/// Bytes that were copied to devices and from there, so far.
#[pyfunction]
pub(crate) fn host_traffic() -> (u64, u64) {
    host_bytes()
}
