//! A decoded picture file.

use std::path::Path;

use quell::{Frame, Plane};

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Portable Network Graphics, 8 and 16 bits.
    Png,
    /// JPEG, 8 bits.
    Jpeg,
    /// TIFF, 8 and 16 bits and 32-bit float, several pages.
    Tiff,
    /// WebP, 8 bits, written lossless.
    WebP,
    /// Portable anymap: PBM, PGM, PPM, PAM.
    Pnm,
    /// Portable float map.
    Pfm,
    /// OpenEXR, float.
    Exr,
    /// NumPy array.
    Npy,
}

impl Format {
    /// The format that a path's extension stands for.
    pub fn from_path(path: &Path) -> Option<Self> {
        let ext = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match ext.as_str() {
            "png" => Self::Png,
            "jpg" | "jpeg" | "jpe" | "jfif" => Self::Jpeg,
            "tif" | "tiff" => Self::Tiff,
            "webp" => Self::WebP,
            "pbm" | "pgm" | "ppm" | "pnm" | "pam" => Self::Pnm,
            "pfm" => Self::Pfm,
            "exr" => Self::Exr,
            "npy" => Self::Npy,
            _ => return None,
        })
    }
}

/// The type of a file's samples; decides the usual white level and how results are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleType {
    /// 8 bits, white 255.
    U8,
    /// 16 bits, white 65535.
    U16,
    /// 32-bit float, white 1.0; written without clipping.
    F32,
}

impl SampleType {
    /// The usual value of white.
    pub fn white(self) -> f32 {
        match self {
            Self::U8 => 255.0,
            Self::U16 => 65535.0,
            Self::F32 => 1.0,
        }
    }
}

/// One page: its colours, its alpha, and how its samples were stored.
#[derive(Clone, Debug)]
pub struct Page {
    /// Grey or RGB in the file's own sample units; the frame's white is the file's.
    pub frame: Frame,
    /// Alpha in the file's own sample units; never filtered.
    pub alpha: Option<Plane>,
    /// How the samples were stored, and will be again.
    pub samples: SampleType,
}

/// What is carried from input to output as opaque bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// ICC colour profile.
    pub icc: Option<Vec<u8>>,
    /// EXIF block (TIFF structure, without the `Exif\0\0` prefix).
    pub exif: Option<Vec<u8>>,
    /// XMP packet.
    pub xmp: Option<Vec<u8>>,
}

/// A decoded picture file.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The pages; only TIFF has more than one.
    pub pages: Vec<Page>,
    /// What is carried over.
    pub metadata: Metadata,
    /// The format it was read from.
    pub format: Format,
    /// Remarks for the user: a palette was expanded, a profile could not be read.
    pub notes: Vec<String>,
}
