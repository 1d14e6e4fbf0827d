//! Containers of every kind through the program ffmpeg: frames over pipes, everything else copied from file to file.

mod decode;
mod encode;
mod probe;
mod sample;
mod tool;

pub(crate) use decode::Decoder;
pub(crate) use encode::Encoder;
pub(crate) use probe::Probe;
pub(crate) use sample::sample;
pub(crate) use tool::stop_all;

/// Raw RGB goes over the pipe as planes of green, blue and red.
const GBR: [usize; 3] = [1, 2, 0];
