//! JPEG: baseline, extended and progressive, 8 bits.
//!
//! Read by a decoder of our own: those that can be had are up to 5 and 11 levels away from what libjpeg makes of
//! the same file (docs/formats.md), and noise is estimated from such levels. Anything that is missing or
//! contradictory is an error, where others fill in grey. Written through `jpeg-encoder`.

mod huffman;
mod idct;
mod scan;
pub(super) mod segments;
mod upsample;

use std::io::Write;

use jpeg_encoder::{
    ChromaSubsamplingMethod, Encoder, EncodingError, ImageBuffer, JpegColorType, PixelDensity,
    PixelDensityUnit, SamplingFactor, rgb_to_ycbcr,
};

use super::canvas::{Canvas, check_size};
use super::store::{Order, Remarks, Rows};
use super::{Decoded, damaged, ends_early, reserve};
use crate::{Error, Format, Metadata, ReadOptions, Result, SampleType, WriteOptions};
use huffman::Table;
use scan::{Frame, Tables, ZIGZAG};
use segments::Found;

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let mut tables = Tables::default();
    let mut found = Found::default();
    let mut frame: Option<Frame> = None;
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
            0xd9 => break,
            _ => {
                let end = bytes
                    .get(at + 2..)
                    .and_then(<[u8]>::first_chunk)
                    .map_or(usize::MAX, |n| at + 2 + usize::from(u16::from_be_bytes(*n)).max(2));
                let content = bytes.get(at + 4..end).ok_or_else(|| ends_early(Format::Jpeg))?;
                at = end;
                match code {
                    0xc4 => huffman_tables(&mut tables, content)?,
                    0xdb => quantisers(&mut tables, content)?,
                    0xdd => {
                        tables.restart = content.first_chunk().map_or(0, |n| u16::from_be_bytes(*n).into())
                    }
                    0xc0..=0xcf if !matches!(code, 0xc8 | 0xcc) => {
                        if frame.is_some() {
                            return Err(damaged(Format::Jpeg, "it has two frames"));
                        }
                        check_supported(code, content, options)?;
                        frame = Some(Frame::new(code == 0xc2, content, bytes.len())?);
                    }
                    0xda => match &mut frame {
                        Some(frame) => at = frame.scan(&tables, content, bytes, end)?,
                        None => return Err(damaged(Format::Jpeg, "a scan comes before its frame")),
                    },
                    0xe0..=0xef | 0xfe => found.take(code, content),
                    _ => {}
                }
            }
        }
    }
    let mut frame = frame.ok_or_else(|| ends_early(Format::Jpeg))?;
    frame.finish()?;
    found.rest(&bytes[at + 2..]);

    if !frame.components.iter().all(|c| upsample::is_whole(&frame, c)) {
        return Err(Error::Unsupported("a JPEG of uneven chroma sampling is not supported".into()));
    }
    let mut canvas = Canvas::new(frame.width as u64, frame.height as u64, frame.components.len(), options)?;
    upsample::paint(&frame, is_ycc(&frame, &found), &mut canvas);
    let (metadata, notes) = found.finish(chroma(&frame));
    Ok(Decoded { pages: vec![canvas.into_page(SampleType::U8, None, options)?], metadata, notes })
}

