//! Noise of variance `a*y + b` from one picture: the quietest blocks at every brightness (after Ponomarenko et al. in the
//! version of Colom and Buades, IPOL 2013, and Foi et al. 2008).
//!
//! 8 x 8 blocks are sorted into bins by their mean. In each the blocks with the least energy in the low frequencies have
//! the least texture, and the variance of the noise is read from their high frequencies. A line through the variances is
//! fitted so that bins which have texture only, and lie above it, count little.

use super::{Curve, LEAST, WHITE};
use crate::memory::check_planes;
use crate::noise::estimate::bands::{self, Bands, Seen};
use crate::noise::estimate::{Blocks, seen};
use crate::{FrameView, PlaneView, Result};

/// Noise depends on brightness if the line grows by this from the darkest to the brightest bin,
const GROWTH: f64 = 2.0;
/// the quietest of the dark and bright thirds of the bins differ by this,
const AGREED: f64 = 1.25;
/// and half of the bins are no further from the line, as a logarithm.
const AWAY: f64 = 0.25;
/// Blocks that are looked at, over all channels.
const LIMIT: usize = 65_536;
/// Bins of a channel, and the least blocks of one.
const BINS: usize = 16;
const FULL: usize = 64;
/// The quietest part of a bin that is measured at least, at most, and in any case.
const SHARE: (f64, f64) = (0.05, 0.4);
const FEWEST: usize = 20;
/// Relative standard error of the variance found from one block.
const STANDARD_ERROR: f64 = 0.31;
/// A bin whose variance is more than this above the line has texture.
const TEXTURE: f64 = 1.15;
/// Distance to black or white, in deviations, from which clipping is negligible.
const MARGIN: f64 = 2.0;
/// Photons are counted if a value more is about a photon more: the gain is within this of the step between values.
const COUNTS: f64 = 0.25;

/// What was found of noise by brightness.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CurveFound {
    /// The line through the variances; a constant where the noise does not depend on brightness.
    pub curve: Curve,
    /// Whether it does: if not, one deviation is enough.
    pub dependent: bool,
    /// What was measured, by rising brightness in each channel.
    pub points: Vec<CurvePoint>,
    /// The blocks that were looked at.
    pub blocks: Blocks,
}

/// Noise at some brightness, on the scale on which white is 255.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CurvePoint {
    /// Mean of the blocks.
    pub brightness: f32,
    /// Deviation of the noise in them.
    pub deviation: f32,
    /// How many they were.
    pub blocks: usize,
}

/// Noise of a picture by brightness. Where `alpha` is 0 nothing is looked at, unless it is 0 everywhere. `None`: there are
/// too few blocks, or there is no noise.
///
/// ```
/// use quell::{Frame, Plane, noise};
/// let ramp = (0..256 * 256).map(|i| (i % 256) as f32).collect();
/// let clean = Frame::grey(Plane::from_vec(256, 256, ramp)?, 255.0)?;
/// let noisy = noise::add_poisson_gaussian(&clean, 2.0, 3.0, 0)?;
/// let found = noise::estimate_curve(&noisy.view(), None)?.unwrap();
/// let (a, b) = found.curve.gain_and_floor().unwrap();
/// assert!(found.dependent && (a - 2.0).abs() < 0.2 && (b - 9.0).abs() < 9.0);
/// # Ok::<(), quell::Error>(())
/// ```
pub fn estimate_curve(frame: &FrameView<'_>, alpha: Option<&PlaneView<'_>>) -> Result<Option<CurveFound>> {
    frame.check_finite()?;
    check_planes(1, frame.width(), frame.height())?;
    let alpha = alpha.map(|a| seen(frame, a)).transpose()?.flatten();
    Ok(find(frame, alpha))
}

/// The same of samples that are finite, and an alpha channel that tells something.
pub(crate) fn find(frame: &FrameView<'_>, alpha: Option<PlaneView<'_>>) -> Option<CurveFound> {
    let found = look(frame, alpha, false);
    // Zeros are clipped noise, or no photons.
    if found.zeros {
        let counts = look(frame, alpha, true);
        if counts.are_photons() {
            return counts.judged();
        }
    }
    found.judged()
}

