//! The processor with so many threads for every call: Python threads that filter at the same time do not share them.

use std::sync::Arc;

use quell::device::cpu::Cpu;
use quell::device::{Backend, Caps, DeviceInfo, DeviceOptions, Input, Kind, SamplesMut, Sequence};
use quell::{Control, Plan, Plane, PlaneView, Result, bm3d};

use crate::idle::{Held, Idle};

static IDLE: Idle<DeviceOptions, Cpu> = Idle::new();

/// A device that all calls share; but where it is the processor, with threads and memory of its own for every plan at work.
pub(crate) struct OnItsOwn {
    pub(crate) shared: Arc<dyn Backend>,
    pub(crate) options: DeviceOptions,
}

impl OnItsOwn {
    /// Nothing, if it is not the processor.
    fn cpu(&self) -> Result<Option<Held<DeviceOptions, Cpu>>> {
        if self.shared.info().kind != Kind::Cpu {
            return Ok(None);
        }
        IDLE.take(self.options, || Cpu::new(self.options)).map(Some)
    }
}

impl Backend for OnItsOwn {
    fn info(&self) -> DeviceInfo {
        self.shared.info()
    }

    fn at_once(&self) -> usize {
        self.shared.at_once()
    }

    fn caps(&self, plan: &Plan) -> Caps {
        self.shared.caps(plan)
    }

    fn open(&self, plan: &Plan) -> Result<Box<dyn Sequence>> {
        let Some(cpu) = self.cpu()? else { return self.shared.open(plan) };
        Ok(Box::new(Own { inner: cpu.open(plan)?, _cpu: cpu }))
    }

    fn refine(
        &self,
        plan: &bm3d::Plan,
        noisy: &[PlaneView<'_>],
        basic: &[PlaneView<'_>],
        control: &Control,
    ) -> Result<Vec<Plane>> {
        match self.cpu()? {
            Some(cpu) => cpu.refine(plan, noisy, basic, control),
            None => self.shared.refine(plan, noisy, basic, control),
        }
    }
}

/// A plan at work, and whose threads it has.
struct Own {
    inner: Box<dyn Sequence>,
    _cpu: Held<DeviceOptions, Cpu>,
}

impl Sequence for Own {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.inner.push(frame, control)
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.inner.pull(to, control)
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.inner.frame(frame, to, control)
    }
}
