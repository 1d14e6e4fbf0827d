//! Frames that depend on each other, the same for every method: each is filtered as soon as its window is there, and its
//! result comes to the host while the next ones are worked on.

use super::clock::{Clock, Times, measure};
use super::transfer::{Transfer, one_format};
use super::{Gpu, GpuResult, Runtime, Stop};
use crate::device::sequence::nothing_left;
use crate::device::{Input, SampleFormat, SamplesMut, Sequence};
use crate::{Control, Error, Result};

/// What tells the samples and results of a video on a device.
pub(super) trait Windowed<R: Runtime>: Sequence {
    /// The number of the next frame, and whether all of its window is there.
    fn turn(&self) -> Option<(usize, bool)>;
    /// It is the turn of the one after it.
    fn advance(&mut self);
    /// Filters a frame into the buffer of the result, as samples of this type.
    fn filter(
        &mut self,
        at: usize,
        to: SampleFormat,
        clock: &mut Clock<R>,
        control: &Control,
    ) -> Result<(), Stop>;
    /// Takes the samples of the last frame once more.
    fn arrive_again(&mut self, clock: &mut Clock<R>) -> GpuResult<()>;

    /// The type of the results, when the first one has been asked for: from then on frames are filtered ahead.
    fn wanted(&mut self) -> &mut Option<SampleFormat>;
    /// The way of samples, with the runtime that drives it.
    fn transfer(&mut self) -> (&R, &mut Transfer<R>);
    fn queue(&self) -> &R::Queue;
    /// Samples of a result.
    fn samples(&self) -> usize;
    /// What integers are clipped to.
    fn white(&self) -> f32;
    fn device_bytes(&self) -> usize;
}

/// Filters the next frame, and calls its result.
fn start<R: Runtime>(
    all: &mut dyn Windowed<R>,
    at: usize,
    to: SampleFormat,
    control: &Control,
) -> Result<(), Stop> {
    all.filter(at, to, &mut Clock::off(), control)?;
    let bytes = all.samples() * to.bytes();
    let (runtime, transfer) = all.transfer();
    transfer.call(runtime, bytes, to)?;
    all.advance();
    Ok(())
}

/// Filters what can be filtered already.
pub(super) fn go_ahead<R: Runtime>(all: &mut dyn Windowed<R>, control: &Control) -> Result<(), Stop> {
    while let (Some(to), Some((at, true))) = (*all.wanted(), all.turn()) {
        start(all, at, to, control)?;
    }
    Ok(())
}

/// The oldest frame that has not come out.
pub(super) fn pull<R: Runtime>(
    all: &mut dyn Windowed<R>,
    to: &mut [SamplesMut<'_>],
    control: &Control,
) -> Result<(), Stop> {
    let format = one_format(to.iter().map(SamplesMut::format));
    match (all.transfer().1.called(), all.turn()) {
        (Some(called), _) if called != format => {
            return Err(Error::Shape("the results of a video must be of one type".into()).into());
        }
        (Some(_), _) => {}
        (None, None) => return Err(nothing_left().into()),
        (None, Some((at, _))) => start(all, at, format, control)?,
    }
    *all.wanted() = Some(format);
    go_ahead(all, control)?;
    let white = all.white();
    let (runtime, transfer) = all.transfer();
    Ok(transfer.fetch(runtime, to, white)?)
}

impl<R: Runtime> Gpu<R> {
    /// Filters the last but `future` of `frames` again and again. A repetition takes what a frame of a video takes: one
    /// arrives, and one is filtered.
    pub(super) fn repeated(
        &self,
        all: &mut dyn Windowed<R>,
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
            let mut clock = Clock::start(&*self.runtime, all.queue(), grain)?;
            all.arrive_again(&mut clock)?;
            all.filter(at, format, &mut clock, &control)?;
            self.runtime.finish(all.queue())?;
            Ok(clock.read(&*self.runtime)?)
        });
        let mut times = times.map_err(|e: Stop| self.stopped(e))?;
        times.device_bytes = all.device_bytes();
        Ok(times)
    }
}
