//! How a picture is cut into tiles, and a tile into lanes.
//!
//! Every lane of a vector has a strip of neighbouring columns to itself. So a step to the next column is a step to the
//! next vector for all lanes, displaced samples are whole vectors, and running sums along rows need no shuffles. Strips
//! reach beyond the tile by the largest displacement; what a strip adds to the columns of its neighbours is put there
//! at the end. Tiles depend on the plan and the instruction set alone, and every tile is computed by itself: threads do
//! not change a bit.

use crate::device::cpu::Level;
use crate::device::cpu::simd::{Kernel, Simd, Wide, dispatch};
use crate::nlm::Plan;

/// The vectors of an instruction set.
pub(super) type V<S> = <S as Simd>::Wide;

/// Lanes of a vector.
#[inline(always)]
pub(super) fn lanes<S: Simd>() -> usize {
    V::<S>::LANES
}

/// Most displacements of one sweep.
pub(super) const MOST: usize = 4;

/// Most columns of a tile.
const MOST_COLUMNS: usize = 768;

/// Floats of a tile, sums and samples: they are gone through for every few displacements, and fit the second-level
/// cache.
const TILE_FLOATS: usize = 250_000;

/// The tiles of a picture.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// Columns of the picture.
    pub(super) width: usize,
    /// Rows of the picture.
    pub(super) height: usize,
    /// Lanes of a vector.
    pub(super) lanes: usize,
    /// Columns of a lane.
    pub(super) columns: usize,
    /// Columns of a tile; the last ones may have fewer.
    pub(super) wide: usize,
    /// Rows of a tile; the last ones may have fewer.
    pub(super) rows: usize,
    /// Tiles side by side.
    pub(super) across: usize,
    /// Tiles one below the other.
    pub(super) down: usize,
    /// Columns and rows around a strip whose samples are read.
    pub(super) reach: usize,
    /// Columns that symmetric weights add to beside a strip, and that strips have more than the tile on either side.
    pub(super) margin: usize,
}

/// One tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    /// First column.
    pub(super) x: usize,
    /// First row.
    pub(super) y: usize,
    /// Columns.
    pub(super) columns: usize,
    /// Rows.
    pub(super) rows: usize,
}

struct CountLanes;

impl Kernel for CountLanes {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self) -> usize {
        lanes::<S>()
    }
}

impl Grid {
    pub(super) fn new(plan: &Plan, level: Level) -> Self {
        let lanes = dispatch(level, CountLanes);
        let wide = equal_parts(plan.width, MOST_COLUMNS);
        let margin = plan.search_radius;
        let columns = (wide + 2 * margin).div_ceil(lanes);
        // Running sums are seeded a column and a row early, those of whole patches twice.
        let reach = plan.halo() + 2;
        let sums = (plan.channels + 2) * (columns + 2 * margin) * lanes;
        let samples = (plan.channels + plan.guides) * (columns + 2 * reach) * lanes;
        let fit = TILE_FLOATS.saturating_sub(2 * reach * samples) / (sums + samples);
        // Rows above a tile are computed for symmetry: a few rows would be no more than these.
        let most = fit.clamp(32.max(2 * plan.search_radius), 128);
        let rows = equal_parts(plan.height, most);
        let (across, down) = (plan.width.div_ceil(wide), plan.height.div_ceil(rows));
        Self {
            width: plan.width,
            height: plan.height,
            lanes,
            columns,
            wide,
            rows,
            across,
            down,
            reach,
            margin,
        }
    }

    /// Number of tiles.
    pub(super) fn len(&self) -> usize {
        self.across * self.down
    }

    /// A tile, row by row.
    pub(super) fn tile(&self, index: usize) -> Tile {
        let (x, y) = (index % self.across * self.wide, index / self.across * self.rows);
        let columns = self.wide.min(self.width.saturating_sub(x));
        Tile { x, y, columns, rows: self.rows.min(self.height.saturating_sub(y)) }
    }
}

/// The length of as few, and as equal, parts as possible of no more than `most`.
fn equal_parts(length: usize, most: usize) -> usize {
    length.div_ceil(length.div_ceil(most).max(1)).max(1)
}

/// Cuts `count` displacements into as few, and as equal, sweeps as possible: (first, count) of each.
pub(super) fn sweeps(count: usize) -> impl Iterator<Item = (usize, usize)> {
    let parts = count.div_ceil(MOST).max(1);
    (0..parts)
        .map(move |i| (i * count / parts, (i + 1) * count / parts))
        .filter_map(|(from, to)| (to > from).then_some((from, to - from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_cover_every_displacement_once() {
        for count in 0..30 {
            let all: Vec<usize> = sweeps(count).flat_map(|(from, n)| from..from + n).collect();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
            assert!(sweeps(count).all(|(_, n)| n <= MOST));
        }
    }
}
