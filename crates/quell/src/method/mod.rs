//! Denoising methods: for each its parameters and profiles, its plan, and a scalar reference that reads
//! like the paper. How a plan is carried out on a device is in [`crate::device`].

pub mod bm3d;
pub mod nlm;
mod parameter;

pub use parameter::Parameter;
