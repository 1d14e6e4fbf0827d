//! Picture files for quell: decode to planar `f32` frames, encode back with the same depth and metadata.
//!
//! Nothing is ever half-written: a file appears under its name only when it is complete.

mod error;
mod picture;

pub use error::{Error, Result};
pub use picture::{Format, Metadata, Page, Picture, SampleType};

use std::path::Path;

/// How to read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Refuse pictures with more pixels than this, before memory is taken.
    pub max_pixels: u64,
    /// The sample value of white, where it is not the usual one (255, 65535 or 1.0).
    pub white: Option<f32>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { max_pixels: 1 << 29, white: None }
    }
}

/// How to write.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// JPEG quality, 1 to 100.
    pub jpeg_quality: u8,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { jpeg_quality: 95 }
    }
}

/// Reads a picture; the format is told by the content, the name only breaks ties.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Picture> {
    let _ = (path, options);
    Err(Error::Unsupported("not yet".into()))
}

/// Writes a picture in the format of the path's extension, first to a temporary file beside it, then by
/// renaming. Returns remarks on what the format could not keep.
pub fn write(path: &Path, picture: &Picture, options: &WriteOptions) -> Result<Vec<String>> {
    let _ = (path, picture, options);
    Err(Error::Unsupported("not yet".into()))
}

/// Removes the temporary files of writes in progress. For signal handlers: the process must end afterwards.
pub fn remove_unfinished() {}
