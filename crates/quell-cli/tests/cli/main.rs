//! The program as its users meet it: every test runs the built binary in a folder of its own.

mod commands;
mod common;
mod devices;
mod failures;
mod files;
mod filtering;
#[cfg(unix)]
mod interrupt;
