//! The filters that non-local ones are compared with: Gaussian, bilateral, total variation, and Wiener's.
//!
//! Tomasi and Manduchi (bilateral, 1998), Rudin, Osher and Fatemi (total variation, 1992) as Chambolle minimises it
//! (2004), and the Wiener filter with the spectrum estimated from the noisy picture (Lim 1990, sec. 9.2). Differences
//! from the papers are listed in `docs/algorithms/classic.md`.

mod params;
mod plan;
mod profile;
pub mod reference;
pub(crate) mod resolve;

pub use params::{PARAMETERS, Params, Variant};
pub use plan::{Filter, Plan};
pub use profile::Profile;
