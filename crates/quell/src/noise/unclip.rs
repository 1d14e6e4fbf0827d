//! Undoing in a denoised picture what clipping did to the noise of the noisy one.

use rayon::prelude::*;

use super::clipping::{Clipping, Ends};
use crate::{Error, Frame, FrameView, Plane, Result};

/// Side of the blocks that are looked at.
const BLOCK: usize = 8;

/// Blocks that are looked at, about.
const BLOCKS: usize = 2048;

/// Parts of samples at an end of the scale, of those that clipped noise would have there in blocks of the same mean, that
/// are taken for clipped noise. It has 0.93 to 1.3 (photographs, sigma 15 to 50); weaker noise, and that of cameras, half
/// of it at most; pictures that are black or white by themselves have 1.45 and more.
const ENOUGH: std::ops::RangeInclusive<f64> = 0.75..=1.35;

/// Parts of samples of a block that are expected at an end, from which it counts.
const NEAR: f64 = 0.02;

/// Deviation of a block, in those of the noise, up to which it counts: clipped noise has less than its own.
const FLAT: f64 = 1.1;

/// Parts of all samples that have to lie at an end: where there are fewer, nothing is gained.
const LEAST: f64 = 0.002;

/// Deviation, in pixels, of the Gaussian that finds the level of a pixel: what was undone for every pixel on its own
/// would make the error that is left in dark and bright areas up to twice as large.
const BLUR: f32 = 1.5;

/// Takes back, in a denoised picture, what clipping did to the mean of the noise: near black and white, samples of
/// integer types have lost one side of their noise, so that averages are too bright or too dark. An end of the scale
/// at which the noisy samples do not pile up, as noise of deviation `sigma` (in the picture's units) would, is left as
/// it is: pictures whose noise was not clipped do not change. What was clipped is within `0..=white` afterwards.
///
/// ```
/// use quell::{Frame, Plane, noise};
/// let dark = Frame::grey(Plane::from_vec(64, 64, vec![10.0; 4096])?, 255.0)?;
/// let mut noisy = noise::add_gaussian(&dark, 40.0, 1)?;
/// noisy.planes_mut()[0].as_mut_slice().iter_mut().for_each(|v| *v = v.clamp(0.0, 255.0));
/// let mean = noisy.planes()[0].as_slice().iter().sum::<f32>() / 4096.0;
/// assert!(mean > 20.0);
/// let mut denoised = Frame::grey(Plane::from_vec(64, 64, vec![mean; 4096])?, 255.0)?;
/// noise::undo_clipping(&noisy, &mut denoised, 40.0)?;
/// assert!((denoised.planes()[0].as_slice()[0] - 10.0).abs() < 2.0);
/// # Ok::<(), quell::Error>(())
/// ```
pub fn undo_clipping<'a>(noisy: impl Into<FrameView<'a>>, denoised: &mut Frame, sigma: f32) -> Result<()> {
    let noisy = noisy.into();
    let shape = |f: &FrameView<'_>| (f.width(), f.height(), f.channels(), f.white());
    if shape(&noisy) != shape(&denoised.view()) {
        return Err(Error::Shape(
            "a noisy picture and its result must have one shape and white level".into(),
        ));
    }
    let size = (noisy.width(), noisy.height());
    let sample = |plane: usize, i: usize| noisy.planes()[plane].row(i / size.0)[i % size.0];
    let ends = clipped_ends(size, noisy.channels(), noisy.white(), sigma, sample);
    let white = denoised.white();
    let mut planes: Vec<&mut [f32]> = denoised.planes_mut().iter_mut().map(Plane::as_mut_slice).collect();
    undo_at(ends, &mut planes, size, white, sigma);
    Ok(())
}

