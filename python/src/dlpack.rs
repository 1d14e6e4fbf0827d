//! DLPack: arrays of other libraries on a GPU, borrowed; and capsules for those of ours.
//!
//! Its few structures are written out here: crates for it bring arrays of their own, while all that is wanted is where
//! somebody else's samples lie, and a way to give ours away.

use std::ffi::{CStr, c_void};

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use quell::device::SampleFormat;

use crate::layout::Layout;

/// `kDLCUDA`.
pub(crate) const CUDA: i32 = 2;
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
    pub(crate) address: u64,
    pub(crate) device: (i32, i32),
    kind: (u8, u8, u16),
    pub(crate) layout: Layout,
    read_only: bool,
    _owner: Owner,
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
        let layout = layout_of(raw)?;
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
        self.format().map(dtype_name)
    }

    #[getter]
    fn read_only(&self) -> bool {
        self.read_only
    }
}

impl Tensor {
    /// The type of the samples, where it is one of those that are known on a device.
    pub(crate) fn format(&self) -> Option<SampleFormat> {
        match self.kind {
            (UNSIGNED, 8, 1) => Some(SampleFormat::U8),
            (UNSIGNED, 16, 1) => Some(SampleFormat::U16),
            (FLOAT, 32, 1) => Some(SampleFormat::F32),
            _ => None,
        }
    }
}

/// The name that NumPy has for it.
pub(crate) fn dtype_name(format: SampleFormat) -> &'static str {
    match format {
        SampleFormat::U8 => "uint8",
        SampleFormat::U16 => "uint16",
        SampleFormat::F32 => "float32",
    }
}

fn layout_of(raw: &Raw) -> PyResult<Layout> {
    let n = usize::try_from(raw.ndim).unwrap_or(0);
    if n == 0 || raw.shape.is_null() {
        return Err(PyValueError::new_err("x: an array without axes is no picture"));
    }
    // SAFETY: a tensor has as many sizes as axes, and strides or none.
    let (shape, strides) = unsafe {
        let strides = (!raw.strides.is_null()).then(|| std::slice::from_raw_parts(raw.strides, n).to_vec());
        (std::slice::from_raw_parts(raw.shape, n), strides)
    };
    let shape = shape.iter().map(|s| usize::try_from(*s).unwrap_or(0)).collect();
    let dense = Layout::dense(shape);
    Ok(Layout { strides: strides.unwrap_or(dense.strides), shape: dense.shape })
}

/// What a tensor that was given away keeps alive.
struct Given<T> {
    _owner: T,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// A capsule for memory of a CUDA device, which keeps `owner`. `versioned`: of the form that has had versions since DLPack 1.
pub(crate) fn give<'py, T: Send + 'static>(
    py: Python<'py>,
    owner: T,
    (address, device): (u64, usize),
    format: SampleFormat,
    layout: &Layout,
    versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (code, bits) = match format {
        SampleFormat::U8 => (UNSIGNED, 8),
        SampleFormat::U16 => (UNSIGNED, 16),
        SampleFormat::F32 => (FLOAT, 32),
    };
    let mut given = Box::new(Given {
        _owner: owner,
        shape: layout.shape.iter().map(|n| *n as i64).collect(),
        strides: layout.strides.clone(),
    });
    let tensor = Raw {
        data: address as *mut c_void,
        device_type: CUDA,
        device_id: device as i32,
        ndim: given.shape.len() as i32,
        code,
        bits,
        lanes: 1,
        shape: given.shape.as_mut_ptr(),
        strides: given.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let context = Box::into_raw(given).cast();
    let (pointer, name, free): (*mut c_void, _, ffi::PyCapsule_Destructor) = if versioned {
        let deleter = Some(free_versioned::<T> as unsafe extern "C" fn(*mut Versioned));
        let managed = Versioned { major: 1, minor: 0, context, deleter, flags: 0, tensor };
        (Box::into_raw(Box::new(managed)).cast(), VERSIONED, drop_versioned)
    } else {
        let deleter = Some(free_plain::<T> as unsafe extern "C" fn(*mut Plain));
        (Box::into_raw(Box::new(Plain { tensor, context, deleter })).cast(), PLAIN, drop_plain)
    };
    // SAFETY: the name lives for ever; the destructor frees what nobody has taken.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(pointer, name.as_ptr(), Some(free))) }
}

unsafe extern "C" fn free_plain<T>(managed: *mut Plain) {
    // SAFETY: made by `give`, and freed once, as DLPack demands.
    unsafe { drop(Box::from_raw(Box::from_raw(managed).context.cast::<Given<T>>())) };
}

unsafe extern "C" fn free_versioned<T>(managed: *mut Versioned) {
    // SAFETY: as above.
    unsafe { drop(Box::from_raw(Box::from_raw(managed).context.cast::<Given<T>>())) };
}

unsafe extern "C" fn drop_plain(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule that is going away; one that was taken has another name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) != 0 {
            drop(Owner::Plain(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast()));
        }
    }
}

unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            drop(Owner::Versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast()));
        }
    }
}
