//! Portable float map: a short text header, then rows from the bottom up.

use std::io::{Seek, Write};

use super::band::{Opened, check_row, header};
use super::lines::{LineWriter, Lines};
use super::pnm::Words;
use super::store::{Order, Outline, Stored};
use super::{Decoded, damaged};
use crate::input::Input;
use crate::{Format, Metadata, ReadOptions, Result, SampleType};

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let (lines, notes) = lines(bytes)?;
    lines.end(bytes.len() as u64, options)?;
    let page = lines.paint(bytes.into(), options)?.into_page(SampleType::F32, None, options)?;
    Ok(Decoded { notes, ..Decoded::page(page) })
}

pub(super) fn open(input: Input, options: &ReadOptions) -> Result<Option<Opened>> {
    let Some((lines, notes)) = header(input, lines, |(lines, _)| lines.at)? else { return Ok(None) };
    lines.end(input.len(), options)?;
    check_row(lines.width.checked_mul(lines.channels as u64))?;
    let page = Outline::new(&lines, SampleType::F32.white(), options);
    Ok(Some(Opened { page, metadata: Metadata::default(), notes, rows: Box::new(lines) }))
}

/// Where the rows are, as the header says, and what is to be said of it.
fn lines(bytes: &[u8]) -> Result<(Lines, Vec<String>)> {
    let channels = if bytes[1] == b'F' { 3 } else { 1 };
    let mut words = Words::new(&bytes[2..], Format::Pfm);
    let (width, height): (u64, u64) = (words.number()?, words.number()?);
    // Its sign is the byte order, its size a unit that nobody agrees on.
    let scale: f32 = words.number()?;
    if !scale.is_finite() || scale == 0.0 {
        return Err(damaged(Format::Pfm, format_args!("a scale of {scale}")));
    }
    let lines = Lines {
        format: Format::Pfm,
        at: (bytes.len() - words.rest().len()) as u64,
        width,
        height,
        channels,
        samples: SampleType::F32,
        order: if scale < 0.0 { Order::Little } else { Order::Big },
        scale: 1.0,
        upwards: true,
    };
    let other = scale.abs() != 1.0;
    let note = || format!("the scale of {} is not applied and not kept", scale.abs());
    Ok((lines, other.then(note).into_iter().collect()))
}

/// Writes the header.
pub(super) fn begin<W: Write + Seek>(page: &Stored, mut writer: W) -> Result<LineWriter<W>> {
    let kind = if page.channels() == 3 { "PF" } else { "Pf" };
    write!(writer, "{kind}\n{} {}\n-1.0\n", page.width, page.height)?;
    LineWriter::upwards(writer, Order::Little)
}
