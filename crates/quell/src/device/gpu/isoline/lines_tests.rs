//! The paper's filters of a GPU against the reference: the same lines for 8-bit samples. A runtime instantiates these
//! with [`suite!`].

use super::lines::{Lines, Planes, scratch_bytes};
use crate::device::gpu::clock::Clock;
use crate::device::gpu::{Gpu, Runtime};
use crate::isoline::{Map, Params, Plan, Variant, reference};
use crate::{Control, Plane, PlaneView};

const TOLERANCE: f32 = 0.01;

/// Flat parts, edges and noise of `amplitude`, in whole numbers; with little noise there are many ties.
fn picture((w, h): (usize, usize), amplitude: u32, seed: u32) -> Plane {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let sample = |i: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (x, y) = (i % w, i / w);
        let edge = if 10 * x > 7 * y + 2 * w { 90 } else { 0 };
        let noise = (state >> 16) % (amplitude + 1);
        (40 + edge + noise).min(255) as f32
    };
    Plane::from_vec(w, h, (0..w * h).map(sample).collect()).unwrap()
}

struct Found {
    planes: Vec<Plane>,
    maps: [Plane; 3],
}

fn download<R: Runtime>(runtime: &R, queue: &R::Queue, from: &R::Buffer, plan: &Plan, count: usize) -> Vec<Plane> {
    let bytes = 4 * plan.width * plan.height;
    let mut staging = runtime.staging(count * bytes).unwrap();
    runtime.read(queue, &mut staging, from, count * bytes).unwrap();
    runtime.finish(queue).unwrap();
    let plane = |b: &[u8]| {
        let samples = b.as_chunks().0.iter().map(|v| f32::from_ne_bytes(*v)).collect();
        Plane::from_vec(plan.width, plan.height, samples).unwrap()
    };
    staging.chunks_exact(bytes).take(count).map(plane).collect()
}

/// The result, directions, edges and lengths.
fn filter<R: Runtime>(gpu: &Gpu<R>, plan: &Plan, planes: &[Plane], whole: bool, near: Option<f32>) -> Found {
    let runtime = gpu.runtime();
    let queue = runtime.queue().unwrap();
    let plane = 4 * plan.width * plan.height;
    let mut staging = runtime.staging(planes.len() * plane).unwrap();
    for (to, v) in staging.chunks_exact_mut(4).zip(planes.iter().flat_map(|p| p.as_slice())) {
        to.copy_from_slice(&v.to_ne_bytes());
    }
    let alloc = |bytes| runtime.alloc(bytes).unwrap();
    let (z, out, maps) = (alloc(planes.len() * plane), alloc(planes.len() * plane), alloc(2 * plane));
    let scratch = scratch_bytes(plan, whole).map(alloc);
    runtime.write(&queue, &z, &staging, planes.len() * plane).unwrap();
    let mut lines = Lines::new(runtime, &gpu.library, &queue, plan, whole);
    if let Some(near) = near {
        lines.programs.near = near;
    }
    let used = Planes { z: &z, scratch: scratch.each_ref(), out: &out, maps: Some(&maps) };
    let done = lines.filter(&used, &mut Clock::off(), &Control::new());
    assert!(done.is_ok(), "filtered");
    let planes = download(runtime, &queue, &out, plan, planes.len());
    let mut found = download(runtime, &queue, &maps, plan, 2);
    lines.edges(&used).unwrap();
    let edges = download(runtime, &queue, &out, plan, 1).remove(0);
    let lengths = found.remove(1);
    Found { planes, maps: [found.remove(0), edges, lengths] }
}

fn views(planes: &[Plane]) -> Vec<PlaneView<'_>> {
    planes.iter().map(Plane::view).collect()
}

/// How many samples of the maps differ, and by how much the result does.
fn compare(found: &Found, plan: &Plan, planes: &[Plane]) -> ([usize; 3], f32) {
    let differ = |a: &Plane, b: &Plane| a.as_slice().iter().zip(b.as_slice()).filter(|(a, b)| a != b).count();
    let maps = [0, 1, 2].map(|i| differ(&found.maps[i], &reference::map(plan, &views(planes), Map::ALL[i])));
    let want = reference::run(plan, &views(planes));
    let samples = |p: &[Plane]| p.iter().flat_map(|p| p.as_slice().to_vec()).collect::<Vec<f32>>();
    let pairs = samples(&found.planes).into_iter().zip(samples(&want));
    (maps, pairs.map(|(a, b)| (a - b).abs()).fold(0.0, |m, d| if d <= m { m } else { d }))
}

