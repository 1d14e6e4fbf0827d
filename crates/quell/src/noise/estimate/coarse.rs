//! The block estimate at half the size, for noise that is not white.
//!
//! Demosaicking, resizing and JPEG take most of the noise out of the highest frequencies and leave it in the
//! others, where it is seen. Means of 2 x 2 samples have half the deviation if the noise is white, and more if
//! neighbours are alike; twice their deviation is what white noise would need to look as coarse.

use super::dct;
use crate::{FrameView, Plane, PlaneView};

/// `None` if the halved picture has too few usable blocks.
pub(super) fn estimate(frame: &FrameView<'_>) -> Option<f64> {
    if frame.width() < 2 || frame.height() < 2 {
        return None;
    }
    let planes: Vec<Plane> = frame.planes().iter().map(halve).collect();
    let half = FrameView::new(planes.iter().map(Plane::view).collect(), frame.white()).ok()?;
    dct::estimate(&half).map(|sigma| 2.0 * sigma)
}

/// Means of 2 x 2 samples; an odd last row or column is left out.
fn halve(plane: &PlaneView<'_>) -> Plane {
    let mut out = Plane::zeros(plane.width() / 2, plane.height() / 2);
    for y in 0..out.height() {
        let (upper, lower) = (plane.row(2 * y).chunks_exact(2), plane.row(2 * y + 1).chunks_exact(2));
        for (o, (a, b)) in out.row_mut(y).iter_mut().zip(upper.zip(lower)) {
            *o = 0.25 * (a[0] + a[1] + b[0] + b[1]);
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
