//! What is known of a clip before its first frame, and how YUV4MPEG2 writes that down.

use std::path::PathBuf;

use quell::device::SampleFormat;
use quell::{Layout, VideoFormat};

use super::ffmpeg::Probe;
use crate::{Error, Metadata, Result};

/// How fields make frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fields {
    /// Not said.
    #[default]
    Unknown,
    /// Whole frames.
    Progressive,
    /// Two fields, the upper one first.
    TopFirst,
    /// Two fields, the lower one first.
    BottomFirst,
    /// Some frames are of two fields; their parameters tell.
    Mixed,
}

impl Fields {
    const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Unknown, "?", "unknown"),
        (Self::Progressive, "p", "progressive"),
        (Self::TopFirst, "t", "top field first"),
        (Self::BottomFirst, "b", "bottom field first"),
        (Self::Mixed, "m", "mixed with whole frames"),
    ];

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, letter, _)| *letter == text).map(|(f, ..)| *f)
    }

    fn row(self) -> (Self, &'static str, &'static str) {
        // Every variant has a row.
        Self::ALL.into_iter().find(|(f, ..)| *f == self).unwrap_or(Self::ALL[0])
    }

    /// For messages.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    /// Whether frames consist of fields of different times.
    pub fn interlaced(self) -> bool {
        matches!(self, Self::TopFirst | Self::BottomFirst | Self::Mixed)
    }
}

/// What all frames of a clip have in common, and what is passed on to the output.
#[derive(Clone, Debug)]
pub struct VideoInfo {
    /// Size, planes and samples.
    pub format: VideoFormat,
    /// Frames per second as a fraction, if known.
    pub rate: Option<(u32, u32)>,
    /// Width of a pixel by its height, if known.
    pub aspect: Option<(u32, u32)>,
    /// Whether frames are interlaced.
    pub fields: Fields,
    /// The colour tag of a YUV4MPEG2 stream (`420mpeg2`, `422p10`), which also tells where chroma samples lie.
    pub tag: Option<String>,
    /// Other parameters of a YUV4MPEG2 stream (`XCOLORRANGE=FULL`), as they were.
    pub extra: Vec<String>,
    pub(crate) origin: Origin,
}

/// Where a clip came from, for what an output takes from there.
#[derive(Clone, Debug, Default)]
pub(crate) enum Origin {
    /// A stream: nothing more to take.
    #[default]
    Stream,
    /// A container: sound, subtitles, chapters, metadata and colour tags.
    Container(PathBuf, Box<Probe>),
    /// Numbered pictures: metadata of the first, and its number.
    Pictures(Box<Metadata>, u64),
}

/// Bits per sample that YUV4MPEG2 has tags for.
const DEPTHS: [u32; 6] = [8, 9, 10, 12, 14, 16];

impl VideoInfo {
    /// Of a clip of which nothing but its format is known.
    pub fn new(format: VideoFormat) -> Self {
        Self {
            format,
            rate: None,
            aspect: None,
            fields: Fields::Unknown,
            tag: None,
            extra: Vec::new(),
            origin: Origin::Stream,
        }
    }

    /// Bits per sample, for integers whose white is the largest number of so many bits.
    pub fn bits(&self) -> Option<u32> {
        let white = self.format.white as u32;
        let bits = 32 - white.leading_zeros();
        let integers = self.format.sample != SampleFormat::F32 && white as f32 == self.format.white;
        (integers && white > 0 && (white + 1).is_power_of_two()).then_some(bits)
    }

    /// `1920 x 1080 4:2:0, 8 bits`.
    pub fn describe(&self) -> String {
        let VideoFormat { width, height, layout, .. } = self.format;
        let depth = match self.bits() {
            Some(bits) => format!("{bits} bits"),
            None if self.format.sample == SampleFormat::F32 => "float".to_owned(),
            None => format!("white {}", self.format.white),
        };
        format!("{width} x {height} {}, {depth}", layout.name())
    }

    /// Reads the first line of a YUV4MPEG2 stream, without its end.
    pub(crate) fn parse_y4m(line: &str, max_pixels: u64) -> Result<Self> {
        let (mut width, mut height, mut scss) = (None, None, None);
        // The format is put in place below, when all of it is known.
        let mut info = Self::new(VideoFormat::with_bits(1, 1, Layout::Mono, 8)?);
        for word in line.split(' ').skip(1).filter(|w| !w.is_empty()) {
            let mut rest = word.chars();
            let letter = rest.next();
            let value = rest.as_str();
            let wrong = |what: &str| Error::Decode(format!("{word:?} in the header: {what}"));
            match letter {
                Some('W') => width = Some(size(value).ok_or_else(|| wrong("no width"))?),
                Some('H') => height = Some(size(value).ok_or_else(|| wrong("no height"))?),
                Some('F') => {
                    info.rate = ratio(value).ok_or_else(|| wrong("the frame rate must be like F25:1"))?;
                }
                Some('A') => {
                    info.aspect = ratio(value).ok_or_else(|| wrong("the aspect must be like A1:1"))?;
                }
                Some('I') => {
                    info.fields = Fields::parse(value)
                        .ok_or_else(|| wrong("the interlacing must be Ip, It, Ib or Im"))?;
                }
                Some('C') => info.tag = Some(value.to_owned()),
                _ => {
                    scss = word.strip_prefix("XYSCSS=").map(str::to_ascii_lowercase).or(scss);
                    info.extra.push(word.to_owned());
                }
            }
        }
        let missing = |what| Error::Decode(format!("the header has no {what}"));
        let (width, height) =
            (width.ok_or_else(|| missing("width (W)"))?, height.ok_or_else(|| missing("height (H)"))?);
        if width == 0 || height == 0 {
            return Err(Error::Decode(format!("frames of {width} x {height} pixels are empty")));
        }
        if width.checked_mul(height).is_none_or(|n| n > max_pixels) {
            return Err(Error::TooLarge { width, height, limit: max_pixels });
        }
        // Before there were colour tags, a comment stood for them; without either it is 4:2:0.
        let tag = info.tag.clone().or(scss).unwrap_or_else(|| "420jpeg".to_owned());
        let (layout, bits) = parse_tag(&tag)?;
        let whole =
            |n: u64| usize::try_from(n).map_err(|_| Error::TooLarge { width, height, limit: max_pixels });
        info.format = VideoFormat::with_bits(whole(width)?, whole(height)?, layout, bits)?;
        Ok(info)
    }

