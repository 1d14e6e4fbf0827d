//! NL-means: every pixel becomes the average of the pixels around it in space and time, weighted by how similar their
//! patches are.
//!
//! Goossens, Luong, Aelterman, Pizurica and Philips (real-time colour video, separable distances, symmetric weights),
//! with the weights, the patchwise variant and the parameter table of Buades, Coll and Morel (IPOL 2011). Differences
//! from the papers are listed in `docs/algorithms/nlm.md`.

mod params;
mod plan;
mod profile;
pub mod reference;
pub(crate) mod resolve;

pub use params::{Center, Chroma, PARAMETERS, Params, Weight};
pub use plan::{Plan, fold};
pub use profile::Profile;
