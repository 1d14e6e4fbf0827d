//! The power spectrum of noise that is correlated in space.

use rayon::prelude::*;
use rustfft::num_complex::Complex32;

use super::fourier::Fourier;
use crate::{Error, Plane, PlaneView, Result};

/// Power spectral density of stationary noise, one value per frequency of a picture of this size, in the layout of a
/// discrete Fourier transform (the first sample is frequency zero).
///
/// The scale is that of Mäkinen, Azzari and Foi (2020): the mean over all frequencies, divided by the number of pixels,
/// is the variance of a pixel. For noise made by the convolution of unit white noise with a kernel it is `width * height *
/// |DFT(kernel)|^2`; white noise has `width * height * sigma^2` everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Psd {
    power: Plane,
}

impl Psd {
    /// A spectrum from one plane of finite values that are not negative and not all zero. Real noise has the same power at
    /// a frequency and its opposite; the mean of the two is taken.
    pub fn new(power: Plane) -> Result<Self> {
        let (w, h) = (power.width(), power.height());
        let wrong = power.as_slice().iter().position(|v| !(v.is_finite() && *v >= 0.0));
        if let Some(i) = wrong {
            let at = format!("noise power spectrum at column {}, row {}", i % w, i / w);
            return Err(Error::parameter(at, power.as_slice()[i], "must be 0 or a positive number"));
        }
        if power.as_slice().iter().all(|v| *v == 0.0) {
            return Err(Error::parameter("noise power spectrum", 0, "must not be zero everywhere"));
        }
        let opposite = |x: usize, y: usize| power.row((h - y) % h)[(w - x) % w];
        let mut symmetric = power.clone();
        symmetric.as_mut_slice().par_chunks_exact_mut(w).enumerate().for_each(|(y, row)| {
            for (x, v) in row.iter_mut().enumerate() {
                *v = 0.5 * *v + 0.5 * opposite(x, y);
            }
        });
        Ok(Self { power: symmetric })
    }

    /// From a function of the frequency in cycles per pixel, each -0.5 to 0.5, scaled to this variance per pixel.
    pub(crate) fn sampled(
        (width, height): (usize, usize),
        variance: f64,
        shape: impl Fn(f64, f64) -> f64,
    ) -> Result<Self> {
        let values: Vec<f64> = (0..width * height)
            .map(|i| shape(frequency(i % width, width), frequency(i / width, height)))
            .collect();
        // mean(Psi) / (W H) = variance, so sum(Psi) = variance (W H)^2.
        let scale = variance * ((width * height) as f64).powi(2) / values.iter().sum::<f64>();
        Self::new(Plane::from_vec(width, height, values.iter().map(|v| (v * scale) as f32).collect())?)
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        (self.power.width(), self.power.height())
    }

    /// The values.
    pub fn plane(&self) -> &Plane {
        &self.power
    }

    /// Gives the values away.
    pub fn into_plane(self) -> Plane {
        self.power
    }

    /// Variance of a pixel.
    pub fn variance(&self) -> f64 {
        let n = self.power.as_slice().len() as f64;
        self.power.as_slice().iter().map(|&v| f64::from(v)).sum::<f64>() / (n * n)
    }

    /// The same for samples in units `factor` times as small: every value times the square of it.
    pub fn scaled(&self, factor: f64) -> Self {
        let mut power = self.power.clone();
        power.as_mut_slice().iter_mut().for_each(|v| *v = (f64::from(*v) * factor * factor) as f32);
        Self { power }
    }

    /// Correlation of the noise of two pixels that lie `(x, y)` apart, -1 to 1.
    pub fn correlation(&self, x: isize, y: isize) -> f64 {
        let (w, h) = self.size();
        let turns = |k: usize, n: usize, d: isize| frequency(k, n) * d as f64;
        let (mut sum, mut all) = (0.0, 0.0);
        for (v, row) in self.power.view().rows().enumerate() {
            for (u, &p) in row.iter().enumerate() {
                let cos = (std::f64::consts::TAU * (turns(u, w, x) + turns(v, h, y))).cos();
                sum += f64::from(p) * cos;
                all += f64::from(p);
            }
        }
        sum / all
    }

    /// Correlations of the noise of two pixels up to `reach` rows and columns apart: rows from `-reach` on, each with its
    /// columns from `-reach` on. A picture smaller than that wraps around.
    pub(crate) fn correlations(&self, reach: usize) -> Vec<f64> {
        let (w, h) = self.size();
        let power = self.power.as_slice().iter().map(|&v| Complex32::new(v, 0.0)).collect();
        let all = Fourier::new(w, h).forward(power);
        let wrapped = |i: usize, n: usize| (i as isize - reach as isize).rem_euclid(n as isize) as usize;
        let own = f64::from(all[0].re);
        let side = 2 * reach + 1;
        (0..side * side)
            .map(|i| f64::from(all[wrapped(i % side, w) * h + wrapped(i / side, h)].re) / own)
            .collect()
    }

