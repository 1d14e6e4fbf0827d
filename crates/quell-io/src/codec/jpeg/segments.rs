//! What a JPEG file holds besides the picture. Every segment is part of the storage, carried, or named in a note.

use std::collections::BTreeMap;
use std::io::Write;

use super::super::store::Remarks;
use crate::{JpegMetadata, Metadata, Result};

const JFIF: &[u8] = b"JFIF\0";
const JFIF_MORE: &[u8] = b"JFXX\0";
const EXIF: &[u8] = b"Exif\0\0";
const XMP: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";
const XMP_MORE: &[u8] = b"http://ns.adobe.com/xmp/extension/\0";
const PROFILE: &[u8] = b"ICC_PROFILE\0";
const PICTURES: &[u8] = b"MPF\0";
const CREDENTIALS: &[u8] = b"JP";
const ADOBE: &[u8] = b"Adobe";

const COMMENT: u8 = 0xfe;

/// Content of a segment at most.
const SEGMENT: usize = 65533;

/// Bytes of profile in one segment: its number and their count come first.
const PROFILE_PART: usize = SEGMENT - PROFILE.len() - 2;

/// What was found so far.
#[derive(Default)]
pub(super) struct Found {
    metadata: Metadata,
    jpeg: JpegMetadata,
    profile: BTreeMap<u8, Vec<u8>>,
    profile_parts: Option<u8>,
    notes: Vec<String>,
    pub(super) jfif: bool,
    /// The colour transform that Adobe's segment names.
    pub(super) adobe: Option<u8>,
}

impl Found {
    /// Takes an application segment or a comment.
    pub(super) fn take(&mut self, code: u8, content: &[u8]) {
        let after = |prefix: &[u8]| content.strip_prefix(prefix);
        match code {
            0xe0 if content.starts_with(JFIF) => {
                self.jfif = true;
                if let Some(&[_, _, unit, x0, x1, y0, y1, w, h, ..]) = after(JFIF) {
                    let density = (unit, u16::from_be_bytes([x0, x1]), u16::from_be_bytes([y0, y1]));
                    // Square pixels of no size are what everybody assumes.
                    self.jpeg.density = Some(density).filter(|(unit, x, y)| *unit != 0 || x != y);
                    if w > 0 && h > 0 {
                        self.note("the JFIF thumbnail shows the old picture: not kept");
                    }
                }
            }
            0xe0 if content.starts_with(JFIF_MORE) => {
                self.note("the JFIF thumbnail shows the old picture: not kept");
            }
            0xe1 if content.starts_with(EXIF) => match self.metadata.exif {
                None => self.metadata.exif = after(EXIF).map(<[u8]>::to_vec),
                Some(_) => self.note("a second EXIF block: not kept"),
            },
            0xe1 if content.starts_with(XMP) => match self.metadata.xmp {
                None => self.metadata.xmp = after(XMP).map(<[u8]>::to_vec),
                Some(_) => self.note("a second XMP packet: not kept"),
            },
            0xe2 if content.starts_with(PROFILE) => {
                if let Some([number, count, part @ ..]) = after(PROFILE) {
                    self.profile_parts = Some(*count);
                    self.profile.entry(*number).or_insert_with(|| part.to_vec());
                }
            }
            0xe2 if content.starts_with(PICTURES) => {
                self.note("the list of further pictures (MPF) says where they were in the file: not kept");
            }
            0xeb if content.starts_with(CREDENTIALS) => {
                self.note("content credentials (JUMBF) are void once the picture changes: not kept");
            }
            0xee if content.starts_with(ADOBE) => self.adobe = content.get(11).copied(),
            _ => self.jpeg.segments.push((code, content.to_vec())),
        }
    }

    /// Looks at what follows the picture.
    pub(super) fn rest(&mut self, bytes: &[u8]) {
        if bytes.iter().any(|b| *b != 0) {
            let what = "a gain map, a preview or a moving picture";
            self.note(&format!("{} bytes behind the picture ({what}): not kept", bytes.len()));
        }
    }

    fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|n| n == note) {
            self.notes.push(note.to_owned());
        }
    }

    /// What is carried over, with the ratio of luma to chroma samples, and the notes.
    pub(super) fn finish(mut self, sampling: Option<(u8, u8)>) -> (Metadata, Vec<String>) {
        if let Some(count) = self.profile_parts {
            if self.profile.keys().copied().eq(1..=count) {
                self.metadata.icc = Some(self.profile.into_values().flatten().collect());
            } else {
                let there = self.profile.len();
                self.notes.push(format!(
                    "the ICC profile is damaged and was left out: it has {there} of {count} parts"
                ));
            }
        }
        self.jpeg.sampling = sampling;
        self.metadata.jpeg = self.jpeg;
        (self.metadata, self.notes)
    }
}

/// Writes everything that is carried, to stand behind the JFIF segment.
pub(super) fn write(metadata: &Metadata, writer: &mut impl Write, remarks: &mut Remarks) -> Result<()> {
    let mut put = |code, prefix: &[u8], data: &[u8]| {
        writer.write_all(&[0xff, code])?;
        writer.write_all(&((2 + prefix.len() + data.len()) as u16).to_be_bytes())?;
        writer.write_all(prefix)?;
        writer.write_all(data)
    };
    let mut fits = |what: &str, data: &[u8], limit| {
        if data.len() > limit {
            remarks.add(format!("the {what} of {} bytes is too long for JPEG: not kept", data.len()));
        }
        data.len() <= limit
    };
    if let Some(exif) = metadata.exif.as_ref().filter(|e| fits("EXIF block", e, SEGMENT - EXIF.len())) {
        put(0xe1, EXIF, exif)?;
    }
    if let Some(xmp) = metadata.xmp.as_ref().filter(|x| fits("XMP packet", x, SEGMENT - XMP.len())) {
        put(0xe1, XMP, xmp)?;
    }
    if let Some(icc) = metadata.icc.as_ref().filter(|i| fits("ICC profile", i, 255 * PROFILE_PART)) {
        let count = icc.len().div_ceil(PROFILE_PART) as u8;
        for (number, part) in (1..=count).zip(icc.chunks(PROFILE_PART)) {
            put(0xe2, &[PROFILE, &[number, count]].concat(), part)?;
        }
    }
    for (code, content) in &metadata.jpeg.segments {
        if fits("segment", content, SEGMENT) {
            put(*code, &[], content)?;
        }
    }
    Ok(())
}

/// What other formats cannot hold of `metadata`.
pub(in super::super) fn say_lost(metadata: &JpegMetadata, remarks: &mut Remarks) {
    for (code, content) in &metadata.segments {
        remarks.add(match *code {
            COMMENT => "the comment of the JPEG: not kept".to_owned(),
            0xed if content.starts_with(b"Photoshop 3.0\0") => "IPTC and Photoshop data: not kept".to_owned(),
            0xe1 if content.starts_with(XMP_MORE) => "the second part of the XMP packet: not kept".to_owned(),
            code => format!("the JPEG's segments APP{}: not kept", code & 15),
        });
    }
    if let Some((unit, x, y)) = metadata.density {
        let unit = ["to", "dots an inch,", "dots a centimetre,"].get(usize::from(unit)).unwrap_or(&"of");
        remarks.add(format!("the resolution of the JPEG ({x} {unit} {y}): not kept"));
    }
}
