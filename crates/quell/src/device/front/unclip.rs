//! What clipping did to the noise is undone in the result, where there is any sign of it.

use std::collections::VecDeque;

use crate::device::{Input, Samples, SamplesMut, Sequence, nothing_left};
use crate::memory::check_planes;
use crate::method::{Plan, Window};
use crate::noise::{Seen, undo_seen_clipping};
use crate::{Control, Frame, Plane, Result};

/// A sequence whose frames were clipped, perhaps.
pub(super) struct Unclipped {
    inner: Box<dyn Sequence>,
    sigma: f32,
    white: f32,
    window: Window,
    /// Of frames in work: what was seen of their ends, if anything.
    seen: VecDeque<Option<Seen>>,
}

impl Unclipped {
    pub(super) fn new(inner: Box<dyn Sequence>, plan: &Plan, sigma: f32) -> Self {
        let (white, window) = (plan.front().white, plan.window());
        Self { inner, sigma, white, window, seen: VecDeque::new() }
    }

    fn look(&self, planes: &[Samples<'_>]) -> Option<Seen> {
        let size = (self.window.width, self.window.height);
        Seen::look(size, planes.len(), self.white, |plane, i| planes[plane].get(i))
    }

    /// Has `filter` fill floats, and stores them without what clipping did.
    fn undo(
        &mut self,
        seen: &Seen,
        to: &mut [SamplesMut<'_>],
        filter: impl FnOnce(&mut dyn Sequence, &mut [SamplesMut<'_>]) -> Result<()>,
    ) -> Result<()> {
        let Window { width, height, results, .. } = self.window;
        check_planes(results, width, height)?;
        let mut out: Vec<Plane> = (0..results).map(|_| Plane::zeros(width, height)).collect();
        let mut floats: Vec<SamplesMut<'_>> =
            out.iter_mut().map(|p| SamplesMut::F32(p.as_mut_slice())).collect();
        filter(&mut *self.inner, &mut floats)?;
        drop(floats);
        let mut frame = Frame::new(out, self.white)?;
        undo_seen_clipping(seen, &mut frame, self.sigma);
        for (to, plane) in to.iter_mut().zip(frame.planes()) {
            to.store(plane.as_slice(), 1.0, self.white);
        }
        Ok(())
    }
}

impl Sequence for Unclipped {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        self.seen.push_back(self.look(frame.planes));
        self.inner.push(frame, control)
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_output(to)?;
        match self.seen.pop_front().ok_or_else(nothing_left)? {
            None => self.inner.pull(to, control),
            Some(seen) => self.undo(&seen, to, |inner, to| inner.pull(to, control)),
        }
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        self.window.check_output(to)?;
        match self.look(frame.planes) {
            None => self.inner.frame(frame, to, control),
            Some(seen) => self.undo(&seen, to, |inner, to| inner.frame(frame, to, control)),
        }
    }
}
