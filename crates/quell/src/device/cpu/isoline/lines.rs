//! PI-LD, PI-PD and the hybrid filter. Sums of 8-bit samples are exact in `f32` and tests are made in `f64`, so that
//! directions and lengths are those of the reference.

use super::Engine;
use super::deviation::DeviationBand;
use super::follow::FollowBand;
use super::segments::{SegmentBand, Segments};
use super::star::StarBand;
use crate::device::cpu::frames::{Padded, each_band};
use crate::device::cpu::simd::dispatch;
use crate::isoline::{Map, Plan, Variant};
use crate::{Control, Plane, Result};

/// Rows of a band.
const ROWS: usize = 16;

/// What the filter knows about a picture; edges for any plan.
pub(super) fn map(engine: &Engine, plan: &Plan, z: &[Padded], map: Map) -> Result<Plane> {
    let found = match map {
        Map::Edges => {
            let input = Input::new(engine, plan, &z[..1]);
            let mut out = input.planes(1);
            input.star(&mut out, true);
            out
        }
        Map::Directions | Map::Lengths => filter(engine, plan, z, &Control::new())?,
    };
    let index = match map {
        Map::Edges => 0,
        Map::Directions => z.len(),
        Map::Lengths => z.len() + 1,
    };
    Ok(found[index].to_plane())
}

/// Runs one of the paper's filters: the planes, then directions and lengths.
pub(super) fn filter(engine: &Engine, plan: &Plan, z: &[Padded], control: &Control) -> Result<Vec<Padded>> {
    let input = Input::new(engine, plan, z);
    let mut out = input.planes(z.len() + 2);
    if plan.variant == Variant::PiLd {
        each_band(&mut out, ROWS, |band| {
            if control.check().is_ok() {
                DeviationBand { plan, segments: &input.segments, z, band }.run();
            }
        });
        control.check()?;
    } else {
        // Direction, sum of luma and of its squares, sums of the other planes, over each pixel's segment.
        let mut best = input.planes(z.len() + 2);
        each_band(&mut best, ROWS, |band| {
            let Input { segments, squares, .. } = &input;
            dispatch(engine.level, SegmentBand { segments, z, squares, band });
        });
        control.report(1, 2, "isolines");
        control.check()?;
        each_band(&mut out, ROWS, |band| {
            FollowBand { plan, segments: &input.segments, z, best: &best, band }.run();
        });
        if plan.variant == Variant::Hybrid {
            input.star(&mut out, false);
        }
        control.report(2, 2, "isolines");
        control.check()?;
    }
    Ok(out)
}

/// A picture on its way.
struct Input<'a> {
    engine: &'a Engine,
    plan: &'a Plan,
    segments: Segments,
    z: &'a [Padded],
    squares: Padded,
}

impl<'a> Input<'a> {
    fn new(engine: &'a Engine, plan: &'a Plan, z: &'a [Padded]) -> Self {
        let layout = z[0].layout;
        let mut squares = Padded::new(layout, &engine.memory);
        squares.combine(&z[0], &z[0], |a, b| a * b);
        Self { engine, plan, segments: Segments::new(plan, layout), z, squares }
    }

    fn planes(&self, count: usize) -> Vec<Padded> {
        (0..count).map(|_| Padded::new(self.squares.layout, &self.engine.memory)).collect()
    }

    /// Replaces means of lines by those of neighbourhoods, where there are no edges, or counts edges.
    fn star(&self, out: &mut [Padded], count: bool) {
        let (plan, z, squares) = (self.plan, self.z, &self.squares);
        each_band(out, ROWS, |band| dispatch(self.engine.level, StarBand { plan, z, squares, count, band }));
    }
}
