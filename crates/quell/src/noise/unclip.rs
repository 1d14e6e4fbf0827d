//! Undoing in a denoised picture what clipping did to the noise of the noisy one.

use rayon::prelude::*;

use super::clipping::{Clipping, Ends};
use crate::{Error, Frame, FrameView, Plane, Result};

/// Samples at an end of the scale are clipped noise if there are at least this many times as many as there would be. With
/// clipped noise it is 0.95 and more; unclipped noise has none, and dark areas with less noise than elsewhere have few.
const ENOUGH: f64 = 0.75;

/// Samples that are looked at to find that out.
const SELECTION: usize = 1 << 16;

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
    if let Some(seen) = Seen::look(size, noisy.channels(), noisy.white(), sample) {
        let white = denoised.white();
        let mut planes: Vec<&mut [f32]> = denoised.planes_mut().iter_mut().map(Plane::as_mut_slice).collect();
        undo_seen_clipping(&seen, &mut planes, size, white, sigma);
    }
    Ok(())
}

/// How many of some samples of a noisy picture lie at the ends of the scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Black and white.
    found: [f64; 2],
}

impl Seen {
    /// Looks at sample `i` of each plane for some `i`. Nothing, if none of them lies at an end.
    pub(crate) fn look(
        (width, height): (usize, usize),
        planes: usize,
        white: f32,
        sample: impl Fn(usize, usize) -> f32,
    ) -> Option<Self> {
        let mut found = [0.0; 2];
        for (plane, i) in selection(width * height, planes) {
            let v = sample(plane, i);
            found[0] += f64::from(u8::from(v == 0.0));
            found[1] += f64::from(u8::from(v == white));
        }
        (found != [0.0; 2]).then_some(Self { found })
    }
}

/// Samples that stand for all.
fn selection(pixels: usize, planes: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = pixels * planes;
    // An odd stride does not fall in step with even widths.
    let stride = (count / SELECTION).max(1) | 1;
    (0..count).step_by(stride).map(move |i| (i / pixels, i % pixels))
}

/// As [`undo_clipping`], knowing what was seen of the noisy picture.
pub(crate) fn undo_seen_clipping(
    seen: &Seen,
    denoised: &mut [&mut [f32]],
    (width, height): (usize, usize),
    white: f32,
    sigma: f32,
) {
    if sigma <= 0.0 {
        return;
    }
    let ends = ends(seen, denoised, white, sigma);
    if !ends.black && !ends.white {
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

/// The ends at which the noise of a picture was clipped.
fn ends(seen: &Seen, denoised: &[&mut [f32]], white: f32, sigma: f32) -> Ends {
    let clipping = Clipping::new(sigma, white);
    let mut expected = [0.0; 2];
    for (plane, i) in selection(denoised[0].len(), denoised.len()) {
        let parts = clipping.clipped(clipping.undo(denoised[plane][i]));
        (0..2).for_each(|end| expected[end] += parts[end]);
    }
    let clipped = |end: usize| seen.found[end] > 0.0 && seen.found[end] >= ENOUGH * expected[end];
    Ends { black: clipped(0), white: clipped(1) }
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
    fn one_pixel_is_survived() {
        let black = Frame::grey(Plane::from_vec(1, 1, vec![0.0]).unwrap(), 1.0).unwrap();
        let mut result = Frame::grey(Plane::from_vec(1, 1, vec![0.05]).unwrap(), 1.0).unwrap();
        undo_clipping(&black, &mut result, 0.2).unwrap();
        assert_eq!(result, black);
    }
}
