//! The engine's errors as exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{
    PyKeyboardInterrupt, PyMemoryError, PyNotImplementedError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;

create_exception!(quell, QuellError, PyRuntimeError, "Something failed that no argument is to blame for.");
create_exception!(
    quell,
    DeviceError,
    QuellError,
    "A device could not be started, or failed during the work."
);
create_exception!(quell, DeviceMemoryError, DeviceError, "A device has not enough memory for this.");

/// Puts the exceptions into the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("QuellError", py.get_type::<QuellError>())?;
    module.add("DeviceError", py.get_type::<DeviceError>())?;
    module.add("DeviceMemoryError", py.get_type::<DeviceMemoryError>())
}

/// Whose fault it is decides the type.
pub(crate) fn raise(error: quell::Error) -> PyErr {
    use quell::Error as E;
    let text = error.to_string();
    match error {
        E::Parameter { .. } | E::Shape(_) => PyValueError::new_err(text),
        E::NotFinite { .. } | E::Huge { .. } => PyValueError::new_err(format!("x: {text}")),
        E::Memory { .. } => PyMemoryError::new_err(text),
        E::Unsupported(_) => PyNotImplementedError::new_err(text),
        E::Device { .. } => DeviceError::new_err(text),
        E::DeviceMemory { .. } => DeviceMemoryError::new_err(text),
        E::Cancelled => PyKeyboardInterrupt::new_err(()),
        _ => QuellError::new_err(text),
    }
}
