//! TIFF and BigTIFF, through the `tiff` crate, piece by piece (strips or tiles) in both directions.
//!
//! Pages of reduced size (thumbnails) are left out. Files are written uncompressed, in strips.

use std::io::{Cursor, Seek, Write};

use tiff::decoder::{Decoder, DecodingResult, Limits};
use tiff::encoder::colortype::{ColorType, Gray8, Gray16, Gray32Float, RGB8, RGB16, RGB32Float};
use tiff::encoder::{DirectoryEncoder, TiffEncoder, TiffKind, TiffKindBig, TiffKindStandard, TiffValue};
use tiff::tags::{ExtraSamples, Tag, Type};
use tiff::{ColorType as Color, Directory, TiffError};

use super::canvas::{Canvas, check_size};
use super::store::{Remarks, Rows};
use super::{Decoded, damaged, ends_early};
use crate::exif::{EXIF_IFD, Field, Fields, GPS_IFD};
use crate::{Error, Format, Metadata, Page, Picture, ReadOptions, Result, SampleType};

const ICC: Tag = Tag::Unknown(34675);
const XMP: Tag = Tag::Unknown(700);

/// Memory that one tag's value may take.
const TAG_LIMIT: usize = 64 << 20;

/// Larger files need the 64-bit offsets of BigTIFF; some room is left for tags.
const CLASSIC_LIMIT: u64 = (1 << 32) - (1 << 26);

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    if bytes.get(8..10) == Some(b"CR") {
        return Err(Error::Unsupported("a camera raw file; develop it to a 16-bit TIFF first".into()));
    }
    let bytes_at_most = usize::try_from(options.max_pixels.saturating_mul(16)).unwrap_or(usize::MAX);
    let mut limits = Limits::default();
    limits.decoding_buffer_size = bytes_at_most;
    limits.intermediate_buffer_size = bytes_at_most;
    limits.ifd_value_size = TAG_LIMIT.min(bytes.len());
    let mut decoder = Decoder::new(Cursor::new(bytes)).map_err(error)?.with_limits(limits);

    let mut decoded = Decoded { pages: Vec::new(), metadata: Metadata::default(), notes: Vec::new() };
    let mut pixels = 0;
    loop {
        let subfile = tag(&mut decoder, Tag::NewSubfileType)?.unwrap_or(0);
        if subfile & 0b101 != 0 {
            note(&mut decoded.notes, "thumbnails and masks inside the file are left out");
        } else {
            let (width, height) = decoder.dimensions().map_err(error)?;
            check_size(width.into(), height.into(), options)?;
            pixels += u64::from(width) * u64::from(height);
            if pixels > options.max_pixels {
                return Err(Error::Unsupported(format!(
                    "the pages together have more than the limit of {} pixels",
                    options.max_pixels
                )));
            }
            read_metadata(&mut decoder, &mut decoded)?;
            let page = read_page(&mut decoder, options, &mut decoded)?;
            decoded.pages.push(page);
        }
        if !decoder.more_images() {
            break;
        }
        decoder.next_image().map_err(error)?;
    }
    if decoded.pages.is_empty() {
        return Err(Error::Unsupported("the file holds thumbnails only; is it a camera raw file?".into()));
    }
    decoded.metadata.exif = Fields::parse(bytes).filter(|f| !f.is_empty()).map(|f| f.to_block());
    Ok(decoded)
}

type Input<'a> = Decoder<Cursor<&'a [u8]>>;

fn tag(decoder: &mut Input, tag: Tag) -> Result<Option<u32>> {
    decoder.find_tag_unsigned(tag).map_err(error)
}

fn note(notes: &mut Vec<String>, text: &str) {
    if !notes.iter().any(|n| n == text) {
        notes.push(text.into());
    }
}

