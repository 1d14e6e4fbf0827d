//! Adding the units up, in the order of the units; rows are finished as soon as no later unit reaches them.
//!
//! The picture is cut into strips of columns. Each adds its units up in their order, so that the sums do not depend on the
//! number of threads; but different strips may be at work at the same time.

use std::ops::Range;

use super::unit::{Rect, Unit};
use crate::Plane;

/// Columns of a strip: narrow enough that there are strips for every thread, and about as wide as a unit.
const STRIP: usize = 192;

/// What a unit adds to the picture: sums over its region, such as a numerator and a denominator of every channel.
#[derive(Default)]
pub(in crate::device::cpu) struct Sums(pub(in crate::device::cpu) Vec<Vec<f32>>);

impl Sums {
    /// Zeros for `count` regions of `area` pixels.
    pub(in crate::device::cpu) fn reset(&mut self, count: usize, area: usize) {
        self.0.resize(count, Vec::new());
        for sum in &mut self.0 {
            sum.clear();
            sum.resize(area, 0.0);
        }
    }
}

/// Makes results of sums: `finish(row, columns, sums, results)`.
pub(in crate::device::cpu) trait Finish:
    Fn(usize, Range<usize>, &[&[f32]], &mut [&mut [f32]])
{
}

impl<F: Fn(usize, Range<usize>, &[&[f32]], &mut [&mut [f32]])> Finish for F {}

/// Some columns of an area of the picture.
pub(in crate::device::cpu) struct Strip<'a> {
    area: Rect,
    /// The results that are not finished yet, from `done` on.
    rows: std::vec::IntoIter<Vec<&'a mut [f32]>>,
    /// Sums of the rows that are still open: row `y` is at `y % ring`.
    open: Vec<Plane>,
    /// Rows above this one are finished.
    done: usize,
}

/// The strips of an area, with so many sums, whose results go to `planes`.
pub(in crate::device::cpu) fn strips<'a>(
    area: &Rect,
    sums: usize,
    planes: &'a mut [Plane],
    units: &[Unit],
) -> Vec<Strip<'a>> {
    let cuts: Vec<Range<usize>> =
        area.x.clone().step_by(STRIP).map(|x| x..(x + STRIP).min(area.x.end)).collect();
    // A unit's rows are open at most until the last unit that starts above their end is merged.
    let ring = units.iter().map(|u| u.region.height()).max().unwrap_or(1).min(area.height());
    let mut rows: Vec<Vec<Vec<&'a mut [f32]>>> =
        cuts.iter().map(|_| (0..area.height()).map(|_| Vec::new()).collect()).collect();
    for plane in planes {
        for (y, row) in plane.as_mut_slice().chunks_exact_mut(area.width()).enumerate() {
            for (strip, part) in rows.iter_mut().zip(row.chunks_mut(STRIP)) {
                strip[y].push(part);
            }
        }
    }
    let strip = |(x, rows): (&Range<usize>, Vec<Vec<&'a mut [f32]>>)| Strip {
        area: Rect { x: x.clone(), y: area.y.clone() },
        rows: rows.into_iter(),
        open: (0..sums).map(|_| Plane::zeros(x.len(), ring)).collect(),
        done: area.y.start,
    };
    cuts.iter().zip(rows).map(strip).collect()
}

impl Strip<'_> {
    /// Whether a unit adds to it.
    pub(in crate::device::cpu) fn takes(&self, unit: &Unit) -> bool {
        unit.region.touches(&self.area)
    }

    /// Adds a unit; `next` is the one that will follow in this strip.
    pub(in crate::device::cpu) fn add(
        &mut self,
        unit: &Unit,
        sums: &Sums,
        next: Option<&Unit>,
        finish: &impl Finish,
    ) {
        let region = &unit.region;
        let common = region.common(&self.area);
        let (to, from) = (common.x.start - self.area.x.start, common.x.start - region.x.start);
        let n = common.width();
        for y in common.y.clone() {
            let source = (y - region.y.start) * region.width() + from;
            for (open, sums) in self.open.iter_mut().zip(&sums.0) {
                let ring = y % open.height();
                sum(&mut open.row_mut(ring)[to..to + n], &sums[source..source + n]);
            }
        }
        let open_from = next.map_or(self.area.y.end, |u| u.region.y.start.clamp(self.done, self.area.y.end));
        for (y, mut results) in (self.done..open_from).zip(&mut self.rows) {
            let row = |open: &Plane| y % open.height();
            let sums: Vec<&[f32]> = self.open.iter().map(|open| open.row(row(open))).collect();
            finish(y, self.area.x.clone(), &sums, &mut results);
            self.open.iter_mut().for_each(|open| open.row_mut(row(open)).fill(0.0));
        }
        self.done = open_from;
    }
}

fn sum(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(t, f)| *t += f);
}

/// From the corners of patches to all of their pixels: sums over `n` x `n` pixels up and to the left.
pub(in crate::device::cpu) fn spread(corners: &mut [f32], width: usize, n: usize) {
    let mut line = vec![0.0; width];
    for row in corners.chunks_exact_mut(width) {
        line.copy_from_slice(row);
        for shift in 1..n.min(width) {
            row[shift..].iter_mut().zip(&line).for_each(|(to, from)| *to += from);
        }
    }
    for y in (1..corners.len() / width).rev() {
        let (above, row) = corners.split_at_mut(y * width);
        for up in above.chunks_exact(width).rev().take(n - 1) {
            row[..width].iter_mut().zip(up).for_each(|(to, from)| *to += from);
        }
    }
}
