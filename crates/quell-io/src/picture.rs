//! A decoded picture file.

use std::path::Path;

use quell::{Frame, Plane};

pub use crate::codec::ExrMetadata;

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
    /// Every format.
    pub const ALL: [Self; 8] =
        [Self::Png, Self::Jpeg, Self::Tiff, Self::WebP, Self::Pnm, Self::Pfm, Self::Exr, Self::Npy];

    /// The usual name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Tiff => "TIFF",
            Self::WebP => "WebP",
            Self::Pnm => "PNM",
            Self::Pfm => "PFM",
            Self::Exr => "OpenEXR",
            Self::Npy => "NPY",
        }
    }

    /// The format that a path's extension stands for.
    pub fn from_path(path: &Path) -> Option<Self> {
        Self::from_extension(path.extension()?.to_str()?)
    }

    /// The format that an extension (without the dot, in any case) stands for.
    pub fn from_extension(extension: &str) -> Option<Self> {
        Some(match extension.to_ascii_lowercase().as_str() {
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
    /// 16-bit float, white 1.0.
    F16,
    /// 32-bit float, white 1.0; written without clipping.
    F32,
}

impl SampleType {
    /// The usual value of white.
    pub fn white(self) -> f32 {
        match self {
            Self::U8 => 255.0,
            Self::U16 => 65535.0,
            Self::F16 | Self::F32 => 1.0,
        }
    }

    /// Bytes of one sample.
    pub fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 => 2,
            Self::F32 => 4,
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

/// What is carried from input to output besides the samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// ICC colour profile.
    pub icc: Option<Vec<u8>>,
    /// EXIF block (TIFF structure, without the `Exif\0\0` prefix).
    pub exif: Option<Vec<u8>>,
    /// XMP packet.
    pub xmp: Option<Vec<u8>>,
    /// The colours are multiplied by alpha already (OpenEXR, some TIFF).
    pub premultiplied: bool,
    /// PNG chunks on colour, resolution and text, as type and content; carried from PNG to PNG only.
    pub png: Vec<([u8; 4], Vec<u8>)>,
    /// What only JPEG has; carried from JPEG to JPEG.
    pub jpeg: JpegMetadata,
    /// What only OpenEXR has: attributes, windows, compression; carried from OpenEXR to OpenEXR.
    pub exr: Option<ExrMetadata>,
}

/// What only JPEG files have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JpegMetadata {
    /// Segments as marker and content: IPTC, the second part of XMP, comments, what programs keep there.
    pub segments: Vec<(u8, Vec<u8>)>,
    /// Resolution: its unit (0 none, 1 inch, 2 centimetre), across and down.
    pub density: Option<(u8, u16, u16)>,
    /// Luma samples for each chroma sample, across and down, where that is not one: the result has as many.
    pub sampling: Option<(u8, u8)>,
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
