//! The average over frames, along the motion of blocks, in plain `f64`. [`Averaging`] defines it.

use super::Averaging;
use crate::isoline::Square;
use crate::isoline::reference::grid::{At, Grid};
use crate::{Plane, PlaneView};

/// The planes of frame `at` averaged with all others, and how many times less noise variance each pixel has.
pub fn run(averaging: &Averaging, frames: &[Vec<PlaneView<'_>>], at: usize) -> (Vec<Plane>, Plane) {
    let grids: Vec<Vec<Grid>> = frames.iter().map(|f| f.iter().map(Grid::from).collect()).collect();
    let (planes, count, squares) = average(averaging, &grids, at);
    let effective = count.map(|at| count.at(at).powi(2) / squares.at(at));
    (planes.iter().map(Grid::to_plane).collect(), effective.to_plane())
}

/// The same, with the sums of the weights and of their squares.
pub(in crate::method) fn average(
    averaging: &Averaging,
    frames: &[Vec<Grid>],
    at: usize,
) -> (Vec<Grid>, Grid, Grid) {
    let z = &frames[at];
    let here = Compared::new(averaging, &z[0]);
    let mut sums = z.clone();
    let mut count = z[0].map(|_| 1.0);
    let mut square = count.clone();
    for (_, other) in frames.iter().enumerate().filter(|&(t, _)| t != at) {
        let there = Compared::new(averaging, &other[0]);
        let motion = motion(averaging, (&here, z), (&there, other));
        let block = |(y, x): At| &motion[y as usize / Averaging::BLOCK][x as usize / Averaging::BLOCK];
        let step = |at: At| (at.0 + block(at).step.0, at.1 + block(at).step.1);
        let squares =
            z[0].map(|at| (there.means.at(step(at)) - block(at).brighter[0] - here.means.at(at)).powi(2));
        let apart = squares.mean_box(&Averaging::BOX);
        let Averaging { slope, noise, .. } = *averaging;
        let above = |at| (apart.at(at) - f64::from(noise)).max(0.0);
        let weight = z[0].map(|at| (1.0 + f64::from(slope) * above(at)).powi(-2));
        for (c, (sum, z)) in sums.iter_mut().zip(other).enumerate() {
            *sum = sum.map(|at| sum.at(at) + weight.at(at) * (z.at(step(at)) - block(at).brighter[c]));
        }
        count = count.map(|at| count.at(at) + weight.at(at));
        square = square.map(|at| square.at(at) + weight.at(at).powi(2));
    }
    (sums.iter().map(|sum| sum.map(|at| sum.at(at) / count.at(at))).collect(), count, square)
}

/// What frames are compared on.
struct Compared {
    /// Means of luma.
    means: Grid,
    /// The same as whole numbers.
    whole: Grid,
}

impl Compared {
    fn new(averaging: &Averaging, luma: &Grid) -> Self {
        let means = luma.mean_box(&Square { cell: 1, margin: 1 });
        let Averaging { quanta, .. } = *averaging;
        let most = f64::from(Averaging::MOST);
        let whole = means.map(|at| (f64::from(quanta) * means.at(at) + 0.5).floor().clamp(0.0, most));
        Self { means, whole }
    }
}

/// What has become of a block.
struct Block {
    step: At,
    /// In every plane.
    brighter: Vec<f64>,
}

/// What has become of every block, by rows of blocks.
fn motion(
    averaging: &Averaging,
    (here, z): (&Compared, &[Grid]),
    (there, other): (&Compared, &[Grid]),
) -> Vec<Vec<Block>> {
    let (width, height) = here.whole.size();
    let [rows, columns] = [height, width].map(|n| n.div_ceil(Averaging::BLOCK));
    let block = |by: usize, bx: usize| {
        let step = block_motion(averaging, here, there, (by, bx));
        let change = |a: &Grid, b: &Grid| mean(changes(a, b, (by, bx), step));
        let all = || changes(&here.whole, &there.whole, (by, bx), step);
        let whole = (mean(all()) + 0.5).floor();
        let apart: f64 = all().map(|d| (d - whole).abs()).sum();
        let m = mean(all()) / f64::from(averaging.quanta);
        let counted =
            |m: f64| if m == 0.0 { 0.0 } else { m * (1.0 - f64::from(averaging.faint) / m.powi(2)).max(0.0) };
        let has_changed = counted(m) != 0.0 && apart <= f64::from(averaging.alike);
        let others = z.iter().zip(other).skip(1).map(|(a, b)| change(a, b));
        let means = std::iter::once(m).chain(others);
        let brighter = means.map(|m| if has_changed { counted(m) } else { 0.0 }).collect();
        Block { step, brighter }
    };
    (0..rows).map(|by| (0..columns).map(|bx| block(by, bx)).collect()).collect()
}

fn block_motion(averaging: &Averaging, here: &Compared, there: &Compared, (by, bx): (usize, usize)) -> At {
    if averaging.coarse == 0 {
        return (0, 0);
    }
    // Where the block and what is around it begins, and how many pixels it has.
    let [y0, x0] = [by, bx].map(|b| (b * Averaging::BLOCK) as isize - Averaging::AROUND as isize);
    let side = (Averaging::BLOCK + 2 * Averaging::AROUND) as isize;
    let differences = |sum: &dyn Fn(&Grid, At) -> f64, (dy, dx): At, every: isize| {
        let mut cost = i64::from(averaging.step_cost) * (dy.abs() + dx.abs()) as i64;
        for y in (0..side / every).map(|i| y0 + every * i) {
            for x in (0..side / every).map(|i| x0 + every * i) {
                cost += (sum(&there.whole, (y + dy, x + dx)) - sum(&here.whole, (y, x))).abs() as i64;
            }
        }
        cost
    };
    let scale = Averaging::SCALE as isize;
    let coarse = |q: &Grid, (y, x): At| {
        (0..scale).flat_map(|i| (0..scale).map(move |j| (y + i, x + j))).map(|at| q.at(at)).sum()
    };
    let steps = around((0, 0), averaging.coarse as isize, scale);
    let first = steps.min_by_key(|&s| (differences(&coarse, s, scale), s)).unwrap_or((0, 0));
    let steps = around(first, Averaging::FINE as isize, 1);
    steps.min_by_key(|&s| (differences(&Grid::at, s, 1), s)).unwrap_or(first)
}

/// How much more there is at every pixel of a block that has moved, and of what is around it.
fn changes<'a>(
    here: &'a Grid,
    there: &'a Grid,
    (by, bx): (usize, usize),
    (dy, dx): At,
) -> impl Iterator<Item = f64> + 'a {
    let [y0, x0] = [by, bx].map(|b| (b * Averaging::BLOCK) as isize - Averaging::AROUND as isize);
    let side = (Averaging::BLOCK + 2 * Averaging::AROUND) as isize;
    let around = (y0..y0 + side).flat_map(move |y| (x0..x0 + side).map(move |x| (y, x)));
    around.map(move |(y, x)| there.at((y + dy, x + dx)) - here.at((y, x)))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), v| (sum + v, n + 1));
    sum / f64::from(n)
}

/// So many steps of this size either way.
fn around((y, x): At, steps: isize, size: isize) -> impl Iterator<Item = At> {
    (-steps..=steps).flat_map(move |i| (-steps..=steps).map(move |j| (y + size * i, x + size * j)))
}