    /// An error that names both sizes unless this is for pictures of this size.
    pub fn check_size(&self, width: usize, height: usize) -> Result<()> {
        let (w, h) = self.size();
        if (w, h) == (width, height) {
            return Ok(());
        }
        Err(Error::Shape(format!(
            "the noise power spectrum is {w} x {h}, but the picture {width} x {height}"
        )))
    }

    /// The shape, of mean 1, at the frequencies of another size, column by column: linear between the frequencies.
    pub(super) fn resampled(&self, width: usize, height: usize) -> Vec<f32> {
        let columns = neighbours(width, self.power.width());
        let rows = neighbours(height, self.power.height());
        let power: PlaneView<'_> = self.power.view();
        let mut out = vec![0.0_f32; width * height];
        out.par_chunks_exact_mut(height).zip(&columns).for_each(|(out, &(x0, x1, tx))| {
            for (o, &(y0, y1, ty)) in out.iter_mut().zip(&rows) {
                let along = |y: usize| {
                    let row = power.row(y);
                    row[x0] + tx * (row[x1] - row[x0])
                };
                *o = along(y0) + ty * (along(y1) - along(y0));
            }
        });
        let mean = out.iter().map(|&v| f64::from(v)).sum::<f64>() / out.len() as f64;
        let scale = if mean > 0.0 { 1.0 / mean } else { 1.0 };
        out.iter_mut().for_each(|v| *v = (f64::from(*v) * scale) as f32);
        out
    }
}

/// Frequency of index `k` of `n` in cycles per pixel, -0.5 to 0.5.
pub(super) fn frequency(k: usize, n: usize) -> f64 {
    let k = k as f64;
    let n = n as f64;
    if 2.0 * k < n { k / n } else { k / n - 1.0 }
}

/// For each of `to` frequencies the two of `from` beside it, and how far it is from the first to the second.
fn neighbours(to: usize, from: usize) -> Vec<(usize, usize, f32)> {
    (0..to)
        .map(|k| {
            let at = k as f64 / to as f64 * from as f64;
            let first = at.floor();
            (first as usize % from, (first as usize + 1) % from, (at - first) as f32)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(w: usize, h: usize, f: impl Fn(usize) -> f32) -> Plane {
        Plane::from_vec(w, h, (0..w * h).map(f).collect()).unwrap()
    }

    #[test]
    fn bad_spectra_are_refused_with_the_reason() {
        let message = |p| Psd::new(p).unwrap_err().to_string();
        assert_eq!(
            message(plane(4, 3, |i| if i == 6 { -1.0 } else { 1.0 })),
            "noise power spectrum at column 2, row 1 = -1: must be 0 or a positive number"
        );
        assert!(message(plane(4, 3, |_| f32::NAN)).contains("= NaN"));
        assert_eq!(message(plane(4, 3, |_| 0.0)), "noise power spectrum = 0: must not be zero everywhere");
        let e = Psd::new(plane(4, 3, |_| 1.0)).unwrap().check_size(5, 3).unwrap_err().to_string();
        assert_eq!(e, "the noise power spectrum is 4 x 3, but the picture 5 x 3");
    }

    #[test]
    fn white_noise_has_its_variance_at_every_frequency() {
        let psd = Psd::sampled((6, 5), 9.0, |_, _| 3.0).unwrap();
        assert!(psd.plane().as_slice().iter().all(|v| (v - 270.0).abs() < 1e-3));
        assert!((psd.variance() - 9.0).abs() < 1e-5);
        assert!((psd.scaled(2.0).variance() - 36.0).abs() < 1e-5);
        assert!(psd.correlation(1, 0).abs() < 1e-6 && (psd.correlation(0, 0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn opposite_frequencies_have_the_same_power() {
        let psd = Psd::new(plane(5, 4, |i| if i == 6 { 2.0 } else { 0.0 })).unwrap();
        // (1, 1) and (4, 3).
        assert_eq!((psd.plane().row(1)[1], psd.plane().row(3)[4]), (1.0, 1.0));
    }

    #[test]
    fn resampling_keeps_the_shape_at_other_sizes() {
        let shape = |x: f64, y: f64| {
            1.0 + 0.6 * (std::f64::consts::TAU * x).cos()
                + 0.3 * (std::f64::consts::TAU * (x + 2.0 * y)).cos()
        };
        let psd = Psd::sampled((48, 40), 1.0, shape).unwrap();
        let (w, h) = (77, 64);
        for (i, v) in psd.resampled(w, h).iter().enumerate() {
            let expected = shape(frequency(i / h, w), frequency(i % h, h));
            assert!((f64::from(*v) - expected).abs() < 0.02, "{i}: {v} for {expected}");
        }
        // The correlation of neighbours is half the amplitude of the cosine, over the mean.
        assert!((psd.correlation(1, 0) - 0.3).abs() < 1e-6 && (psd.correlation(1, 2) - 0.15).abs() < 1e-6);
    }
}
