//! Where samples lie in device memory. Every plane of a picture has the same layout, with a margin all round that
//! tiles may read: no kernel needs border code for its loads.

use crate::bm3d::Plan;

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
    pub(crate) fn new(plan: &Plan) -> Self {
        // A work-group takes up to 4 x 8 blocks of 4 x 4 references; the last one may stand mostly outside.
        let reach = |blocks: usize| {
            plan.passes.iter().map(|p| 4 * blocks * p.step + p.radius + 2 * p.patch).max().unwrap_or(0)
        };
        let (width, height) = (plan.width, plan.height);
        let pitch = (MARGIN + width + reach(4)).next_multiple_of(64);
        Self { width, height, pitch, rows: MARGIN + height + reach(8) }
    }

    /// Elements of a plane.
    pub(crate) fn elements(&self) -> usize {
        self.pitch * self.rows
    }
}
