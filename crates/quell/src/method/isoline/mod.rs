//! Isoline filters: every pixel becomes the average of pixels along lines on which the grey level stays the same.
//!
//! PI-LD, PI-PD and hybrid PI-PD of Perrot, Domas, Couturier and Bertaux ("Fast GPU-based denoising filter using isoline
//! levels"), with the corrections listed in `docs/algorithms/isoline.md`; and quell's own filters on the same patterns:
//! pooled segments, their residual restored along lines, and a second round guided by the first.

mod params;
mod patterns;
mod picture;
mod plan;
mod profile;
pub mod reference;
pub(crate) mod resolve;

pub use crate::method::Averaging;
pub use params::{Map, PARAMETERS, Params, Variant};
pub use patterns::{Offset, Patterns};
pub use plan::{Blur, Plan, Pooling, Restoring, Square};
pub use profile::Profile;
