//! What a directory says about the pixels behind it; what is not supported is refused here.

use super::describe::Description;
use super::pack::Packing;
use super::predict::Predictor;
use super::tags::*;
use crate::codec::damaged;
use crate::exif::Field;
use crate::{Error, Format, Result, SampleType};

/// Photometric interpretations.
pub(super) const WHITE_IS_ZERO: u16 = 0;
pub(super) const BLACK_IS_ZERO: u16 = 1;
pub(super) const RGB: u16 = 2;
pub(super) const PALETTE: u16 = 3;
const YCBCR: u16 = 6;

/// How the pages of a directory are stored; what a result needs to be stored in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    /// Planes that lie one after the other behind this directory.
    pub(super) stack: usize,
    pub(super) samples: SampleType,
    /// Samples of a pixel.
    pub(super) channels: usize,
    pub(super) photometric: u16,
    /// Every sample is a channel, whatever the photometric interpretation.
    pub(super) separate: bool,
    /// Meaning of samples beyond the colours.
    pub(super) extra: Vec<u16>,
    /// Channels lie one after the other, not interleaved.
    pub(super) planar: bool,
    pub(super) packing: Packing,
    pub(super) predictor: Predictor,
    pub(super) tile: Option<(u32, u32)>,
    /// Fields that are carried.
    pub(super) fields: Vec<Field>,
    /// Profile and XMP that the first directory has and this one has not.
    pub(super) lacks: Vec<u16>,
    /// Samples are not as they were stored.
    pub(super) converted: bool,
}

impl Directory {
    /// A page of grey or RGB and nothing else.
    pub(super) fn plain(samples: SampleType, channels: usize, premultiplied: bool) -> Self {
        Self {
            stack: 1,
            samples,
            channels,
            photometric: if channels < 3 { BLACK_IS_ZERO } else { RGB },
            separate: false,
            extra: if channels.is_multiple_of(2) { vec![2 - u16::from(premultiplied)] } else { vec![] },
            planar: false,
            packing: Packing::None,
            predictor: Predictor::None,
            tile: None,
            fields: vec![],
            lacks: vec![],
            converted: false,
        }
    }

    /// Whether it says nothing that a page without it would not say.
    pub(super) fn is_plain(&self, premultiplied: bool) -> bool {
        self.channels <= 4 && *self == Self::plain(self.samples, self.channels, premultiplied)
    }

    /// The samples that make up each page: colours first, alpha behind them. Samples whose meaning nobody
    /// says are pages of their own.
    pub(super) fn groups(&self) -> Vec<Vec<usize>> {
        let colours = if self.photometric == RGB && self.channels >= 3 && !self.separate { 3 } else { 1 };
        let is_alpha = |c: usize| matches!(self.extra.get(c - colours), Some(1 | 2));
        let alpha = if self.separate { None } else { (colours..self.channels).find(|c| is_alpha(*c)) };
        let mut groups = vec![(0..colours).chain(alpha).collect::<Vec<_>>()];
        groups.extend((colours..self.channels).filter(|c| Some(*c) != alpha).map(|c| vec![c]));
        groups
    }

    /// Where each sample of a pixel goes: its page, and its place there.
    pub(super) fn places(&self) -> Vec<(usize, usize)> {
        let mut places = vec![(0, 0); self.channels];
        for (page, group) in self.groups().iter().enumerate() {
            group.iter().enumerate().for_each(|(i, sample)| places[*sample] = (page, i));
        }
        places
    }

    /// Whether white is the smallest sample; what float or signed samples mean by it nobody knows.
    pub(super) fn is_inverted(&self, samples: SampleType) -> bool {
        self.photometric == WHITE_IS_ZERO && matches!(samples, SampleType::U8 | SampleType::U16)
    }
}

/// A directory that was read, and where its samples are.
pub(super) struct Source {
    pub(super) directory: Directory,
    pub(super) width: u32,
    pub(super) height: u32,
    /// Bits of a sample in the file.
    pub(super) bits: u32,
    /// Width and height of a strip or tile.
    pub(super) piece: (u32, u32),
    /// Strips or tiles: where, and how long.
    pub(super) pieces: Vec<(u64, u64)>,
    /// Bits of each byte are reversed.
    pub(super) reversed: bool,
    /// JPEG tables, shared by all pieces.
    pub(super) tables: Vec<u8>,
    /// JPEG stores luma and chroma.
    pub(super) luma: bool,
    /// Red, green and blue, each by index.
    pub(super) palette: Option<[Vec<u16>; 3]>,
    /// Remarks for the user.
    pub(super) notes: Vec<String>,
}

