//! How a page's samples are stored in a format: sample type, scale, rounding; row by row.

use std::ops::{Deref, Range};

use quell::{Plane, PlaneView};

use super::lines::Lines;
pub(super) use super::sample::Order;
use super::sample::{self, range};
use crate::{Error, Format, Page, Picture, ReadOptions, Result, SampleType};

/// Remarks for the user, each only once.
#[derive(Default)]
pub(crate) struct Remarks(Vec<String>);

impl Remarks {
    pub(super) fn add(&mut self, remark: impl Into<String>) {
        let remark = remark.into();
        if !self.0.contains(&remark) {
            self.0.push(remark);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<String> {
        self.0
    }
}

/// A page without its samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outline {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Planes of colour: 1 or 3.
    pub(crate) colors: usize,
    pub(crate) alpha: bool,
    pub(crate) samples: SampleType,
    pub(crate) white: f32,
}

impl Outline {
    pub(super) fn of(page: &Page) -> Self {
        let (frame, samples) = (&page.frame, page.samples);
        let (width, height, colors) = (frame.width(), frame.height(), frame.channels());
        Self { width, height, colors, alpha: page.alpha.is_some(), samples, white: frame.white() }
    }

    /// Of rows that lie in a file; `white` is what the file says of it.
    pub(super) fn new(lines: &Lines, white: f32, options: &ReadOptions) -> Self {
        Self {
            width: lines.width as usize,
            height: lines.height as usize,
            colors: if lines.channels < 3 { 1 } else { 3 },
            alpha: lines.channels.is_multiple_of(2),
            samples: lines.samples,
            white: options.white.unwrap_or(white),
        }
    }

    /// Samples of a pixel.
    pub(crate) fn channels(&self) -> usize {
        self.colors + usize::from(self.alpha)
    }
}

/// How the samples of a page are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    /// Size of the page.
    pub(super) width: usize,
    pub(super) height: usize,
    colors: usize,
    /// Factors from the units of the page to the stored ones.
    scale: f32,
    alpha_scale: f32,
    pub(super) samples: SampleType,
    /// The smallest and largest sample that may be stored.
    range: (f32, f32),
    /// The largest value that PNM announces.
    pub(super) max: f32,
    /// The last channel is alpha.
    pub(super) alpha: bool,
}

impl Stored {
    /// Decides how a page that was read from a file of format `from` is stored in `format`, and says what changes.
    pub(super) fn new(
        page: &Outline,
        from: Format,
        premultiplied: bool,
        format: Format,
        remarks: &mut Remarks,
    ) -> Self {
        let (name, white) = (format.name(), page.white);
        let samples = stored_as(format, page.samples);
        let mut max = samples.white();
        let mut scale = 1.0;
        let mut alpha_scale = 1.0;
        // Only PNM stores its largest value, which is white; elsewhere it is brought to the usual one.
        let own_white = from == Format::Pnm && white != page.samples.white();
        let alpha_white = if own_white { white } else { page.samples.white() };
        if samples != page.samples && samples.is_float() && page.samples.is_float() {
            remarks.add(format!(
                "{name} cannot hold {} samples: stored as {}",
                page.samples.name(),
                samples.name()
            ));
        } else if samples != page.samples {
            scale = samples.white() / white;
            alpha_scale = samples.white() / alpha_white;
            let (from, to) = (page.samples.name(), samples.name());
            let beyond = !samples.is_float() && !matches!(page.samples, SampleType::U8 | SampleType::U16);
            let clipped = if beyond { ", values outside are clipped" } else { "" };
            remarks.add(format!(
                "{name} cannot hold {from} samples: stored as {to}, white {white} as {}{clipped}",
                samples.white()
            ));
        } else if own_white && format == Format::Pnm && is_maxval(samples, white) {
            max = white;
        } else if own_white && !samples.is_float() {
            scale = samples.white() / white;
            alpha_scale = scale;
            remarks.add(format!("{name} stores no white level: {white} stored as {}", samples.white()));
        }

        let mut alpha = page.alpha;
        if alpha && matches!(format, Format::Jpeg | Format::Pfm) {
            remarks.add(format!("{name} has no alpha: not kept"));
            alpha = false;
        } else if alpha && premultiplied && !matches!(format, Format::Tiff | Format::Exr) {
            remarks.add(format!("the colours stay multiplied by alpha, {name} cannot say so"));
        } else if alpha && !premultiplied && format == Format::Exr {
            remarks.add("OpenEXR expects colours multiplied by alpha: stored as they are");
        }
        let range = if format == Format::Pnm { (0.0, max) } else { range(samples) };
        let Outline { width, height, colors, .. } = *page;
        Self { width, height, colors, scale, alpha_scale, samples, range, max, alpha }
    }

    /// Colours and alpha.
    pub(super) fn channels(&self) -> usize {
        self.colors + usize::from(self.alpha)
    }

    /// A buffer for `n` samples of the stored type.
    pub(super) fn room(&self, n: usize) -> Result<Vec<u8>> {
        let len = n.checked_mul(self.samples.bytes() as usize);
        room(len.ok_or_else(|| Error::Encode("too large for this machine".into()))?)
    }

    /// Width and height, if they are within the format's limit.
    pub(super) fn size_within(&self, limit: u32, format: Format) -> Result<(u32, u32)> {
        let side = |n: usize| u32::try_from(n).ok().filter(|n| *n <= limit);
        side(self.width).zip(side(self.height)).ok_or_else(|| {
            Error::Encode(format!(
                "{} x {} pixels: {} holds at most {limit} a side; use .tif or .png",
                self.width,
                self.height,
                format.name()
            ))
        })
    }
}