/// Profile and XMP of the first page that has them; they are written to every page.
fn read_metadata(decoder: &mut Input, decoded: &mut Decoded) -> Result<()> {
    let Metadata { icc, xmp, .. } = &mut decoded.metadata;
    for (tag, slot, what) in [(ICC, icc, "ICC profile"), (XMP, xmp, "XMP packet")] {
        match decoder.find_tag(tag).and_then(|v| v.map(|v| v.into_u8_vec()).transpose()) {
            Ok(Some(data)) if decoded.pages.is_empty() => *slot = Some(data),
            Ok(data) if decoded.pages.is_empty() || data == *slot => {}
            Ok(_) => note(&mut decoded.notes, &format!("all pages get the first one's {what}")),
            Err(_) => note(&mut decoded.notes, &format!("the {what} is damaged and was left out")),
        }
    }
    Ok(())
}

fn read_page(decoder: &mut Input, options: &ReadOptions, decoded: &mut Decoded) -> Result<Page> {
    let (width, height) = decoder.dimensions().map_err(error)?;
    let color = decoder.colortype().map_err(error)?;
    let extra: Vec<u16> =
        decoder.find_tag_unsigned_vec(Tag::ExtraSamples).map_err(error)?.unwrap_or_default();
    let (bits, channels) = match (color, &extra[..]) {
        (Color::Gray(bits), []) => (bits, 1),
        (Color::Multiband { bit_depth, num_samples: 2 }, [1 | 2]) => (bit_depth, 2),
        (Color::RGB(bits), []) => (bits, 3),
        (Color::RGBA(bits), [] | [_]) => (bits, 4),
        (Color::CMYK(_) | Color::CMYKA(_), _) => return Err(refuse("CMYK")),
        (Color::YCbCr(_), _) => return Err(refuse("YCbCr")),
        (Color::Palette(_), _) => return Err(refuse("palette")),
        (Color::Lab(_), _) => return Err(refuse("Lab")),
        _ => return Err(refuse("multi-channel")),
    };
    if tag(decoder, Tag::SamplesPerPixel)?.unwrap_or(1) as usize != channels {
        return Err(refuse("multi-channel"));
    }
    if !matches!(bits, 1 | 2 | 4 | 8 | 16 | 32 | 64) {
        return Err(refuse_samples(&format!("{bits}-bit")));
    }
    decoded.metadata.premultiplied |= matches!(extra[..], [1]);
    if tag(decoder, Tag::PhotometricInterpretation)? == Some(0) {
        note(&mut decoded.notes, "white was stored as 0; it is turned round, and will be written so");
    }
    let planar = channels > 1 && tag(decoder, Tag::PlanarConfiguration)? == Some(2);

    let mut canvas = Canvas::new(width, height, channels, options)?;
    let (chunk_width, chunk_height) = decoder.chunk_dimensions();
    if chunk_width == 0 || chunk_height == 0 {
        return Err(damaged(Format::Tiff, "strips or tiles without pixels"));
    }
    let across = width.div_ceil(chunk_width);
    let chunks = u64::from(across) * u64::from(height.div_ceil(chunk_height));
    let mut samples = SampleType::U8;
    for plane in 0..if planar { channels } else { 1 } {
        let planes = if planar { plane..plane + 1 } else { 0..channels };
        for i in 0..chunks {
            let index = u32::try_from(plane as u64 * chunks + i).map_err(|_| ends_early(Format::Tiff))?;
            let x = (i % u64::from(across)) as usize * chunk_width as usize;
            let y = (i / u64::from(across)) as usize * chunk_height as usize;
            // Strips may claim any width; what counts is the picture's.
            let n = (chunk_width as usize).min(width as usize - x) * planes.len();
            let mut put = Piece { canvas: &mut canvas, planes: planes.clone(), x, y, n };
            samples = match decoder.read_chunk(index).map_err(error)? {
                DecodingResult::U8(data) if bits == 8 => put.rows(&data, f32::from, SampleType::U8),
                DecodingResult::U8(data) if matches!(bits, 1 | 2 | 4) => {
                    note(&mut decoded.notes, &format!("{bits}-bit samples were expanded to 8 bits"));
                    put.packed(&data, bits)
                }
                DecodingResult::U16(data) if bits == 16 => put.rows(&data, f32::from, SampleType::U16),
                DecodingResult::F32(data) => put.rows(&data, |v| v, SampleType::F32),
                DecodingResult::F16(data) => {
                    note(&mut decoded.notes, "16-bit float is read as 32-bit float, and written so");
                    put.rows(&data, |v| v.to_f32(), SampleType::F32)
                }
                DecodingResult::F64(_) => return Err(refuse_samples("64-bit float")),
                DecodingResult::U8(_) | DecodingResult::U16(_) => {
                    return Err(refuse_samples(&format!("{bits}-bit")));
                }
                DecodingResult::U32(_) | DecodingResult::U64(_) => {
                    return Err(refuse_samples(&format!("{bits}-bit integer")));
                }
                _ => return Err(refuse_samples("signed integer")),
            };
        }
    }
    canvas.into_page(samples, None, options)
}

