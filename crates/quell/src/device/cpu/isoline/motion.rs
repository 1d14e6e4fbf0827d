//! Where the blocks of a frame are in another one. All in whole numbers: the motion is that of the reference.

use rayon::prelude::*;

use super::padded::Padded;
use crate::device::cpu::Level;
use crate::device::cpu::simd::{Kernel, Simd, dispatch};
use crate::isoline::{Averaging, Plan};

/// Side of a cell: what neighbouring blocks have in common of differences is made of these. A cell's sum fits 16 bits.
const CELL: usize = 8;
/// Rows of blocks that are searched at once.
const ROWS: usize = 4;
/// Cells along a block and what is around it.
const CELLS: usize = (Averaging::BLOCK + 2 * Averaging::AROUND) / CELL;

/// What motion is looked for on: means of luma in whole numbers, going on beyond the borders.
pub(super) struct Whole {
    data: Vec<u16>,
    margin: usize,
    stride: usize,
}

impl Whole {
    pub(super) fn new(plan: &Plan, means: &Padded) -> Self {
        let (width, height) = (plan.width, plan.height);
        let margin = Averaging::AROUND + plan.averaging.reach;
        let [wide, tall] = [width, height].map(|n| n.next_multiple_of(Averaging::BLOCK) + 2 * margin);
        let most = Averaging::MOST as f32;
        let whole = |v: &f32| (plan.averaging.quanta * v + 0.5).floor().clamp(0.0, most) as u16;
        let mut data = vec![0; wide * tall];
        data.par_chunks_exact_mut(wide).enumerate().for_each(|(y, row)| {
            let from = means.row(y.saturating_sub(margin).min(height - 1));
            let inside = &mut row[margin..margin + width];
            inside.iter_mut().zip(from).for_each(|(to, v)| *to = whole(v));
            let (first, last) = (inside[0], inside[width - 1]);
            row[..margin].fill(first);
            row[margin + width..].fill(last);
        });
        Self { data, margin, stride: wide }
    }

    /// `count` samples of row `y` from column `x` on.
    fn part(&self, y: isize, x: isize, count: usize) -> &[u16] {
        let at = |i: isize| (i + self.margin as isize) as usize;
        &self.data[at(y) * self.stride + at(x)..][..count]
    }
}

/// The motion of every block.
pub(super) struct Motion {
    columns: usize,
    steps: Vec<(i32, i32)>,
}

impl Motion {
    pub(super) fn search(level: Level, plan: &Plan, here: &Whole, there: &Whole) -> Self {
        let [rows, columns] = [plan.height, plan.width].map(|n| n.div_ceil(Averaging::BLOCK));
        let mut steps = vec![(0, 0); rows * columns];
        let bands = steps.par_chunks_mut(ROWS * columns).enumerate();
        let averaging = &plan.averaging;
        bands.for_each(|(i, steps)| {
            let first = i * ROWS;
            dispatch(level, Search { averaging, here, there, first, columns, steps });
        });
        Self { columns, steps }
    }

    /// Rows and columns that the block of this pixel has moved.
    pub(super) fn at(&self, y: usize, x: usize) -> (i32, i32) {
        self.steps[y / Averaging::BLOCK * self.columns + x / Averaging::BLOCK]
    }
}

/// Some rows of blocks, from the `first` on.
struct Search<'a> {
    averaging: &'a Averaging,
    here: &'a Whole,
    there: &'a Whole,
    first: usize,
    columns: usize,
    steps: &'a mut [(i32, i32)],
}

impl Kernel for Search<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let reach = self.averaging.reach as i32;
        let around = Averaging::AROUND as isize;
        let per = Averaging::BLOCK / CELL;
        let rows = self.steps.len() / self.columns;
        let [tall, wide] = [rows, self.columns].map(|n| per * n + CELLS - per);
        let top = (self.first * Averaging::BLOCK) as isize - around;
        let mut least = vec![i32::MAX; self.steps.len()];
        let mut cells = vec![0u16; tall * wide];
        let mut sums = vec![0u16; CELL * wide];
        for dy in -reach..=reach {
            for dx in -reach..=reach {
                for (i, cells) in cells.chunks_exact_mut(wide).enumerate() {
                    sums.fill(0);
                    for y in (0..CELL).map(|y| top + (i * CELL + y) as isize) {
                        let here = self.here.part(y, -around, sums.len());
                        let there = self.there.part(y + dy as isize, dx as isize - around, sums.len());
                        S::vectorize(
                            #[inline(always)]
                            || add_differences(&mut sums, here, there),
                        );
                    }
                    let (parts, _) = sums.as_chunks::<CELL>();
                    for (cell, part) in cells.iter_mut().zip(parts) {
                        *cell = part.iter().sum();
                    }
                }
                let cost = self.averaging.step_cost * (dy.abs() + dx.abs());
                let blocks = self.steps.iter_mut().zip(&mut least).enumerate();
                for (i, (step, least)) in blocks {
                    let (by, bx) = (i / self.columns * per, i % self.columns * per);
                    let row = |y: usize| &cells[(by + y) * wide + bx..][..CELLS];
                    let sum = (0..CELLS).flat_map(row).map(|&c| i32::from(c)).sum::<i32>();
                    if cost + sum < *least {
                        (*step, *least) = ((dy, dx), cost + sum);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn add_differences(sums: &mut [u16], here: &[u16], there: &[u16]) {
    for (sum, (a, b)) in sums.iter_mut().zip(here.iter().zip(there)) {
        *sum += a.abs_diff(*b);
    }
}
