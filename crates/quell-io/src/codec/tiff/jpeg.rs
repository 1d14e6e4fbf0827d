//! JPEG inside TIFF: every strip or tile is a frame of its own, with tables that all share.

use std::io::Cursor;

use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::directory::Source;
use crate::codec::canvas::buffer;
use crate::codec::{damaged, ends_early};
use crate::{Format, Result};

/// The samples of a frame that is to be `width` wide, at least `height` high, and of `channels` channels.
pub(super) fn unpack(
    source: &Source,
    data: &[u8],
    (width, height): (usize, usize),
    channels: usize,
) -> Result<Vec<u8>> {
    let wrong = |e: &dyn std::fmt::Display| damaged(Format::Tiff, format_args!("JPEG inside: {e}"));
    // The decoder fills what is missing with grey and says nothing.
    if !data.windows(2).rev().any(|w| w == [0xff, 0xd9]) {
        return Err(ends_early(Format::Tiff));
    }
    let Some(frame) = data.strip_prefix(&[0xff, 0xd8]) else {
        return Err(wrong(&"a piece is no frame"));
    };
    let tables = source.tables.strip_suffix(&[0xff, 0xd9]).unwrap_or(&source.tables);
    let stream = if tables.is_empty() { data.to_vec() } else { [tables, frame].concat() };

    let options = DecoderOptions::default().set_strict_mode(true);
    let mut decoder = JpegDecoder::new_with_options(Cursor::new(&stream[..]), options);
    decoder.decode_headers().map_err(|e| wrong(&e))?;
    let info = decoder.info().ok_or_else(|| ends_early(Format::Tiff))?;
    let size = (usize::from(info.width), usize::from(info.height));
    if size.0 != width || size.1 < height || usize::from(info.components) != channels {
        return Err(wrong(&format_args!(
            "{} x {} pixels of {} channels instead of {width} x {height} of {channels}",
            size.0, size.1, info.components
        )));
    }
    // Without a mark of Adobe's three channels are taken for luma and chroma; as they are is what is wanted,
    // unless TIFF itself says so.
    let as_stored = decoder.input_colorspace().unwrap_or(ColorSpace::Luma);
    let wanted = if source.luma { ColorSpace::RGB } else { as_stored };
    decoder.set_options(options.jpeg_set_out_colorspace(wanted));
    let mut out = buffer(size.0 * size.1 * channels)?;
    decoder.decode_into(&mut out).map_err(|e| wrong(&e))?;
    out.truncate(width * height * channels);
    Ok(out)
}
