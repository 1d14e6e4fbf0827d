//! What the codecs of pictures that can be read and written in bands of rows have in common.

use std::io::{Seek, Write};
use std::ops::Range;

use super::store::{Outline, Remarks, Rows, Stored};
use super::{guarded, npy, pfm, pnm, say_lost, tiff};
use crate::input::Input;
use crate::{Error, Format, Metadata, ReadOptions, Result};

/// Samples of a row at most, padding included.
const ROW: u64 = 1 << 28;

/// Takes a plane, a column, a row, and the values from there on, which are as many apart as the last number says.
/// What lies beyond the picture's width is not meant.
pub(crate) type Put<'a> = dyn FnMut(usize, usize, usize, &[f32], usize) + 'a;

/// Decodes rows of a picture, best from the top down.
pub(crate) trait ReadRows: Send {
    /// Decodes some rows that are there, all planes of them.
    fn read(&mut self, input: Input, rows: Range<usize>, put: &mut Put) -> Result<()>;
}

/// Encodes rows of a picture from the top down.
pub(crate) trait WriteRows<W>: Send {
    /// Every band but the last one has a multiple of so many rows.
    fn step(&self) -> usize;

    fn rows(&mut self, rows: &Rows) -> Result<()>;

    /// Writes what is left when the last row was there.
    fn finish(self: Box<Self>) -> Result<W>;
}

/// A picture whose rows have not been read.
pub(crate) struct Opened {
    pub(crate) page: Outline,
    pub(crate) metadata: Metadata,
    pub(crate) notes: Vec<String>,
    pub(crate) rows: Box<dyn ReadRows>,
}

/// Looks at everything but the samples; nothing if they cannot be read in bands.
pub(crate) fn open(format: Format, input: Input, options: &ReadOptions) -> Result<Option<Opened>> {
    // No more memory is taken than for a band, whatever the size.
    let options = ReadOptions { max_pixels: u64::MAX, ..options.clone() };
    let open = match format {
        Format::Tiff => tiff::open,
        Format::Pnm => pnm::open,
        Format::Pfm => pfm::open,
        Format::Npy => npy::open,
        Format::Png | Format::Jpeg | Format::WebP | Format::Exr => return Ok(None),
    };
    guarded(format, || open(input, &options))
}

/// Decodes some rows that are there.
pub(crate) fn read(
    format: Format,
    from: &mut dyn ReadRows,
    input: Input,
    rows: Range<usize>,
    put: &mut Put,
) -> Result<()> {
    guarded(format, || from.read(input, rows, put))
}

/// Refuses rows that are too long to have some of them in memory.
pub(super) fn check_row(samples: Option<u64>) -> Result<()> {
    match samples {
        Some(n) if n <= ROW => Ok(()),
        _ => Err(Error::Unsupported(format!("rows of more than {ROW} samples are not supported"))),
    }
}

/// A file whose rows have not been written.
pub(crate) struct Begun<W> {
    pub(crate) stored: Stored,
    pub(crate) rows: Box<dyn WriteRows<W>>,
}

/// Begins a file; nothing if the format cannot be written in bands.
pub(crate) fn begin<W: Write + Seek + Send + 'static>(
    page: &Outline,
    from: Format,
    metadata: &Metadata,
    format: Format,
    writer: W,
    remarks: &mut Remarks,
) -> Result<Option<Begun<W>>> {
    let stored = Stored::new(page, from, metadata.premultiplied, format, remarks);
    let rows: Box<dyn WriteRows<W>> = match format {
        Format::Tiff => Box::new(tiff::begin(&stored, from, metadata, writer, remarks)?),
        Format::Pnm => Box::new(pnm::begin(&stored, writer)?),
        Format::Pfm => Box::new(pfm::begin(&stored, writer)?),
        Format::Npy => match npy::begin(&stored, page, metadata, writer)? {
            Some(rows) => Box::new(rows),
            None => return Ok(None),
        },
        Format::Png | Format::Jpeg | Format::WebP | Format::Exr => return Ok(None),
    };
    say_lost(metadata, format, 1, remarks);
    Ok(Some(Begun { stored, rows }))
}

/// What `parse` makes of a header of text, and of where it ends; nothing if that is not among the first bytes.
pub(super) fn header<T>(
    input: Input,
    parse: impl FnOnce(&[u8]) -> Result<T>,
    end: impl FnOnce(&T) -> u64,
) -> Result<Option<T>> {
    const LONGEST: usize = 1 << 16;
    let bytes = input.get(0, LONGEST)?;
    let (parsed, here) = (parse(&bytes), bytes.len() as u64);
    match parsed {
        Ok(header) if here == input.len() || end(&header) < here => Ok(Some(header)),
        Err(e) if here == input.len() => Err(e),
        _ => Ok(None),
    }
}
