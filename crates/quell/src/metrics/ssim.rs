//! Structural similarity as published: Wang, Bovik, Sheikh, Simoncelli, "Image quality assessment: from error
//! visibility to structural similarity", IEEE TIP 13(4), 2004, section III-B.
//!
//! An 11 x 11 Gaussian window of deviation 1.5 and sum 1, K1 = 0.01, K2 = 0.03, L = white of the reference,
//! the map where the window fits entirely, its mean. No downsampling. Colour: the mean of the channels.

use rayon::prelude::*;

use super::{Quality, comparable};
use crate::{Error, FrameView, PlaneView, Result};

const WINDOW: usize = 11;
const WINDOW_SIGMA: f64 = 1.5;
const K1: f64 = 0.01;
const K2: f64 = 0.03;
/// Rows of the map per task; each task filters `WINDOW - 1` rows more than it has.
const BAND: usize = 64;
/// Filtered images that the index needs: `a`, `b`, `a² + b²` and `ab`.
const MOMENTS: usize = 4;

/// Mean structural similarity, 1 for identical pictures. Both sides must have 11 pixels or more.
pub fn ssim<'a, 'b>(reference: impl Into<FrameView<'a>>, other: impl Into<FrameView<'b>>) -> Result<Quality> {
    let (reference, other) = (reference.into(), other.into());
    let scale = comparable(&reference, &other)?;
    let (w, h) = (reference.width(), reference.height());
    if w < WINDOW || h < WINDOW {
        return Err(Error::Shape(format!("{w} x {h} pixels: SSIM needs at least {WINDOW} x {WINDOW}")));
    }
    let white = f64::from(reference.white());
    let channels: Vec<f64> =
        reference.planes().iter().zip(other.planes()).map(|(a, b)| plane_ssim(a, b, scale, white)).collect();
    Ok(Quality { all: channels.iter().sum::<f64>() / channels.len() as f64, channels })
}

/// The window is the product of this with itself.
fn window() -> [f64; WINDOW] {
    let g: [f64; WINDOW] = std::array::from_fn(|i| {
        let d = i as f64 - (WINDOW / 2) as f64;
        (-d * d / (2.0 * WINDOW_SIGMA * WINDOW_SIGMA)).exp()
    });
    let sum: f64 = g.iter().sum();
    g.map(|v| v / sum)
}

fn plane_ssim(a: &PlaneView<'_>, b: &PlaneView<'_>, scale: f64, white: f64) -> f64 {
    let (rows, columns) = (a.height() - WINDOW + 1, a.width() - WINDOW + 1);
    let bands: Vec<Vec<f64>> = (0..rows.div_ceil(BAND))
        .into_par_iter()
        .map(|i| band_sums(a, b, scale, white, i * BAND..rows.min((i + 1) * BAND)))
        .collect();
    // Added in the order of the rows: the same bits for any number of threads.
    bands.iter().flatten().sum::<f64>() / (rows as f64 * columns as f64)
}

/// Sum of the map over each of these rows of it.
fn band_sums(
    a: &PlaneView<'_>,
    b: &PlaneView<'_>,
    scale: f64,
    white: f64,
    rows: std::ops::Range<usize>,
) -> Vec<f64> {
    let g = window();
    let columns = a.width() - WINDOW + 1;
    let (c1, c2) = ((K1 * white).powi(2), (K2 * white).powi(2));
    // A ring of horizontally filtered rows, and the moments of one row of the map.
    let mut ring = vec![vec![0.0; MOMENTS * columns]; WINDOW];
    let mut moments = vec![0.0; MOMENTS * columns];
    let mut products = vec![0.0; MOMENTS * a.width()];
    for y in rows.start..rows.start + WINDOW - 1 {
        filter_row(a.row(y), b.row(y), scale, &g, &mut products, &mut ring[y % WINDOW]);
    }
    rows.map(|y| {
        let last = y + WINDOW - 1;
        filter_row(a.row(last), b.row(last), scale, &g, &mut products, &mut ring[last % WINDOW]);
        moments.fill(0.0);
        for (k, weight) in g.iter().enumerate() {
            accumulate(&mut moments, &ring[(y + k) % WINDOW], *weight);
        }
        let (mean_a, rest) = moments.split_at(columns);
        let (mean_b, rest) = rest.split_at(columns);
        let (squares, product) = rest.split_at(columns);
        (0..columns)
            .map(|x| {
                let (ma, mb) = (mean_a[x], mean_b[x]);
                let variances = squares[x] - ma * ma - mb * mb;
                let covariance = product[x] - ma * mb;
                (2.0 * ma * mb + c1) * (2.0 * covariance + c2) / ((ma * ma + mb * mb + c1) * (variances + c2))
            })
            .sum()
    })
    .collect()
}

