//! The pixels behind a directory: strips and tiles into pages.

use std::collections::BTreeMap;
use std::ops::Range;

use super::directory::Source;
use super::jpeg;
use super::pack::{Packing, unpack};
use super::predict::{Shape, undo};
use crate::codec::band::Put;
use crate::codec::canvas::{Canvas, floats};
use crate::codec::sample::{self, Order, range};
use crate::codec::store::room;
use crate::codec::{damaged, ends_early};
use crate::input::Input;
use crate::{Format, Page, ReadOptions, Result};

/// Reads all pages of a directory.
pub(super) fn pages(
    bytes: &[u8],
    source: &Source,
    order: Order,
    options: &ReadOptions,
    pages: &mut Vec<Page>,
) -> Result<()> {
    let grid = Grid::new(source, order)?;
    grid.check(source, bytes.len() as u64)?;
    for plane in 0..source.directory.stack {
        let groups = source.directory.groups();
        let mut canvases = groups
            .iter()
            .map(|g| Canvas::new(source.width, source.height, g.len(), options))
            .collect::<Result<Vec<_>>>()?;
        let places = source.directory.places();
        let put = &mut |sample: usize, x: usize, y: usize, row: &[f32], step: usize| {
            let (canvas, at) = places[sample];
            canvases[canvas].put_plane(at, x, y, row, step);
        };
        grid.read(bytes.into(), source, plane, 0..grid.height, None, put)?;
        for canvas in canvases {
            pages.push(canvas.into_page(source.directory.samples, None, options)?);
        }
    }
    Ok(())
}

/// How strips or tiles cover a picture.
pub(super) struct Grid {
    height: usize,
    /// Width and height of a strip or tile.
    piece: (usize, usize),
    /// The last ones are as high as all others.
    tiled: bool,
    /// Channels that lie one after the other, and samples that lie side by side.
    passes: usize,
    step: usize,
    across: usize,
    down: usize,
    /// Bytes of a row of a strip or tile.
    row_bytes: usize,
    order: Order,
}

impl Grid {
    pub(super) fn new(source: &Source, order: Order) -> Result<Self> {
        let (width, height) = (source.width as usize, source.height as usize);
        let piece = (source.piece.0 as usize, source.piece.1 as usize);
        let channels = source.stored_channels();
        let (passes, step) = if source.directory.planar { (channels, 1) } else { (1, channels) };
        let row_bits = piece.0.checked_mul(step).and_then(|n| n.checked_mul(source.bits as usize));
        let row_bytes = row_bits.ok_or_else(|| ends_early(Format::Tiff))?.div_ceil(8);
        let (across, down) = (width.div_ceil(piece.0), height.div_ceil(piece.1));
        let tiled = source.directory.tile.is_some();
        Ok(Self { height, piece, tiled, passes, step, across, down, row_bytes, order })
    }

    /// Samples that lie side by side in a row, with what is beyond the picture.
    pub(super) fn row_samples(&self) -> u64 {
        let across = (self.across as u64).saturating_mul(self.piece.0 as u64);
        across.saturating_mul((self.passes * self.step) as u64)
    }

    /// Bytes of the largest strip or tile without its packing.
    pub(super) fn piece_bytes(&self) -> u64 {
        (self.row_bytes as u64).saturating_mul(self.piece.1 as u64)
    }

    /// Rows of strip or tile `j` from the top.
    fn rows(&self, j: usize) -> usize {
        if self.tiled { self.piece.1 } else { self.piece.1.min(self.height - j * self.piece.1) }
    }

    /// Refuses strips and tiles that are not in the file.
    pub(super) fn check(&self, source: &Source, file: u64) -> Result<()> {
        // Those of a stack were looked at when it was found.
        if source.directory.stack > 1 {
            return Ok(());
        }
        for pass in 0..self.passes {
            for j in 0..self.down {
                let need =
                    self.rows(j).checked_mul(self.row_bytes).ok_or_else(|| ends_early(Format::Tiff))?;
                for i in 0..self.across {
                    let piece = source.pieces.get(self.index(pass, j, i));
                    let there = piece.filter(|(at, _)| *at <= file).map(|(at, len)| (file - at).min(*len));
                    let packed = source.directory.packing != Packing::None;
                    there.filter(|n| packed || *n >= need as u64).ok_or_else(|| ends_early(Format::Tiff))?;
                }
            }
        }
        Ok(())
    }

    fn index(&self, pass: usize, j: usize, i: usize) -> usize {
        (pass * self.down + j) * self.across + i
    }