/// Refuses what is no 8-bit picture of one or three channels, by its frame header, before memory is taken.
fn check_supported(process: u8, content: &[u8], options: &ReadOptions) -> Result<()> {
    let &[precision, h0, h1, w0, w1, components, ..] = content else { return Err(ends_early(Format::Jpeg)) };
    let size = |a, b| u64::from(u16::from_be_bytes([a, b]));
    check_size(size(w0, w1), size(h0, h1), options)?;
    let why = match (process, precision, components) {
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

fn huffman_tables(tables: &mut Tables, mut content: &[u8]) -> Result<()> {
    while let Some((head, rest)) = content.split_first_chunk::<17>() {
        let [kind, counts @ ..] = head;
        let n = counts.iter().map(|c| usize::from(*c)).sum();
        let wrong = || damaged(Format::Jpeg, "a Huffman table makes no sense");
        let (symbols, rest) = rest.split_at_checked(n).ok_or_else(wrong)?;
        let class = if kind >> 4 == 0 { &mut tables.dc } else { &mut tables.ac };
        *class.get_mut(usize::from(kind & 15)).ok_or_else(wrong)? = Some(Table::new(counts, symbols)?);
        content = rest;
    }
    Ok(())
}

fn quantisers(tables: &mut Tables, mut content: &[u8]) -> Result<()> {
    while let Some((&kind, rest)) = content.split_first() {
        let wide = kind >> 4 != 0;
        let (values, rest) = rest
            .split_at_checked(if wide { 128 } else { 64 })
            .ok_or_else(|| damaged(Format::Jpeg, "a quantisation table ends early"))?;
        let mut table = [0; 64];
        for (i, place) in ZIGZAG.iter().enumerate() {
            let value =
                if wide { u16::from_be_bytes([values[2 * i], values[2 * i + 1]]) } else { values[i].into() };
            table[usize::from(*place)] = value;
        }
        if let Some(slot) = tables.quantisers.get_mut(usize::from(kind & 15)) {
            *slot = Some(table);
        }
        content = rest;
    }
    Ok(())
}

/// Whether three components are luma and colour differences: JFIF says so, Adobe tells, else names do.
fn is_ycc(frame: &Frame, found: &Found) -> bool {
    let names: Vec<u8> = frame.components.iter().map(|c| c.id).collect();
    match found.adobe {
        _ if found.jfif => true,
        Some(transform) => transform != 0,
        None => names != *b"RGB",
    }
}

/// Luma samples for each chroma sample, across and down, where that is not one.
fn chroma(frame: &Frame) -> Option<(u8, u8)> {
    match &frame.components[..] {
        [y, cb, cr] if y.sampling == frame.largest && cb.sampling == cr.sampling => {
            let ratio = ((y.sampling.0 / cb.sampling.0) as u8, (y.sampling.1 / cb.sampling.1) as u8);
            Some(ratio).filter(|r| *r != (1, 1))
        }
        _ => None,
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
    // All coefficients are held to find the best tables.
    reserve(4 * rows.channels() * rows.width() * rows.height())?;
    // The encoder's file is held to put the segments after the first one; it is much smaller than the picture.
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, options.jpeg_quality.clamp(1, 100));
    let (h, v) = metadata.jpeg.sampling.unwrap_or((1, 1));
    encoder.set_sampling_factor(SamplingFactor::from_factors(h, v).unwrap_or(SamplingFactor::F_1_1));
    // Taking one sample of each block, the default, would shift the colours.
    encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
    if let Some((unit, x, y)) = metadata.jpeg.density {
        let unit = match unit {
            1 => PixelDensityUnit::Inches,
            2 => PixelDensityUnit::Centimeters,
            _ => PixelDensityUnit::PixelAspectRatio,
        };
        encoder.set_density(PixelDensity { density: (x, y), unit });
    }
    // Tables made for the picture: a few percent smaller for nothing.
    encoder.set_optimized_huffman_tables(true);
    encoder.encode_image(Source { rows, width: width as u16, height: height as u16 }).map_err(encoding)?;

    // The file begins with its start marker and the JFIF segment, which must stay first.
    let first = 4 + usize::from(u16::from_be_bytes([file[4], file[5]]));
    writer.write_all(&file[..first])?;
    segments::write(metadata, writer, remarks)?;
    writer.write_all(&file[first..])?;
    Ok(())
}

/// Rows as the encoder asks for them.
struct Source<'a> {
    rows: &'a Rows<'a>,
    width: u16,
    height: u16,
}

impl ImageBuffer for Source<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        if self.rows.channels() == 1 { JpegColorType::Luma } else { JpegColorType::Ycbcr }
    }

    fn width(&self) -> u16 {
        self.width
    }

    fn height(&self) -> u16 {
        self.height
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let mut row = Vec::with_capacity(3 * usize::from(self.width));
        self.rows.row_bytes(y.into(), Order::Little, &mut row);
        if self.rows.channels() == 1 {
            buffers[0].append(&mut row);
            return;
        }
        for [r, g, b] in row.as_chunks().0 {
            let (y, cb, cr) = rgb_to_ycbcr(*r, *g, *b);
            buffers[0].push(y);
            buffers[1].push(cb);
            buffers[2].push(cr);
        }
    }
}

fn encoding(e: EncodingError) -> Error {
    match e {
        EncodingError::IoError(e) => Error::Io(e),
        e => Error::Encode(e.to_string()),
    }
}
