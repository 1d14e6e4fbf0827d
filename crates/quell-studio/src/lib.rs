//! quell in a window: a server for this machine alone, and the page that it serves.
//!
//! `API.md` is what the page and the server have agreed on. The rooms, from the outside in:
//!
//! | room | what is in it |
//! |---|---|
//! | `server`, `routes`, [`guard`], `assets` | addresses, who may ask, and the page |
//! | [`library`], `source`, `page`, `giant`, `clip` | what was opened, and its samples |
//! | [`settings`], `presets` | settings are flags of the program |
//! | `work`, `pace`, `plans`, `store`, `tile` | results: what is wanted first, what is kept, rectangles of it |
//! | `noise`, `groups`, `isolines`, `compare`, `spectrum` | looking closer |
//! | `export`, `events` | files, and what the page is told meanwhile |
//!
//! What files and flags mean is the business of the [`Program`], which is quell's command line: so that what is seen is
//! what it writes.
#![forbid(unsafe_code)]

mod assets;
mod clip;
mod compare;
mod events;
mod export;
mod giant;
mod groups;
pub mod guard;
mod isolines;
pub mod library;
mod noise;
mod pace;
mod page;
mod plans;
mod presets;
mod problem;
mod program;
mod routes;
mod server;
pub mod settings;
mod source;
mod spectrum;
mod store;
mod studio;
mod tile;
mod work;

pub use problem::{Kind, Problem};
pub use program::{Export, Program};
pub use server::{Opened, Options, serve};