/// The ends of the scale at which noise of deviation `sigma` was clipped, as far as some blocks of the noisy picture tell:
/// as many of their samples lie there as their means let expect. `sample` gives sample `i` of a plane.
pub(crate) fn clipped_ends(
    (width, height): (usize, usize),
    planes: usize,
    white: f32,
    sigma: f32,
    sample: impl Fn(usize, usize) -> f32,
) -> Ends {
    let (columns, rows) = (width / BLOCK, height / BLOCK);
    let count = columns * rows * planes;
    if sigma <= 0.0 || count == 0 {
        return Ends::default();
    }
    let clipping = Clipping::new(sigma, white);
    let (most, samples) = (FLAT * f64::from(sigma), (BLOCK * BLOCK) as f64);
    let (mut found, mut expected, mut seen) = ([0.0; 2], [0.0; 2], 0.0);
    // An odd stride does not fall in step with even widths.
    for block in (0..count).step_by((count / BLOCKS).max(1) | 1) {
        let (plane, at) = (block / (columns * rows), block % (columns * rows));
        let first = at / columns * BLOCK * width + at % columns * BLOCK;
        let (mut sum, mut squares, mut at_end) = (0.0, 0.0, [0.0; 2]);
        for i in 0..BLOCK * BLOCK {
            let v = sample(plane, first + i / BLOCK * width + i % BLOCK);
            sum += f64::from(v);
            squares += f64::from(v) * f64::from(v);
            at_end[0] += f64::from(u8::from(v == 0.0));
            at_end[1] += f64::from(u8::from(v == white));
        }
        seen += samples;
        let mean = sum / samples;
        if squares / samples - mean * mean > most * most {
            continue;
        }
        let parts = clipping.clipped(clipping.undo(mean as f32));
        for end in 0..2 {
            if parts[end] > NEAR {
                found[end] += at_end[end];
                expected[end] += parts[end] * samples;
            }
        }
    }
    let clipped =
        |end: usize| found[end] >= LEAST * seen && ENOUGH.contains(&(found[end] / expected[end].max(1.0)));
    Ends { black: clipped(0), white: clipped(1) }
}

/// As [`undo_clipping`], in planes of a picture whose noise was clipped at these ends.
pub(crate) fn undo_at(
    ends: Ends,
    denoised: &mut [&mut [f32]],
    (width, height): (usize, usize),
    white: f32,
    sigma: f32,
) {
    if sigma <= 0.0 || !ends.any() {
        return;
    }
    let clipping = Clipping::at(sigma, white, ends);
    let low = if ends.black { 0.0 } else { f32::MIN };
    let high = if ends.white { white } else { f32::MAX };
    for plane in denoised {
        let levels = blurred(plane, width, height);
        let rows = plane.par_chunks_exact_mut(width).zip(levels.par_chunks_exact(width));
        rows.for_each(|(row, levels)| {
            for (v, &level) in row.iter_mut().zip(levels) {
                *v = (*v + clipping.undo(level) - level.clamp(low, high)).clamp(low, high);
            }
        });
    }
}

/// Rows and columns around a sample that its blurred value depends on.
pub(crate) const REACH: usize = 4;

