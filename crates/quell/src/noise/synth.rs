//! Adding noise for tests and measurements: seeded, in floating point, neither clipped nor rounded.
//!
//! The same seed gives the same samples on every platform, in every version and for any number of threads.
//! Each row of each plane has its own stream, so a row depends on nothing but seed, plane, row and width.

use rayon::prelude::*;

use super::random::Random;
use crate::{Error, Frame, FrameView, Plane, Result};

/// Adds white Gaussian noise of deviation `sigma`, in the frame's units, to every channel independently.
///
/// ```
/// use quell::{Frame, Plane, noise};
/// let grey = Frame::grey(Plane::from_vec(64, 64, vec![128.0; 4096])?, 255.0)?;
/// let noisy = noise::add_gaussian(&grey, 25.0, 0)?;
/// assert!((quell::metrics::psnr(&grey, &noisy)?.all - 20.17).abs() < 0.5);
/// # Ok::<(), quell::Error>(())
/// ```
pub fn add_gaussian<'a>(frame: impl Into<FrameView<'a>>, sigma: f64, seed: u64) -> Result<Frame> {
    not_negative("sigma", sigma)?;
    replace(frame.into(), seed, |random, v| v + sigma * random.normal())
}

/// Camera noise: `gain * Poisson(y / gain) + N(0, sigma²)`, all in the frame's units, so that the variance is
/// `gain * y + sigma²` (Foi et al. 2008). A gain of 0 is Gaussian noise; a negative `y` gives no photons.
pub fn add_poisson_gaussian<'a>(
    frame: impl Into<FrameView<'a>>,
    gain: f64,
    sigma: f64,
    seed: u64,
) -> Result<Frame> {
    not_negative("gain", gain)?;
    if gain == 0.0 {
        return add_gaussian(frame, sigma, seed);
    }
    not_negative("sigma", sigma)?;
    replace(frame.into(), seed, |random, v| gain * random.poisson(v / gain) + sigma * random.normal())
}

fn not_negative(name: &str, v: f64) -> Result<()> {
    if v.is_finite() && v >= 0.0 {
        return Ok(());
    }
    Err(Error::parameter(name, v, "must be 0 or a positive number"))
}

