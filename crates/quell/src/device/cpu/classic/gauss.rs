//! The Gaussian filter: columns, then rows, a row at a time.

use super::bands::{self, ROWS, Steps, at_level};
use crate::device::cpu::Level;
use crate::nlm::fold;
use crate::{Control, Plane, PlaneView, Result};

pub(super) fn run(level: Level, g: &[f32], plane: &PlaneView<'_>, control: &Control) -> Result<Plane> {
    let mut out = Plane::zeros(plane.width(), plane.height());
    let steps = Steps::new(control, plane.height().div_ceil(ROWS));
    blur(level, g, plane, out.as_mut_slice(), Some(&steps))?;
    Ok(out)
}

/// The blurred plane.
pub(super) fn blur(
    level: Level,
    g: &[f32],
    plane: &PlaneView<'_>,
    out: &mut [f32],
    steps: Option<&Steps<'_>>,
) -> Result<()> {
    let (width, height, radius) = (plane.width(), plane.height(), g.len() - 1);
    bands::each(out, width, steps, |first, band| {
        let mut line = vec![0.0; width + 2 * radius];
        at_level(
            level,
            #[inline(always)]
            || {
                for (y, out) in band.chunks_exact_mut(width).enumerate() {
                    let row = |d: isize| plane.row(fold((first + y) as isize + d, height));
                    let inside = &mut line[radius..][..width];
                    scale(inside, g[0], row(0));
                    for (i, &tap) in g.iter().enumerate().skip(1) {
                        add_pair(inside, tap, row(-(i as isize)), row(i as isize));
                    }
                    mirror(&mut line, radius);
                    scale(out, g[0], &line[radius..]);
                    for (i, &tap) in g.iter().enumerate().skip(1) {
                        add_pair(out, tap, &line[radius - i..], &line[radius + i..]);
                    }
                }
            },
        );
    })
}

/// Fills `margin` samples at both ends as in a mirror.
pub(super) fn mirror(line: &mut [f32], margin: usize) {
    let width = line.len() - 2 * margin;
    for i in 1..=margin {
        line[margin - i] = line[margin + fold(-(i as isize), width)];
        line[margin + width + i - 1] = line[margin + fold((width + i - 1) as isize, width)];
    }
}

#[inline(always)]
fn scale(to: &mut [f32], tap: f32, from: &[f32]) {
    for (to, v) in to.iter_mut().zip(from) {
        *to = tap * v;
    }
}

/// Samples at the same distance on both sides.
#[inline(always)]
fn add_pair(to: &mut [f32], tap: f32, before: &[f32], after: &[f32]) {
    for (to, (a, b)) in to.iter_mut().zip(before.iter().zip(after)) {
        *to += tap * (a + b);
    }
}
