//! A video that goes on with the next device when one fails.

use std::collections::VecDeque;
use std::sync::Arc;

use rayon::prelude::*;

use super::failover::Devices;
use super::sequence::Window;
use super::{Backend, Input, SampleBuffer, SampleFormat, Samples, SamplesMut, Sequence};
use crate::{Control, Error, Result};

/// A sequence that can be begun again: the frames that the next results need are kept.
pub(super) struct Restarting {
    devices: Arc<Devices>,
    window: Window,
    begin: Box<Begin>,
    /// Which device, unless it is the processor, and the sequence on it.
    running: (Option<usize>, Box<dyn Sequence>),
    kept: VecDeque<Kept>,
    /// How many of the kept frames have come out.
    pulled: usize,
    /// Frames that are needed no more: memory for the next.
    spare: Vec<Kept>,
}

/// Starts the method on a device.
type Begin = dyn Fn(&dyn Backend) -> Result<Box<dyn Sequence>> + Send;

/// A frame as it was pushed.
#[derive(Default)]
struct Kept {
    planes: Vec<SampleBuffer>,
    guide: Vec<SampleBuffer>,
}

impl Kept {
    fn keep(&mut self, frame: &Input<'_>) {
        let keep = |to: &mut Vec<SampleBuffer>, from: &[Samples<'_>]| {
            to.resize_with(from.len(), || SampleBuffer::U8(Vec::new()));
            to.par_iter_mut().zip(from).for_each(|(to, from)| from.clone_into(to));
        };
        keep(&mut self.planes, frame.planes);
        keep(&mut self.guide, frame.guide);
    }

    fn push_to(&self, sequence: &mut dyn Sequence, control: &Control) -> Result<()> {
        let planes: Vec<Samples<'_>> = self.planes.iter().map(SampleBuffer::view).collect();
        let guide: Vec<Samples<'_>> = self.guide.iter().map(SampleBuffer::view).collect();
        sequence.push(&Input { planes: &planes, guide: &guide }, control)
    }
}

impl Restarting {
    pub(super) fn new(
        devices: Arc<Devices>,
        window: Window,
        begin: impl Fn(&dyn Backend) -> Result<Box<dyn Sequence>> + Send + 'static,
    ) -> Result<Self> {
        let running = devices.start(&begin)?;
        let begin = Box::new(begin);
        Ok(Self { devices, window, begin, running, kept: VecDeque::new(), pulled: 0, spare: Vec::new() })
    }

    /// Whether the work has to be done again, on the next device, which has been given the first `frames` that are kept.
    fn again(&mut self, done: &Result<()>, frames: usize, control: &Control) -> Result<bool> {
        let (Err(e @ Error::Device { .. }), Some(number)) = (done, self.running.0) else { return Ok(false) };
        self.devices.leave(number, e);
        loop {
            self.running = self.devices.start(&self.begin)?;
            match (self.replay(frames, control), self.running.0) {
                (Err(e @ Error::Device { .. }), Some(number)) => self.devices.leave(number, &e),
                (replayed, _) => return replayed.map(|()| true),
            }
        }
    }

    /// Gives a new device what the old one had, in the same order; what has come out before is thrown away.
    fn replay(&mut self, frames: usize, control: &Control) -> Result<()> {
        let sequence = &mut *self.running.1;
        let pixels = self.window.width * self.window.height;
        let mut waste = vec![SampleBuffer::new(SampleFormat::F32, pixels); self.window.channels];
        let mut pull = |sequence: &mut dyn Sequence| {
            let mut to: Vec<SamplesMut<'_>> = waste.iter_mut().map(SampleBuffer::view_mut).collect();
            sequence.pull(&mut to, control)
        };
        let mut out = 0;
        for (i, frame) in self.kept.iter().take(frames).enumerate() {
            frame.push_to(sequence, control)?;
            if i >= self.window.future && out < self.pulled {
                pull(sequence)?;
                out += 1;
            }
        }
        (out..self.pulled).try_for_each(|_| pull(sequence))
    }
}

impl Sequence for Restarting {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        let before = self.kept.len();
        // The processor is the last: there is nothing to begin again on.
        if self.running.0.is_some() {
            let mut kept = self.spare.pop().unwrap_or_default();
            kept.keep(frame);
            self.kept.push_back(kept);
        }
        loop {
            let done = self.running.1.push(frame, control);
            if !self.again(&done, before, control)? {
                return done;
            }
        }
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        loop {
            let done = self.running.1.pull(to, control);
            if self.again(&done, self.kept.len(), control)? {
                continue;
            }
            self.pulled += 1;
            while self.pulled > self.window.past {
                self.spare.extend(self.kept.pop_front());
                self.pulled -= 1;
            }
            return done;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::failover::{Candidate, Failover};
    use super::*;
    use crate::device::DeviceOptions;
    use crate::device::cpu::Cpu;
    use crate::device::test_devices::Fake;
    use crate::nlm::{Params, Plan, Profile};

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

    /// Eight frames through a device.
    fn video(device: &dyn Backend, plan: &Plan) -> Vec<Vec<f32>> {
        let control = Control::new();
        let mut sequence = device.nlm(plan).unwrap();
        let mut out = Vec::new();
        for t in 0..8 + plan.future {
            if t < 8 {
                sequence.push(&Input { planes: &[Samples::U8(&frame(t))], guide: &[] }, &control).unwrap();
            }
            if t >= plan.future {
                let mut to = vec![0.0; 20 * 15];
                sequence.pull(&mut [SamplesMut::F32(&mut to)], &control).unwrap();
                out.push(to);
            }
        }
        out
    }

    #[test]
    fn a_video_goes_on_with_the_next_device() {
        for (past, future) in [(0, 0), (2, 0), (0, 1), (2, 2)] {
            let params = Params { past, future, patch: 3, search: 5, ..Profile::Fast.params(25.0, 1) };
            let plan = Plan::new(&params, (20, 15), 1, 0, 255.0, 60.0).unwrap();
            let want = video(&cpu(), &plan);
            for calls in 0..16 {
                let devices = vec![lost_after(calls), lost_after(3)];
                let auto = Failover::new(devices.into_iter(), || Ok(Box::new(cpu())), |_| ());
                assert_eq!(video(&auto, &plan), want, "past {past}, future {future}, lost after {calls}");
            }
        }
    }
}