/// Rows of a page, ready to be stored: planes with the factor from their units to the stored ones.
pub(crate) struct Rows<'a> {
    planes: Vec<(PlaneView<'a>, f32)>,
    /// The row of the page that the planes begin with.
    top: usize,
    stored: Stored,
}

impl Deref for Rows<'_> {
    type Target = Stored;

    fn deref(&self) -> &Stored {
        &self.stored
    }
}

impl<'a> Rows<'a> {
    /// All rows of a page; says what changes.
    pub(super) fn new(
        picture: &Picture,
        page: &'a Page,
        format: Format,
        remarks: &mut Remarks,
    ) -> Result<Self> {
        let frame = &page.frame;
        if page.alpha.as_ref().is_some_and(|a| (a.width(), a.height()) != (frame.width(), frame.height())) {
            return Err(Error::Encode("alpha and colours differ in size".into()));
        }
        let premultiplied = picture.metadata.premultiplied;
        let stored = Stored::new(&Outline::of(page), picture.format, premultiplied, format, remarks);
        Ok(Self::band(stored, 0, frame.planes().iter().chain(&page.alpha).map(Plane::view)))
    }

    /// The rows from `top` on that the planes hold: colours, and alpha if the page has it.
    pub(crate) fn band(stored: Stored, top: usize, planes: impl Iterator<Item = PlaneView<'a>>) -> Self {
        let scale = |c| if c < stored.colors { stored.scale } else { stored.alpha_scale };
        let planes = planes.take(stored.channels()).enumerate().map(|(c, p)| (p, scale(c))).collect();
        Self { planes, top, stored }
    }

    pub(super) fn width(&self) -> usize {
        self.stored.width
    }

    /// Height of the page.
    pub(super) fn height(&self) -> usize {
        self.stored.height
    }

    /// The rows that are here.
    pub(super) fn range(&self) -> Range<usize> {
        self.top..self.top + self.planes[0].0.height()
    }

    /// Sample `(x, y)` of channel `c`, in stored units, not rounded.
    pub(super) fn sample(&self, c: usize, x: usize, y: usize) -> f32 {
        let (plane, scale) = self.planes[c];
        plane.row(y - self.top)[x] * scale
    }

    /// Row `y` of channel `c`, and the factor to stored units.
    pub(super) fn row(&self, c: usize, y: usize) -> (&'a [f32], f32) {
        let (plane, scale) = &self.planes[c];
        (plane.row(y - self.top), *scale)
    }

    /// Appends samples, in stored units, rounded and clipped where the type needs it.
    pub(super) fn store(&self, values: &[f32], order: Order, out: &mut Vec<u8>) {
        sample::write(self.samples, order, self.stored.range, values, out);
    }

    /// Appends row `y` as bytes of the stored sample type.
    pub(super) fn row_bytes(&self, y: usize, order: Order, out: &mut Vec<u8>) {
        let rows: Vec<_> = (0..self.channels()).map(|c| self.row(c, y)).collect();
        self.store(&interleaved(&rows), order, out);
    }

    /// A buffer for one row.
    pub(super) fn row_buffer(&self) -> Result<Vec<u8>> {
        self.room(self.width().saturating_mul(self.channels()))
    }

    /// The whole picture as 8-bit samples, for encoders that want it in one piece.
    pub(super) fn all_u8(&self) -> Result<Vec<u8>> {
        let n = self.width().checked_mul(self.height()).and_then(|n| n.checked_mul(self.channels()));
        let mut out = self.room(n.unwrap_or(usize::MAX))?;
        for y in 0..self.height() {
            self.row_bytes(y, Order::Little, &mut out);
        }
        Ok(out)
    }
}

/// The sample type that a format uses for samples of another one.
fn stored_as(format: Format, samples: SampleType) -> SampleType {
    match (format, samples) {
        (Format::Exr, SampleType::F16) => SampleType::F16,
        (Format::Tiff | Format::Npy, s) => s,
        (Format::Png | Format::Pnm, SampleType::U8) => SampleType::U8,
        (Format::Png | Format::Pnm, _) => SampleType::U16,
        (Format::Jpeg | Format::WebP, _) => SampleType::U8,
        (Format::Pfm | Format::Exr, _) => SampleType::F32,
    }
}

/// The samples of some rows, pixel by pixel, each row times its factor.
pub(super) fn interleaved(rows: &[(&[f32], f32)]) -> Vec<f32> {
    let (step, width) = (rows.len(), rows.first().map_or(0, |(row, _)| row.len()));
    let mut values = vec![0.0; step * width];
    for (c, (row, scale)) in rows.iter().enumerate() {
        let to = values.iter_mut().skip(c).step_by(step);
        to.zip(*row).for_each(|(to, v)| *to = v * scale);
    }
    values
}

/// Whether PNM can declare `white` as its largest value without changing the number of bytes.
fn is_maxval(samples: SampleType, white: f32) -> bool {
    let range = match samples {
        SampleType::U8 => 1.0..=255.0,
        SampleType::U16 => 256.0..=65535.0,
        _ => return false,
    };
    white.fract() == 0.0 && range.contains(&white)
}

/// An empty buffer with room for `len` bytes, or an error where there is no memory for it.
pub(super) fn room(len: usize) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(len).map_err(|_| Error::Memory { bytes: len as u64 })?;
    Ok(buffer)
}
