//! The correlation of noise, estimated from the flat areas of a picture.
//!
//! The picture is cut into overlapping blocks, each less the plane that fits it best, under a window. Those with the
//! least energy are flat; their periodograms tell the spectrum of the noise. Strongly correlated noise varies
//! much in energy from block to block, and the quietest blocks alone would tell too little of it. So the choice is made
//! again by the energy in units of the spectrum just found, where every frequency counts the same, a few times. The
//! frequencies are dealt to two halves, and each half is measured on the blocks that are quiet in the other: the quietest
//! of many samples of noise would always be below its mean.

use rayon::prelude::*;
use rustfft::num_complex::Complex32;

use super::fourier::Fourier;
use super::psd::frequency;
use super::{Covariance, Matrix, Psd};
use crate::{Error, FrameView, Plane, PlaneView, Result};

/// Side of a block: as long as noise is usually correlated, and still small enough to fit between edges (16 and 64 are
/// measured worse).
const SIDE: usize = 32;
/// Side in pictures that would have hardly any blocks of that.
const SMALL: usize = 16;
/// The smallest side of a picture that can be estimated.
const LEAST: usize = 2 * SMALL;
/// Most blocks to look at.
const LIMIT: usize = 2048;
/// The share of the blocks that is taken for flat, and the fewest.
const SHARE: f64 = 0.1;
const FEWEST: usize = 8;
/// Choices of the flat blocks, one after the other.
const ROUNDS: usize = 4;
/// Less than this part of the mean power does not count as noise when blocks are chosen.
const FLOOR: f32 = 0.01;
/// Share of samples that may be exactly black or white.
const CLIPPED: f64 = 0.05;

/// What flat areas tell: the spectrum of the noise, the mean of all channels, and its covariance between them.
pub(super) struct Found {
    /// The spectrum at the frequencies of a block.
    pub(super) psd: Psd,
    /// Sums over frequencies of the cross spectra, `[frequency][i][j]`, row by row.
    cross: Vec<Matrix>,
}

impl Found {
    /// Estimates from one frame.
    pub(super) fn new(frame: &FrameView<'_>) -> Result<Self> {
        let shorter = frame.width().min(frame.height());
        if shorter < LEAST {
            return Err(Error::Unsupported(format!(
                "{} x {} pixels are too few to estimate how noise is correlated; at least {LEAST} x {LEAST} are needed",
                frame.width(),
                frame.height()
            )));
        }
        let side = if shorter < 4 * SIDE { SMALL } else { SIDE };
        let blocks = Blocks::new(side);
        let corners = corners(frame, side);
        let powers: Vec<Vec<f32>> = corners.par_iter().map(|&c| blocks.power(frame, c)).collect();
        if powers.is_empty() {
            return Err(nothing());
        }
        let mut measured = choose(&powers, side, frame.white())?.map(|list| {
            let list: Vec<(usize, usize)> = list.iter().map(|&i| corners[i]).collect();
            blocks.measure(frame, &list)
        });
        let half = |k: usize| usize::from(second_half(k, side));
        let mut power: Vec<f32> = (0..side * side).map(|k| measured[half(k)].0[k]).collect();
        // The mean of a block was taken off it.
        let around = [1, side - 1, side, side * (side - 1)];
        power[0] = around.iter().map(|&k| power[k]).sum::<f32>() / 4.0;
        // Scale of the block's size: a pixel's variance is mean(Psi) / side^2.
        power.iter_mut().for_each(|v| *v *= (side * side) as f32);
        let cross = (0..side * side).map(|k| std::mem::take(&mut measured[half(k)].1[k])).collect();
        Ok(Self { psd: Psd::new(Plane::from_vec(side, side, power)?)?, cross })
    }

    /// The spectrum for pictures of this size.
    pub(super) fn psd(&self, width: usize, height: usize) -> Result<Psd> {
        let shape = self.psd.resampled(width, height);
        let scale = (self.psd.variance() * (width * height) as f64) as f32;
        // Resampled spectra lie column by column.
        let power = (0..width * height).map(|i| shape[i % width * height + i / width] * scale).collect();
        Psd::new(Plane::from_vec(width, height, power)?)
    }

