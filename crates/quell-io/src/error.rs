//! What can go wrong with files, split by whose fault it is.

use std::path::PathBuf;

/// Result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A file error. The message does not name the file; callers add it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The content is not a picture that quell knows, or is damaged.
    #[error("{0}")]
    Decode(String),
    /// The picture cannot be stored in the wanted format.
    #[error("{0}")]
    Encode(String),
    /// Well-formed, but not supported.
    #[error("{0}")]
    Unsupported(String),
    /// Larger than the limit.
    #[error("{width} x {height} pixels are more than the limit of {limit}")]
    TooLarge {
        /// Width in the header.
        width: u64,
        /// Height in the header.
        height: u64,
        /// The limit in pixels.
        limit: u64,
    },
    /// The pages together are larger than the limit.
    #[error("the pages together have more than the limit of {limit} pixels")]
    PagesTooLarge {
        /// The limit in pixels.
        limit: u64,
    },
    /// The shape of an array does not tell which sides are height and width.
    #[error("an array of shape {shape}: which axes?")]
    Axes {
        /// The shape, as NumPy writes it.
        shape: String,
        /// Axes that could be meant, best first.
        could_be: Vec<String>,
    },
    /// There is not so much memory.
    #[error("not enough memory: {bytes} bytes are needed")]
    Memory {
        /// What was asked for.
        bytes: u64,
    },
    /// The extension of an output file tells no format.
    #[error("the extension tells no picture format")]
    UnknownExtension(PathBuf),
    /// A program that is needed is not there.
    #[error("{program} was not found, and is needed for {needed}")]
    NoProgram {
        /// The name it was looked for by.
        program: String,
        /// What it is needed for.
        needed: String,
    },
    /// ffmpeg did not do what it was asked; its own last words.
    #[error("ffmpeg: {0}")]
    Ffmpeg(String),
    /// The engine refused the samples.
    #[error(transparent)]
    Frame(#[from] quell::Error),
}
