//! quell's own filters: pooled segments, their residual restored along lines, a second round. [`Plan`] defines them.
//! `n` is the number of frames that each pixel is the average of.

use super::Result64;
use super::grid::{At, Grid, step};
use crate::isoline::{Plan, Pooling, Restoring};

/// Pooling alone.
pub(super) fn pooled(plan: &Plan, z: &[Grid], n: &Grid) -> Result64 {
    pool(plan, &plan.pool, z, n, &z[0].blur(&plan.pool.blur.taps), &z[0])
}

/// Pooling, and what the residual holds.
pub(super) fn line(plan: &Plan, z: &[Grid], n: &Grid) -> Result64 {
    let first = pooled(plan, z, n);
    let r = pairs(z, &first.planes, |z, y| z - y);
    let chosen = choose(plan, &plan.restore, &r, &r);
    let planes = (0..z.len()).map(|c| {
        let Chosen { energy, mean, rest, .. } = &chosen.planes[c];
        let keep =
            |at, energy: &Grid, noise: f32| (1.0 - f64::from(noise) / n.at(at) / energy.at(at)).max(0.0);
        z[c].map(|at| {
            let (m, r) = (mean.at(at), r[c].at(at));
            let line = keep(at, energy, plan.restore.line_noise[c]) * m;
            let pixel = keep(at, rest, plan.restore.pixel_noise[c]) * (r - m);
            first.planes[c].at(at) + line + pixel
        })
    });
    Result64 { planes: planes.collect(), directions: chosen.directions, lengths: first.lengths }
}

/// The same again on the first result.
pub(super) fn two_round(plan: &Plan, z: &[Grid], n: &Grid) -> Result64 {
    let first = line(plan, z, n).planes;
    let second = pool(plan, &plan.pilot_pool, z, n, &first[0], &first[0]);
    let pilot = pairs(&first, &second.planes, |a, b| a + f64::from(plan.mix) * (b - a));
    let smooth: Vec<Grid> = pilot.iter().map(|p| p.blur(&plan.pilot_pool.blur.taps)).collect();
    let r = pairs(z, &smooth, |z, s| z - s);
    let q = pairs(&pilot, &smooth, |p, s| p - s);
    let chosen = choose(plan, &plan.pilot_restore, &q, &r);
    let share = f64::from(plan.share);
    let planes = (0..z.len()).map(|c| {
        let Chosen { energy, rest, mean_other, .. } = &chosen.planes[c];
        let keep =
            |at, energy: &Grid, noise: f32| energy.at(at) / (energy.at(at) + f64::from(noise) / n.at(at));
        z[c].map(|at| {
            let (m, r) = (mean_other.at(at), r[c].at(at));
            let line = keep(at, energy, plan.pilot_restore.line_noise[c]) * m;
            let pixel = keep(at, rest, plan.pilot_restore.pixel_noise[c]) * (r - m);
            share * pilot[c].at(at) + (1.0 - share) * (smooth[c].at(at) + line + pixel)
        })
    });
    Result64 { planes: planes.collect(), directions: chosen.directions, lengths: second.lengths }
}

