//! Planes with a margin of edge samples, so that kernels need no code for borders.

use std::sync::Arc;

use rayon::prelude::*;

use crate::Plane;
use crate::device::{Samples, SamplesMut};

/// Lanes that kernels may write or read beyond the last column.
const LANES: usize = 8;

/// Memory of planes that are no longer in use: a video's next frame finds it in place.
pub(in crate::device) type Pool = crate::device::cpu::pool::Pool<Vec<f32>>;

/// The geometry of every plane of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::device) struct Layout {
    pub(in crate::device) width: usize,
    pub(in crate::device) height: usize,
    /// Columns and rows around the picture.
    pub(in crate::device) margin: usize,
    /// Samples from row to row.
    pub(in crate::device) stride: usize,
}

impl Layout {
    pub(in crate::device) fn new(width: usize, height: usize, margin: usize) -> Self {
        Self { width, height, margin, stride: width.next_multiple_of(LANES) + 2 * margin }
    }

    fn length(&self) -> usize {
        // Lanes beyond the last column of the last row.
        self.stride * (self.height + 2 * self.margin) + LANES
    }

    /// Where the pixel in row `y` and column `x` is.
    pub(in crate::device) fn index(&self, y: usize, x: usize) -> usize {
        (y + self.margin) * self.stride + self.margin + x
    }

    /// Samples from a pixel to another one.
    pub(in crate::device) fn offset(&self, dy: i32, dx: i32) -> isize {
        dy as isize * self.stride as isize + dx as isize
    }
}

/// A plane with its margin.
pub(in crate::device) struct Padded {
    pub(in crate::device) layout: Layout,
    data: Vec<f32>,
    memory: Arc<Pool>,
}

impl Drop for Padded {
    fn drop(&mut self) {
        self.memory.give(std::mem::take(&mut self.data));
    }
}

/// Some rows of several planes, to write into: for each plane, rows `stride` apart, margins included.
pub(in crate::device) struct Band<'a> {
    pub(in crate::device) first: usize,
    pub(in crate::device) rows: usize,
    pub(in crate::device) planes: Vec<&'a mut [f32]>,
}

impl Padded {
    /// A plane with unspecified samples.
    pub(in crate::device) fn new(layout: Layout, memory: &Arc<Pool>) -> Self {
        let mut data = memory.take();
        data.resize(layout.length(), 0.0);
        Self { layout, data, memory: memory.clone() }
    }

    /// Another one like it, with unspecified samples.
    pub(super) fn another(&self) -> Self {
        Self::new(self.layout, &self.memory)
    }

    /// Samples less `offset`.
    pub(in crate::device) fn copy(
        samples: Samples<'_>,
        layout: Layout,
        offset: f32,
        memory: &Arc<Pool>,
    ) -> Self {
        fn convert<T: Copy + Into<f32>>(to: &mut [f32], from: &[T], offset: f32) {
            to.iter_mut().zip(from).for_each(|(to, &v)| *to = v.into() - offset);
        }
        let mut all = [Self::new(layout, memory)];
        each_band(&mut all, 32, |band| {
            for y in 0..band.rows {
                let row = &mut band.planes[0][y * layout.stride + layout.margin..][..layout.width];
                let at = (band.first + y) * layout.width;
                match samples.part(at..at + layout.width) {
                    Samples::U8(from) => convert(row, from, offset),
                    Samples::U16(from) => convert(row, from, offset),
                    Samples::F32(from) => convert(row, from, offset),
                }
            }
        });
        let [plane] = all;
        plane
    }

