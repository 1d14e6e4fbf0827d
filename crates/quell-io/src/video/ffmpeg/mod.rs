//! Containers of every kind through the program ffmpeg: frames over pipes, everything else copied from file to file.

mod codec;
mod decode;
mod encode;
mod hdr;
mod look;
mod makers;
mod pixels;
mod probe;
mod program;
mod sample;
mod source;
mod tool;

pub(crate) use decode::Decoder;
pub(crate) use encode::Encoder;
pub(crate) use probe::Probe;
#[doc(hidden)]
pub use probe::parse_probe;
pub(crate) use sample::sample;
pub(crate) use tool::stop_all;

/// Raw RGB goes over the pipe as planes of green, blue and red.
const GBR: [usize; 3] = [1, 2, 0];
