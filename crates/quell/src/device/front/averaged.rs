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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Backend, DeviceOptions, cpu::Cpu};
    use crate::method::Frames as Over;
    use crate::method::frames::reference;
    use crate::metrics::largest;
    use crate::noise::add_gaussian;
    use crate::{Frame as Picture, Plane, PlaneView, bm3d, ridge};

    const SIZE: (usize, usize) = (75, 46);

    /// Frames of a picture that moves by two columns and one row and becomes darker, and in which something else happens.
    fn clip(count: usize, sigma: f64) -> Vec<Plane> {
        let (w, h) = SIZE;
        let frame = |t: usize| {
            let value = |i: usize| {
                let (x, y) = (i % w + 2 * t, i / w + t);
                let own = if i % w > 55 && i / w < 14 { 40.0 * (t % 3) as f32 } else { 0.0 };
                let fade = 1.0 - 0.08 * t as f32;
                own + fade * (110.0 + 60.0 * (x as f32 / 4.0).sin() * (y as f32 / 5.0).cos())
            };
            let plane = Plane::from_vec(w, h, (0..w * h).map(value).collect()).unwrap();
            let clean = Picture::new(vec![plane], 255.0).unwrap();
            add_gaussian(&clean, sigma, t as u64).unwrap().into_planes().remove(0)
        };
        (0..count).map(frame).collect()
    }

    fn apart(a: &Plane, b: &Plane) -> f32 {
        largest(a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()))
    }

    fn cpu() -> Cpu {
        Cpu::new(DeviceOptions::default()).unwrap()
    }

    /// Everything that comes out, as soon as its window is there.
    fn run(plan: &Plan, frames: &[Plane]) -> Vec<Plane> {
        let (mut sequence, future) = (cpu().open(plan).unwrap(), plan.window().future);
        let mut out = Vec::new();
        let mut pull = |sequence: &mut Box<dyn Sequence>| {
            let mut plane = Plane::zeros(SIZE.0, SIZE.1);
            sequence.pull(&mut [SamplesMut::F32(plane.as_mut_slice())], &Control::new()).unwrap();
            out.push(plane);
        };
        for (t, frame) in frames.iter().enumerate() {
            let planes = [Samples::F32(frame.as_slice())];
            sequence.push(&Input { planes: &planes, guide: &[] }, &Control::new()).unwrap();
            if t >= future {
                pull(&mut sequence);
            }
        }
        (0..future.min(frames.len())).for_each(|_| pull(&mut sequence));
        out
    }

    /// The reference's average of a frame, and what it is told of it.
    fn averaged(window: &Frames, frames: &[Plane], at: usize) -> (Vec<Plane>, Plane) {
        let range = at.saturating_sub(window.past)..(at + window.future + 1).min(frames.len());
        let views: Vec<Vec<PlaneView<'_>>> = frames[range.clone()].iter().map(|f| vec![f.view()]).collect();
        reference::run(&window.averaging, &views, at - range.start)
    }

    #[test]
    fn bm3d_filters_averages_as_the_reference_does() {
        let (frames, window) = (clip(4, 12.0), Frames::new(2, 1, 12.0));
        let work = bm3d::Plan::new(&bm3d::Profile::Fast.params(12.0), SIZE.0, SIZE.1, &[12.0]).unwrap();
        let plan = Plan::from(work.clone()).over(Over::Averaged(window.clone())).unwrap();
        for (t, got) in run(&plan, &frames).iter().enumerate() {
            let (planes, counts) = averaged(&window, &frames, t);
            assert!(counts.as_slice().iter().all(|&n| (1.0..=4.001).contains(&n)));
            let want = bm3d::reference::run_counted(&work, &[planes[0].view()], Some(&counts.view())).last;
            let off = apart(got, &want[0]);
            assert!(off < 0.02, "frame {t}: {off}");
        }
    }

    #[test]
    fn ridge_filters_averages_as_the_reference_does() {
        let (frames, window) = (clip(3, 20.0), Frames::new(1, 1, 20.0));
        let work = ridge::Plan::new(&ridge::Profile::Fast.params(20.0), SIZE.0, SIZE.1, &[20.0]).unwrap();
        let plan = Plan::from(work.clone()).over(Over::Averaged(window.clone())).unwrap();
        let (planes, counts) = averaged(&window, &frames, 1);
        let want = ridge::reference::run_counted(&work, &[planes[0].view()], Some(&counts.view()));
        let off = apart(&run(&plan, &frames)[1], &want[0]);
        assert!(off < 0.05, "{off}");
    }

    #[test]
    fn still_frames_count_and_a_cut_does_not() {
        let window = Frames::new(2, 2, 12.0);
        let mut frames = clip(1, 12.0);
        frames.extend((0..2).map(|i| {
            let clean = Picture::new(vec![Plane::zeros(SIZE.0, SIZE.1)], 255.0).unwrap();
            add_gaussian(&clean, 12.0, 50 + i).unwrap().into_planes().remove(0)
        }));
        let (_, of_cut) = averaged(&window, &frames, 0);
        assert!(of_cut.as_slice().iter().all(|&n| n < 1.1), "nothing is taken from across a cut");
        let (_, still) = averaged(&window, &frames[1..], 0);
        let mean = still.as_slice().iter().sum::<f32>() / still.as_slice().len() as f32;
        assert!((1.8..=2.001).contains(&mean), "{mean}");
    }
}
