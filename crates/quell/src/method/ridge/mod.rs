//! Context ridge: groups of small patches, found by their surroundings and mapped by one ridge regression each, while the
//! noise is taken out little by little.
//!
//! Of the family of NL-Ridge (Herbreteau and Kervrann, SIAM J. Imaging Sciences 15(4), 2022) and LIChI (the same, 2022),
//! which are profiles; what is new is in `docs/algorithms/ridge.md`.

mod params;
mod plan;
mod profile;
pub mod reference;
pub(crate) mod resolve;

pub use params::{PARAMETERS, Params, PilotKind, PilotParams};
pub use plan::{GroupSize, Plan, Round};
pub use profile::Profile;