    /// Calls `put` with the sample of the pixel, column, row, and its values. Strips and tiles that `kept` holds are
    /// not unpacked again.
    pub(super) fn read(
        &self,
        input: Input,
        source: &Source,
        plane: usize,
        rows: Range<usize>,
        mut kept: Option<&mut Kept>,
        put: &mut Put,
    ) -> Result<()> {
        let mut values = floats(self.piece.0.saturating_mul(self.step))?;
        let mut colors = floats(if source.palette.is_some() { self.piece.0 } else { 0 })?;
        for j in rows.start / self.piece.1..rows.end.div_ceil(self.piece.1) {
            let y = j * self.piece.1;
            let wanted = rows.start.saturating_sub(y)..(rows.end - y).min(self.piece.1);
            for pass in 0..self.passes {
                for i in 0..self.across {
                    let index = if source.directory.stack > 1 { plane } else { self.index(pass, j, i) };
                    let found = kept.as_mut().and_then(|kept| kept.take((j, pass, i)));
                    // What is not packed needs no more than its rows.
                    let packed = source.directory.packing != Packing::None;
                    let held = if packed { 0..self.rows(j) } else { wanted.clone() };
                    let data = match found {
                        Some(data) => data,
                        None => self.piece(input, source, index, held.clone())?,
                    };
                    let lines = data.chunks_exact(self.row_bytes).zip(held);
                    for (row, at) in lines.filter(|(_, at)| wanted.contains(at)) {
                        values.clear();
                        to_values(source, row, self.order, self.piece.0 * self.step, &mut values)?;
                        let (x, y) = (i * self.piece.0, y + at);
                        match &source.palette {
                            Some(palette) => {
                                for (c, channel) in palette.iter().enumerate() {
                                    colors.clear();
                                    colors.extend(values.iter().map(|v| f32::from(channel[*v as usize])));
                                    put(c, x, y, &colors, 1);
                                }
                            }
                            None => (0..self.step).for_each(|c| put(pass + c, x, y, &values[c..], self.step)),
                        }
                    }
                    if let Some(kept) = kept.as_mut().filter(|_| packed) {
                        kept.keep((j, pass, i), data);
                    }
                }
            }
        }
        Ok(())
    }

    /// Some rows of a strip or tile, without its packing; what is packed comes whole.
    fn piece(&self, input: Input, source: &Source, index: usize, rows: Range<usize>) -> Result<Vec<u8>> {
        let early = || ends_early(Format::Tiff);
        let &(at, len) = source.pieces.get(index).ok_or_else(early)?;
        let before = rows.start.checked_mul(self.row_bytes).ok_or_else(early)?;
        let need = rows.len().checked_mul(self.row_bytes).ok_or_else(early)?;
        let at = at.checked_add(before as u64).filter(|at| *at <= input.len()).ok_or_else(early)?;
        // Nothing is longer when it is packed than this, but lengths in files may be.
        let most = match source.directory.packing {
            Packing::None => need,
            _ => need.saturating_mul(3).max(1 << 26),
        };
        let len = usize::try_from(len.saturating_sub(before as u64)).unwrap_or(usize::MAX).min(most);
        let data = input.get(at, len)?;
        unpack_piece(source, &data, need, (self.piece.0, rows.len()), self.step, self.order)
    }
}

/// Unpacked strips and tiles that the next band may need again.
pub(super) struct Kept {
    /// By row of strips or tiles, channel, and column.
    pieces: BTreeMap<(usize, usize, usize), Vec<u8>>,
    bytes: usize,
    /// Bytes at most.
    most: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self { pieces: BTreeMap::new(), bytes: 0, most: 1 << 30 }
    }
}

impl Kept {
    fn take(&mut self, place: (usize, usize, usize)) -> Option<Vec<u8>> {
        let data = self.pieces.remove(&place)?;
        self.bytes -= data.len();
        Some(data)
    }

    fn keep(&mut self, place: (usize, usize, usize), data: Vec<u8>) {
        self.bytes += data.len();
        self.pieces.insert(place, data);
        // The last rows are those that a band further down has in common with this one.
        while self.bytes > self.most
            && let Some((_, first)) = self.pieces.pop_first()
        {
            self.bytes -= first.len();
        }
    }

    /// Leaves out what these rows do not need.
    pub(super) fn retain(&mut self, grid: &Grid, rows: &Range<usize>) {
        let needed = rows.start / grid.piece.1..rows.end.div_ceil(grid.piece.1);
        self.pieces.retain(|(j, ..), _| needed.contains(j));
        self.bytes = self.pieces.values().map(Vec::len).sum();
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_kept_as_long_as_rows_need_them() {
        let piece = (16, 10);
        let (height, tiled, passes, step, across, down) = (100, true, 1, 1, 2, 10);
        let grid =
            Grid { height, piece, tiled, passes, step, across, down, row_bytes: 16, order: Order::Big };
        let mut kept = Kept::default();
        for j in 0..5 {
            (0..2).for_each(|i| kept.keep((j, 0, i), vec![0; 160]));
        }
        assert_eq!((kept.pieces.len(), kept.bytes), (10, 1600));
        kept.retain(&grid, &(35..60));
        assert_eq!((kept.pieces.len(), kept.bytes), (4, 640));
        assert_eq!(kept.take((3, 0, 1)).unwrap().len(), 160);
        assert!(kept.take((3, 0, 1)).is_none() && kept.take((2, 0, 0)).is_none());
        assert_eq!(kept.bytes, 480);
        kept.retain(&grid, &(50..60));
        assert_eq!((kept.pieces.len(), kept.bytes), (0, 0));
    }

    #[test]
    fn the_uppermost_pieces_go_first_when_there_are_too_many() {
        let mut kept = Kept { most: 500, ..Kept::default() };
        (0..5).for_each(|j| kept.keep((j, 0, 0), vec![0; 200]));
        let left: Vec<usize> = kept.pieces.keys().map(|(j, ..)| *j).collect();
        assert_eq!((left, kept.bytes), (vec![3, 4], 400));
        kept.keep((9, 0, 0), vec![0; 600]);
        assert_eq!((kept.pieces.len(), kept.bytes), (0, 0));
    }
}