/// Where a strip or tile goes.
struct Piece<'a> {
    canvas: &'a mut Canvas,
    planes: std::ops::Range<usize>,
    x: usize,
    y: usize,
    /// Samples of one row.
    n: usize,
}

impl Piece<'_> {
    fn rows<T: Copy>(&mut self, data: &[T], value: impl Fn(T) -> f32, samples: SampleType) -> SampleType {
        for (i, row) in data.chunks_exact(self.n).enumerate() {
            self.canvas.put(self.planes.clone(), self.x, self.y + i, row, &value);
        }
        samples
    }

    /// Samples of less than a byte; each row begins with a new byte.
    fn packed(&mut self, data: &[u8], bits: u8) -> SampleType {
        let bits = usize::from(bits);
        let white = (1_u16 << bits) - 1;
        for (i, row) in data.chunks_exact((self.n * bits).div_ceil(8)).enumerate() {
            let unpack = |x: usize| row[x * bits / 8] >> (8 - bits - x * bits % 8) & white as u8;
            let row: Vec<u8> = (0..self.n).map(unpack).collect();
            let scale = 255.0 / f32::from(white);
            self.canvas.put(self.planes.clone(), self.x, self.y + i, &row, |v| f32::from(v) * scale);
        }
        SampleType::U8
    }
}

fn refuse(kind: &str) -> Error {
    Error::Unsupported(format!("a {kind} TIFF is not supported; convert it to grey or RGB first"))
}

fn refuse_samples(kind: &str) -> Error {
    Error::Unsupported(format!(
        "{kind} samples are not supported; convert them to 8 or 16 bits or 32-bit float first"
    ))
}

pub(super) fn encode<W: Write + Seek>(
    picture: &Picture,
    writer: &mut W,
    remarks: &mut Remarks,
) -> Result<()> {
    if picture.pages.is_empty() {
        return Err(Error::Encode("the picture has no pages".into()));
    }
    let pages = picture.pages.iter().map(|page| Rows::new(picture, page, Format::Tiff, remarks));
    let pages = pages.collect::<Result<Vec<_>>>()?;
    let size = |r: &Rows| (r.width() * r.height() * r.channels()) as u64 * r.samples.bytes();
    if pages.iter().map(size).sum::<u64>() < CLASSIC_LIMIT {
        let encoder = TiffEncoder::<_, TiffKindStandard>::new_generic(writer).map_err(encoding)?;
        write_pages(encoder, &pages, &picture.metadata, remarks)
    } else {
        let encoder = TiffEncoder::<_, TiffKindBig>::new_generic(writer).map_err(encoding)?;
        write_pages(encoder, &pages, &picture.metadata, remarks)
    }
}

