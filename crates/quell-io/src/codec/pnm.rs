//! The Netpbm formats: PBM, PGM, PPM (plain and raw) and PAM.
//!
//! The largest value in the header is the white level, so 10-bit pictures come back as 10-bit ones.

use std::io::Write;

use super::canvas::Canvas;
use super::store::{Order, Rows};
use super::{Decoded, damaged, ends_early};
use crate::{Error, Format, ReadOptions, Result, SampleType};

/// Words of a header or of plain samples: separated by white space, comments left out.
pub(super) struct Words<'a> {
    bytes: &'a [u8],
    format: Format,
}

impl<'a> Words<'a> {
    pub(super) fn new(bytes: &'a [u8], format: Format) -> Self {
        Self { bytes, format }
    }

    /// Skips white space and comments.
    fn skip(&mut self) {
        loop {
            self.bytes = self.bytes.trim_ascii_start();
            if self.bytes.first() != Some(&b'#') {
                return;
            }
            let line = self.bytes.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(self.bytes.len());
            self.bytes = &self.bytes[line..];
        }
    }

    /// The next word.
    pub(super) fn word(&mut self) -> Result<&'a str> {
        self.skip();
        let end = self.bytes.iter().position(u8::is_ascii_whitespace).unwrap_or(self.bytes.len());
        let (word, rest) = self.bytes.split_at(end);
        self.bytes = rest;
        match std::str::from_utf8(word) {
            Ok("") => Err(ends_early(self.format)),
            Ok(word) => Ok(word),
            Err(_) => Err(damaged(self.format, "the header is not text")),
        }
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let word = self.word()?;
        word.parse().map_err(|_| {
            let word: String = word.chars().take(20).collect();
            damaged(self.format, format_args!("{word:?} is not a number"))
        })
    }

    /// One digit of a plain bitmap, where white space is optional.
    fn bit(&mut self) -> Result<bool> {
        self.skip();
        let (&first, rest) = self.bytes.split_first().ok_or_else(|| ends_early(self.format))?;
        self.bytes = rest;
        match first {
            b'0' => Ok(false),
            b'1' => Ok(true),
            _ => Err(damaged(self.format, "a bitmap holds 0 and 1 only")),
        }
    }

    /// What follows the single white space after the header.
    pub(super) fn rest(self) -> &'a [u8] {
        self.bytes.get(1..).unwrap_or_default()
    }
}

/// Size, channels and largest value.
struct Header {
    width: u64,
    height: u64,
    channels: usize,
    max: u32,
}

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let kind = bytes[1];
    let mut words = Words::new(&bytes[2..], Format::Pnm);
    let header = if kind == b'7' {
        pam_header(&mut words)?
    } else {
        let (width, height) = (words.number()?, words.number()?);
        let max = if matches!(kind, b'1' | b'4') { 1 } else { words.number()? };
        Header { width, height, channels: if matches!(kind, b'3' | b'6') { 3 } else { 1 }, max }
    };
    let Header { width, height, channels, max } = header;
    if !(1..=65535).contains(&max) {
        return Err(damaged(Format::Pnm, format_args!("a largest value of {max}, 1 to 65535 is allowed")));
    }
    let samples = if max < 256 { SampleType::U8 } else { SampleType::U16 };
    let mut canvas = Canvas::new(width, height, channels, options)?;
    let line = canvas.width() * channels;
    let mut notes = Vec::new();
    let mut white = Some(max as f32);
    // Two levels are not worth a sample type of their own.
    let expand = if max == 1 { 255.0 } else { 1.0 };
    if max == 1 {
        white = None;
        notes.push("1-bit samples were expanded to 8 bits".into());
    }

    if matches!(kind, b'1'..=b'3') {
        // The shortest plain sample is one digit.
        if words.bytes.len() < line.saturating_mul(canvas.height()) {
            return Err(ends_early(Format::Pnm));
        }
        let mut row = vec![0.0; line];
        for y in 0..canvas.height() {
            for s in &mut row {
                *s = match kind {
                    // Ink is 1.
                    b'1' => f32::from(u8::from(!words.bit()?)) * 255.0,
                    _ => f32::from(words.number::<u16>()?) * expand,
                };
            }
            canvas.put_row(y, &row, |s| s);
        }
    } else {
        let data = words.rest();
        let line_bytes = match (kind, samples) {
            (b'4', _) => line.div_ceil(8),
            (_, SampleType::U8) => line,
            _ => line * 2,
        };
        let need = line_bytes.checked_mul(canvas.height()).filter(|n| *n <= data.len());
        let need = need.ok_or_else(|| ends_early(Format::Pnm))?;
        for (y, row) in data[..need].chunks_exact(line_bytes).enumerate() {
            match (kind, samples) {
                (b'4', _) => {
                    let bits: Vec<bool> = (0..line).map(|x| row[x / 8] >> (7 - x % 8) & 1 == 0).collect();
                    canvas.put_row(y, &bits, |white| f32::from(u8::from(white)) * 255.0);
                }
                (_, SampleType::U8) => canvas.put_row(y, row, |s| f32::from(s) * expand),
                _ => canvas.put_row(y, row.as_chunks().0, |s| u16::from_be_bytes(s).into()),
            }
        }
        if data.len() > need {
            notes.push(format!("{} bytes after the picture are ignored", data.len() - need));
        }
    }
    let mut decoded = Decoded::page(canvas.into_page(samples, white, options)?);
    decoded.notes = notes;
    Ok(decoded)
}

