//! A frame of the sequence as it is kept.

use std::sync::Mutex;

use super::grid::Grid;
use super::samples::Mirrored;
use crate::device::Input;
use crate::nlm::Plan;

/// A frame, and what is known about it so far.
pub(super) struct Frame {
    pub(super) planes: Vec<Mirrored>,
    pub(super) guide: Vec<Mirrored>,
    /// Least and greatest of the compared samples, if all are whole numbers.
    range: Option<(f32, f32)>,
    /// Sums of every tile, once there are any.
    pub(super) sums: Vec<Mutex<Vec<f32>>>,
    /// Reciprocal totals, and shares of the pixels themselves.
    pub(super) totals: Option<[Mirrored; 2]>,
}

impl Frame {
    pub(super) fn new(grid: &Grid, input: &Input<'_>) -> Self {
        let planes: Vec<_> = input.planes.iter().map(|&s| Mirrored::from_samples(grid, s)).collect();
        let guide: Vec<_> = input.guide.iter().map(|&s| Mirrored::from_samples(grid, s)).collect();
        let compared = if guide.is_empty() { &planes } else { &guide };
        let range = compared.iter().map(|(_, range)| *range).reduce(union).flatten();
        let only = |planes: Vec<(Mirrored, _)>| planes.into_iter().map(|(plane, _)| plane).collect();
        let sums = (0..grid.len()).map(|_| Mutex::default()).collect();
        Self { planes: only(planes), guide: only(guide), range, sums, totals: None }
    }

    /// Whether the distances of patches of two frames are whole numbers that f32 holds exactly.
    pub(super) fn exact(&self, other: &Self, plan: &Plan) -> bool {
        let side = 2 * plan.patch_radius + 1;
        let compared = if plan.guides == 0 { plan.channels } else { plan.guides };
        let samples = (side * side * compared) as f32;
        union(self.range, other.range).is_some_and(|(low, high)| {
            let most = high - low;
            most * most * samples <= (1 << 24) as f32
        })
    }
}

fn union(a: Option<(f32, f32)>, b: Option<(f32, f32)>) -> Option<(f32, f32)> {
    let (a, b) = (a?, b?);
    Some((a.0.min(b.0), a.1.max(b.1)))
}