/// Averages the segments whose level is near that of the pixel.
fn pool(plan: &Plan, pooling: &Pooling, z: &[Grid], n: &Grid, level: &Grid, guide: &Grid) -> Result64 {
    let directions = plan.patterns.directions();
    let length = plan.segment_pixels() as f64;
    // The weights of one pixel's segments: direction, start, weight.
    let segments = |at: At| {
        let mut all = Vec::new();
        let slope = f64::from(pooling.slope) * n.at(at);
        for d in 0..directions {
            let (mut start, mut lambda) = (at, 0.0_f64);
            for _ in 0..plan.segments {
                let mean = guide.segment(plan, d, start, |v| v) / length;
                lambda += slope * (mean - level.at(at)).powi(2);
                let weight = (1.0 - lambda).max(0.0);
                if weight == 0.0 {
                    break;
                }
                all.push((d, start, weight));
                start = step(start, plan.patterns.end(d));
            }
        }
        all
    };
    let weights: Vec<Vec<(usize, At, f64)>> = z[0].pixels().map(segments).collect();
    let pixels = || z[0].pixels().zip(&weights);
    let average = |z: &Grid| {
        z.with(pixels().map(|(at, segments)| {
            let sum = |&(d, start, w): &(usize, At, f64)| w * z.segment(plan, d, start, |v| v);
            let pixels = 1.0 + segments.iter().map(|s| s.2 * length).sum::<f64>();
            (z.at(at) + segments.iter().map(sum).sum::<f64>()) / pixels
        }))
    };
    // The direction, either way, in which most was pooled; the first of several.
    let most = |segments: &[(usize, At, f64)]| {
        let half = directions / 2;
        let mut by = vec![0.0; half];
        segments.iter().for_each(|s| by[s.0 % half] += s.2);
        (1..half).fold(0, |best, d| if by[d] > by[best] { d } else { best })
    };
    Result64 {
        planes: z.iter().map(average).collect(),
        directions: z[0].with(weights.iter().map(|s| most(s) as f64)),
        lengths: z[0].with(weights.iter().map(|s| 1.0 + s.iter().map(|s| s.2 * length).sum::<f64>())),
    }
}

/// What the lines of the chosen directions hold, in one plane.
struct Chosen {
    /// Energy of their means around each pixel.
    energy: Grid,
    /// Their means.
    mean: Grid,
    /// Energy of what they leave, around each pixel.
    rest: Grid,
    /// The means of the other picture over the same lines.
    mean_other: Grid,
}

struct Choice {
    planes: Vec<Chosen>,
    directions: Grid,
}

/// At every pixel the direction whose lines have most energy in the first plane of `q`; softly, where two are all but
/// equal.
fn choose(plan: &Plan, restoring: &Restoring, q: &[Grid], other: &[Grid]) -> Choice {
    let half = plan.patterns.directions() / 2;
    let lines = |z: &Grid, d: usize| z.map(|at| z.line(plan, d, at));
    let energy = |m: &Grid| m.map(|at| m.at(at).powi(2)).mean_box(&restoring.square);
    let zero = q[0].map(|_| 0.0);
    let mut directions = zero.clone();
    let mut chosen: Vec<Chosen> = Vec::new();
    for d in 0..half {
        let m: Vec<Grid> = q.iter().map(|z| lines(z, d)).collect();
        let o: Vec<Grid> = other.iter().map(|z| lines(z, d)).collect();
        let e: Vec<Grid> = m.iter().map(energy).collect();
        if d == 0 {
            let planes = e.into_iter().zip(m).zip(o);
            chosen = planes
                .map(|((energy, mean), mean_other)| Chosen { energy, mean, rest: zero.clone(), mean_other })
                .collect();
            continue;
        }
        let step = zero.map(|at| {
            let gain = e[0].at(at) - chosen[0].energy.at(at);
            (0.5 + f64::from(restoring.sharpness) * gain).clamp(0.0, 1.0)
        });
        let toward =
            |from: &Grid, to: &Grid| from.map(|at| from.at(at) + step.at(at) * (to.at(at) - from.at(at)));
        for (c, chosen) in chosen.iter_mut().enumerate() {
            chosen.energy = toward(&chosen.energy, &e[c]);
            chosen.mean = toward(&chosen.mean, &m[c]);
            chosen.mean_other = toward(&chosen.mean_other, &o[c]);
        }
        directions = directions.map(|at| if step.at(at) > 0.5 { d as f64 } else { directions.at(at) });
    }
    for (chosen, q) in chosen.iter_mut().zip(q) {
        chosen.rest = q.map(|at| (q.at(at) - chosen.mean.at(at)).powi(2)).mean_box(&restoring.square);
    }
    Choice { planes: chosen, directions }
}

fn pairs(a: &[Grid], b: &[Grid], f: impl Fn(f64, f64) -> f64) -> Vec<Grid> {
    a.iter().zip(b).map(|(a, b)| a.map(|at| f(a.at(at), b.at(at)))).collect()
}
