//! TIFF and BigTIFF in both byte orders. A result is laid out as its input was: pages, channels, sample type,
//! compression, tiles, byte order, and every field that does not say how samples are stored.
//!
//! Colours and alpha of a pixel make a page; samples beyond them are channels, each a page of its own. Pages of
//! reduced size (thumbnails, pyramids) are left out.
//!
//! Directories are read and written here because fields of microscopes have to come back as they were, in the
//! byte order that they were in; strips and tiles go through the usual crates.

mod describe;
mod directory;
mod file;
mod jpeg;
mod pack;
mod predict;
mod read;
mod rest;
mod tags;
mod write;

use std::collections::HashSet;
use std::ops::Range;

pub(crate) use self::directory::Directory;
pub(super) use self::write::{begin, encode};

use self::describe::{Description, is_ome};
use self::directory::Source;
use self::pack::Packing;
use self::read::{Grid, Kept};
use self::tags::{COLOR_MAP, Fate, ICC, SUBFILE, XMP, fate, numbers};
use super::band::{Opened, Put, ReadRows, check_row};
use super::canvas::check_size;
use super::sample::Order;
use super::store::Outline;
use super::{Decoded, damaged, ends_early};
use crate::exif::{EXIF_IFD, Field, Fields, Reader, drop_empty_resolution};
use crate::input::Input;
use crate::{Error, Format, Metadata, ReadOptions, Result, SampleType, TiffLayout};

/// More memory than that is taken only for files that are large themselves ...
const GENEROUS: u64 = 1 << 30;

/// ... and this many times smaller at most. No picture packs so well, only bombs do.
const EXPANSION: u64 = 1024;

/// Strips and tiles of more bytes are not unpacked to have a few rows of them.
const PIECE: u64 = 1 << 30;

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let reader = reader(bytes.into())?;
    let mut decoded = Decoded { pages: Vec::new(), metadata: Metadata::default(), notes: Vec::new() };
    let listings = directories(&reader, usize::MAX, &mut decoded.notes)?;
    let sources = sources(&reader, &listings)?;
    check_limits(&sources, bytes.len() as u64, options)?;
    for source in &sources {
        read::pages(bytes, source, order(&reader), options, &mut decoded.pages)?;
        source.notes.iter().for_each(|n| note(&mut decoded.notes, n));
    }
    let directories = sources.into_iter().map(|s| s.directory).collect();
    decoded.metadata = keep(&reader, &listings, directories, &mut decoded.notes);
    Ok(decoded)
}

pub(super) fn open(input: Input, options: &ReadOptions) -> Result<Option<Opened>> {
    let reader = reader(input)?;
    let mut notes = Vec::new();
    let listings = directories(&reader, 1, &mut notes)?;
    if listings.len() > 1 || reader.omits.get() {
        return Ok(None);
    }
    let Some(source) = sources(&reader, &listings)?.pop() else { return Ok(None) };
    let [group] = &source.directory.groups()[..] else { return Ok(None) };
    if source.directory.stack > 1 {
        return Ok(None);
    }
    check_size(source.width.into(), source.height.into(), options)?;
    let grid = Grid::new(&source, order(&reader))?;
    check_row(Some(grid.row_samples()))?;
    // Without packing and tiles a few rows can be had of any piece.
    let whole = source.directory.packing != Packing::None || source.directory.tile.is_some();
    if whole && grid.piece_bytes() > PIECE {
        return Ok(None);
    }
    let bytes = source.plane_bytes().unwrap_or(u64::MAX);
    if bytes > GENEROUS && bytes / EXPANSION > input.len() {
        return Err(bomb(input.len(), format_args!("unpack to {} MB", bytes >> 20)));
    }
    grid.check(&source, input.len())?;

    let samples = source.directory.samples;
    let page = Outline {
        width: source.width as usize,
        height: source.height as usize,
        colors: if group.len() < 3 { 1 } else { 3 },
        alpha: group.len().is_multiple_of(2),
        samples,
        white: options.white.unwrap_or(samples.white()),
    };
    source.notes.iter().for_each(|n| note(&mut notes, n));
    let metadata = keep(&reader, &listings, vec![source.directory.clone()], &mut notes);
    let places = source.directory.places().into_iter().map(|(_, at)| at).collect();
    let rows = Box::new(Pieces { source, grid, places, kept: Kept::default() });
    Ok(Some(Opened { page, metadata, notes, rows }))
}

