//! Where the blocks of a frame are in another one. All in whole numbers: the motion is that of the reference.

use rayon::prelude::*;

use super::padded::Padded;
use crate::device::cpu::Level;
use crate::device::cpu::simd::{Kernel, Simd, dispatch};
use crate::method::Averaging;

/// Rows of blocks that are searched at once.
const ROWS: usize = 4;

/// What motion is looked for on: means of luma in whole numbers, going on beyond the borders.
pub(in crate::device) struct Whole {
    data: Vec<u16>,
    /// Sums over squares of [`Averaging::SCALE`] pixels.
    sums: Vec<u16>,
    /// Whole squares.
    margin: usize,
    stride: usize,
    /// Of the picture, in rows and columns.
    blocks: (usize, usize),
}

impl Whole {
    pub(in crate::device) fn new(averaging: &Averaging, means: &Padded) -> Self {
        let (width, height) = (means.layout.width, means.layout.height);
        let margin = (Averaging::AROUND + averaging.reach()).next_multiple_of(Averaging::SCALE);
        let [wide, tall] = [width, height].map(|n| n.next_multiple_of(Averaging::BLOCK) + 2 * margin);
        let most = Averaging::MOST as f32;
        let whole = |v: &f32| (averaging.quanta * v + 0.5).floor().clamp(0.0, most) as u16;
        let mut data = vec![0; wide * tall];
        data.par_chunks_exact_mut(wide).enumerate().for_each(|(y, row)| {
            let from = means.row(y.saturating_sub(margin).min(height - 1));
            let inside = &mut row[margin..margin + width];
            inside.iter_mut().zip(from).for_each(|(to, v)| *to = whole(v));
            let (first, last) = (inside[0], inside[width - 1]);
            row[..margin].fill(first);
            row[margin + width..].fill(last);
        });
        let small = wide / Averaging::SCALE;
        let mut sums = vec![0; small * (tall / Averaging::SCALE)];
        sums.par_chunks_exact_mut(small).zip(data.par_chunks_exact(Averaging::SCALE * wide)).for_each(
            |(to, rows)| {
                for row in rows.chunks_exact(wide) {
                    let (squares, _) = row.as_chunks::<{ Averaging::SCALE }>();
                    to.iter_mut().zip(squares).for_each(|(to, v)| *to += v.iter().sum::<u16>());
                }
            },
        );
        let blocks = (height.div_ceil(Averaging::BLOCK), width.div_ceil(Averaging::BLOCK));
        Self { data, sums, margin, stride: wide, blocks }
    }

    /// From row `y` and column `x` on.
    fn at(&self, y: isize, x: isize) -> &[u16] {
        let at = |i: isize| (i + self.margin as isize) as usize;
        &self.data[at(y) * self.stride + at(x)..]
    }

    /// From where a block and what is around it begins on, when it has moved.
    fn block(&self, (by, bx): (usize, usize), (dy, dx): (i32, i32)) -> &[u16] {
        self.at(corner(by) + dy as isize, corner(bx) + dx as isize)
    }

    /// The sums from a row and a column of them on.
    fn sum_at(&self, y: isize, x: isize) -> &[u16] {
        let at = |i: isize| (i + (self.margin / Averaging::SCALE) as isize) as usize;
        &self.sums[at(y) * self.sum_stride() + at(x)..]
    }

    fn sum_stride(&self) -> usize {
        self.stride / Averaging::SCALE
    }
}

/// The motion of every block.
pub(in crate::device) struct Motion {
    columns: usize,
    steps: Vec<(i32, i32)>,
    /// How much brighter blocks have become, in every plane.
    brighter: Vec<f32>,
    channels: usize,
}

impl Motion {
    /// From one frame to another, each with its planes and what it is compared on.
    pub(in crate::device) fn search(
        level: Level,
        averaging: &Averaging,
        (z, here): (&[Padded], &Whole),
        (other, there): (&[Padded], &Whole),
    ) -> Self {
        let ((rows, columns), channels) = (here.blocks, z.len());
        let mut steps = vec![(0, 0); rows * columns];
        let mut brighter = vec![0.0; rows * columns * channels];
        let of_bands = brighter.par_chunks_mut(ROWS * columns * channels);
        let bands = steps.par_chunks_mut(ROWS * columns).zip(of_bands);
        bands.enumerate().for_each(|(i, (steps, brighter))| {
            let first = i * ROWS;
            if averaging.coarse > 0 {
                dispatch(level, Search { averaging, here, there, first, columns, steps: &mut *steps });
            }
            for (i, (step, to)) in steps.iter().zip(brighter.chunks_exact_mut(channels)).enumerate() {
                let block = (first + i / columns, i % columns);
                let difference = difference(here, there, block, *step);
                let brighter = averaging.change(difference as f32 * averaging.mean);
                let without = Averaging::rounded(difference);
                // Mostly nothing has changed.
                if brighter != 0.0 && apart(here, there, block, *step, without) <= averaging.alike {
                    to[0] = brighter;
                    for (to, (a, b)) in to.iter_mut().zip(z.iter().zip(other)).skip(1) {
                        *to = averaging.change(mean_change(a, b, block, *step));
                    }
                }
            }
        });
        Self { columns, steps, brighter, channels }
    }

