//! Noise that depends on brightness: samples go in on the scale on which it is the same everywhere, and results come back
//! by the exact unbiased inverse.

use std::sync::Arc;

use rayon::prelude::*;

use crate::device::{DeviceSamples, Input, Samples, SamplesMut, Sequence};
use crate::memory::check_planes;
use crate::method::{Plan, Window};
use crate::noise::Curve;
use crate::{Control, Error, Result};

/// Samples that a thread transforms at a time.
const CHUNK: usize = 1 << 14;

/// A sequence that works on the stabilised scale.
pub(super) struct Stabilised {
    inner: Box<dyn Sequence>,
    curve: Arc<Curve>,
    white: f32,
    window: Window,
}

impl Stabilised {
    /// `inner` filters samples with white at 255 and noise of one deviation.
    pub(super) fn new(inner: Box<dyn Sequence>, plan: &Plan, curve: Arc<Curve>) -> Self {
        Self { inner, curve, white: plan.front().white, window: plan.window() }
    }

    /// The planes of a frame on the stabilised scale.
    fn before(&self, planes: &[Samples<'_>]) -> Result<Vec<Vec<f32>>> {
        check_planes(2 * planes.len(), self.window.width, self.window.height)?;
        let (scale, curve) = (255.0 / self.white, &*self.curve);
        let plane = |samples: &Samples<'_>| {
            let (from, mut to) = (samples.to_floats(1.0), vec![0.0; samples.len()]);
            let parts = to.par_chunks_mut(CHUNK).zip(from.par_chunks(CHUNK));
            parts.for_each(|(to, from)| curve.forward_into(from, scale, to));
            to
        };
        Ok(planes.iter().map(plane).collect())
    }

    /// Has `filter` fill planes of the stabilised scale, and stores what they stand for.
    fn after(
        &mut self,
        to: &mut [SamplesMut<'_>],
        filter: impl FnOnce(&mut dyn Sequence, &mut [SamplesMut<'_>]) -> Result<()>,
    ) -> Result<()> {
        let Window { width, height, results, .. } = self.window;
        check_planes(2 * results, width, height)?;
        let mut out = vec![vec![0.0; width * height]; results];
        filter(&mut *self.inner, &mut out.iter_mut().map(|p| SamplesMut::F32(p)).collect::<Vec<_>>())?;
        let (scale, curve) = (self.white / 255.0, &*self.curve);
        let mut samples = vec![0.0; width * height];
        for (to, plane) in to.iter_mut().zip(&out) {
            let parts = samples.par_chunks_mut(CHUNK).zip(plane.par_chunks(CHUNK));
            parts.for_each(|(to, from)| curve.inverse_into(from, scale, to));
            to.store(&samples, 1.0, self.white);
        }
        Ok(())
    }
}

fn floats(planes: &[Vec<f32>]) -> Vec<Samples<'_>> {
    planes.iter().map(|p| Samples::F32(p)).collect()
}

impl Sequence for Stabilised {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        let planes = self.before(frame.planes)?;
        self.inner.push(&Input { planes: &floats(&planes), guide: frame.guide }, control)
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_output(to)?;
        self.after(to, |inner, to| inner.pull(to, control))
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        self.window.check_output(to)?;
        let planes = self.before(frame.planes)?;
        let input = Input { planes: &floats(&planes), guide: frame.guide };
        self.after(to, |inner, to| inner.frame(&input, to, control))
    }

    /// The samples would have to come to the host.
    fn lent(&mut self, _: &[DeviceSamples], _: &[DeviceSamples], _: &Control) -> Result<()> {
        Err(Error::Unsupported(
            "noise that depends on brightness in device memory is not offered; use samples in host memory"
                .into(),
        ))
    }
}
