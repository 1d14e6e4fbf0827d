//! The header of a NumPy file: a Python dictionary of three entries, read without a Python.

use super::super::{damaged, ends_early};
use crate::codec::sample::Order;
use crate::{Error, Format, Result, SampleType};

/// Longest header that is looked at; NumPy's own are 128 bytes.
pub(super) const LONGEST: usize = 4096;

/// Sides at most, as in NumPy.
const SIDES: usize = 64;

/// What the header says.
pub(super) struct Header {
    pub(super) samples: SampleType,
    pub(super) order: Order,
    pub(super) fortran: bool,
    pub(super) shape: Vec<u64>,
    /// Where the samples begin.
    pub(super) data_at: usize,
}

impl Header {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        let (start, len) = extent(bytes)?;
        let text = &bytes[start..start + len];
        let mut text = Text { rest: text };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        text.expect(b'{')?;
        while !text.take(b'}') {
            let key = text.string()?;
            text.expect(b':')?;
            match key {
                b"descr" => descr = Some(text.descr()?),
                b"fortran_order" => fortran = Some(text.boolean()?),
                b"shape" => shape = Some(text.shape()?),
                _ => return Err(damaged(Format::Npy, "an unknown entry in the header")),
            }
            if !text.take(b',') {
                text.expect(b'}')?;
                break;
            }
        }
        let (Some(descr), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
            return Err(damaged(Format::Npy, "the header lacks descr, fortran_order or shape"));
        };
        let (samples, order) = sample_type(&descr)?;
        Ok(Self { samples, order, fortran, shape, data_at: start + len })
    }

    /// The header as bytes, padded as NumPy does.
    pub(super) fn write(samples: SampleType, order: Order, fortran: bool, shape: &[usize]) -> Vec<u8> {
        let kind = match samples {
            SampleType::U8 => "u1",
            SampleType::U16 => "u2",
            SampleType::I16 => "i2",
            SampleType::U32 => "u4",
            SampleType::I32 => "i4",
            SampleType::F16 => "f2",
            SampleType::F32 => "f4",
            SampleType::F64 => "f8",
        };
        let order = match (samples, order) {
            (SampleType::U8, _) => '|',
            (_, Order::Big) => '>',
            (_, Order::Little) => '<',
        };
        let sides: Vec<String> = shape.iter().map(usize::to_string).collect();
        let fortran = if fortran { "True" } else { "False" };
        let shape = sides.join(", ");
        let mut dict =
            format!("{{'descr': '{order}{kind}', 'fortran_order': {fortran}, 'shape': ({shape}), }}");
        // With the line's end, to a multiple of 64.
        let len = (10 + dict.len() + 1).next_multiple_of(64) - 10;
        dict.extend(std::iter::repeat_n(' ', len - 1 - dict.len()));
        dict.push('\n');
        // Six sides of 20 digits at most: far below the two bytes of the length.
        [b"\x93NUMPY\x01\0", &(len as u16).to_le_bytes()[..], dict.as_bytes()].concat()
    }
}

/// Where the dictionary begins and how long it is, from the two lengths in the format's versions.
fn extent(bytes: &[u8]) -> Result<(usize, usize)> {
    let (start, len) = match bytes {
        [_, _, _, _, _, _, 1, _, a, b, ..] => (10, usize::from(u16::from_le_bytes([*a, *b]))),
        [_, _, _, _, _, _, 2 | 3, _, a, b, c, d, ..] => {
            (12, u32::from_le_bytes([*a, *b, *c, *d]).min(1 << 30) as usize)
        }
        [_, _, _, _, _, _, v, _, ..] if *v > 3 => {
            return Err(Error::Unsupported(format!("version {v} of the NPY format is not supported")));
        }
        _ => return Err(ends_early(Format::Npy)),
    };
    if start + len > LONGEST {
        return Err(damaged(Format::Npy, format_args!("a header of {} bytes", start + len)));
    }
    if start + len > bytes.len() {
        return Err(ends_early(Format::Npy));
    }
    Ok((start, len))
}

