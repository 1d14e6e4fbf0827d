//! Noise of something even: a flat part of a picture, a grey card, a dark frame. What the light does over it, up to a curved
//! fall-off, is taken away; what is left is noise, and must look like it.

use super::Model;
use super::camera::{self, CameraNoise};
use super::correlated::Covariance;
use crate::{Error, FrameView, Plane, Result};

/// The least side of a region, and the least number of its pixels.
const LEAST_SIDE: usize = 4;
const LEAST: usize = 64;
/// Share of clipped samples from which nothing can be told.
const CLIPPED: f64 = 0.25;
/// Noise has a kurtosis of 3; two levels have 1, rare edges far more.
const KURTOSIS: (f64, f64) = (1.9, 6.0);
/// Variances of the four quarters differ by chance, correlated noise included, and by edges in one of them.
const QUARTERS: f64 = 4.0;
/// Less than this on the 0..255 scale is the rounding of floats.
const NONE: f64 = 1e-4;
/// Luma that falls by so much from the second band to the last is not white any more.
const WHITE: f32 = 1.6;

/// What the noise of a flat part of a picture is like: column, row, width and height of that part.
///
/// ```
/// use quell::{Frame, Plane, noise};
/// let grey = Frame::grey(Plane::from_vec(64, 64, vec![100.0; 4096])?, 255.0)?;
/// let noisy = noise::add_gaussian(&grey, 10.0, 0)?;
/// let found = noise::measure_region(&noisy.view(), [8, 8, 48, 48])?;
/// assert!((found.sigma() - 10.0).abs() < 0.5);
/// assert!(noise::measure_region(&noisy.view(), [8, 8, 80, 48]).is_err());
/// # Ok::<(), quell::Error>(())
/// ```
pub fn measure_region(frame: &FrameView<'_>, region: [usize; 4]) -> Result<Model> {
    frame.check_finite()?;
    let [x, y, width, height] = region;
    let fits = |at: usize, side: usize, whole: usize| at.checked_add(side).is_some_and(|end| end <= whole);
    if !(fits(x, width, frame.width()) && fits(y, height, frame.height())) {
        return Err(wrong(
            region,
            format!("is not inside the picture, which has {} x {} pixels", frame.width(), frame.height()),
        ));
    }
    if width < LEAST_SIDE || height < LEAST_SIDE || width * height < LEAST {
        return Err(wrong(region, format!("is too small: {LEAST} pixels are needed")));
    }
    let scale = 255.0 / f64::from(frame.white());
    let mut planes = Vec::with_capacity(frame.channels());
    let mut clipped = 0;
    for plane in frame.planes() {
        let rows = (y..y + height).flat_map(|row| &plane.row(row)[x..x + width]);
        clipped += rows.clone().filter(|v| **v <= 0.0 || **v >= frame.white()).count();
        planes.push(flattened(&rows.map(|v| f64::from(*v) * scale).collect::<Vec<_>>(), width, height));
    }
    if clipped as f64 > CLIPPED * (planes.len() * width * height) as f64 {
        return Err(wrong(region, "is black or white in large parts: noise is cut off there"));
    }
    let grey = planes.len() == 1 || planes[1..].iter().all(|p| *p == planes[0]);
    let channels = if grey { planes[..1].to_vec() } else { opponents(&planes) };
    let deviations: Vec<f64> = channels.iter().map(|c| mean(c.iter().map(|v| v * v)).sqrt()).collect();
    if deviations[0] < NONE {
        return Err(wrong(region, "has no noise: all samples lie on a smooth surface"));
    }
    check_noise(region, &channels[0], width, height)?;
    model(&channels, &deviations, (width, height), grey, &planes)
}