    /// The covariance of the channels, if the noise has this spectrum (`None`: white). High frequencies count most,
    /// because they have the least of the picture, and those with much noise less, so that none decides alone.
    pub(super) fn covariance(&self, psd: Option<&Psd>) -> Result<Covariance> {
        let (side, _) = self.psd.size();
        let shape = psd.map(|p| p.resampled(side, side));
        let (mut sum, mut norm) = ([[0.0; 3]; 3], 0.0);
        for (k, m) in self.cross.iter().enumerate() {
            let (x, y) = (k % side, k / side);
            let power = shape.as_ref().map_or(1.0, |s| f64::from(s[x * side + y]));
            let weight = (frequency(x, side).powi(2) + frequency(y, side).powi(2)) / (1.0 + power);
            norm += weight * power;
            for (s, v) in sum.as_flattened_mut().iter_mut().zip(m.as_flattened()) {
                *s += weight * v;
            }
        }
        Covariance::new(sum.map(|row| row.map(|v| v / norm)))
    }
}

/// The flat blocks for the first and for the second half of the frequencies.
fn choose(powers: &[Vec<f32>], side: usize, white: f32) -> Result<[Vec<usize>; 2]> {
    let count = ((powers.len() as f64 * SHARE) as usize).max(FEWEST).min(powers.len());
    let half: Vec<usize> = (0..side * side).map(|k| usize::from(second_half(k, side))).collect();
    let mut weights = vec![1.0; side * side];
    let mut chosen = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        chosen = [1, 0].map(|other| {
            let of_other = |k: usize| if half[k] == other { weights[k] } else { 0.0 };
            quietest(powers, count, &(0..side * side).map(of_other).collect::<Vec<_>>())
        });
        let mean = |k: usize| median(chosen[half[k]].iter().map(|&i| powers[i][k]).collect());
        let mean: Vec<f32> = (0..side * side).map(mean).collect();
        let level = mean.iter().sum::<f32>() / mean.len() as f32;
        if level <= (white * super::ROUNDING).powi(2) {
            return Err(nothing());
        }
        weights = mean.iter().map(|m| 1.0 / m.max(FLOOR * level)).collect();
    }
    Ok(chosen)
}

/// The blocks with the least energy under these weights.
fn quietest(powers: &[Vec<f32>], count: usize, weights: &[f32]) -> Vec<usize> {
    let energy: Vec<f32> = powers.iter().map(|p| p.iter().zip(weights).map(|(p, w)| p * w).sum()).collect();
    let mut order: Vec<usize> = (0..powers.len()).collect();
    order.sort_unstable_by(|&a, &b| energy[a].total_cmp(&energy[b]).then(a.cmp(&b)));
    order.truncate(count);
    order
}

/// Deals frequencies to two halves like the fields of a chess board, four wide, wider than the window blurs; a frequency goes with its opposite.
fn second_half(k: usize, side: usize) -> bool {
    let fold = |i: usize| i.min(side - i);
    (fold(k % side) / 4 + fold(k / side) / 4) % 2 == 1
}

fn nothing() -> Error {
    Error::Unsupported("no noise was found to estimate its correlation from".into())
}

/// Corners of blocks that can tell something, half a block apart, or more where there would be too many.
fn corners(frame: &FrameView<'_>, side: usize) -> Vec<(usize, usize)> {
    let (last_x, last_y) = (frame.width() - side, frame.height() - side);
    let mut step = side / 2;
    while (last_x / step + 1) * (last_y / step + 1) > LIMIT {
        step += 1;
    }
    let usable = |&(x, y): &(usize, usize)| {
        frame.planes().iter().all(|p| {
            let samples = (y..y + side).flat_map(|y| p.row(y)[x..x + side].iter().copied());
            let first = p.row(y)[x];
            let clipped = samples.clone().filter(|&v| v == 0.0 || v == frame.white()).count();
            samples.clone().any(|v| v != first) && (clipped as f64) <= CLIPPED * (side * side) as f64
        })
    };
    let all = (0..=last_y).step_by(step).flat_map(|y| (0..=last_x).step_by(step).map(move |x| (x, y)));
    all.filter(usable).collect()
}

