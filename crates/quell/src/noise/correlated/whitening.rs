//! The planes that patches are compared on where the noise is correlated.

use std::fmt;

use rayon::prelude::*;
use rustfft::num_complex::Complex32;

use super::fourier::{Fourier, smooth};
use super::{Covariance, Psd};
use crate::nlm::fold;
use crate::{Error, Plane, PlaneView, Result};

/// Power, in units of the mean power of the noise, that is added to it before it is divided by. 0 is exact whitening
/// (Goossens et al. 2008), infinity ignores the correlation. Exact whitening makes so much of the frequencies without
/// noise that no two patches of a real picture look alike any more: see docs/noise.md.
const SOFTNESS: f64 = 1.0;
/// Pixels that the picture is continued by beyond its borders, as in a mirror, before it is filtered.
const MARGIN: usize = 32;

/// Makes guides for pictures of one size and one noise; made once, used for every frame.
///
/// The noise is turned to its principal colours, and each frequency of each is weighed by how much noise it has: with
/// `P` the power in units of the mean power, by `sqrt((1 + s) / (P + s)) / sigma`. White noise becomes noise of unit
/// variance. Other noise becomes whiter and weaker, [`noise`](Self::noise), while differences between patches keep their
/// size in units of `sigma`, so that parameters have the meaning that they have for white noise.
#[derive(Clone)]
pub struct Whitening {
    width: usize,
    height: usize,
    sigma: f64,
    covariance: Option<Covariance>,
    psd: Option<Psd>,
    noise: f64,
    /// A row for each principal colour: how it is mixed from the channels, over sigma.
    mix: Vec<Vec<f32>>,
    /// What the frequencies are multiplied by: one for all colours, or one for each.
    filter: Option<(Fourier, Vec<Vec<f32>>)>,
}

impl Whitening {
    /// For noise of mean deviation `sigma`, in units of the samples; covariance and spectrum give its shape.
    pub(super) fn new(
        (width, height): (usize, usize),
        channels: usize,
        sigma: f64,
        covariance: Option<Covariance>,
        psd: Option<Psd>,
    ) -> Result<Self> {
        Self::planned((width, height), channels, sigma, covariance, psd, SOFTNESS)
    }

    fn planned(
        (width, height): (usize, usize),
        channels: usize,
        sigma: f64,
        covariance: Option<Covariance>,
        psd: Option<Psd>,
        softness: f64,
    ) -> Result<Self> {
        if !(sigma.is_finite() && sigma > 0.0) {
            return Err(Error::parameter("sigma", sigma, "must be a positive number"));
        }
        let (shares, basis) = match &covariance {
            Some(_) if channels != 3 => {
                return Err(Error::Shape(format!(
                    "a covariance of 3 channels cannot be that of a picture with {channels}"
                )));
            }
            Some(c) => {
                let (values, vectors) = c.with_variance(1.0).eigen();
                let rows = (0..3).map(|k| vectors.iter().map(|row| row[k]).collect()).collect();
                (values.to_vec(), rows)
            }
            None => {
                let unit = |k: usize| (0..channels).map(|i| f64::from(u8::from(i == k))).collect::<Vec<_>>();
                (vec![1.0; channels], (0..channels).map(unit).collect::<Vec<_>>())
            }
        };
        let weight = |power: f64| ((1.0 + softness) / (power + softness)).sqrt();
        let left = |share: f64, power: f64| share * power * weight(share * power).powi(2);
        let (filter, gains, noise) = match &psd {
            None => {
                let noise = shares.iter().map(|&s| left(s, 1.0)).sum::<f64>() / channels as f64;
                (None, shares.iter().map(|&s| weight(s)).collect(), noise)
            }
            Some(psd) => {
                psd.check_size(width, height)?;
                let fourier = Fourier::new(smooth(width + 2 * MARGIN), smooth(height + 2 * MARGIN));
                let powers = psd.resampled(fourier.width, fourier.height);
                let alike = covariance.is_none();
                let different = if alike { &shares[..1] } else { &shares[..] };
                let response =
                    |&s: &f64| powers.par_iter().map(|&p| weight(s * f64::from(p)) as f32).collect();
                let responses: Vec<Vec<f32>> = different.iter().map(response).collect();
                let sum = |&s: &f64| powers.par_iter().map(|&p| left(s, f64::from(p))).sum::<f64>();
                let noise = different.iter().map(sum).sum::<f64>() / (different.len() * powers.len()) as f64;
                (Some((fourier, responses)), vec![1.0; channels], noise)
            }
        };
        let mixed = |(row, gain): (&Vec<f64>, f64)| row.iter().map(|v| (v * gain / sigma) as f32).collect();
        let mix = basis.iter().zip(gains).map(mixed).collect();
        Ok(Self { width, height, sigma, covariance, psd, noise, mix, filter })
    }

    /// The same with another softness than 1: 0 whitens exactly, more leaves more of the correlation. For experiments.
    pub fn with_softness(self, softness: f64) -> Result<Self> {
        if !(softness.is_finite() && softness >= 0.0) {
            return Err(Error::parameter("softness", softness, "must be 0 or a positive number"));
        }
        // Frequencies without any noise must not be divided by zero.
        let softness = softness.max(1e-6);
        let (size, channels) = ((self.width, self.height), self.mix.len());
        Self::planned(size, channels, self.sigma, self.covariance, self.psd, softness)
    }

