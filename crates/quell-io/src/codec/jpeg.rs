//! JPEG, through `image`. Its decoder is lenient, so what it would paper over is checked first.

use std::io::{Cursor, Write};

use image::codecs::jpeg::{JpegDecoder, JpegEncoder};
use image::{ExtendedColorType, ImageDecoder, ImageEncoder, ImageError, Limits};

use super::canvas::{Canvas, buffer, check_size};
use super::store::{Remarks, Rows};
use super::{Decoded, carried, damaged, ends_early};
use crate::{Error, Format, Metadata, ReadOptions, Result, SampleType, WriteOptions};

/// Prefix of the segment that holds XMP.
const XMP: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";

/// Content of a segment at most.
const SEGMENT: usize = 65533;

/// Bytes of profile in one segment, and segments at most.
const ICC: usize = (SEGMENT - 14) * 255;

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let header = Header::parse(bytes)?;
    check_size(header.width.into(), header.height.into(), options)?;
    header.check_supported()?;
    // The decoder fills what is missing with grey and says nothing.
    if !bytes[header.scan..].windows(2).rev().any(|w| w == [0xff, 0xd9]) {
        return Err(ends_early(Format::Jpeg));
    }

    let mut decoder = JpegDecoder::new(Cursor::new(bytes)).map_err(error)?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(header.width.into());
    limits.max_image_height = Some(header.height.into());
    decoder.set_limits(limits).map_err(error)?;
    let mut notes = Vec::new();
    let (icc, exif, xmp) = (decoder.icc_profile(), decoder.exif_metadata(), decoder.xmp_metadata());
    let metadata = carried(icc, exif, xmp, &mut notes);

    let (width, height) = decoder.dimensions();
    let channels = decoder.color_type().channel_count() as usize;
    let mut canvas = Canvas::new(width, height, channels, options)?;
    let mut all = buffer(canvas.width() * canvas.height() * channels)?;
    decoder.read_image(&mut all).map_err(error)?;
    for (y, row) in all.chunks_exact(canvas.width() * channels).enumerate() {
        canvas.put_row(y, row, f32::from);
    }
    Ok(Decoded { pages: vec![canvas.into_page(SampleType::U8, None, options)?], metadata, notes })
}

/// What the frame header says, and where the first scan begins.
struct Header {
    process: u8,
    precision: u8,
    width: u16,
    height: u16,
    components: u8,
    scan: usize,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut frame = None;
        let mut at = 2;
        loop {
            let (Some(&mark), Some(&code)) = (bytes.get(at), bytes.get(at + 1)) else {
                return Err(ends_early(Format::Jpeg));
            };
            if mark != 0xff {
                return Err(damaged(Format::Jpeg, "a segment has the wrong length"));
            }
            match code {
                // Filling, and markers without content.
                0xff => at += 1,
                0x01 | 0xd0..=0xd8 => at += 2,
                0xd9 => return Err(ends_early(Format::Jpeg)),
                _ => {
                    let Some(&[a, b]) = bytes.get(at + 2..at + 4).and_then(|b| b.first_chunk()) else {
                        return Err(ends_early(Format::Jpeg));
                    };
                    let end = at + 2 + usize::from(u16::from_be_bytes([a, b])).max(2);
                    let content = bytes.get(at + 4..end).ok_or_else(|| ends_early(Format::Jpeg))?;
                    match (code, content) {
                        (0xc4 | 0xc8 | 0xcc, _) => {}
                        (0xc0..=0xcf, &[precision, h0, h1, w0, w1, components, ..]) => {
                            let (w, h) = (u16::from_be_bytes([w0, w1]), u16::from_be_bytes([h0, h1]));
                            frame = Some((code, precision, w, h, components));
                        }
                        (0xda, _) => {
                            let Some((process, precision, width, height, components)) = frame else {
                                return Err(damaged(Format::Jpeg, "a scan comes before its frame"));
                            };
                            return Ok(Self { process, precision, width, height, components, scan: end });
                        }
                        _ => {}
                    }
                    at = end;
                }
            }
        }
    }

    fn check_supported(&self) -> Result<()> {
        let why = match (self.process, self.precision, self.components) {
            (0xc0..=0xc2, 8, 1 | 3) => return Ok(()),
            (0xc0..=0xc2, 8, 4) => "a CMYK JPEG".into(),
            (0xc0..=0xc2, 8, n) => format!("a JPEG of {n} channels"),
            (0xc0..=0xc2, bits, _) => format!("a JPEG of {bits} bits"),
            (0xc3, ..) => "a lossless JPEG".into(),
            (0xc9..=0xcf, ..) => "an arithmetic-coded JPEG".into(),
            _ => "a hierarchical JPEG".into(),
        };
        Err(Error::Unsupported(format!("{why} is not supported; convert it to RGB PNG or TIFF first")))
    }
}

pub(super) fn encode(
    rows: &Rows,
    metadata: &Metadata,
    options: &WriteOptions,
    writer: &mut impl Write,
    remarks: &mut Remarks,
) -> Result<()> {
    let (width, height) = rows.size_within(65535, Format::Jpeg)?;
    let mut fits = |what, data: &Option<Vec<u8>>, limit| {
        let data = data.clone()?;
        if data.len() > limit {
            remarks.add(format!("the {what} of {} bytes is too long for JPEG: not kept", data.len()));
            return None;
        }
        Some(data)
    };
    // The encoder does not know XMP, so its output is held to put the segment after the first one; it is
    // much smaller than the picture.
    let mut file = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut file, options.jpeg_quality.clamp(1, 100));
    if let Some(icc) = fits("ICC profile", &metadata.icc, ICC) {
        encoder.set_icc_profile(icc).map_err(|e| Error::Encode(e.to_string()))?;
    }
    if let Some(exif) = fits("EXIF block", &metadata.exif, SEGMENT - 6) {
        encoder.set_exif_metadata(exif).map_err(|e| Error::Encode(e.to_string()))?;
    }
    let color = if rows.channels() == 1 { ExtendedColorType::L8 } else { ExtendedColorType::Rgb8 };
    encoder.write_image(&rows.all_u8()?, width, height, color).map_err(|e| match e {
        ImageError::IoError(e) => Error::Io(e),
        e => Error::Encode(e.to_string()),
    })?;

    let xmp = fits("XMP packet", &metadata.xmp, SEGMENT - XMP.len());
    // The file begins with its start marker and the JFIF segment, which must stay first.
    let first = 4 + usize::from(u16::from_be_bytes([file[4], file[5]]));
    writer.write_all(&file[..first])?;
    if let Some(xmp) = xmp {
        writer.write_all(&[0xff, 0xe1])?;
        writer.write_all(&((2 + XMP.len() + xmp.len()) as u16).to_be_bytes())?;
        writer.write_all(XMP)?;
        writer.write_all(&xmp)?;
    }
    writer.write_all(&file[first..])?;
    Ok(())
}

fn error(e: ImageError) -> Error {
    match e {
        ImageError::Unsupported(e) => Error::Unsupported(e.to_string()),
        ImageError::Decoding(e) => {
            // The crate's own words repeat the format.
            let why = std::error::Error::source(&e).map_or_else(|| e.to_string(), |s| s.to_string());
            damaged(Format::Jpeg, why)
        }
        e => damaged(Format::Jpeg, e),
    }
}
