//! Portable float map: a short text header, then rows from the bottom up.

use std::io::Write;

use super::canvas::Canvas;
use super::pnm::Words;
use super::store::{Order, Rows};
use super::{Decoded, damaged, ends_early};
use crate::{Format, ReadOptions, Result, SampleType};

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let channels = if bytes[1] == b'F' { 3 } else { 1 };
    let mut words = Words::new(&bytes[2..], Format::Pfm);
    let (width, height): (u64, u64) = (words.number()?, words.number()?);
    // Its sign is the byte order, its size a unit that nobody agrees on.
    let scale: f32 = words.number()?;
    if !scale.is_finite() || scale == 0.0 {
        return Err(damaged(Format::Pfm, format_args!("a scale of {scale}")));
    }
    let mut canvas = Canvas::new(width, height, channels, options)?;
    let data = words.rest();
    let line = canvas.width() * channels * 4;
    let need = line.checked_mul(canvas.height()).filter(|n| *n <= data.len());
    let need = need.ok_or_else(|| ends_early(Format::Pfm))?;
    for (y, row) in data[..need].chunks_exact(line).rev().enumerate() {
        let row = row.as_chunks().0;
        if scale < 0.0 {
            canvas.put_row(y, row, f32::from_le_bytes);
        } else {
            canvas.put_row(y, row, f32::from_be_bytes);
        }
    }
    let mut decoded = Decoded::page(canvas.into_page(SampleType::F32, None, options)?);
    if scale.abs() != 1.0 {
        decoded.notes.push(format!("the scale of {} is not applied and not kept", scale.abs()));
    }
    Ok(decoded)
}

pub(super) fn encode(rows: &Rows, writer: &mut impl Write) -> Result<()> {
    let kind = if rows.channels() == 3 { "PF" } else { "Pf" };
    write!(writer, "{kind}\n{} {}\n-1.0\n", rows.width(), rows.height())?;
    let mut row = rows.row_buffer()?;
    for y in (0..rows.height()).rev() {
        row.clear();
        rows.row_bytes(y, Order::Little, &mut row);
        writer.write_all(&row)?;
    }
    Ok(())
}
