//! Noise: estimating it, telling how it is correlated, what clipping made of it, and adding it for tests.

mod camera;
mod clipping;
pub mod correlated;
mod curve;
pub mod estimate;
mod random;
pub mod synth;
mod unclip;

pub use camera::{CameraNoise, camera};
pub use clipping::Clipping;
pub use curve::{Curve, CurveFound, CurvePoint, Rectangle, RegionNoise, estimate_curve, measured_on};
pub use estimate::{Blocks, Estimator, Found, estimate, measure};
pub use synth::{add_gaussian, add_poisson_gaussian};
pub use unclip::undo_clipping;
pub(crate) use unclip::{Seen, undo_seen_clipping};
