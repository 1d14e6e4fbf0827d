//! A picture of `f64` samples that goes on with its edge samples beyond the borders.

use crate::isoline::{Offset, Plan, Square};
use crate::{Plane, PlaneView};

/// A position: row and column.
pub(in crate::method) type At = (isize, isize);

#[derive(Clone)]
pub(in crate::method) struct Grid {
    width: usize,
    height: usize,
    data: Vec<f64>,
}

impl From<&PlaneView<'_>> for Grid {
    fn from(view: &PlaneView<'_>) -> Self {
        let data = view.rows().flatten().map(|&v| f64::from(v)).collect();
        Self { width: view.width(), height: view.height(), data }
    }
}

impl Grid {
    /// Columns and rows.
    pub(in crate::method) fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Every position, row by row.
    pub(in crate::method) fn pixels(&self) -> impl Iterator<Item = At> + use<> {
        let (w, h) = (self.width as isize, self.height as isize);
        (0..h).flat_map(move |y| (0..w).map(move |x| (y, x)))
    }

    /// A picture of the size of this one with these samples, row by row.
    pub(in crate::method) fn with(&self, samples: impl Iterator<Item = f64>) -> Self {
        Self { width: self.width, height: self.height, data: samples.collect() }
    }

    /// The picture of `f` at every pixel, of the size of this one.
    pub(in crate::method) fn map(&self, f: impl Fn(At) -> f64) -> Self {
        self.with(self.pixels().map(f))
    }

    /// The sample at a position, or the nearest one inside.
    pub(in crate::method) fn at(&self, at: At) -> f64 {
        let (y, x) = self.clamp(at);
        self.data[y as usize * self.width + x as usize]
    }

    /// The nearest position inside.
    pub(in crate::method) fn clamp(&self, (y, x): At) -> At {
        (y.clamp(0, self.height as isize - 1), x.clamp(0, self.width as isize - 1))
    }

    /// The end of the segment of direction `d` that starts at `from`.
    pub(in crate::method) fn end(&self, plan: &Plan, d: usize, from: At) -> At {
        self.clamp(step(from, plan.patterns.end(d)))
    }

    /// The sum of `f(sample)` over the segment of direction `d` at `from`, as thick as the plan says.
    pub(in crate::method) fn segment(&self, plan: &Plan, d: usize, from: At, f: impl Fn(f64) -> f64) -> f64 {
        let across = plan.patterns.across(d);
        let half = (plan.thickness / 2) as i32;
        let mut sum = 0.0;
        for &pixel in plan.patterns.segment(d) {
            for side in -half..=half {
                let beside = Offset { dy: side * across.dy, dx: side * across.dx };
                sum += f(self.at(step(step(from, pixel), beside)));
            }
        }
        sum
    }

    /// The mean over the line of the directions `d` and `d + D/2` at `from`, one pixel thick.
    pub(in crate::method) fn line(&self, plan: &Plan, d: usize, from: At) -> f64 {
        let half = plan.patterns.directions() / 2;
        let sides = plan.patterns.segment(d).iter().chain(plan.patterns.segment(d + half));
        let sum = self.at(from) + sides.map(|&o| self.at(step(from, o))).sum::<f64>();
        sum / (2 * plan.patterns.length() + 1) as f64
    }

    /// The mean over each pixel's box.
    pub(in crate::method) fn mean_box(&self, square: &Square) -> Self {
        let side = square.side() as f64;
        // Rows, or columns, of the box of a pixel in row, or column, `i`.
        let of = |i: isize| {
            let cell = i - i % square.cell as isize - square.margin as isize;
            cell..cell + square.side() as isize
        };
        let rows = self.map(|(y, x)| of(x).map(|x| self.at((y, x))).sum::<f64>());
        self.map(|(y, x)| of(y).map(|y| rows.at((y, x))).sum::<f64>() / (side * side))
    }

    /// Blurred along both axes.
    pub(in crate::method) fn blur(&self, taps: &[f32; 5]) -> Self {
        let sum = |f: &dyn Fn(isize) -> f64| (-2..=2).zip(taps).map(|(i, &t)| f64::from(t) * f(i)).sum();
        let rows = self.map(|(y, x)| sum(&|i| self.at((y, x + i))));
        self.map(|(y, x)| sum(&|i| rows.at((y + i, x))))
    }

    pub(in crate::method) fn to_plane(&self) -> Plane {
        let mut plane = Plane::zeros(self.width, self.height);
        for (to, from) in plane.as_mut_slice().iter_mut().zip(&self.data) {
            *to = *from as f32;
        }
        plane
    }
}

/// The position `by` further on.
pub(in crate::method) fn step((y, x): At, by: Offset) -> At {
    (y + by.dy as isize, x + by.dx as isize)
}
