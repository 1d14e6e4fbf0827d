//! Writes TIFF and BigTIFF: pieces first, then what they are.

use std::io::{Seek, SeekFrom, Write};

use super::describe::is_ome;
use super::directory::{BLACK_IS_ZERO, Directory, PALETTE};
use super::pack::{Packing, pack};
use super::predict::{Predictor, Shape, apply};
use super::tags::*;
use crate::codec::sample::{Order, range};
use crate::codec::store::{Remarks, Rows, interleaved};
use crate::exif::{
    EXIF_IFD, Field, Fields, GPS_IFD, RESOLUTION_UNIT, X_RESOLUTION, Y_RESOLUTION, size_of_kind, swap,
};
use crate::{Error, Format, Metadata, Picture, Result, SampleType};

/// Larger files need the 64-bit offsets of BigTIFF; some room is left for packing that does not pay.
const CLASSIC_LIMIT: u64 = (1 << 32) - (1 << 28);

/// Bytes of a strip, about.
const STRIP: usize = 1 << 18;

/// Types of fields.
const SHORT: u16 = 3;
const LONG: u16 = 4;
const RATIONAL: u16 = 5;
const LONG8: u16 = 16;

pub(in crate::codec) fn encode<W: Write + Seek>(
    picture: &Picture,
    writer: &mut W,
    remarks: &mut Remarks,
) -> Result<()> {
    if picture.pages.is_empty() {
        return Err(Error::Encode("the picture has no pages".into()));
    }
    let rows = picture.pages.iter().map(|page| Rows::new(picture, page, Format::Tiff, remarks));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let metadata = &picture.metadata;
    let own = Some(&metadata.tiff.directories).filter(|d| fit(d, &rows)).cloned();
    let plain = |r: &Rows| Directory::plain(r.samples, r.channels(), metadata.premultiplied);
    let directories = own.unwrap_or_else(|| rows.iter().map(plain).collect());

    let bytes = |r: &Rows| (r.width() * r.height() * r.channels()) as u64 * r.samples.bytes();
    let fields = directories.iter().flat_map(|d| &d.fields).map(|f| f.data.len() as u64);
    let size = rows.iter().map(bytes).sum::<u64>() + fields.sum::<u64>();
    // Planes behind the only directory need no offsets of their own.
    let big = metadata.tiff.big || (size > CLASSIC_LIMIT && directories[0].stack == 1);
    if big && !metadata.tiff.big && picture.format == Format::Tiff {
        remarks.add("too large for TIFF: written as BigTIFF");
    }
    let order = if metadata.tiff.big_endian { Order::Big } else { Order::Little };
    let mut file = File::new(writer, big, order)?;
    let mut common = Common::new(&mut file, metadata, remarks)?;
    let mut rest = &rows[..];
    for (i, directory) in directories.iter().enumerate() {
        let (pages, others) = rest.split_at(directory.groups().len() * directory.stack);
        rest = others;
        let fields = common.fields(i, directory, pages[0].samples, remarks);
        let mut page = PageWriter { directory, pages, fields };
        page.write(&mut file)?;
    }
    Ok(())
}

/// Whether the pages are still those of these directories.
fn fit(directories: &[Directory], rows: &[Rows]) -> bool {
    let mut rest = rows;
    for directory in directories {
        let groups = directory.groups();
        let Some((pages, others)) = rest.split_at_checked(groups.len() * directory.stack) else {
            return false;
        };
        rest = others;
        let Some(first) = pages.first() else { return false };
        let like =
            |r: &Rows| (r.width(), r.height(), r.samples) == (first.width(), first.height(), first.samples);
        let made = |(i, r): (usize, &Rows)| {
            let n = groups[i % groups.len()].len();
            r.channels() == n && r.alpha == n.is_multiple_of(2)
        };
        if !pages.iter().all(like) || !pages.iter().enumerate().all(made) {
            return false;
        }
    }
    rest.is_empty() && !directories.is_empty()
}

/// What directories have in common, and the fields that come from EXIF.
struct Common<'a> {
    metadata: &'a Metadata,
    exif: Vec<Field>,
}