fn check<R: Runtime>(gpu: &Gpu<R>, params: &Params, planes: &[Plane], near: Option<f32>) {
    let size = (planes[0].width(), planes[0].height());
    let plan = Plan::new(params, size, 255.0, &vec![25.0; planes.len()]).unwrap();
    let (maps, off) = compare(&filter(gpu, &plan, planes, true, near), &plan, planes);
    assert!(maps == [0; 3] && off < TOLERANCE, "{maps:?} differ, off by {off}: {size:?} {params:?}");
}

fn all() -> [Params; 3] {
    [Variant::PiLd, Variant::PiPd, Variant::Hybrid].map(|v| Params::of(v, 25.0, 1))
}

pub(crate) fn lines_are_the_same<R: Runtime>(gpu: &Gpu<R>) {
    for (i, size) in [(75, 41), (1, 1), (7, 3), (3, 30)].into_iter().enumerate() {
        for amplitude in [80, 2] {
            for params in all() {
                check(gpu, &params, &[picture(size, amplitude, i as u32)], None);
            }
        }
    }
}

/// Every test in integers, as those are that rounding could decide; and none.
pub(crate) fn tests_in_integers_are_the_same<R: Runtime>(gpu: &Gpu<R>) {
    for params in all() {
        for near in [1e30, 0.0] {
            check(gpu, &params, &[picture((70, 35), 60, 5)], Some(near));
        }
    }
}

pub(crate) fn other_lines_are_the_same<R: Runtime>(gpu: &Gpu<R>) {
    for base in all() {
        let planes: Vec<Plane> = (0..3).map(|c| picture((40, 31), 70, c)).collect();
        let check = |change: fn(&mut Params), planes: &[Plane]| {
            let mut params = base.clone();
            change(&mut params);
            check(gpu, &params, planes, None);
        };
        check(|_| (), &planes);
        check(|p| p.thickness = 3, &planes[..2]);
        check(|p| (p.length, p.max_length, p.threshold) = (10, 101, 3.0), &planes[..1]);
        check(|p| (p.length, p.max_length, p.thickness, p.turn) = (10, 101, 3, 3), &planes[..1]);
        check(|p| (p.length, p.max_length, p.directions, p.turn) = (1, 2, 8, 16), &planes[..1]);
        check(|p| (p.length, p.max_length, p.directions, p.turn) = (4, 50, 16, 0), &planes[..1]);
        check(|p| (p.threshold, p.edge_threshold) = (1000.0, 0.01), &planes[..1]);
        check(|p| (p.length, p.max_length, p.threshold) = (1, 40, 0.01), &planes[..1]);
    }
}

/// Samples that are not whole: all but a few lines are the same.
pub(crate) fn other_samples_are_filtered<R: Runtime>(gpu: &Gpu<R>) {
    for (white, scale) in [(255.0, 1.0 / 3.0), (1.0, 0.003), (65535.0, 200.3)] {
        for params in all() {
            let plane = picture((60, 40), 70, 8);
            let samples = plane.as_slice().iter().map(|v| v * scale).collect();
            let planes = [Plane::from_vec(60, 40, samples).unwrap()];
            let plan = Plan::new(&params, (60, 40), white, &[25.0]).unwrap();
            let (maps, _) = compare(&filter(gpu, &plan, &planes, false, None), &plan, &planes);
            assert!(maps.iter().all(|&n| n <= 12), "{maps:?} differ, white {white}: {params:?}");
        }
    }
}

macro_rules! suite {
    ($gpu:expr) => {
        crate::device::gpu::isoline::lines_tests::suite! {
            $gpu;
            lines_are_the_same, tests_in_integers_are_the_same, other_lines_are_the_same, other_samples_are_filtered,
        }
    };
    ($gpu:expr; $($name:ident),+ $(,)?) => {
        $(
            #[test]
            fn $name() {
                if let Some(gpu) = $gpu {
                    crate::device::gpu::isoline::lines_tests::$name(gpu);
                }
            }
        )+
    };
}
pub(crate) use suite;