    /// Its samples plus `offset`; integers are rounded, and clipped to `white`.
    pub(in crate::device) fn store(&self, to: &mut SamplesMut<'_>, offset: f32, white: f32) {
        fn rows<'a, T: Send>(
            plane: &Padded,
            to: &'a mut [T],
            offset: f32,
            store: impl Fn(&'a mut [T], &[f32]) + Sync,
        ) {
            let rows = to.par_chunks_exact_mut(plane.layout.width).enumerate();
            rows.for_each_init(Vec::new, |row, (y, to)| {
                row.clear();
                row.extend(plane.row(y).iter().map(|v| v + offset));
                store(to, row);
            });
        }
        match to {
            SamplesMut::U8(to) => rows(self, to, offset, |to, row| SamplesMut::U8(to).store(row, 1.0, white)),
            SamplesMut::U16(to) => {
                rows(self, to, offset, |to, row| SamplesMut::U16(to).store(row, 1.0, white));
            }
            SamplesMut::F32(to) => rows(self, to, offset, |to, row| to.copy_from_slice(row)),
        }
    }

    pub(in crate::device) fn data(&self) -> &[f32] {
        &self.data
    }

    /// Row `y` without its margin.
    pub(in crate::device) fn row(&self, y: usize) -> &[f32] {
        &self.data[self.layout.index(y, 0)..][..self.layout.width]
    }

    /// Every sample, margins included, becomes `f` of those of two planes.
    pub(in crate::device) fn combine(&mut self, a: &Padded, b: &Padded, f: impl Fn(f32, f32) -> f32 + Sync) {
        let chunk = 64 * self.layout.stride;
        let inputs = a.data.par_chunks(chunk).zip(b.data.par_chunks(chunk));
        self.data.par_chunks_mut(chunk).zip(inputs).for_each(|(to, (a, b))| {
            for (to, (a, b)) in to.iter_mut().zip(a.iter().zip(b)) {
                *to = f(*a, *b);
            }
        });
    }

    /// Its samples without the margin.
    pub(in crate::device) fn copy_to(&self, to: &mut [f32]) {
        let rows = to.par_chunks_exact_mut(self.layout.width);
        rows.enumerate().for_each(|(y, row)| row.copy_from_slice(self.row(y)));
    }

    pub(in crate::device) fn to_plane(&self) -> Plane {
        let mut plane = Plane::zeros(self.layout.width, self.layout.height);
        let rows = plane.as_mut_slice().par_chunks_exact_mut(self.layout.width);
        rows.enumerate().for_each(|(y, row)| row.copy_from_slice(self.row(y)));
        plane
    }

    /// Fills the margin with the samples of the edge.
    fn close(&mut self) {
        let Layout { height, margin, stride, .. } = self.layout;
        let (top, bottom) = (margin * stride, (margin + height - 1) * stride);
        for y in 0..margin {
            self.data.copy_within(top..top + stride, y * stride);
            self.data.copy_within(bottom..bottom + stride, (margin + height + y) * stride);
        }
    }
}

/// Calls `work` with bands of the planes' rows, at once, then fills the margins. What a band holds does not depend on
/// how many threads there are.
pub(in crate::device) fn each_band(planes: &mut [Padded], rows: usize, work: impl Fn(&mut Band<'_>) + Sync) {
    let Some(layout) = planes.first().map(|p| p.layout) else { return };
    let Layout { width, height, margin, stride } = layout;
    let count = height.div_ceil(rows);
    let mut bands: Vec<Band<'_>> = (0..count)
        .map(|i| Band { first: i * rows, rows: rows.min(height - i * rows), planes: Vec::new() })
        .collect();
    for plane in planes.iter_mut() {
        let inside = &mut plane.data[margin * stride..][..height * stride];
        for (band, part) in bands.iter_mut().zip(inside.chunks_mut(rows * stride)) {
            band.planes.push(part);
        }
    }
    bands.into_par_iter().for_each(|mut band| {
        work(&mut band);
        for plane in &mut band.planes {
            for row in plane.chunks_exact_mut(stride) {
                let (first, last) = (row[margin], row[margin + width - 1]);
                row[..margin].fill(first);
                row[margin + width..].fill(last);
            }
        }
    });
    for plane in planes {
        plane.close();
    }
}
