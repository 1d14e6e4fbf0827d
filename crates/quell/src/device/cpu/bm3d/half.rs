//! The half-transformed domain: every row segment of eight pixels as its eight horizontal coefficients.
//!
//! The transform of a region costs once per pixel what every patch would pay again, and its inverse likewise.

#![expect(clippy::needless_range_loop, reason = "unrolled kernels read better with the index of the paper")]

use super::patch8::Points8;
use crate::device::cpu::group::unit::{Source, Unit};
use crate::device::cpu::simd::Simd;

/// A vector of eight floats in memory.
pub(super) type Row = [f32; 8];

/// Geometry of the half-transformed buffers, in rows of eight floats.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) stride: usize,
}
/// The horizontal transform at every pixel of a region.
#[inline(never)]
pub(super) fn transform_region<S: Simd, T: Points8>(
    plane: &Source<'_>,
    unit: &Unit,
    layout: Layout,
    line: &mut Vec<f32>,
    out: &mut Vec<Row>,
) {
    S::vectorize(
        #[inline(always)]
        || transform_region_inner::<S, T>(plane, unit, layout, line, out),
    );
}

#[inline(always)]
fn transform_region_inner<S: Simd, T: Points8>(
    plane: &Source<'_>,
    unit: &Unit,
    layout: Layout,
    line: &mut Vec<f32>,
    out: &mut Vec<Row>,
) {
    line.clear();
    line.resize(layout.width + 24, 0.0);
    // Only ever read where a patch fits, so what is left over from another unit does no harm.
    if out.len() < layout.stride * layout.height {
        out.resize(layout.stride * layout.height, [0.0; 8]);
    }
    for (y, row) in unit.region.y.clone().zip(out.chunks_exact_mut(layout.stride)) {
        line[..layout.width].copy_from_slice(plane.row(y, unit.region.x.clone()));
        for x in (0..layout.width).step_by(8) {
            let samples = &line[x..x + 16];
            let cells = &mut row[x..x + 8];
            // SAFETY: `samples` holds the 15 floats that are read, `cells` the 8 rows that are written.
            unsafe {
                let mut v = S::load8(samples.as_ptr(), 1);
                T::forward::<S>(&mut v);
                S::transpose(&mut v);
                for (cell, v) in cells.iter_mut().zip(v) {
                    S::store(cell.as_mut_ptr(), v);
                }
            }
        }
    }
}

/// The horizontal inverse of the sums, windowed and overlapped.
#[inline(never)]
pub(super) fn back<S: Simd, T: Points8>(
    sums: &[Row],
    layout: Layout,
    kaiser: &Row,
    overlap: &mut Vec<f32>,
    out: &mut [f32],
) {
    S::vectorize(
        #[inline(always)]
        || back_inner::<S, T>(sums, layout, kaiser, overlap, out),
    );
}

#[inline(always)]
fn back_inner<S: Simd, T: Points8>(
    sums: &[Row],
    layout: Layout,
    kaiser: &Row,
    overlap: &mut Vec<f32>,
    out: &mut [f32],
) {
    // Eight lines, one per column of a patch, each with room for seven pixels on the left.
    let stride = layout.width.next_multiple_of(8) + 16;
    overlap.clear();
    overlap.resize(8 * stride, 0.0);
    let mut line = vec![0.0; layout.width.next_multiple_of(8)];
    for (cells, out) in sums.chunks_exact(layout.stride).zip(out.chunks_exact_mut(layout.width)) {
        for x in (0..layout.width).step_by(8) {
            let cells = &cells[x..x + 8];
            assert!(overlap.len() >= 7 * stride + 8 + x + 8);
            // SAFETY: `cells` has 8 rows; the assertion covers the last store.
            unsafe {
                let mut v = S::load8(cells.as_ptr().cast(), 8);
                S::transpose(&mut v);
                T::inverse::<S>(&mut v);
                for (j, v) in v.into_iter().enumerate() {
                    S::store(overlap.as_mut_ptr().add(j * stride + 8 + x), S::mul(v, S::splat(kaiser[j])));
                }
            }
        }
        for x in (0..layout.width).step_by(8) {
            // SAFETY: the lines hold `width` rounded up to 8, plus 8 on the left; `line` likewise.
            unsafe {
                let p = overlap.as_ptr().add(8 + x);
                let mut s = S::load(p);
                for j in 1..8 {
                    s = S::add(s, S::load(p.add(j * stride - j)));
                }
                S::store(line.as_mut_ptr().add(x), s);
            }
        }
        out.copy_from_slice(&line[..layout.width]);
    }
}

/// The separable convolution of the patch weights with the window: the denominator of every pixel.
#[inline(never)]
pub(super) fn convolve<S: Simd>(
    weights: &[f32],
    width: usize,
    kaiser: &Row,
    line: &mut Vec<f32>,
    out: &mut [f32],
) {
    S::vectorize(
        #[inline(always)]
        || convolve_inner::<S>(weights, width, kaiser, line, out),
    );
}

#[inline(always)]
fn convolve_inner<S: Simd>(
    weights: &[f32],
    width: usize,
    kaiser: &Row,
    line: &mut Vec<f32>,
    out: &mut [f32],
) {
    let padded = width.next_multiple_of(8);
    let height = out.len() / width;
    // Eight horizontally convolved rows in a ring, then a line of weights with seven zeros before it.
    line.clear();
    line.resize(8 * padded + 8 + padded, 0.0);
    let (ring, input) = line.split_at_mut(8 * padded);
    let mut row = vec![0.0; padded];
    for y in 0..height {
        input[8..8 + width].copy_from_slice(&weights[y * width..][..width]);
        let rows = (y + 1).min(8);
        for x in (0..padded).step_by(8) {
            // SAFETY: `input` holds 8 + `padded` floats, each row of the ring and `row` hold `padded`.
            unsafe {
                let mut sum = S::mul(S::load(input.as_ptr().add(8 + x)), S::splat(kaiser[0]));
                for j in 1..8 {
                    sum = S::fma(S::load(input.as_ptr().add(8 + x - j)), S::splat(kaiser[j]), sum);
                }
                S::store(ring.as_mut_ptr().add(y % 8 * padded + x), sum);
                let mut total = S::mul(sum, S::splat(kaiser[0]));
                for j in 1..rows {
                    let above = S::load(ring.as_ptr().add((y - j) % 8 * padded + x));
                    total = S::fma(above, S::splat(kaiser[j]), total);
                }
                S::store(row.as_mut_ptr().add(x), total);
            }
        }
        out[y * width..][..width].copy_from_slice(&row[..width]);
    }
}
