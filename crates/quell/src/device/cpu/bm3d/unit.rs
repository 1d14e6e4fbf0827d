//! Units of work: rectangles of reference patches, the same for every thread count and tile size.
//!
//! Each unit adds its patches up in buffers of its own; the buffers are then added to the picture in the
//! order of the units. So the order of every float addition is fixed by the plan alone (contract 6).

use std::ops::Range;

use crate::PlaneView;
use crate::bm3d::{PassPlan, Plan, grid};

/// Aimed-at size of a unit in pixels. Wide enough that the halo does not dominate, small enough that the
/// buffers of a unit stay in the cache and that a small picture has work for every thread.
const UNIT: (usize, usize) = (192, Plan::UNIT_ROWS);

/// A rectangle of pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) x: Range<usize>,
    pub(super) y: Range<usize>,
}

impl Rect {
    pub(super) fn width(&self) -> usize {
        self.x.len()
    }

    pub(super) fn height(&self) -> usize {
        self.y.len()
    }

    pub(super) fn touches(&self, other: &Self) -> bool {
        !self.common(other).x.is_empty() && !self.common(other).y.is_empty()
    }

    /// The pixels of both; a side may be empty.
    pub(super) fn common(&self, other: &Self) -> Self {
        let both = |a: &Range<usize>, b: &Range<usize>| a.start.max(b.start)..a.end.min(b.end);
        Self { x: both(&self.x, &other.x), y: both(&self.y, &other.y) }
    }

    /// The smallest rectangle around both.
    pub(super) fn union(&self, other: &Self) -> Self {
        let join = |a: &Range<usize>, b: &Range<usize>| a.start.min(b.start)..a.end.max(b.end);
        Self { x: join(&self.x, &other.x), y: join(&self.y, &other.y) }
    }
}

/// One unit: the columns and rows of its reference patches, and every pixel they can reach.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) xs: Vec<usize>,
    pub(super) ys: Vec<usize>,
    pub(super) region: Rect,
}

/// The units that add to an area, in order.
pub(super) fn touching<'a>(units: &'a [Unit], area: &Rect) -> Vec<&'a Unit> {
    units.iter().filter(|u| u.region.touches(area)).collect()
}

/// Samples of a picture, or of a part of it, addressed by their place in the whole picture.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    view: PlaneView<'a>,
    origin: (usize, usize),
    /// Size of the whole picture.
    pub(super) size: (usize, usize),
}

impl<'a> Source<'a> {
    pub(super) fn whole(view: PlaneView<'a>) -> Self {
        Self { view, origin: (0, 0), size: (view.width(), view.height()) }
    }

    pub(super) fn part(view: PlaneView<'a>, area: &Rect, size: (usize, usize)) -> Self {
        Self { view, origin: (area.x.start, area.y.start), size }
    }

    /// Samples `x` of row `y`.
    #[inline(always)]
    pub(super) fn row(&self, y: usize, x: Range<usize>) -> &'a [f32] {
        &self.view.row(y - self.origin.1)[x.start - self.origin.0..x.end - self.origin.0]
    }
}

/// All units of a pass over a picture of `w` x `h`, row by row.
pub(super) fn units(pass: &PassPlan, w: usize, h: usize) -> Vec<Unit> {
    let side = |n: usize, aim: usize| -> Vec<Vec<usize>> {
        let positions = grid(n, pass.patch, pass.step);
        let parts = positions.len().div_ceil((aim / pass.step).max(1));
        positions.chunks(positions.len().div_ceil(parts)).map(<[usize]>::to_vec).collect()
    };
    let columns = side(w, UNIT.0);
    let reach = |p: &[usize], n: usize| {
        let last = p[p.len() - 1] + pass.patch + pass.radius;
        p[0].saturating_sub(pass.radius)..last.min(n)
    };
    let mut all = Vec::new();
    for ys in side(h, UNIT.1) {
        for xs in &columns {
            let region = Rect { x: reach(xs, w), y: reach(&ys, h) };
            all.push(Unit { xs: xs.clone(), ys: ys.clone(), region });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bm3d::Profile;

    #[test]
    fn units_hold_every_reference_patch_once() {
        for (w, h) in [(8, 8), (200, 73), (401, 331)] {
            let plan = Plan::new(&Profile::Normal.params(25.0), w, h, &[25.0]).unwrap();
            let pass = &plan.passes[0];
            let mut seen: Vec<(usize, usize)> = units(pass, w, h)
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
