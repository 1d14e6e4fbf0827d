//! What is done around the sequence of a device, frame by frame: one mechanism for everything that changes samples before
//! they are filtered, or results after that.

use std::collections::VecDeque;

use rayon::prelude::*;

use crate::device::singly::Kept;
use crate::device::{DeviceSamples, Input, Samples, SamplesMut, Sequence, nothing_left};
use crate::memory::check_planes;
use crate::method::{Plan, Window};
use crate::{Control, Error, Result};

/// What is done to a frame before it is filtered, and to its results.
pub(super) trait Layer: Send {
    /// What is known of a frame until its results are there.
    type Known: Send;

    /// The frame as it came is needed for the results.
    const NEEDS_FRAME: bool = false;

    /// Rows around a row of the result that it looks at.
    const REACH: usize = 0;

    /// Looks at a frame that is to be filtered. `None`: there is nothing to do, and its results are left alone.
    fn before(&mut self, frame: &Input<'_>) -> Result<Option<Before<Self::Known>>>;

    /// Changes the results of a frame, floats in the units of the samples. `noisy` are its planes as they came, if they
    /// are needed; else there are none.
    fn after(
        &mut self,
        known: Self::Known,
        noisy: &[Samples<'_>],
        results: &mut [&mut [f32]],
        control: &Control,
    ) -> Result<()>;
}

/// What a layer makes of a frame.
pub(super) struct Before<K> {
    /// What it will have to know.
    pub(super) known: K,
    /// Planes that are filtered in place of the frame's own; none, if those are.
    pub(super) planes: Vec<Vec<f32>>,
}

impl<K> Before<K> {
    /// The frame is filtered as it is.
    pub(super) fn knowing(known: K) -> Self {
        Self { known, planes: Vec::new() }
    }
}

/// A sequence inside a layer.
pub(super) struct Layered<L: Layer> {
    inner: Box<dyn Sequence>,
    layer: L,
    window: Window,
    white: f32,
    /// Of frames in work: what is known, and the frame, if it is needed. `None`: there is nothing to do.
    waiting: VecDeque<Option<(L::Known, Kept)>>,
    spare: Vec<Kept>,
    floats: Floats,
}

impl<L: Layer> Layered<L> {
    /// `plan` is what the layer is a part of.
    pub(super) fn new(inner: Box<dyn Sequence>, layer: L, plan: &Plan) -> Self {
        Self {
            inner,
            layer,
            window: plan.window(),
            white: plan.front().white,
            waiting: VecDeque::new(),
            spare: Vec::new(),
            floats: Floats::default(),
        }
    }
}

/// Does something with a frame as a layer has changed it.
fn changed<K, T>(frame: &Input<'_>, before: Before<K>, work: impl FnOnce(&Input<'_>, K) -> T) -> T {
    if before.planes.is_empty() {
        return work(frame, before.known);
    }
    let planes: Vec<Samples<'_>> = before.planes.iter().map(|p| Samples::F32(p)).collect();
    work(&Input { planes: &planes, guide: frame.guide }, before.known)
}

impl<L: Layer> Sequence for Layered<L> {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        let waiting = match self.layer.before(frame)? {
            None => {
                self.inner.push(frame, control)?;
                None
            }
            Some(before) => {
                let mut kept = self.spare.pop().unwrap_or_default();
                if L::NEEDS_FRAME {
                    kept.keep(frame);
                }
                changed(frame, before, |frame, known| {
                    self.inner.push(frame, control)?;
                    Ok(Some((known, kept)))
                })?
            }
        };
        self.waiting.push_back(waiting);
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_output(to)?;
        let Some((known, kept)) = self.waiting.pop_front().ok_or_else(nothing_left)? else {
            return self.inner.pull(to, control);
        };
        let (inner, layer) = (&mut self.inner, &mut self.layer);
        self.floats.fill(to, self.window, self.white, |to| {
            inner.pull(&mut samples(to), control)?;
            kept.with(|frame| layer.after(known, frame.planes, to, control))
        })?;
        self.spare.push(kept);
        Ok(())
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        self.window.check_output(to)?;
        let Some(before) = self.layer.before(frame)? else { return self.inner.frame(frame, to, control) };
        let (inner, layer) = (&mut self.inner, &mut self.layer);
        self.floats.fill(to, self.window, self.white, |to| {
            let known = changed(frame, before, |frame, known| {
                inner.frame(frame, &mut samples(to), control)?;
                Ok(known)
            })?;
            layer.after(known, if L::NEEDS_FRAME { frame.planes } else { &[] }, to, control)
        })
    }

    fn lent(&mut self, _: &[DeviceSamples], _: &[DeviceSamples], _: &Control) -> Result<()> {
        Err(host_only())
    }
}

/// What is said where samples in device memory would have to come to the host.
pub(in crate::device) fn host_only() -> Error {
    Error::Unsupported(
        "several sizes, mixing and undoing of clipping need samples in host memory, not in that of a device"
            .into(),
    )
}

/// Planes of floats to write, as samples.
pub(super) fn samples<'a>(planes: &'a mut [&mut [f32]]) -> Vec<SamplesMut<'a>> {
    planes.iter_mut().map(|p| SamplesMut::F32(p)).collect()
}

/// Memory for results as floats, used again.
#[derive(Default)]
pub(super) struct Floats(Vec<Vec<f32>>);

impl Floats {
    /// Has `work` make floats for `to`: there, if they are floats, and else in memory of its own.
    pub(super) fn fill(
        &mut self,
        to: &mut [SamplesMut<'_>],
        window: Window,
        white: f32,
        work: impl FnOnce(&mut [&mut [f32]]) -> Result<()>,
    ) -> Result<()> {
        if to.iter().all(|to| matches!(to, SamplesMut::F32(_))) {
            let floats = to.iter_mut().filter_map(|to| match to {
                SamplesMut::F32(to) => Some(&mut **to),
                _ => None,
            });
            return work(&mut floats.collect::<Vec<_>>());
        }
        let mut planes = self.planes(to.len(), window.width, window.height)?;
        work(&mut planes)?;
        to.iter_mut().zip(&planes).for_each(|(to, plane)| store(to, plane, white));
        Ok(())
    }

    /// Planes of a size, with any content.
    pub(super) fn planes(&mut self, count: usize, width: usize, height: usize) -> Result<Vec<&mut [f32]>> {
        let pixels = width * height;
        if self.0.len() < count || self.0.iter().any(|p| p.len() < pixels) {
            self.0.clear();
            check_planes(count, width, height)?;
            self.0.resize_with(count, || vec![0.0; pixels]);
        }
        Ok(self.0[..count].iter_mut().map(|p| &mut p[..pixels]).collect())
    }
}

/// Samples that a thread takes at a time.
pub(super) const CHUNK: usize = 1 << 16;

/// [`SamplesMut::store`] on every thread.
fn store(to: &mut SamplesMut<'_>, plane: &[f32], white: f32) {
    let parts = plane.par_chunks(CHUNK);
    match to {
        SamplesMut::U8(to) => {
            to.par_chunks_mut(CHUNK).zip(parts).for_each(|(to, p)| SamplesMut::U8(to).store(p, 1.0, white));
        }
        SamplesMut::U16(to) => {
            to.par_chunks_mut(CHUNK).zip(parts).for_each(|(to, p)| SamplesMut::U16(to).store(p, 1.0, white));
        }
        SamplesMut::F32(to) => {
            to.par_chunks_mut(CHUNK).zip(parts).for_each(|(to, p)| SamplesMut::F32(to).store(p, 1.0, white));
        }
    }
}