/// Variances by brightness.
struct Measured {
    points: Vec<Point>,
    blocks: Blocks,
    /// Between neighbouring values, on the scale of the points.
    step: f32,
    /// Some samples lie at the lower end.
    zeros: bool,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    brightness: f64,
    variance: f64,
    /// Relative standard error of the variance.
    error: f64,
    blocks: usize,
}

fn look(frame: &FrameView<'_>, alpha: Option<PlaneView<'_>>, zeros: bool) -> Measured {
    let scale = WHITE / frame.white();
    let mut all = Measured { points: Vec::new(), blocks: Blocks::default(), step: 0.0, zeros: false };
    for plane in frame.planes() {
        let mut seen = bands::look(plane, frame.white(), alpha, LIMIT / frame.channels(), zeros);
        for band in &mut seen.bands {
            let (low, high) = (band.low * scale * scale, band.high * scale * scale);
            *band = Bands { mean: band.mean * scale, low, high };
        }
        seen.ends = (seen.ends.0.map(|v| v * scale), seen.ends.1.map(|v| v * scale));
        all.blocks += seen.blocks;
        all.zeros |= seen.ends.0.is_some() || seen.blocks.clipped > 0;
        all.step = all.step.max(seen.step * scale);
        all.points.extend(points(seen));
    }
    all
}

/// The variance in each bin of a channel.
fn points(mut seen: Seen) -> Vec<Point> {
    let bins = (seen.bands.len() / FULL).min(BINS);
    if bins < 3 {
        return Vec::new();
    }
    seen.bands.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    let n = seen.bands.len();
    let bin = |i: usize| &seen.bands[i * n / bins..(i + 1) * n / bins];
    let points: Vec<Point> = (0..bins).map(|i| quiet(bin(i), seen.independent)).collect();
    // Where samples were clipped, bins near to that end have lost noise.
    let inside = |p: &&Point| {
        let margin = MARGIN * p.variance.sqrt();
        seen.ends.0.is_none_or(|end| p.brightness - margin >= end.into())
            && seen.ends.1.is_none_or(|end| p.brightness + margin <= end.into())
    };
    let kept: Vec<Point> = points.iter().filter(inside).copied().collect();
    if kept.len() < 3 { points } else { kept }
}

/// Measures the quietest blocks of a bin, as many as agree.
fn quiet(bin: &[Bands], independent: f64) -> Point {
    let mut bin = bin.to_vec();
    bin.sort_by(|a, b| a.low.total_cmp(&b.low));
    let measure = |count: usize| {
        let mean =
            |f: fn(&Bands) -> f32| bin[..count].iter().map(|b| f64::from(f(b))).sum::<f64>() / count as f64;
        let error = STANDARD_ERROR / (count as f64 * independent).max(1.0).sqrt();
        Point { brightness: mean(|b| b.mean), variance: mean(|b| b.high), error, blocks: count }
    };
    let part = |share: f64| ((bin.len() as f64 * share) as usize).max(FEWEST).min(bin.len());
    let mut found = measure(part(SHARE.0));
    let mut bound = f64::INFINITY;
    loop {
        bound = bound.min(found.variance * (1.0 + found.error));
        let next = (2 * found.blocks).min(part(SHARE.1));
        if next <= found.blocks {
            return found;
        }
        let wider = measure(next);
        if wider.variance > bound {
            return found;
        }
        found = wider;
    }
}

/// Weighted least squares for `a` and `b`: relative errors count, and less where there is texture.
fn fit(points: &[Point]) -> (f64, f64) {
    let mut variances: Vec<f64> = points.iter().map(|p| p.variance).collect();
    variances.sort_by(f64::total_cmp);
    let least = 0.05 * variances[variances.len() / 2] + 1e-9;
    let mut weights = vec![1.0; points.len()];
    let mut line = (0.0, 0.0);
    for _ in 0..20 {
        let sum =
            |f: &dyn Fn(&Point) -> f64| points.iter().zip(&weights).map(|(p, w)| w * w * f(p)).sum::<f64>();
        let (n, x, v) = (sum(&|_| 1.0), sum(&|p| p.brightness), sum(&|p| p.variance));
        let (xx, xv) = (sum(&|p| p.brightness * p.brightness), sum(&|p| p.brightness * p.variance));
        let spread = n * xx - x * x;
        // All of one brightness.
        let a = if spread > 1e-9 * n * xx { (n * xv - x * v) / spread } else { 0.0 };
        line = (a, (v - a * x) / n);
        for (p, w) in points.iter().zip(&mut weights) {
            let expected = (line.0 * p.brightness + line.1).max(least);
            let over = (TEXTURE * expected / p.variance).min(1.0);
            *w = over * over / expected;
        }
    }
    line
}

