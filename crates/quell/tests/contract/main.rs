//! The numerical contract, clause by clause, through the public interface only.
//!
//! One binary: the tests share their pictures and the crate is linked once.

mod bits;
mod check;
mod coloured;
mod common;
mod conformance;
mod control;
mod curve;
mod goldens;
mod input;
mod isoline;
mod isoline_frames;
mod matching;
mod parameters;
mod parts;
mod properties;
mod samples;
mod scale;
mod small;
mod video;
