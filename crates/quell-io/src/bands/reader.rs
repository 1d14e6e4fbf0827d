//! Rows out of a file.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::ops::Range;
use std::path::Path;

use quell::{FrameView, PlaneView};

use crate::codec::Outline;
use crate::codec::band::{self, ReadRows};
use crate::input::{Disk, Input};
use crate::{Error, Format, Metadata, ReadOptions, Result, SampleType};

/// Some rows of a picture, as [`BandReader::rows`] leaves them. Its memory is used again by the next ones.
#[derive(Clone, Debug, Default)]
pub struct Band {
    rows: Range<usize>,
    width: usize,
    /// Planes of colour; one more is alpha.
    colors: usize,
    white: f32,
    planes: Vec<Vec<f32>>,
}

impl Band {
    /// Which rows of the picture these are; none before the first ones were read, and after an error.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Grey or RGB in the file's own sample units; an error if there are no rows.
    pub fn frame(&self) -> Result<FrameView<'_>> {
        let planes = self.planes.iter().take(self.colors).map(|p| self.view(p));
        Ok(FrameView::new(planes.collect::<Result<_>>()?, self.white)?)
    }

    /// Alpha in the file's own sample units.
    pub fn alpha(&self) -> Option<PlaneView<'_>> {
        self.planes.get(self.colors).and_then(|p| self.view(p).ok())
    }

    fn view<'a>(&self, plane: &'a [f32]) -> Result<PlaneView<'a>> {
        Ok(PlaneView::new(self.width, self.rows.len(), self.width, plane)?)
    }

    /// Makes room for rows of a picture; they are not there yet.
    fn prepare(&mut self, page: &Outline, rows: usize) -> Result<()> {
        self.rows = 0..0;
        (self.width, self.colors, self.white) = (page.width, page.colors, page.white);
        let memory = || {
            let bytes = (page.width as u64).saturating_mul(4 * rows as u64 * page.channels() as u64);
            Error::Frame(quell::Error::Memory { width: page.width, height: rows, bytes })
        };
        let len = page.width.checked_mul(rows).ok_or_else(memory)?;
        self.planes.resize_with(page.channels(), Vec::new);
        for plane in &mut self.planes {
            plane.truncate(len);
            plane.try_reserve_exact(len - plane.len()).map_err(|_| memory())?;
            plane.resize(len, 0.0);
        }
        Ok(())
    }
}

/// A picture file that is read in bands of rows.
///
/// The file stays open; its name may be given to another one meanwhile, such as the result.
pub struct BandReader {
    disk: Disk,
    format: Format,
    pub(super) page: Outline,
    metadata: Metadata,
    notes: Vec<String>,
    rows: Box<dyn ReadRows>,
}

impl BandReader {
    /// Opens a file and reads everything but its samples. Nothing where they cannot be read in bands, which is no
    /// error: [`read()`](crate::read()) reads such a file as a whole. So it is with pipes.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Option<Self>> {
        if !fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        Self::new(File::open(path)?, path.extension().and_then(|e| e.to_str()), options)
    }

    /// The same for what is no file; `extension` is that of its name, if it has one.
    pub fn new(
        input: impl Read + Seek + Send + 'static,
        extension: Option<&str>,
        options: &ReadOptions,
    ) -> Result<Option<Self>> {
        crate::refuse_raw(extension)?;
        let disk = Disk::new(input)?;
        let opened = crate::tell_format(&Input::Disk(&disk).get(0, 64)?)
            .and_then(|format| Ok((format, band::open(format, Input::Disk(&disk), options)?)));
        // Headers that cannot be read are not damaged.
        if let Some(e) = disk.failure() {
            return Err(Error::Io(e));
        }
        let (format, Some(opened)) = opened? else { return Ok(None) };
        let mut notes = opened.notes;
        notes.splice(0..0, crate::misnamed(extension, format));
        Ok(Some(Self {
            disk,
            format,
            page: opened.page,
            metadata: opened.metadata,
            notes,
            rows: opened.rows,
        }))
    }

    /// Width in pixels.
    pub fn width(&self) -> usize {
        self.page.width
    }

    /// Height in pixels.
    pub fn height(&self) -> usize {
        self.page.height
    }

    /// Planes of colour: 1 (grey) or 3 (red, green, blue).
    pub fn channels(&self) -> usize {
        self.page.colors
    }

    /// Whether there is alpha besides them.
    pub fn has_alpha(&self) -> bool {
        self.page.alpha
    }

    /// The sample value of white.
    pub fn white(&self) -> f32 {
        self.page.white
    }

    /// How the samples are stored, and will be again.
    pub fn samples(&self) -> SampleType {
        self.page.samples
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What is carried over to the result.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Remarks for the user, as in [`Picture::notes`](crate::Picture::notes).
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Decodes some rows. Any will do, but rows from the top down, with some overlap, cost least: strips and tiles are
    /// unpacked once, as long as each band touches them.
    pub fn rows(&mut self, rows: Range<usize>, band: &mut Band) -> Result<()> {
        if rows.is_empty() || rows.end > self.page.height {
            let text = format!("rows {rows:?} of {}", self.page.height);
            return Err(Error::Frame(quell::Error::Shape(text)));
        }
        band.prepare(&self.page, rows.len())?;
        let (top, width, planes) = (rows.start, self.page.width, &mut band.planes);
        let mut put = |plane: usize, x: usize, y: usize, values: &[f32], step: usize| {
            let start = (y - top) * width;
            let to = &mut planes[plane][start + x..start + width];
            to.iter_mut().zip(values.iter().step_by(step)).for_each(|(to, v)| *to = *v);
        };
        band::read(self.format, &mut *self.rows, Input::Disk(&self.disk), rows.clone(), &mut put)?;
        band.rows = rows;
        Ok(())
    }
}
