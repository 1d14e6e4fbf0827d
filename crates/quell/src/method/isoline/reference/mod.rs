//! The isoline filters in plain `f64`, to be read beside the paper and [`Plan`]. Slow; every fast path is tested against
//! it.

pub(in crate::method) mod grid;
mod likelihood;
mod lines;
mod pooled;

use super::{Map, Plan, Variant};
use crate::method::frames::reference::average;
use crate::{Plane, PlaneView};
use grid::Grid;

/// Filters the planes of a picture.
pub fn run(plan: &Plan, planes: &[PlaneView<'_>]) -> Vec<Plane> {
    filter(plan, planes).planes
}

/// Filters frame `at` of a sequence.
pub fn run_frame(plan: &Plan, frames: &[Vec<PlaneView<'_>>], at: usize) -> Vec<Plane> {
    if !plan.averages() {
        return run(plan, &frames[at]);
    }
    let grids: Vec<Vec<Grid>> = frames.iter().map(|f| f.iter().map(Grid::from).collect()).collect();
    let window = at.saturating_sub(plan.past)..(at + plan.future + 1).min(frames.len());
    let (z, count, _) = average(&plan.averaging, &grids[window.clone()], at - window.start);
    filter_grids(plan, &z, &count).planes
}

/// What the filter knows about a picture.
pub fn map(plan: &Plan, planes: &[PlaneView<'_>], map: Map) -> Plane {
    match map {
        Map::Directions => filter(plan, planes).directions,
        Map::Lengths => filter(plan, planes).lengths,
        Map::Edges => lines::edges(plan, &Grid::from(&planes[0])).to_plane(),
    }
}

/// A picture and how it came about.
struct Filtered {
    planes: Vec<Plane>,
    directions: Plane,
    lengths: Plane,
}

fn filter(plan: &Plan, planes: &[PlaneView<'_>]) -> Filtered {
    let z: Vec<Grid> = planes.iter().map(Grid::from).collect();
    let count = z[0].map(|_| 1.0);
    filter_grids(plan, &z, &count)
}

/// `count` is the number of frames that each pixel was averaged over.
fn filter_grids(plan: &Plan, z: &[Grid], count: &Grid) -> Filtered {
    let result = match plan.variant {
        Variant::PiLd => lines::limited_deviation(plan, z),
        Variant::PiPd => lines::precomputed_directions(plan, z),
        Variant::Hybrid => lines::hybrid(plan, z),
        Variant::Pooled => pooled::pooled(plan, z, count),
        Variant::Line => pooled::line(plan, z, count),
        Variant::TwoRound => pooled::two_round(plan, z, count),
    };
    Filtered {
        planes: result.planes.iter().map(Grid::to_plane).collect(),
        directions: result.directions.to_plane(),
        lengths: result.lengths.to_plane(),
    }
}

/// The same in `f64`.
struct Result64 {
    planes: Vec<Grid>,
    directions: Grid,
    lengths: Grid,
}
