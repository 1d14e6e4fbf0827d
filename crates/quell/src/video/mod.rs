//! Video: frames as they are stored, and streams of them.

mod format;

pub use format::{Layout, VideoFormat, VideoFrame};
