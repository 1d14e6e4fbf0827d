//! Huffman tables and the bits of a scan.

use super::super::{damaged, ends_early};
use crate::{Format, Result};

/// Bits that are looked up at once; most codes are shorter.
const FAST: u32 = 9;

/// A table as the file gives it, ready for decoding.
pub(super) struct Table {
    /// Length and symbol by the next [`FAST`] bits; length 0: the code is longer.
    fast: [(u8, u8); 1 << FAST],
    /// By length: the first code that is too large, in 16 bits, and what to add to a code to find its symbol.
    long: [(u32, i32); 17],
    symbols: Vec<u8>,
}

impl Table {
    /// From the number of codes of each length and their symbols.
    pub(super) fn new(counts: &[u8; 16], symbols: &[u8]) -> Result<Self> {
        let wrong = || damaged(Format::Jpeg, "a Huffman table makes no sense");
        let mut table = Self { fast: [(0, 0); 1 << FAST], long: [(0, 0); 17], symbols: symbols.to_vec() };
        let (mut code, mut index) = (0_u32, 0_usize);
        for (length, &count) in (1_u32..).zip(counts) {
            table.long[length as usize].1 = index as i32 - code as i32;
            for _ in 0..count {
                if code >= 1 << length {
                    return Err(wrong());
                }
                let symbol = *symbols.get(index).ok_or_else(wrong)?;
                if length <= FAST {
                    let first = (code << (FAST - length)) as usize;
                    table.fast[first..first + (1 << (FAST - length))].fill((length as u8, symbol));
                }
                code += 1;
                index += 1;
            }
            table.long[length as usize].0 = code << (16 - length);
            code <<= 1;
        }
        Ok(table)
    }
}

/// The bits of a scan between two markers.
pub(super) struct Bits<'a> {
    data: &'a [u8],
    /// The next byte that is not in `held`.
    at: usize,
    /// The next bits, from the top.
    held: u64,
    count: u32,
    /// How many of them were made up behind the end.
    padding: u32,
}

impl<'a> Bits<'a> {
    /// Begins at `at` in the file.
    pub(super) fn new(data: &'a [u8], at: usize) -> Self {
        Self { data, at, held: 0, count: 0, padding: 0 }
    }

    /// At least 48 bits are held afterwards.
    fn fill(&mut self) {
        // Eight bytes at once where none of them is special.
        if let Some(word) = self.data.get(self.at..).and_then(<[u8]>::first_chunk) {
            let word = u64::from_be_bytes(*word);
            let high = 0x8080_8080_8080_8080;
            let is_ff = word & high & (word & !high).wrapping_add(0x0101_0101_0101_0101);
            if is_ff == 0 {
                let bytes = (64 - self.count) / 8;
                if bytes > 0 {
                    let keep = !0 << (64 - 8 * bytes);
                    self.held |= (word & keep) >> self.count;
                    self.count += 8 * bytes;
                    self.at += bytes as usize;
                }
                return;
            }
        }
        while self.count <= 56 {
            let byte = match (self.data.get(self.at), self.data.get(self.at + 1)) {
                (Some(0xff), Some(0)) => {
                    self.at += 2;
                    0xff
                }
                // A marker or the end of the file: zeros from here on.
                (Some(0xff) | None, _) => {
                    self.padding += 8;
                    0
                }
                (Some(&byte), _) => {
                    self.at += 1;
                    byte
                }
            };
            self.held |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    /// The next `n` bits, at most 16, as a number.
    pub(super) fn take(&mut self, n: u32) -> u32 {
        if self.count < n {
            self.fill();
        }
        // Two shifts: n may be 0.
        let value = (self.held >> 32 >> (32 - n)) as u32;
        self.held <<= n;
        self.count -= n;
        value
    }

    pub(super) fn bit(&mut self) -> bool {
        self.take(1) == 1
    }

    /// The symbol of the next code.
    pub(super) fn symbol(&mut self, table: &Table) -> Result<u8> {
        if self.count < 16 {
            self.fill();
        }
        let (length, symbol) = table.fast[(self.held >> (64 - FAST)) as usize];
        if length > 0 {
            self.skip(length.into());
            return Ok(symbol);
        }
        let next = (self.held >> 48) as u32;
        for length in FAST + 1..=16 {
            let (end, offset) = table.long[length as usize];
            if next < end {
                self.skip(length);
                let index = (next >> (16 - length)) as i32 + offset;
                let symbol = usize::try_from(index).ok().and_then(|i| table.symbols.get(i));
                return symbol.copied().ok_or_else(|| damaged(Format::Jpeg, "a code is in no table"));
            }
        }
        Err(damaged(Format::Jpeg, "a code is in no table"))
    }

    fn skip(&mut self, n: u32) {
        self.held <<= n;
        self.count -= n;
    }

    /// A difference or coefficient of `size` bits: the upper half is positive, the lower half negative.
    pub(super) fn value(&mut self, size: u32) -> i32 {
        let v = self.take(size) as i32;
        if size > 0 && v < 1 << (size - 1) { v - (1 << size) + 1 } else { v }
    }

    /// An error if bits were used that the file does not have.
    pub(super) fn check(&self) -> Result<()> {
        if self.padding > self.count { Err(ends_early(Format::Jpeg)) } else { Ok(()) }
    }

    /// Goes on behind restart marker `number`, which must be next.
    pub(super) fn restart(&mut self, number: u8) -> Result<()> {
        self.check()?;
        let mut at = self.end();
        while self.data.get(at) == Some(&0xff) && self.data.get(at + 1) == Some(&0xff) {
            at += 1;
        }
        match self.data.get(at..at + 2) {
            Some([0xff, code]) if *code == 0xd0 + number => {
                *self = Self::new(self.data, at + 2);
                Ok(())
            }
            _ => Err(damaged(Format::Jpeg, "a restart marker is missing")),
        }
    }

    /// Where the next marker is; what bytes are left before it are passed over.
    pub(super) fn end(&self) -> usize {
        // Bytes that are held but not used may hold no marker.
        let mut at = self.at;
        while let Some(pair) = self.data.get(at..at + 2) {
            if pair[0] == 0xff && !matches!(pair[1], 0 | 0xff) {
                break;
            }
            at += 1;
        }
        at.min(self.data.len())
    }
}