/// The header of a PAM file: lines of a name and a value, in any order.
fn pam_header(words: &mut Words) -> Result<Header> {
    let (mut width, mut height, mut depth, mut max, mut kind) = (None, None, None, None, None);
    loop {
        match words.word()? {
            "WIDTH" => width = Some(words.number()?),
            "HEIGHT" => height = Some(words.number()?),
            "DEPTH" => depth = Some(words.number::<usize>()?),
            "MAXVAL" => max = Some(words.number()?),
            "TUPLTYPE" => kind = Some(words.word()?),
            "ENDHDR" => break,
            other => {
                let other: String = other.chars().take(20).collect();
                return Err(damaged(Format::Pnm, format_args!("{other:?} in the header")));
            }
        }
    }
    let (Some(width), Some(height), Some(channels), Some(max)) = (width, height, depth, max) else {
        return Err(damaged(Format::Pnm, "the header lacks WIDTH, HEIGHT, DEPTH or MAXVAL"));
    };
    let known = match kind {
        Some("BLACKANDWHITE" | "GRAYSCALE") => channels == 1,
        Some("BLACKANDWHITE_ALPHA" | "GRAYSCALE_ALPHA") => channels == 2,
        Some("RGB") => channels == 3,
        Some("RGB_ALPHA") => channels == 4,
        Some(_) => false,
        None => (1..=4).contains(&channels),
    };
    if !known {
        return Err(Error::Unsupported(format!(
            "a PAM of {channels} channels and type {} is not supported; use grey or RGB, each with or without alpha",
            kind.unwrap_or("unknown")
        )));
    }
    Ok(Header { width, height, channels, max })
}

pub(super) fn encode(rows: &Rows, writer: &mut impl Write) -> Result<()> {
    let (width, height, max) = (rows.width(), rows.height(), rows.max);
    match (rows.channels(), rows.alpha) {
        (1, _) => write!(writer, "P5\n{width} {height}\n{max}\n")?,
        (3, _) => write!(writer, "P6\n{width} {height}\n{max}\n")?,
        (n, _) => {
            let kind = if n == 2 { "GRAYSCALE_ALPHA" } else { "RGB_ALPHA" };
            write!(
                writer,
                "P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH {n}\nMAXVAL {max}\nTUPLTYPE {kind}\nENDHDR\n"
            )?;
        }
    }
    let mut row = rows.row_buffer()?;
    for y in 0..height {
        row.clear();
        rows.row_bytes(y, Order::Big, &mut row);
        writer.write_all(&row)?;
    }
    Ok(())
}
