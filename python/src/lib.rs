//! quell for Python. The package `quell` handles arguments; this does the work, with the interpreter released.
//!
//! | room | what is in it |
//! |---|---|
//! | `arrays` | NumPy arrays as planes of samples, borrowed where their layout allows |
//! | `job` | work that Ctrl-C stops and that reports how far it is |
//! | `idle` | what a call uses and leaves to the next one |
//! | `device` | devices that are started, once per process |
//! | `threads` | the processor, where it is said how many threads a call has |
//! | `denoiser` | a method with its settings on a device |
//! | `parts` | some rows of a picture, with the result of the whole |
//! | `refine` | pass 2 of BM3D with a pilot |
//! | `stream` | frames of a video |
//! | `noise` | what noise is like |
//! | `metrics` | how close two pictures are |
//! | `dlpack` | arrays of other libraries on a GPU, and capsules for ours |
//! | `layout` | where the pictures of such arrays lie |
//! | `device_array` | our own arrays on a GPU, which those of others are filtered into |
//! | `program` | the program `quell` |
//! | `errors` | the engine's errors as exceptions |

mod arrays;
mod denoiser;
mod device;
mod device_array;
mod dlpack;
mod errors;
mod idle;
mod job;
mod layout;
mod metrics;
mod noise;
mod parts;
mod program;
mod refine;
mod stream;
mod threads;

use pyo3::prelude::*;

/// What `quell/_core.pyi` describes.
#[pymodule(gil_used = false)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::denoiser::{Engine, methods, parameters};
    #[pymodule_export]
    use super::device::devices;
    #[pymodule_export]
    use super::device_array::{DeviceArray, denoise_tensor, host_traffic};
    #[pymodule_export]
    use super::dlpack::Tensor;
    #[pymodule_export]
    use super::metrics::{mse, ssim};
    #[pymodule_export]
    use super::noise::{NoiseModel, estimate, measure};
    #[pymodule_export]
    use super::parts::{denoise_part, halo, part_rows};
    #[pymodule_export]
    use super::program::run_program;
    #[pymodule_export]
    use super::refine::refine;
    #[pymodule_export]
    use super::stream::Stream;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        super::errors::add(module)
    }
}