/// The samples of a plane, blurred.
fn blurred(plane: &[f32], width: usize, height: usize) -> Vec<f32> {
    let tap = |i: usize| (-0.5 * ((i as f32 - REACH as f32) / BLUR).powi(2)).exp();
    let sum: f32 = (0..=2 * REACH).map(tap).sum();
    let taps: [f32; 2 * REACH + 1] = std::array::from_fn(|i| tap(i) / sum);
    let mut out = vec![0.0; width * height];
    out.par_chunks_exact_mut(width).enumerate().for_each_init(
        || vec![0.0f32; width + 2 * REACH],
        |column, (y, out)| {
            // Down the columns into a row with edge samples at both ends, then along it.
            let (left, rest) = column.split_at_mut(REACH);
            let (inside, right) = rest.split_at_mut(width);
            inside.fill(0.0);
            for (i, tap) in taps.iter().enumerate() {
                let from = &plane[(y + i).saturating_sub(REACH).min(height - 1) * width..][..width];
                inside.iter_mut().zip(from).for_each(|(to, v)| *to += tap * v);
            }
            left.fill(inside[0]);
            right.fill(inside[width - 1]);
            for (i, tap) in taps.iter().enumerate() {
                out.iter_mut().zip(&column[i..]).for_each(|(to, v)| *to += tap * v);
            }
        },
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::add_gaussian;

    /// A slope from black to white, and the same with noise.
    fn slope(sigma: f32) -> (Frame, Frame) {
        let (w, h) = (256, 64);
        let values = (0..w * h).map(|i| (i % w) as f32).collect();
        let clean = Frame::grey(Plane::from_vec(w, h, values).unwrap(), 255.0).unwrap();
        let noisy = add_gaussian(&clean, sigma.into(), 4).unwrap();
        (clean, noisy)
    }

    fn clipped(mut frame: Frame, low: f32, high: f32) -> Frame {
        frame.planes_mut()[0].as_mut_slice().iter_mut().for_each(|v| *v = v.clamp(low, high));
        frame
    }

    /// What a perfect filter makes of clipped noise.
    fn means(clean: &Frame, ends: Ends, sigma: f32) -> Frame {
        let clipping = Clipping::at(sigma, 255.0, ends);
        let mut frame = clean.clone();
        frame.planes_mut()[0].as_mut_slice().iter_mut().for_each(|v| *v = clipping.mean(*v));
        frame
    }

    fn worst(a: &Frame, b: &Frame) -> f32 {
        let pairs = a.planes()[0].as_slice().iter().zip(b.planes()[0].as_slice());
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn means_of_clipped_noise_become_the_clean_picture() {
        let (clean, noisy) = slope(30.0);
        let noisy = clipped(noisy, 0.0, 255.0);
        let mut result = means(&clean, Ends { black: true, white: true }, 30.0);
        assert!(worst(&result, &clean) > 10.0);
        undo_clipping(&noisy, &mut result, 30.0).unwrap();
        // Blurring bends the ends of a slope a little.
        assert!(worst(&result, &clean) < 1.0, "{}", worst(&result, &clean));
    }

    #[test]
    fn each_end_is_looked_at_for_itself() {
        let (clean, noisy) = slope(30.0);
        let noisy = clipped(noisy, f32::MIN, 255.0);
        let mut result = means(&clean, Ends { black: false, white: true }, 30.0);
        undo_clipping(&noisy, &mut result, 30.0).unwrap();
        assert!(worst(&result, &clean) < 1.0, "{}", worst(&result, &clean));
    }

    #[test]
    fn noise_that_was_not_clipped_is_left() {
        let (clean, noisy) = slope(30.0);
        let mut result = clean.clone();
        undo_clipping(&noisy, &mut result, 30.0).unwrap();
        assert_eq!(result, clean);
    }

    #[test]
    fn dark_areas_with_little_noise_are_left() {
        // A dark half with a sixth of the noise of the other one: some zeros, but not as many as there should be.
        let (w, h) = (128, 64);
        let dark = |i: usize| i % w < w / 2;
        let values = (0..w * h).map(|i| if dark(i) { 8.0 } else { 128.0 }).collect();
        let clean = Frame::grey(Plane::from_vec(w, h, values).unwrap(), 255.0).unwrap();
        let (quiet, loud) = (add_gaussian(&clean, 5.0, 1).unwrap(), add_gaussian(&clean, 30.0, 2).unwrap());
        let of = |f: &Frame, i: usize| f.planes()[0].as_slice()[i].round().clamp(0.0, 255.0);
        let values = (0..w * h).map(|i| of(if dark(i) { &quiet } else { &loud }, i)).collect();
        let noisy = Frame::grey(Plane::from_vec(w, h, values).unwrap(), 255.0).unwrap();
        assert!(noisy.planes()[0].as_slice().contains(&0.0));
        let mut result = clean.clone();
        undo_clipping(&noisy, &mut result, 30.0).unwrap();
        assert_eq!(result, clean);
    }

    #[test]
    fn pictures_that_are_black_and_white_by_themselves_are_left() {
        let (w, h) = (128, 64);
        let stripes = (0..w * h).map(|i| if i / 16 % 2 == 0 { 0.0 } else { 255.0 }).collect();
        let drawing = Frame::grey(Plane::from_vec(w, h, stripes).unwrap(), 255.0).unwrap();
        let mut result = means(&drawing, Ends { black: true, white: true }, 5.0);
        let before = result.clone();
        undo_clipping(&drawing, &mut result, 15.0).unwrap();
        assert_eq!(result, before);
    }

    #[test]
    fn a_few_clipped_samples_are_left() {
        let clean = Frame::grey(Plane::from_vec(64, 64, vec![90.0; 4096]).unwrap(), 255.0).unwrap();
        let noisy = clipped(add_gaussian(&clean, 30.0, 3).unwrap(), 0.0, 255.0);
        assert!(noisy.planes()[0].as_slice().contains(&0.0));
        let mut result = clean.clone();
        undo_clipping(&noisy, &mut result, 30.0).unwrap();
        assert_eq!(result, clean);
    }

    #[test]
    fn one_pixel_is_survived() {
        let black = Frame::grey(Plane::from_vec(1, 1, vec![0.0]).unwrap(), 1.0).unwrap();
        let mut result = Frame::grey(Plane::from_vec(1, 1, vec![0.05]).unwrap(), 1.0).unwrap();
        undo_clipping(&black, &mut result, 0.2).unwrap();
        assert_eq!(result.planes()[0].as_slice(), [0.05], "one sample tells nothing");
    }
}
