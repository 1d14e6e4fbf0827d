//! A video that goes on with the next device when one fails.

use std::ops::Range;
use std::sync::Arc;

use super::failover::Devices;
use super::ring::Ring;
use super::singly::Kept;
use super::{DeviceSamples, Input, SampleBuffer, SampleFormat, SamplesMut, Sequence};
use crate::{Control, Plan, Result};

/// A sequence that can be begun again: the frames that the next results need are kept.
pub(super) struct Restarting {
    devices: Arc<Devices>,
    plan: Plan,
    /// Which device, unless it is the processor, and the sequence on it.
    running: (Option<usize>, Box<dyn Sequence>),
    kept: Ring<Kept>,
    /// The types of the results.
    formats: Vec<SampleFormat>,
}

impl Restarting {
    pub(super) fn new(devices: Arc<Devices>, plan: &Plan) -> Result<Self> {
        let (running, plan) = (devices.start(plan)?, plan.clone());
        let kept = Ring::new(plan.window().past, plan.window().future);
        Ok(Self { devices, plan, running, kept, formats: Vec::new() })
    }

    /// Whether the work has to be done again, on the next device, which has been given these frames.
    fn again(&mut self, done: &Result<()>, frames: Range<usize>, control: &Control) -> Result<bool> {
        let (Err(e), Some(number)) = (done, self.running.0) else { return Ok(false) };
        if !e.is_of_device() {
            return Ok(false);
        }
        self.devices.leave(number, e);
        loop {
            self.running = self.devices.start(&self.plan)?;
            match (self.replay(frames.clone(), control), self.running.0) {
                (Err(e), Some(number)) if e.is_of_device() => self.devices.leave(number, &e),
                (replayed, _) => return replayed.map(|()| true),
            }
        }
    }

    /// Gives a new device what the old one had, in the same order; what has come out before is thrown away.
    fn replay(&mut self, frames: Range<usize>, control: &Control) -> Result<()> {
        let (sequence, window) = (&mut *self.running.1, self.plan.window());
        let room = |&format| SampleBuffer::new(format, window.width * window.height);
        let mut waste: Vec<SampleBuffer> = self.formats.iter().map(room).collect();
        let mut pull = |sequence: &mut dyn Sequence| {
            let mut to: Vec<SamplesMut<'_>> = waste.iter_mut().map(SampleBuffer::view_mut).collect();
            sequence.pull(&mut to, control)
        };
        let (mut out, next) = (frames.start, self.kept.turn());
        for t in frames.clone() {
            let Some(kept) = self.kept.get(t) else { continue };
            kept.with(|frame| sequence.push(frame, control))?;
            if t >= frames.start + window.future && out < next {
                pull(sequence)?;
                out += 1;
            }
        }
        (out..next).try_for_each(|_| pull(sequence))
    }
}

impl Sequence for Restarting {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        let before = self.kept.numbers();
        // The processor is the last: there is nothing to begin again on.
        if self.running.0.is_some() {
            let mut kept = self.kept.room().unwrap_or_default();
            kept.keep(frame);
            self.kept.push(kept);
        }
        loop {
            let done = self.running.1.push(frame, control);
            if !self.again(&done, before.clone(), control)? {
                return done;
            }
        }
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.formats = to.iter().map(SamplesMut::format).collect();
        loop {
            let done = self.running.1.pull(to, control);
            if self.again(&done, self.kept.numbers(), control)? {
                continue;
            }
            self.kept.advance();
            return done;
        }
    }

    /// Nothing has to be kept: who calls has the frame.
    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        let none = self.kept.turn()..self.kept.turn();
        loop {
            let done = self.running.1.frame(frame, to, control);
            if !self.again(&done, none.clone(), control)? {
                return done;
            }
        }
    }

    /// The picture is in the memory of one device: there is no other one to go on with.
    fn lent(&mut self, from: &[DeviceSamples], to: &[DeviceSamples], control: &Control) -> Result<()> {
        self.running.1.lent(from, to, control)
    }
}

