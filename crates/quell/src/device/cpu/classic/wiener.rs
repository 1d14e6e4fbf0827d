//! The Wiener filter: cosine transform, smoothed periodogram, gain, and back.

use super::bands::{self, Steps};
use super::cosine::Cosine;
use super::gauss::blur;
use crate::device::cpu::Level;
use crate::{Control, Plane, PlaneView, Result};

/// Steps that are reported.
const STEPS: usize = 3;

pub(super) fn run(
    level: Level,
    g: &[f32],
    sigma: f32,
    plane: &PlaneView<'_>,
    control: &Control,
) -> Result<Plane> {
    let (width, height) = (plane.width(), plane.height());
    let steps = Steps::new(control, STEPS);
    // Without its mean, in units of the noise: nothing is lost beside large samples.
    let mean = mean(plane);
    let inverse = 1.0 / sigma;
    let mut samples = vec![0.0; width * height];
    bands::each_row(&mut samples, width, |y, to| {
        for (to, v) in to.iter_mut().zip(plane.row(y)) {
            *to = inverse * (v - mean);
        }
    });
    let cosine = Cosine::new(width, height);
    let mut spectrum = vec![0.0; width * height];
    cosine.forward(&mut samples, &mut spectrum);
    steps.step();
    steps.check()?;
    // Transposed: rows of the spectrum are columns of the picture.
    let mut power = samples;
    bands::each_row(&mut power, height, |k, to| {
        for (to, c) in to.iter_mut().zip(&spectrum[k * height..]) {
            *to = c * c;
        }
    });
    power[0] = 0.0;
    let mut smooth = vec![0.0; width * height];
    blur(level, g, &PlaneView::new(height, width, height, &power)?, &mut smooth, None)?;
    bands::each_row(&mut spectrum, height, |k, to| {
        for (c, s) in to.iter_mut().zip(&smooth[k * height..]) {
            *c *= (1.0 - 1.0 / s).max(0.0);
        }
    });
    // The mean comes back at the end.
    spectrum[0] = 0.0;
    drop(smooth);
    steps.step();
    steps.check()?;
    let mut out = power;
    cosine.inverse(&mut spectrum, &mut out);
    bands::each_row(&mut out, width, |_, row| row.iter_mut().for_each(|v| *v = mean + sigma * *v));
    steps.step();
    Plane::from_vec(width, height, out)
}

/// Rows are added up in order, so that the sum does not depend on the threads.
fn mean(plane: &PlaneView<'_>) -> f32 {
    let rows = plane.rows().map(|row| row.iter().map(|&v| f64::from(v)).sum::<f64>());
    (rows.sum::<f64>() / (plane.width() * plane.height()) as f64) as f32
}
