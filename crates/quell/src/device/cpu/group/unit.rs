//! Units of work: rectangles of reference patches, the same for every thread count and tile size.
//!
//! Each unit adds its patches up in buffers of its own; the buffers are then added to the picture in the
//! order of the units. So the order of every float addition is fixed by the plan alone (contract 6).

use std::ops::Range;

use crate::PlaneView;
use crate::method::group::Search;

/// Aimed-at size of a unit in pixels. Wide enough that the halo does not dominate, small enough that the
/// buffers of a unit stay in the cache and that a small picture has work for every thread.
const UNIT: (usize, usize) = (192, 72);

/// A rectangle of pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::device::cpu) struct Rect {
    pub(in crate::device::cpu) x: Range<usize>,
    pub(in crate::device::cpu) y: Range<usize>,
}

impl Rect {
    pub(in crate::device::cpu) fn width(&self) -> usize {
        self.x.len()
    }

    pub(in crate::device::cpu) fn height(&self) -> usize {
        self.y.len()
    }

    pub(in crate::device::cpu) fn touches(&self, other: &Self) -> bool {
        !self.common(other).x.is_empty() && !self.common(other).y.is_empty()
    }

    /// The pixels of both; a side may be empty.
    pub(in crate::device::cpu) fn common(&self, other: &Self) -> Self {
        let both = |a: &Range<usize>, b: &Range<usize>| a.start.max(b.start)..a.end.min(b.end);
        Self { x: both(&self.x, &other.x), y: both(&self.y, &other.y) }
    }

    /// The smallest rectangle around both.
    pub(in crate::device::cpu) fn union(&self, other: &Self) -> Self {
        let join = |a: &Range<usize>, b: &Range<usize>| a.start.min(b.start)..a.end.max(b.end);
        Self { x: join(&self.x, &other.x), y: join(&self.y, &other.y) }
    }
}

/// One unit: the columns and rows of its reference patches, and every pixel they can reach.
#[derive(Clone, Debug)]
pub(in crate::device::cpu) struct Unit {
    pub(in crate::device::cpu) xs: Vec<usize>,
    pub(in crate::device::cpu) ys: Vec<usize>,
    pub(in crate::device::cpu) region: Rect,
}

/// The units that add to an area, in order, with those of their reference patches that do: what is added to a pixel stays in
/// the order of the whole picture.
pub(in crate::device::cpu) fn touching(
    units: &[Unit],
    search: &Search,
    area: &Rect,
    (w, h): (usize, usize),
) -> Vec<Unit> {
    let some = |all: &[usize], area: &Range<usize>, n: usize| -> Vec<usize> {
        let adds = |p: &&usize| {
            let reach = search.reach(**p..**p, n);
            reach.start < area.end && area.start < reach.end
        };
        all.iter().filter(adds).copied().collect()
    };
    let units = units.iter().filter(|u| u.region.touches(area));
    units
        .filter_map(|u| Unit::new(search, some(&u.xs, &area.x, w), some(&u.ys, &area.y, h), (w, h)))
        .collect()
}

impl Unit {
    fn new(search: &Search, xs: Vec<usize>, ys: Vec<usize>, (w, h): (usize, usize)) -> Option<Self> {
        let reach = |p: &[usize], n: usize| Some(search.reach(*p.first()?..*p.last()?, n));
        let region = Rect { x: reach(&xs, w)?, y: reach(&ys, h)? };
        Some(Self { xs, ys, region })
    }
}

/// Samples of a picture, or of a part of it, addressed by their place in the whole picture.
#[derive(Clone, Copy)]
pub(in crate::device::cpu) struct Source<'a> {
    view: PlaneView<'a>,
    origin: (usize, usize),
    /// Size of the whole picture.
    pub(in crate::device::cpu) size: (usize, usize),
}

impl<'a> Source<'a> {
    pub(in crate::device::cpu) fn whole(view: PlaneView<'a>) -> Self {
        Self { view, origin: (0, 0), size: (view.width(), view.height()) }
    }

    pub(in crate::device::cpu) fn part(view: PlaneView<'a>, area: &Rect, size: (usize, usize)) -> Self {
        Self { view, origin: (area.x.start, area.y.start), size }
    }

    /// Samples `x` of row `y`.
    #[inline(always)]
    pub(in crate::device::cpu) fn row(&self, y: usize, x: Range<usize>) -> &'a [f32] {
        &self.view.row(y - self.origin.1)[x.start - self.origin.0..x.end - self.origin.0]
    }
}

/// All units of a search over a picture of `w` x `h`, row by row.
pub(in crate::device::cpu) fn units(search: &Search, w: usize, h: usize) -> Vec<Unit> {
    let side = |n: usize, aim: usize| -> Vec<Vec<usize>> {
        let positions = search.grid(n);
        let parts = positions.len().div_ceil((aim / search.step).max(1));
        positions.chunks(positions.len().div_ceil(parts)).map(<[usize]>::to_vec).collect()
    };
    let columns = side(w, UNIT.0);
    let rows = side(h, UNIT.1).into_iter();
    let unit = |ys: &[usize], xs: &[usize]| Unit::new(search, xs.to_vec(), ys.to_vec(), (w, h));
    rows.flat_map(|ys| columns.iter().filter_map(move |xs| unit(&ys, xs)).collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bm3d::{Plan, Profile, grid};

    #[test]
    fn units_hold_every_reference_patch_once() {
        for (w, h) in [(8, 8), (200, 73), (401, 331)] {
            let plan = Plan::new(&Profile::Normal.params(25.0), w, h, &[25.0]).unwrap();
            let pass = &plan.passes[0];
            let mut seen: Vec<(usize, usize)> = units(&pass.search(), w, h)
                .iter()
                .flat_map(|u| u.ys.iter().flat_map(|&y| u.xs.iter().map(move |&x| (y, x))))
                .collect();
            seen.sort_unstable();
            let xs = grid(w, 8, pass.step);
            let want: Vec<_> =
                grid(h, 8, pass.step).into_iter().flat_map(|y| xs.iter().map(move |&x| (y, x))).collect();
            assert_eq!(seen, want);
        }
    }
}
