//! NumPy arrays: `H x W` or `H x W x 1…4`, as NumPy and the Python imaging world lay pictures out.

use std::io::Write;

use npyz::{DType, Endianness, NpyHeader, Order as Layout, TypeChar, WriterBuilder};

use super::canvas::Canvas;
use super::store::{Order, Rows};
use super::{Decoded, damaged, ends_early};
use crate::{Error, Format, ReadOptions, Result, SampleType};

/// Longest header that is looked at; NumPy's own are 128 bytes.
const HEADER: usize = 4096;

/// Deepest brackets that are looked at; a picture's header has a tuple in a dictionary.
const NESTING: usize = 4;

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let data_at = header_len(bytes)?;
    // The parser's time doubles with each level of lists or dictionaries.
    if nesting(&bytes[..data_at]) > NESTING {
        return Err(damaged(Format::Npy, "brackets in the header are nested too deeply"));
    }
    let header = NpyHeader::from_reader(&bytes[..data_at]).map_err(|e| damaged(Format::Npy, e))?;
    let (width, height, channels) = match *header.shape() {
        [h, w] => (w, h, 1),
        [h, w, c @ 1..=4] => (w, h, c as usize),
        ref shape => {
            let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
            return Err(Error::Unsupported(format!(
                "an array of shape ({}) is not a picture; use (height, width) or (height, width, 1 to 4)",
                shape.join(", ")
            )));
        }
    };
    let kind = Kind::new(&header.dtype())?;
    let mut canvas = Canvas::new(width, height, channels, options)?;
    let data = &bytes[data_at..];
    let need = (canvas.width() * channels).checked_mul(canvas.height() * kind.size);
    let data = need.and_then(|n| data.get(..n)).ok_or_else(|| ends_early(Format::Npy))?;
    let columns = header.order() == Layout::Fortran;
    match (kind.size, kind.big) {
        (1, _) => fill(&mut canvas, data.as_chunks().0, columns, |[s]: [u8; 1]| s.into()),
        (2, false) => fill(&mut canvas, data.as_chunks().0, columns, |s| u16::from_le_bytes(s).into()),
        (2, true) => fill(&mut canvas, data.as_chunks().0, columns, |s| u16::from_be_bytes(s).into()),
        (4, false) => fill(&mut canvas, data.as_chunks().0, columns, f32::from_le_bytes),
        (4, true) => fill(&mut canvas, data.as_chunks().0, columns, f32::from_be_bytes),
        (_, false) => fill(&mut canvas, data.as_chunks().0, columns, |s| f64::from_le_bytes(s) as f32),
        (_, true) => fill(&mut canvas, data.as_chunks().0, columns, |s| f64::from_be_bytes(s) as f32),
    }
    let mut decoded = Decoded::page(canvas.into_page(kind.samples, None, options)?);
    if kind.size == 8 {
        decoded.notes.push("float64 is read as float32, and written so".into());
    }
    if columns {
        decoded.notes.push("the array is in Fortran order, and will be written in C order".into());
    }
    Ok(decoded)
}

/// Puts all samples in place; `columns` is the order in which the first index varies fastest.
fn fill<T: Copy>(canvas: &mut Canvas, data: &[T], columns: bool, value: impl Fn(T) -> f32) {
    let (width, height, channels) = (canvas.width(), canvas.height(), canvas.channels());
    if !columns {
        for (y, row) in data.chunks_exact(width * channels).enumerate() {
            canvas.put_row(y, row, &value);
        }
        return;
    }
    for c in 0..channels {
        let plane = &data[c * width * height..][..width * height];
        for y in 0..height {
            let row: Vec<T> = plane[y..].iter().step_by(height).copied().collect();
            canvas.put(c..c + 1, 0, y, &row, &value);
        }
    }
}

/// Bytes before the data, from the two lengths in the format's versions.
fn header_len(bytes: &[u8]) -> Result<usize> {
    let len = match bytes {
        [_, _, _, _, _, _, 1, _, a, b, ..] => 10 + usize::from(u16::from_le_bytes([*a, *b])),
        [_, _, _, _, _, _, 2 | 3, _, a, b, c, d, ..] => {
            12 + u32::from_le_bytes([*a, *b, *c, *d]).min(1 << 30) as usize
        }
        [_, _, _, _, _, _, v, _, ..] if *v > 3 => {
            return Err(Error::Unsupported(format!("version {v} of the NPY format is not supported")));
        }
        _ => return Err(ends_early(Format::Npy)),
    };
    if len > HEADER {
        return Err(damaged(Format::Npy, format_args!("a header of {len} bytes")));
    }
    if len > bytes.len() {
        return Err(ends_early(Format::Npy));
    }
    Ok(len)
}

/// How deep brackets are nested, counting those inside strings too.
fn nesting(header: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in header {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// A sample type that can be read.
struct Kind {
    samples: SampleType,
    size: usize,
    big: bool,
}

impl Kind {
    fn new(dtype: &DType) -> Result<Self> {
        let refuse = || {
            Error::Unsupported(format!(
                "an array of type {} is not supported; convert it with .astype to uint8, uint16 or float32",
                dtype.descr()
            ))
        };
        let DType::Plain(kind) = dtype else { return Err(refuse()) };
        let (samples, size) = match (kind.type_char(), kind.size_field()) {
            (TypeChar::Uint, 1) => (SampleType::U8, 1),
            (TypeChar::Uint, 2) => (SampleType::U16, 2),
            (TypeChar::Float, 4) => (SampleType::F32, 4),
            (TypeChar::Float, 8) => (SampleType::F32, 8),
            _ => return Err(refuse()),
        };
        Ok(Self { samples, size, big: kind.endianness() == Endianness::Big })
    }
}

pub(super) fn encode(rows: &Rows, writer: &mut impl Write) -> Result<()> {
    let mut shape = vec![rows.height() as u64, rows.width() as u64];
    if rows.channels() > 1 {
        shape.push(rows.channels() as u64);
    }
    let kind = match rows.samples {
        SampleType::U8 => "|u1",
        SampleType::U16 => "<u2",
        SampleType::F16 | SampleType::F32 => "<f4",
    };
    let kind = kind.parse().map_err(|e| Error::Encode(format!("{kind}: {e}")))?;
    npyz::WriteOptions::new_header_only()
        .dtype(DType::Plain(kind))
        .shape(&shape)
        .writer(&mut *writer)
        .write_header_only()?;
    let mut row = Vec::new();
    for y in 0..rows.height() {
        row.clear();
        rows.row_bytes(y, Order::Little, &mut row);
        writer.write_all(&row)?;
    }
    Ok(())
}
