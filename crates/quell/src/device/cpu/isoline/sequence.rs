//! Frames in, frames out.

use std::sync::Arc;

use super::{Engine, check, offset};
use crate::device::cpu::Cpu;
use crate::device::cpu::frames::{Count, Frame, average};
use crate::device::ring::Ring;
use crate::device::sequence::nothing_left;
use crate::device::{Input, SamplesMut, Sequence};
use crate::isoline::Plan;
use crate::memory::check_planes;
use crate::method::Planned;
use crate::{Control, Error, Result};

/// An isoline filter at work.
pub(in crate::device::cpu) struct IsolineSequence {
    pool: Arc<rayon::ThreadPool>,
    engine: Engine,
    plan: Plan,
    frames: Ring<Frame>,
}

impl IsolineSequence {
    pub(in crate::device::cpu) fn new(cpu: &Cpu, plan: &Plan) -> Result<Self> {
        if plan.width == 0 || plan.height == 0 {
            return Err(Error::Shape("a picture without samples cannot be filtered".into()));
        }
        check(plan)?;
        let (pool, frames) = (cpu.pool.clone(), Ring::new(plan.past, plan.future));
        Ok(Self { pool, engine: Engine::new(cpu), plan: plan.clone(), frames })
    }

    /// The next frame, and the others of its window.
    fn window(&self) -> Option<(&Frame, Vec<&Frame>)> {
        let at = self.frames.next()?;
        let others = self.frames.window(at).filter(|&t| t != at);
        Some((self.frames.get(at)?, others.filter_map(|t| self.frames.get(t)).collect()))
    }
}

impl Sequence for IsolineSequence {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        Planned::window(&self.plan).check_input(frame)?;
        control.check()?;
        check_planes(self.engine.fresh(&self.plan), self.plan.width, self.plan.height)?;
        let read = self.pool.install(|| {
            let averaging = self.plan.averages().then_some(&self.plan.averaging);
            Frame::new(self.engine.level, averaging, self.engine.read(&self.plan, frame.planes))
        });
        self.frames.push(read);
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        Planned::window(&self.plan).check_output(to)?;
        control.check()?;
        let Some((frame, others)) = self.window() else { return Err(nothing_left()) };
        self.pool.install(|| {
            let result =
                match average(self.engine.level, &self.plan.averaging, frame, &others, Count::Weights) {
                    Some((z, count)) => self.engine.run(&self.plan, &z, Some(&count), control)?,
                    None => self.engine.run(&self.plan, &frame.z, None, control)?,
                };
            for (to, plane) in to.iter_mut().zip(&result) {
                plane.store(to, offset(&self.plan), self.plan.white);
            }
            Ok(())
        })?;
        self.frames.advance();
        // Their planes go back to the pool.
        while self.frames.room().is_some() {}
        Ok(())
    }
}
