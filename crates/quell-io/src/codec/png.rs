//! PNG, through the `png` crate: rows are streamed both ways, so no second copy of the picture exists.

use std::borrow::Cow;
use std::io::{Cursor, Write};

use png::text_metadata::ITXtChunk;
use png::{BitDepth, ColorType, DecodingError, EncodingError, chunk::ChunkType};

use super::canvas::{Canvas, buffer, check_size};
use super::store::{Order, Rows};
use super::{Decoded, damaged, ends_early};
use crate::{Error, Format, Metadata, ReadOptions, Result, SampleType};

/// Keyword of the text chunk that holds XMP.
const XMP: &str = "XML:com.adobe.xmp";

/// Chunks that say how colours look, how large a pixel is, when it was made and what people wrote: carried as they are.
const CARRIED: [&[u8; 4]; 11] =
    [b"sRGB", b"gAMA", b"cHRM", b"cICP", b"mDCV", b"cLLI", b"pHYs", b"tIME", b"tEXt", b"zTXt", b"iTXt"];

/// Chunks that the decoder and the encoder take care of.
const STORAGE: [&[u8; 4]; 10] =
    [b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"iCCP", b"eXIf", b"acTL", b"fcTL", b"fdAT"];

/// Memory that the decoder may take for metadata and buffers of its own.
const LIMIT: usize = 64 << 20;

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let header = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    let (Some(width), Some(height)) = (header(16), header(20)) else { return Err(ends_early(Format::Png)) };
    check_size(width.into(), height.into(), options)?;

    // A row of its own must fit besides the metadata.
    let limits = png::Limits { bytes: LIMIT + (width as usize).saturating_mul(16) };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(error)?;
    let info = reader.info();
    let mut notes = Vec::new();
    if info.color_type == ColorType::Indexed {
        notes.push("the palette was expanded to RGB".into());
    } else if (info.bit_depth as u8) < 8 {
        notes.push(format!("{}-bit samples were expanded to 8 bits", info.bit_depth as u8));
    }
    if let Some(animation) = info.animation_control
        && animation.num_frames > 1
    {
        return Err(super::animation(Format::Png, animation.num_frames));
    }
    let interlaced = info.interlaced;
    let (color, depth) = reader.output_color_type();
    let mut canvas = Canvas::new(width, height, color.samples(), options)?;
    let samples = if depth == BitDepth::Sixteen { SampleType::U16 } else { SampleType::U8 };
    let mut put = |y: usize, row: &[u8]| match samples {
        SampleType::U16 => canvas.put_row(y, row.as_chunks().0, |s| u16::from_be_bytes(s).into()),
        _ => canvas.put_row(y, row, f32::from),
    };
    if interlaced {
        let line = reader.output_line_size(width).ok_or_else(|| damaged(Format::Png, "rows are too long"))?;
        let mut all = buffer(line * height as usize)?;
        reader.next_frame(&mut all).map_err(error)?;
        all.chunks_exact(line).enumerate().for_each(|(y, row)| put(y, row));
    } else {
        for y in 0..height as usize {
            match reader.next_row().map_err(error)? {
                Some(row) => put(y, row.data()),
                None => return Err(ends_early(Format::Png)),
            }
        }
    }
    // Metadata may come after the pixels.
    if reader.finish().is_err() {
        notes.push("the file is damaged after the last pixel".into());
    }

    let chunks = Chunks::of(bytes);
    let info = reader.info();
    let owned = |data: &Option<Cow<'static, [u8]>>| data.as_ref().map(|d| d.to_vec());
    if chunks.profile && info.icc_profile.is_none() {
        let most = LIMIT >> 20;
        notes.push(format!("the ICC profile is damaged or longer than {most} MiB, and was left out"));
    }
    if chunks.exif && info.exif_metadata.is_none() {
        notes.push("the EXIF block is damaged and was left out".into());
    }
    let xmp = info.utf8_text.iter().find(|c| c.keyword == XMP).and_then(|chunk| {
        let mut chunk = chunk.clone();
        chunk.decompress_text_with_limit(LIMIT).ok()?;
        Some(chunk.get_text().ok()?.into_bytes())
    });
    if chunks.xmp && xmp.is_none() {
        notes.push(format!("the XMP packet is damaged or longer than {} MiB, and was left out", LIMIT >> 20));
    }
    if !chunks.lost.is_empty() {
        notes.push(format!("chunks that may not fit the new picture: {}: not kept", chunks.lost.join(", ")));
    }
    let metadata = Metadata {
        icc: owned(&info.icc_profile),
        exif: owned(&info.exif_metadata),
        xmp,
        png: chunks.carried,
        ..Metadata::default()
    };
    Ok(Decoded { pages: vec![canvas.into_page(samples, None, options)?], metadata, notes })
}

