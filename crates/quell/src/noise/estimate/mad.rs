//! Donoho's median absolute deviation of the finest diagonal Haar band.

use crate::PlaneView;

pub(super) fn estimate(plane: &PlaneView<'_>) -> f32 {
    let mut band: Vec<f32> = Vec::new();
    for y in (0..plane.height() - plane.height() % 2).step_by(2) {
        let (a, b) = (plane.row(y), plane.row(y + 1));
        band.extend(
            a.chunks_exact(2).zip(b.chunks_exact(2)).map(|(a, b)| ((a[0] - a[1] - b[0] + b[1]) / 2.0).abs()),
        );
    }
    if band.is_empty() {
        return 0.0;
    }
    let mid = band.len() / 2;
    *band.select_nth_unstable_by(mid, f32::total_cmp).1 / 0.6745
}
