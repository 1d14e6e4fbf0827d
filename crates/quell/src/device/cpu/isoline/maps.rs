//! What quell's own filters know about a picture: the stages of the filter up to the decision, which is then made again,
//! to be looked at. Only luma decides.

use rayon::prelude::*;

use super::padded::{Layout, Padded};
use super::{ROWS, Run};
use crate::isoline::{Map, Pooling, Restoring, Variant};
use crate::{Plane, Result};

/// Directions or lengths of one of quell's own filters.
pub(super) fn map(run: &Run<'_>, z: &[Padded], map: Map) -> Result<Plane> {
    let (plan, z) = (run.plan, &z[..1]);
    let level = run.blur(z, plan.pool.blur.taps).remove(0);
    match (plan.variant, map) {
        (Variant::Line, Map::Directions) => {
            let pooled = run.pool(z, &plan.pool, &level, None);
            let r = run.combine(z, &pooled, |z, y| z - y);
            Ok(directions(run, &plan.restore, &r[0]))
        }
        (Variant::TwoRound, _) => {
            let first = run.line(z, 3)?;
            if map == Map::Lengths {
                return Ok(pooled(run, &plan.pilot_pool, &first[0], &first[0], map));
            }
            let [_, _, q] = run.pilot(z, &first);
            Ok(directions(run, &plan.pilot_restore, &q[0]))
        }
        _ => Ok(pooled(run, &plan.pool, &level, &z[0], map)),
    }
}

/// The direction, either way, in which most is pooled, or how many pixels are.
fn pooled(run: &Run<'_>, pooling: &Pooling, level: &Padded, guide: &Padded, map: Map) -> Plane {
    let (plan, layout) = (run.plan, run.layout);
    let (half, n) = (plan.patterns.directions() / 2, plan.segment_pixels() as f32);
    // For every direction and segment the distances in memory of its pixels.
    let segment = |d: usize, k: usize| -> Vec<isize> {
        let (end, across) = (plan.patterns.end(d), plan.patterns.across(d));
        let (k, side) = (k as i32, (plan.thickness / 2) as i32);
        let pixels = plan.patterns.segment(d).iter().flat_map(|o| (-side..=side).map(move |s| (o, s)));
        pixels
            .map(|(o, s)| layout.offset(k * end.dy + o.dy + s * across.dy, k * end.dx + o.dx + s * across.dx))
            .collect()
    };
    let chains: Vec<Vec<Vec<isize>>> =
        (0..2 * half).map(|d| (0..plan.segments).map(|k| segment(d, k)).collect()).collect();
    rows(layout, |y, row| {
        let mut by = vec![0.0; half];
        for (x, to) in row.iter_mut().enumerate() {
            let at = layout.index(y, x);
            by.fill(0.0);
            for (d, chain) in chains.iter().enumerate() {
                let mut lambda = 0.0f32;
                for segment in chain {
                    let sum: f32 = segment.iter().map(|&o| guide.data()[at.wrapping_add_signed(o)]).sum();
                    lambda = lambda.max(pooling.slope * (sum / n - level.data()[at]).powi(2));
                    by[d % half] += (1.0 - lambda).max(0.0);
                }
            }
            *to = match map {
                Map::Lengths => 1.0 + n * by.iter().sum::<f32>(),
                _ => (1..half).fold(0, |best, d| if by[d] > by[best] { d } else { best }) as f32,
            };
        }
    })
}

/// The direction of most energy at every pixel, as it is chosen.
fn directions(run: &Run<'_>, restoring: &Restoring, q: &Padded) -> Plane {
    let (plan, layout) = (run.plan, run.layout);
    let half = plan.patterns.directions() / 2;
    let mut energy: Vec<f32> = Vec::new();
    let mut chosen = Plane::zeros(layout.width, layout.height);
    for d in 0..half {
        let sides = plan.patterns.segment(d).iter().chain(plan.patterns.segment(d + half));
        let line: Vec<isize> = std::iter::once(0).chain(sides.map(|o| layout.offset(o.dy, o.dx))).collect();
        let here = mean_box(&line_energy(run, q, &line), layout, restoring.radius);
        if d == 0 {
            energy = here;
            continue;
        }
        let pixels = energy.par_iter_mut().zip(&here).zip(chosen.as_mut_slice());
        pixels.with_min_len(1 << 14).for_each(|((energy, here), chosen)| {
            let t = (0.5 + restoring.sharpness * (here - *energy)).clamp(0.0, 1.0);
            *energy += t * (here - *energy);
            if t > 0.5 {
                *chosen = d as f32;
            }
        });
    }
    chosen
}

/// Squared means over the line at every pixel.
fn line_energy(run: &Run<'_>, q: &Padded, line: &[isize]) -> Plane {
    let layout = run.layout;
    let scale = 1.0 / line.len() as f32;
    rows(layout, |y, row| {
        let at = layout.index(y, 0);
        for &o in line {
            let from = &q.data()[at.wrapping_add_signed(o)..][..layout.width];
            row.iter_mut().zip(from).for_each(|(to, v)| *to += v);
        }
        row.iter_mut().for_each(|v| *v = (*v * scale).powi(2));
    })
}

/// Means over the square of `2 radius + 1` pixels around each.
fn mean_box(plane: &Plane, layout: Layout, radius: usize) -> Vec<f32> {
    let Layout { width, height, .. } = layout;
    let side = 2 * radius + 1;
    let scale = 1.0 / (side * side) as f32;
    let mut out = vec![0.0; width * height];
    let all = out.par_chunks_exact_mut(width).with_min_len(ROWS).enumerate();
    all.for_each_init(
        || vec![0.0f32; width + 2 * radius],
        |column, (y, out)| {
            let inside = &mut column[radius..radius + width];
            inside.fill(0.0);
            for i in 0..side {
                let from = plane.row((y + i).saturating_sub(radius).min(height - 1));
                inside.iter_mut().zip(from).for_each(|(to, v)| *to += v);
            }
            let (first, last) = (inside[0], inside[width - 1]);
            column[..radius].fill(first);
            column[radius + width..].fill(last);
            for i in 0..side {
                out.iter_mut().zip(&column[i..]).for_each(|(to, v)| *to += v);
            }
            out.iter_mut().for_each(|v| *v *= scale);
        },
    );
    out
}

/// A plane made row by row, on every thread.
fn rows(layout: Layout, make: impl Fn(usize, &mut [f32]) + Sync) -> Plane {
    let mut plane = Plane::zeros(layout.width, layout.height);
    let rows = plane.as_mut_slice().par_chunks_exact_mut(layout.width).enumerate();
    rows.for_each(|(y, row)| make(y, row));
    plane
}