impl<'a> Common<'a> {
    /// The first page carries EXIF; its inner directories come before it.
    fn new<W: Write + Seek>(
        file: &mut File<'_, W>,
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
    fn fields(
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

/// Writes the pages of one directory.
struct PageWriter<'a> {
    directory: &'a Directory,
    /// Those of the first plane, then of the second.
    pages: &'a [Rows<'a>],
    fields: Vec<Field>,
}

impl PageWriter<'_> {
    fn write<W: Write + Seek>(&mut self, file: &mut File<'_, W>) -> Result<()> {
        let (directory, first) = (self.directory, &self.pages[0]);
        let (width, height) = first.size_within(u32::MAX, Format::Tiff)?;
        let samples = first.samples;
        let channels = directory.channels;
        let (bits, format) = match samples {
            s if s.is_float() => (8 * s.bytes(), 3),
            SampleType::I16 | SampleType::I32 => (8 * samples.bytes(), 2),
            _ => (8 * samples.bytes(), 1),
        };
        // A palette is for the samples that it was made for.
        let lost = directory.photometric == PALETTE && samples != directory.samples;
        let photometric = if lost { BLACK_IS_ZERO } else { directory.photometric };
        let predictor = self.predictor();
        let mut fields = std::mem::take(&mut self.fields);
        fields.extend([
            longs(WIDTH, &[width]),
            longs(HEIGHT, &[height]),
            shorts(BITS, &vec![bits as u16; channels]),
            shorts(COMPRESSION, &[directory.packing.code()]),
            shorts(PHOTOMETRIC, &[photometric]),
            shorts(CHANNELS, &[channels as u16]),
            shorts(PLANAR, &[1 + u16::from(directory.planar)]),
            shorts(SAMPLE_FORMAT, &vec![format; channels]),
        ]);
        if !directory.extra.is_empty() {
            fields.push(shorts(EXTRA_SAMPLES, &directory.extra));
        }
        match predictor {
            Predictor::None => {}
            Predictor::Integer => fields.push(shorts(PREDICTOR, &[2])),
            Predictor::Float => fields.push(shorts(PREDICTOR, &[3])),
        }
        if directory.stack > 1 {
            return self.write_stack(file, fields);
        }

        let (across_step, row_samples) = match directory.tile {
            Some((w, _)) => (w as usize, w as usize),
            None => (first.width(), first.width()),
        };
        let (passes, step) = if directory.planar { (channels, 1) } else { (1, channels) };
        let row_bytes = row_samples * step * samples.bytes() as usize;
        let down_step = match directory.tile {
            Some((_, h)) => h as usize,
            None => (STRIP / row_bytes).clamp(1, first.height()),
        };
        let shape = Shape { row: row_bytes, step, size: samples.bytes() as usize, order: file.order };
        let (mut offsets, mut lengths) = (Vec::new(), Vec::new());
        let mut data = first.room(row_samples.saturating_mul(step).saturating_mul(down_step))?;
        for pass in 0..passes {
            for y in (0..first.height()).step_by(down_step) {
                for x in (0..first.width()).step_by(across_step) {
                    let rows = match directory.tile {
                        Some(_) => down_step,
                        None => down_step.min(first.height() - y),
                    };
                    data.clear();
                    let piece = Piece { pass, x, y, width: row_samples, height: rows };
                    self.samples(self.pages, piece, file.order, &mut data);
                    apply(predictor, &mut data, shape);
                    let packed = pack(directory.packing, &data, row_bytes)?;
                    offsets.push(file.at);
                    lengths.push(packed.len() as u64);
                    file.put(&packed)?;
                    file.align()?;
                }
            }
        }
        let places = match directory.tile {
            Some((w, h)) => {
                fields.extend([longs(TILE_WIDTH, &[w]), longs(TILE_HEIGHT, &[h])]);
                [TILE_OFFSETS, TILE_LENGTHS]
            }
            None => {
                fields.push(longs(ROWS_PER_STRIP, &[down_step as u32]));
                [STRIP_OFFSETS, STRIP_LENGTHS]
            }
        };
        for (tag, values) in places.into_iter().zip([offsets, lengths]) {
            fields.push(file.places(tag, &values));
        }
        file.directory(fields, true)?;
        Ok(())
    }

