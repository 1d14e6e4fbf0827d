//! Planes that are filtered one by one.

use crate::device::{DeviceSamples, Input, SamplesMut, Sequence};
use crate::{Control, Error, Result};

/// Every plane of a frame in a sequence of its own.
pub(super) struct Each {
    sequences: Vec<Box<dyn Sequence>>,
}

impl Each {
    pub(super) fn new(sequences: Vec<Box<dyn Sequence>>) -> Self {
        Self { sequences }
    }

    fn check(&self, planes: usize) -> Result<()> {
        if planes == self.sequences.len() {
            return Ok(());
        }
        Err(Error::Shape(format!("{} planes are needed, not {planes}", self.sequences.len())))
    }
}

fn alone<'a>(frame: &Input<'a>, plane: usize) -> Input<'a> {
    Input { planes: &frame.planes[plane..=plane], guide: frame.guide }
}

impl Sequence for Each {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.check(frame.planes.len())?;
        let mut all = self.sequences.iter_mut().enumerate();
        all.try_for_each(|(i, sequence)| sequence.push(&alone(frame, i), control))
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.check(to.len())?;
        let (n, all) = (to.len(), self.sequences.iter_mut().zip(to.chunks_mut(1)).enumerate());
        { all }.try_for_each(|(i, (sequence, to))| sequence.pull(to, &control.section(i, n)))
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.check(frame.planes.len())?;
        self.check(to.len())?;
        let (n, all) = (to.len(), self.sequences.iter_mut().zip(to.chunks_mut(1)).enumerate());
        { all }
            .try_for_each(|(i, (sequence, to))| sequence.frame(&alone(frame, i), to, &control.section(i, n)))
    }

    fn lent(&mut self, from: &[DeviceSamples], to: &[DeviceSamples], control: &Control) -> Result<()> {
        self.check(from.len())?;
        self.check(to.len())?;
        let (n, all) = (to.len(), self.sequences.iter_mut().zip(std::iter::zip(from, to)).enumerate());
        { all }.try_for_each(|(i, (sequence, (from, to)))| {
            sequence.lent(&[*from], &[*to], &control.section(i, n))
        })
    }
}