/// Levels by channel, and what the spectrum says.
fn model(
    channels: &[Vec<f64>],
    deviations: &[f64],
    (width, height): (usize, usize),
    grey: bool,
    planes: &[Vec<f64>],
) -> Result<Model> {
    let three = |list: &[f64]| -> [f32; 3] {
        std::array::from_fn(|c| list.get(c).copied().unwrap_or(list[0]) as f32)
    };
    let white = Model::channels(three(deviations))?;
    let covariance = if grey { None } else { covariance(planes) };
    let with = |model: Model| match covariance {
        Some(covariance) => model.with_covariance(covariance),
        None => model,
    };
    let plane = |c: &Vec<f64>| Plane::from_vec(width, height, c.iter().map(|v| *v as f32 + 128.0).collect());
    let flat = channels.iter().map(plane).collect::<Result<Vec<Plane>>>()?;
    let Some(bands) = camera::spectra(&flat) else { return Ok(with(white)) };
    let luma = bands[0];
    if luma[1] < WHITE * luma[4] {
        return Ok(with(white));
    }
    let found = CameraNoise::of_spectrum(luma, (!grey).then(|| bands[1]));
    let times = found.sigma / luma[1];
    let levels = if grey { [found.sigma; 3] } else { bands.map(|b| times * b[0].max(b[1])) };
    let levels = [found.sigma, levels[1], levels[2]];
    Ok(with(Model::developed_with(levels, found)?))
}

/// Samples without the quadratic surface that fits them best.
fn flattened(samples: &[f64], width: usize, height: usize) -> Vec<f64> {
    let place = |i: usize, side: usize| (2 * i + 1) as f64 / side as f64 - 1.0;
    let terms = |i: usize| {
        let (x, y) = (place(i % width, width), place(i / width, height));
        [1.0, x, y, x * x, x * y, y * y]
    };
    let mut normal = [[0.0; 7]; 6];
    for (i, v) in samples.iter().enumerate() {
        let t = terms(i);
        for (row, a) in normal.iter_mut().zip(t) {
            row.iter_mut().zip(t.into_iter().chain([*v])).for_each(|(n, b)| *n += a * b);
        }
    }
    let surface = solve(normal);
    let fit = |i: usize| terms(i).iter().zip(surface).map(|(t, c)| t * c).sum::<f64>();
    samples.iter().enumerate().map(|(i, v)| v - fit(i)).collect()
}

/// By Gauss; a grid of at least 4 x 4 places keeps the six terms apart.
fn solve(mut m: [[f64; 7]; 6]) -> [f64; 6] {
    for i in 0..6 {
        let pivot = (i..6).max_by(|a, b| m[*a][i].abs().total_cmp(&m[*b][i].abs())).unwrap_or(i);
        m.swap(i, pivot);
        let row = m[i].map(|v| v / m[i][i]);
        m[i] = row;
        for (_, other) in m.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            let factor = other[i];
            other.iter_mut().zip(row).for_each(|(o, r)| *o -= factor * r);
        }
    }
    m.map(|row| row[6])
}

/// Luma and two channels of colour, by rows of length 1.
fn opponents(rgb: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let rows = [[1.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -2.0, 1.0]];
    let channel = |row: [f64; 3]| {
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        let at = |i: usize| row.iter().zip(rgb).map(|(r, p)| r / length * p[i]).sum();
        (0..rgb[0].len()).map(at).collect()
    };
    rows.into_iter().map(channel).collect()
}

fn covariance(rgb: &[Vec<f64>]) -> Option<Covariance> {
    let of = |i: usize, j: usize| mean(rgb[i].iter().zip(&rgb[j]).map(|(a, b)| a * b));
    Covariance::new(std::array::from_fn(|i| std::array::from_fn(|j| of(i, j)))).ok()
}