/// What there is besides the picture.
#[derive(Default)]
struct Chunks {
    carried: Vec<([u8; 4], Vec<u8>)>,
    /// Names of those that are neither carried nor part of the storage.
    lost: Vec<String>,
    profile: bool,
    exif: bool,
    xmp: bool,
}

impl Chunks {
    fn of(bytes: &[u8]) -> Self {
        let mut chunks = Self::default();
        let mut rest = &bytes[8..];
        while let Some((head, tail)) = rest.split_first_chunk::<8>() {
            let [a, b, c, d, kind @ ..] = *head;
            let Some(data) = tail.get(..u32::from_be_bytes([a, b, c, d]) as usize) else { break };
            chunks.add(kind, data);
            // The checksum follows; the decoder has looked at it.
            let Some(next) = tail.get(data.len() + 4..) else { break };
            rest = next;
        }
        chunks
    }

    fn add(&mut self, kind: [u8; 4], data: &[u8]) {
        // Small letters at the beginning and at the end: it is not needed to read the picture, and may be copied by
        // those who do not know it (PNG specification, 5.4).
        let letters = kind.iter().all(u8::is_ascii_alphabetic) && kind[2].is_ascii_uppercase();
        let safe = letters && kind[0].is_ascii_lowercase() && kind[3].is_ascii_lowercase();
        match &kind {
            b"iTXt" if data.strip_prefix(XMP.as_bytes()).is_some_and(|d| d.starts_with(b"\0")) => {
                self.xmp = true
            }
            b"iCCP" => self.profile = true,
            b"eXIf" => self.exif = true,
            kind if STORAGE.contains(&kind) => {}
            kind if CARRIED.contains(&kind) || safe => self.carried.push((*kind, data.to_vec())),
            kind => {
                let name = kind.escape_ascii().to_string();
                if !self.lost.contains(&name) {
                    self.lost.push(name);
                }
            }
        }
    }
}

pub(super) fn encode(rows: &Rows, metadata: &Metadata, writer: &mut impl Write) -> Result<()> {
    // PNG allows sides up to 2^31 - 1.
    let (width, height) = rows.size_within(i32::MAX as u32, Format::Png)?;
    let mut info = png::Info::with_size(width, height);
    info.bit_depth = if rows.samples == SampleType::U16 { BitDepth::Sixteen } else { BitDepth::Eight };
    info.color_type = match (rows.channels(), rows.alpha) {
        (1, _) => ColorType::Grayscale,
        (2, _) => ColorType::GrayscaleAlpha,
        (_, false) => ColorType::Rgb,
        (_, true) => ColorType::Rgba,
    };
    info.icc_profile = metadata.icc.as_deref().map(Cow::from);
    info.exif_metadata = metadata.exif.as_deref().map(Cow::from);
    let encoder = png::Encoder::with_info(writer, info).map_err(encoding)?;
    let mut png = encoder.write_header().map_err(encoding)?;
    for (kind, data) in &metadata.png {
        // A profile and sRGB exclude each other; the profile says more.
        if !(kind == b"sRGB" && metadata.icc.is_some()) {
            png.write_chunk(ChunkType(*kind), data).map_err(encoding)?;
        }
    }
    if let Some(xmp) = &metadata.xmp {
        let chunk = ITXtChunk::new(XMP, String::from_utf8_lossy(xmp));
        png.write_text_chunk(&chunk).map_err(encoding)?;
    }
    let mut stream = png.stream_writer().map_err(encoding)?;
    let mut row = rows.row_buffer()?;
    for y in 0..rows.height() {
        row.clear();
        rows.row_bytes(y, Order::Big, &mut row);
        stream.write_all(&row)?;
    }
    stream.finish().map_err(encoding)?;
    png.finish().map_err(encoding)
}

fn error(e: DecodingError) -> Error {
    match e {
        DecodingError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => ends_early(Format::Png),
        DecodingError::LimitsExceeded => damaged(Format::Png, "its metadata needs too much memory"),
        e => damaged(Format::Png, e),
    }
}

fn encoding(e: EncodingError) -> Error {
    match e {
        EncodingError::IoError(e) => Error::Io(e),
        e => Error::Encode(e.to_string()),
    }
}
