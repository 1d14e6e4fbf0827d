//! Power spectra of what lies in a rectangle: means over blocks, for the eye.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;
use serde_json::{Value, json};

/// Side of a block, where there is room for it.
const SIDE: usize = 64;
/// The least side that tells anything.
const LEAST_SIDE: usize = 8;
/// Less power than this is none.
const LEAST: f64 = 1e-6;

/// The spectrum of a plane on the 0..255 scale, 0 frequency in the middle: white noise of deviation s has log10(s^2)
/// everywhere. Nothing, if the plane is too small.
pub(crate) fn spectrum(plane: &[f32], width: usize, height: usize) -> Option<Value> {
    let mut side = SIDE;
    while side > width.min(height) {
        side /= 2;
    }
    if side < LEAST_SIDE {
        return None;
    }
    let power = mean_power(plane, width, height, side);
    let half = side / 2;
    let at = |i: usize| power[(i / side + half) % side * side + (i % side + half) % side];
    let shown: Vec<f64> = (0..side * side).map(|i| round(at(i).max(LEAST).log10())).collect();
    Some(json!({"size": side, "power": shown}))
}

/// As many digits as an eye can tell.
fn round(v: f64) -> f64 {
    (v * 1000.0).round() / 1000.0
}

fn mean_power(plane: &[f32], width: usize, height: usize, side: usize) -> Vec<f64> {
    let hann: Vec<f64> = (0..side)
        .map(|i| 0.5 - 0.5 * (std::f64::consts::TAU * (i as f64 + 0.5) / side as f64).cos())
        .collect();
    let gain: f64 = hann.iter().map(|w| w * w).sum::<f64>().powi(2);
    let fft = FftPlanner::new().plan_fft_forward(side);
    let mut sum = vec![0.0; side * side];
    let mut blocks = 0.0;
    // Windows fade out at their edges: blocks overlap by half.
    for top in (0..=height - side).step_by(side / 2) {
        for left in (0..=width - side).step_by(side / 2) {
            let rows = || (0..side).flat_map(|y| &plane[(top + y) * width + left..][..side]);
            let mean = rows().map(|v| f64::from(*v)).sum::<f64>() / (side * side) as f64;
            let value = |(i, v): (usize, &f32)| (f64::from(*v) - mean) * hann[i / side] * hann[i % side];
            let mut block: Vec<Complex<f64>> =
                rows().enumerate().map(|v| Complex::new(value(v), 0.0)).collect();
            for _ in 0..2 {
                fft.process(&mut block);
                block = (0..side * side).map(|i| block[i % side * side + i / side]).collect();
            }
            sum.iter_mut().zip(&block).for_each(|(sum, c)| *sum += c.norm_sqr() / gain);
            blocks += 1.0;
        }
    }
    sum.iter_mut().for_each(|v| *v /= blocks);
    sum
}

/// The spectrum that bands of levels stand for, the same in all directions: `levels` are deviations at `frequencies` in
/// cycles per pixel.
pub(crate) fn of_bands(frequencies: &[f32], levels: &[f32]) -> Value {
    let half = (SIDE / 2) as f64;
    let level = |f: f64| {
        let above = frequencies.iter().position(|v| f64::from(*v) >= f);
        match above {
            Some(0) => f64::from(levels[0]),
            None => f64::from(levels[levels.len() - 1]),
            Some(i) => {
                let (low, high) = (f64::from(frequencies[i - 1]), f64::from(frequencies[i]));
                let part = (f - low) / (high - low);
                f64::from(levels[i - 1]) * (1.0 - part) + f64::from(levels[i]) * part
            }
        }
    };
    let power = |i: usize| {
        let (x, y) = ((i % SIDE) as f64 - half, (i / SIDE) as f64 - half);
        round((level((x * x + y * y).sqrt() / SIDE as f64).powi(2)).max(LEAST).log10())
    };
    json!({"size": SIDE, "power": (0..SIDE * SIDE).map(power).collect::<Vec<f64>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_noise_has_its_variance_everywhere() {
        let grey =
            quell::Frame::grey(quell::Plane::from_vec(256, 256, vec![100.0; 65536]).unwrap(), 255.0).unwrap();
        let noisy = quell::noise::add_gaussian(&grey, 10.0, 0).unwrap();
        let found = spectrum(noisy.planes()[0].as_slice(), 256, 256).unwrap();
        let power: Vec<f64> =
            found["power"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        // Away from the mean that was taken out.
        let high = &power[..16 * 64];
        let mean = high.iter().sum::<f64>() / high.len() as f64;
        assert!((mean - 2.0).abs() < 0.1, "{mean}");
        assert!(spectrum(&[0.0; 40], 10, 4).is_none());
    }

    #[test]
    fn a_wave_stands_where_its_frequency_is() {
        let wave: Vec<f32> =
            (0..64 * 64).map(|i| (std::f32::consts::TAU * (i % 64) as f32 / 8.0).sin() * 50.0).collect();
        let found = spectrum(&wave, 64, 64).unwrap();
        let power: Vec<f64> =
            found["power"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        let most = (0..4096).max_by(|a, b| power[*a].total_cmp(&power[*b])).unwrap();
        assert_eq!(most / 64, 32);
        assert!([24, 40].contains(&(most % 64)), "{}", most % 64);
    }
}