impl Source {
    pub(super) fn new(fields: &[Field]) -> Result<Self> {
        let find = |tag| fields.iter().find(|f| f.tag == tag);
        let list = |tag| find(tag).and_then(numbers).unwrap_or_default();
        let number = |tag| find(tag).and_then(numbers).and_then(|n| n.first().copied());
        let side = |tag, name: &str| {
            let n = number(tag).and_then(|n| u32::try_from(n).ok());
            n.ok_or_else(|| damaged(Format::Tiff, format_args!("it has no {name}")))
        };
        let (width, height) = (side(WIDTH, "width")?, side(HEIGHT, "height")?);
        let description = Description::of(fields);
        let mut notes = Vec::new();
        let mut packing = Packing::from_code(number(COMPRESSION).unwrap_or(1))?;
        let channels = number(CHANNELS).unwrap_or(1);
        let (bits, stored) = sample_type(channels, &list(BITS), &list(SAMPLE_FORMAT))?;
        let is_lsm = find(LSM).is_some();
        if list(STK_PLANES).len() > 1 || find(STK_PLANES).is_some_and(|f| f.data.len() > 8) {
            return Err(refuse("MetaMorph"));
        }

        let planar = channels > 1 && number(PLANAR) == Some(2);
        let mut photometric = number(PHOTOMETRIC).unwrap_or(if channels < 3 { 1 } else { 2 }) as u16;
        let luma = photometric == YCBCR && packing == Packing::Jpeg && channels == 3 && !planar;
        let mut samples = stored;
        let mut converted = bits < 8;
        let mut palette = None;
        match photometric {
            WHITE_IS_ZERO | BLACK_IS_ZERO | RGB | 4 => {}
            PALETTE if description.is_some_and(Description::has_intensities) || is_lsm => {}
            PALETTE if channels == 1 && bits <= 16 && !samples.is_float() && samples != SampleType::I16 => {
                let (deep, colors) = colors(&list(COLOR_MAP), bits)?;
                (samples, converted, palette) = (deep, true, Some(colors));
                photometric = RGB;
                notes.push("the palette was expanded to RGB".into());
            }
            YCBCR if luma => photometric = RGB,
            YCBCR => return Err(refuse("YCbCr")),
            5 => return Err(refuse("CMYK")),
            8..=10 => return Err(refuse("Lab")),
            32803 | 34892 => return Err(refuse("camera raw")),
            _ => return Err(refuse("strange")),
        }
        if bits < 8 && palette.is_none() {
            notes.push(format!("{bits}-bit samples were expanded to 8 bits"));
        }
        let channels = if palette.is_some() { 3 } else { channels as usize };
        let extra: Vec<u16> = list(EXTRA_SAMPLES).iter().map(|n| *n as u16).collect();
        let separate =
            photometric == RGB && (is_lsm || description.is_some_and(|d| d.has_channels(channels as u64)));
        if channels == 4 && photometric == RGB && !separate && !matches!(extra[..], [1 | 2]) {
            notes.push(
                "the fourth channel is not said to be alpha: filtered like a picture of its own".into(),
            );
        }

        let predictor = match number(PREDICTOR) {
            None | Some(1) => Predictor::None,
            Some(2) if bits >= 8 => Predictor::Integer,
            Some(3) if samples.is_float() => Predictor::Float,
            Some(n) => return Err(Error::Unsupported(format!("a TIFF with predictor {n} is not supported"))),
        };
        let tables = find(JPEG_TABLES).map(|f| f.data.clone()).unwrap_or_default();
        if packing == Packing::Jpeg && bits != 8 {
            return Err(refuse(&format!("{bits}-bit JPEG")));
        }

        let tile = (number(TILE_WIDTH), number(TILE_HEIGHT));
        let tile = match tile {
            (Some(w), Some(h)) => u32::try_from(w).ok().zip(u32::try_from(h).ok()),
            _ => None,
        };
        let rows = number(ROWS_PER_STRIP).unwrap_or(u64::from(height)).min(u64::from(height)) as u32;
        let piece = tile.unwrap_or((width, rows));
        if piece.0 == 0 || piece.1 == 0 {
            return Err(damaged(Format::Tiff, "strips or tiles without pixels"));
        }
        let tags = if tile.is_some() { [TILE_OFFSETS, TILE_LENGTHS] } else { [STRIP_OFFSETS, STRIP_LENGTHS] };
        let [offsets, mut lengths] = tags.map(list);
        if packing == Packing::None && lengths.len() < offsets.len() {
            lengths.resize(offsets.len(), u64::MAX);
        }
        let pieces = offsets.into_iter().zip(lengths).collect();
        if tile.is_some_and(|(w, h)| w % 16 != 0 || h % 16 != 0) {
            return Err(damaged(Format::Tiff, "tiles whose sides are no multiples of 16"));
        }

        // What samples were read from does not matter once they are converted.
        if packing == Packing::Jpeg && palette.is_some() {
            packing = Packing::Deflate { old: false };
        }
        let reversed = number(FILL_ORDER) == Some(2) && packing != Packing::Jpeg;
        let directory = Directory {
            stack: 1,
            samples,
            channels,
            photometric,
            separate,
            extra: if palette.is_some() { vec![] } else { extra },
            planar,
            packing,
            predictor,
            tile,
            fields: vec![],
            lacks: vec![],
            converted,
        };
        Ok(Self { directory, width, height, bits, piece, pieces, reversed, tables, luma, palette, notes })
    }

