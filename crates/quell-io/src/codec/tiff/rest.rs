//! The fields of a result that do not say how samples are stored.

use std::io::{Seek, Write};

use super::describe::is_ome;
use super::directory::Directory;
use super::file::{File, RATIONAL, longs, shorts};
use super::tags::{COLOR_MAP, ICC, XMP};
use crate::codec::store::Remarks;
use crate::exif::{EXIF_IFD, Field, Fields, GPS_IFD, RESOLUTION_UNIT, X_RESOLUTION, Y_RESOLUTION};
use crate::{Metadata, Result, SampleType};

/// What directories have in common, and the fields that come from EXIF.
pub(super) struct Common<'a> {
    metadata: &'a Metadata,
    exif: Vec<Field>,
}

impl<'a> Common<'a> {
    /// The first page carries EXIF; its inner directories come before it.
    pub(super) fn new<W: Write + Seek>(
        file: &mut File<W>,
        metadata: &'a Metadata,
        remarks: &mut Remarks,
    ) -> Result<Self> {
        let mut exif = Vec::new();
        if let Some(block) = &metadata.exif {
            match Fields::parse(block) {
                Some(parsed) => {
                    if parsed.more {
                        remarks.add("the EXIF thumbnail has no place in TIFF: not kept");
                    }
                    exif = parsed.main;
                    for (tag, inner) in [(EXIF_IFD, parsed.exif), (GPS_IFD, parsed.gps)] {
                        if !inner.is_empty() {
                            let at = file.directory(inner, false)?;
                            // At the beginning of the file, so that it fits.
                            exif.push(longs(tag, &[at as u32]));
                        }
                    }
                }
                None => remarks.add("the EXIF block cannot be read: not kept"),
            }
        }
        Ok(Self { metadata, exif })
    }

    /// The fields of directory `i` that do not say how samples are stored.
    pub(super) fn fields(
        &mut self,
        i: usize,
        directory: &Directory,
        samples: SampleType,
        remarks: &mut Remarks,
    ) -> Vec<Field> {
        let mut fields = if i == 0 { std::mem::take(&mut self.exif) } else { Vec::new() };
        for field in &directory.fields {
            if !fields.iter().any(|f| f.tag == field.tag) {
                fields.push(field.clone());
            }
        }
        let changed = directory.converted || samples != directory.samples;
        if changed && fields.iter().any(is_ome) {
            fields.retain(|f| !is_ome(f));
            remarks.add("the OME-XML does not fit the samples that are written: not kept");
        }
        if samples != directory.samples {
            fields.retain(|f| f.tag != COLOR_MAP);
        }
        for (tag, data) in [(ICC, &self.metadata.icc), (XMP, &self.metadata.xmp)] {
            if let Some(data) = data
                && !directory.lacks.contains(&tag)
                && !fields.iter().any(|f| f.tag == tag)
            {
                fields.push(Field { tag, kind: if tag == ICC { 7 } else { 1 }, data: data.clone() });
            }
        }
        // Required by the specification; one pixel to no unit says nothing.
        for tag in [X_RESOLUTION, Y_RESOLUTION] {
            if !fields.iter().any(|f| f.tag == tag) {
                fields.push(Field { kind: RATIONAL, ..longs(tag, &[1, 1]) });
            }
        }
        if !fields.iter().any(|f| f.tag == RESOLUTION_UNIT) {
            fields.push(shorts(RESOLUTION_UNIT, &[1]));
        }
        fields
    }
}
