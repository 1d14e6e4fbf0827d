//! How a page's samples are stored in a format: sample type, scale, rounding; row by row.

use quell::Plane;

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

/// Byte order of 16-bit and float samples.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

/// A page, ready to be stored: planes with the factor from their units to the stored ones.
pub(super) struct Rows<'a> {
    planes: Vec<(&'a Plane, f32)>,
    /// How the samples are stored.
    pub(super) samples: SampleType,
    /// The largest integer sample that may be stored.
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
        let float = |s| matches!(s, SampleType::F16 | SampleType::F32);
        if samples != page.samples && float(samples) && float(page.samples) {
            remarks.add(format!("{name} cannot hold {} samples: stored as float", describe(page.samples)));
        } else if samples != page.samples {
            scale = samples.white() / white;
            alpha_scale = samples.white() / alpha_white;
            let (from, to) = (describe(page.samples), describe(samples));
            let clipped = if float(page.samples) { ", values outside are clipped" } else { "" };
            remarks.add(format!(
                "{name} cannot hold {from} samples: stored as {to}, white {white} as {}{clipped}",
                samples.white()
            ));
        } else if own_white && format == Format::Pnm && is_maxval(samples, white) {
            max = white;
        } else if own_white && samples != SampleType::F32 {
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
        Ok(Self { planes, samples, max, alpha: has_alpha })
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

    /// Appends row `y`, channels interleaved, each sample through `store`.
    pub(super) fn row<T>(&self, y: usize, out: &mut Vec<T>, store: impl Fn(f32) -> T) {
        if let [(plane, scale)] = self.planes[..] {
            out.extend(plane.row(y).iter().map(|v| store(v * scale)));
            return;
        }
        let rows: Vec<_> = self.planes.iter().map(|(p, scale)| (p.row(y), *scale)).collect();
        for x in 0..self.width() {
            out.extend(rows.iter().map(|(row, scale)| store(row[x] * scale)));
        }
    }

    /// Rounds to the nearest integer, clipped. NaN becomes 0.
    pub(super) fn round(&self, v: f32) -> u16 {
        (v.clamp(0.0, self.max) + 0.5) as u16
    }

    /// Appends row `y` as bytes of the stored sample type.
    pub(super) fn row_bytes(&self, y: usize, order: Order, out: &mut Vec<u8>) {
        match (self.samples, order) {
            (SampleType::U8, _) => self.row(y, out, |v| self.round(v) as u8),
            (SampleType::U16, order) => {
                let mut row = Vec::with_capacity(self.width() * self.channels());
                self.row(y, &mut row, |v| self.round(v));
                match order {
                    Order::Big => row.iter().for_each(|v| out.extend(v.to_be_bytes())),
                    Order::Little => row.iter().for_each(|v| out.extend(v.to_le_bytes())),
                }
            }
            (SampleType::F16 | SampleType::F32, order) => {
                let mut row = Vec::with_capacity(self.width() * self.channels());
                self.row(y, &mut row, |v| v);
                match order {
                    Order::Big => row.iter().for_each(|v| out.extend(v.to_be_bytes())),
                    Order::Little => row.iter().for_each(|v| out.extend(v.to_le_bytes())),
                }
            }
        }
    }

    /// The whole picture as 8-bit samples, for encoders that want it in one piece.
    pub(super) fn all_u8(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.width() * self.height() * self.channels());
        for y in 0..self.height() {
            self.row(y, &mut out, |v| self.round(v) as u8);
        }
        out
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
        (Format::Tiff | Format::Npy, SampleType::F16) => SampleType::F32,
        (Format::Tiff | Format::Npy, s) => s,
        (Format::Png | Format::Pnm, SampleType::F16 | SampleType::F32) => SampleType::U16,
        (Format::Png | Format::Pnm, s) => s,
        (Format::Jpeg | Format::WebP, _) => SampleType::U8,
        (Format::Pfm | Format::Exr, _) => SampleType::F32,
    }
}

/// Whether PNM can declare `white` as its largest value without changing the number of bytes.
fn is_maxval(samples: SampleType, white: f32) -> bool {
    let range = match samples {
        SampleType::U8 => 1.0..=255.0,
        SampleType::U16 => 256.0..=65535.0,
        SampleType::F16 | SampleType::F32 => return false,
    };
    white.fract() == 0.0 && range.contains(&white)
}

fn describe(samples: SampleType) -> &'static str {
    match samples {
        SampleType::U8 => "8-bit",
        SampleType::U16 => "16-bit",
        SampleType::F16 => "half float",
        SampleType::F32 => "float",
    }
}
