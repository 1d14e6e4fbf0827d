//! Noise of a part of a picture that is known to be flat.

use crate::noise::estimate::flat_ends;
use crate::{Error, FrameView, PlaneView, Result};

/// The least pixels of a region.
const FEWEST: usize = 64;
/// More samples than this part at an end of the range: what noise there was is not known any more.
const CLIPPED: f64 = 0.1;

/// Some pixels of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rectangle {
    /// First column.
    pub x: usize,
    /// First row.
    pub y: usize,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// Noise of a region in one channel, on the scale on which white is 255.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RegionNoise {
    /// Mean of the samples.
    pub brightness: f32,
    /// Deviation of what is left when a plane was fitted to them: light may fall off over the region.
    pub deviation: f32,
}

/// Noise of a flat region, channel by channel. It is refused if it is not in the picture, has fewer than 64 pixels, is
/// clipped, or is not flat: it has more structure than noise.
///
/// ```
/// use quell::{Frame, Plane, noise::{self, Rectangle}};
/// let grey = Frame::grey(Plane::from_vec(64, 64, vec![100.0; 4096])?, 255.0)?;
/// let noisy = noise::add_gaussian(&grey, 8.0, 0)?;
/// let found = noise::measured_on(&noisy.view(), Rectangle { x: 8, y: 8, width: 40, height: 40 })?;
/// assert!((found[0].deviation - 8.0).abs() < 0.6 && (found[0].brightness - 100.0).abs() < 1.0);
/// # Ok::<(), quell::Error>(())
/// ```
pub fn measured_on(frame: &FrameView<'_>, rectangle: Rectangle) -> Result<Vec<RegionNoise>> {
    let Rectangle { x, y, width, height } = rectangle;
    let name = || format!("{width} x {height} at {x}, {y}");
    let fits =
        |start: usize, length: usize, whole: usize| start.checked_add(length).is_some_and(|end| end <= whole);
    if !fits(x, width, frame.width()) || !fits(y, height, frame.height()) {
        let why = format!("is not in a picture of {} x {}", frame.width(), frame.height());
        return Err(Error::parameter("region", name(), why));
    }
    if width.saturating_mul(height) < FEWEST || width < 4 || height < 4 {
        let why = format!("has too few pixels: {FEWEST} are needed, 4 in each direction");
        return Err(Error::parameter("region", name(), why));
    }
    frame.check_finite()?;
    let scale = 255.0 / frame.white();
    let one = |plane: &PlaneView<'_>| {
        let rows = (y..y + height).map(|row| &plane.row(row)[x..x + width]);
        let samples: Vec<f64> = rows.flatten().map(|v| f64::from(*v)).collect();
        let (low, high) = flat_ends(plane, frame.white());
        let clipped = samples.iter().filter(|v| **v == f64::from(low) || **v == f64::from(high)).count();
        if clipped as f64 > CLIPPED * samples.len() as f64 {
            return Err(Error::parameter("region", name(), "is black or white: its noise was cut off"));
        }
        let (mean, left) = without_plane(&samples, width);
        let n = left.len() as f64;
        // Three numbers were fitted.
        let variance = left.iter().map(|v| v * v).sum::<f64>() / (n - 3.0);
        if !is_flat(&left, width, variance) {
            return Err(Error::parameter("region", name(), "is not flat: it has more structure than noise"));
        }
        Ok(RegionNoise { brightness: mean as f32 * scale, deviation: variance.sqrt() as f32 * scale })
    };
    frame.planes().iter().map(one).collect()
}

/// The mean, and what is left without the plane that fits best.
fn without_plane(samples: &[f64], width: usize) -> (f64, Vec<f64>) {
    let height = samples.len() / width;
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let at = |i: usize| {
        let (x, y) = (i % width, i / width);
        (x as f64 - (width - 1) as f64 / 2.0, y as f64 - (height - 1) as f64 / 2.0)
    };
    // Columns and rows about their middle are orthogonal.
    let (mut across, mut down, mut xx, mut yy) = (0.0, 0.0, 0.0, 0.0);
    for (i, v) in samples.iter().enumerate() {
        let (x, y) = at(i);
        (across, down, xx, yy) = (across + x * (v - mean), down + y * (v - mean), xx + x * x, yy + y * y);
    }
    let left = |(i, v): (usize, &f64)| {
        let (x, y) = at(i);
        v - mean - across / xx * x - down / yy * y
    };
    (mean, samples.iter().enumerate().map(left).collect())
}

