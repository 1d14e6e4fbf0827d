//! A TIFF or BigTIFF file as it is written: directories, and the places of what they speak of.

use std::io::{Seek, SeekFrom, Write};

use crate::codec::sample::Order;
use crate::exif::{Field, size_of_kind, swap};
use crate::{Error, Result};

/// Types of fields.
const SHORT: u16 = 3;
const LONG: u16 = 4;
pub(super) const RATIONAL: u16 = 5;
const LONG8: u16 = 16;

pub(super) fn shorts(tag: u16, values: &[u16]) -> Field {
    Field { tag, kind: SHORT, data: values.iter().flat_map(|v| v.to_ne_bytes()).collect() }
}

pub(super) fn longs(tag: u16, values: &[u32]) -> Field {
    Field { tag, kind: LONG, data: values.iter().flat_map(|v| v.to_ne_bytes()).collect() }
}

/// The file as it grows.
pub(super) struct File<W> {
    writer: W,
    big: bool,
    pub(super) order: Order,
    /// Where the writer is.
    pub(super) at: u64,
    /// Where the place of the next directory belongs.
    link: u64,
    /// Where the file begins.
    start: u64,
}

impl<W: Write + Seek> File<W> {
    pub(super) fn new(mut writer: W, big: bool, order: Order) -> Result<Self> {
        let start = writer.stream_position()?;
        let mut file = Self { writer, big, order, at: 0, link: if big { 8 } else { 4 }, start };
        file.put(if order == Order::Big { b"MM" } else { b"II" })?;
        if big {
            for n in [43, 8, 0] {
                file.put(&file.number(n, 2))?;
            }
            file.put(&[0; 8])?;
        } else {
            file.put(&file.number(42, 2))?;
            file.put(&[0; 4])?;
        }
        Ok(file)
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// To an even place, as the specification wants it.
    pub(super) fn align(&mut self) -> Result<()> {
        if self.at % 2 == 1 { self.put(&[0]) } else { Ok(()) }
    }

    /// A number of 2, 4 or 8 bytes.
    fn number(&self, n: u64, bytes: usize) -> Vec<u8> {
        match self.order {
            Order::Little => n.to_le_bytes()[..bytes].to_vec(),
            Order::Big => n.to_be_bytes()[8 - bytes..].to_vec(),
        }
    }

    /// Bytes of an offset.
    fn offset(&self) -> usize {
        if self.big { 8 } else { 4 }
    }

    /// A field of places or lengths in the file.
    pub(super) fn places(&self, tag: u16, values: &[u64]) -> Field {
        if self.big {
            Field { tag, kind: LONG8, data: values.iter().flat_map(|v| v.to_ne_bytes()).collect() }
        } else {
            // The size was looked at beforehand.
            longs(tag, &values.iter().map(|v| *v as u32).collect::<Vec<_>>())
        }
    }

    /// Bytes of a directory and its values.
    pub(super) fn len_of(&self, fields: &[Field]) -> u64 {
        let outside = fields.iter().map(|f| f.data.len()).filter(|n| *n > self.offset());
        let values: usize = outside.map(|n| n.next_multiple_of(2)).sum();
        let (head, entry) = if self.big { (8, 20) } else { (2, 12) };
        (values + head + entry * fields.len() + self.offset()) as u64
    }

    /// Writes the values of a directory, then the directory itself; the last bytes of a file are the mark that
    /// no other follows. `chained`: it is a page.
    pub(super) fn directory(&mut self, mut fields: Vec<Field>, chained: bool) -> Result<u64> {
        if !self.big && self.at + self.len_of(&fields) > u32::MAX.into() {
            return Err(Error::Encode("the file is larger than TIFF can be".into()));
        }
        fields.sort_by_key(|f| f.tag);
        let mut entries = self.number(fields.len() as u64, if self.big { 8 } else { 2 });
        let offset = self.offset();
        for mut field in fields {
            let count = field.data.len() / size_of_kind(field.kind);
            if (self.order == Order::Big) != cfg!(target_endian = "big") {
                swap(field.kind, &mut field.data);
            }
            entries.extend(self.number(field.tag.into(), 2));
            entries.extend(self.number(field.kind.into(), 2));
            entries.extend(self.number(count as u64, offset));
            if field.data.len() > offset {
                entries.extend(self.number(self.at, offset));
                self.put(&field.data)?;
                self.align()?;
            } else {
                field.data.resize(offset, 0);
                entries.extend(field.data);
            }
        }
        let at = self.at;
        self.put(&entries)?;
        let link = self.at;
        self.put(&vec![0; offset])?;
        if chained {
            self.writer.seek(SeekFrom::Start(self.start + self.link))?;
            let place = self.number(at, offset);
            self.writer.write_all(&place)?;
            self.writer.seek(SeekFrom::Start(self.start + self.at))?;
            self.link = link;
        }
        Ok(at)
    }

    /// The writer, when all is written.
    pub(super) fn into_inner(self) -> W {
        self.writer
    }
}
