//! The program as its users meet it: every test runs the built binary in a folder of its own.

mod commands;
mod common;
mod devices;
#[cfg(target_os = "linux")]
mod drivers;
mod failures;
mod files;
mod filtering;
#[cfg(unix)]
mod interrupt;
mod isoline;
mod memory;
mod video;
