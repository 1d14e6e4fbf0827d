//! PI-LD, PI-PD and the hybrid filter of Perrot et al.

use std::ops::Add;

use super::Result64;
use super::grid::{At, Grid};
use super::likelihood::{Sums, lambda};
use crate::isoline::Plan;

/// A line from a pixel: what it has summed up of luma and of every plane, where it ends and in which direction.
#[derive(Clone)]
struct Line {
    luma: Sums,
    planes: Vec<f64>,
    first: usize,
    last: usize,
    end: At,
    segments: usize,
}

impl Line {
    /// The start pixel alone.
    fn start(z: &[Grid], at: At) -> Self {
        let planes: Vec<f64> = z.iter().map(|z| z.at(at)).collect();
        Self { luma: Sums::of(planes[0]), planes, first: 0, last: 0, end: at, segments: 0 }
    }

    /// Lengthened by the segment of direction `d` at its end.
    fn with(&self, plan: &Plan, z: &[Grid], d: usize) -> Self {
        let sum = |z: &Grid| z.segment(plan, d, self.end, |v| v);
        Self {
            luma: self.luma + segment(plan, &z[0], d, self.end),
            planes: self.planes.iter().zip(z).map(|(p, z)| p + sum(z)).collect(),
            first: if self.segments == 0 { d } else { self.first },
            last: d,
            end: z[0].end(plan, d, self.end),
            segments: self.segments + 1,
        }
    }
}

/// The sums of luma over a segment.
fn segment(plan: &Plan, luma: &Grid, d: usize, from: At) -> Sums {
    Sums {
        n: plan.segment_pixels() as f64,
        x: luma.segment(plan, d, from, |v| v),
        x2: luma.segment(plan, d, from, |v| v * v),
    }
}

/// The first of the candidates with the smallest key.
fn first_least<T>(candidates: impl Iterator<Item = T>, key: impl Fn(&T) -> f64) -> Option<T> {
    candidates.fold(None, |best: Option<T>, c| match best {
        Some(b) if key(&b) <= key(&c) => Some(b),
        _ => Some(c),
    })
}

/// PI-LD: from every pixel a line in every direction, each lengthened by the best segment that turns little and fits.
pub(super) fn limited_deviation(plan: &Plan, z: &[Grid]) -> Result64 {
    average(z, |at| {
        let lines = (0..plan.patterns.directions()).map(|d| {
            let mut line = Line::start(z, at).with(plan, z, d);
            while line.segments < plan.segments {
                let near = turns(plan, line.last);
                let fits = near.filter(|&d| {
                    lambda(line.luma, segment(plan, &z[0], d, line.end)) < plan.threshold.into()
                });
                let longer = fits.map(|d| line.with(plan, z, d));
                match first_least(longer, |l| l.luma.spread()) {
                    Some(longer) => line = longer,
                    None => break,
                }
            }
            line
        });
        // Of the longest the one with the smallest variance; all have at least one segment.
        let lines: Vec<Line> = lines.collect();
        let longest = lines.iter().map(|l| l.segments).max().unwrap_or(0);
        let longest = lines.into_iter().filter(|l| l.segments == longest);
        first_least(longest, |l| l.luma.spread()).unwrap_or_else(|| Line::start(z, at))
    })
}

/// The directions that turn little from `d`, from one side to the other.
fn turns(plan: &Plan, d: usize) -> impl Iterator<Item = usize> {
    let all = plan.patterns.directions();
    let turn = plan.turn.min(all / 2 - 1);
    (0..=2 * turn).map(move |q| (d + all + q - turn) % all)
}

