//! quell: non-local denoising of images.
//!
//! ```
//! use quell::{Denoiser, Frame, Plane, bm3d::Profile};
//!
//! let noisy = Frame::grey(Plane::from_vec(16, 16, vec![100.0; 256])?, 255.0)?;
//! let clean = Denoiser::bm3d(Profile::Normal).sigma(25.0).build()?.denoise(&noisy)?;
//! assert_eq!((clean.width(), clean.height()), (16, 16));
//! # Ok::<(), quell::Error>(())
//! ```
//!
//! | room | what is in it |
//! |---|---|
//! | [`Frame`], [`Plane`] | pictures in memory, owned or borrowed |
//! | [`Denoiser`] | the builder that most programs need and nothing else |
//! | [`method`] | BM3D, context ridge, NL-means, isolines, classic filters: parameters, profiles, plan, scalar reference |
//! | [`video`] | frames as video has them, and streams of them |
//! | [`device`] | carrying out plans: the processor, GPUs by CUDA and OpenCL |
//! | [`noise`] | estimating noise, and making it |
//! | [`metrics`] | PSNR and SSIM |
//! | [`transform`] | transforms of patches and groups, exact |
//! | [`color`] | colour spaces and their noise |
//!
//! Features: `cuda` and `opencl` (both on) work on GPUs, whose libraries are looked for at run time; `ndarray` borrows
//! and returns arrays, `image` converts from and to the buffers of the `image` crate.

pub mod color;
mod control;
mod denoiser;
pub mod device;
mod error;
mod frame;
mod memory;
pub mod method;
pub mod metrics;
pub mod noise;
pub mod transform;
pub mod video;

pub use color::ColorMode;
pub use control::{Cancel, Control, Progress, ProgressFn};
pub use denoiser::{Denoised, Denoiser, DenoiserBuilder, IsolineMap, Noise, Resolved, Seen};
pub use device::Device;
pub use error::{Error, Result};
pub use frame::{Frame, FrameView, Plane, PlaneView};
pub use method::{Method, Plan, bm3d, classic, isoline, nlm, ridge};
pub use video::{ClipNoise, Layout, Stream, VideoFormat, VideoFrame};
