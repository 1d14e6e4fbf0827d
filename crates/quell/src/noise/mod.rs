//! Noise: estimating it, and adding it for tests.

pub mod estimate;
mod random;
pub mod synth;

pub use estimate::{Estimator, estimate};
pub use synth::{add_gaussian, add_poisson_gaussian};