/// The same with one variance.
fn constant(points: &[Point]) -> f64 {
    let mut level = f64::INFINITY;
    for _ in 0..20 {
        let weight = |p: &Point| {
            let over = (TEXTURE * level / p.variance).min(1.0);
            over.powi(4)
        };
        let sum: f64 = points.iter().map(weight).sum();
        level = points.iter().map(|p| weight(p) * p.variance).sum::<f64>() / sum;
    }
    level
}

impl Measured {
    /// Whether a value more is a photon more: the variance is the brightness times the step between values.
    fn are_photons(&self) -> bool {
        let step = f64::from(self.step);
        if self.points.len() < 3 || step <= 0.0 {
            return false;
        }
        let (a, b) = fit(&self.points);
        let mean = self.points.iter().map(|p| p.brightness).sum::<f64>() / self.points.len() as f64;
        (a / step - 1.0).abs() < COUNTS && b.abs() < COUNTS * a * mean
    }

    fn judged(&self) -> Option<CurveFound> {
        if self.points.len() < 3 {
            return None;
        }
        let level = constant(&self.points);
        if level.is_nan() || level <= f64::from(LEAST) {
            return None;
        }
        let (a, b) = fit(&self.points);
        let dependent = depends(&self.points, (a, b));
        let darkest = self.points.iter().map(|p| p.brightness).fold(f64::INFINITY, f64::min);
        let curve = if dependent {
            // A pedestal is no brighter than what is in the picture.
            Curve::poisson_gauss(a as f32, b.max(-a * darkest.max(0.0)) as f32)
        } else {
            Curve::poisson_gauss(0.0, level as f32)
        };
        let point = |p: &Point| CurvePoint {
            brightness: p.brightness as f32,
            deviation: p.variance.sqrt() as f32,
            blocks: p.blocks,
        };
        let points = self.points.iter().map(point).collect();
        Some(CurveFound { curve: curve.ok()?, dependent, points, blocks: self.blocks })
    }
}