    /// How much brighter the block of this pixel has become, in every plane.
    pub(in crate::device) fn brighter(&self, y: usize, x: usize) -> &[f32] {
        let block = y / Averaging::BLOCK * self.columns + x / Averaging::BLOCK;
        &self.brighter[block * self.channels..][..self.channels]
    }

    /// Rows and columns that the block of this pixel has moved.
    pub(in crate::device) fn at(&self, y: usize, x: usize) -> (i32, i32) {
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
        S::vectorize(
            #[inline(always)]
            || self.search(),
        );
    }
}

impl Search<'_> {
    #[inline(always)]
    fn search(self) {
        let Self { averaging, here, there, first, columns, steps } = self;
        for (i, step) in steps.iter_mut().enumerate() {
            let block = (first + i / columns, i % columns);
            *step = fine(averaging, here, there, block, coarse(averaging, here, there, block));
        }
    }
}

/// A block and what is around it.
const SIDE: usize = Averaging::BLOCK + 2 * Averaging::AROUND;

/// Where that begins.
fn corner(block: usize) -> isize {
    (block * Averaging::BLOCK) as isize - Averaging::AROUND as isize
}

/// How much a block that has moved, with what is around it, has more of in the other frame.
fn difference(here: &Whole, there: &Whole, block: (usize, usize), step: (i32, i32)) -> i32 {
    let (a, b) = (here.block(block, (0, 0)), there.block(block, step));
    let sum = |q: &[u16]| q[..SIDE].iter().map(|&v| i32::from(v)).sum::<i32>();
    (0..SIDE).map(|row| sum(&b[row * here.stride..]) - sum(&a[row * here.stride..])).sum()
}

/// How different it is, but for a change of all by `without`.
fn apart(here: &Whole, there: &Whole, block: (usize, usize), step: (i32, i32), without: i32) -> i32 {
    let (a, b) = (here.block(block, (0, 0)), there.block(block, step));
    let row = |row: usize| {
        let (a, b) = (&a[row * here.stride..][..SIDE], &b[row * here.stride..][..SIDE]);
        a.iter().zip(b).map(|(&a, &b)| (i32::from(b) - i32::from(a) - without).abs()).sum::<i32>()
    };
    (0..SIDE).map(row).sum()
}

/// The same of samples, on average.
fn mean_change(here: &Padded, there: &Padded, (by, bx): (usize, usize), (dy, dx): (i32, i32)) -> f32 {
    let (width, height) = (here.layout.width as isize, here.layout.height as isize);
    let sum = |plane: &Padded, dy: i32, dx: i32| -> f32 {
        let (y, x) = (corner(by) + dy as isize, corner(bx) + dx as isize);
        let row = |i: usize| {
            let row = plane.row((y + i as isize).clamp(0, height - 1) as usize);
            (0..SIDE).map(|j| row[(x + j as isize).clamp(0, width - 1) as usize]).sum::<f32>()
        };
        (0..SIDE).map(row).sum()
    };
    (sum(there, dy, dx) - sum(here, 0, 0)) / (SIDE * SIDE) as f32
}

/// The best of the steps near another one.
#[inline(always)]
fn fine(
    averaging: &Averaging,
    here: &Whole,
    there: &Whole,
    block: (usize, usize),
    (y, x): (i32, i32),
) -> (i32, i32) {
    // Columns are summed up in 16 bits.
    const { assert!(SIDE as i32 * Averaging::MOST <= u16::MAX as i32) };
    let reach = Averaging::FINE as i32;
    let a = here.block(block, (0, 0));
    let mut best = (i32::MAX, (y, x));
    for dy in y - reach..=y + reach {
        for dx in x - reach..=x + reach {
            let b = there.block(block, (dy, dx));
            let mut sums = [0u16; SIDE];
            for row in 0..SIDE {
                let (a, b) = (&a[row * here.stride..][..SIDE], &b[row * here.stride..][..SIDE]);
                for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
                    *sum += a.abs_diff(*b);
                }
            }
            let apart: u32 = sums.iter().map(|&sum| u32::from(sum)).sum();
            let cost = averaging.step_cost * (dy.abs() + dx.abs()) + apart as i32;
            if cost < best.0 {
                best = (cost, (dy, dx));
            }
        }
    }
    best.1
}

/// The best of the coarse steps of a block.
#[inline(always)]
fn coarse(averaging: &Averaging, here: &Whole, there: &Whole, (by, bx): (usize, usize)) -> (i32, i32) {
    const SIDE: usize = self::SIDE / Averaging::SCALE;
    let (reach, scale) = (averaging.coarse as isize, Averaging::SCALE as isize);
    let mut best = (i32::MAX, (0, 0));
    for dy in -reach..=reach {
        for dx in -reach..=reach {
            let (y, x) = (corner(by) / scale, corner(bx) / scale);
            let (a, b) = (here.sum_at(y, x), there.sum_at(y + dy, x + dx));
            let mut sums = [0u32; SIDE];
            for row in 0..SIDE {
                let (a, b) = (&a[row * here.sum_stride()..][..SIDE], &b[row * here.sum_stride()..][..SIDE]);
                for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
                    *sum += u32::from(a.abs_diff(*b));
                }
            }
            let step = ((dy * scale) as i32, (dx * scale) as i32);
            let cost = averaging.step_cost * (step.0.abs() + step.1.abs()) + sums.iter().sum::<u32>() as i32;
            if cost < best.0 {
                best = (cost, step);
            }
        }
    }
    best.1
}
