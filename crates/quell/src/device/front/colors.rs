//! Samples to channels on the host: to the scale of the method and into the colour space it filters in, and back.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::device::{DeviceSamples, Input, Samples, SamplesMut, Sequence, nothing_left};
use crate::memory::check_planes;
use crate::method::{Front, Plan, Window};
use crate::{ColorMode, Control, Error, Plane, PlaneView, Result};

/// A sequence of channels as one of samples.
pub(super) struct Converted {
    inner: Box<dyn Sequence>,
    front: Front,
    scale: f32,
    /// Of the samples.
    window: Window,
    /// Channels that are filtered.
    channels: usize,
    /// What is not filtered of frames that are in work.
    rest: VecDeque<Vec<Plane>>,
}

impl Converted {
    /// `inner` filters the channels of the plan.
    pub(super) fn new(inner: Box<dyn Sequence>, plan: &Plan) -> Self {
        Self {
            inner,
            front: plan.front().clone(),
            scale: plan.scale(),
            window: plan.window(),
            channels: plan.work().window().planes,
            rest: VecDeque::new(),
        }
    }

    /// The colour space, where there is one.
    fn space(&self) -> Option<ColorMode> {
        self.front.color
    }

    /// The channels of a frame, and behind those that are filtered the rest.
    fn channels<'a>(&self, frame: &Input<'a>) -> Result<Vec<Cow<'a, [f32]>>> {
        self.window.check_input(frame)?;
        let Window { width, height, .. } = self.window;
        check_planes(frame.planes.len() * if self.space().is_some() { 2 } else { 1 }, width, height)?;
        // Floats of the method's own scale are taken as they are.
        let floats = frame.planes.iter().map(|s| match *s {
            Samples::F32(v) if self.scale == 1.0 => Cow::Borrowed(v),
            s => Cow::Owned(s.to_floats(self.scale)),
        });
        let floats: Vec<Cow<'a, [f32]>> = floats.collect();
        let Some(mode) = self.space() else { return Ok(floats) };
        let view = |p| PlaneView::new(width, height, width, p);
        let views = floats.iter().map(|p| view(p)).collect::<Result<Vec<PlaneView<'_>>>>()?;
        Ok(mode.forward(&views).into_iter().map(|p| Cow::Owned(p.into_vec())).collect())
    }

    /// Room for what comes out of the filter.
    fn room(&self) -> Result<Vec<Plane>> {
        let Window { width, height, results, .. } = self.window;
        check_planes(results, width, height)?;
        let filtered = if self.space().is_some() && results > 1 { self.channels } else { results };
        Ok((0..filtered).map(|_| Plane::zeros(width, height)).collect())
    }

    /// What was filtered, and the rest, as samples.
    fn store(&self, mut channels: Vec<Plane>, rest: Vec<Plane>, to: &mut [SamplesMut<'_>]) -> Result<()> {
        channels.extend(rest);
        if let (Some(mode), true) = (self.space(), self.window.results > 1) {
            check_planes(channels.len(), self.window.width, self.window.height)?;
            channels = mode.inverse(&channels);
        }
        for (to, plane) in to.iter_mut().zip(&channels) {
            to.store(plane.as_slice(), 1.0 / self.scale, self.front.white);
        }
        Ok(())
    }

    /// Cuts off what is not filtered.
    fn split(&self, mut channels: Vec<Cow<'_, [f32]>>) -> Result<Vec<Plane>> {
        let Window { width, height, .. } = self.window;
        let rest = channels.split_off(self.channels.min(channels.len()));
        rest.into_iter().map(|p| Plane::from_vec(width, height, p.into_owned())).collect()
    }
}

fn floats<'a>(channels: &'a [Cow<'_, [f32]>]) -> Vec<Samples<'a>> {
    channels.iter().map(|p| Samples::F32(p)).collect()
}

fn into(planes: &mut [Plane]) -> Vec<SamplesMut<'_>> {
    planes.iter_mut().map(|p| SamplesMut::F32(p.as_mut_slice())).collect()
}

impl Sequence for Converted {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        let channels = self.channels(frame)?;
        let planes = floats(&channels[..self.channels]);
        self.inner.push(&Input { planes: &planes, guide: frame.guide }, control)?;
        let rest = self.split(channels)?;
        self.rest.push_back(rest);
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_output(to)?;
        let mut out = self.room()?;
        self.inner.pull(&mut into(&mut out), control)?;
        let rest = self.rest.pop_front().ok_or_else(nothing_left)?;
        self.store(out, rest, to)
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_output(to)?;
        let (channels, mut out) = (self.channels(frame)?, self.room()?);
        let planes = floats(&channels[..self.channels]);
        let input = Input { planes: &planes, guide: frame.guide };
        self.inner.frame(&input, &mut into(&mut out), control)?;
        let rest = self.split(channels)?;
        self.store(out, rest, to)
    }

    /// The samples would have to come to the host.
    fn lent(&mut self, from: &[DeviceSamples], to: &[DeviceSamples], control: &Control) -> Result<()> {
        match self.space() {
            Some(mode) => Err(Error::Unsupported(format!(
                "color {} of a picture in device memory is not offered; use samples in host memory",
                mode.name()
            ))),
            None => self.inner.lent(from, to, control),
        }
    }
}