/// A new frame of `noisy(random, sample)`, rows in parallel.
fn replace(frame: FrameView<'_>, seed: u64, noisy: impl Fn(&mut Random, f64) -> f64 + Sync) -> Result<Frame> {
    frame.check_finite()?;
    let width = frame.width();
    let make = |(c, plane): (usize, &crate::PlaneView<'_>)| {
        let mut out = Plane::zeros(width, plane.height());
        out.as_mut_slice().par_chunks_exact_mut(width).enumerate().for_each(|(y, row)| {
            let mut random = Random::new(seed, c as u64, y as u64);
            for (o, &v) in row.iter_mut().zip(plane.row(y)) {
                *o = noisy(&mut random, f64::from(v)) as f32;
            }
        });
        out
    };
    Frame::new(frame.planes().iter().enumerate().map(make).collect(), frame.white())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(width: usize, height: usize, channels: usize, v: f32) -> Frame {
        Frame::new(vec![Plane::from_vec(width, height, vec![v; width * height]).unwrap(); channels], 255.0)
            .unwrap()
    }

    fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
        values.clone().sum::<f64>() / values.count() as f64
    }

    /// Mean, variance, skewness and excess kurtosis.
    fn moments(p: &Plane) -> [f64; 4] {
        let v = p.as_slice().iter().map(|&v| f64::from(v));
        let m = mean(v.clone());
        let central = |k| mean(v.clone().map(|v| (v - m).powi(k)));
        let var = central(2);
        [m, var, central(3) / var.powf(1.5), central(4) / (var * var) - 3.0]
    }

    fn correlation(a: &[f32], b: &[f32]) -> f64 {
        let centred = |v: &[f32]| {
            let m = mean(v.iter().map(|&v| f64::from(v)));
            v.iter().map(|&v| f64::from(v) - m).collect::<Vec<_>>()
        };
        let (a, b) = (centred(a), centred(b));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
    }

    #[test]
    fn seeds_keep_their_samples_for_ever() {
        let noisy = add_gaussian(&flat(3, 2, 3, 0.0), 1.0, 0).unwrap();
        let first: Vec<f32> = noisy.planes().iter().flat_map(|p| [p.row(0)[0], p.row(1)[2]]).collect();
        assert_eq!(first, [0.527_680_2, -0.281_655_1, -0.597_180_7, 1.848_210_6, 0.583_662_6, -1.492_477_5]);
        let noisy = add_poisson_gaussian(&flat(3, 2, 1, 100.0), 2.0, 0.5, 42).unwrap();
        assert_eq!(
            noisy.planes()[0].as_slice(),
            [87.46937, 72.55513, 125.87372, 109.15528, 95.32422, 108.025215]
        );
    }

    #[test]
    fn gaussian_noise_has_the_moments_of_a_normal_law() {
        let noisy = add_gaussian(&flat(512, 512, 1, 100.0), 20.0, 1).unwrap();
        let [m, var, skew, kurtosis] = moments(&noisy.planes()[0]);
        // Four standard errors each for 2^18 samples.
        assert!((m - 100.0).abs() < 0.16 && (var / 400.0 - 1.0).abs() < 0.011, "{m} {var}");
        assert!(skew.abs() < 0.019 && kurtosis.abs() < 0.038, "{skew} {kurtosis}");
    }

    #[test]
    fn channels_seeds_rows_and_neighbours_are_independent() {
        let a = add_gaussian(&flat(256, 256, 3, 0.0), 1.0, 5).unwrap();
        let b = add_gaussian(&flat(256, 256, 3, 0.0), 1.0, 6).unwrap();
        let p = |f: &Frame, c: usize| f.planes()[c].as_slice().to_vec();
        let (a0, a1, a2, b0, b1) = (p(&a, 0), p(&a, 1), p(&a, 2), p(&b, 0), p(&b, 1));
        let n = a0.len();
        // Pairs that a careless seeding would make equal: channels, next seeds, seed + 1 against plane + 1,
        // neighbours in a row (both values of one polar pair), neighbouring rows, rows against planes.
        let pairs: [(&[f32], &[f32]); 8] = [
            (&a0, &a1),
            (&a1, &a2),
            (&a0, &b0),
            (&a1, &b0),
            (&a0, &b1),
            (&a0[1..], &a0[..n - 1]),
            (&a0[256..], &a0[..n - 256]),
            (&a0[256..], &a1[..n - 256]),
        ];
        for (i, (x, y)) in pairs.into_iter().enumerate() {
            let r = correlation(x, y);
            assert!(r.abs() < 4.5 / (x.len() as f64).sqrt(), "pair {i}: {r}");
        }
    }

    #[test]
    fn camera_noise_has_variance_gain_times_signal_plus_sigma_squared() {
        for (v, gain, sigma) in [(2.0, 1.0, 0.0), (100.0, 2.0, 3.0), (50.0, 0.01, 1.0), (3.0, 10.0, 0.5)] {
            let noisy = add_poisson_gaussian(&flat(512, 256, 1, v), gain, sigma, 9).unwrap();
            let [m, var, ..] = moments(&noisy.planes()[0]);
            let expected = gain * f64::from(v) + sigma * sigma;
            let standard_error = (expected / 131_072.0).sqrt();
            assert!((m - f64::from(v)).abs() < 4.0 * standard_error, "mean {m} for {v}");
            assert!((var / expected - 1.0).abs() < 0.035, "variance {var} for {expected}");
        }
    }

    #[test]
    fn no_noise_changes_nothing_and_no_signal_has_no_photons() {
        let frame = flat(5, 4, 3, 17.5);
        assert_eq!(add_gaussian(&frame, 0.0, 3).unwrap(), frame);
        let dark = add_poisson_gaussian(&flat(8, 8, 1, -3.0), 2.0, 0.0, 3).unwrap();
        assert!(dark.planes()[0].as_slice().iter().all(|&v| v == 0.0));
    }

    #[test]
    fn nothing_is_clipped_or_rounded() {
        let noisy = add_gaussian(&flat(64, 64, 1, 250.0), 25.0, 0).unwrap();
        let v = noisy.planes()[0].as_slice();
        assert!(v.iter().any(|&v| v > 255.0) && v.iter().any(|v| v.fract() != 0.0));
    }

    #[test]
    fn meaningless_parameters_are_refused_by_name() {
        let frame = flat(2, 2, 1, 0.0);
        assert!(add_gaussian(&frame, -1.0, 0).unwrap_err().to_string().starts_with("sigma = -1"));
        assert!(add_gaussian(&frame, f64::NAN, 0).is_err());
        assert!(add_poisson_gaussian(&frame, -1.0, 0.0, 0).unwrap_err().to_string().starts_with("gain"));
        assert!(add_poisson_gaussian(&flat(2, 2, 1, f32::NAN), 1.0, 0.0, 0).is_err());
    }
}
