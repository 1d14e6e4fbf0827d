//! WebP, read in both its kinds and written lossless.

use std::io::{Cursor, Write};

use image_webp::{ColorType, DecodingError, EncodingError, WebPDecoder, WebPEncoder};

use super::canvas::{Canvas, buffer};
use super::store::{Remarks, Rows};
use super::{Decoded, carried, damaged, ends_early, reserve};
use crate::{Error, Format, Metadata, ReadOptions, Result, SampleType};

/// Memory that one piece of metadata may take.
const LIMIT: usize = 64 << 20;

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(error)?;
    decoder.set_memory_limit(LIMIT);
    let (width, height) = decoder.dimensions();
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    if decoder.is_animated() && decoder.num_frames() > 1 {
        return Err(super::animation(Format::WebP, decoder.num_frames()));
    }
    let mut canvas = Canvas::new(width, height, channels, options)?;
    let mut notes = Vec::new();
    let (icc, exif, xmp) = (decoder.icc_profile(), decoder.exif_metadata(), decoder.xmp_metadata());
    let metadata = carried(icc, exif, xmp, &mut notes);
    let line = canvas.width() * channels;
    decoder.set_memory_limit(LIMIT.saturating_add(line.saturating_mul(canvas.height() * 8)));
    // The decoder takes about twice the picture for itself.
    reserve(line.saturating_mul(canvas.height() * 3))?;
    let mut all = buffer(line * canvas.height())?;
    decoder.read_image(&mut all).map_err(error)?;
    for (y, row) in all.chunks_exact(line).enumerate() {
        canvas.put_row(y, row, f32::from);
    }
    let unknown = unknown_chunks(bytes);
    if !unknown.is_empty() {
        notes.push(format!("chunks that nobody knows: {}: not kept", unknown.join(", ")));
    }
    Ok(Decoded { pages: vec![canvas.into_page(SampleType::U8, None, options)?], metadata, notes })
}

/// Names of the chunks that are neither the picture nor carried.
fn unknown_chunks(bytes: &[u8]) -> Vec<String> {
    const KNOWN: [&[u8; 4]; 9] =
        [b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP", b"EXIF", b"XMP "];
    let mut names = Vec::new();
    let mut rest = bytes.get(12..).unwrap_or_default();
    while let Some((head, tail)) = rest.split_first_chunk::<8>() {
        let [kind @ .., a, b, c, d] = *head;
        let name = kind.escape_ascii().to_string();
        if !KNOWN.contains(&&kind) && !names.contains(&name) {
            names.push(name);
        }
        // Chunks begin at even places.
        let length = (u32::from_le_bytes([a, b, c, d]) as usize).next_multiple_of(2);
        let Some(next) = tail.get(length..) else { break };
        rest = next;
    }
    names
}

pub(super) fn encode(
    rows: &Rows,
    metadata: &Metadata,
    writer: &mut impl Write,
    remarks: &mut Remarks,
) -> Result<()> {
    let (width, height) = rows.size_within(16384, Format::WebP)?;
    let color = match (rows.channels(), rows.alpha) {
        (1, _) => ColorType::L8,
        (2, _) => ColorType::La8,
        (_, false) => ColorType::Rgb8,
        (_, true) => ColorType::Rgba8,
    };
    if rows.channels() < 3 {
        remarks.add("WebP has no grey: stored as RGB");
    }
    // The samples in one piece, and what the encoder makes of them.
    reserve(8 * rows.channels() * rows.width() * rows.height())?;
    let mut encoder = WebPEncoder::new(writer);
    encoder.set_icc_profile(metadata.icc.clone().unwrap_or_default());
    encoder.set_exif_metadata(metadata.exif.clone().unwrap_or_default());
    encoder.set_xmp_metadata(metadata.xmp.clone().unwrap_or_default());
    encoder.encode(&rows.all_u8()?, width, height, color).map_err(|e| match e {
        EncodingError::IoError(e) => Error::Io(e),
        e => Error::Encode(e.to_string()),
    })
}

fn error(e: DecodingError) -> Error {
    match e {
        DecodingError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            ends_early(Format::WebP)
        }
        e => damaged(Format::WebP, e),
    }
}
