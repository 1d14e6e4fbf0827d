//! Devices for the tests of what goes around devices.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::cpu::Cpu;
use super::{Backend, DeviceInfo, Input, Kind, SamplesMut, Sequence};
use crate::bm3d::Plan;
use crate::{Control, Error, Plane, PlaneView, Result, isoline, nlm};

/// The processor in the role of a GPU.
pub(super) struct Fake {
    name: String,
    cpu: Cpu,
    /// Pictures that it did.
    pub(super) done: AtomicUsize,
    /// It is lost when this many are done.
    pub(super) lost_after: usize,
    /// What it answers to every plan instead.
    pub(super) refuses: bool,
    pub(super) lanes: usize,
}

impl Fake {
    pub(super) fn new(name: &str, cpu: Cpu) -> Self {
        Self { name: name.into(), cpu, done: 0.into(), lost_after: usize::MAX, refuses: false, lanes: 1 }
    }
}

impl Fake {
    fn sequence(&self, inner: Box<dyn Sequence>) -> Result<Box<dyn Sequence>> {
        Ok(Box::new(FakeSequence { inner, name: self.name.clone(), left: self.lost_after }))
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

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn bm3d(&self, plan: &Plan, noisy: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>> {
        if self.refuses {
            return Err(Error::Unsupported(format!("{}: not this plan", self.name)));
        }
        if self.done.load(Ordering::SeqCst) >= self.lost_after {
            return Err(Error::Device { device: self.name.clone(), reason: "the device was lost".into() });
        }
        let out = self.cpu.bm3d(plan, noisy, control)?;
        self.done.fetch_add(1, Ordering::SeqCst);
        Ok(out)
    }

    fn nlm(&self, plan: &nlm::Plan) -> Result<Box<dyn Sequence>> {
        self.sequence(self.cpu.nlm(plan)?)
    }

    fn isoline(&self, plan: &isoline::Plan) -> Result<Box<dyn Sequence>> {
        self.sequence(self.cpu.isoline(plan)?)
    }
}

/// A video on it; every frame in or out is work done.
struct FakeSequence {
    inner: Box<dyn Sequence>,
    name: String,
    left: usize,
}

impl FakeSequence {
    fn work(&mut self) -> Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| Error::Device {
            device: self.name.clone(),
            reason: "the device was lost".into(),
        })?;
        Ok(())
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
}