    /// Samples of a pixel in the file.
    pub(super) fn stored_channels(&self) -> usize {
        if self.palette.is_some() { 1 } else { self.directory.channels }
    }

    /// Bytes of all samples of one plane of the stack, where they lie without packing.
    pub(super) fn plane_bytes(&self) -> Option<u64> {
        let row = u64::from(self.width).checked_mul(self.stored_channels() as u64)?;
        row.checked_mul(u64::from(self.bits))?.div_ceil(8).checked_mul(self.height.into())
    }

    /// Takes the planes behind the only directory, if they are there: unpacked, in one piece.
    pub(super) fn find_stack(&mut self, description: Option<Description>, directory_at: u64, file: u64) {
        let plain = self.directory.packing == Packing::None
            && self.directory.tile.is_none()
            && !self.directory.planar
            && self.bits >= 8
            && self.palette.is_none();
        let samples = u64::from(self.width) * u64::from(self.height) * self.directory.channels as u64;
        let wanted = description.map_or(1, |d| d.planes(samples));
        if wanted < 2 {
            return;
        }
        let (Some(bytes), Some(&(start, _))) = (self.plane_bytes(), self.pieces.first()) else { return };
        let joined = self.pieces.windows(2).all(|w| w[0].0.checked_add(w[0].1) == Some(w[1].0));
        let end = bytes.checked_mul(wanted).and_then(|n| n.checked_add(start));
        match end {
            // The directory comes first, so that nothing but planes is behind the first one.
            Some(end) if plain && joined && bytes > 0 && end <= file && start > directory_at => {
                self.directory.stack = wanted as usize;
                self.pieces = (0..wanted).map(|i| (start + i * bytes, bytes)).collect();
                self.piece = (self.width, self.height);
            }
            _ => self.notes.push(format!("its description speaks of {wanted} pictures, but one is there")),
        }
    }
}

/// Bits of a sample in the file, and the type that it is read as.
fn sample_type(channels: u64, bits: &[u64], formats: &[u64]) -> Result<(u32, SampleType)> {
    if !(1..=65535).contains(&channels) {
        return Err(damaged(Format::Tiff, format_args!("{channels} samples of a pixel")));
    }
    let same = |list: &[u64]| list.windows(2).all(|w| w[0] == w[1]);
    if !same(bits) || !same(formats) {
        return Err(refuse("mixed"));
    }
    let bits = bits.first().copied().unwrap_or(1);
    let format = formats.first().copied().unwrap_or(1);
    let samples = match (bits, format) {
        (1 | 2 | 4 | 8, 1 | 4) => SampleType::U8,
        (16, 1 | 4) => SampleType::U16,
        (32, 1 | 4) => SampleType::U32,
        (16, 2) => SampleType::I16,
        (32, 2) => SampleType::I32,
        (16, 3) => SampleType::F16,
        (32, 3) => SampleType::F32,
        (64, 3) => SampleType::F64,
        _ => {
            let kind = match format {
                1 | 4 => "",
                2 => " signed integer",
                3 => " float",
                _ => " complex",
            };
            return Err(Error::Unsupported(format!(
                "{bits}-bit{kind} samples are not supported; convert them to 8 or 16 bits or 32-bit float first"
            )));
        }
    };
    Ok((bits as u32, samples))
}

/// The colours of a palette: 8 bits where that says everything.
fn colors(map: &[u64], bits: u32) -> Result<(SampleType, [Vec<u16>; 3])> {
    let n = 1_usize << bits;
    if map.len() < 3 * n {
        return Err(damaged(Format::Tiff, "its palette is too short"));
    }
    let map = &map[..3 * n];
    // Some writers scale by 257, as the specification has it, and some by 256.
    let divisor = [257, 256].into_iter().find(|d| map.iter().all(|v| v % d == 0));
    let (samples, divisor) = divisor.map_or((SampleType::U16, 1), |d| (SampleType::U8, d));
    let colors = [0, n, 2 * n].map(|at| map[at..at + n].iter().map(|v| (v / divisor) as u16).collect());
    Ok((samples, colors))
}

fn refuse(kind: &str) -> Error {
    Error::Unsupported(format!("a {kind} TIFF is not supported; convert it to grey or RGB first"))
}
