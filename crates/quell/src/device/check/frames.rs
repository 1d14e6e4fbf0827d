//! Videos for the checks of methods that look at sequences of frames, and how far a device is off.

use super::picture::{clean, noisy};
use crate::device::{Input, SampleBuffer, SampleFormat, Samples, SamplesMut, Sequence};
use crate::method::Window;
use crate::metrics::largest;
use crate::{Control, Plane, PlaneView, Result};

/// A video.
pub(super) struct Clip {
    pub(super) size: (usize, usize),
    pub(super) frames: usize,
    pub(super) sigma: f32,
}

impl Clip {
    /// A plane of a frame: the picture moves, and every plane has its own noise.
    fn plane(&self, seed: usize, tint: f32) -> Result<Plane> {
        let (w, h) = self.size;
        let (wide, moved) = (clean(w + 7, h, tint), seed % 7);
        let rows = (0..h).flat_map(|y| wide.row(y)[moved..moved + w].iter().copied());
        noisy(&Plane::from_vec(w, h, rows.collect())?, self.sigma, seed as u64)
    }

    /// The planes of every frame in their own units, as stored.
    pub(super) fn planes(
        &self,
        count: usize,
        first: usize,
        format: SampleFormat,
    ) -> Result<Vec<Vec<SampleBuffer>>> {
        let frame = |t: usize| {
            let plane = |c: usize| {
                let plane = self.plane(first + 10 * t + c, c as f32)?;
                let scale = if first > 0 { 1.0 } else { format.white() / 255.0 };
                let mut samples = SampleBuffer::new(format, plane.as_slice().len());
                samples.view_mut().store(plane.as_slice(), scale, format.white());
                Ok(samples)
            };
            (0..count).map(plane).collect::<Result<Vec<_>>>()
        };
        (0..self.frames).map(frame).collect()
    }
}

/// All frames through a device, with as much delay as the window asks for.
pub(super) fn filter(
    sequence: &mut dyn Sequence,
    window: Window,
    frames: &[Vec<SampleBuffer>],
    guides: &[Vec<SampleBuffer>],
    to: SampleFormat,
) -> Result<Vec<Vec<SampleBuffer>>> {
    let control = Control::new();
    let mut out = Vec::new();
    for t in 0..frames.len() + window.future {
        if t < frames.len() {
            sequence.push(&Input { planes: &samples(&frames[t]), guide: &samples(&guides[t]) }, &control)?;
        }
        if t >= window.future {
            let mut frame = vec![SampleBuffer::new(to, window.width * window.height); window.results];
            let mut planes: Vec<SamplesMut<'_>> = frame.iter_mut().map(SampleBuffer::view_mut).collect();
            sequence.pull(&mut planes, &control)?;
            out.push(frame);
        }
    }
    Ok(out)
}

/// How far results are off at most, in grey levels of 255.
pub(super) fn worst(got: &[Vec<SampleBuffer>], want: &[Vec<Plane>], white: f32) -> f32 {
    let scale = 255.0 / white;
    let off = |(got, want): (&SampleBuffer, &Plane)| {
        // Integers are rounded: what is compared then is how far the reference is from their step.
        let step = if got.view().format() == SampleFormat::F32 { 0.0 } else { 0.5 };
        let difference = |(i, want): (usize, &f32)| {
            let want = if step > 0.0 { want.clamp(0.0, white) } else { *want };
            beyond(got.view().get(i) - want, step) * scale
        };
        largest(want.as_slice().iter().enumerate().map(difference))
    };
    largest(got.iter().flatten().zip(want.iter().flatten()).map(off))
}

/// How far a difference goes beyond what is allowed; NaN stays NaN, which `max` would make nothing of.
fn beyond(difference: f32, allowed: f32) -> f32 {
    let off = difference.abs() - allowed;
    if off <= 0.0 { 0.0 } else { off }
}

fn samples(planes: &[SampleBuffer]) -> Vec<Samples<'_>> {
    planes.iter().map(SampleBuffer::view).collect()
}

pub(super) fn floats((w, h): (usize, usize), frames: &[Vec<SampleBuffer>]) -> Result<Vec<Vec<Plane>>> {
    let plane = |s: &SampleBuffer| Plane::from_vec(w, h, s.view().to_floats(1.0));
    frames.iter().map(|f| f.iter().map(plane).collect()).collect()
}

pub(super) fn views(frames: &[Vec<Plane>]) -> Vec<Vec<PlaneView<'_>>> {
    frames.iter().map(|f| f.iter().map(Plane::view).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_no_number_is_as_far_off_as_can_be() {
        let want = vec![vec![Plane::from_vec(2, 1, vec![10.0, 20.0]).unwrap()]];
        let got = |v: [f32; 2]| vec![vec![SampleBuffer::F32(v.to_vec())]];
        assert_eq!(worst(&got([10.0, 20.5]), &want, 255.0), 0.5);
        assert_eq!(worst(&got([f32::NAN, 20.0]), &want, 255.0), f32::INFINITY);
        assert_eq!(worst(&got([10.0, f32::NAN]), &want, 255.0), f32::INFINITY);
        let nan = vec![vec![Plane::from_vec(2, 1, vec![f32::NAN, 20.0]).unwrap()]];
        let whole = vec![vec![SampleBuffer::U8(vec![10, 20])]];
        assert_eq!(worst(&whole, &want, 255.0), 0.0);
        assert_eq!(worst(&whole, &nan, 255.0), f32::INFINITY);
    }
}
