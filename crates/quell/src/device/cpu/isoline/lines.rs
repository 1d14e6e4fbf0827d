//! PI-LD, PI-PD and the hybrid filter. Sums of 8-bit samples are exact in `f32` and tests are made in `f64`, so that
//! directions and lengths are those of the reference.

use super::Cpu;
use super::deviation::DeviationBand;
use super::follow::FollowBand;
use super::padded::{Layout, Padded, each_band};
use super::segments::{SegmentBand, Segments};
use super::star::StarBand;
use crate::device::cpu::simd::dispatch;
use crate::isoline::{Map, Plan, Variant};
use crate::{Control, Plane, PlaneView, Result};

/// Rows of a band.
const ROWS: usize = 16;

/// Runs one of the paper's filters.
pub(super) fn run(cpu: &Cpu, plan: &Plan, planes: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>> {
    let mut found = filter(cpu, plan, planes, control)?;
    found.truncate(planes.len());
    for plane in &mut found {
        let middle = middle(plan);
        plane.as_mut_slice().iter_mut().for_each(|v| *v += middle);
    }
    Ok(found)
}

/// What the filter knows about a picture; edges for any plan.
pub(super) fn map(cpu: &Cpu, plan: &Plan, planes: &[PlaneView<'_>], map: Map) -> Result<Plane> {
    let found = match map {
        Map::Edges => {
            let input = Input::new(cpu, plan, &planes[..1]);
            let mut out = input.planes(1);
            input.star(&mut out, true);
            out.iter().map(Padded::to_plane).collect()
        }
        Map::Directions | Map::Lengths => filter(cpu, plan, planes, &Control::new())?,
    };
    let index = match map {
        Map::Edges => 0,
        Map::Directions => planes.len(),
        Map::Lengths => planes.len() + 1,
    };
    Ok(found.into_iter().nth(index).unwrap_or_else(|| Plane::zeros(plan.width, plan.height)))
}

/// The filtered planes less the middle of the scale, then directions and lengths.
fn filter(cpu: &Cpu, plan: &Plan, planes: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>> {
    let input = Input::new(cpu, plan, planes);
    let mut out = input.planes(planes.len() + 2);
    if plan.variant == Variant::PiLd {
        each_band(&mut out, ROWS, |band| {
            if control.check().is_ok() {
                DeviationBand { plan, segments: &input.segments, z: &input.z, band }.run();
            }
        });
        control.check()?;
    } else {
        // Direction, sum of luma and of its squares, sums of the other planes, over each pixel's segment.
        let mut best = input.planes(planes.len() + 2);
        each_band(&mut best, ROWS, |band| {
            let Input { segments, z, squares, .. } = &input;
            dispatch(cpu.level, SegmentBand { segments, z, squares, band });
        });
        control.report(1, 2, "isolines");
        control.check()?;
        each_band(&mut out, ROWS, |band| {
            FollowBand { plan, segments: &input.segments, z: &input.z, best: &best, band }.run();
        });
        if plan.variant == Variant::Hybrid {
            input.star(&mut out, false);
        }
        control.report(2, 2, "isolines");
        control.check()?;
    }
    Ok(out.iter().map(Padded::to_plane).collect())
}

/// The middle of the scale: samples less this have smaller sums, which stay exact.
fn middle(plan: &Plan) -> f32 {
    (0.5 * plan.white).ceil()
}

/// A picture on its way.
struct Input<'a> {
    cpu: &'a Cpu,
    plan: &'a Plan,
    layout: Layout,
    segments: Segments,
    z: Vec<Padded<'a>>,
    squares: Padded<'a>,
}

impl<'a> Input<'a> {
    fn new(cpu: &'a Cpu, plan: &'a Plan, planes: &[PlaneView<'_>]) -> Self {
        let margin = plan.patterns.length() + plan.thickness / 2;
        let layout = Layout::new(plan.width, plan.height, margin);
        let pool = &cpu.isoline;
        let z: Vec<_> = planes.iter().map(|p| Padded::copy(p, layout, middle(plan), pool)).collect();
        let mut squares = Padded::new(layout, pool);
        squares.combine(&z[0], &z[0], |a, b| a * b);
        Self { cpu, plan, layout, segments: Segments::new(plan, layout), z, squares }
    }

    fn planes(&self, count: usize) -> Vec<Padded<'a>> {
        (0..count).map(|_| Padded::new(self.layout, &self.cpu.isoline)).collect()
    }

    /// Replaces means of lines by those of neighbourhoods, where there are no edges, or counts edges.
    fn star(&self, out: &mut [Padded<'_>], count: bool) {
        let (plan, z, squares) = (self.plan, &self.z, &self.squares);
        each_band(out, ROWS, |band| dispatch(self.cpu.level, StarBand { plan, z, squares, count, band }));
    }
}
