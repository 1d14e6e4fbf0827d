//! Methods that look at one frame only, as sequences.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::bm3d::Plan;
use crate::device::{Backend, Encoding, Input, SampleBuffer, Samples, SamplesMut, Sequence};
use crate::{Control, Error, Result};

/// BM3D, frame by frame.
pub(super) struct Single {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) plan: Plan,
    pub(super) encoding: Encoding,
    /// Pushed and not yet pulled.
    pub(super) waiting: VecDeque<Vec<SampleBuffer>>,
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
        self.backend.bm3d_samples(&self.plan, &from, self.encoding, to, control)
    }
}