/// Structure is in the means of cells of a few pixels, where white noise has a fourth or a sixteenth of its variance and
/// the noise of a demosaicked picture about half.
fn is_flat(left: &[f64], width: usize, variance: f64) -> bool {
    let (cell, most) = if left.len() < 256 { (2, 0.7) } else { (4, 0.5) };
    let height = left.len() / width;
    let (mut sum, mut count) = (0.0, 0.0);
    for y in (0..=height - cell).step_by(cell) {
        for x in (0..=width - cell).step_by(cell) {
            let samples = (0..cell * cell).map(|i| left[(y + i / cell) * width + x + i % cell]);
            let mean = samples.sum::<f64>() / (cell * cell) as f64;
            (sum, count) = (sum + mean * mean, count + 1.0);
        }
    }
    sum / count <= most * variance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{add_gaussian, add_poisson_gaussian};
    use crate::{Frame, Plane};

    fn frame(white: f32, f: impl Fn(usize, usize) -> f32) -> Frame {
        let samples = (0..96 * 96).map(|i| f(i % 96, i / 96)).collect();
        Frame::grey(Plane::from_vec(96, 96, samples).unwrap(), white).unwrap()
    }

    fn on(frame: &Frame, x: usize, y: usize, width: usize, height: usize) -> Result<Vec<RegionNoise>> {
        measured_on(&frame.view(), Rectangle { x, y, width, height })
    }

    #[test]
    fn light_that_falls_off_is_no_noise() {
        let slope = frame(1000.0, |x, y| 300.0 + 2.0 * x as f32 - y as f32);
        let noisy = add_gaussian(&slope, 20.0, 5).unwrap();
        let found = on(&noisy, 0, 0, 96, 96).unwrap()[0];
        assert!((found.deviation / 5.1 - 1.0).abs() < 0.03, "{found:?}");
        assert!((found.brightness / 88.6 - 1.0).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn regions_of_photons_give_points_of_a_curve() {
        for y in [20.0, 100.0, 200.0] {
            let noisy = add_poisson_gaussian(&frame(255.0, |_, _| y), 2.0, 3.0, 5).unwrap();
            let found = on(&noisy, 10, 10, 64, 64).unwrap()[0];
            assert!((found.deviation / (2.0 * y + 9.0).sqrt() - 1.0).abs() < 0.04, "{found:?}");
        }
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let noisy = add_gaussian(&frame(255.0, |x, _| if x < 30 { 80.0 } else { 120.0 }), 5.0, 1).unwrap();
        let refused = |x, y, w, h, why: &str| {
            let e = on(&noisy, x, y, w, h).unwrap_err().to_string();
            assert!(e.contains(why), "{e}");
        };
        refused(90, 0, 10, 10, "is not in a picture");
        refused(usize::MAX, 0, 10, 10, "is not in a picture");
        refused(0, 0, 7, 9, "too few pixels");
        refused(0, 0, 3, 90, "too few pixels");
        refused(10, 10, 40, 40, "not flat");
        refused(26, 10, 8, 8, "not flat");
        assert!(on(&noisy, 0, 10, 30, 40).is_ok() && on(&noisy, 40, 10, 8, 8).is_ok());
        let mut white = add_gaussian(&frame(255.0, |_, _| 252.0), 5.0, 1).unwrap();
        white.planes_mut()[0].as_mut_slice().iter_mut().for_each(|v| *v = v.min(255.0));
        assert!(on(&white, 0, 0, 40, 40).unwrap_err().to_string().contains("black or white"));
    }
}
