//! Writes TIFF and BigTIFF: pieces first, then what they are.

use std::io::{Seek, Write};

use super::directory::{BLACK_IS_ZERO, Directory, PALETTE};
use super::file::{File, longs, shorts};
use super::pack::{Packing, pack};
use super::predict::{Predictor, Shape, apply};
use super::rest::Common;
use super::tags::*;
use crate::codec::band::WriteRows;
use crate::codec::sample::{Order, range};
use crate::codec::store::{Remarks, Rows, Stored, interleaved};
use crate::exif::Field;
use crate::{Error, Format, Metadata, Picture, Result, SampleType};

/// Larger files need the 64-bit offsets of BigTIFF; some room is left for directories.
const CLASSIC_LIMIT: u64 = (1 << 32) - (1 << 28);

/// Bytes of a strip, about.
const STRIP: usize = 1 << 18;

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
    let stored: Vec<Stored> = rows.iter().map(|r| **r).collect();
    let metadata = &picture.metadata;
    let directories = directories(&stored, metadata);
    let mut file = create(&directories, &stored, picture.format, metadata, writer, remarks)?;
    let mut common = Common::new(&mut file, metadata, remarks)?;
    let mut rest = &rows[..];
    for (i, directory) in directories.iter().enumerate() {
        let (pages, others) = rest.split_at(directory.groups().len() * directory.stack);
        rest = others;
        let fields = common.fields(i, directory, pages[0].samples, remarks);
        let mut writer = PageWriter::new(directory, &pages[0], fields, file.order)?;
        if directory.stack > 1 {
            writer.stack(&mut file, pages)?;
            continue;
        }
        for pass in 0..writer.passes {
            for y in (0..pages[0].height()).step_by(writer.down) {
                writer.pieces(&mut file, pages, pass, y)?;
            }
        }
        writer.finish(&mut file)?;
    }
    Ok(())
}

/// Begins a file of one page.
pub(in crate::codec) fn begin<W: Write + Seek>(
    page: &Stored,
    from: Format,
    metadata: &Metadata,
    writer: W,
    remarks: &mut Remarks,
) -> Result<Bands<W>> {
    let pages = std::slice::from_ref(page);
    let directories = directories(pages, metadata);
    let mut file = create(&directories, pages, from, metadata, writer, remarks)?;
    let mut common = Common::new(&mut file, metadata, remarks)?;
    let fields = common.fields(0, &directories[0], page.samples, remarks);
    let page = PageWriter::new(&directories[0], page, fields, file.order)?;
    Ok(Bands { file, page })
}

/// A page that comes in bands.
pub(in crate::codec) struct Bands<W> {
    file: File<W>,
    page: PageWriter,
}

impl<W: Write + Seek + Send> WriteRows<W> for Bands<W> {
    fn step(&self) -> usize {
        self.page.down
    }

