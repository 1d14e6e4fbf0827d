//! Methods that look at one frame only, as sequences.

use std::collections::VecDeque;

use crate::device::{Input, SampleBuffer, Samples, SamplesMut, Sequence};
use crate::{Control, Error, Result};

type Filter = dyn Fn(&[Samples<'_>], &mut [SamplesMut<'_>], &Control) -> Result<()> + Send;

/// A filter of single frames.
pub(super) struct Single {
    filter: Box<Filter>,
    /// Pushed and not yet pulled.
    waiting: VecDeque<Vec<SampleBuffer>>,
}

impl Single {
    pub(super) fn new(
        filter: impl Fn(&[Samples<'_>], &mut [SamplesMut<'_>], &Control) -> Result<()> + Send + 'static,
    ) -> Self {
        Self { filter: Box::new(filter), waiting: VecDeque::new() }
    }
}

impl Sequence for Single {
    fn push(&mut self, frame: &Input<'_>, _: &Control) -> Result<()> {
        self.waiting.push_back(frame.planes.iter().map(Samples::to_buffer).collect());
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        let Some(frame) = self.waiting.pop_front() else {
            return Err(Error::Shape("every frame has been filtered already".into()));
        };
        let from: Vec<Samples<'_>> = frame.iter().map(SampleBuffer::view).collect();
        (self.filter)(&from, to, control)
    }
}