/// `<u2` and the like.
fn sample_type(descr: &str) -> Result<(SampleType, Order)> {
    let (order, kind) = match descr.as_bytes() {
        [b'>', kind @ ..] => (Order::Big, kind),
        [b'=', kind @ ..] if cfg!(target_endian = "big") => (Order::Big, kind),
        [b'<' | b'|' | b'=', kind @ ..] => (Order::Little, kind),
        kind => (Order::Little, kind),
    };
    let samples = match kind {
        b"u1" => SampleType::U8,
        b"u2" => SampleType::U16,
        b"i2" => SampleType::I16,
        b"u4" => SampleType::U32,
        b"i4" => SampleType::I32,
        b"f2" => SampleType::F16,
        b"f4" => SampleType::F32,
        b"f8" => SampleType::F64,
        _ => {
            return Err(Error::Unsupported(format!(
                "an array of type {} is not supported; convert it with .astype to uint8, uint16 or float32",
                descr.chars().take(40).collect::<String>().escape_debug()
            )));
        }
    };
    Ok((samples, order))
}

/// What is left of the dictionary.
struct Text<'a> {
    rest: &'a [u8],
}

impl<'a> Text<'a> {
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        if there {
            self.rest = &self.rest[1..];
        }
        there
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        match self.take(byte) {
            true => Ok(()),
            false => Err(damaged(Format::Npy, "its header is not a dictionary of Python")),
        }
    }

    /// Text in single or double quotes.
    fn string(&mut self) -> Result<&'a [u8]> {
        let bad = || damaged(Format::Npy, "its header is not a dictionary of Python");
        let quote = self.peek().filter(|b| matches!(b, b'\'' | b'"')).ok_or_else(bad)?;
        let inside = &self.rest[1..];
        let end = inside.iter().position(|b| *b == quote).ok_or_else(bad)?;
        self.rest = &inside[end + 1..];
        Ok(&inside[..end])
    }

    /// The type; a list stands for arrays of records.
    fn descr(&mut self) -> Result<String> {
        if self.peek() != Some(b'[') {
            return Ok(String::from_utf8_lossy(self.string()?).into_owned());
        }
        Err(Error::Unsupported("an array of records is not a picture; take one of its fields first".into()))
    }

    fn boolean(&mut self) -> Result<bool> {
        self.peek();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(damaged(Format::Npy, "fortran_order is neither True nor False"))
    }

    /// A tuple of sides; Python 2 wrote `L` behind long ones.
    fn shape(&mut self) -> Result<Vec<u64>> {
        self.expect(b'(')?;
        let mut sides = Vec::new();
        while !self.take(b')') {
            self.peek();
            let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let number = str::from_utf8(&self.rest[..digits]).ok().and_then(|n| n.parse().ok());
            let side =
                number.ok_or_else(|| damaged(Format::Npy, "its shape is not made of whole numbers"))?;
            if sides.len() == SIDES {
                return Err(damaged(Format::Npy, "its shape has too many sides"));
            }
            sides.push(side);
            self.rest = &self.rest[digits..];
            self.take(b'L');
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(sides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(dict: &str) -> Result<Header> {
        let len = (dict.len() as u16).to_le_bytes();
        Header::parse(&[b"\x93NUMPY\x01\0", &len[..], dict.as_bytes()].concat())
    }

    #[test]
    fn dictionaries_of_every_python_are_read() {
        for dict in [
            "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n",
            "{\"shape\":(2,3),\"descr\":\">i2\",\"fortran_order\":True}",
            "{'descr': '>i2', 'fortran_order': True, 'shape': (2L, 3L)} \n",
        ] {
            let h = parse(dict).unwrap();
            assert_eq!((h.samples, h.order, h.fortran), (SampleType::I16, Order::Big, true));
            assert_eq!((h.shape, h.data_at), (vec![2, 3], 10 + dict.len()));
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for shape in [vec![7, 5], vec![usize::MAX; 6]] {
            let bytes = Header::write(SampleType::F64, Order::Big, true, &shape);
            assert_eq!(bytes.len() % 64, 0);
            let h = Header::parse(&bytes).unwrap();
            assert_eq!((h.samples, h.order, h.fortran), (SampleType::F64, Order::Big, true));
            assert_eq!(h.data_at, bytes.len());
            assert!(h.shape.iter().zip(&shape).all(|(a, b)| *a == *b as u64));
        }
    }

    #[test]
    fn dictionaries_that_are_wrong_are_refused() {
        for dict in [
            "",
            "{",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3)}",
            "{'descr': '<f4, 'fortran_order': False, 'shape': (2, 3)}",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}",
            "{'more': 1}",
        ] {
            assert!(parse(dict).is_err(), "{dict}");
        }
    }
}
