//! How close two pictures are: PSNR and SSIM.
//!
//! The first picture is the reference. Its white level is the peak; a second picture with another white level
//! (an 8-bit file against a 16-bit one) is scaled to it first.
//!
//! ```
//! use quell::{Frame, Plane, metrics};
//! let a = Frame::grey(Plane::from_vec(2, 1, vec![10.0, 20.0])?, 255.0)?;
//! let b = Frame::grey(Plane::from_vec(2, 1, vec![11.0, 20.0])?, 255.0)?;
//! assert_eq!(metrics::mse(&a, &b)?.all, 0.5);
//! assert!((metrics::psnr(&a, &b)?.all - 51.1411).abs() < 1e-4);
//! # Ok::<(), quell::Error>(())
//! ```

mod psnr;
mod ssim;

pub use psnr::{mse, psnr};
pub use ssim::ssim;

use crate::{Error, FrameView, Result};

/// A measure of a picture, whole and by channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Quality {
    /// The value over all channels together.
    pub all: f64,
    /// The value of each channel, in the order of the planes.
    pub channels: Vec<f64>,
}

/// The largest of some differences. Without NaN for `max` to swallow: a NaN is as far off as can be.
pub(crate) fn largest(differences: impl IntoIterator<Item = f32>) -> f32 {
    differences.into_iter().fold(0.0, |m, d| if d.is_nan() { f32::INFINITY } else { d.max(m) })
}

/// Checks that two frames can be compared; returns the factor that brings `other` to the reference's white.
fn comparable(reference: &FrameView<'_>, other: &FrameView<'_>) -> Result<f64> {
    let shape = |f: &FrameView<'_>| (f.width(), f.height(), f.channels());
    if shape(reference) != shape(other) {
        let text = |f: &FrameView<'_>| {
            let n = f.channels();
            format!("{} x {} with {n} channel{}", f.width(), f.height(), if n == 1 { "" } else { "s" })
        };
        return Err(Error::Shape(format!(
            "cannot compare pictures of different shape: {} and {}",
            text(reference),
            text(other)
        )));
    }
    reference.check_finite()?;
    other.check_finite()?;
    Ok(f64::from(reference.white()) / f64::from(other.white()))
}

#[cfg(test)]
mod tests {
    use super::largest;

    #[test]
    fn a_nan_is_far_off_wherever_it_stands() {
        assert_eq!(largest([0.5, 2.0, 1.0]), 2.0);
        assert_eq!(largest([f32::NAN, 1.0]), f32::INFINITY);
        assert_eq!(largest([1.0, f32::NAN, 2.0]), f32::INFINITY);
        assert_eq!(largest([]), 0.0);
    }
}
