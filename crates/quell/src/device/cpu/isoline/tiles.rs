//! The maps of the reference in tiles, on every thread: it needs kilobytes for every pixel in work.

use std::ops::Range;

use rayon::prelude::*;

use crate::isoline::{Map, Plan, reference};
use crate::{Plane, PlaneView, Result};

/// Side of a tile without its halo.
const TILE: usize = 96;

/// What the filter knows about a picture, as [`reference::map`] tells.
pub(super) fn map(plan: &Plan, planes: &[PlaneView<'_>], map: Map) -> Result<Plane> {
    let starts = |length: usize| (0..length).step_by(TILE);
    let corners: Vec<_> = starts(plan.height).flat_map(|y| starts(plan.width).map(move |x| (y, x))).collect();
    let tile = |&(y, x): &(usize, usize)| {
        let (rows, columns) = (with_halo(y, plan.halo(), plan.height), with_halo(x, plan.halo(), plan.width));
        let cut = |p: &PlaneView<'_>| {
            let samples = p.band(rows.clone()).rows().flat_map(|r| &r[columns.clone()]).copied().collect();
            Plane::from_vec(columns.len(), rows.len(), samples)
        };
        let planes = planes.iter().map(cut).collect::<Result<Vec<Plane>>>()?;
        let views: Vec<PlaneView<'_>> = planes.iter().map(Plane::view).collect();
        let plan = Plan { width: columns.len(), height: rows.len(), ..plan.clone() };
        Ok((y - rows.start, x - columns.start, reference::map(&plan, &views, map)))
    };
    let tiles = corners.par_iter().map(tile).collect::<Result<Vec<_>>>()?;
    let mut out = Plane::zeros(plan.width, plan.height);
    for ((y, x), (top, left, values)) in corners.iter().zip(&tiles) {
        let columns = TILE.min(plan.width - x);
        for row in 0..TILE.min(plan.height - y) {
            out.row_mut(y + row)[*x..][..columns].copy_from_slice(&values.row(top + row)[*left..][..columns]);
        }
    }
    Ok(out)
}

/// What a tile has to know along one axis.
fn with_halo(start: usize, halo: usize, length: usize) -> Range<usize> {
    start.saturating_sub(halo)..(start + TILE + halo).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isoline::{Params, Variant};

    #[test]
    fn tiles_do_not_show() {
        let size = (TILE + 30, TILE + 17);
        let mut state = 1u32;
        let noise = (0..size.0 * size.1).map(|i| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as f32 * 0.3 + if i % size.0 > i / size.0 { 120.0 } else { 40.0 }
        });
        let plane = Plane::from_vec(size.0, size.1, noise.collect()).unwrap();
        for variant in [Variant::Pooled, Variant::Line, Variant::TwoRound] {
            let plan = Plan::new(&Params::of(variant, 22.0, 1), size, 255.0, &[22.0]).unwrap();
            for what in [Map::Directions, Map::Lengths] {
                let want = reference::map(&plan, &[plane.view()], what);
                assert_eq!(map(&plan, &[plane.view()], what).unwrap(), want, "{variant:?} {what:?}");
            }
        }
    }
}
