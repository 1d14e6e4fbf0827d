//! Noise that depends on brightness: samples go in on the scale on which it is the same everywhere, and results come back
//! by the exact unbiased inverse. With very few photons a frame goes through several times.

use std::collections::VecDeque;
use std::sync::Arc;

use rayon::prelude::*;

use crate::device::{DeviceSamples, Input, Samples, SamplesMut, Sequence, nothing_left};
use crate::memory::check_planes;
use crate::method::{Plan, Window, Work};
use crate::noise::Curve;
use crate::{Control, Error, Result};

/// Samples that a thread transforms at a time.
const CHUNK: usize = 1 << 14;

/// A sequence that works on the stabilised scale.
pub(super) struct Stabilised {
    inner: Box<dyn Sequence>,
    curve: Arc<Curve>,
    /// Further rounds: what the samples count beside the result so far, and the curve of the mixture.
    rounds: Vec<(f32, Curve)>,
    white: f32,
    window: Window,
    /// What is stored: maps are not brightnesses.
    is_map: bool,
    /// Results of frames that went through several rounds.
    done: VecDeque<Vec<Vec<f32>>>,
}

impl Stabilised {
    /// `inner` filters samples with white at 255 and noise of one deviation.
    pub(super) fn new(inner: Box<dyn Sequence>, plan: &Plan, curve: Arc<Curve>) -> Self {
        let (window, is_map) = (plan.window(), matches!(plan.work(), Work::Map(..)));
        // Rounds need the result of a frame at once.
        let rounds = if plan.rounds() > 1 { curve.rounds() } else { Vec::new() };
        Self { inner, curve, rounds, white: plan.front().white, window, is_map, done: VecDeque::new() }
    }

    /// Samples of a frame as floats on the 0..255 scale.
    fn samples(&self, planes: &[Samples<'_>]) -> Result<Vec<Vec<f32>>> {
        check_planes((3 + self.rounds.len().min(1)) * planes.len(), self.window.width, self.window.height)?;
        Ok(planes.iter().map(|p| p.to_floats(255.0 / self.white)).collect())
    }

    /// Room for results.
    fn room(&self) -> Vec<Vec<f32>> {
        vec![vec![0.0; self.window.width * self.window.height]; self.window.results]
    }

    /// Filters a frame, as often as there are rounds, to brightnesses on the 0..255 scale.
    fn filter(&mut self, frame: &Input<'_>, control: &Control) -> Result<Vec<Vec<f32>>> {
        let samples = self.samples(frame.planes)?;
        let n = 1 + self.rounds.len();
        let mut out = self.room();
        let mut round = |i: usize, planes: &[Vec<f32>], out: &mut [Vec<f32>]| {
            let input = Input { planes: &floats(planes), guide: frame.guide };
            self.inner.frame(&input, &mut floats_mut(out), &control.section(i, n))
        };
        round(0, &before(&self.curve, &samples), &mut out)?;
        if !self.is_map {
            after(&self.curve, &mut out);
        }
        for (i, (part, curve)) in self.rounds.iter().enumerate() {
            let mix = |(z, x): (&Vec<f32>, &Vec<f32>)| {
                z.iter().zip(x).map(|(z, x)| x + part * (z - x)).collect::<Vec<f32>>()
            };
            let mixed: Vec<Vec<f32>> = samples.iter().zip(&out).map(mix).collect();
            round(i + 1, &before(curve, &mixed), &mut out)?;
            after(curve, &mut out);
        }
        Ok(out)
    }

    fn store(&self, planes: &[Vec<f32>], to: &mut [SamplesMut<'_>]) {
        let scale = if self.is_map { 1.0 } else { self.white / 255.0 };
        to.iter_mut().zip(planes).for_each(|(to, plane)| to.store(plane, scale, self.white));
    }
}

/// Planes on the stabilised scale.
fn before(curve: &Curve, planes: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let plane = |from: &Vec<f32>| {
        let mut to = vec![0.0; from.len()];
        let parts = to.par_chunks_mut(CHUNK).zip(from.par_chunks(CHUNK));
        parts.for_each(|(to, from)| curve.forward_into(from, 1.0, to));
        to
    };
    planes.iter().map(plane).collect()
}

/// And back.
fn after(curve: &Curve, planes: &mut [Vec<f32>]) {
    for plane in planes {
        plane.par_chunks_mut(CHUNK).for_each(|part| part.iter_mut().for_each(|v| *v = curve.inverse(*v)));
    }
}

fn floats(planes: &[Vec<f32>]) -> Vec<Samples<'_>> {
    planes.iter().map(|p| Samples::F32(p)).collect()
}

fn floats_mut(planes: &mut [Vec<f32>]) -> Vec<SamplesMut<'_>> {
    planes.iter_mut().map(|p| SamplesMut::F32(p)).collect()
}

impl Sequence for Stabilised {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        if !self.rounds.is_empty() {
            let out = self.filter(frame, control)?;
            self.done.push_back(out);
            return Ok(());
        }
        let planes = before(&self.curve, &self.samples(frame.planes)?);
        self.inner.push(&Input { planes: &floats(&planes), guide: frame.guide }, control)
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_output(to)?;
        let out = if self.rounds.is_empty() {
            let mut out = self.room();
            self.inner.pull(&mut floats_mut(&mut out), control)?;
            if !self.is_map {
                after(&self.curve, &mut out);
            }
            out
        } else {
            self.done.pop_front().ok_or_else(nothing_left)?
        };
        self.store(&out, to);
        Ok(())
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.window.check_input(frame)?;
        self.window.check_output(to)?;
        let out = self.filter(frame, control)?;
        self.store(&out, to);
        Ok(())
    }

    /// The samples would have to come to the host.
    fn lent(&mut self, _: &[DeviceSamples], _: &[DeviceSamples], _: &Control) -> Result<()> {
        Err(Error::Unsupported(
            "noise that depends on brightness in device memory is not offered; use samples in host memory"
                .into(),
        ))
    }
}