    fn rows(&mut self, rows: &Rows) -> Result<()> {
        for y in rows.range().step_by(self.page.down) {
            for pass in 0..self.page.passes {
                self.page.pieces(&mut self.file, std::slice::from_ref(rows), pass, y)?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<W> {
        let Self { mut file, page } = *self;
        page.finish(&mut file)?;
        Ok(file.into_inner())
    }
}

/// How pages are laid out: as they were, if they still fit.
fn directories(pages: &[Stored], metadata: &Metadata) -> Vec<Directory> {
    let own = Some(&metadata.tiff.directories).filter(|d| fit(d, pages)).cloned();
    let plain = |page: &Stored| Directory::plain(page.samples, page.channels(), metadata.premultiplied);
    own.unwrap_or_else(|| pages.iter().map(plain).collect())
}

/// Begins a file that offers room for the pages.
fn create<W: Write + Seek>(
    directories: &[Directory],
    pages: &[Stored],
    from: Format,
    metadata: &Metadata,
    writer: W,
    remarks: &mut Remarks,
) -> Result<File<W>> {
    let big = metadata.tiff.big || needs_big(directories, pages, metadata);
    if big && !metadata.tiff.big && from == Format::Tiff {
        remarks.add("too large for TIFF: written as BigTIFF");
    }
    let order = if metadata.tiff.big_endian { Order::Big } else { Order::Little };
    File::new(writer, big, order)
}

/// Whether a file may become too long for offsets of 32 bits.
fn needs_big(directories: &[Directory], pages: &[Stored], metadata: &Metadata) -> bool {
    // Planes behind the only directory need no offsets of their own.
    if directories[0].stack > 1 {
        return false;
    }
    let mut rest = pages;
    let mut size = 0_u64;
    for directory in directories {
        let (pages, others) = rest.split_at(directory.groups().len() * directory.stack);
        rest = others;
        size = pages.iter().fold(size, |n, page| n.saturating_add(packed_bytes(directory, page)));
    }
    let fields = directories.iter().flat_map(|d| &d.fields).map(|f| f.data.len());
    let blocks = [&metadata.icc, &metadata.xmp, &metadata.exif].into_iter().flatten().map(Vec::len);
    size.saturating_add(fields.chain(blocks).sum::<usize>() as u64) > CLASSIC_LIMIT
}

/// Bytes of a page at most: tiles go beyond the picture, and noise does not get shorter by packing.
fn packed_bytes(directory: &Directory, page: &Stored) -> u64 {
    let pad = |side: usize, tile: u32| (side as u64).next_multiple_of(tile.max(1).into());
    let (width, height) = directory.tile.unwrap_or((1, 1));
    let pixels = pad(page.width, width).saturating_mul(pad(page.height, height));
    let bytes = pixels.saturating_mul(page.channels() as u64 * page.samples.bytes());
    match directory.packing {
        Packing::None => bytes,
        // Codes of 12 bits for single bytes.
        Packing::Lzw => bytes.saturating_add(bytes / 2),
        _ => bytes.saturating_add(bytes / 64),
    }
}

/// Whether the pages are still those of these directories.
fn fit(directories: &[Directory], pages: &[Stored]) -> bool {
    let mut rest = pages;
    for directory in directories {
        let groups = directory.groups();
        let Some((pages, others)) = rest.split_at_checked(groups.len() * directory.stack) else {
            return false;
        };
        rest = others;
        let Some(first) = pages.first() else { return false };
        let like = |p: &Stored| (p.width, p.height, p.samples) == (first.width, first.height, first.samples);
        let made = |(i, p): (usize, &Stored)| {
            let n = groups[i % groups.len()].len();
            p.channels() == n && p.alpha == n.is_multiple_of(2)
        };
        if !pages.iter().all(like) || !pages.iter().enumerate().all(made) {
            return false;
        }
    }
    rest.is_empty() && !directories.is_empty()
}

/// Writes the pages of one directory.
struct PageWriter {
    directory: Directory,
    fields: Vec<Field>,
    /// How the first page is stored; all others are like it.
    page: Stored,
    /// The page and the channel of each sample of a pixel.
    places: Vec<(usize, usize)>,
    predictor: Predictor,
    /// How often the picture is gone through: once for each channel, if they lie one after the other.
    passes: usize,
    /// Width and height of strips or tiles.
    across: usize,
    down: usize,
    shape: Shape,
    /// Where strips or tiles are, and their lengths.
    offsets: Vec<u64>,
    lengths: Vec<u64>,
    /// One of them.
    data: Vec<u8>,
}

impl PageWriter {
    fn new(directory: &Directory, page: &Stored, mut fields: Vec<Field>, order: Order) -> Result<Self> {
        let (width, height) = page.size_within(u32::MAX, Format::Tiff)?;
        let (channels, samples) = (directory.channels, page.samples);
        let (bits, format) = match samples {
            s if s.is_float() => (8 * s.bytes(), 3),
            SampleType::I16 | SampleType::I32 => (8 * samples.bytes(), 2),
            _ => (8 * samples.bytes(), 1),
        };
        // A palette is for the samples that it was made for.
        let lost = directory.photometric == PALETTE && samples != directory.samples;
        let photometric = if lost { BLACK_IS_ZERO } else { directory.photometric };
        let predictor = match (directory.packing, directory.predictor) {
            (Packing::None | Packing::PackBits, _) => Predictor::None,
            (_, Predictor::Float) if !samples.is_float() => Predictor::Integer,
            (_, predictor) => predictor,
        };
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
        let (passes, step) = if directory.planar { (channels, 1) } else { (1, channels) };
        let across = directory.tile.map_or(page.width, |(w, _)| w as usize);
        let size = samples.bytes() as usize;
        let row = across * step * size;
        let down = directory.tile.map_or((STRIP / row).clamp(1, page.height), |(_, h)| h as usize);
        let pieces = match directory.stack {
            1 => passes * page.width.div_ceil(across) * page.height.div_ceil(down),
            _ => 0,
        };
        let places = || -> Result<Vec<u64>> {
            let mut places = Vec::new();
            places.try_reserve_exact(pieces).map_err(|_| Error::Memory { bytes: 8 * pieces as u64 })?;
            places.resize(pieces, 0);
            Ok(places)
        };
        Ok(Self {
            fields,
            page: *page,
            places: directory.places(),
            predictor,
            passes,
            across,
            down,
            shape: Shape { row, step, size, order },
            offsets: places()?,
            lengths: places()?,
            data: Vec::new(),
            directory: directory.clone(),
        })
    }

    /// Writes the strips or tiles that begin with row `y`.
    fn pieces<W: Write + Seek>(
        &mut self,
        file: &mut File<W>,
        pages: &[Rows],
        pass: usize,
        y: usize,
    ) -> Result<()> {
        let (width, height) = (self.page.width, self.page.height);
        let first = (pass * height.div_ceil(self.down) + y / self.down) * width.div_ceil(self.across);
        let rows = match self.directory.tile {
            Some(_) => self.down,
            None => self.down.min(height - y),
        };
        let mut data = std::mem::take(&mut self.data);
        if data.capacity() == 0 {
            data = self.page.room((self.across * self.shape.step).saturating_mul(self.down))?;
        }
        for (i, x) in (0..width).step_by(self.across).enumerate() {
            data.clear();
            self.samples(pages, Piece { pass, x, y, width: self.across, height: rows }, &mut data);
            apply(self.predictor, &mut data, self.shape);
            let packed = pack(self.directory.packing, &data, self.shape.row)?;
            self.offsets[first + i] = file.at;
            self.lengths[first + i] = packed.len() as u64;
            file.put(&packed)?;
            file.align()?;
        }
        self.data = data;
        Ok(())
    }

    /// Writes the directory, when all strips or tiles are there.
    fn finish<W: Write + Seek>(self, file: &mut File<W>) -> Result<()> {
        let mut fields = self.fields;
        let places = match self.directory.tile {
            Some((w, h)) => {
                fields.extend([longs(TILE_WIDTH, &[w]), longs(TILE_HEIGHT, &[h])]);
                [TILE_OFFSETS, TILE_LENGTHS]
            }
            None => {
                fields.push(longs(ROWS_PER_STRIP, &[self.down as u32]));
                [STRIP_OFFSETS, STRIP_LENGTHS]
            }
        };
        for (tag, values) in places.into_iter().zip([self.offsets, self.lengths]) {
            fields.push(file.places(tag, &values));
        }
        file.directory(fields, true)?;
        Ok(())
    }

    /// All planes in one piece behind the directory, as they were.
    fn stack<W: Write + Seek>(&mut self, file: &mut File<W>, pages: &[Rows]) -> Result<()> {
        let (width, height) = (self.page.width, self.page.height);
        let groups = self.directory.groups().len();
        let mut fields = std::mem::take(&mut self.fields);
        fields.push(longs(ROWS_PER_STRIP, &[height as u32]));
        fields.push(file.places(STRIP_LENGTHS, &[(self.shape.row * height) as u64]));
        fields.push(file.places(STRIP_OFFSETS, &[0]));
        let at = file.at + file.len_of(&fields);
        if let Some(place) = fields.iter_mut().find(|f| f.tag == STRIP_OFFSETS) {
            *place = file.places(STRIP_OFFSETS, &[at]);
        }
        file.directory(fields, true)?;
        debug_assert_eq!(file.at, at);
        let mut data = self.page.room(width * self.directory.channels)?;
        for pages in pages.chunks(groups) {
            for y in 0..height {
                data.clear();
                self.samples(pages, Piece { pass: 0, x: 0, y, width, height: 1 }, &mut data);
                file.put(&data)?;
            }
        }
        Ok(())
    }

    /// Appends the samples of a strip or tile of the pages of one plane; zero outside the picture.
    fn samples(&self, pages: &[Rows], piece: Piece, out: &mut Vec<u8>) {
        let samples = self.page.samples;
        let inverted = self.directory.is_inverted(samples).then(|| range(samples).1);
        let places =
            if self.directory.planar { &self.places[piece.pass..=piece.pass] } else { &self.places[..] };
        let inside = piece.width.min(self.page.width - piece.x);
        for y in piece.y..piece.y + piece.height {
            let row = |(page, channel): &(usize, usize)| {
                let (row, scale) = pages[*page].row(*channel, y);
                (&row[piece.x..][..inside], scale)
            };
            let rows: Vec<_> =
                if y < self.page.height { places.iter().map(row).collect() } else { Vec::new() };
            let mut values = interleaved(&rows);
            if let Some(white) = inverted {
                values.iter_mut().for_each(|v| *v = white - *v);
            }
            values.resize(piece.width * places.len(), 0.0);
            pages[0].store(&values, self.shape.order, out);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::store::Outline;

    fn stored(width: usize, height: usize, samples: SampleType) -> Stored {
        let page = Outline { width, height, colors: 1, alpha: false, samples, white: samples.white() };
        Stored::new(&page, Format::Tiff, false, Format::Tiff, &mut Remarks::default())
    }

    fn grey(packing: Packing, tile: Option<(u32, u32)>) -> Directory {
        Directory { packing, tile, ..Directory::plain(SampleType::U16, 1, false) }
    }

    #[test]
    fn files_that_may_pass_four_gigabytes_are_bigtiff() {
        let big = |directory: Directory, width, height| {
            needs_big(&[directory], &[stored(width, height, SampleType::U16)], &Metadata::default())
        };
        assert!(!big(grey(Packing::None, None), 40_000, 50_000));
        assert!(big(grey(Packing::None, None), 40_000, 54_000));
        // Noise gets longer by LZW.
        assert!(!big(grey(Packing::Lzw, None), 40_000, 30_000));
        assert!(big(grey(Packing::Lzw, None), 40_000, 40_000));
        assert!(!big(grey(Packing::Deflate { old: false }, None), 40_000, 40_000));
        // One pixel more is a row of tiles more.
        assert!(big(grey(Packing::None, Some((4096, 40_000))), 40_000, 40_001));
    }

    #[test]
    fn a_page_in_bands_is_bigtiff_where_it_has_to_be() {
        for (height, begins) in [(50_000, b"II\x2a\0"), (60_000, b"II\x2b\0")] {
            let (page, mut remarks) = (stored(40_000, height, SampleType::U16), Remarks::default());
            let file = std::io::Cursor::new(Vec::new());
            let bands = begin(&page, Format::Tiff, &Metadata::default(), file, &mut remarks).unwrap();
            assert_eq!(bands.file.into_inner().into_inner()[..4], *begins);
            assert_eq!(remarks.into_vec().len(), usize::from(height == 60_000));
        }
    }

    #[test]
    fn offsets_that_do_not_fit_are_an_error() {
        let mut file = File::new(std::io::Cursor::new(Vec::new()), false, Order::Little).unwrap();
        file.at = u32::MAX.into();
        assert!(matches!(file.directory(vec![longs(WIDTH, &[1])], true), Err(Error::Encode(_))));
    }
}
