//! Work that looks at one frame at a time, as a sequence.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::{Input, SampleBuffer, Samples, SamplesMut, Sequence, nothing_left};
use crate::method::Window;
use crate::{Control, Result};

/// A frame as it was pushed.
#[derive(Default)]
pub(super) struct Kept {
    planes: Vec<SampleBuffer>,
    guide: Vec<SampleBuffer>,
}

impl Kept {
    /// Takes a copy into the memory that is there.
    pub(super) fn keep(&mut self, frame: &Input<'_>) {
        let keep = |to: &mut Vec<SampleBuffer>, from: &[Samples<'_>]| {
            to.resize_with(from.len(), || SampleBuffer::U8(Vec::new()));
            to.par_iter_mut().zip(from).for_each(|(to, from)| from.clone_into(to));
        };
        keep(&mut self.planes, frame.planes);
        keep(&mut self.guide, frame.guide);
    }

    /// Does something with the frame.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Input<'_>) -> T) -> T {
        let planes: Vec<Samples<'_>> = self.planes.iter().map(SampleBuffer::view).collect();
        let guide: Vec<Samples<'_>> = self.guide.iter().map(SampleBuffer::view).collect();
        work(&Input { planes: &planes, guide: &guide })
    }
}

/// Frames wait until they are pulled, and are filtered then.
pub(super) struct Singly<F> {
    window: Window,
    filter: F,
    waiting: VecDeque<Kept>,
    spare: Vec<Kept>,
}

impl<F> Singly<F>
where
    F: FnMut(&Input<'_>, &mut [SamplesMut<'_>], &Control) -> Result<()> + Send,
{
    /// `filter` gets frames that fit the window.
    pub(super) fn new(window: Window, filter: F) -> Self {
        Self { window, filter, waiting: VecDeque::new(), spare: Vec::new() }
    }
}

impl<F> Sequence for Singly<F>
where
    F: FnMut(&Input<'_>, &mut [SamplesMut<'_>], &Control) -> Result<()> + Send,
{
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        control.check()?;
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.keep(frame);
        self.waiting.push_back(kept);
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_output(to)?;
        let kept = self.waiting.pop_front().ok_or_else(nothing_left)?;
        kept.with(|frame| (self.filter)(frame, to, control))?;
        self.spare.push(kept);
        Ok(())
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        self.window.check_output(to)?;
        (self.filter)(frame, to, control)
    }
}
