//! What clipping did to the noise is undone in the result, where there is any sign of it.

use super::layer::{Before, Layer};
use crate::device::{Input, Samples};
use crate::method::Plan;
use crate::noise::{Seen, UNCLIP_REACH, undo_seen_clipping};
use crate::{Control, Result};

/// Frames were clipped, perhaps.
pub(super) struct Unclip {
    sigma: f32,
    white: f32,
    size: (usize, usize),
}

impl Unclip {
    pub(super) fn new(plan: &Plan, sigma: f32) -> Self {
        let window = plan.window();
        Self { sigma, white: plan.front().white, size: (window.width, window.height) }
    }
}

impl Layer for Unclip {
    type Known = Seen;
    const REACH: usize = UNCLIP_REACH;

    fn before(&mut self, frame: &Input<'_>) -> Result<Option<Before<Seen>>> {
        let planes = frame.planes;
        let seen = Seen::look(self.size, planes.len(), self.white, |plane, i| planes[plane].get(i));
        Ok(seen.map(Before::knowing))
    }

    fn after(
        &mut self,
        seen: Seen,
        _: &[Samples<'_>],
        results: &mut [&mut [f32]],
        _: &Control,
    ) -> Result<()> {
        undo_seen_clipping(&seen, results, self.size, self.white, self.sigma);
        Ok(())
    }
}
