//! Decoded rows on their way into planes, one `f32` copy and no more.

use std::ops::Range;

use quell::{Frame, Plane};

use crate::{Error, Page, ReadOptions, Result, SampleType};

/// Planes that are being filled row by row.
///
/// Memory is reserved at once but touched only as rows arrive: a small file with a huge header fails at its
/// first missing row, before it costs anything.
pub(super) struct Canvas {
    width: usize,
    height: usize,
    planes: Vec<Vec<f32>>,
}

impl Canvas {
    /// Room for one (grey), two (grey, alpha), three (RGB) or four (RGB, alpha) channels.
    pub(super) fn new(
        width: impl Into<u64>,
        height: impl Into<u64>,
        channels: usize,
        options: &ReadOptions,
    ) -> Result<Self> {
        let (width, height) = (width.into(), height.into());
        check_size(width, height, options)?;
        let memory = || {
            let bytes = width.saturating_mul(height).saturating_mul(4 * channels as u64);
            quell::Error::Memory { width: width as usize, height: height as usize, bytes }
        };
        let n = width.checked_mul(height).and_then(|n| usize::try_from(n).ok()).ok_or_else(memory)?;
        let mut planes = Vec::new();
        for _ in 0..channels {
            let mut plane = Vec::new();
            plane.try_reserve_exact(n).map_err(|_| memory())?;
            planes.push(plane);
        }
        // Both fit, as their product does.
        Ok(Self { width: width as usize, height: height as usize, planes })
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    pub(super) fn channels(&self) -> usize {
        self.planes.len()
    }

    /// Stores a piece of row `y` from column `x` on; the samples are interleaved over `planes`.
    /// What lies outside the picture is cut off.
    pub(super) fn put<T: Copy>(
        &mut self,
        planes: Range<usize>,
        x: usize,
        y: usize,
        row: &[T],
        value: impl Fn(T) -> f32,
    ) {
        let step = planes.len();
        let n = (row.len() / step).min(self.width.saturating_sub(x));
        if n == 0 || y >= self.height {
            return;
        }
        let start = y * self.width + x;
        for (c, plane) in self.planes[planes].iter_mut().enumerate() {
            if plane.len() < start + n {
                plane.resize(start + n, 0.0);
            }
            let out = &mut plane[start..start + n];
            if step == 1 {
                out.iter_mut().zip(row).for_each(|(o, &s)| *o = value(s));
            } else {
                out.iter_mut().zip(row[c..].iter().step_by(step)).for_each(|(o, &s)| *o = value(s));
            }
        }
    }

    /// Stores a piece of row `y` of one plane: every `step`-th sample of `row`.
    pub(super) fn put_plane(&mut self, plane: usize, x: usize, y: usize, row: &[f32], step: usize) {
        let n = row.len().div_ceil(step).min(self.width.saturating_sub(x));
        if n == 0 || y >= self.height {
            return;
        }
        let (start, plane) = (y * self.width + x, &mut self.planes[plane]);
        if plane.len() < start + n {
            plane.resize(start + n, 0.0);
        }
        plane[start..start + n].iter_mut().zip(row.iter().step_by(step)).for_each(|(o, s)| *o = *s);
    }

    /// Stores the whole row `y`, all channels interleaved.
    pub(super) fn put_row<T: Copy>(&mut self, y: usize, row: &[T], value: impl Fn(T) -> f32) {
        self.put(0..self.planes.len(), 0, y, row, value);
    }

    /// The finished page; `white` is the file's white level, where it has an unusual one.
    pub(super) fn into_page(
        self,
        samples: SampleType,
        white: Option<f32>,
        options: &ReadOptions,
    ) -> Result<Page> {
        let (width, height) = (self.width, self.height);
        if self.planes.iter().any(|p| p.len() != width * height) {
            return Err(Error::Decode("the file ends before the picture is complete".into()));
        }
        let mut planes = self
            .planes
            .into_iter()
            .map(|p| Plane::from_vec(width, height, p))
            .collect::<Result<Vec<_>, _>>()?;
        let alpha = if planes.len().is_multiple_of(2) { planes.pop() } else { None };
        let white = options.white.or(white).unwrap_or(samples.white());
        Ok(Page { frame: Frame::new(planes, white)?, alpha, samples })
    }
}

/// Refuses sizes from headers before anything is allocated for them.
pub(super) fn check_size(width: u64, height: u64, options: &ReadOptions) -> Result<()> {
    if width == 0 || height == 0 {
        return Err(Error::Decode(format!("the header says {width} x {height} pixels")));
    }
    if width.checked_mul(height).is_none_or(|n| n > options.max_pixels) {
        return Err(Error::TooLarge { width, height, limit: options.max_pixels });
    }
    Ok(())
}

/// A buffer of zero bytes, or an error where there is no memory for it.
pub(super) fn buffer(len: usize) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(len).map_err(|_| Error::Memory { bytes: len as u64 })?;
    buffer.resize(len, 0);
    Ok(buffer)
}

/// An empty buffer with room for `len` samples, or an error where there is no memory for it.
pub(super) fn floats(len: usize) -> Result<Vec<f32>> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(len).map_err(|_| Error::Memory { bytes: 4 * len as u64 })?;
    Ok(buffer)
}
