//! The program `quell`, in this process.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program with these words of a command line, its own name first, and returns the exit code.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| quell_cli::main_with(args))
}
