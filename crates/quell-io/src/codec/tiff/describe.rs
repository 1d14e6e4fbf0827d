//! What microscopes and their programs say in an image description: which channels are colours, and how many
//! planes lie behind a directory.

use super::tags::DESCRIPTION;
use crate::exif::Field;

/// A description that is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Description<'a> {
    /// Lines of `name=value`.
    ImageJ(&'a str),
    /// OME-XML.
    Ome(&'a str),
    /// A dictionary with the shape of the whole array, by tifffile.
    Shaped(&'a str),
}

impl<'a> Description<'a> {
    /// The description among the fields of a directory.
    pub(super) fn of(fields: &'a [Field]) -> Option<Self> {
        let field = fields.iter().find(|f| f.tag == DESCRIPTION)?;
        // Latin-1 in values does not matter to what is looked for, but hides what follows.
        let text = field.data.utf8_chunks().next()?.valid().trim_end_matches('\0');
        match text {
            _ if text.starts_with("ImageJ=") => Some(Self::ImageJ(text)),
            _ if text.contains("<OME") => Some(Self::Ome(text)),
            _ if text.starts_with("{\"shape\":") => Some(Self::Shaped(text)),
            _ => None,
        }
    }

    /// Whether three or four samples of a pixel are channels although the photometric field says RGB.
    pub(super) fn has_channels(self, samples: u64) -> bool {
        match self {
            Self::ImageJ(_) => self.number("channels") == Some(samples),
            Self::Ome(text) => {
                !text.contains(&format!("SamplesPerPixel=\"{samples}\""))
                    && !text.contains(&format!("SamplesPerPixel='{samples}'"))
            }
            Self::Shaped(_) => false,
        }
    }

    /// Whether indices into a palette are intensities, and the palette is only how they are shown.
    pub(super) fn has_intensities(self) -> bool {
        matches!(self, Self::ImageJ(_) | Self::Ome(_))
    }

    /// Planes that lie one after the other behind the only directory, each of `samples` samples. ImageJ does so
    /// beyond 4 GB.
    pub(super) fn planes(self, samples: u64) -> u64 {
        match self {
            Self::ImageJ(_) => self.number("images").unwrap_or(1),
            Self::Shaped(text) if text.contains("\"truncated\": true") => {
                let sides = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
                let sides = sides.map_or("", |(sides, _)| sides).split(',');
                let mut all = sides.map(|n| n.trim().parse::<u64>().ok());
                let all = all.try_fold(1_u64, |n, side| n.checked_mul(side?));
                all.map_or(1, |n| n / samples.max(1))
            }
            _ => 1,
        }
    }

    fn number(self, name: &str) -> Option<u64> {
        let Self::ImageJ(text) = self else { return None };
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.and_then(|v| v.trim().parse().ok())
    }
}

/// Whether a field is OME-XML, which names sizes and types.
pub(super) fn is_ome(field: &Field) -> bool {
    matches!(Description::of(std::slice::from_ref(field)), Some(Description::Ome(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str) -> [Field; 1] {
        [Field { tag: DESCRIPTION, kind: 2, data: text.as_bytes().to_vec() }]
    }

    #[test]
    fn planes_and_channels_are_understood() {
        let imagej =
            field("ImageJ=1.53t\nimages=12\nchannels=3\nslices=4\nhyperstack=true\nmode=grayscale\n\0");
        let imagej = Description::of(&imagej).unwrap();
        assert_eq!((imagej.planes(100), imagej.has_channels(3), imagej.has_channels(4)), (12, true, false));
        let shaped = field("{\"shape\": [5, 4, 10, 10], \"truncated\": true}");
        assert_eq!(Description::of(&shaped).unwrap().planes(100), 20);
        let shaped = field("{\"shape\": [5, 4, 10, 10]}");
        assert_eq!(Description::of(&shaped).unwrap().planes(100), 1);
        let ome = field("<?xml version=\"1.0\"?><OME><Channel SamplesPerPixel=\"3\"/></OME>");
        let ome = Description::of(&ome).unwrap();
        assert_eq!((ome.has_channels(3), ome.planes(1)), (false, 1));
        assert!(Description::of(&field("<OME><Channel ID=\"0\"/></OME>")).unwrap().has_channels(3));
        assert_eq!(Description::of(&field("a holiday")), None);
    }
}
