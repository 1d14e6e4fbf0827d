//! One tile: its sums over all displacements, and what becomes of them.

use std::ops::Range;

use super::distance::{Comparison, Distances, Exact};
use super::frame::Frame;
use super::grid::{Grid, Tile, lanes, sweeps};
use super::samples::{Block, Mirrored, by_columns};
use super::share::Shares;
use super::sums::{Places, Rows, Sums, add_samples, add_weights};
use super::weight::Weighing;
use crate::device::cpu::simd::Simd;
use crate::nlm::{Center, Plan};
use crate::{Control, Result};

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) here: Blocks,
    pub(super) there: Blocks,
    pub(super) work: Work,
}

/// Buffers for sums.
#[derive(Default)]
pub(super) struct Work {
    distances: Distances,
    own: Shares,
    other: Shares,
    inverse: Block,
    share: Block,
    ones: Vec<f32>,
    lines: Vec<f32>,
    pub(super) sums: Sums,
}

/// The samples of one frame in a tile.
#[derive(Default)]
pub(super) struct Blocks {
    planes: Vec<Block>,
    guide: Vec<Block>,
}

impl Blocks {
    /// What is compared.
    fn compared(&self) -> &[Block] {
        if self.guide.is_empty() { &self.planes } else { &self.guide }
    }
}

/// Which displacements are looked at, and whom their weights serve.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Pairing {
    /// Half of the displacements within a frame; each weight serves both pixels.
    Within,
    /// All displacements between two frames; each weight serves both pixels.
    Both,
    /// All displacements between two frames; each weight serves the reference.
    One,
}

impl Pairing {
    /// The displacements as (rows, first column, count).
    fn sweeps(self, radius: usize) -> impl Iterator<Item = (isize, isize, usize)> {
        let a = radius as isize;
        let rows = if self == Self::Within { 0..=a } else { -a..=a };
        rows.flat_map(move |dy| {
            let first = if self == Self::Within && dy == 0 { 1 } else { -a };
            sweeps((a - first + 1) as usize).map(move |(i, n)| (dy, first + i as isize, n))
        })
    }

    /// Of `n` rows: those of references that serve, or are served by, a pixel of the tile.
    fn references(self, n: usize, dy: isize) -> Range<isize> {
        let n = n as isize;
        if self == Self::One { 0..n } else { 0.min(-dy)..n.max(n - dy) }
    }
}

/// A tile of a plan.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) plan: &'a Plan,
    pub(super) grid: &'a Grid,
    pub(super) tile: Tile,
    pub(super) control: &'a Control,
}

/// Quantities: the sum of the weights, their maximum, and then the planes.
const TOTAL: usize = 0;
const BEST: usize = 1;
const PLANES: usize = 2;

