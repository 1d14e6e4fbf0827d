//! Noise: estimating it, telling how it is correlated, what clipping made of it, and adding it for tests.

mod camera;
mod clipping;
pub mod correlated;
mod curve;
pub mod estimate;
mod model;
mod random;
mod region;
pub mod synth;
mod unclip;

pub use camera::{CameraNoise, camera};
pub use clipping::{Clipping, Ends};
pub use curve::{Curve, CurveFound, CurvePoint, estimate_curve};
pub(crate) use estimate::measure_finite;
pub use estimate::{Blocks, Estimator, Found, estimate, measure};
pub use model::{Model, Origin};
pub use region::measure_region;
pub use synth::{add_gaussian, add_poisson_gaussian};
pub use unclip::undo_clipping;
pub(crate) use unclip::{REACH as UNCLIP_REACH, clipped_ends, undo_at};