    /// The first line of a YUV4MPEG2 stream with its end.
    pub(crate) fn to_y4m(&self) -> Result<String> {
        let VideoFormat { width, height, .. } = self.format;
        let mut line = format!("YUV4MPEG2 W{width} H{height}");
        if let Some((n, d)) = self.rate {
            line += &format!(" F{n}:{d}");
        }
        if self.fields != Fields::Unknown {
            line += &format!(" I{}", self.fields.row().1);
        }
        if let Some((n, d)) = self.aspect {
            line += &format!(" A{n}:{d}");
        }
        line += &format!(" C{}", self.y4m_tag()?);
        for word in &self.extra {
            line += &format!(" {word}");
        }
        Ok(line + "\n")
    }

    /// The colour tag: the one it came with, if it still says what the frames are.
    fn y4m_tag(&self) -> Result<String> {
        let refuse = |why: String| Err(Error::Encode(format!("a .y4m file cannot hold {why}")));
        let Some(bits) = self.bits().filter(|b| DEPTHS.contains(b)) else {
            return refuse(if self.format.sample == SampleFormat::F32 {
                "float samples".to_owned()
            } else {
                format!("samples whose white is {}", self.format.white)
            });
        };
        if let Some(tag) = &self.tag
            && parse_tag(tag).is_ok_and(|t| t == (self.format.layout, bits))
        {
            return Ok(tag.clone());
        }
        Ok(match (self.format.layout, bits) {
            (Layout::Rgb, _) => return refuse("RGB".to_owned()),
            (Layout::Mono, 8) => "mono".to_owned(),
            (Layout::Mono, _) => format!("mono{bits}"),
            (Layout::Yuv420, 8) => "420jpeg".to_owned(),
            (layout, 8) => digits(layout).to_owned(),
            (layout, _) => format!("{}p{bits}", digits(layout)),
        })
    }
}

fn digits(layout: Layout) -> &'static str {
    match layout {
        Layout::Yuv420 => "420",
        Layout::Yuv422 => "422",
        _ => "444",
    }
}

/// What a colour tag says.
fn parse_tag(tag: &str) -> Result<(Layout, u32)> {
    let depth = |text: &str| text.parse().ok().filter(|b| *b > 8 && DEPTHS.contains(b));
    let known = match tag {
        "420" | "420jpeg" | "420mpeg2" | "420paldv" => Some((Layout::Yuv420, 8)),
        "422" => Some((Layout::Yuv422, 8)),
        "444" => Some((Layout::Yuv444, 8)),
        "mono" => Some((Layout::Mono, 8)),
        _ if tag.starts_with("411") || tag.starts_with("440") || tag.starts_with("444alpha") => {
            return Err(Error::Unsupported(format!(
                "the layout {tag} is not supported; convert it to 4:2:0, 4:2:2, 4:4:4 or mono first"
            )));
        }
        _ => None,
    };
    let deep = || {
        let (layout, bits) = match tag.split_at_checked(4)? {
            ("mono", bits) => (Layout::Mono, bits),
            ("420p", bits) => (Layout::Yuv420, bits),
            ("422p", bits) => (Layout::Yuv422, bits),
            ("444p", bits) => (Layout::Yuv444, bits),
            _ => return None,
        };
        Some((layout, depth(bits)?))
    };
    known.or_else(deep).ok_or_else(|| {
        Error::Decode(format!(
            "{:?} in the header: unknown; known are 420, 422 and 444 (p9, p10, p12, p14, p16 behind), mono (9, 10, 12, \
             14, 16 behind)",
            format!("C{tag}")
        ))
    })
}

fn size(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// `25:1`; `0:0` is not known.
fn ratio(text: &str) -> Option<Option<(u32, u32)>> {
    let (n, d) = text.split_once(':')?;
    match (size(n)?.try_into().ok()?, size(d)?.try_into().ok()?) {
        (0, 0) => Some(None),
        (0, _) | (_, 0) => None,
        ratio => Some(Some(ratio)),
    }
}