fn write_pages<W: Write + Seek, K: TiffKind>(
    mut encoder: TiffEncoder<W, K>,
    pages: &[Rows],
    metadata: &Metadata,
    remarks: &mut Remarks,
) -> Result<()> {
    // The first page carries EXIF; its inner directories come before it.
    let mut fields = Vec::new();
    if let Some(exif) = &metadata.exif {
        match Fields::parse(exif) {
            Some(parsed) => {
                if parsed.more {
                    remarks.add("the EXIF thumbnail has no place in TIFF: not kept");
                }
                fields = parsed.main;
                for (tag, inner) in [(EXIF_IFD, parsed.exif), (GPS_IFD, parsed.gps)] {
                    if !inner.is_empty() {
                        let mut directory = encoder.extra_directory().map_err(encoding)?;
                        write_fields(&mut directory, &inner)?;
                        let at = directory.finish_with_offsets().map_err(encoding)?.pointer.0;
                        // At the beginning of the file, so that it fits.
                        let data = (at as u32).to_ne_bytes().to_vec();
                        fields.push(Field { tag, kind: 4, data });
                    }
                }
            }
            None => remarks.add("the EXIF block cannot be read: not kept"),
        }
    }
    for rows in pages {
        let page = PageWriter { rows, metadata, fields: std::mem::take(&mut fields) };
        match (rows.samples, rows.channels() < 3) {
            (SampleType::U8, true) => page.write::<_, _, Gray8>(&mut encoder, |v| rows.round(v) as u8)?,
            (SampleType::U8, false) => page.write::<_, _, RGB8>(&mut encoder, |v| rows.round(v) as u8)?,
            (SampleType::U16, true) => page.write::<_, _, Gray16>(&mut encoder, |v| rows.round(v))?,
            (SampleType::U16, false) => page.write::<_, _, RGB16>(&mut encoder, |v| rows.round(v))?,
            (SampleType::F16 | SampleType::F32, true) => {
                page.write::<_, _, Gray32Float>(&mut encoder, |v| v)?
            }
            (SampleType::F16 | SampleType::F32, false) => {
                page.write::<_, _, RGB32Float>(&mut encoder, |v| v)?
            }
        }
    }
    Ok(())
}

struct PageWriter<'a> {
    rows: &'a Rows<'a>,
    metadata: &'a Metadata,
    fields: Vec<Field>,
}

impl PageWriter<'_> {
    fn write<W: Write + Seek, K: TiffKind, C: ColorType>(
        self,
        encoder: &mut TiffEncoder<W, K>,
        store: impl Fn(f32) -> C::Inner,
    ) -> Result<()>
    where
        [C::Inner]: TiffValue,
    {
        let (width, height) = self.rows.size_within(u32::MAX, Format::Tiff)?;
        let mut image = encoder.new_image::<C>(width, height).map_err(encoding)?;
        if self.rows.alpha {
            let kind = match self.metadata.premultiplied {
                true => ExtraSamples::AssociatedAlpha,
                false => ExtraSamples::UnassociatedAlpha,
            };
            image.extra_samples(&[kind]).map_err(encoding)?;
        }
        for (tag, data) in [(ICC, &self.metadata.icc), (XMP, &self.metadata.xmp)] {
            if let Some(data) = data {
                let kind = if tag == ICC { 7 } else { 1 };
                let field = Field { tag: tag.to_u16(), kind, data: data.clone() };
                write_fields(image.encoder(), &[field])?;
            }
        }
        write_fields(image.encoder(), &self.fields)?;

        let (mut y, mut strip) = (0, Vec::new());
        while y < self.rows.height() {
            let n = image.next_strip_sample_count() as usize;
            strip.clear();
            while strip.len() < n {
                self.rows.row(y, &mut strip, &store);
                y += 1;
            }
            image.write_strip(&strip).map_err(encoding)?;
        }
        image.finish().map_err(encoding)
    }
}

fn write_fields<W: Write + Seek, K: TiffKind>(
    encoder: &mut DirectoryEncoder<W, K>,
    fields: &[Field],
) -> Result<()> {
    let mut directory = Directory::empty();
    for field in fields {
        if let Some(kind) = Type::from_u16(field.kind) {
            let entry = encoder.write_entry_bytes(kind, &field.data).map_err(encoding)?;
            directory.extend([(Tag::from_u16_exhaustive(field.tag), entry)]);
        }
    }
    encoder.extend_from(&directory);
    Ok(())
}

fn error(e: TiffError) -> Error {
    match e {
        TiffError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => ends_early(Format::Tiff),
        TiffError::UnsupportedError(e) => Error::Unsupported(format!(
            "this TIFF is not supported ({e}); convert it to plain grey or RGB first"
        )),
        TiffError::LimitsExceeded => damaged(Format::Tiff, "its header asks for too much memory"),
        e => damaged(Format::Tiff, e),
    }
}

fn encoding(e: TiffError) -> Error {
    match e {
        TiffError::IoError(e) => Error::Io(e),
        e => Error::Encode(e.to_string()),
    }
}
