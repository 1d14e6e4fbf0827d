//! The formats. To add one: a file with `decode` and `encode`, and an arm in each `match` below.

pub(crate) mod band;
mod canvas;
mod exr;
mod jpeg;
mod lines;
mod npy;
mod pfm;
mod png;
mod pnm;
mod sample;
mod store;
pub(crate) mod tiff;
mod webp;

pub use exr::ExrMetadata;

use std::fmt::Display;
use std::io::{Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Error, Format, Metadata, Page, Picture, ReadOptions, Result, WriteOptions};
pub(crate) use store::{Outline, Remarks, Rows, Stored};

/// What a decoder hands over.
struct Decoded {
    pages: Vec<Page>,
    metadata: Metadata,
    notes: Vec<String>,
}

impl Decoded {
    fn page(page: Page) -> Self {
        Self { pages: vec![page], metadata: Metadata::default(), notes: Vec::new() }
    }
}

/// The three blocks that containers carry; a damaged one is left out with a note.
fn carried<E: Display>(
    icc: Result<Option<Vec<u8>>, E>,
    exif: Result<Option<Vec<u8>>, E>,
    xmp: Result<Option<Vec<u8>>, E>,
    notes: &mut Vec<String>,
) -> Metadata {
    let mut take = |what, data: Result<Option<Vec<u8>>, E>| {
        data.unwrap_or_else(|e| {
            notes.push(format!("the {what} is damaged and was left out: {e}"));
            None
        })
    };
    Metadata {
        icc: take("ICC profile", icc),
        exif: take("EXIF block", exif),
        xmp: take("XMP packet", xmp),
        ..Metadata::default()
    }
}

/// Decodes `bytes`, which begin like `format`.
pub(crate) fn decode(format: Format, bytes: &[u8], options: &ReadOptions) -> Result<Picture> {
    let decoder = match format {
        Format::Png => png::decode,
        Format::Jpeg => jpeg::decode,
        Format::Tiff => tiff::decode,
        Format::WebP => webp::decode,
        Format::Pnm => pnm::decode,
        Format::Pfm => pfm::decode,
        Format::Exr => exr::decode,
        Format::Npy => npy::decode,
    };
    let Decoded { pages, mut metadata, notes } = guarded(format, || decoder(bytes, options))?;
    // Some writers keep the prefix of JPEG in other containers.
    if let Some(exif) = metadata.exif.take() {
        let plain = exif.strip_prefix(b"Exif\0\0").map(<[u8]>::to_vec).unwrap_or(exif);
        metadata.exif = Some(plain).filter(|e| !e.is_empty());
    }
    Ok(Picture { pages, metadata, format, notes })
}

/// Turns a panic into an error.
///
/// Our own code does not panic on bad input, and fuzzing has found no file on which the decoders that we use
/// do. But they contain assertions about values from headers, and one damaged file must not end a batch.
fn guarded<T>(format: Format, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    // Nothing outside survives of what the decoder was doing, so nothing can be seen half-done.
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(damaged(format, "the decoder gave up on it")))
}

/// Encodes `picture` as `format`; returns what could not be kept.
pub(crate) fn encode<W: Write + Seek>(
    picture: &Picture,
    format: Format,
    options: &WriteOptions,
    mut writer: W,
) -> Result<Vec<String>> {
    let mut remarks = Remarks::default();
    let (w, r, metadata) = (&mut writer, &mut remarks, &picture.metadata);
    match format {
        Format::Png => png::encode(&single_page(picture, format, r)?, metadata, w)?,
        Format::Jpeg => jpeg::encode(&single_page(picture, format, r)?, metadata, options, w, r)?,
        Format::Tiff => tiff::encode(picture, w, r)?,
        Format::WebP => webp::encode(&single_page(picture, format, r)?, metadata, w, r)?,
        Format::Pnm => {
            let rows = single_page(picture, format, r)?;
            pnm::begin(&rows, w)?.rows(&rows)?;
        }
        Format::Pfm => {
            let rows = single_page(picture, format, r)?;
            pfm::begin(&rows, w)?.rows(&rows)?;
        }
        Format::Exr => exr::encode(&single_page(picture, format, r)?, metadata, w)?,
        Format::Npy => npy::encode(picture, w, r)?,
    }
    say_lost(metadata, format, picture.pages.len(), r);
    writer.flush()?;
    Ok(remarks.into_vec())
}

