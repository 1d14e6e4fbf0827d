//! Donoho's median absolute deviation of the finest diagonal wavelet band.
//!
//! The wavelet is Daubechies' with four vanishing moments: it sees less texture than Haar's, and its values on
//! 8-bit pictures are not multiples of one half. Along a side shorter than 32 pixels, where its eight taps would
//! leave too few values, Haar's is used, and along a side of one pixel none, so that any picture of two pixels
//! or more has an estimate.

use crate::PlaneView;

/// High-pass filter of the wavelet (Daubechies 1992, table 6.1), of norm 1.
const DAUBECHIES: [f32; 8] = [
    0.230_377_81,
    -0.714_846_57,
    0.630_880_8,
    0.027_983_77,
    -0.187_034_81,
    -0.030_841_38,
    0.032_883_01,
    0.010_597_4,
];
const HAAR: [f32; 2] = [std::f32::consts::FRAC_1_SQRT_2, -std::f32::consts::FRAC_1_SQRT_2];
/// Median of the absolute value of a normal variable of deviation 1.
const MEDIAN: f32 = 0.674_489_75;
/// Rows of the band are skipped, evenly, where it would have more values than this.
const LIMIT: usize = 1 << 20;

/// Blocks that tell, over all channels, whether windows are to be left out: no more, to stay the fastest.
pub(super) const BLOCKS: usize = 4096;
/// Fewer windows than this have no median to speak of.
const FEWEST: usize = 32;

/// The filter for a side of `n` pixels.
fn taps(n: usize) -> &'static [f32] {
    match n {
        0 | 1 => &[1.0],
        2..32 => &HAAR,
        _ => &DAUBECHIES,
    }
}

/// Deviation of the noise of one plane, of the windows that `keep` accepts by their top left sample; of all where these
/// are too few. 0 for a single pixel.
pub(super) fn estimate(plane: &PlaneView<'_>, keep: Option<&dyn Fn(usize, usize) -> bool>) -> f32 {
    let (w, h) = (plane.width(), plane.height());
    if w * h == 1 {
        return 0.0;
    }
    let (across, down) = (taps(w), taps(h));
    let (columns, rows) = ((w - across.len()) / 2 + 1, (h - down.len()) / 2 + 1);
    let skip = (rows * columns).div_ceil(LIMIT);
    let mut band: Vec<f32> = Vec::with_capacity(rows.div_ceil(skip) * columns);
    let mut kept: Vec<f32> = Vec::new();
    let mut filtered = vec![0.0; w];
    for y in (0..rows).step_by(skip) {
        filtered.fill(0.0);
        for (k, weight) in down.iter().enumerate() {
            for (f, v) in filtered.iter_mut().zip(plane.row(2 * y + k)) {
                *f += weight * v;
            }
        }
        let value = |from: &[f32]| from.iter().zip(across).map(|(v, weight)| v * weight).sum::<f32>().abs();
        let from = band.len();
        band.extend(filtered.windows(across.len()).step_by(2).map(value));
        if let Some(keep) = keep {
            let row = band[from..].iter().enumerate();
            kept.extend(row.filter(|(x, _)| keep(2 * x, 2 * y)).map(|(_, v)| v));
        }
    }
    if kept.len() >= FEWEST {
        band = kept;
    }
    let mid = band.len() / 2;
    *band.select_nth_unstable_by(mid, f32::total_cmp).1 / MEDIAN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plane;

    #[test]
    fn the_filters_have_norm_one_and_vanishing_moments() {
        for (filter, moments) in [(&HAAR[..], 1), (&DAUBECHIES[..], 4)] {
            let norm: f32 = filter.iter().map(|v| v * v).sum();
            assert!((norm - 1.0).abs() < 1e-6, "{norm}");
            for m in 0..moments {
                let moment: f64 =
                    filter.iter().enumerate().map(|(k, v)| (k as f64).powi(m) * f64::from(*v)).sum();
                assert!(moment.abs() < 1e-4, "moment {m}: {moment}");
            }
        }
    }

    #[test]
    fn two_pixels_give_their_difference() {
        // |a - b| / sqrt(2) is the one value of the band.
        for (w, h) in [(2, 1), (1, 2)] {
            let plane = Plane::from_vec(w, h, vec![10.0, 13.0]).unwrap();
            let expected = 3.0 / std::f32::consts::SQRT_2 / MEDIAN;
            assert!((estimate(&plane.view(), None) - expected).abs() < 1e-5);
        }
    }
}