    /// Deviation of the noise in the picture's own units, the root of the channels' mean variance: what parameters are
    /// chosen for.
    pub fn sigma(&self) -> f32 {
        self.sigma as f32
    }

    /// Variance that the noise has in the guide, mean over its planes: 1 for white noise, less for any other. Squared
    /// differences of equal patches are twice that.
    pub fn noise(&self) -> f32 {
        self.noise as f32
    }

    /// The covariance of the channels, at the level of [`sigma`](Self::sigma), if it is taken into account.
    pub fn covariance(&self) -> Option<Covariance> {
        self.covariance.map(|c| c.with_variance(self.sigma * self.sigma))
    }

    /// The power spectrum, at the level of [`sigma`](Self::sigma), if it is taken into account.
    pub fn psd(&self) -> Option<Psd> {
        self.psd.as_ref().map(|p| p.scaled(self.sigma / p.variance().sqrt()))
    }

    /// Number of guide planes: as many as the picture has.
    pub fn guides(&self) -> usize {
        self.mix.len()
    }

    /// The guide of one frame: as many planes as it has, to be compared with noise of deviation 1.
    pub fn guide(&self, planes: &[PlaneView<'_>]) -> Result<Vec<Plane>> {
        if planes.len() != self.mix.len() {
            return Err(Error::Shape(format!("{} planes are needed, not {}", self.mix.len(), planes.len())));
        }
        if let Some(p) = planes.iter().find(|p| (p.width(), p.height()) != (self.width, self.height)) {
            return Err(Error::Shape(format!(
                "a {} x {} plane in frames of {} x {}",
                p.width(),
                p.height(),
                self.width,
                self.height
            )));
        }
        let mixed: Vec<Plane> = self.mix.iter().map(|row| mixed(planes, row)).collect();
        let Some((fourier, responses)) = &self.filter else {
            return Ok(mixed);
        };
        let mut out = Vec::with_capacity(mixed.len());
        if let [response] = &responses[..] {
            for pair in mixed.chunks(2) {
                let filtered = fourier.filter(self.padded(fourier, &pair[0], pair.get(1)), response);
                out.push(self.cropped(fourier, &filtered, |c| c.re));
                out.extend(pair.get(1).map(|_| self.cropped(fourier, &filtered, |c| c.im)));
            }
        } else {
            for (plane, response) in mixed.iter().zip(responses) {
                let filtered = fourier.filter(self.padded(fourier, plane, None), response);
                out.push(self.cropped(fourier, &filtered, |c| c.re));
            }
        }
        Ok(out)
    }

    /// One plane or two as the parts of complex numbers, continued as in a mirror.
    fn padded(&self, fourier: &Fourier, re: &Plane, im: Option<&Plane>) -> Vec<Complex32> {
        let (w, h) = (self.width, self.height);
        let columns: Vec<usize> = (0..fourier.width).map(|x| fold(x as isize - MARGIN as isize, w)).collect();
        let mut out = vec![Complex32::default(); fourier.width * fourier.height];
        out.par_chunks_exact_mut(fourier.width).enumerate().for_each(|(y, out)| {
            let y = fold(y as isize - MARGIN as isize, h);
            let (re, im) = (re.row(y), im.map(|p| p.row(y)));
            for (o, &x) in out.iter_mut().zip(&columns) {
                *o = Complex32::new(re[x], im.map_or(0.0, |p| p[x]));
            }
        });
        out
    }

    fn cropped(
        &self,
        fourier: &Fourier,
        from: &[Complex32],
        part: impl Fn(&Complex32) -> f32 + Sync,
    ) -> Plane {
        let mut out = Plane::zeros(self.width, self.height);
        out.as_mut_slice().par_chunks_exact_mut(self.width).enumerate().for_each(|(y, out)| {
            let from = &from[(y + MARGIN) * fourier.width + MARGIN..][..out.len()];
            out.iter_mut().zip(from).for_each(|(o, c)| *o = part(c));
        });
        out
    }
}

impl fmt::Debug for Whitening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Whitening")
            .field("size", &(self.width, self.height))
            .field("sigma", &self.sigma)
            .field("noise", &self.noise)
            .field("covariance", &self.covariance)
            .field("psd", &self.psd.is_some())
            .finish_non_exhaustive()
    }
}

/// A weighted sum of planes.
fn mixed(planes: &[PlaneView<'_>], weights: &[f32]) -> Plane {
    let (w, h) = (planes[0].width(), planes[0].height());
    let mut out = Plane::zeros(w, h);
    out.as_mut_slice().par_chunks_exact_mut(w).enumerate().for_each(|(y, out)| {
        for (plane, &weight) in planes.iter().zip(weights) {
            if weight != 0.0 {
                out.iter_mut().zip(plane.row(y)).for_each(|(o, v)| *o += weight * v);
            }
        }
    });
    out
}
