//! BM3D: collaborative filtering of groups of similar patches, in two passes.
//!
//! Dabov, Foi, Katkovnik and Egiazarian, IEEE Trans. Image Processing 16(8), 2007, with the corrections of
//! Lebrun (IPOL 2012) and, where a profile says `exact`, the exact variances of Makinen, Azzari and Foi
//! (IEEE Trans. Image Processing 29, 2020). Differences from the papers are listed in `docs/algorithms/bm3d.md`.

mod params;
mod plan;
mod profile;
pub mod reference;
pub(crate) mod resolve;
mod spectrum;

pub use super::group::{Match, MatchingPlane, grid};
pub use params::{PARAMETERS, Params, PassParams, Weight};
pub use plan::{PassPlan, Plan, Shrink};
pub use profile::Profile;
pub use spectrum::Spectrum;
