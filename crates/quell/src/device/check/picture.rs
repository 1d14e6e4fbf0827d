//! Pictures for the checks, the same on every machine.

use crate::{Frame, Plane, Result, noise};

/// Flat parts, edges and texture; `tint` makes another channel of it.
pub(super) fn clean(w: usize, h: usize, tint: f32) -> Plane {
    let mut plane = Plane::zeros(w, h);
    for y in 0..h {
        for (x, v) in plane.row_mut(y).iter_mut().enumerate() {
            let (x, y) = (x as f32, y as f32);
            let edge = if x - 0.7 * y > 0.2 * w as f32 { 60.0 } else { 0.0 };
            let texture = if y > 0.5 * h as f32 { 20.0 * (0.9 * x).sin() * (0.5 * y).cos() } else { 0.0 };
            *v = 90.0 + (1.0 - 0.3 * tint) * edge + texture + 12.0 * tint;
        }
    }
    plane
}

/// The same with noise.
pub(super) fn noisy(clean: &Plane, sigma: f32, seed: u64) -> Result<Plane> {
    let frame = noise::add_gaussian(&Frame::grey(clean.clone(), 255.0)?, sigma.into(), seed)?;
    Ok(frame.into_planes().remove(0))
}

/// As an 8-bit camera would store it.
pub(super) fn eight_bit(plane: &Plane) -> Plane {
    changed(plane, |v| v.round().clamp(0.0, 255.0))
}

/// Every sample changed.
pub(super) fn changed(plane: &Plane, change: impl Fn(f32) -> f32) -> Plane {
    let mut plane = plane.clone();
    plane.as_mut_slice().iter_mut().for_each(|v| *v = change(*v));
    plane
}
