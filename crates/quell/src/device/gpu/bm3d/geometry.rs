//! Where samples lie in device memory. Every plane of a picture has the same layout, with a margin all round that
//! tiles may read: no kernel needs border code for its loads.

use std::ops::Range;

use crate::bm3d::{PassPlan, Plan};
use crate::method::lcm;

/// Rows above and columns left of the picture. A multiple of 16, so that rows start aligned; as wide as the widest
/// window of the fast kernels (59) and one step reach. `MARGIN` in the kernels.
pub(crate) const MARGIN: usize = 48;

/// The layout of the planes of one picture: sample (x, y) is element `(y + MARGIN) * pitch + x + MARGIN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Elements from one row to the next.
    pub(crate) pitch: usize,
    /// Rows of a plane, margins included.
    pub(crate) rows: usize,
}

impl Geometry {
    /// For a region of `width` x `height` samples of the plan's picture.
    pub(crate) fn new(plan: &Plan, width: usize, height: usize) -> Self {
        // A work-group takes up to 4 x 8 blocks of 4 x 4 references; the last one may stand mostly outside.
        let reach = |blocks: usize| {
            plan.passes.iter().map(|p| 4 * blocks * p.step + p.radius + 2 * p.patch).max().unwrap_or(0)
        };
        let pitch = (MARGIN + width + reach(4)).next_multiple_of(64);
        Self { width, height, pitch, rows: MARGIN + height + reach(8) }
    }

    /// Elements of a plane.
    pub(crate) fn elements(&self) -> usize {
        self.pitch * self.rows
    }
}

/// The reference patches of one pass in a region: number `i` of a row stands at `min(i * step, last_x)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) last_x: usize,
    pub(crate) last_y: usize,
}

impl Grid {
    /// The part of the picture's grid that lies in `region`. Regions begin at multiples of the step; the last row and
    /// column of patches, which stand off the grid, belong to regions that reach the picture's edge.
    pub(crate) fn new(pass: &PassPlan, plan: &Plan, region: &Region) -> Self {
        let axis = |range: &Range<usize>, side: usize| {
            let room = range.len() - pass.patch;
            let last = if range.end == side { room } else { room / pass.step * pass.step };
            (last.div_ceil(pass.step) + 1, last)
        };
        let ((columns, last_x), (rows, last_y)) = (axis(&region.x, plan.width), axis(&region.y, plan.height));
        Self { columns, rows, last_x, last_y }
    }
}

/// A rectangle of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) x: Range<usize>,
    pub(crate) y: Range<usize>,
}

impl Region {
    pub(crate) fn width(&self) -> usize {
        self.x.len()
    }

    pub(crate) fn height(&self) -> usize {
        self.y.len()
    }
}

/// A part of the picture that goes through all passes at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    /// What it delivers.
    pub(crate) core: Region,
    /// What it needs: the core and a halo.
    pub(crate) region: Region,
}

/// Cuts the plan's picture into tiles of at most about `side` x `side` pixels; 0 is one tile. Regions begin at
/// multiples of every step, so that the references are those of the whole picture.
pub(crate) fn tiles(plan: &Plan, side: usize) -> Vec<Tile> {
    let step = plan.passes.iter().map(|p| p.step).fold(1, lcm);
    let halo = plan.halo();
    let cut = |n: usize| -> Vec<(Range<usize>, Range<usize>)> {
        if side == 0 || side >= n {
            return vec![(0..n, 0..n)];
        }
        let side = n.div_ceil(n.div_ceil(side)).max(1);
        let cores = (0..n).step_by(side).map(|a| a..(a + side).min(n));
        cores
            .map(|core| {
                let start = core.start.saturating_sub(halo) / step * step;
                (core.clone(), start..(core.end + halo).min(n))
            })
            .collect()
    };
    let (columns, rows) = (cut(plan.width), cut(plan.height));
    let pairs = rows.iter().flat_map(|y| columns.iter().map(move |x| (x, y)));
    pairs
        .map(|(x, y)| Tile {
            core: Region { x: x.0.clone(), y: y.0.clone() },
            region: Region { x: x.1.clone(), y: y.1.clone() },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bm3d::{Profile, grid};

    fn plan(width: usize, height: usize, steps: (usize, usize)) -> Plan {
        let mut params = Profile::Original.params(25.0);
        (params.hard.step, params.wiener.step) = steps;
        (params.hard.window, params.wiener.window) = (9, 7);
        Plan::new(&params, width, height, &[25.0]).unwrap()
    }

    #[test]
    fn tiles_cover_the_picture_once_and_keep_to_the_grid() {
        for steps in [(3, 3), (4, 6), (5, 7), (8, 1)] {
            let plan = plan(211, 157, steps);
            for side in [0, 20, 64, 100, 150, 500] {
                let mut seen = vec![0; 211 * 157];
                for tile in tiles(&plan, side) {
                    for y in tile.core.y.clone() {
                        tile.core.x.clone().for_each(|x| seen[y * 211 + x] += 1);
                    }
                    for pass in &plan.passes {
                        assert!(tile.region.x.start % pass.step == 0 && tile.region.y.start % pass.step == 0);
                        let whole = grid(211, pass.patch, pass.step);
                        let part = Grid::new(pass, &plan, &tile.region);
                        for i in 0..part.columns {
                            let x = tile.region.x.start + (i * pass.step).min(part.last_x);
                            assert!(whole.contains(&x) && x + pass.patch <= tile.region.x.end);
                        }
                    }
                }
                assert!(seen.iter().all(|&n| n == 1), "side {side}, steps {steps:?}");
            }
        }
    }

    #[test]
    fn the_whole_picture_has_the_whole_grid() {
        for (w, h) in [(8, 8), (9, 17), (97, 53), (21, 20)] {
            let plan = plan(w, h, (3, 5));
            for pass in &plan.passes {
                let got = Grid::new(pass, &plan, &Region { x: 0..w, y: 0..h });
                let want = (grid(w, pass.patch, pass.step), grid(h, pass.patch, pass.step));
                assert_eq!((got.columns, got.rows), (want.0.len(), want.1.len()));
                assert_eq!((Some(&got.last_x), Some(&got.last_y)), (want.0.last(), want.1.last()));
            }
        }
    }
}
