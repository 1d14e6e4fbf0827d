//! The orthonormal cosine transform of type II of a plane, by Fourier transforms of the same length (Makhoul 1980): even
//! samples in order and odd ones backwards. Two lines go at once, as real and imaginary parts.

use std::f32::consts::PI;
use std::sync::Arc;

use rayon::prelude::*;
use rustfft::num_complex::Complex32;
use rustfft::{Fft, FftPlanner};

/// Lines that a thread takes at once: an even number.
const LINES: usize = 16;

/// Transforms of planes of one size.
pub(super) struct Cosine {
    rows: Line,
    columns: Line,
}

impl Cosine {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let mut planner = FftPlanner::new();
        Self { rows: Line::new(width, &mut planner), columns: Line::new(height, &mut planner) }
    }

    /// The spectrum is left transposed in `to`; `from` is overwritten.
    pub(super) fn forward(&self, from: &mut [f32], to: &mut [f32]) {
        lines(from, self.rows.len(), |a, b, work| self.rows.forward(a, b, work));
        transpose(from, self.rows.len(), to);
        lines(to, self.columns.len(), |a, b, work| self.columns.forward(a, b, work));
    }

    /// From a transposed spectrum, which is overwritten.
    pub(super) fn inverse(&self, from: &mut [f32], to: &mut [f32]) {
        lines(from, self.columns.len(), |a, b, work| self.columns.inverse(a, b, work));
        transpose(from, self.columns.len(), to);
        lines(to, self.rows.len(), |a, b, work| self.rows.inverse(a, b, work));
    }
}

/// Memory of a thread: a line, what the Fourier transform needs, and a line that there is none of.
#[derive(Default)]
struct Work {
    line: Vec<Complex32>,
    scratch: Vec<Complex32>,
    nothing: Vec<f32>,
}

/// Calls `transform` with the lines of `data` in pairs.
fn lines(data: &mut [f32], n: usize, transform: impl Fn(&mut [f32], &mut [f32], &mut Work) + Sync) {
    data.par_chunks_mut(LINES * n).for_each_init(Work::default, |work, band| {
        for pair in band.chunks_mut(2 * n) {
            let (a, b) = pair.split_at_mut(n);
            if b.is_empty() {
                let mut nothing = std::mem::take(&mut work.nothing);
                nothing.clear();
                nothing.resize(n, 0.0);
                transform(a, &mut nothing, work);
                work.nothing = nothing;
            } else {
                transform(a, b, work);
            }
        }
    });
}

/// Transforms of lines of one length.
struct Line {
    forward: Arc<dyn Fft<f32>>,
    inverse: Arc<dyn Fft<f32>>,
    /// `e^(-i pi k / 2n)`.
    turns: Vec<Complex32>,
}

impl Line {
    fn new(n: usize, planner: &mut FftPlanner<f32>) -> Self {
        let turn = |k: usize| Complex32::from_polar(1.0, -(k as f32 / (2 * n) as f32) * PI);
        Self {
            forward: planner.plan_fft_forward(n),
            inverse: planner.plan_fft_inverse(n),
            turns: (0..n).map(turn).collect(),
        }
    }

    fn len(&self) -> usize {
        self.turns.len()
    }

    /// What makes the transform orthonormal, by the number of the frequency.
    fn norms(&self) -> (f32, f32) {
        let n = self.len() as f32;
        ((1.0 / n).sqrt(), (2.0 / n).sqrt())
    }

    fn forward(&self, a: &mut [f32], b: &mut [f32], work: &mut Work) {
        let n = self.len();
        work.line.resize(n, Complex32::default());
        for j in 0..n.div_ceil(2) {
            work.line[j] = Complex32::new(a[2 * j], b[2 * j]);
        }
        for j in 0..n / 2 {
            work.line[n - 1 - j] = Complex32::new(a[2 * j + 1], b[2 * j + 1]);
        }
        process(&self.forward, work);
        let (first, norm) = self.norms();
        for k in 0..n {
            let (z, w) = (work.line[k], work.line[if k == 0 { 0 } else { n - k }].conj());
            let turn = self.turns[k] * if k == 0 { first } else { norm };
            // The spectra of the real and of the imaginary part, turned: their real parts are the result.
            let (sum, difference) = ((z + w) * 0.5, (z - w) * 0.5);
            a[k] = (turn * sum).re;
            b[k] = (turn * difference).im;
        }
    }

    fn inverse(&self, a: &mut [f32], b: &mut [f32], work: &mut Work) {
        let n = self.len();
        work.line.resize(n, Complex32::default());
        let (first, norm) = self.norms();
        for k in 0..n {
            // The inverse Fourier transform is not scaled: what it lacks is 1 / n.
            let scale = if k == 0 { 1.0 / first } else { 1.0 / norm } / n as f32;
            let back = |c: &[f32]| {
                let other = if k == 0 { 0.0 } else { c[n - k] };
                Complex32::new(c[k], -other) * scale
            };
            let both = back(a) + Complex32::i() * back(b);
            work.line[k] = self.turns[k].conj() * both;
        }
        process(&self.inverse, work);
        for j in 0..n.div_ceil(2) {
            (a[2 * j], b[2 * j]) = (work.line[j].re, work.line[j].im);
        }
        for j in 0..n / 2 {
            let v = work.line[n - 1 - j];
            (a[2 * j + 1], b[2 * j + 1]) = (v.re, v.im);
        }
    }
}

fn process(fft: &Arc<dyn Fft<f32>>, work: &mut Work) {
    work.scratch.resize(fft.get_inplace_scratch_len(), Complex32::default());
    fft.process_with_scratch(&mut work.line, &mut work.scratch);
}

/// Rows of `width` samples become columns, in squares that stay in the cache.
fn transpose(from: &[f32], width: usize, to: &mut [f32]) {
    const SIDE: usize = 16;
    let height = from.len() / width;
    to.par_chunks_mut(SIDE * height).enumerate().for_each(|(band, to)| {
        let first = band * SIDE;
        for y0 in (0..height).step_by(SIDE) {
            for (i, column) in to.chunks_exact_mut(height).enumerate() {
                for y in y0..(y0 + SIDE).min(height) {
                    column[y] = from[y * width + first + i];
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_are_the_definition_and_come_back() {
        for (w, h) in [(1, 1), (2, 1), (1, 7), (5, 3), (17, 40), (33, 20)] {
            let data: Vec<f32> = (0..w * h).map(|i| (i * 37 % 101) as f32 - 50.0).collect();
            let (cosine, mut from, mut to) = (Cosine::new(w, h), data.clone(), vec![0.0; w * h]);
            cosine.forward(&mut from, &mut to);
            for (k, l) in [(0, 0), (w / 2, h / 3), (w - 1, h - 1)] {
                let wave = |j: usize, k: usize, n: usize| {
                    let scale = if k == 0 { 1.0 } else { 2.0 };
                    let turn = std::f64::consts::PI * (j as f64 + 0.5) * k as f64 / n as f64;
                    (scale / n as f64).sqrt() * turn.cos()
                };
                let terms = data.iter().enumerate();
                let want: f64 =
                    terms.map(|(i, v)| f64::from(*v) * wave(i % w, k, w) * wave(i / w, l, h)).sum();
                let got = f64::from(to[k * h + l]);
                assert!((got - want).abs() < 1e-3, "{w} x {h} at ({k}, {l}): {got} for {want}");
            }
            cosine.inverse(&mut to, &mut from);
            let far = data.iter().zip(&from).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(far < 1e-4, "{w} x {h}: {far}");
        }
    }
}
