//! Video: frames as they are stored, and streams of them.
//!
//! Every method filters streams: BM3D frame by frame, NL-means with the frames around each. Chroma that is smaller than
//! luma keeps its resolution.

mod chroma;
mod format;
mod lane;
mod noise;
mod stream;
mod watch;

pub use format::{Layout, VideoFormat, VideoFrame};
pub use noise::ClipNoise;
pub use stream::Stream;
