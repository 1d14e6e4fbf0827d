//! How a picture is cut into tiles, and a tile into lanes.
//!
//! A tile is as wide as [`LANES`] lanes, and a lane is a strip of neighbouring columns: lane `k` of every vector belongs
//! to strip `k`. So a step to the next column is a step to the next vector for all lanes, displaced samples are whole
//! vectors, and running sums along rows need no shuffles. Tiles depend on the plan alone, and every tile is computed by
//! itself: threads do not change a bit.

use crate::nlm::Plan;

/// Lanes of a vector.
pub(super) const LANES: usize = 8;

/// Most displacements of one sweep.
pub(super) const MOST: usize = 4;

/// Most columns of a lane: what is sweept row by row should stay in the first-level cache.
const MOST_COLUMNS: usize = 96;

/// Floats of a tile, sums and samples: they are gone through for every few displacements, and fit the second-level
/// cache.
const TILE_FLOATS: usize = 180_000;

/// The tiles of a picture.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// Columns of the picture.
    pub(super) width: usize,
    /// Rows of the picture.
    pub(super) height: usize,
    /// Columns of a lane.
    pub(super) columns: usize,
    /// Rows of a tile; the last ones may have fewer.
    pub(super) rows: usize,
    /// Tiles side by side.
    pub(super) across: usize,
    /// Tiles one below the other.
    pub(super) down: usize,
    /// Columns and rows around a tile whose samples are read.
    pub(super) reach: usize,
    /// Columns beside a tile that symmetric weights add to, in vain.
    pub(super) margin: usize,
}

/// One tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    /// First column.
    pub(super) x: usize,
    /// First row.
    pub(super) y: usize,
    /// Rows.
    pub(super) rows: usize,
}

impl Grid {
    pub(super) fn new(plan: &Plan) -> Self {
        let across = plan.width.div_ceil(LANES * MOST_COLUMNS).max(1);
        let columns = plan.width.div_ceil(LANES * across).max(1);
        // Running sums are seeded one column before the first, and a sweep may go on beyond the last displacement.
        let reach = plan.halo() + 2 + MOST;
        let margin = plan.search_radius + MOST;
        let compared = if plan.guides == 0 { 0 } else { plan.guides };
        let sums = (plan.channels + 2) * (columns + 2 * margin) * LANES;
        let samples = (plan.channels + compared) * (columns + 2 * reach) * LANES;
        let fit = TILE_FLOATS.saturating_sub(2 * reach * samples) / (sums + samples);
        // Rows above a tile are computed for symmetry: a few rows would be no more than these.
        let most = fit.clamp(32.max(2 * plan.search_radius), 128);
        let down = plan.height.div_ceil(most).max(1);
        let rows = plan.height.div_ceil(down).max(1);
        Self { width: plan.width, height: plan.height, columns, rows, across, down, reach, margin }
    }

    /// Number of tiles.
    pub(super) fn len(&self) -> usize {
        self.across * self.down
    }

    /// A tile, row by row.
    pub(super) fn tile(&self, index: usize) -> Tile {
        let (x, y) = (index % self.across * self.width_of_tile(), index / self.across * self.rows);
        Tile { x, y, rows: self.rows.min(self.height.saturating_sub(y)) }
    }

    /// Columns of a tile; those beyond the picture are computed and thrown away.
    pub(super) fn width_of_tile(&self) -> usize {
        LANES * self.columns
    }
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
