//! Samples that are NaN or infinite: refused, zeroed, or worked around and put back.

use quell::{Frame, Plane, Result};

use crate::args::NanPolicy;

/// The bad samples of a frame: plane, index, value.
pub(crate) type Holes = Vec<(usize, usize, f32)>;

/// Applies the policy; returns what has to be put back by [`restore`].
pub(crate) fn apply(frame: &mut Frame, policy: NanPolicy) -> Result<Holes> {
    let Err(first) = frame.view().check_finite() else { return Ok(Holes::new()) };
    if policy == NanPolicy::Error {
        return Err(first);
    }
    let mut holes = Holes::new();
    for (p, plane) in frame.planes_mut().iter_mut().enumerate() {
        let bad = plane.as_slice().iter().enumerate().filter(|(_, v)| !v.is_finite());
        holes.extend(bad.map(|(i, v)| (p, i, *v)));
        if policy == NanPolicy::Keep {
            fill(plane);
        } else {
            plane.as_mut_slice().iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = 0.0);
        }
    }
    Ok(if policy == NanPolicy::Keep { holes } else { Holes::new() })
}

/// Puts the bad samples back.
pub(crate) fn restore(frame: &mut Frame, holes: &Holes) {
    for &(p, i, v) in holes {
        frame.planes_mut()[p].as_mut_slice()[i] = v;
    }
}

/// Continues the nearest good sample along each row, and good rows over rows without any: flat areas, which
/// draw nothing of their own into the pixels around them.
fn fill(plane: &mut Plane) {
    let rows: Vec<bool> = (0..plane.height()).map(|y| fill_row(plane.row_mut(y))).collect();
    let Some(first) = rows.iter().position(|&good| good) else {
        plane.as_mut_slice().fill(0.0);
        return;
    };
    for y in (0..first).rev().chain(first + 1..plane.height()) {
        if !rows[y] {
            let near = plane.row(if y < first { y + 1 } else { y - 1 }).to_vec();
            plane.row_mut(y).copy_from_slice(&near);
        }
    }
}

/// `false` if the row has no good sample.
fn fill_row(row: &mut [f32]) -> bool {
    let Some(mut last) = row.iter().copied().find(|v| v.is_finite()) else { return false };
    for v in row {
        if v.is_finite() {
            last = *v;
        } else {
            *v = last;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: f32 = f32::NAN;

    fn frame(data: &[f32]) -> Frame {
        Frame::grey(Plane::from_vec(3, data.len() / 3, data.to_vec()).unwrap(), 1.0).unwrap()
    }

    #[test]
    fn keep_fills_from_the_neighbours_and_puts_back() {
        let mut f = frame(&[BAD, BAD, BAD, BAD, 2.0, BAD, BAD, f32::INFINITY, BAD, 3.0, 4.0, BAD]);
        let holes = apply(&mut f, NanPolicy::Keep).unwrap();
        assert_eq!(f.planes()[0].as_slice(), [2., 2., 2., 2., 2., 2., 2., 2., 2., 3., 4., 4.]);
        restore(&mut f, &holes);
        let back = f.planes()[0].as_slice();
        assert!(back[0].is_nan() && back[7] == f32::INFINITY && back[4] == 2.0 && back[11].is_nan());
    }

    #[test]
    fn zero_leaves_nothing_to_put_back() {
        let mut f = frame(&[1.0, BAD, 5.0]);
        assert!(apply(&mut f, NanPolicy::Zero).unwrap().is_empty());
        assert_eq!(f.planes()[0].as_slice(), [1.0, 0.0, 5.0]);
    }

    #[test]
    fn a_plane_without_good_samples_is_zero_while_filtered() {
        let mut f = frame(&[BAD; 6]);
        assert_eq!(apply(&mut f, NanPolicy::Keep).unwrap().len(), 6);
        assert_eq!(f.planes()[0].as_slice(), [0.0; 6]);
    }

    #[test]
    fn error_names_the_sample() {
        let e = apply(&mut frame(&[0.0, 0.0, 0.0, 0.0, BAD, 0.0]), NanPolicy::Error).unwrap_err();
        assert!(e.to_string().contains("column 1, row 1"), "{e}");
    }
}
