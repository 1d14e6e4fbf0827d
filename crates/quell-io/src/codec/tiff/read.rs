//! The pixels behind a directory: strips and tiles into pages.

use super::directory::Source;
use super::jpeg;
use super::pack::{Packing, unpack};
use super::predict::{Shape, undo};
use crate::codec::canvas::{Canvas, floats};
use crate::codec::sample::{self, Order, range};
use crate::codec::store::room;
use crate::codec::{damaged, ends_early};
use crate::{Format, Page, ReadOptions, Result};

/// Reads all pages of a directory.
pub(super) fn pages(
    bytes: &[u8],
    source: &Source,
    order: Order,
    options: &ReadOptions,
    pages: &mut Vec<Page>,
) -> Result<()> {
    for plane in 0..source.directory.stack {
        let groups = source.directory.groups();
        let mut canvases = groups
            .iter()
            .map(|g| Canvas::new(source.width, source.height, g.len(), options))
            .collect::<Result<Vec<_>>>()?;
        // Where each sample of a pixel goes.
        let mut places = vec![(0, 0); source.directory.channels];
        for (g, group) in groups.iter().enumerate() {
            group.iter().enumerate().for_each(|(i, sample)| places[*sample] = (g, i));
        }
        read(bytes, source, order, plane, |sample, x, y, row, step| {
            let (canvas, at) = places[sample];
            canvases[canvas].put_plane(at, x, y, row, step);
        })?;
        for canvas in canvases {
            pages.push(canvas.into_page(source.directory.samples, None, options)?);
        }
    }
    Ok(())
}

/// Calls `put` with the sample of the pixel, column, row, and its values, which are `step` apart.
fn read(
    bytes: &[u8],
    source: &Source,
    order: Order,
    plane: usize,
    mut put: impl FnMut(usize, usize, usize, &[f32], usize),
) -> Result<()> {
    let (width, height) = (source.width as usize, source.height as usize);
    let (piece_width, piece_height) = (source.piece.0 as usize, source.piece.1 as usize);
    let channels = source.stored_channels();
    let (passes, step) = if source.directory.planar { (channels, 1) } else { (1, channels) };
    let (across, down) = (width.div_ceil(piece_width), height.div_ceil(piece_height));
    let tiled = source.directory.tile.is_some();
    let row_bits = piece_width.checked_mul(step).and_then(|n| n.checked_mul(source.bits as usize));
    let row_bytes = row_bits.ok_or_else(|| ends_early(Format::Tiff))?.div_ceil(8);
    let mut values = floats(piece_width.saturating_mul(step))?;
    let mut colors = floats(if source.palette.is_some() { piece_width } else { 0 })?;
    for pass in 0..passes {
        for i in 0..across * down {
            let index = if source.directory.stack > 1 { plane } else { pass * across * down + i };
            let &(at, len) = source.pieces.get(index).ok_or_else(|| ends_early(Format::Tiff))?;
            let (x, y) = (i % across * piece_width, i / across * piece_height);
            let rows = if tiled { piece_height } else { piece_height.min(height - y) };
            let data = piece(bytes, at, len)?;
            let need = rows.checked_mul(row_bytes).ok_or_else(|| ends_early(Format::Tiff))?;
            let unpacked = unpack_piece(source, data, need, (piece_width, rows), step, order)?;
            for (j, row) in unpacked.chunks_exact(row_bytes).take(height - y).enumerate() {
                values.clear();
                to_values(source, row, order, piece_width * step, &mut values)?;
                match &source.palette {
                    Some(palette) => {
                        for (c, channel) in palette.iter().enumerate() {
                            colors.clear();
                            colors.extend(values.iter().map(|v| f32::from(channel[*v as usize])));
                            put(c, x, y + j, &colors, 1);
                        }
                    }
                    None => {
                        for c in 0..step {
                            put(pass + c, x, y + j, &values[c..], step);
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// The bytes of a strip or tile; what is said to go on behind the file ends with it.
fn piece(bytes: &[u8], at: u64, len: u64) -> Result<&[u8]> {
    let from = usize::try_from(at).ok().filter(|at| *at <= bytes.len());
    let from = from.ok_or_else(|| ends_early(Format::Tiff))?;
    let len = usize::try_from(len).unwrap_or(usize::MAX).min(bytes.len() - from);
    Ok(&bytes[from..from + len])
}

/// A strip or tile without its packing.
fn unpack_piece(
    source: &Source,
    data: &[u8],
    need: usize,
    size: (usize, usize),
    step: usize,
    order: Order,
) -> Result<Vec<u8>> {
    let packing = source.directory.packing;
    if packing == Packing::Jpeg {
        return jpeg::unpack(source, data, size, step);
    }
    let mut turned = room(if source.reversed { data.len() } else { 0 })?;
    let mut unpacked = if source.reversed {
        turned.extend(data.iter().map(|b| b.reverse_bits()));
        unpack(packing, &turned, need)?
    } else {
        unpack(packing, data, need)?
    };
    if source.bits >= 8 {
        let row = need / size.1.max(1);
        let shape = Shape { row, step, size: source.bits as usize / 8, order };
        undo(source.directory.predictor, &mut unpacked, shape);
    }
    Ok(unpacked)
}

/// Values of a row in the units of the page, or indices into the palette.
fn to_values(source: &Source, row: &[u8], order: Order, n: usize, out: &mut Vec<f32>) -> Result<()> {
    let bits = source.bits as usize;
    if let Some(palette) = &source.palette {
        match bits {
            16 => sample::read(crate::SampleType::U16, order, row, out)?,
            8 => sample::read(crate::SampleType::U8, order, row, out)?,
            _ => few_bits(row, bits, n, 1.0, out),
        }
        debug_assert!(palette[0].len() == 1 << bits);
        return Ok(());
    }
    if bits < 8 {
        few_bits(row, bits, n, 255.0 / ((1 << bits) - 1) as f32, out);
    } else {
        sample::read(source.directory.samples, order, row, out)?;
    }
    if out.len() < n {
        return Err(damaged(Format::Tiff, "a row is too short"));
    }
    if source.directory.is_inverted(source.directory.samples) {
        let white = range(source.directory.samples).1;
        out.iter_mut().for_each(|v| *v = white - *v);
    }
    Ok(())
}

/// Samples of less than a byte; each row begins with a new byte.
fn few_bits(row: &[u8], bits: usize, n: usize, scale: f32, out: &mut Vec<f32>) {
    let mask = ((1_u16 << bits) - 1) as u8;
    let unpack = |i: usize| row[i * bits / 8] >> (8 - bits - i * bits % 8) & mask;
    out.extend((0..n).map(|i| f32::from(unpack(i)) * scale));
}
