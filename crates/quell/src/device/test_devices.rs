//! Devices for the tests of what goes around devices.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cpu::Cpu;
use super::{Backend, Caps, DeviceInfo, Input, Kind, SamplesMut, Sequence};
use crate::{Control, Error, Plan, Result};

/// The processor in the role of a GPU.
pub(super) struct Fake {
    name: String,
    cpu: Cpu,
    /// What it did: every frame in or out.
    pub(super) done: Arc<AtomicUsize>,
    /// It is lost when this much is done.
    pub(super) lost_after: usize,
    /// It does not carry out any plan.
    pub(super) refuses: bool,
    pub(super) at_once: usize,
}

impl Fake {
    pub(super) fn new(name: &str, cpu: Cpu) -> Self {
        let (done, lost_after) = (Arc::default(), usize::MAX);
        Self { name: name.into(), cpu, done, lost_after, refuses: false, at_once: 1 }
    }
}

/// A GPU that can be used.
pub(super) fn info(name: &str) -> DeviceInfo {
    DeviceInfo { description: "a fake".into(), ..DeviceInfo::new(Kind::Cuda, name) }
}

impl Backend for Fake {
    fn info(&self) -> DeviceInfo {
        info(&self.name)
    }

    fn at_once(&self) -> usize {
        self.at_once
    }

    fn caps(&self, plan: &Plan) -> Caps {
        if self.refuses {
            Caps::refusing(format!("{}: not this plan", self.name))
        } else {
            self.cpu.caps(plan)
        }
    }

    fn open(&self, plan: &Plan) -> Result<Box<dyn Sequence>> {
        self.caps(plan).check()?;
        let (inner, name, done) = (self.cpu.open(plan)?, self.name.clone(), self.done.clone());
        Ok(Box::new(FakeSequence { inner, name, done, lost_after: self.lost_after }))
    }
}

/// A plan at work on it.
struct FakeSequence {
    inner: Box<dyn Sequence>,
    name: String,
    done: Arc<AtomicUsize>,
    lost_after: usize,
}

impl FakeSequence {
    fn work(&mut self) -> Result<()> {
        if self.done.fetch_add(1, Ordering::SeqCst) < self.lost_after {
            return Ok(());
        }
        Err(Error::Device { device: self.name.clone(), reason: "the device was lost".into() })
    }
}

impl Sequence for FakeSequence {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.work()?;
        self.inner.push(frame, control)
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.work()?;
        self.inner.pull(to, control)
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.work()?;
        self.inner.frame(frame, to, control)
    }
}
