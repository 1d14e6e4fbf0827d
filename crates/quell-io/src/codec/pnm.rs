//! The Netpbm formats: PBM, PGM, PPM (plain and raw) and PAM.
//!
//! The largest value in the header is the white level, so 10-bit pictures come back as 10-bit ones.

use std::io::{Seek, Write};

use super::band::{self, Opened, check_row};
use super::canvas::Canvas;
use super::lines::{LineWriter, Lines};
use super::store::{Order, Outline, Stored};
use super::{Decoded, damaged, ends_early};
use crate::input::Input;
use crate::{Error, Format, Metadata, ReadOptions, Result, SampleType};

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

impl Header {
    /// The header of a file of a kind, which is a digit.
    fn parse(kind: u8, words: &mut Words) -> Result<Self> {
        let header = if kind == b'7' {
            pam_header(words)?
        } else {
            let (width, height) = (words.number()?, words.number()?);
            let max = if matches!(kind, b'1' | b'4') { 1 } else { words.number()? };
            Self { width, height, channels: if matches!(kind, b'3' | b'6') { 3 } else { 1 }, max }
        };
        match header.max {
            1..=65535 => Ok(header),
            max => Err(damaged(Format::Pnm, format_args!("a largest value of {max}, 1 to 65535 is allowed"))),
        }
    }

    fn samples(&self) -> SampleType {
        if self.max < 256 { SampleType::U8 } else { SampleType::U16 }
    }

    /// What samples are multiplied by: two levels are not worth a sample type of their own.
    fn scale(&self) -> f32 {
        if self.max == 1 { 255.0 } else { 1.0 }
    }

    /// The white level.
    fn white(&self) -> f32 {
        self.max as f32 * self.scale()
    }

    fn notes(&self) -> Vec<String> {
        let expanded = (self.max == 1).then(|| "1-bit samples were expanded to 8 bits".into());
        expanded.into_iter().collect()
    }

    /// Where rows of whole samples are, which begin at `at`.
    fn lines(&self, at: u64) -> Lines {
        Lines {
            format: Format::Pnm,
            at,
            width: self.width,
            height: self.height,
            channels: self.channels,
            samples: self.samples(),
            order: Order::Big,
            scale: self.scale(),
            upwards: false,
        }
    }
}

fn note_rest(bytes: u64, notes: &mut Vec<String>) {
    if bytes > 0 {
        notes.push(format!("{bytes} bytes after the picture are ignored"));
    }
}

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let kind = bytes[1];
    let mut words = Words::new(&bytes[2..], Format::Pnm);
    let header = Header::parse(kind, &mut words)?;
    let mut notes = header.notes();
    let canvas = match kind {
        b'1'..=b'3' => plain(kind, &header, words, options)?,
        b'4' => bitmap(&header, words.rest(), options, &mut notes)?,
        _ => {
            let lines = header.lines((bytes.len() - words.rest().len()) as u64);
            let end = lines.end(bytes.len() as u64, options)?;
            note_rest(bytes.len() as u64 - end, &mut notes);
            lines.paint(bytes.into(), options)?
        }
    };
    let page = canvas.into_page(header.samples(), Some(header.white()), options)?;
    Ok(Decoded { notes, ..Decoded::page(page) })
}

/// Samples as text.
fn plain(kind: u8, header: &Header, mut words: Words, options: &ReadOptions) -> Result<Canvas> {
    let mut canvas = Canvas::new(header.width, header.height, header.channels, options)?;
    let line = canvas.width() * header.channels;
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
                _ => f32::from(words.number::<u16>()?) * header.scale(),
            };
        }
        canvas.put_row(y, &row, |s| s);
    }
    Ok(canvas)
}

/// Samples of one bit; each row begins with a new byte.
fn bitmap(header: &Header, data: &[u8], options: &ReadOptions, notes: &mut Vec<String>) -> Result<Canvas> {
    let mut canvas = Canvas::new(header.width, header.height, 1, options)?;
    let line = canvas.width().div_ceil(8);
    let need = line.checked_mul(canvas.height()).filter(|n| *n <= data.len());
    let need = need.ok_or_else(|| ends_early(Format::Pnm))?;
    for (y, row) in data[..need].chunks_exact(line).enumerate() {
        let bits: Vec<bool> = (0..canvas.width()).map(|x| row[x / 8] >> (7 - x % 8) & 1 == 0).collect();
        canvas.put_row(y, &bits, |white| f32::from(u8::from(white)) * 255.0);
    }
    note_rest((data.len() - need) as u64, notes);
    Ok(canvas)
}

pub(super) fn open(input: Input, options: &ReadOptions) -> Result<Option<Opened>> {
    if input.get(1, 1)?.first().is_none_or(|kind| (b'1'..=b'4').contains(kind)) {
        return Ok(None);
    }
    let parse = |bytes: &[u8]| {
        let mut words = Words::new(&bytes[2..], Format::Pnm);
        let header = Header::parse(bytes[1], &mut words)?;
        let lines = header.lines((bytes.len() - words.rest().len()) as u64);
        Ok((header, lines))
    };
    let Some((header, lines)) = band::header(input, parse, |(_, lines)| lines.at)? else { return Ok(None) };
    let mut notes = header.notes();
    note_rest(input.len() - lines.end(input.len(), options)?, &mut notes);
    check_row(lines.width.checked_mul(lines.channels as u64))?;
    let page = Outline::new(&lines, header.white(), options);
    Ok(Some(Opened { page, metadata: Metadata::default(), notes, rows: Box::new(lines) }))
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

/// Writes the header.
pub(super) fn begin<W: Write + Seek>(page: &Stored, mut writer: W) -> Result<LineWriter<W>> {
    let Stored { width, height, max, .. } = page;
    match page.channels() {
        1 => write!(writer, "P5\n{width} {height}\n{max}\n")?,
        3 => write!(writer, "P6\n{width} {height}\n{max}\n")?,
        n => {
            let kind = if n == 2 { "GRAYSCALE_ALPHA" } else { "RGB_ALPHA" };
            write!(
                writer,
                "P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH {n}\nMAXVAL {max}\nTUPLTYPE {kind}\nENDHDR\n"
            )?;
        }
    }
    Ok(LineWriter::new(writer, Order::Big))
}
