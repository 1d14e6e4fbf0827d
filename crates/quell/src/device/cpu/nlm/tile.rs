//! One tile: its sums over all displacements, and what becomes of them.

use std::ops::Range;

use super::distance::{Comparison, Distances};
use super::frame::Frame;
use super::grid::{Grid, LANES, Tile, sweeps};
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

    /// Of `n` rows or columns, and displacements from `least` to `most`: where references lie that serve, or are served by,
    /// a pixel of the tile.
    fn references(self, n: usize, least: isize, most: isize) -> Range<isize> {
        let n = n as isize;
        if self == Self::One { 0..n } else { 0.min(-most)..n.max(n - least) }
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
        exact: bool,
    ) -> Result<()> {
        let plan = self.plan;
        let rows = self.tile.rows as isize;
        for (dy, dx, k) in pairing.sweeps(plan.search_radius) {
            self.control.check()?;
            let of = self.comparison(pairing, here, there, (dy, dx, k), 0, exact);
            let (x, count) = (of.x.start, (of.x.end - of.x.start) as usize);
            let ys = pairing.references(self.tile.rows, dy, dy);
            work.distances.start::<S>(&of, ys.start);
            for y in ys {
                let weights = work.distances.row::<S>(&of, y);
                let sums = &mut work.sums;
                let own = (0..rows).contains(&y);
                let other = pairing != Pairing::One && (0..rows).contains(&(y + dy));
                let places = |sums: &Sums, quantity| Places {
                    own: own.then(|| sums.at(frames.0, quantity, y, x)),
                    other: other.then(|| sums.at(frames.1, quantity, y + dy, x + dx)),
                };
                let maxima = if plan.center == Center::Max { sums.step() } else { 0 };
                let at = places(sums, TOTAL);
                add_weights::<S>(sums.data_mut(), at, maxima, weights, count);
                if plan.patchwise {
                    continue;
                }
                for c in 0..plan.channels {
                    let at = places(sums, PLANES + c);
                    let a = here.planes[c].row(y, x, count);
                    let b = there.planes[c].row(y + dy, x + dx, count + k - 1);
                    add_samples::<S>(sums.data_mut(), at, weights, weights, a, b);
                }
            }
        }
        Ok(())
    }

    /// What a sweep compares, `more` columns further on both sides than what it serves.
    fn comparison<'b>(
        &self,
        pairing: Pairing,
        here: &'b Blocks,
        there: &'b Blocks,
        (dy, dx, displacements): (isize, isize, usize),
        more: isize,
        exact: bool,
    ) -> Comparison<'b> {
        let x = pairing.references(self.grid.columns, dx, dx + displacements as isize - 1);
        Comparison {
            here: here.compared(),
            there: there.compared(),
            dy,
            dx,
            displacements,
            x: x.start - more..x.end + more,
            radius: self.plan.patch_radius,
            exact,
            weighing: Weighing::new(self.plan),
        }
    }

    /// Counts the pixel itself and divides; the planes of the result by rows.
    pub(super) fn finish<S: Simd>(&self, work: &mut Work, here: &Blocks) -> Vec<f32> {
        for y in 0..self.tile.rows as isize {
            for c in 0..self.plan.channels {
                let own = here.planes[c].row(y, 0, self.grid.columns);
                self.average::<S>(&mut work.sums, y, c, own);
            }
        }
        self.collect::<S>(&work.sums, PLANES..PLANES + self.plan.channels)
    }

    fn average<S: Simd>(&self, sums: &mut Sums, y: isize, plane: usize, own: &[f32]) {
        let (total, best) = (sums.at(0, TOTAL, y, 0), sums.at(0, BEST, y, 0));
        let at = sums.at(0, PLANES + plane, y, 0);
        let (len, max) = (own.len(), self.plan.center == Center::Max);
        let data = sums.data_mut();
        assert!(total.max(best).max(at) + len <= data.len());
        S::vectorize(
            #[inline(always)]
            move || {
                for i in (0..len).step_by(LANES) {
                    // SAFETY: the lengths were asserted.
                    unsafe {
                        let p = data.as_mut_ptr().add(i);
                        let weight = own_weight::<S>(max, S::load(p.add(best)));
                        let sum = S::fma(weight, S::load(own.as_ptr().add(i)), S::load(p.add(at)));
                        S::store(p.add(at), S::div(sum, S::add(S::load(p.add(total)), weight)));
                    }
                }
            },
        );
    }

    /// Counts the pixel itself; the reciprocal totals, and the share of the pixel itself, by rows.
    pub(super) fn finish_totals<S: Simd>(&self, work: &mut Work) -> Vec<f32> {
        let (len, max) = (self.grid.columns * LANES, self.plan.center == Center::Max);
        for y in 0..self.tile.rows as isize {
            let (total, best) = (work.sums.at(0, TOTAL, y, 0), work.sums.at(0, BEST, y, 0));
            let data = work.sums.data_mut();
            assert!(total.max(best) + len <= data.len());
            S::vectorize(
                #[inline(always)]
                move || {
                    for i in (0..len).step_by(LANES) {
                        // SAFETY: the lengths were asserted.
                        unsafe {
                            let p = data.as_mut_ptr().add(i);
                            let weight = own_weight::<S>(max, S::load(p.add(best)));
                            let inverse = S::div(S::splat(1.0), S::add(S::load(p.add(total)), weight));
                            S::store(p.add(total), inverse);
                            S::store(p.add(best), S::mul(weight, inverse));
                        }
                    }
                },
            );
        }
        self.collect::<S>(&work.sums, TOTAL..BEST + 1)
    }

    /// Quantities by rows of the tile, one plane after the other.
    fn collect<S: Simd>(&self, sums: &Sums, quantities: Range<usize>) -> Vec<f32> {
        let width = self.grid.width_of_tile();
        let mut out = vec![0.0; quantities.len() * self.tile.rows * width];
        let mut rows = out.chunks_exact_mut(width);
        for quantity in quantities {
            for (y, row) in (0..self.tile.rows as isize).zip(&mut rows) {
                by_columns::<S>(row, &sums.data()[sums.at(0, quantity, y, 0)..], self.grid.columns);
            }
        }
        out
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
        work.own.start(1, n, columns);
        work.ones.clear();
        work.ones.resize((columns + n) * LANES, 1.0);
        for center in -b..rows + b {
            let shares = Rows {
                data: work.share.row(center, -b - 1, columns + n),
                step: (columns + n) * LANES,
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
        exact: bool,
    ) -> Result<()> {
        let (n, b) = (2 * self.plan.patch_radius + 1, self.plan.patch_radius as isize);
        let rows = self.tile.rows as isize;
        let symmetric = pairing != Pairing::One;
        for (dy, dx, k) in pairing.sweeps(self.plan.search_radius) {
            self.control.check()?;
            let mut of = self.comparison(pairing, here, there, (dy, dx, k), b, exact);
            // Sums over columns are seeded one column before the first.
            of.x.start -= 1;
            let (x, wide) = (of.x.start + b + 1, (of.x.end - of.x.start) as usize);
            let count = wide - n;
            let ys = pairing.references(self.tile.rows, dy, dy);
            work.distances.start::<S>(&of, ys.start - b);
            work.own.start(k, n, count);
            work.other.start(k, n, count);
            for center in ys.start - b..ys.end + b {
                let weights = work.distances.row::<S>(&of, center);
                work.own.push::<S>(n, weights, work.inverse.row(center, of.x.start, wide), 0);
                if symmetric {
                    let inverse = work.inverse.row(center + dy, of.x.start + dx, wide + k - 1);
                    work.other.push::<S>(n, weights, inverse, LANES);
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
                        own: own.then(|| work.sums.at(0, c, y, x)),
                        other: other.then(|| work.sums.at(0, c, y + dy, x + dx)),
                    };
                    let a = here.planes[c].row(y, x, count);
                    let b = there.planes[c].row(y + dy, x + dx, count + k - 1);
                    add_samples::<S>(work.sums.data_mut(), at, shares, others, a, b);
                }
            }
        }
        Ok(())
    }

    /// The mean over the patches that cover a pixel, by rows.
    pub(super) fn finish_shares<S: Simd>(&self, work: &Work) -> Vec<f32> {
        let mut out = self.collect::<S>(&work.sums, 0..self.plan.channels);
        let side = (2 * self.plan.patch_radius + 1) as f32;
        out.iter_mut().for_each(|v| *v /= side * side);
        out
    }
}

/// What the pixel itself weighs.
#[inline(always)]
fn own_weight<S: Simd>(max: bool, best: S::F32) -> S::F32 {
    let one = S::splat(1.0);
    if !max {
        return one;
    }
    // 1 where no other weighs anything.
    S::add(best, S::sub(one, S::keep(S::gt(best, S::splat(0.0)), one)))
}
