//! The rule for every field of a TIFF directory: it says how samples are stored and is made anew, or it is
//! carried as it is, or it cannot be carried and a note says so.

use crate::exif::{EXIF_IFD, Field, GPS_IFD};

pub(super) const SUBFILE: u16 = 254;
pub(super) const WIDTH: u16 = 256;
pub(super) const HEIGHT: u16 = 257;
pub(super) const BITS: u16 = 258;
pub(super) const COMPRESSION: u16 = 259;
pub(super) const PHOTOMETRIC: u16 = 262;
pub(super) const FILL_ORDER: u16 = 266;
pub(super) const DESCRIPTION: u16 = 270;
pub(super) const STRIP_OFFSETS: u16 = 273;
pub(super) const CHANNELS: u16 = 277;
pub(super) const ROWS_PER_STRIP: u16 = 278;
pub(super) const STRIP_LENGTHS: u16 = 279;
pub(super) const PLANAR: u16 = 284;
pub(super) const PREDICTOR: u16 = 317;
pub(super) const COLOR_MAP: u16 = 320;
pub(super) const TILE_WIDTH: u16 = 322;
pub(super) const TILE_HEIGHT: u16 = 323;
pub(super) const TILE_OFFSETS: u16 = 324;
pub(super) const TILE_LENGTHS: u16 = 325;
const SUB_DIRECTORIES: u16 = 330;
pub(super) const EXTRA_SAMPLES: u16 = 338;
pub(super) const SAMPLE_FORMAT: u16 = 339;
pub(super) const JPEG_TABLES: u16 = 347;
pub(super) const XMP: u16 = 700;
/// Planes of a MetaMorph stack.
pub(super) const STK_PLANES: u16 = 33629;
/// Zeiss' block on a whole LSM file, full of offsets into it.
pub(super) const LSM: u16 = 34412;
pub(super) const ICC: u16 = 34675;

/// What becomes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Says how samples are stored.
    Storage,
    /// Is written as it was.
    Carried,
    /// Is not: why.
    Lost(&'static str),
}

pub(super) fn fate(field: &Field) -> Fate {
    match field.tag {
        256..=259 | 262 | FILL_ORDER | 273 | 277..=279 | PLANAR | 288 | 289 | 292 | 293 | PREDICTOR => {
            Fate::Storage
        }
        COLOR_MAP | 322..=328 | EXTRA_SAMPLES | SAMPLE_FORMAT | JPEG_TABLES | 512..=521 | 529..=532 | 559 => {
            Fate::Storage
        }
        // In their own way: with EXIF, and as what all formats have.
        EXIF_IFD | GPS_IFD | ICC | XMP => Fate::Storage,
        SUB_DIRECTORIES => Fate::Lost("smaller copies of a page (SubIFDs)"),
        LSM => Fate::Lost("the microscope's LSM block"),
        33628..=33631 => Fate::Lost("MetaMorph's fields"),
        37724 => Fate::Lost("Photoshop's layers"),
        // Ranges of DNG; between them are fields of ImageJ and Micro-Manager.
        50706..=50741
        | 50778..=50781
        | 50827..=50834
        | 50879
        | 50931..=50975
        | 50981..=51022
        | 51041..=51112
        | 51125 => Fate::Lost("fields of a digital negative"),
        // A pointer without what it points to is of no use.
        400 | 40965 => Fate::Lost("directories of other programs"),
        _ => match field.kind {
            13 | 18 => Fate::Lost("directories of other programs"),
            1..=12 | 16 | 17 => Fate::Carried,
            _ => Fate::Lost("fields of an unknown type"),
        },
    }
}

/// The unsigned numbers of a field.
pub(super) fn numbers(field: &Field) -> Option<Vec<u64>> {
    let data = &field.data;
    Some(match field.kind {
        1 => data.iter().map(|b| u64::from(*b)).collect(),
        3 => data.as_chunks().0.iter().map(|b| u16::from_ne_bytes(*b).into()).collect(),
        4 | 13 => data.as_chunks().0.iter().map(|b| u32::from_ne_bytes(*b).into()).collect(),
        16 | 18 => data.as_chunks().0.iter().map(|b| u64::from_ne_bytes(*b)).collect(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_microscopes_and_maps_are_carried() {
        // Resolution, software, date, artist, copyright, page names, numbers; ImageJ, Micro-Manager, GeoTIFF.
        let tags = [269, 270, 282, 283, 296, 285, 297, 305, 306, 315, 33432, 318, 319, 50838, 50839, 51123];
        for tag in tags.into_iter().chain([33550, 33922, 34264, 34735, 34736, 34737, 42112, 42113, 65000]) {
            assert_eq!(fate(&Field { tag, kind: 2, data: vec![] }), Fate::Carried, "{tag}");
        }
        assert!(matches!(fate(&Field { tag: 65000, kind: 13, data: vec![] }), Fate::Lost(_)));
        assert!(matches!(fate(&Field { tag: 330, kind: 4, data: vec![] }), Fate::Lost(_)));
    }
}
