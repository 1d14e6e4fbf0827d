//! Patches of any size: the half-transformed domain and the way from there to coefficients and back.

use crate::bm3d::PassPlan;
use crate::device::cpu::group::unit::{Rect, Source};
use crate::device::cpu::simd::inlined;
use crate::transform::Matrix;

/// Geometry of the half-transformed buffers: one cell, a row of `P` floats, per pixel.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    patch: usize,
    pub(super) width: usize,
    pub(super) height: usize,
    stride: usize,
}

impl Layout {
    pub(super) fn new(region: &Rect, patch: usize) -> Self {
        // An odd stride, so that the rows of a patch do not share cache sets.
        Self { patch, width: region.width(), height: region.height(), stride: region.width() | 1 }
    }

    pub(super) fn cells(self) -> usize {
        self.stride * self.height
    }

    /// How many patches start in a row.
    fn starts(self) -> usize {
        self.width - self.patch + 1
    }
}

/// A matrix in blocks of four rows, so that four results share every load of their input.
pub(super) struct Blocked {
    size: usize,
    /// Four rows' elements of one column after the other, block by block.
    columns: Vec<[f32; 4]>,
}

impl Blocked {
    pub(super) fn new(m: &Matrix) -> Self {
        let n = m.size();
        let element = |r: usize, c: usize| if r < n { m.at(r, c) as f32 } else { 0.0 };
        let blocks = (0..n).step_by(4);
        let columns = blocks.flat_map(|r| (0..n).map(move |c| (r, c)));
        let four = |(r, c)| std::array::from_fn(|i| element(r + i, c));
        Self { size: n, columns: columns.map(four).collect() }
    }

    /// The product with the rows that `get` delivers, handed to `put` row by row.
    #[inline(always)]
    pub(super) fn apply<const P: usize>(
        &self,
        get: impl Fn(usize) -> [f32; P],
        mut put: impl FnMut(usize, &[f32; P]),
    ) {
        for (block, columns) in self.columns.chunks_exact(self.size).enumerate() {
            let mut sums = [[0.0; P]; 4];
            for (c, factors) in columns.iter().enumerate() {
                let row = get(c);
                for (sum, f) in sums.iter_mut().zip(factors) {
                    for l in 0..P {
                        sum[l] += f * row[l];
                    }
                }
            }
            for (i, sum) in sums.iter().enumerate().take(self.size - 4 * block) {
                put(4 * block + i, sum);
            }
        }
    }
}

/// Columns of a matrix as rows of `P` floats, for products with a row vector.
pub(super) fn columns<const P: usize>(m: &Matrix) -> Vec<[f32; P]> {
    let element = |r: usize, c: usize| if r < m.size() { m.at(r, c) as f32 } else { 0.0 };
    (0..m.size()).map(|c| std::array::from_fn(|r| element(r, c))).collect()
}

/// The product of a matrix, given by its columns, with a vector.
#[inline(always)]
pub(super) fn times<'a, const P: usize>(
    columns: &[[f32; P]],
    vector: impl Iterator<Item = &'a f32>,
) -> [f32; P] {
    let mut sum = [0.0; P];
    for (column, v) in columns.iter().zip(vector) {
        for l in 0..P {
            sum[l] += column[l] * v;
        }
    }
    sum
}

/// Transform of the patches of a pass.
pub(super) struct PatchTransform<const P: usize> {
    forward: Blocked,
    inverse: Blocked,
    /// Along the rows: the transform, and the inverse with the window of the aggregation.
    forward_columns: Vec<[f32; P]>,
    inverse_columns: Vec<[f32; P]>,
}

impl<const P: usize> PatchTransform<P> {
    pub(super) fn new(pass: &PassPlan) -> Self {
        let forward = pass.transform.forward(pass.patch);
        let inverse = pass.transform.inverse(pass.patch);
        let windowed = Matrix::from_fn(pass.patch, |r, c| f64::from(pass.kaiser[r]) * inverse.at(r, c));
        Self {
            forward: Blocked::new(&forward),
            inverse: Blocked::new(&windowed),
            forward_columns: columns(&forward),
            inverse_columns: columns(&windowed),
        }
    }