/// Says what of the metadata the format has no place for.
fn say_lost(metadata: &Metadata, format: Format, pages: usize, remarks: &mut Remarks) {
    if format != Format::Png {
        let has = |kind: &[u8]| metadata.png.iter().any(|(k, _)| k == kind);
        // sRGB is what everybody assumes, and a profile says more.
        let color = [b"gAMA", b"cHRM", b"cICP"].iter().any(|k| has(*k));
        if color && !has(b"sRGB") && metadata.icc.is_none() {
            remarks.add("the colour space is given in PNG's own way: not kept");
        }
        if [b"tEXt", b"zTXt", b"iTXt"].iter().any(|k| has(*k)) {
            remarks.add("the text chunks of the PNG: not kept");
        }
        if has(b"pHYs") {
            remarks.add("the resolution of the PNG: not kept");
        }
        let known = [b"sRGB", b"gAMA", b"cHRM", b"cICP", b"tEXt", b"zTXt", b"iTXt", b"pHYs"];
        for (kind, _) in metadata.png.iter().filter(|(kind, _)| !known.contains(&kind)) {
            remarks.add(format!("the chunk {} of the PNG: not kept", kind.escape_ascii()));
        }
    }
    if let Some(exr) = metadata.exr.as_ref().filter(|e| format != Format::Exr && e.says_something()) {
        remarks.add(format!("{} of the OpenEXR file: not kept", exr.names()));
    }
    if format != Format::Jpeg {
        jpeg::segments::say_lost(&metadata.jpeg, remarks);
    }
    if format != Format::Tiff && metadata.tiff.has_fields() {
        remarks.add(format!("fields of the TIFF that {} has no place for: not kept", format.name()));
    }
    if let (Format::Tiff, Some(array), true) = (format, &metadata.array, pages > 1) {
        remarks.add(format!("the axes {} of the array are written as pages", array.axes));
    }
    if !matches!(format, Format::Png | Format::Jpeg | Format::Tiff | Format::WebP) {
        for (there, what) in [
            (metadata.icc.is_some(), "an ICC profile"),
            (metadata.exif.is_some(), "EXIF"),
            (metadata.xmp.is_some(), "XMP"),
        ] {
            if there {
                remarks.add(format!("{} has no place for {what}: not kept", format.name()));
            }
        }
    }
}

/// The only page, for formats that hold one.
fn single_page<'a>(picture: &'a Picture, format: Format, remarks: &mut Remarks) -> Result<Rows<'a>> {
    match &picture.pages[..] {
        [page] => Rows::new(picture, page, format, remarks),
        pages => Err(Error::Encode(format!(
            "{} holds one page, the picture has {}; use .tif",
            format.name(),
            pages.len()
        ))),
    }
}

/// The error for content that contradicts its format.
fn damaged(format: Format, why: impl Display) -> Error {
    Error::Decode(format!("damaged {}: {why}", format.name()))
}

/// The error for a file of several pictures, of which only one would be left.
fn animation(format: Format, pictures: u32) -> Error {
    Error::Unsupported(format!(
        "an animated {} of {pictures} pictures is not supported; make numbered pictures of it first",
        format.name()
    ))
}

/// Whether so many bytes can be had; nothing is taken. For decoders and encoders that take memory by themselves.
fn reserve(bytes: usize) -> Result<()> {
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| memory(bytes))
}

/// The error for a buffer that there is no memory for.
fn memory(bytes: usize) -> Error {
    Error::Memory { bytes: bytes as u64 }
}

/// The error for a file that is shorter than its header promises.
fn ends_early(format: Format) -> Error {
    damaged(format, "the file ends before the picture is complete")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panicking_decoder_is_an_error() {
        let e = guarded::<()>(Format::Png, || panic!("deep inside")).unwrap_err();
        assert_eq!(e.to_string(), "damaged PNG: the decoder gave up on it");
        assert_eq!(guarded(Format::Png, || Ok(7)).unwrap(), 7);
    }
}
