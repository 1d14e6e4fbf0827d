//! Adding the units up: numerators and denominators in the order of the units, rows divided as soon as no
//! later unit reaches them.

use super::unit::{Rect, Unit};
use crate::Plane;

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

/// The sums over an area of the picture.
pub(super) struct Aggregate {
    area: Rect,
    /// Numerators, later the result.
    planes: Vec<Plane>,
    /// Denominators of the rows that are still open: row `y` is at `y % ring`.
    open: Vec<Plane>,
    /// Rows above this one are divided.
    done: usize,
    /// Rows from this one on were not written yet.
    fresh: usize,
}

impl Aggregate {
    pub(super) fn new(area: Rect, channels: usize, units: &[&Unit]) -> Self {
        let plane = |rows| Plane::zeros(area.width(), rows);
        // A unit's rows are open at most until the last unit that starts above their end is merged.
        let ring = units.iter().map(|u| u.region.height()).max().unwrap_or(1).min(area.height());
        Self {
            planes: (0..channels).map(|_| plane(area.height())).collect(),
            open: (0..channels).map(|_| plane(ring)).collect(),
            done: area.y.start,
            fresh: area.y.start,
            area,
        }
    }

    /// Adds a unit; `next` is the one that will follow.
    pub(super) fn add(&mut self, unit: &Unit, estimate: &Estimate, next: Option<&Unit>) {
        let region = &unit.region;
        let common = region.common(&self.area);
        let (to, from) = (common.x.start - self.area.x.start, common.x.start - region.x.start);
        let n = common.width();
        // Written before they are read: a fresh page that is read first is mapped twice, and the second time
        // every other thread is interrupted.
        for y in self.fresh..common.y.end {
            self.planes.iter_mut().for_each(|p| p.row_mut(y - self.area.y.start).fill(0.0));
        }
        self.fresh = self.fresh.max(common.y.end);
        for y in common.y.clone() {
            let source = (y - region.y.start) * region.width() + from;
            for c in 0..self.planes.len() {
                let ring = self.open[c].height();
                let numerator = &mut self.planes[c].row_mut(y - self.area.y.start)[to..to + n];
                let denominator = &mut self.open[c].row_mut(y % ring)[to..to + n];
                sum(numerator, &estimate.numerator[c][source..source + n]);
                sum(denominator, &estimate.denominator[c][source..source + n]);
            }
        }
        let open_from = next.map_or(self.area.y.end, |u| u.region.y.start.clamp(self.done, self.area.y.end));
        for y in self.done..open_from {
            for (plane, open) in self.planes.iter_mut().zip(&mut self.open) {
                let weights = open.row_mut(y % open.height());
                let row = plane.row_mut(y - self.area.y.start);
                row.iter_mut().zip(&mut *weights).for_each(|(v, w)| *v /= *w);
                weights.fill(0.0);
            }
        }
        self.done = open_from;
    }

    pub(super) fn finish(self) -> Vec<Plane> {
        debug_assert_eq!(self.done, self.area.y.end);
        self.planes
    }
}

fn sum(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(t, f)| *t += f);
}