/// Whether what is left looks like noise.
fn check_noise(region: [usize; 4], luma: &[f64], width: usize, height: usize) -> Result<()> {
    let variance = mean(luma.iter().map(|v| v * v));
    let kurtosis = mean(luma.iter().map(|v| v.powi(4))) / variance.powi(2);
    let quarter = |right: bool, below: bool| {
        let inside = |i: &usize| (2 * (i % width) >= width) == right && (2 * (i / width) >= height) == below;
        mean((0..luma.len()).filter(inside).map(|i| luma[i] * luma[i]))
    };
    let quarters = [(false, false), (true, false), (false, true), (true, true)].map(|(r, b)| quarter(r, b));
    let (low, high) = quarters.iter().fold((f64::MAX, 0.0_f64), |(l, h), v| (l.min(*v), h.max(*v)));
    // Of few pixels the variance scatters by itself.
    let most = QUARTERS * (1.0 + 40.0 / luma.len() as f64);
    if (KURTOSIS.0..=KURTOSIS.1).contains(&kurtosis) && high <= most * low {
        return Ok(());
    }
    Err(wrong(region, "is not flat: there is more in it than noise"))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), v| (sum + v, count + 1));
    sum / f64::from(count.max(1))
}

fn wrong(region: [usize; 4], reason: impl Into<String>) -> Error {
    let region = region.map(|v| v.to_string()).join(",");
    Error::parameter("region", region, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Frame;
    use crate::noise::add_gaussian;

    fn shaded(channels: usize) -> Frame {
        let at = |c: usize, i: usize| {
            90.0 + 10.0 * c as f32 + 0.3 * (i % 96) as f32 - 0.001 * ((i / 96) as f32).powi(2)
        };
        let plane = |c| Plane::from_vec(96, 96, (0..9216).map(|i| at(c, i)).collect()).unwrap();
        Frame::new((0..channels).map(plane).collect(), 255.0).unwrap()
    }

    #[test]
    fn shading_is_no_noise_and_white_noise_is_white() {
        for channels in [1, 3] {
            let noisy = add_gaussian(&shaded(channels), 4.0, 1).unwrap();
            let found = measure_region(&noisy.view(), [10, 12, 70, 60]).unwrap();
            assert!(found.levels().iter().all(|l| (l - 4.0).abs() < 0.3), "{found:?}");
            assert_eq!((found.kind(), found.covariance().is_some()), ("white", channels == 3));
        }
    }

    #[test]
    fn smoothed_noise_is_a_camera_s() {
        let noisy = add_gaussian(&shaded(3), 12.0, 2).unwrap();
        let soft = |p: &Plane| {
            let mean = |i: usize| (0..9).map(|k| p.row((i / 94) + k / 3)[i % 94 + k % 3]).sum::<f32>() / 9.0;
            Plane::from_vec(94, 94, (0..94 * 94).map(mean).collect()).unwrap()
        };
        let frame = Frame::new(noisy.planes().iter().map(soft).collect(), 255.0).unwrap();
        let found = measure_region(&frame.view(), [0, 0, 94, 94]).unwrap();
        // The deviation is a third of 12, the density of the low frequencies is that of 12.
        assert_eq!(found.kind(), "camera");
        assert!(found.levels().iter().all(|l| (8.0..20.0).contains(l)), "{found:?}");
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let frame = add_gaussian(&shaded(1), 4.0, 1).unwrap();
        let (view, clean) = (frame.view(), shaded(1));
        let edge = |i: usize| if i % 96 < 30 { 40.0 } else { 160.0 } + (i * 7 % 5) as f32;
        let edge =
            Frame::grey(Plane::from_vec(96, 96, (0..9216).map(edge).collect()).unwrap(), 255.0).unwrap();
        let black = Frame::grey(Plane::zeros(96, 96), 255.0).unwrap();
        for (frame, region, reason) in [
            (view.clone(), [50, 50, 47, 10], "not inside"),
            (view.clone(), [usize::MAX, 0, 10, 10], "not inside"),
            (view.clone(), [0, 0, 7, 9], "too small"),
            (view, [0, 0, 3, 90], "too small"),
            (clean.view(), [0, 0, 90, 90], "no noise"),
            (edge.view(), [0, 0, 90, 90], "not flat"),
            (black.view(), [0, 0, 90, 90], "black or white"),
        ] {
            let e = measure_region(&frame, region).unwrap_err().to_string();
            assert!(e.contains(reason), "{e}");
        }
    }
}
