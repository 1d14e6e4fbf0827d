//! Frames that depend on each other, the same for every method: each is filtered as soon as its window is there, and its
//! result comes to the host while the next ones are worked on.

use std::sync::Arc;

use super::clock::{Clock, Times, measure};
use super::device::stopped;
use super::transfer::{Transfer, one_format};
use super::{Gpu, GpuResult, Runtime, Stop};
use crate::device::ring::Ring;
use crate::device::sequence::nothing_left;
use crate::device::{Input, SampleFormat, SamplesMut, Sequence};
use crate::method::Window;
use crate::{Control, Error, Result};

/// A video on a device.
pub(super) struct Video<R: Runtime, F> {
    pub(super) runtime: Arc<R>,
    /// Of the samples.
    pub(super) window: Window,
    /// What integers are clipped to.
    pub(super) white: f32,
    pub(super) frames: Ring<F>,
    /// The type of the results, when the first one has been asked for: from then on frames are filtered ahead.
    to: Option<SampleFormat>,
}

impl<R: Runtime, F> Video<R, F> {
    /// Without frames yet. `spare` is memory of some that nobody needs any more.
    pub(super) fn new(
        runtime: &Arc<R>,
        window: Window,
        white: f32,
        (past, future): (usize, usize),
        spare: &mut Vec<F>,
    ) -> Self {
        let mut frames = Ring::new(past, future);
        frames.give(spare.drain(..));
        Self { runtime: runtime.clone(), window, white, frames, to: None }
    }

    /// Samples of a plane.
    pub(super) fn pixels(&self) -> usize {
        self.window.width * self.window.height
    }

    /// Ends it: whatever is still queued reads its memory. False if the device is lost.
    pub(super) fn end(&mut self, transfer: &mut Transfer<R>, spare: &mut Vec<F>) -> bool {
        let done = self.runtime.finish(&transfer.queue).is_ok();
        if done {
            transfer.forget();
            spare.extend(self.frames.drain());
        }
        done
    }
}

/// A video, and the way of its samples.
pub(super) type Parts<'a, R, F> = (&'a mut Video<R, F>, &'a mut Transfer<R>);

/// What a method does to the frames of a [`Video`]; that makes it a [`Sequence`].
pub(super) trait Windowed: Send {
    type Runtime: Runtime;
    /// A frame in device memory.
    type Frame;

    fn parts(&mut self) -> Parts<'_, Self::Runtime, Self::Frame>;

    fn video(&mut self) -> &mut Video<Self::Runtime, Self::Frame> {
        self.parts().0
    }

    /// Sends a frame to the device, where it becomes the last one.
    fn send(&mut self, frame: &Input<'_>) -> Result<(), Stop>;
    /// Takes the samples of the last frame once more.
    fn arrive_again(&mut self, clock: &mut Clock<Self::Runtime>) -> GpuResult<()>;
    /// Filters a frame into the buffer of the result, as samples of this type.
    fn filter(
        &mut self,
        at: usize,
        to: SampleFormat,
        clock: &mut Clock<Self::Runtime>,
        control: &Control,
    ) -> Result<(), Stop>;

    fn device_bytes(&self) -> usize;
}

impl<W: Windowed> Sequence for W {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.video().window.check_input(frame)?;
        control.check()?;
        let done = self.send(frame).and_then(|()| go_ahead(self, control));
        done.map_err(|stop| stopped(&*self.video().runtime, stop))
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.video().window.check_output(to)?;
        control.check()?;
        next(self, to, control).map_err(|stop| stopped(&*self.video().runtime, stop))
    }
}

/// Filters the next frame, and calls its result.
fn start<W: Windowed>(all: &mut W, at: usize, to: SampleFormat, control: &Control) -> Result<(), Stop> {
    all.filter(at, to, &mut Clock::off(), control)?;
    let (video, transfer) = all.parts();
    transfer.call(&*video.runtime, video.window.results * video.pixels() * to.bytes(), to)?;
    video.frames.advance();
    Ok(())
}

/// Filters what can be filtered already.
fn go_ahead<W: Windowed>(all: &mut W, control: &Control) -> Result<(), Stop> {
    while let Video { to: Some(to), frames, .. } = all.video()
        && let (Some(at), true) = (frames.next(), frames.ready())
    {
        let to = *to;
        start(all, at, to, control)?;
    }
    Ok(())
}

/// The oldest frame that has not come out.
fn next<W: Windowed>(all: &mut W, to: &mut [SamplesMut<'_>], control: &Control) -> Result<(), Stop> {
    let format = one_format(to.iter().map(SamplesMut::format));
    let (video, transfer) = all.parts();
    match (transfer.called(), video.frames.next()) {
        (Some(called), _) if called != format => {
            return Err(Error::Shape("the results of a video must be of one type".into()).into());
        }
        (Some(_), _) => {}
        (None, None) => return Err(nothing_left().into()),
        (None, Some(at)) => start(all, at, format, control)?,
    }
    all.video().to = Some(format);
    go_ahead(all, control)?;
    let (video, transfer) = all.parts();
    Ok(transfer.fetch(&*video.runtime, to, video.white)?)
}

impl<R: Runtime> Gpu<R> {
    /// Filters the last but `future` of `frames` again and again. A repetition takes what a frame of a video takes: one
    /// arrives, and one is filtered.
    pub(super) fn repeated(
        &self,
        all: &mut impl Windowed<Runtime = R>,
        frames: &[Input<'_>],
        future: usize,
        repeat: usize,
    ) -> Result<Times> {
        let control = Control::new();
        let (Some(at), Some(last)) = (frames.len().checked_sub(1 + future), frames.last()) else {
            return Err(Error::Shape(format!("{} frames are too few", frames.len())));
        };
        frames.iter().try_for_each(|frame| all.push(frame, &control))?;
        let format = last.planes.first().map_or(SampleFormat::F32, |s| s.format());
        let times = measure(repeat, |grain| {
            let mut clock = Clock::start(&*self.runtime, &all.parts().1.queue, grain)?;
            all.arrive_again(&mut clock)?;
            all.filter(at, format, &mut clock, &control)?;
            self.runtime.finish(&all.parts().1.queue)?;
            Ok(clock.read(&*self.runtime)?)
        });
        let mut times = times.map_err(|e: Stop| self.stopped(e))?;
        times.device_bytes = all.device_bytes();
        Ok(times)
    }
}
