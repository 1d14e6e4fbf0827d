//! Denoising methods: for each its parameters and profiles, its plan, and a scalar reference that reads
//! like the paper. How a plan is carried out on a device is in [`crate::device`].

pub mod bm3d;
pub mod classic;
pub mod frames;
mod front;
pub mod group;
pub mod isoline;
pub mod nlm;
mod parameter;
mod part;
mod plan;
mod registry;
pub mod ridge;
mod rows;

pub use frames::{Averaging, Frames};
pub use front::{Front, Mix, Unclip};
pub(crate) use parameter::Settings;
pub use parameter::{Kind, Parameter};
pub use part::Part;
pub use plan::{Plan, Window, Work};
pub(crate) use plan::{Planned, lcm};
pub(crate) use registry::{Guide, Subject};
pub use registry::{Method, ParameterInfo, Params};
