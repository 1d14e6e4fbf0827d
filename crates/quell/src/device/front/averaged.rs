//! Frames averaged along motion, by the processor, for devices that do not do that by themselves.

use std::sync::Arc;

use crate::device::cpu::Level;
use crate::device::cpu::frames::{Count, Frame, Layout, Padded, Pool, average};
use crate::device::ring::Ring;
use crate::device::{Input, Samples, SamplesMut, Sequence, nothing_left};
use crate::memory::check_planes;
use crate::method::frames::Window as Frames;
use crate::method::{Plan, Window};
use crate::{Control, Result};

/// A sequence that filters averages of frames, and in front of it what makes them.
pub(super) struct Averaged {
    inner: Box<dyn Sequence>,
    window: Window,
    frames: Frames,
    level: Level,
    layout: Layout,
    memory: Arc<Pool>,
    ring: Ring<Frame>,
    /// The average, and of how many frames, as planes without margins.
    planes: Vec<Vec<f32>>,
}

impl Averaged {
    /// `inner` is open for the plan's [`Counted`](crate::method::Frames::Counted) frames of channels.
    pub(super) fn new(inner: Box<dyn Sequence>, plan: &Plan, frames: &Frames) -> Result<Self> {
        let window = plan.window();
        let layout = Layout::new(window.width, window.height, frames.averaging.reach().max(1));
        Ok(Self {
            inner,
            window,
            level: Level::pick(None)?,
            layout,
            memory: Arc::default(),
            ring: Ring::new(frames.past, frames.future),
            frames: frames.clone(),
            planes: Vec::new(),
        })
    }

    /// The planes of the next frame, averaged with those around it.
    fn average(&mut self) -> Result<()> {
        let Window { width, height, planes, .. } = self.window;
        if self.planes.is_empty() {
            check_planes(planes + 1, width, height)?;
            self.planes = vec![vec![0.0; width * height]; planes + 1];
        }
        let at = self.ring.next().ok_or_else(nothing_left)?;
        let frame = self.ring.get(at).ok_or_else(nothing_left)?;
        let others: Vec<&Frame> =
            self.ring.window(at).filter(|&t| t != at).filter_map(|t| self.ring.get(t)).collect();
        let made = average(self.level, &self.frames.averaging, frame, &others, Count::Effective);
        let (counts, z) = match &made {
            Some((z, counts)) => (Some(counts), z),
            None => (None, &frame.z),
        };
        let Some((last, first)) = self.planes.split_last_mut() else { return Err(nothing_left()) };
        first.iter_mut().zip(z).for_each(|(to, from)| from.copy_to(to));
        match counts {
            Some(counts) => counts.copy_to(last),
            None => last.fill(1.0),
        }
        Ok(())
    }
}

impl Sequence for Averaged {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        control.check()?;
        // Planes that wait, and those that are compared.
        check_planes(2 * frame.planes.len() + 2, self.window.width, self.window.height)?;
        let z = frame.planes.iter().map(|p| Padded::copy(*p, self.layout, 0.0, &self.memory)).collect();
        self.ring.push(Frame::new(self.level, Some(&self.frames.averaging), z));
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_output(to)?;
        control.check()?;
        self.average()?;
        let planes: Vec<Samples<'_>> = self.planes.iter().map(|p| Samples::F32(p)).collect();
        let (guide, planes) = planes.split_last().ok_or_else(nothing_left)?;
        self.inner.frame(&Input { planes, guide: std::slice::from_ref(guide) }, to, control)?;
        self.ring.advance();
        // Their planes go back to the pool.
        while self.ring.room().is_some() {}
        Ok(())
    }
}