    /// The horizontal transform at every pixel of a region where a patch can start.
    #[inline(always)]
    pub(super) fn region<'a>(
        &self,
        plane: &Source<'_>,
        region: &Rect,
        layout: Layout,
        out: &'a mut Vec<f32>,
    ) -> &'a [[f32; P]] {
        // Other cells are never read, so what is left over from another unit does no harm.
        out.resize(layout.cells() * P, 0.0);
        let cells = out.as_chunks_mut().0;
        for (y, cells) in region.y.clone().zip(cells.chunks_exact_mut(layout.stride)) {
            let samples = plane.row(y, region.x.clone());
            for (cell, samples) in cells.iter_mut().zip(samples.windows(layout.patch)) {
                *cell = times(&self.forward_columns, samples.iter());
            }
        }
        cells
    }

    /// Coefficients of the patches of a group.
    #[inline(always)]
    pub(super) fn load(
        &self,
        cells: &[[f32; P]],
        layout: Layout,
        at: &[(usize, usize)],
        stack: &mut [[f32; P]],
    ) {
        for (&(x, y), patch) in at.iter().zip(stack.chunks_exact_mut(layout.patch)) {
            let cells = &cells[y * layout.stride + x..];
            self.forward.apply(
                #[inline(always)]
                |i| cells[i * layout.stride],
                #[inline(always)]
                |u, row| patch[u] = *row,
            );
        }
    }

    /// Adds the patches of a group to the sums, with the window along the columns.
    #[inline(always)]
    pub(super) fn add(
        &self,
        stack: &[[f32; P]],
        weight: f32,
        layout: Layout,
        at: &[(usize, usize)],
        sums: &mut [[f32; P]],
    ) {
        for (&(x, y), patch) in at.iter().zip(stack.chunks_exact(layout.patch)) {
            let sums = &mut sums[y * layout.stride + x..];
            self.inverse.apply(
                #[inline(always)]
                |u| patch[u],
                #[inline(always)]
                |i, row| {
                    let sum = &mut sums[i * layout.stride];
                    for l in 0..P {
                        sum[l] += weight * row[l];
                    }
                },
            );
        }
    }

    /// The horizontal inverse of the sums, with the window along the rows.
    #[inline(always)]
    pub(super) fn back(&self, sums: &[[f32; P]], layout: Layout, line: &mut Vec<f32>, numerator: &mut [f32]) {
        let rows = sums.chunks_exact(layout.stride).zip(numerator.chunks_exact_mut(layout.width));
        for (cells, out) in rows {
            // Room for the lanes beyond the last patch, which add zeros.
            line.clear();
            line.resize(layout.width + P, 0.0);
            for (x, cell) in cells[..layout.starts()].iter().enumerate() {
                let samples = times(&self.inverse_columns, cell.iter());
                let line = &mut line[x..x + P];
                for l in 0..P {
                    line[l] += samples[l];
                }
            }
            out.copy_from_slice(&line[..layout.width]);
        }
    }
}

/// The denominator: the weights of the patches, each spread over its patch with the window.
#[inline(always)]
pub(super) fn convolve(
    weights: &[f32],
    layout: Layout,
    kaiser: &[f32],
    line: &mut Vec<f32>,
    denominator: &mut [f32],
) {
    let add = inlined(
        #[inline(always)]
        |to: &mut [f32], from: &[f32], k: f32| {
            for (to, from) in to.iter_mut().zip(from) {
                *to += k * from;
            }
        },
    );
    for y in 0..=layout.height - layout.patch {
        let row = &weights[y * layout.width..][..layout.starts()];
        line.clear();
        line.resize(layout.width, 0.0);
        for (x, &k) in kaiser.iter().enumerate() {
            add(&mut line[x..], row, k);
        }
        for (out, &k) in denominator[y * layout.width..].chunks_exact_mut(layout.width).zip(kaiser) {
            add(out, line, k);
        }
    }
}