/// PI-PD: lines follow the direction of least variance that was found for every pixel beforehand.
pub(super) fn precomputed_directions(plan: &Plan, z: &[Grid]) -> Result64 {
    let directions = z[0].map(|at| {
        let all = (0..plan.patterns.directions()).map(|d| (d, segment(plan, &z[0], d, at).spread()));
        first_least(all, |&(_, spread)| spread).map_or(0.0, |(d, _)| d as f64)
    });
    average(z, |at| {
        let mut line = Line::start(z, at).with(plan, z, directions.at(at) as usize);
        while line.segments < plan.segments {
            let d = directions.at(line.end) as usize;
            let apart = plan.patterns.turn(line.last, d) > plan.turn;
            if apart || lambda(line.luma, segment(plan, &z[0], d, line.end)) >= plan.threshold.into() {
                break;
            }
            line = line.with(plan, z, d);
        }
        line
    })
}

/// The mean of every pixel's line.
fn average(z: &[Grid], line: impl Fn(At) -> Line) -> Result64 {
    let lines = z[0].pixels().map(line).collect::<Vec<_>>();
    let plane = |value: &dyn Fn(&Line) -> f64| z[0].with(lines.iter().map(value));
    Result64 {
        planes: (0..z.len()).map(|c| plane(&|l| l.planes[c] / l.luma.n)).collect(),
        directions: plane(&|l| l.first as f64),
        lengths: plane(&|l| l.luma.n),
    }
}

/// The eight segments around a pixel that share no pixel, thin, and the pixel itself.
struct Star {
    centre: At,
    arms: [usize; 8],
}

impl Star {
    fn new(plan: &Plan, centre: At) -> Self {
        Self { centre, arms: std::array::from_fn(|i| i * plan.patterns.directions() / 8) }
    }

    /// Sums over the centre and the five arms from the `side`-th on, and over the three others.
    fn halves(&self, plan: &Plan, z: &Grid, side: usize) -> [Sums; 2] {
        let arm = |i: usize| {
            let samples = plan.patterns.segment(self.arms[i % 8]).iter();
            samples.fold(Sums::default(), |sums, o| {
                let at = (self.centre.0 + o.dy as isize, self.centre.1 + o.dx as isize);
                sums + Sums::of(z.at(at))
            })
        };
        let high = (side..side + 5).map(arm).fold(Sums::of(z.at(self.centre)), Add::add);
        [high, (side + 5..side + 8).map(arm).fold(Sums::default(), Add::add)]
    }

    /// The sides on which there is an edge.
    fn edges(&self, plan: &Plan, luma: &Grid) -> Vec<usize> {
        let is_edge = |&side: &usize| {
            let [high, low] = self.halves(plan, luma, side);
            lambda(high, low) > plan.edge_threshold.into()
        };
        (0..8).filter(is_edge).collect()
    }
}

/// In how many directions each pixel has an edge.
pub(super) fn edges(plan: &Plan, luma: &Grid) -> Grid {
    luma.map(|at| Star::new(plan, at).edges(plan, luma).len() as f64)
}

/// The hybrid filter: without an edge the mean of the whole neighbourhood, at one the mean of the pixel's side, at more
/// PI-PD.
pub(super) fn hybrid(plan: &Plan, z: &[Grid]) -> Result64 {
    let mut result = precomputed_directions(plan, z);
    let sides: Vec<Vec<usize>> = z[0].pixels().map(|at| Star::new(plan, at).edges(plan, &z[0])).collect();
    // The mean that replaces PI-PD's, and over how many pixels.
    let mean = |z: &Grid, at: At, sides: &[usize]| {
        let halves = |side| Star::new(plan, at).halves(plan, z, side);
        match *sides {
            [] => Some(halves(0)).map(|[high, low]| high + low),
            [side] => Some(halves(side)[0]),
            _ => None,
        }
    };
    let replace = |line: &Grid, z: &Grid, value: fn(&Sums) -> f64| {
        let pixels = z.pixels().zip(&sides);
        z.with(pixels.map(|(at, sides)| mean(z, at, sides).as_ref().map_or_else(|| line.at(at), value)))
    };
    for (plane, z) in result.planes.iter_mut().zip(z) {
        *plane = replace(plane, z, Sums::mean);
    }
    result.lengths = replace(&result.lengths, &z[0], |sums| sums.n);
    result
}
