//! Frames in, frames out.

use std::collections::VecDeque;
use std::sync::Arc;

use super::padded::Padded;
use super::{Engine, check, offset};
use crate::device::cpu::Cpu;
use crate::device::sequence::{Window, nothing_left};
use crate::device::{Input, SamplesMut, Sequence};
use crate::isoline::Plan;
use crate::{Control, Error, Result};

/// An isoline filter at work.
pub(in crate::device::cpu) struct IsolineSequence {
    pool: Arc<rayon::ThreadPool>,
    engine: Engine,
    plan: Plan,
    /// Pushed and not yet filtered.
    waiting: VecDeque<Vec<Padded>>,
}

impl IsolineSequence {
    pub(in crate::device::cpu) fn new(cpu: &Cpu, plan: &Plan) -> Result<Self> {
        if plan.width == 0 || plan.height == 0 {
            return Err(Error::Shape("a picture without samples cannot be filtered".into()));
        }
        check(plan)?;
        let (pool, plan) = (cpu.pool.clone(), plan.clone());
        Ok(Self { pool, engine: Engine::new(cpu), plan, waiting: VecDeque::new() })
    }
}

impl Sequence for IsolineSequence {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        Window::from(&self.plan).check_input(frame)?;
        control.check()?;
        let read = self.pool.install(|| self.engine.read(&self.plan, frame.planes));
        self.waiting.push_back(read);
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        Window::from(&self.plan).check_output(to)?;
        control.check()?;
        let Some(z) = self.waiting.front() else { return Err(nothing_left()) };
        self.pool.install(|| {
            let result = self.engine.run(&self.plan, z, control)?;
            for (to, plane) in to.iter_mut().zip(&result) {
                plane.store(to, offset(&self.plan), self.plan.white);
            }
            Ok(())
        })?;
        self.waiting.pop_front();
        Ok(())
    }
}
