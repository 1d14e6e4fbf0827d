//! Isoline filters on a GPU.

mod lines;
#[cfg(test)]
pub(crate) mod lines_tests;