/// The four moments of one row, filtered horizontally.
fn filter_row(a: &[f32], b: &[f32], scale: f64, g: &[f64; WINDOW], products: &mut [f64], out: &mut [f64]) {
    let w = a.len();
    let columns = w - WINDOW + 1;
    for (x, (&a, &b)) in a.iter().zip(b).enumerate() {
        let (a, b) = (f64::from(a), f64::from(b) * scale);
        products[x] = a;
        products[w + x] = b;
        products[2 * w + x] = a * a + b * b;
        products[3 * w + x] = a * b;
    }
    out.fill(0.0);
    for m in 0..MOMENTS {
        for (k, weight) in g.iter().enumerate() {
            accumulate(&mut out[m * columns..][..columns], &products[m * w + k..][..columns], *weight);
        }
    }
}

fn accumulate(out: &mut [f64], values: &[f64], weight: f64) {
    for (o, v) in out.iter_mut().zip(values) {
        *o += weight * v;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Plane};

    /// A picture with texture and edges, and a copy with a regular error; integers only.
    fn pair(w: usize, h: usize) -> (Frame, Frame) {
        let pixel = |i: usize| {
            let (x, y) = (i % w, i / w);
            (60 + (x * x / 7 + 3 * x * y / 5 + y * y / 3) % 140 + (x / 9 + y / 7) % 2 * 40) as f32
        };
        let a: Vec<f32> = (0..w * h).map(pixel).collect();
        let b = a.iter().enumerate().map(|(i, v)| v + ((i % w * 13 + i / w * 29) % 41) as f32 - 20.0);
        let b = b.collect();
        let frame = |v| Frame::grey(Plane::from_vec(w, h, v).unwrap(), 255.0).unwrap();
        (frame(a), frame(b))
    }

    /// The definition, word by word: a weighted window at every position, no separability, no moments.
    fn direct(a: &Plane, b: &Plane) -> f64 {
        let g = window();
        let (rows, columns) = (a.height() - WINDOW + 1, a.width() - WINDOW + 1);
        let mut sum = 0.0;
        for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
            let weighted = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
                let mut total = 0.0;
                for (i, j) in (0..WINDOW).flat_map(|i| (0..WINDOW).map(move |j| (i, j))) {
                    total += g[i] * g[j] * f(a.row(y + i)[x + j].into(), b.row(y + i)[x + j].into());
                }
                total
            };
            let (ma, mb) = (weighted(&|a, _| a), weighted(&|_, b| b));
            let va = weighted(&|a, _| (a - ma) * (a - ma));
            let vb = weighted(&|_, b| (b - mb) * (b - mb));
            let cab = weighted(&|a, b| (a - ma) * (b - mb));
            let (c1, c2) = (2.55_f64.powi(2), 7.65_f64.powi(2));
            sum += (2.0 * ma * mb + c1) * (2.0 * cab + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2));
        }
        sum / (rows * columns) as f64
    }

    #[test]
    fn agrees_with_the_definition() {
        // More rows than one band, an odd width.
        let (a, b) = pair(31, BAND + WINDOW + 5);
        let expected = direct(&a.planes()[0], &b.planes()[0]);
        assert!((ssim(&a, &b).unwrap().all - expected).abs() < 1e-9);
    }

    #[test]
    fn agrees_with_scikit_image() {
        // structural_similarity(a, b, gaussian_weights=True, sigma=1.5, use_sample_covariance=False,
        // data_range=255) of scikit-image.
        let (a, b) = pair(53, 40);
        assert!((ssim(&a, &b).unwrap().all - 0.960_387_266_662_974_8).abs() < 1e-10);
    }

    #[test]
    fn flat_pictures_differ_by_luminance_only() {
        let flat = |v| Frame::grey(Plane::from_vec(11, 11, vec![v; 121]).unwrap(), 255.0).unwrap();
        // (2 * 100 * 110 + 6.5025) / (100² + 110² + 6.5025)
        let q = ssim(&flat(100.0), &flat(110.0)).unwrap();
        assert!((q.all - 22_006.502_5 / 22_106.502_5).abs() < 1e-12);
    }

    #[test]
    fn identical_pictures_score_one_in_any_units() {
        let (a, _) = pair(20, 16);
        let unit = a.planes()[0].as_slice().iter().map(|v| v / 255.0).collect();
        let unit = Frame::grey(Plane::from_vec(20, 16, unit).unwrap(), 1.0).unwrap();
        assert!((ssim(&a, &a).unwrap().all - 1.0).abs() < 1e-12);
        assert!((ssim(&unit, &a).unwrap().all - 1.0).abs() < 1e-6);
    }

    #[test]
    fn colour_is_the_mean_of_its_channels() {
        let (a, b) = pair(24, 24);
        let stack = |f: [&Frame; 3]| Frame::new(f.map(|f| f.planes()[0].clone()).to_vec(), 255.0).unwrap();
        let q = ssim(&stack([&a, &a, &b]), &stack([&b, &a, &b])).unwrap();
        let grey = ssim(&a, &b).unwrap().all;
        assert!((q.channels[0] - grey).abs() < 1e-12 && (q.channels[1] - 1.0).abs() < 1e-12);
        assert!((q.all - (grey + 2.0) / 3.0).abs() < 1e-12);
    }

    #[test]
    fn pictures_smaller_than_the_window_are_refused() {
        let (a, b) = pair(10, 40);
        assert!(ssim(&a, &b).unwrap_err().to_string().contains("at least 11 x 11"));
    }
}
