//! Mean squared error and peak signal-to-noise ratio.

use rayon::prelude::*;

use super::{Quality, comparable};
use crate::{FrameView, PlaneView, Result};

/// Mean squared error in the reference's units squared; over all channels: one mean over all samples.
pub fn mse<'a, 'b>(reference: impl Into<FrameView<'a>>, other: impl Into<FrameView<'b>>) -> Result<Quality> {
    let (reference, other) = (reference.into(), other.into());
    let scale = comparable(&reference, &other)?;
    let channels: Vec<f64> =
        reference.planes().iter().zip(other.planes()).map(|(a, b)| plane_mse(a, b, scale)).collect();
    Ok(Quality { all: channels.iter().sum::<f64>() / channels.len() as f64, channels })
}

/// Peak signal-to-noise ratio in dB: `10 log10(white² / MSE)`; infinite for identical pictures.
///
/// Over all channels: from the one MSE over all samples, not the mean of the channels' values.
pub fn psnr<'a, 'b>(reference: impl Into<FrameView<'a>>, other: impl Into<FrameView<'b>>) -> Result<Quality> {
    let reference = reference.into();
    let white = f64::from(reference.white());
    let db = |mse: f64| 10.0 * (white * white / mse).log10();
    let error = mse(reference, other)?;
    Ok(Quality { all: db(error.all), channels: error.channels.into_iter().map(db).collect() })
}

fn plane_mse(a: &PlaneView<'_>, b: &PlaneView<'_>, scale: f64) -> f64 {
    let row_error = |y: usize| -> f64 {
        let differences = a.row(y).iter().zip(b.row(y)).map(|(&a, &b)| f64::from(a) - f64::from(b) * scale);
        differences.map(|d| d * d).sum()
    };
    // Rows are collected in order, so that the sum does not depend on the threads.
    let rows: Vec<f64> = (0..a.height()).into_par_iter().map(row_error).collect();
    rows.iter().sum::<f64>() / (a.width() as f64 * a.height() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Frame, Plane};

    fn grey(width: usize, data: &[f32], white: f32) -> Frame {
        let height = data.len() / width;
        Frame::grey(Plane::from_vec(width, height, data.to_vec()).unwrap(), white).unwrap()
    }

    #[test]
    fn one_mse_over_all_channels() {
        // Squared errors 1, 4, 9 on one pixel: 14/3 together; the mean of the three PSNRs would be different.
        let a = Frame::from_interleaved(1, 1, 3, &[10.0, 20.0, 30.0], 255.0).unwrap();
        let b = Frame::from_interleaved(1, 1, 3, &[11.0, 18.0, 33.0], 255.0).unwrap();
        let q = psnr(&a, &b).unwrap();
        assert!((q.all - 41.440_736).abs() < 1e-5, "{}", q.all);
        assert!((q.channels[0] - 48.130_804).abs() < 1e-5);
        assert!((q.channels[2] - 38.588_379).abs() < 1e-5);
        assert_eq!(mse(&a, &b).unwrap().channels, [1.0, 4.0, 9.0]);
    }

    #[test]
    fn identical_pictures_are_infinitely_good() {
        let a = grey(2, &[1.0, 2.0, 3.0, 4.0], 255.0);
        let q = psnr(&a, &a).unwrap();
        assert_eq!((q.all, q.channels[0]), (f64::INFINITY, f64::INFINITY));
    }

    #[test]
    fn the_peak_is_the_reference_white() {
        let (a, b) = (grey(1, &[0.5, 0.5], 1.0), grey(1, &[0.6, 0.4], 1.0));
        assert!((psnr(&a, &b).unwrap().all - 20.0).abs() < 1e-5);
    }

    #[test]
    fn another_white_level_is_scaled() {
        let (a, b) = (grey(2, &[0.0, 100.0], 255.0), grey(2, &[0.0, 25_700.0], 65_535.0));
        assert_eq!(psnr(&a, &b).unwrap().all, f64::INFINITY);
    }

    #[test]
    fn different_shapes_are_refused_with_both_sizes() {
        let (a, b) = (grey(2, &[0.0; 4], 255.0), grey(4, &[0.0; 4], 255.0));
        let e = psnr(&a, &b).unwrap_err();
        assert!(matches!(e, Error::Shape(_)));
        assert!(e.to_string().contains("2 x 2") && e.to_string().contains("4 x 1"), "{e}");
        let rgb = Frame::from_interleaved(2, 2, 3, &[0.0; 12], 255.0).unwrap();
        assert!(psnr(&a, &rgb).unwrap_err().to_string().contains("3 channels"));
    }

    #[test]
    fn nan_is_an_error_not_a_result() {
        let (a, b) = (grey(2, &[0.0, 1.0], 255.0), grey(2, &[0.0, f32::NAN], 255.0));
        assert!(matches!(psnr(&a, &b), Err(Error::NotFinite { x: 1, .. })));
    }
}