impl Job<'_> {
    /// Prepares the sums: of weights, and unless whole patches are averaged of samples.
    pub(super) fn start(&self, work: &mut Work) {
        let planes = if self.plan.patchwise { 0 } else { self.plan.channels };
        work.sums.shape(self.grid, PLANES + planes, self.tile.rows);
    }

    /// Takes the samples of a frame.
    pub(super) fn load<S: Simd>(&self, blocks: &mut Blocks, frame: &Frame) {
        let load = |blocks: &mut Vec<Block>, planes: &[Mirrored]| {
            blocks.resize_with(planes.len(), Block::default);
            for (block, plane) in blocks.iter_mut().zip(planes) {
                block.load::<S>(self.grid, self.tile, plane);
            }
        };
        load(&mut blocks.planes, &frame.planes);
        load(&mut blocks.guide, &frame.guide);
    }

    /// Adds up all displacements between two frames, in the sums of `frames`: the references' and the others'.
    pub(super) fn compare<S: Simd>(
        &self,
        work: &mut Work,
        pairing: Pairing,
        here: &Blocks,
        there: &Blocks,
        frames: (usize, usize),
        exact: Exact,
    ) -> Result<()> {
        let plan = self.plan;
        let rows = self.tile.rows as isize;
        for (dy, dx, k) in pairing.sweeps(plan.search_radius) {
            self.control.check()?;
            let of = self.comparison(here, there, (dy, dx, k), exact);
            let count = self.grid.columns;
            let ys = pairing.references(self.tile.rows, dy);
            work.distances.start::<S>(&of, ys.clone());
            for y in ys {
                let weights = work.distances.row::<S>(&of, y);
                let sums = &mut work.sums;
                let own = (0..rows).contains(&y);
                let other = pairing != Pairing::One && (0..rows).contains(&(y + dy));
                let places = |sums: &Sums, quantity| Places {
                    own: own.then(|| sums.at(frames.0, quantity, y, 0)),
                    other: other.then(|| sums.at(frames.1, quantity, y + dy, dx)),
                };
                let maxima = if plan.center == Center::Max { sums.step() } else { 0 };
                let at = places(sums, TOTAL);
                add_weights::<S>(sums.data_mut(), at, maxima, weights, count);
                if plan.patchwise {
                    continue;
                }
                for c in 0..plan.channels {
                    let at = places(sums, PLANES + c);
                    let a = here.planes[c].row(y, 0, count);
                    let b = there.planes[c].row(y + dy, dx, count + k - 1);
                    add_samples::<S>(sums.data_mut(), at, weights, weights, a, b);
                }
            }
        }
        Ok(())
    }

    /// What a sweep compares.
    fn comparison<'b>(
        &self,
        here: &'b Blocks,
        there: &'b Blocks,
        (dy, dx, displacements): (isize, isize, usize),
        exact: Exact,
    ) -> Comparison<'b> {
        Comparison {
            here: here.compared(),
            there: there.compared(),
            dy,
            dx,
            displacements,
            x: 0..self.grid.columns as isize,
            radius: self.plan.patch_radius,
            exact,
            weighing: Weighing::new(self.plan),
        }
    }

    /// Counts the pixel itself and divides; the planes of the result by rows.
    pub(super) fn finish<S: Simd>(&self, work: &mut Work, frame: &Frame) -> Vec<f32> {
        let size = self.tile.columns * self.tile.rows;
        let mut out = vec![0.0; self.plan.channels * size];
        let (mut total, mut own) = (Vec::new(), Vec::new());
        for y in 0..self.tile.rows {
            self.totals::<S>(work, y, &mut total, &mut own);
            for (c, plane) in out.chunks_exact_mut(size).enumerate() {
                let row = &mut plane[y * self.tile.columns..][..self.tile.columns];
                self.collect::<S>(work, PLANES + c, y, row, |a, b| a + b);
                let samples = &frame.planes[c].row(self.tile.y + y)[self.tile.x..];
                for (i, sum) in row.iter_mut().enumerate() {
                    *sum = (*sum + own[i] * samples[i]) / total[i];
                }
            }
        }
        out
    }

    /// Counts the pixel itself; the reciprocal totals, and the share of the pixel itself, by rows.
    pub(super) fn finish_totals<S: Simd>(&self, work: &mut Work) -> Vec<f32> {
        let (mut total, mut own) = (Vec::new(), Vec::new());
        let (mut inverse, mut share) = (Vec::new(), Vec::new());
        for y in 0..self.tile.rows {
            self.totals::<S>(work, y, &mut total, &mut own);
            inverse.extend(total.iter().map(|t| 1.0 / t));
            share.extend(own.iter().zip(&total).map(|(own, t)| own / t));
        }
        inverse.append(&mut share);
        inverse
    }

    /// The weights of a row with that of the pixel itself, and that one alone.
    fn totals<S: Simd>(&self, work: &mut Work, y: usize, total: &mut Vec<f32>, own: &mut Vec<f32>) {
        total.resize(self.tile.columns, 0.0);
        own.resize(self.tile.columns, 0.0);
        self.collect::<S>(work, TOTAL, y, total, |a, b| a + b);
        match self.plan.center {
            Center::One => own.fill(1.0),
            Center::Max => {
                self.collect::<S>(work, BEST, y, own, f32::max);
                own.iter_mut().for_each(|own| *own = own.max(Center::LEAST));
            }
        }
        total.iter_mut().zip(own).for_each(|(total, own)| *total += *own);
    }

    /// A row of a quantity: what all strips that reach a pixel have for it.
    fn collect<S: Simd>(
        &self,
        work: &mut Work,
        quantity: usize,
        y: usize,
        row: &mut [f32],
        join: impl Fn(f32, f32) -> f32,
    ) {
        let (columns, margin) = (self.grid.columns, self.grid.margin);
        let step = by_columns::<S>(&mut work.lines, work.sums.row(quantity, y), columns + 2 * margin);
        row.fill(0.0);
        for (k, line) in work.lines.chunks_exact(step).enumerate() {
            // Where the line begins in the tile: strips and sums both begin `margin` columns early.
            let begin = (k * columns) as isize - 2 * margin as isize;
            let skip = (-begin).clamp(0, step as isize) as usize;
            let at = (begin.max(0) as usize).min(row.len());
            let line = &line[skip..(columns + 2 * margin).max(skip)];
            row[at..].iter_mut().zip(line).for_each(|(sum, &v)| *sum = join(*sum, v));
        }
    }

    /// Prepares the second sweep of whole patches: `totals` are reciprocal totals and shares of the pixels themselves.
    pub(super) fn start_shares<S: Simd>(&self, work: &mut Work, here: &Blocks, totals: &[Mirrored; 2]) {
        work.sums.shape(self.grid, self.plan.channels, self.tile.rows);
        work.inverse.load::<S>(self.grid, self.tile, &totals[0]);
        work.share.load::<S>(self.grid, self.tile, &totals[1]);
        // Displacement 0, whose share is known already.
        let (n, columns, b) =
            (2 * self.plan.patch_radius + 1, self.grid.columns, self.plan.patch_radius as isize);
        let rows = self.tile.rows as isize;
        work.own.start::<S>(1, n, columns);
        work.ones.clear();
        work.ones.resize((columns + n) * lanes::<S>(), 1.0);
        for center in -b..rows + b {
            let shares = Rows {
                data: work.share.row(center, -b - 1, columns + n),
                step: (columns + n) * lanes::<S>(),
                displacements: 1,
            };
            work.own.push::<S>(n, shares, &work.ones, 0);
            let y = center - b;
            if y < 0 {
                continue;
            }
            let shares = work.own.rows::<S>(1, n, columns);
            for c in 0..self.plan.channels {
                let at = Places { own: Some(work.sums.at(0, c, y, 0)), other: None };
                let row = here.planes[c].row(y, 0, columns);
                add_samples::<S>(work.sums.data_mut(), at, shares, shares, row, row);
            }
        }
    }

    /// Adds the shares of all displacements between two frames; symmetric only within a frame.
    pub(super) fn share<S: Simd>(
        &self,
        work: &mut Work,
        pairing: Pairing,
        here: &Blocks,
        there: &Blocks,
        exact: Exact,
    ) -> Result<()> {
        let (n, b) = (2 * self.plan.patch_radius + 1, self.plan.patch_radius as isize);
        let rows = self.tile.rows as isize;
        let symmetric = pairing != Pairing::One;
        for (dy, dx, k) in pairing.sweeps(self.plan.search_radius) {
            self.control.check()?;
            let mut of = self.comparison(here, there, (dy, dx, k), exact);
            // Centres around, and sums over columns are seeded one column before the first.
            of.x = -b - 1..of.x.end + b;
            let (count, wide) = (self.grid.columns, self.grid.columns + n);
            let ys = pairing.references(self.tile.rows, dy);
            work.distances.start::<S>(&of, ys.start - b..ys.end + b);
            work.own.start::<S>(k, n, count);
            work.other.start::<S>(k, n, count);
            for center in ys.start - b..ys.end + b {
                let weights = work.distances.row::<S>(&of, center);
                work.own.push::<S>(n, weights, work.inverse.row(center, of.x.start, wide), 0);
                if symmetric {
                    let inverse = work.inverse.row(center + dy, of.x.start + dx, wide + k - 1);
                    work.other.push::<S>(n, weights, inverse, lanes::<S>());
                }
                let y = center - b;
                if y < ys.start {
                    continue;
                }
                let own = (0..rows).contains(&y);
                let other = symmetric && (0..rows).contains(&(y + dy));
                let shares = work.own.rows::<S>(k, n, count);
                let others = if other { work.other.rows::<S>(k, n, count) } else { shares };
                for c in 0..self.plan.channels {
                    let at = Places {
                        own: own.then(|| work.sums.at(0, c, y, 0)),
                        other: other.then(|| work.sums.at(0, c, y + dy, dx)),
                    };
                    let a = here.planes[c].row(y, 0, count);
                    let b = there.planes[c].row(y + dy, dx, count + k - 1);
                    add_samples::<S>(work.sums.data_mut(), at, shares, others, a, b);
                }
            }
        }
        Ok(())
    }

    /// The mean over the patches that cover a pixel, by rows.
    pub(super) fn finish_shares<S: Simd>(&self, work: &mut Work) -> Vec<f32> {
        let size = self.tile.columns * self.tile.rows;
        let mut out = vec![0.0; self.plan.channels * size];
        for (c, plane) in out.chunks_exact_mut(size).enumerate() {
            for (y, row) in plane.chunks_exact_mut(self.tile.columns).enumerate() {
                self.collect::<S>(work, c, y, row, |a, b| a + b);
            }
        }
        let side = (2 * self.plan.patch_radius + 1) as f32;
        out.iter_mut().for_each(|v| *v /= side * side);
        out
    }
}
