//! Picture files for quell: decode to planar `f32` frames, encode back with the same depth and metadata.
//!
//! ```
//! use std::path::Path;
//! use quell_io::{ReadOptions, WriteOptions};
//!
//! # let folder = std::env::temp_dir().join(format!("quell-io-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let (input, output) = (folder.join("in.pgm"), folder.join("out.png"));
//! # std::fs::write(&input, b"P5 2 1 255\n\x00\xff")?;
//! # let (input, output): (&Path, &Path) = (&input, &output);
//! let mut picture = quell_io::read(input, &ReadOptions::default())?;
//! for page in &mut picture.pages {
//!     for sample in page.frame.planes_mut()[0].as_mut_slice() {
//!         *sample = 255.0 - *sample;
//!     }
//! }
//! for remark in quell_io::write(output, &picture, &WriteOptions::default())? {
//!     eprintln!("note: {remark}");
//! }
//! # assert_eq!(quell_io::read(output, &ReadOptions::default())?.pages[0].frame.planes()[0].as_slice(), [255.0, 0.0]);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | format | samples | layouts | kept |
//! |---|---|---|---|
//! | PNG | 8, 16 bits | grey, RGB, each with alpha | ICC, EXIF, XMP, colour, text and other chunks |
//! | JPEG | 8 bits | grey, RGB | ICC, EXIF, XMP, IPTC, comments, resolution, chroma sampling |
//! | TIFF, BigTIFF | 8, 16, 32 bits, signed or not; float of 16, 32, 64 bits | grey, RGB, each with alpha; channels; pages | every field that does not say how samples are stored |
//! | WebP | 8 bits, written lossless | RGB, RGBA | ICC, EXIF, XMP |
//! | PNM: PBM, PGM, PPM, PAM | 8, 16 bits and the largest value | grey, RGB, each with alpha | |
//! | PFM | float | grey, RGB | |
//! | OpenEXR | half, float | grey, RGB, each with alpha | attributes, windows, compression |
//! | NumPy `.npy` | as TIFF | `H x W`, `H x W x 3` and `4`, any other by [`Axes`] | shape, order, byte order |
//!
//! Samples keep the file's own units: 0 to 255 for 8 bits, 0 to 65535 for 16 bits, float as it is.
//! Rounding and clipping happen only when integers are written; float is written as it is. What a format
//! cannot hold is converted by the white level, and [`write()`] says so.
//!
//! Clips are read and written frame by frame: [`video`]. Pictures larger than memory are read and written in bands of
//! rows: [`bands`].
//!
//! Nothing is ever half-written: a file appears under its name only when it is complete.
//! Sizes are checked against [`ReadOptions::max_pixels`] before memory is taken.

#![forbid(unsafe_code)]

mod access;
mod atomic;
mod axes;
pub mod bands;
mod codec;
mod error;
mod exif;
mod input;
mod picture;
mod sniff;
mod stale;
pub mod video;

pub use atomic::{copy, remove_unfinished, save};
pub use axes::Axes;
pub use error::{Error, Result};
pub use picture::{
    ArrayLayout, Camera, ExrMetadata, Format, JpegMetadata, Metadata, Page, Picture, SampleType, TiffLayout,
};
pub use stale::remove_stale;

use std::io::{ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

/// How to read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Refuse pictures with more pixels than this, all pages together, before memory is taken.
    pub max_pixels: u64,
    /// The sample value of white, where it is not the usual one ([`SampleType::white`]).
    pub white: Option<f32>,
    /// What the sides of NumPy arrays are, where the shape does not tell.
    pub axes: Option<Axes>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { max_pixels: 1 << 29, white: None, axes: None }
    }
}

/// How to write.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// JPEG quality, 1 to 100.
    pub jpeg_quality: u8,
    /// The file that the picture comes from: a new file grants nobody more than it does.
    pub source: Option<PathBuf>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { jpeg_quality: 95, source: None }
    }
}

/// Reads a picture; the format is told by the content, the name only breaks ties.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Picture> {
    let bytes = std::fs::read(path).map_err(|e| match e.kind() {
        ErrorKind::OutOfMemory => Error::Memory { bytes: path.metadata().map_or(0, |m| m.len()) },
        _ => Error::Io(e),
    })?;
    decode(&bytes, path.extension().and_then(|e| e.to_str()), options)
}

/// Decodes a picture from memory. The content tells the format; an `extension` that says another one is
/// mentioned in the picture's notes.
pub fn decode(bytes: &[u8], extension: Option<&str>, options: &ReadOptions) -> Result<Picture> {
    refuse_raw(extension)?;
    let format = tell_format(bytes)?;
    let mut picture = codec::decode(format, bytes, options)?;
    picture.notes.splice(0..0, misnamed(extension, format));
    Ok(picture)
}

/// The format that the first bytes of a file tell.
fn tell_format(bytes: &[u8]) -> Result<Format> {
    Format::from_bytes(bytes).ok_or_else(|| Error::Decode(sniff::describe(bytes)))
}

/// The note on a name that says another format than the content.
fn misnamed(extension: Option<&str>, format: Format) -> Option<String> {
    let extension = extension?.to_ascii_lowercase();
    let named = Format::from_extension(&extension)?;
    (named != format).then(|| format!("named .{extension}, but the content is {}", format.name()))
}

/// Refuses names of camera raw files.
fn refuse_raw(extension: Option<&str>) -> Result<()> {
    match extension.map(str::to_ascii_lowercase).filter(|e| RAW.contains(&e.as_str())) {
        Some(e) => {
            Err(Error::Unsupported(format!(".{e} is a camera raw file; develop it to a 16-bit TIFF first")))
        }
        None => Ok(()),
    }
}

/// Extensions of camera raw files. Most are TIFF inside, with only a thumbnail where a picture is expected.
const RAW: [&str; 12] = ["arw", "cr2", "cr3", "dng", "nef", "nrw", "orf", "pef", "raf", "rw2", "srw", "3fr"];

/// Whether the name is that of a camera raw file, which has to be developed first.
pub fn is_raw(path: &Path) -> bool {
    path.extension().and_then(|e| e.to_str()).is_some_and(|e| RAW.contains(&&*e.to_ascii_lowercase()))
}

/// Writes a picture in the format of the path's extension, first to a temporary file beside it, then by
/// renaming. Returns remarks on what the format could not keep.
pub fn write(path: &Path, picture: &Picture, options: &WriteOptions) -> Result<Vec<String>> {
    let format = Format::from_path(path).ok_or_else(|| Error::UnknownExtension(path.to_path_buf()))?;
    atomic::replace(path, options.source.as_deref(), |writer| encode(picture, format, options, writer))
}

/// Encodes a picture. Returns remarks on what the format could not keep.
///
/// The writer should be buffered; after an error what was written so far is of no use.
pub fn encode(
    picture: &Picture,
    format: Format,
    options: &WriteOptions,
    writer: impl Write + Seek,
) -> Result<Vec<String>> {
    codec::encode(picture, format, options, writer)
}
