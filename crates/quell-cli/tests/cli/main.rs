//! The program as its users meet it: every test runs the built binary in a folder of its own.

mod arrays;
#[cfg(unix)]
mod clips;
mod commands;
mod common;
#[cfg(unix)]
mod containers;
#[cfg(unix)]
mod damaged;
mod devices;
#[cfg(target_os = "linux")]
mod drivers;
mod failures;
mod files;
mod filtering;
mod help;
#[cfg(unix)]
mod interrupt;
mod isoline;
mod large;
#[cfg(unix)]
mod matrix_clips;
#[cfg(unix)]
mod matrix_pictures;
mod memory;
#[cfg(unix)]
mod names;
mod noise;
mod noise_model;
mod skipping;
mod video;
