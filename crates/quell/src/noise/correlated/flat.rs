//! The correlation of noise, estimated from the flat areas of a picture.
//!
//! The picture is cut into overlapping blocks, each less the plane that fits it best, under a window. Those with the
//! least energy are flat; the mean of their periodograms is the spectrum of the noise. Strongly correlated noise varies
//! much in energy from block to block, and the quietest blocks alone would tell too little of it. So the choice is made
//! again by the energy in units of the spectrum just found, where every frequency counts the same, a few times.

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
const SHARE: f64 = 0.05;
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
        let count = ((powers.len() as f64 * SHARE) as usize).max(FEWEST).min(powers.len());
        let mut order: Vec<usize> = (0..powers.len()).collect();
        let mut weights = vec![1.0; side * side];
        for _ in 0..ROUNDS {
            let energy: Vec<f32> =
                powers.iter().map(|p| p.iter().zip(&weights).map(|(p, w)| p * w).sum()).collect();
            order.sort_unstable_by(|&a, &b| energy[a].total_cmp(&energy[b]).then(a.cmp(&b)));
            let mut mean = vec![0.0; side * side];
            for &i in &order[..count] {
                mean.iter_mut().zip(&powers[i]).for_each(|(m, p)| *m += p / count as f32);
            }
            let mean = blurred(&mean, side);
            let level = mean.iter().sum::<f32>() / mean.len() as f32;
            if level <= (frame.white() * super::ROUNDING).powi(2) {
                return Err(nothing());
            }
            weights = mean.iter().map(|m| 1.0 / m.max(FLOOR * level)).collect();
        }
        let chosen: Vec<(usize, usize)> = order[..count].iter().map(|&i| corners[i]).collect();
        let cross = blocks.cross(frame, &chosen);
        let trace =
            |m: &Matrix| (0..frame.channels()).map(|i| m[i][i]).sum::<f64>() / frame.channels() as f64;
        let mean: Vec<f32> = cross.iter().map(|m| trace(m) as f32).collect();
        // Scale of the block's size: a pixel's variance is mean(Psi) / side^2.
        let power = blurred(&mean, side).iter().map(|v| v * (side * side) as f32).collect();
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
        let hann = |i: usize| (std::f64::consts::PI * (i as f64 + 0.5) / side as f64).sin().powi(2);
        let square: f64 = (0..side).map(|i| hann(i).powi(2)).sum();
        let window = (0..side).map(|i| (hann(i) / square.sqrt()) as f32).collect();
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

    /// Mean cross spectra (the real part; the rest cancels between opposite frequencies) of blocks.
    fn cross(&self, frame: &FrameView<'_>, corners: &[(usize, usize)]) -> Vec<Matrix> {
        let n = frame.channels();
        let mut sum = vec![[[0.0; 3]; 3]; self.side * self.side];
        for &corner in corners {
            let spectra: Vec<_> = frame.planes().iter().map(|p| self.spectrum(p, corner)).collect();
            for (k, m) in sum.iter_mut().enumerate() {
                for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    m[i][j] += f64::from((spectra[i][k] * spectra[j][k].conj()).re) / corners.len() as f64;
                }
            }
        }
        sum
    }
}

/// A spectrum blurred by (1 2 1) / 4 both ways, and made symmetric.
fn blurred(power: &[f32], side: usize) -> Vec<f32> {
    let at = |x: usize, y: usize| power[y % side * side + x % side];
    let even = |x: usize, y: usize| 0.5 * (at(x, y) + at(2 * side - x % side, 2 * side - y % side));
    let across = |x: usize, y: usize| 0.25 * (even(x + side - 1, y) + even(x + 1, y)) + 0.5 * even(x, y);
    let both = |x: usize, y: usize| 0.25 * (across(x, y + side - 1) + across(x, y + 1)) + 0.5 * across(x, y);
    (0..side * side).map(|i| both(i % side, i / side)).collect()
}
