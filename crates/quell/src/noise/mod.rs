//! Noise: estimating it, and adding it for tests.

pub mod estimate;

pub use estimate::{Estimator, estimate};
