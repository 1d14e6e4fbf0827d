//! One plane of samples, owned or borrowed.

use std::borrow::Cow;

use crate::{Error, Result};

/// An owned plane of `f32` samples, rows one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    width: usize,
    height: usize,
    data: Vec<f32>,
}

impl Plane {
    /// A plane from `width * height` samples in row order.
    pub fn from_vec(width: usize, height: usize, data: Vec<f32>) -> Result<Self> {
        if width == 0 || height == 0 || width.checked_mul(height) != Some(data.len()) {
            return Err(Error::Shape(format!("{} samples cannot be a {width} x {height} plane", data.len())));
        }
        Ok(Self { width, height, data })
    }

    /// A plane of zeros.
    ///
    /// # Panics
    /// If a side is zero: such a plane has no use.
    pub fn zeros(width: usize, height: usize) -> Self {
        assert!(width > 0 && height > 0, "a plane has at least one pixel");
        Self { width, height, data: vec![0.0; width * height] }
    }

    /// Width in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// All samples in row order.
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }

    /// All samples, to write into.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        &mut self.data
    }

    /// Gives the samples away.
    pub fn into_vec(self) -> Vec<f32> {
        self.data
    }

    /// Row `y`.
    pub fn row(&self, y: usize) -> &[f32] {
        &self.data[y * self.width..][..self.width]
    }

    /// Row `y`, to write into.
    pub fn row_mut(&mut self, y: usize) -> &mut [f32] {
        &mut self.data[y * self.width..][..self.width]
    }

    /// A borrowed view of the whole plane.
    pub fn view(&self) -> PlaneView<'_> {
        PlaneView { width: self.width, height: self.height, stride: self.width, data: &self.data }
    }
}

/// A borrowed plane: `height` rows of `width` samples, `stride` samples apart.
#[derive(Clone, Copy, Debug)]
pub struct PlaneView<'a> {
    width: usize,
    height: usize,
    stride: usize,
    data: &'a [f32],
}

impl<'a> PlaneView<'a> {
    /// A view of samples whose rows begin `stride` samples apart.
    pub fn new(width: usize, height: usize, stride: usize, data: &'a [f32]) -> Result<Self> {
        let need = (height.max(1) - 1).checked_mul(stride).and_then(|n| n.checked_add(width));
        if width == 0 || height == 0 || stride < width || need.is_none_or(|n| data.len() < n) {
            return Err(Error::Shape(format!(
                "{} samples cannot be a {width} x {height} plane with rows {stride} apart",
                data.len()
            )));
        }
        Ok(Self { width, height, stride, data })
    }

    /// Width in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Row `y`.
    pub fn row(&self, y: usize) -> &'a [f32] {
        &self.data[y * self.stride..][..self.width]
    }

    /// All rows from the top.
    pub fn rows(&self) -> impl Iterator<Item = &'a [f32]> + use<'a> {
        let view = *self;
        (0..view.height).map(move |y| view.row(y))
    }

    /// Some of the rows, without copying.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn band(&self, rows: std::ops::Range<usize>) -> Self {
        assert!(rows.start < rows.end && rows.end <= self.height, "rows {rows:?} of {}", self.height);
        Self { height: rows.len(), data: &self.data[rows.start * self.stride..], ..*self }
    }

    /// All samples in row order, copied only where there are gaps between the rows.
    pub fn contiguous(&self) -> Cow<'a, [f32]> {
        if self.stride == self.width {
            return Cow::Borrowed(&self.data[..self.width * self.height]);
        }
        Cow::Owned(self.to_plane().data)
    }

    /// Copies the samples into a plane of their own.
    pub fn to_plane(&self) -> Plane {
        Plane { width: self.width, height: self.height, data: self.rows().flatten().copied().collect() }
    }
}