/// Whether variances grow so much with brightness that one for all would be wrong: the line says that they double, the
/// quietest bins among dark and bright ones agree, and the line is where the bins are. Texture raises single bins.
fn depends(points: &[Point], (a, b): (f64, f64)) -> bool {
    let mut sorted = points.to_vec();
    sorted.sort_by(|p, q| p.brightness.total_cmp(&q.brightness));
    let (n, third) = (sorted.len(), (sorted.len() / 3).max(1));
    let line = |p: &Point| (a * p.brightness + b).max(1e-9);
    // The lowest one may be so by chance.
    let quiet = |part: &[Point]| {
        let mut variances: Vec<f64> = part.iter().map(|p| p.variance).collect();
        variances.sort_by(f64::total_cmp);
        variances[1.min(variances.len() - 1)]
    };
    let mut away: Vec<f64> = points.iter().map(|p| (p.variance / line(p)).ln().abs()).collect();
    away.sort_by(f64::total_cmp);
    line(&sorted[n - 1]) > GROWTH * line(&sorted[0])
        && quiet(&sorted[n - third..]) > AGREED * quiet(&sorted[..third])
        && away[n / 2] < AWAY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{add_gaussian, add_poisson_gaussian};
    use crate::{Frame, Plane};

    /// Ramps, edges and a weave.
    fn scene(channels: usize, white: f32) -> Frame {
        let sample = |i: usize| {
            let (x, y) = ((i % 256) as f32, (i / 256) as f32);
            let weave = if i % 256 > 200 { 30.0 * (x * 1.3).sin() * (y * 0.9).cos() } else { 0.0 };
            let stair = 35.0 * (y / 43.0).floor();
            (20.0 + x / 5.0 + stair + weave) * white / 255.0
        };
        let plane = Plane::from_vec(256, 256, (0..65536).map(sample).collect()).unwrap();
        Frame::new(vec![plane; channels], white).unwrap()
    }

    fn found(frame: &Frame) -> CurveFound {
        estimate_curve(&frame.view(), None).unwrap().unwrap()
    }

    fn eight_bits(mut frame: Frame) -> Frame {
        for plane in frame.planes_mut() {
            plane.as_mut_slice().iter_mut().for_each(|v| *v = v.round().clamp(0.0, 255.0));
        }
        frame
    }

    #[test]
    fn gain_and_floor_are_found_in_any_units() {
        for (white, channels) in [(255.0, 1), (1.0, 3), (65535.0, 1)] {
            for (a, b) in [(25.0, 100.0), (4.0, 16.0), (0.5, 1.0)] {
                let unit = f64::from(white) / 255.0;
                let clean = scene(channels, white);
                let noisy = add_poisson_gaussian(&clean, a * unit, f64::sqrt(b) * unit, 3).unwrap();
                let found = found(&noisy);
                let (gain, _) = found.curve.gain_and_floor().unwrap();
                assert!(found.dependent && (f64::from(gain) / a - 1.0).abs() < 0.1, "{gain} for {a}");
                for y in [30.0, 100.0, 220.0] {
                    let ratio = f64::from(found.curve.deviation(y)) / (a * f64::from(y) + b).sqrt();
                    assert!((ratio - 1.0).abs() < 0.06, "{ratio} at {y} of {a}, {b}");
                }
            }
        }
    }

    #[test]
    fn white_noise_is_one_deviation() {
        for sigma in [3.0, 10.0, 30.0, 50.0] {
            let noisy = add_gaussian(&scene(1, 255.0), sigma, 2).unwrap();
            for frame in [noisy.clone(), eight_bits(noisy)] {
                let found = found(&frame);
                assert!(!found.dependent);
                assert!((f64::from(found.curve.sigma()) / sigma - 1.0).abs() < 0.06, "{:?}", found.curve);
            }
        }
    }

    #[test]
    fn counts_of_photons_have_zeros_that_are_not_clipped() {
        for peak in [2.0, 10.0, 60.0] {
            let noisy = add_poisson_gaussian(&scene(1, 255.0), 255.0 / peak, 0.0, 2).unwrap();
            let found = found(&noisy);
            let (a, _) = found.curve.gain_and_floor().unwrap();
            assert!(found.dependent && (f64::from(a) * peak / 255.0 - 1.0).abs() < 0.12, "{a} at {peak}");
        }
    }

    #[test]
    fn what_is_not_seen_or_filled_or_too_small_does_not_count() {
        let mut noisy = add_poisson_gaussian(&scene(1, 255.0), 4.0, 3.0, 3).unwrap();
        let loud = add_gaussian(&scene(1, 255.0), 60.0, 3).unwrap();
        for y in 0..256 {
            let plane = &mut noisy.planes_mut()[0];
            plane.as_mut_slice()[y * 256..][..40].copy_from_slice(&loud.planes()[0].row(y)[..40]);
            plane.as_mut_slice()[y * 256 + 40..][..30].fill(90.0);
        }
        let alpha = (0..65536).map(|i| if i % 256 < 40 { 0.0 } else { 1.0 }).collect();
        let alpha = Plane::from_vec(256, 256, alpha).unwrap();
        let found = estimate_curve(&noisy.view(), Some(&alpha.view())).unwrap().unwrap();
        let (a, _) = found.curve.gain_and_floor().unwrap();
        assert!(found.dependent && (a / 4.0 - 1.0).abs() < 0.15, "{a}");
        assert!(found.blocks.transparent > 0 && found.blocks.flat > 0);
        for (w, h) in [(1, 1), (8, 8), (7, 300), (15, 15)] {
            let small = Frame::grey(Plane::from_vec(w, h, vec![9.0; w * h]).unwrap(), 255.0).unwrap();
            assert_eq!(estimate_curve(&small.view(), None).unwrap(), None);
        }
        let flat = Frame::grey(Plane::from_vec(64, 64, vec![9.0; 4096]).unwrap(), 255.0).unwrap();
        assert_eq!(estimate_curve(&flat.view(), None).unwrap(), None);
    }
}
