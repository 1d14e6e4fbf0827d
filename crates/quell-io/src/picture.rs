//! A decoded picture file.

use std::path::Path;

use quell::{Frame, Plane};

pub use crate::codec::ExrMetadata;

use crate::Axes;
use crate::codec::tiff::Directory;
use crate::exif::Fields;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Portable Network Graphics, 8 and 16 bits.
    Png,
    /// JPEG, 8 bits.
    Jpeg,
    /// TIFF, integers of 8 to 32 bits and float, several pages.
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
    /// 16 bits, signed, white 32767; negative values are kept.
    I16,
    /// 32 bits, white 65535; values up to 2^24 are read, which `f32` holds exactly.
    U32,
    /// 32 bits, signed, white 65535; values of at most 2^24 are read.
    I32,
    /// 16-bit float, white 1.0.
    F16,
    /// 32-bit float, white 1.0; written without clipping.
    F32,
    /// 64-bit float, white 1.0; read to the precision of 32 bits.
    F64,
}

impl SampleType {
    /// The usual value of white.
    pub fn white(self) -> f32 {
        match self {
            Self::U8 => 255.0,
            // 32 bits hold sums and counts, seldom their own full range.
            Self::U16 | Self::U32 | Self::I32 => 65535.0,
            Self::I16 => 32767.0,
            Self::F16 | Self::F32 | Self::F64 => 1.0,
        }
    }

    /// Bytes of one sample.
    pub fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Whether results are stored without rounding.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// For messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::U8 => "8-bit",
            Self::U16 => "16-bit",
            Self::I16 => "signed 16-bit",
            Self::U32 => "32-bit integer",
            Self::I32 => "signed 32-bit integer",
            Self::F16 => "16-bit float",
            Self::F32 => "float",
            Self::F64 => "64-bit float",
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
    /// How a TIFF file was laid out, and its fields; carried from TIFF to TIFF only.
    pub tiff: TiffLayout,
    /// How a NumPy array was laid out; carried from NPY to NPY only.
    pub array: Option<ArrayLayout>,
    /// What only JPEG has; carried from JPEG to JPEG.
    pub jpeg: JpegMetadata,
    /// What only OpenEXR has: attributes, windows, compression; carried from OpenEXR to OpenEXR.
    pub exr: Option<ExrMetadata>,
}

/// The camera that took a picture, as EXIF has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Camera {
    /// Maker and model.
    pub name: Option<String>,
    /// Sensitivity.
    pub iso: Option<u32>,
}

impl Metadata {
    /// The camera, where EXIF names it.
    pub fn camera(&self) -> Camera {
        let fields = self.exif.as_deref().and_then(Fields::parse).unwrap_or_default();
        Camera { name: fields.camera(), iso: fields.iso() }
    }
}

/// How a TIFF file was laid out, so that a result is laid out in the same way. The default stands for pages of
/// plain grey or RGB without fields of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TiffLayout {
    /// Most significant bytes first. Some fields hold numbers in this order.
    pub(crate) big_endian: bool,
    /// BigTIFF.
    pub(crate) big: bool,
    /// The directories that pages came from, in order; none if all are plain.
    pub(crate) directories: Vec<Directory>,
}

/// How a NumPy array was laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayLayout {
    /// Sides of the array.
    pub(crate) shape: Vec<usize>,
    /// What each side is; as many as sides.
    pub(crate) axes: Axes,
    /// The first index varies fastest.
    pub(crate) fortran: bool,
    /// Most significant bytes first.
    pub(crate) big_endian: bool,
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
    /// The pages: those of a TIFF file, and the channels and slices of a stack, each filtered on its own.
    pub pages: Vec<Page>,
    /// What is carried over.
    pub metadata: Metadata,
    /// The format it was read from.
    pub format: Format,
    /// Remarks for the user: a palette was expanded, a profile could not be read.
    pub notes: Vec<String>,
}
