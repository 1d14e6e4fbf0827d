//! Noise: estimating it, telling how it is correlated, what clipping made of it, and adding it for tests.

mod camera;
mod clipping;
pub mod correlated;
pub mod estimate;
mod random;
pub mod synth;
mod unclip;

pub use camera::{CameraNoise, camera};
pub use clipping::{Clipping, Ends};
pub use estimate::{Blocks, Estimator, Found, estimate, measure};
pub use synth::{add_gaussian, add_poisson_gaussian};
pub use unclip::undo_clipping;
pub(crate) use unclip::{REACH as UNCLIP_REACH, clipped_ends, undo_at};