/// The strips or tiles of the only page.
struct Pieces {
    source: Source,
    grid: Grid,
    /// The plane of each sample of a pixel.
    places: Vec<usize>,
    kept: Kept,
}

impl ReadRows for Pieces {
    fn read(&mut self, input: Input, rows: Range<usize>, put: &mut Put) -> Result<()> {
        let Self { source, grid, places, kept } = self;
        kept.retain(grid, &rows);
        let to_plane = &mut |sample: usize, x: usize, y: usize, row: &[f32], step: usize| {
            put(places[sample], x, y, row, step)
        };
        grid.read(input, source, 0, rows, Some(kept), to_plane)
    }
}

fn reader(input: Input<'_>) -> Result<Reader<'_>> {
    if input.get(8, 2)?[..] == *b"CR" {
        return Err(Error::Unsupported("a camera raw file; develop it to a 16-bit TIFF first".into()));
    }
    Reader::new(input).ok_or_else(|| ends_early(Format::Tiff))
}

fn order(reader: &Reader) -> Order {
    if reader.little { Order::Little } else { Order::Big }
}

/// What directories say, and where their samples are.
fn sources(reader: &Reader, listings: &[Vec<Field>]) -> Result<Vec<Source>> {
    let mut sources = listings.iter().map(|f| Source::new(f)).collect::<Result<Vec<_>>>()?;
    if let ([source], [fields]) = (&mut sources[..], listings) {
        let directory_at = reader.first().unwrap_or(0);
        source.find_stack(Description::of(fields), directory_at, reader.input.len());
    }
    Ok(sources)
}

fn note(notes: &mut Vec<String>, text: &str) {
    if !notes.iter().any(|n| n == text) {
        notes.push(text.into());
    }
}

/// The fields of all directories that hold pictures; it is left at that where there are more than `enough`.
fn directories(reader: &Reader, enough: usize, notes: &mut Vec<String>) -> Result<Vec<Vec<Field>>> {
    let mut listings = Vec::new();
    let mut seen = HashSet::new();
    let mut at = reader.first().ok_or_else(|| ends_early(Format::Tiff))?;
    while at != 0 && listings.len() <= enough {
        if !seen.insert(at) {
            return Err(damaged(Format::Tiff, "its pages go round in a circle"));
        }
        let listing = reader.directory(at).ok_or_else(|| ends_early(Format::Tiff))?;
        if listing.damaged > 0 {
            note(notes, "fields that point outside the file are left out");
        }
        let subfile = listing.fields.iter().find(|f| f.tag == SUBFILE).and_then(numbers);
        if subfile.and_then(|n| n.first().copied()).unwrap_or(0) & 0b101 != 0 {
            note(notes, "thumbnails and masks inside the file are left out");
        } else {
            listings.push(listing.fields);
        }
        at = listing.next.ok_or_else(|| ends_early(Format::Tiff))?;
    }
    if listings.is_empty() {
        return Err(Error::Unsupported("the file holds thumbnails only; is it a camera raw file?".into()));
    }
    Ok(listings)
}

/// Refuses what is too large before memory is taken for any of it.
fn check_limits(sources: &[Source], file: u64, options: &ReadOptions) -> Result<()> {
    let (mut pixels, mut samples) = (0_u64, 0_u64);
    for source in sources {
        check_size(source.width.into(), source.height.into(), options)?;
        let size = u64::from(source.width) * u64::from(source.height);
        // Tiles may go far beyond the picture, and are unpacked whole.
        let [width, height] = [(source.width, source.piece.0), (source.height, source.piece.1)]
            .map(|(side, piece)| u64::from(side).next_multiple_of(piece.into()));
        if width.saturating_mul(height) / 4 > size {
            check_size(width, height, options)?;
        }
        let pages = (source.directory.groups().len() * source.directory.stack) as u64;
        let channels = (source.directory.channels * source.directory.stack) as u64;
        pixels = pixels.saturating_add(size.saturating_mul(pages));
        samples = samples.saturating_add(width.saturating_mul(height).saturating_mul(channels));
    }
    if pixels > options.max_pixels {
        return Err(Error::PagesTooLarge { limit: options.max_pixels });
    }
    let memory = samples.saturating_mul(4);
    if memory > GENEROUS && memory / EXPANSION > file {
        return Err(bomb(file, format_args!("take {} MB of memory", memory >> 20)));
    }
    Ok(())
}

fn bomb(file: u64, does: impl std::fmt::Display) -> Error {
    Error::Unsupported(format!(
        "its {file} bytes would {does}; if it is no bomb, unpack it with another program first"
    ))
}

/// Notes down what a result needs to be like its input.
fn keep(
    reader: &Reader,
    listings: &[Vec<Field>],
    mut directories: Vec<Directory>,
    notes: &mut Vec<String>,
) -> Metadata {
    let mut metadata = Metadata::default();
    let Metadata { icc, xmp, exif, premultiplied, .. } = &mut metadata;
    let data = |fields: &[Field], tag| fields.iter().find(|f| f.tag == tag).map(|f| f.data.clone());
    *icc = data(&listings[0], ICC);
    *xmp = data(&listings[0], XMP);
    let mut block = Reader::new(reader.input).and_then(|r| Fields::read(&r)).unwrap_or_default();
    block.main.retain(|f| fate(f) == Fate::Carried);
    *exif = Some(&block).filter(|b| !b.is_empty()).map(Fields::to_block);
    let alphas = |d: &Directory| d.groups().iter().any(|g| g.len() % 2 == 0);
    *premultiplied = directories.iter().any(|d| alphas(d) && d.extra.contains(&1));

    for (i, (fields, directory)) in listings.iter().zip(&mut directories).enumerate() {
        for field in fields {
            match fate(field) {
                Fate::Carried => directory.fields.push(field.clone()),
                Fate::Lost(what) => note(notes, &format!("{what}: not kept")),
                Fate::Storage => {}
            }
            let own =
                matches!(field.tag, ICC | XMP) && i > 0 && Some(&field.data) != slot(field.tag, icc, xmp);
            // How intensities are shown.
            let shown = field.tag == COLOR_MAP && directory.photometric == directory::PALETTE;
            if own || shown {
                directory.fields.push(field.clone());
            }
            if field.tag == EXIF_IFD && i > 0 {
                note(notes, "EXIF of other pages than the first: not kept");
            } else if field.tag == EXIF_IFD {
                let at = numbers(field).and_then(|n| n.first().copied());
                let inner = at.and_then(|at| reader.directory(at)).map_or(vec![], |l| l.fields);
                if inner.iter().any(|f| matches!(fate(f), Fate::Lost(_))) {
                    note(notes, "EXIF's directory on interoperability: not kept");
                }
            }
        }
        drop_empty_resolution(&mut directory.fields);
        if i == 0 {
            // They go with EXIF, to other formats too.
            directory.fields.retain(|f| !block.main.contains(f));
        }
        let lacks = [ICC, XMP]
            .into_iter()
            .filter(|tag| slot(*tag, icc, xmp).is_some() && !fields.iter().any(|f| f.tag == *tag));
        directory.lacks = lacks.collect();
        if directory.packing == Packing::Jpeg {
            note(notes, "JPEG inside TIFF loses with every writing: written with deflate");
            directory.packing = Packing::Deflate { old: false };
            directory.predictor = predict::Predictor::Integer;
        }
        if directory.samples == SampleType::F64 {
            note(notes, "float64 is filtered as float32, and written as float64");
        }
    }
    // OME-XML has to be left out when the type of the samples changes, which plain pages do not know.
    let plain = directories.iter().all(|d| d.is_plain(*premultiplied)) && !block.main.iter().any(is_ome);
    let directories = if plain { Vec::new() } else { directories };
    let tiff = TiffLayout { big_endian: !reader.little, big: reader.big, directories };
    Metadata { tiff, ..metadata }
}

fn slot<'a>(tag: u16, icc: &'a Option<Vec<u8>>, xmp: &'a Option<Vec<u8>>) -> Option<&'a Vec<u8>> {
    if tag == ICC { icc.as_ref() } else { xmp.as_ref() }
}

impl TiffLayout {
    /// Whether there are fields that only TIFF has a place for.
    pub(crate) fn has_fields(&self) -> bool {
        self.directories.iter().any(|d| !d.fields.is_empty())
    }
}
