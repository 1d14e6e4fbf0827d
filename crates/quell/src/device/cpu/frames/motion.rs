//! Where the blocks of a frame are in another one. All in whole numbers: the motion is that of the reference.

use rayon::prelude::*;

use super::padded::Padded;
use crate::device::cpu::Level;
use crate::device::cpu::simd::{Kernel, Simd, dispatch};
use crate::method::Averaging;

/// Side of a cell: what neighbouring blocks have in common of differences is made of these. A cell's sum fits 16 bits.
const CELL: usize = 8;
/// Rows of blocks that are searched at once.
const ROWS: usize = 4;
/// Cells along a block and what is around it.
const CELLS: usize = (Averaging::BLOCK + 2 * Averaging::AROUND) / CELL;

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
}

impl Motion {
    pub(in crate::device) fn search(
        level: Level,
        averaging: &Averaging,
        here: &Whole,
        there: &Whole,
    ) -> Self {
        let (rows, columns) = here.blocks;
        let mut steps = vec![(0, 0); rows * columns];
        if averaging.coarse == 0 {
            return Self { columns, steps };
        }
        let bands = steps.par_chunks_mut(ROWS * columns).enumerate();
        bands.for_each(|(i, steps)| {
            let first = i * ROWS;
            dispatch(level, Search { averaging, here, there, first, columns, steps });
        });
        Self { columns, steps }
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
        let cost = |dy: i32, dx: i32| averaging.step_cost * (dy.abs() + dx.abs());
        for (i, step) in steps.iter_mut().enumerate() {
            *step = coarse(averaging, here, there, (first + i / columns, i % columns));
        }
        let mut starts = steps.to_vec();
        starts.sort_unstable();
        starts.dedup();
        let per = Averaging::BLOCK / CELL;
        let rows = steps.len() / columns;
        let [tall, wide] = [rows, columns].map(|n| per * n + CELLS - per);
        let top = (first * Averaging::BLOCK) as isize - Averaging::AROUND as isize;
        let mut cells = vec![0u16; tall * wide];
        let mut least = vec![i32::MAX; steps.len()];
        let from = steps.to_vec();
        let fine = Averaging::FINE as i32;
        // Blocks that begin at the same step share their cells.
        for (y, x) in starts {
            let blocks: Vec<usize> = (0..from.len()).filter(|&i| from[i] == (y, x)).collect();
            let mut wanted = vec![false; cells.len()];
            for i in &blocks {
                let (by, bx) = (i / columns * per, i % columns * per);
                (by..by + CELLS).for_each(|row| wanted[row * wide + bx..][..CELLS].fill(true));
            }
            let wanted: Vec<usize> = (0..cells.len()).filter(|&i| wanted[i]).collect();
            for (dy, dx) in (y - fine..=y + fine).flat_map(|dy| (x - fine..=x + fine).map(move |dx| (dy, dx)))
            {
                for &i in &wanted {
                    let row = top + (i / wide * CELL) as isize;
                    let column = (i % wide * CELL) as isize - Averaging::AROUND as isize;
                    let (a, b) = (here.at(row, column), there.at(row + dy as isize, column + dx as isize));
                    cells[i] = cell(a, b, here.stride);
                }
                for &i in &blocks {
                    let (by, bx) = (i / columns * per, i % columns * per);
                    let row = |y: usize| &cells[(by + y) * wide + bx..][..CELLS];
                    let sum = (0..CELLS).flat_map(row).map(|&c| i32::from(c)).sum::<i32>();
                    if cost(dy, dx) + sum < least[i] {
                        (steps[i], least[i]) = ((dy, dx), cost(dy, dx) + sum);
                    }
                }
            }
        }
    }
}

/// The sum of differences of a cell.
#[inline(always)]
fn cell(here: &[u16], there: &[u16], stride: usize) -> u16 {
    let mut sums = [0u16; CELL];
    for y in 0..CELL {
        let (a, b) = (&here[y * stride..][..CELL], &there[y * stride..][..CELL]);
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a.abs_diff(*b);
        }
    }
    sums.iter().sum()
}

/// The best of the coarse steps of a block.
#[inline(always)]
fn coarse(averaging: &Averaging, here: &Whole, there: &Whole, (by, bx): (usize, usize)) -> (i32, i32) {
    const SIDE: usize = (Averaging::BLOCK + 2 * Averaging::AROUND) / Averaging::SCALE;
    let (reach, scale) = (averaging.coarse as isize, Averaging::SCALE as isize);
    let corner = |b: usize| ((b * Averaging::BLOCK) as isize - Averaging::AROUND as isize) / scale;
    let mut best = (i32::MAX, (0, 0));
    for dy in -reach..=reach {
        for dx in -reach..=reach {
            let (y, x) = (corner(by), corner(bx));
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