#[cfg(test)]
mod tests {
    use super::super::failover::{Candidate, Failover};
    use super::*;
    use crate::device::cpu::Cpu;
    use crate::device::test_devices::Fake;
    use crate::device::{Backend, DeviceOptions, Samples};
    use crate::{bm3d, isoline, nlm};

    fn cpu() -> Cpu {
        Cpu::new(DeviceOptions { threads: 1, ..DeviceOptions::default() }).unwrap()
    }

    /// A device that is lost after so many pushes and pulls.
    fn lost_after(calls: usize) -> Candidate {
        Candidate::new(move || {
            let mut fake = Fake::new("cuda:0", cpu());
            fake.lost_after = calls;
            Ok(Box::new(fake))
        })
    }

    fn frame(t: usize) -> Vec<u8> {
        (0..20 * 15).map(|i| (i * i * (t + 3) % 251) as u8).collect()
    }

    /// Six frames through a device, of which `ahead` more are in work than are needed.
    fn video(device: &dyn Backend, plan: &Plan, ahead: usize) -> Vec<Vec<f32>> {
        let control = Control::new();
        let mut sequence = device.open(plan).unwrap();
        let (mut out, late) = (Vec::new(), plan.window().future + ahead);
        for t in 0..6 + late {
            if t < 6 {
                sequence.push(&Input { planes: &[Samples::U8(&frame(t))], guide: &[] }, &control).unwrap();
            }
            if t >= late {
                let mut to = vec![0.0; 20 * 15];
                sequence.pull(&mut [SamplesMut::F32(&mut to)], &control).unwrap();
                out.push(to);
            }
        }
        out
    }

    fn plans() -> Vec<Plan> {
        let mut plans: Vec<Plan> = Vec::new();
        for (past, future) in [(0, 0), (2, 0), (0, 1), (2, 2)] {
            let params = nlm::Profile::Fast.params(25.0, 1);
            let params = nlm::Params { past, future, patch: 3, search: 5, ..params };
            plans.push(nlm::Plan::new(&params, (20, 15), 1, 0, 255.0, 60.0).unwrap().into());
        }
        let params = isoline::Params { past: 1, future: 1, ..isoline::Profile::Fast.params(60.0, 1) };
        plans.push(isoline::Plan::new(&params, (20, 15), 255.0, &[60.0]).unwrap().into());
        plans.push(bm3d::Plan::new(&bm3d::Profile::Fast.params(60.0), 20, 15, &[60.0]).unwrap().into());
        let params = nlm::Params { past: 1, future: 1, search: 5, ..nlm::Profile::Fast.params(25.0, 1) };
        let size = |w, h, sigma| Plan::from(nlm::Plan::new(&params, (w, h), 1, 0, 255.0, sigma).unwrap());
        plans.push(size(20, 15, 60.0).with_coarser(size(10, 7, 30.0)).unwrap());
        plans
    }

    #[test]
    fn a_video_goes_on_with_the_next_device_whatever_the_method() {
        for plan in plans() {
            for ahead in [0, 2] {
                let want = video(&cpu(), &plan, ahead);
                for calls in 0..13 {
                    let devices = vec![lost_after(calls), lost_after(3)];
                    let auto = Failover::new(devices.into_iter(), || Ok(Box::new(cpu())), |_| ());
                    let window = plan.window();
                    assert_eq!(video(&auto, &plan, ahead), want, "{window:?}, lost after {calls}");
                }
            }
        }
    }

    #[test]
    fn a_picture_is_begun_again_without_having_been_kept() {
        let plan = plans().remove(5);
        let run = |device: &dyn Backend| {
            let mut to = vec![0.0; 20 * 15];
            let (from, control) = (frame(3), Control::new());
            let input = Input { planes: &[Samples::U8(&from)], guide: &[] };
            let mut sequence = device.open(&plan).unwrap();
            for _ in 0..3 {
                sequence.frame(&input, &mut [SamplesMut::F32(&mut to)], &control).unwrap();
            }
            to
        };
        let want = run(&cpu());
        for calls in 0..4 {
            let auto = Failover::new(vec![lost_after(calls)].into_iter(), || Ok(Box::new(cpu())), |_| ());
            assert_eq!(run(&auto), want);
        }
    }
}
