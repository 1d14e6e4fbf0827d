//! Noise: estimating it, telling how it is correlated, and adding it for tests.

pub mod correlated;
pub mod estimate;
mod random;
pub mod synth;

pub use estimate::{Estimator, estimate};
pub use synth::{add_gaussian, add_poisson_gaussian};
