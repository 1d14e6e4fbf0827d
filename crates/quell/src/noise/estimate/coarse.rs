//! The block estimate at half the size, for noise that is not white.
//!
//! Demosaicking, resizing and JPEG take most of the noise out of the highest frequencies and leave it in the
//! others, where it is seen. Means of 2 x 2 samples have half the deviation if the noise is white, and more if
//! neighbours are alike; twice their deviation is what white noise would need to look as coarse.

use crate::{Plane, PlaneView};

/// Means of 2 x 2 samples; an odd last row or column is left out.
pub(super) fn halve(plane: &PlaneView<'_>) -> Plane {
    let mut out = Plane::zeros(plane.width() / 2, plane.height() / 2);
    for y in 0..out.height() {
        let (upper, lower) = (plane.row(2 * y).chunks_exact(2), plane.row(2 * y + 1).chunks_exact(2));
        for (o, (a, b)) in out.row_mut(y).iter_mut().zip(upper.zip(lower)) {
            *o = 0.25 * (a[0] + a[1] + b[0] + b[1]);
        }
    }
    out
}

/// The least of 2 x 2 samples: what is transparent in part is no more to be trusted.
pub(super) fn halve_alpha(alpha: &PlaneView<'_>) -> Plane {
    let mut out = Plane::zeros(alpha.width() / 2, alpha.height() / 2);
    for y in 0..out.height() {
        let (upper, lower) = (alpha.row(2 * y).chunks_exact(2), alpha.row(2 * y + 1).chunks_exact(2));
        for (o, (a, b)) in out.row_mut(y).iter_mut().zip(upper.zip(lower)) {
            *o = a[0].min(a[1]).min(b[0]).min(b[1]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_takes_means_and_drops_the_odd_edge() {
        let plane = Plane::from_vec(3, 3, vec![1.0, 3.0, 9.0, 5.0, 7.0, 9.0, 9.0, 9.0, 9.0]).unwrap();
        assert_eq!(halve(&plane.view()), Plane::from_vec(1, 1, vec![4.0]).unwrap());
    }
}
