//! The paper's filters beyond the suite for every device: extreme parameters, ties, and tests that rounding could decide.

use crate::device::gpu::{Gpu, Runtime};
use crate::device::{Input, Samples, SamplesMut, Sequence};
use crate::isoline::{Map, Params, Plan, Variant, reference};
use crate::{Control, Plane, PlaneView};

const TOLERANCE: f32 = 0.01;

/// Flat parts, edges and noise of `amplitude`, in whole numbers; with little noise there are many ties.
fn picture((w, h): (usize, usize), amplitude: u32, seed: u32) -> Plane {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let sample = |i: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let edge = if 10 * (i % w) > 7 * (i / w) + 2 * w { 90 } else { 0 };
        (40 + edge + (state >> 16) % (amplitude + 1)).min(255) as f32
    };
    Plane::from_vec(w, h, (0..w * h).map(sample).collect()).unwrap()
}

fn views(planes: &[Plane]) -> Vec<PlaneView<'_>> {
    planes.iter().map(Plane::view).collect()
}

fn plan(params: &Params, planes: &[Plane], white: f32) -> Plan {
    let size = (planes[0].width(), planes[0].height());
    Plan::new(params, size, white, &vec![25.0; planes.len()]).unwrap()
}

/// Samples that are off by more than the tolerance.
fn off<R: Runtime>(gpu: &Gpu<R>, plan: &Plan, planes: &[Plane]) -> usize {
    let samples: Vec<Samples<'_>> = planes.iter().map(|p| Samples::F32(p.as_slice())).collect();
    let mut out: Vec<Plane> = planes.iter().map(|_| Plane::zeros(plan.width, plan.height)).collect();
    let mut to: Vec<_> = out.iter_mut().map(|p| SamplesMut::F32(p.as_mut_slice())).collect();
    let mut frames = gpu.isoline_frames(plan).unwrap();
    frames.push(&Input { planes: &samples, guide: &[] }, &Control::new()).unwrap();
    frames.pull(&mut to, &Control::new()).unwrap();
    let want = reference::run(plan, &views(planes));
    let pairs = out.iter().zip(&want).flat_map(|(a, b)| a.as_slice().iter().zip(b.as_slice()));
    let most = TOLERANCE * plan.white / 255.0;
    pairs.filter(|(a, b)| (**a - **b).abs() > most || a.is_nan()).count()
}

/// Samples of every map that are not those of the reference.
fn maps<R: Runtime>(gpu: &Gpu<R>, plan: &Plan, planes: &[Plane], near: Option<f32>) -> [usize; 3] {
    Map::ALL.map(|map| {
        let mut frames = gpu.isoline_frames(plan).unwrap();
        frames.near = near.unwrap_or(frames.near);
        let samples: Vec<Samples<'_>> = planes.iter().map(|p| Samples::F32(p.as_slice())).collect();
        let (got, want) = (frames.map(&samples, map).unwrap(), reference::map(plan, &views(planes), map));
        got.as_slice().iter().zip(want.as_slice()).filter(|(a, b)| a != b).count()
    })
}

fn check<R: Runtime>(gpu: &Gpu<R>, params: &Params, planes: &[Plane], near: Option<f32>) {
    let plan = plan(params, planes, 255.0);
    let (maps, off) = (maps(gpu, &plan, planes, near), off(gpu, &plan, planes));
    assert!((maps, off) == ([0; 3], 0), "{maps:?} and {off} differ with {params:?}");
}

fn all() -> [Params; 3] {
    [Variant::PiLd, Variant::PiPd, Variant::Hybrid].map(|v| Params::of(v, 25.0, 1))
}

pub(crate) fn ties_are_broken_the_same_way<R: Runtime>(gpu: &Gpu<R>) {
    for size in [(75, 41), (3, 30)] {
        for params in all() {
            check(gpu, &params, &[picture(size, 2, 1)], None);
        }
    }
}

/// Every test in integers, as those are made that rounding could decide, or none.
pub(crate) fn tests_in_integers_are_the_same<R: Runtime>(gpu: &Gpu<R>) {
    for params in all() {
        for near in [1e30, 0.0] {
            check(gpu, &params, &[picture((70, 35), 60, 5)], Some(near));
        }
    }
}

pub(crate) fn extreme_lines_are_the_same<R: Runtime>(gpu: &Gpu<R>) {
    for base in all() {
        let planes: Vec<Plane> = (0..2).map(|c| picture((40, 31), 70, c)).collect();
        let check = |change: fn(&mut Params), planes: &[Plane]| {
            let mut params = base.clone();
            change(&mut params);
            check(gpu, &params, planes, None);
        };
        check(|p| p.thickness = 3, &planes);
        check(|p| (p.length, p.max_length, p.threshold) = (10, 101, 3.0), &planes[..1]);
        check(|p| (p.length, p.max_length, p.thickness, p.turn) = (10, 101, 3, 3), &planes[..1]);
        check(|p| (p.length, p.max_length, p.directions, p.turn) = (1, 2, 8, 16), &planes[..1]);
        check(|p| (p.threshold, p.edge_threshold) = (1000.0, 0.01), &planes[..1]);
        check(|p| (p.length, p.max_length, p.threshold) = (1, 40, 0.01), &planes[..1]);
    }
}

/// Rounding may lengthen or end a line, but few.
pub(crate) fn samples_that_are_not_whole<R: Runtime>(gpu: &Gpu<R>) {
    for (white, scale) in [(255.0, 1.0), (1.0, 0.003), (65535.0, 200.3)] {
        for params in all() {
            let plane = picture((60, 40), 70, 8);
            let part = |i: usize| (i as f32 * 0.618_034).fract();
            let samples = plane.as_slice().iter().enumerate().map(|(i, v)| (v + part(i)) * scale);
            let planes = [Plane::from_vec(60, 40, samples.collect()).unwrap()];
            let off = off(gpu, &plan(&params, &planes, white), &planes);
            assert!(off <= 2, "{off} differ, white {white}: {params:?}");
        }
    }
}

#[cfg(feature = "cuda")]
mod compile {
    use super::super::lines::{NEAR, Programs, Strips};
    use super::*;
    use crate::device::SampleFormat;
    use crate::device::cuda::lean;
    use crate::device::gpu::{Limits, Program};

    /// The kernels of a plan, as they run on a large GPU.
    fn programs(plan: &Plan, exact: bool) -> Vec<Program> {
        let limits = Limits::large(227);
        let p = Programs { plan, exact, near: NEAR, map: None, to: SampleFormat::U8 };
        vec![p.segments(&Strips::new(plan, &limits)), p.follow(), p.star(), p.deviation(&limits)]
    }

    #[test]
    fn kernels_compile_and_do_not_spill() {
        let base = Params::of(Variant::PiPd, 25.0, 1);
        let with = |length, max_length, directions, thickness| Params {
            length,
            max_length,
            directions,
            thickness,
            ..base.clone()
        };
        let cases = [
            (base.clone(), 1, true),
            (base.clone(), 3, false),
            (with(4, 50, 32, 1), 1, true),
            (with(10, 101, 32, 3), 2, true),
            (with(10, 101, 32, 1), 1, false),
            (with(5, 25, 8, 3), 3, true),
            (with(1, 5, 16, 3), 1, true),
        ];
        for (params, channels, exact) in cases {
            let plan = Plan::new(&params, (640, 480), 255.0, &vec![25.0; channels]).unwrap();
            let all = lean(&programs(&plan, exact), &["sm_80", "sm_90"]);
            assert!(all.iter().all(|kernel| kernel.registers <= 128), "{params:?}");
        }
    }
}
