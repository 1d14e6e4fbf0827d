//! Samples that lie in the file as they are, one row behind the other: PNM, PFM and most NumPy arrays.

use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;

use super::band::{Put, ReadRows, WriteRows};
use super::canvas::{Canvas, check_size, floats};
use super::ends_early;
use super::sample::{self, Order};
use super::store::Rows;
use crate::input::Input;
use crate::{Format, ReadOptions, Result, SampleType};

/// Bytes that are read at a time, about.
const CHUNK: usize = 1 << 20;

/// Where the rows are.
pub(super) struct Lines {
    pub(super) format: Format,
    /// Where they begin.
    pub(super) at: u64,
    pub(super) width: u64,
    pub(super) height: u64,
    /// Samples of a pixel.
    pub(super) channels: usize,
    pub(super) samples: SampleType,
    pub(super) order: Order,
    /// What samples are multiplied by.
    pub(super) scale: f32,
    /// The last row comes first.
    pub(super) upwards: bool,
}

impl Lines {
    /// Where the last row ends; an error if the file does.
    pub(super) fn end(&self, file: u64, options: &ReadOptions) -> Result<u64> {
        check_size(self.width, self.height, options)?;
        let row = self.width.checked_mul(self.channels as u64 * self.samples.bytes());
        let end = row.and_then(|n| n.checked_mul(self.height)?.checked_add(self.at));
        // Now everything in it can be addressed, too.
        let end = end.filter(|end| *end <= file && usize::try_from(*end - self.at).is_ok());
        end.ok_or_else(|| ends_early(self.format))
    }

    /// A canvas with all rows, which have to be there.
    pub(super) fn paint(&self, input: Input, options: &ReadOptions) -> Result<Canvas> {
        let mut canvas = Canvas::new(self.width, self.height, self.channels, options)?;
        self.read(input, 0..canvas.height(), &mut |c, x, y, row, step| canvas.put_plane(c, x, y, row, step))?;
        Ok(canvas)
    }

    fn read(&self, input: Input, rows: Range<usize>, put: &mut Put) -> Result<()> {
        let (width, height) = (self.width as usize, self.height as usize);
        let line = width * self.channels * self.samples.bytes() as usize;
        let mut values = floats(width * self.channels)?;
        let step = (CHUNK / line).max(1);
        for top in rows.clone().step_by(step) {
            let part = top..rows.end.min(top + step);
            let first = if self.upwards { height - part.end } else { part.start };
            let len = part.len() * line;
            let data = input.get(self.at + (first * line) as u64, len)?;
            if data.len() < len {
                return Err(ends_early(self.format));
            }
            for (i, row) in data.chunks_exact(line).enumerate() {
                let y = if self.upwards { part.end - 1 - i } else { part.start + i };
                values.clear();
                sample::read(self.samples, self.order, row, &mut values)?;
                if self.scale != 1.0 {
                    values.iter_mut().for_each(|v| *v *= self.scale);
                }
                for c in 0..self.channels {
                    put(c, 0, y, &values[c..], self.channels);
                }
            }
        }
        Ok(())
    }
}

impl ReadRows for Lines {
    fn read(&mut self, input: Input, rows: Range<usize>, put: &mut Put) -> Result<()> {
        Self::read(self, input, rows, put)
    }
}

/// Writes rows behind a header.
pub(super) struct LineWriter<W> {
    writer: W,
    order: Order,
    /// Where the last row belongs, if that one comes first.
    upwards: Option<u64>,
}

impl<W: Write + Seek> LineWriter<W> {
    /// Rows follow from where the writer is.
    pub(super) fn new(writer: W, order: Order) -> Self {
        Self { writer, order, upwards: None }
    }

    /// The same, from the bottom up.
    pub(super) fn upwards(mut writer: W, order: Order) -> Result<Self> {
        let upwards = Some(writer.stream_position()?);
        Ok(Self { writer, order, upwards })
    }

    pub(super) fn rows(&mut self, rows: &Rows) -> Result<()> {
        let mut line = rows.row_buffer()?;
        let mut put = |y, writer: &mut W| -> Result<()> {
            line.clear();
            rows.row_bytes(y, self.order, &mut line);
            Ok(writer.write_all(&line)?)
        };
        match self.upwards {
            None => rows.range().try_for_each(|y| put(y, &mut self.writer)),
            Some(start) => {
                let row = rows.width() as u64 * rows.channels() as u64 * rows.samples.bytes();
                let below = (rows.height() - rows.range().end) as u64;
                self.writer.seek(SeekFrom::Start(start + below * row))?;
                rows.range().rev().try_for_each(|y| put(y, &mut self.writer))
            }
        }
    }
}

impl<W: Write + Seek + Send> WriteRows<W> for LineWriter<W> {
    fn step(&self) -> usize {
        1
    }

    fn rows(&mut self, rows: &Rows) -> Result<()> {
        Self::rows(self, rows)
    }

    fn finish(self: Box<Self>) -> Result<W> {
        Ok(self.writer)
    }
}