/// Transforms of windowed blocks.
struct Blocks {
    side: usize,
    fourier: Fourier,
    /// One side of the window, scaled so that a periodogram's mean is the variance of a pixel.
    window: Vec<f32>,
}

impl Blocks {
    fn new(side: usize) -> Self {
        let sine = |i: usize| (std::f64::consts::PI * (i as f64 + 0.5) / side as f64).sin();
        let square: f64 = (0..side).map(|i| sine(i).powi(2)).sum();
        let window = (0..side).map(|i| (sine(i) / square.sqrt()) as f32).collect();
        Self { side, fourier: Fourier::new(side, side), window }
    }

    /// The spectrum of a block, less its plane, row by row.
    fn spectrum(&self, plane: &PlaneView<'_>, (x, y): (usize, usize)) -> Vec<Complex32> {
        let n = self.side;
        let middle = (n - 1) as f32 / 2.0;
        let (mut mean, mut across, mut down) = (0.0, 0.0, 0.0);
        let row = |j: usize| &plane.row(y + j)[x..x + n];
        for j in 0..n {
            for (i, v) in row(j).iter().enumerate() {
                mean += v;
                across += v * (i as f32 - middle);
                down += v * (j as f32 - middle);
            }
        }
        mean /= (n * n) as f32;
        // Sum of (i - middle)^2 over the block.
        let moment = (n * n * (n * n - 1)) as f32 / 12.0;
        let (across, down) = (across / moment, down / moment);
        let mut block = Vec::with_capacity(n * n);
        for j in 0..n {
            let level = mean + down * (j as f32 - middle);
            block.extend(row(j).iter().enumerate().map(|(i, v)| {
                let rest = v - level - across * (i as f32 - middle);
                Complex32::new(rest * self.window[i] * self.window[j], 0.0)
            }));
        }
        let transposed = self.fourier.forward(block);
        (0..n * n).map(|k| transposed[k % n * n + k / n]).collect()
    }

    /// The periodogram, the mean of all channels.
    fn power(&self, frame: &FrameView<'_>, corner: (usize, usize)) -> Vec<f32> {
        let mut sum = vec![0.0; self.side * self.side];
        for plane in frame.planes() {
            for (s, v) in sum.iter_mut().zip(self.spectrum(plane, corner)) {
                *s += v.norm_sqr() / frame.channels() as f32;
            }
        }
        sum
    }

    /// Of some blocks: the power of the noise, mean of all channels, and the mean cross spectra (their real part; the rest
    /// cancels between opposite frequencies).
    fn measure(&self, frame: &FrameView<'_>, corners: &[(usize, usize)]) -> (Vec<f32>, Vec<Matrix>) {
        let (n, count) = (frame.channels(), corners.len());
        let spectra: Vec<Vec<Vec<Complex32>>> = corners
            .par_iter()
            .map(|&c| frame.planes().iter().map(|p| self.spectrum(p, c)).collect())
            .collect();
        let median_power = |k: usize| {
            let of = |i: usize| median(spectra.iter().map(|s| s[i][k].norm_sqr()).collect());
            (0..n).map(of).sum::<f32>() / n as f32
        };
        let cross = |k: usize| {
            let mut m = Matrix::default();
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let products = spectra.iter().map(|s| f64::from((s[i][k] * s[j][k].conj()).re));
                m[i][j] = products.sum::<f64>() / count as f64;
            }
            m
        };
        let all = 0..self.side * self.side;
        (all.clone().map(median_power).collect(), all.map(cross).collect())
    }
}

/// The mean of a periodogram at one frequency from its median: it is distributed exponentially, and texture that is left
/// in a few blocks does not count.
fn median(mut powers: Vec<f32>) -> f32 {
    let middle = powers.len() / 2;
    let median = *powers.select_nth_unstable_by(middle, f32::total_cmp).1;
    median / std::f32::consts::LN_2
}
