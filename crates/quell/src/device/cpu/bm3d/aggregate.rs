//! Adding the units up: numerators and denominators in the order of the units, rows divided as soon as no later unit
//! reaches them.
//!
//! The picture is cut into strips of columns. Each adds its units up in their order, so that the sums do not depend on the
//! number of threads; but different strips may be at work at the same time.

use std::ops::Range;

use super::unit::{Rect, Unit};
use crate::Plane;

/// Columns of a strip: narrow enough that there are strips for every thread, and about as wide as a unit.
const STRIP: usize = 192;

/// What a unit adds to the picture: numerator and denominator of every channel over its region.
#[derive(Default)]
pub(super) struct Estimate {
    pub(super) numerator: Vec<Vec<f32>>,
    pub(super) denominator: Vec<Vec<f32>>,
}

impl Estimate {
    /// Zeros for `channels` regions of `area` pixels.
    pub(super) fn reset(&mut self, channels: usize, area: usize) {
        for sums in [&mut self.numerator, &mut self.denominator] {
            sums.resize(channels, Vec::new());
            for s in sums {
                s.clear();
                s.resize(area, 0.0);
            }
        }
    }
}

/// Some columns of an area of the picture.
pub(super) struct Strip<'a> {
    area: Rect,
    /// The result, by channels and rows.
    rows: Vec<Vec<&'a mut [f32]>>,
    /// Numerators and denominators of the rows that are still open, by channels: row `y` is at `y % ring`.
    open: Vec<[Plane; 2]>,
    /// Rows above this one are divided.
    done: usize,
}

/// The strips of an area, whose result goes to `planes`.
pub(super) fn strips<'a>(area: &Rect, planes: &'a mut [Plane], units: &[&Unit]) -> Vec<Strip<'a>> {
    let cuts: Vec<Range<usize>> =
        area.x.clone().step_by(STRIP).map(|x| x..(x + STRIP).min(area.x.end)).collect();
    // A unit's rows are open at most until the last unit that starts above their end is merged.
    let ring = units.iter().map(|u| u.region.height()).max().unwrap_or(1).min(area.height());
    let strip = |x: &Range<usize>| {
        let open = |_: &Plane| [(); 2].map(|()| Plane::zeros(x.len(), ring));
        Strip {
            area: Rect { x: x.clone(), y: area.y.clone() },
            rows: planes.iter().map(|_| Vec::with_capacity(area.height())).collect(),
            open: planes.iter().map(open).collect(),
            done: area.y.start,
        }
    };
    let mut strips: Vec<Strip<'a>> = cuts.iter().map(strip).collect();
    for (c, plane) in planes.iter_mut().enumerate() {
        for row in plane.as_mut_slice().chunks_exact_mut(area.width()) {
            for (strip, part) in strips.iter_mut().zip(row.chunks_mut(STRIP)) {
                strip.rows[c].push(part);
            }
        }
    }
    strips
}

impl Strip<'_> {
    /// Whether a unit adds to it.
    pub(super) fn takes(&self, unit: &Unit) -> bool {
        unit.region.touches(&self.area)
    }

    /// Adds a unit; `next` is the one that will follow in this strip.
    pub(super) fn add(&mut self, unit: &Unit, estimate: &Estimate, next: Option<&Unit>) {
        let region = &unit.region;
        let common = region.common(&self.area);
        let (to, from) = (common.x.start - self.area.x.start, common.x.start - region.x.start);
        let n = common.width();
        for y in common.y.clone() {
            let source = (y - region.y.start) * region.width() + from;
            for (c, [numerators, denominators]) in self.open.iter_mut().enumerate() {
                let ring = y % numerators.height();
                sum(&mut numerators.row_mut(ring)[to..to + n], &estimate.numerator[c][source..source + n]);
                sum(
                    &mut denominators.row_mut(ring)[to..to + n],
                    &estimate.denominator[c][source..source + n],
                );
            }
        }
        let open_from = next.map_or(self.area.y.end, |u| u.region.y.start.clamp(self.done, self.area.y.end));
        for y in self.done..open_from {
            for (rows, [numerators, denominators]) in self.rows.iter_mut().zip(&mut self.open) {
                let ring = y % numerators.height();
                let (above, below) = (numerators.row_mut(ring), denominators.row_mut(ring));
                let row = &mut *rows[y - self.area.y.start];
                row.iter_mut().zip(above.iter().zip(&*below)).for_each(|(v, (a, b))| *v = a / b);
                above.fill(0.0);
                below.fill(0.0);
            }
        }
        self.done = open_from;
    }
}

fn sum(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(t, f)| *t += f);
}
