//! Two-dimensional discrete Fourier transforms of any size, rows and columns in parallel.

use std::sync::Arc;

use rayon::prelude::*;
use rustfft::num_complex::Complex32;
use rustfft::{Fft, FftPlanner};

/// Transforms of one size. Neither direction is scaled.
#[derive(Clone)]
pub(super) struct Fourier {
    pub(super) width: usize,
    pub(super) height: usize,
    rows: [Arc<dyn Fft<f32>>; 2],
    columns: [Arc<dyn Fft<f32>>; 2],
}

/// Index of the direction.
const FORWARD: usize = 0;
const INVERSE: usize = 1;

impl Fourier {
    /// Plans both directions.
    pub(super) fn new(width: usize, height: usize) -> Self {
        let mut planner = FftPlanner::new();
        let mut both = |n| [planner.plan_fft_forward(n), planner.plan_fft_inverse(n)];
        Self { width, height, rows: both(width), columns: both(height) }
    }

    /// Rows first; the result is left transposed, column by column, which spares a transposition.
    pub(super) fn forward(&self, samples: Vec<Complex32>) -> Vec<Complex32> {
        let mut data = samples;
        lines(&mut data, &self.rows[FORWARD]);
        let mut data = transpose(&data, self.width, self.height);
        lines(&mut data, &self.columns[FORWARD]);
        data
    }

    /// From a transposed spectrum.
    pub(super) fn inverse(&self, spectrum: Vec<Complex32>) -> Vec<Complex32> {
        let mut data = spectrum;
        lines(&mut data, &self.columns[INVERSE]);
        let mut data = transpose(&data, self.height, self.width);
        lines(&mut data, &self.rows[INVERSE]);
        data
    }

    /// Multiplies the spectrum by `response`, which is real, symmetric and transposed like it. Two planes go at once: as
    /// the real and the imaginary part they do not mix.
    pub(super) fn filter(&self, samples: Vec<Complex32>, response: &[f32]) -> Vec<Complex32> {
        let mut spectrum = self.forward(samples);
        let scale = 1.0 / (self.width * self.height) as f32;
        spectrum.par_iter_mut().zip(response).for_each(|(s, r)| *s *= r * scale);
        self.inverse(spectrum)
    }
}

fn lines(data: &mut [Complex32], fft: &Arc<dyn Fft<f32>>) {
    // Several lines in one call: a task should be longer than handing it out takes.
    let block = fft.len() * (16_384 / fft.len()).max(1);
    data.par_chunks_mut(block).for_each_init(
        || vec![Complex32::default(); fft.get_inplace_scratch_len()],
        |scratch, lines| fft.process_with_scratch(lines, scratch),
    );
}

/// `width` columns become rows, in squares that stay in the cache.
fn transpose(from: &[Complex32], width: usize, height: usize) -> Vec<Complex32> {
    const SIDE: usize = 16;
    let mut to = vec![Complex32::default(); from.len()];
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
    to
}

/// The next size from `n` on that has no prime factor above 5: such transforms are fast.
pub(super) fn smooth(n: usize) -> usize {
    let smooth = |&n: &usize| {
        let mut rest = n;
        for p in [2, 3, 5] {
            while rest % p == 0 {
                rest /= p;
            }
        }
        rest == 1
    };
    (n.max(1)..).find(smooth).unwrap_or(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_are_the_definition_and_come_back() {
        for (w, h) in [(1, 1), (5, 3), (17, 40), (33, 7)] {
            let data: Vec<Complex32> =
                (0..w * h).map(|i| Complex32::new((i * 37 % 101) as f32, (i * 13 % 7) as f32)).collect();
            let fourier = Fourier::new(w, h);
            let found = fourier.forward(data.clone());
            for (u, v) in [(0, 0), (w / 2, h / 3), (w - 1, h - 1)] {
                let mut sum = (0.0, 0.0);
                for (i, s) in data.iter().enumerate() {
                    let turn = (u * (i % w)) as f64 / w as f64 + (v * (i / w)) as f64 / h as f64;
                    let (sin, cos) = (-std::f64::consts::TAU * turn).sin_cos();
                    let (re, im) = (f64::from(s.re), f64::from(s.im));
                    sum = (sum.0 + re * cos - im * sin, sum.1 + re * sin + im * cos);
                }
                let f = found[u * h + v];
                let far = (f64::from(f.re) - sum.0).hypot(f64::from(f.im) - sum.1);
                assert!(far < 1e-5 * 100.0 * (w * h) as f64, "{w} x {h} at ({u}, {v}): {f} for {sum:?}");
            }
            let back = fourier.filter(data.clone(), &vec![1.0; w * h]);
            assert!(back.iter().zip(&data).all(|(a, b)| (a - b).norm() < 1e-3), "{w} x {h}");
        }
    }

    #[test]
    fn smooth_sizes_are_the_next_ones() {
        assert_eq!([1, 7, 11, 64, 97, 1111].map(smooth), [1, 8, 12, 64, 100, 1125]);
    }
}
