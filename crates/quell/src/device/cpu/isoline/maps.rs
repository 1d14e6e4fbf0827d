//! What quell's own filters know about a picture: the stages of the filter up to the decision. Only luma decides.

use super::Run;
use crate::device::cpu::frames::Padded;
use crate::isoline::{Map, Restoring, Variant};
use crate::{Plane, Result};

/// Directions or lengths of one of quell's own filters.
pub(super) fn map(run: &Run<'_>, z: &[Padded], map: Map) -> Result<Plane> {
    let (plan, z) = (run.plan, &z[..1]);
    let all = 0..plan.patterns.directions();
    let known = match (plan.variant, map) {
        (Variant::TwoRound, _) => {
            let first = run.line(z, 3)?;
            if map == Map::Directions {
                let [_, _, q] = run.pilot(z, &first);
                directions(run, &plan.pilot_restore, &q)
            } else {
                run.pool_along(all, z, &plan.pilot_pool, &first[0], Some(&first[0]), run.planes(2))
            }
        }
        (Variant::Line, Map::Directions) => {
            let r = run.combine(z, &run.pooled(z)?, |z, y| z - y);
            directions(run, &plan.restore, &r)
        }
        (_, Map::Directions) => return Ok(most_pooled(run, z)),
        _ => {
            let level = run.blur(z, plan.pool.blur.taps);
            run.pool_along(all, z, &plan.pool, &level[0], None, run.planes(2))
        }
    };
    Ok(known[known.len() - 1].to_plane())
}

/// Behind other planes, the direction of the line that is chosen at every pixel.
fn directions(run: &Run<'_>, restoring: &Restoring, q: &[Padded]) -> Vec<Padded> {
    run.choose_into(restoring, q, &[], run.planes(3))
}

/// The direction, either way, in which most is pooled; the first of several.
fn most_pooled(run: &Run<'_>, z: &[Padded]) -> Plane {
    let half = run.plan.patterns.directions() / 2;
    let level = run.blur(z, run.plan.pool.blur.taps);
    let mut most = Plane::zeros(run.plan.width, run.plan.height);
    let mut best = most.clone();
    for d in 0..half {
        let pair = [d, d + half].into_iter();
        let pooled = run.pool_along(pair, z, &run.plan.pool, &level[0], None, run.planes(2));
        for y in 0..run.plan.height {
            let rows = most.row_mut(y).iter_mut().zip(best.row_mut(y));
            for ((most, best), &pixels) in rows.zip(pooled[1].row(y)) {
                if pixels > *most {
                    (*most, *best) = (pixels, d as f32);
                }
            }
        }
    }
    best
}
