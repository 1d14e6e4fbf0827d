//! What clipping did to the noise is undone in the result, where there is any sign of it.

use super::layer::{Before, Layer};
use crate::device::{Input, Samples};
use crate::method::{Plan, Unclip};
use crate::noise::{Ends, UNCLIP_REACH, clipped_ends, undo_at};
use crate::{Control, Result};

/// Frames were clipped, perhaps.
pub(super) struct Unclipped {
    unclip: Unclip,
    white: f32,
    size: (usize, usize),
}

impl Unclipped {
    pub(super) fn new(plan: &Plan, unclip: Unclip) -> Self {
        let window = plan.window();
        Self { unclip, white: plan.front().white, size: (window.width, window.height) }
    }
}

impl Layer for Unclipped {
    type Known = Ends;
    const REACH: usize = UNCLIP_REACH;

    fn before(&mut self, frame: &Input<'_>) -> Result<Option<Before<Ends>>> {
        let Unclip { sigma, ends } = self.unclip;
        let planes = frame.planes;
        let look = || clipped_ends(self.size, planes.len(), self.white, sigma, |p, i| planes[p].get(i));
        let ends = ends.unwrap_or_else(look);
        Ok(ends.any().then(|| Before::knowing(ends)))
    }

    fn after(
        &mut self,
        ends: Ends,
        _: &[Samples<'_>],
        results: &mut [&mut [f32]],
        _: &Control,
    ) -> Result<()> {
        undo_at(ends, results, self.size, self.white, self.unclip.sigma);
        Ok(())
    }
}
