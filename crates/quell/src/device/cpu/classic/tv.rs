//! Total variation: Chambolle's steps on both components of `p`, in place.
//!
//! A step at row `y` needs the divergence of the old `p` at rows `y` and `y + 1`. Inside a band the next row's is computed
//! before this row is changed; where a band begins, all of them are computed before any is changed.

use rayon::prelude::*;

use super::bands::{ROWS, Steps, at_level};
use crate::device::cpu::Level;
use crate::method::classic::Filter;
use crate::{Control, Plane, PlaneView, Result};

pub(super) fn run(
    level: Level,
    lambda: f32,
    iterations: usize,
    plane: &PlaneView<'_>,
    control: &Control,
) -> Result<Plane> {
    let (width, height) = (plane.width(), plane.height());
    let zeros = vec![0.0; width];
    let mut p = vec![0.0; width * height];
    let mut q = vec![0.0; width * height];
    // The divergence at the first row of every band.
    let mut edges = vec![0.0; height.div_ceil(ROWS) * width];
    let steps = Steps::new(control, iterations);
    for _ in 0..iterations {
        steps.check()?;
        edges.par_chunks_exact_mut(width).enumerate().for_each(|(i, edge)| {
            let y = i * ROWS;
            divergence(&p[y * width..], &q[y * width..], row_before(&q, y, &zeros), edge);
        });
        let bands = p.par_chunks_mut(ROWS * width).zip(q.par_chunks_mut(ROWS * width)).enumerate();
        bands.for_each_init(
            || vec![0.0; 2 * width],
            |rows, (i, (p, q))| {
                let edges = &edges[i * width..((i + 2) * width).min(edges.len())];
                at_level(
                    level,
                    #[inline(always)]
                    || band(1.0 / lambda, plane, i * ROWS, (p, q), edges, rows),
                );
            },
        );
        steps.step();
    }
    let mut out = Plane::zeros(width, height);
    out.as_mut_slice().par_chunks_exact_mut(width).enumerate().for_each(|(y, out)| {
        divergence(&p[y * width..], &q[y * width..], row_before(&q, y, &zeros), out);
        for (to, v) in out.iter_mut().zip(plane.row(y)) {
            *to = v - lambda * *to;
        }
    });
    Ok(out)
}

/// The divergence at a row of `p` and `q`; `above` is the row of `q` before it. In the last column `p` is 0, and in the
/// last row `q` is: they began so.
#[inline(always)]
fn divergence(p: &[f32], q: &[f32], above: &[f32], to: &mut [f32]) {
    let n = to.len();
    // All of one length: no index needs a check.
    let (p, q, above) = (&p[..n], &q[..n], &above[..n]);
    to[0] = p[0] + (q[0] - above[0]);
    for x in 1..n {
        to[x] = (p[x] - p[x - 1]) + (q[x] - above[x]);
    }
}

/// A row of a plane, or zeros above the first one.
fn row_before<'a>(plane: &'a [f32], y: usize, zeros: &'a [f32]) -> &'a [f32] {
    if y == 0 { zeros } else { &plane[(y - 1) * zeros.len()..][..zeros.len()] }
}

/// One step at the rows of a band: `edges` are the divergences at its first row and, if there is one, at the row after its
/// last.
#[inline(always)]
fn band(
    inverse: f32,
    plane: &PlaneView<'_>,
    first: usize,
    (p, q): (&mut [f32], &mut [f32]),
    edges: &[f32],
    rows: &mut [f32],
) {
    let width = plane.width();
    let (mut here, mut next) = rows.split_at_mut(width);
    let (begin, end) = edges.split_at(width);
    here.copy_from_slice(begin);
    let count = p.len() / width;
    for y in 0..count {
        let at = y * width;
        let (q, after) = q[at..].split_at_mut(width);
        if y + 1 < count {
            divergence(&p[at + width..], after, q, next);
        } else if !end.is_empty() {
            next.copy_from_slice(end);
        } else {
            // The last row: no difference to the next one.
            next.copy_from_slice(here);
        }
        let row = plane.row(first + y);
        let below = if first + y + 1 < plane.height() { plane.row(first + y + 1) } else { row };
        step(inverse, row, below, here, next, &mut p[at..], q);
        std::mem::swap(&mut here, &mut next);
    }
}

/// One step at a row. Arguments of their own, not in pairs: so the compiler knows that they do not overlap.
#[inline(always)]
fn step(inverse: f32, row: &[f32], below: &[f32], here: &[f32], next: &[f32], p: &mut [f32], q: &mut [f32]) {
    const STEP: f32 = Filter::STEP;
    let n = row.len() - 1;
    let (below, here, next, p, q) = (&below[..=n], &here[..=n], &next[..=n], &mut p[..=n], &mut q[..=n]);
    for x in 0..n {
        // Differences of the samples first: large ones would leave no digits for the divergence.
        let u = (here[x + 1] - here[x]) - inverse * (row[x + 1] - row[x]);
        let v = (next[x] - here[x]) - inverse * (below[x] - row[x]);
        let shrink = 1.0 / (1.0 + STEP * (u * u + v * v).sqrt());
        p[x] = (p[x] + STEP * u) * shrink;
        q[x] = (q[x] + STEP * v) * shrink;
    }
    let v = (next[n] - here[n]) - inverse * (below[n] - row[n]);
    q[n] = (q[n] + STEP * v) / (1.0 + STEP * v.abs());
}
