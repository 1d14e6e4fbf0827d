//! A frame of the sequence as it is kept.

use std::sync::Mutex;

use super::distance::Exact;
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

    /// Which sums of squared differences between two frames are whole numbers that f32 holds exactly.
    pub(super) fn exact(&self, other: &Self, plan: &Plan) -> Exact {
        let Some((low, high)) = union(self.range, other.range) else { return Exact::Nothing };
        let side = (2 * plan.patch_radius + 1) as f32;
        let compared = if plan.guides == 0 { plan.channels } else { plan.guides } as f32;
        let column = (high - low) * (high - low) * compared * side;
        let most = (1 << 24) as f32;
        match () {
            () if column * side <= most => Exact::Patches,
            // Sums of up to 21 columns are far below 2^31.
            () if column <= most => Exact::Columns,
            () => Exact::Nothing,
        }
    }
}

fn union(a: Option<(f32, f32)>, b: Option<(f32, f32)>) -> Option<(f32, f32)> {
    let (a, b) = (a?, b?);
    Some((a.0.min(b.0), a.1.max(b.1)))
}