    /// All planes in one piece behind the directory, as they were.
    fn write_stack<W: Write + Seek>(&self, file: &mut File<'_, W>, mut fields: Vec<Field>) -> Result<()> {
        let first = &self.pages[0];
        let groups = self.directory.groups().len();
        let row = first.width() * self.directory.channels * first.samples.bytes() as usize;
        let plane = (row * first.height()) as u64;
        fields.push(longs(ROWS_PER_STRIP, &[first.height() as u32]));
        fields.push(file.places(STRIP_LENGTHS, &[plane]));
        fields.push(file.places(STRIP_OFFSETS, &[0]));
        let at = file.at + file.len_of(&fields);
        if let Some(place) = fields.iter_mut().find(|f| f.tag == STRIP_OFFSETS) {
            *place = file.places(STRIP_OFFSETS, &[at]);
        }
        file.directory(fields, true)?;
        debug_assert_eq!(file.at, at);
        let mut data = first.room(first.width() * self.directory.channels)?;
        for pages in self.pages.chunks(groups) {
            for y in 0..first.height() {
                data.clear();
                let piece = Piece { pass: 0, x: 0, y, width: first.width(), height: 1 };
                self.samples(pages, piece, file.order, &mut data);
                file.put(&data)?;
            }
        }
        Ok(())
    }

    fn predictor(&self) -> Predictor {
        let float = self.pages[0].samples.is_float();
        match (self.directory.packing, self.directory.predictor) {
            (Packing::None | Packing::PackBits, _) => Predictor::None,
            (_, Predictor::Float) if !float => Predictor::Integer,
            (_, predictor) => predictor,
        }
    }

    /// Appends the samples of a strip or tile of the pages of one plane; zero outside the picture.
    fn samples(&self, pages: &[Rows], piece: Piece, order: Order, out: &mut Vec<u8>) {
        let first = &pages[0];
        let inverted = self.directory.is_inverted(first.samples).then(|| range(first.samples).1);
        // The planes in the order of the samples of a pixel.
        let mut planes = vec![first.channel(0); self.directory.channels];
        for (rows, group) in pages.iter().zip(self.directory.groups()) {
            group.iter().enumerate().for_each(|(i, sample)| planes[*sample] = rows.channel(i));
        }
        let planes = if self.directory.planar { &planes[piece.pass..=piece.pass] } else { &planes[..] };
        let inside = piece.width.min(first.width() - piece.x);
        for y in piece.y..piece.y + piece.height {
            let filled = if y < first.height() { inside } else { 0 };
            let rows: Vec<_> = match filled {
                0 => vec![],
                _ => planes.iter().map(|(p, scale)| (&p.row(y)[piece.x..][..filled], *scale)).collect(),
            };
            let mut values = interleaved(&rows);
            if let Some(white) = inverted {
                values.iter_mut().for_each(|v| *v = white - *v);
            }
            values.resize(piece.width * planes.len(), 0.0);
            first.store(&values, order, out);
        }
    }
}

/// A strip or tile.
struct Piece {
    /// The channel, where they lie one after the other.
    pass: usize,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

fn shorts(tag: u16, values: &[u16]) -> Field {
    Field { tag, kind: SHORT, data: values.iter().flat_map(|v| v.to_ne_bytes()).collect() }
}

fn longs(tag: u16, values: &[u32]) -> Field {
    Field { tag, kind: LONG, data: values.iter().flat_map(|v| v.to_ne_bytes()).collect() }
}

/// The file as it grows.
struct File<'a, W> {
    writer: &'a mut W,
    big: bool,
    order: Order,
    /// Where the writer is.
    at: u64,
    /// Where the place of the next directory belongs.
    link: u64,
    /// Where the file begins.
    start: u64,
}

impl<'a, W: Write + Seek> File<'a, W> {
    fn new(writer: &'a mut W, big: bool, order: Order) -> Result<Self> {
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

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// To an even place, as the specification wants it.
    fn align(&mut self) -> Result<()> {
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
    fn places(&self, tag: u16, values: &[u64]) -> Field {
        if self.big {
            Field { tag, kind: LONG8, data: values.iter().flat_map(|v| v.to_ne_bytes()).collect() }
        } else {
            // The size was looked at beforehand.
            longs(tag, &values.iter().map(|v| *v as u32).collect::<Vec<_>>())
        }
    }

    /// Bytes of a directory and its values.
    fn len_of(&self, fields: &[Field]) -> u64 {
        let outside = fields.iter().map(|f| f.data.len()).filter(|n| *n > self.offset());
        let values: usize = outside.map(|n| n.next_multiple_of(2)).sum();
        let (head, entry) = if self.big { (8, 20) } else { (2, 12) };
        (values + head + entry * fields.len() + self.offset()) as u64
    }

    /// Writes the values of a directory, then the directory itself; the last bytes of a file are the mark that
    /// no other follows. `chained`: it is a page.
    fn directory(&mut self, mut fields: Vec<Field>, chained: bool) -> Result<u64> {
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
}
