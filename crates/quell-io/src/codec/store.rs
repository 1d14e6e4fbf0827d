//! How a page's samples are stored in a format: sample type, scale, rounding; row by row.

use quell::Plane;

pub(super) use super::sample::Order;
use super::sample::{self, range};
use crate::{Error, Format, Page, Picture, Result, SampleType};

/// Remarks for the user, each only once.
#[derive(Default)]
pub(super) struct Remarks(Vec<String>);

impl Remarks {
    pub(super) fn add(&mut self, remark: impl Into<String>) {
        let remark = remark.into();
        if !self.0.contains(&remark) {
            self.0.push(remark);
        }
    }

    pub(super) fn into_vec(self) -> Vec<String> {
        self.0
    }
}

/// A page, ready to be stored: planes with the factor from their units to the stored ones.
pub(super) struct Rows<'a> {
    planes: Vec<(&'a Plane, f32)>,
    /// How the samples are stored.
    pub(super) samples: SampleType,
    /// The smallest and largest sample that may be stored.
    range: (f32, f32),
    /// The largest value that PNM announces.
    pub(super) max: f32,
    /// The last plane is alpha.
    pub(super) alpha: bool,
}

impl<'a> Rows<'a> {
    /// Decides how `page` is stored in `format`, and says what changes.
    pub(super) fn new(
        picture: &Picture,
        page: &'a Page,
        format: Format,
        remarks: &mut Remarks,
    ) -> Result<Self> {
        let (name, frame) = (format.name(), &page.frame);
        let samples = stored_as(format, page.samples);
        let white = frame.white();
        let mut max = samples.white();
        let mut scale = 1.0;
        let mut alpha_scale = 1.0;
        // Only PNM stores its largest value, which is white; elsewhere it is brought to the usual one.
        let own_white = picture.format == Format::Pnm && white != page.samples.white();
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

        let mut planes: Vec<_> = frame.planes().iter().map(|p| (p, scale)).collect();
        let mut has_alpha = false;
        if let Some(alpha) = &page.alpha {
            if (alpha.width(), alpha.height()) != (frame.width(), frame.height()) {
                return Err(Error::Encode("alpha and colours differ in size".into()));
            }
            if matches!(format, Format::Jpeg | Format::Pfm) {
                remarks.add(format!("{name} has no alpha: not kept"));
            } else {
                planes.push((alpha, alpha_scale));
                has_alpha = true;
                let premultiplied = picture.metadata.premultiplied;
                if premultiplied && !matches!(format, Format::Tiff | Format::Exr) {
                    remarks.add(format!("the colours stay multiplied by alpha, {name} cannot say so"));
                } else if !premultiplied && format == Format::Exr {
                    remarks.add("OpenEXR expects colours multiplied by alpha: stored as they are");
                }
            }
        }
        let range = if format == Format::Pnm { (0.0, max) } else { range(samples) };
        Ok(Self { planes, samples, range, max, alpha: has_alpha })
    }

    pub(super) fn width(&self) -> usize {
        self.planes[0].0.width()
    }

    pub(super) fn height(&self) -> usize {
        self.planes[0].0.height()
    }

    /// Colours and alpha.
    pub(super) fn channels(&self) -> usize {
        self.planes.len()
    }

    /// Sample `(x, y)` of channel `c`, in stored units, not rounded.
    pub(super) fn sample(&self, c: usize, x: usize, y: usize) -> f32 {
        let (plane, scale) = self.planes[c];
        plane.row(y)[x] * scale
    }

    /// Channel `c`, and the factor to stored units.
    pub(super) fn channel(&self, c: usize) -> (&'a Plane, f32) {
        self.planes[c]
    }

    /// Appends samples, in stored units, rounded and clipped where the type needs it.
    pub(super) fn store(&self, values: &[f32], order: Order, out: &mut Vec<u8>) {
        sample::write(self.samples, order, self.range, values, out);
    }

    /// Appends row `y` as bytes of the stored sample type.
    pub(super) fn row_bytes(&self, y: usize, order: Order, out: &mut Vec<u8>) {
        let rows: Vec<_> = self.planes.iter().map(|(p, scale)| (p.row(y), *scale)).collect();
        self.store(&interleaved(&rows), order, out);
    }

    /// A buffer for `n` samples of the stored type.
    pub(super) fn room(&self, n: usize) -> Result<Vec<u8>> {
        let len = n.checked_mul(self.samples.bytes() as usize);
        room(len.ok_or_else(|| Error::Encode("too large for this machine".into()))?)
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

    /// Width and height, if they are within the format's limit.
    pub(super) fn size_within(&self, limit: u32, format: Format) -> Result<(u32, u32)> {
        let side = |n: usize| u32::try_from(n).ok().filter(|n| *n <= limit);
        side(self.width()).zip(side(self.height())).ok_or_else(|| {
            Error::Encode(format!(
                "{} x {} pixels: {} holds at most {limit} a side; use .tif or .png",
                self.width(),
                self.height(),
                format.name()
            ))
        })
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
