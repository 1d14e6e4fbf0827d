//! The experiments of the papers behind quell, repeated on the machine at hand, beside what was published.
//!
//! ```
//! let catalogue = quell_lab::Catalogue::new();
//! let experiment = catalogue.find("cuenat-window").unwrap();
//! assert_eq!(experiment.source, "cuenat");
//! ```
//!
//! | room | what is in it |
//! |---|---|
//! | [`Catalogue`] | the experiments as data: what varies, what is measured, what was published (`data/*.toml`) |
//! | [`Material`] | pictures and clips: given, shipped or drawn |
//! | [`run()`] | every case of some experiments, one protocol; goes on where it stopped |
//! | [`Sweep`] | any parameters of any method: what is best in a given time |
//! | [`report()`] | one page with plots and tables, CSV and JSON beside it |
//! | [`scene`] | a drawn picture with the statistics of photographs |
#![forbid(unsafe_code)]

mod case;
mod catalogue;
mod clip;
mod error;
mod finding;
mod machine;
mod material;
mod measure;
mod published;
mod report;
mod run;
pub mod scene;
mod sweep;

pub use case::{Case, Row};
pub use catalogue::{Catalogue, Experiment};
pub use error::{Error, Result};
pub use machine::Machine;
pub use material::Material;
pub use report::{Section, report};
pub use run::{Options, Watch, run};
pub use sweep::{Axis, Sweep};
