//! Pictures that are the same on every machine, and comparisons with the scalar reference.

use quell::bm3d::{Params, Plan, reference};
use quell::device::DeviceOptions;
use quell::device::cpu::{Cpu, Level};
use quell::{Control, Frame, Plane, PlaneView};

/// Grey levels. Both passes are f32 against f64; a coefficient within rounding of its threshold may fall on
/// the other side, which moves the pixels of one group a little (contract 5 allows 0.25).
pub(crate) const TOLERANCE: f32 = 0.05;

/// Uniform numbers in 0..1 from a small generator.
pub(crate) fn uniform(seed: u32) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 16_777_216.0
    }
}

/// A picture with flat parts, edges and texture.
pub(crate) fn clean(w: usize, h: usize) -> Plane {
    let data = (0..w * h).map(|i| {
        let (x, y) = ((i % w) as f32, (i / w) as f32);
        let edge = if (x - y * 0.7) > 0.2 * w as f32 { 60.0 } else { 0.0 };
        let texture = 20.0 * (x * 0.9).sin() * (y * 0.5).cos();
        100.0 + edge + if y > h as f32 * 0.5 { texture } else { 0.0 }
    });
    Plane::from_vec(w, h, data.collect()).unwrap()
}

/// [`clean`] with nearly Gaussian noise.
pub(crate) fn picture(w: usize, h: usize, sigma: f32, seed: u32) -> Plane {
    let mut plane = clean(w, h);
    let mut uniform = uniform(seed);
    for v in plane.as_mut_slice() {
        *v += sigma * ((0..12).map(|_| uniform()).sum::<f32>() - 6.0);
    }
    plane
}

/// [`picture`] as an 8-bit camera would store it.
pub(crate) fn eight_bit(w: usize, h: usize, sigma: f32, seed: u32) -> Plane {
    map(&picture(w, h, sigma, seed), |v| v.round().clamp(0.0, 255.0))
}

/// A plane with every sample changed.
pub(crate) fn map(plane: &Plane, f: impl Fn(f32) -> f32) -> Plane {
    let data = plane.as_slice().iter().map(|&v| f(v)).collect();
    Plane::from_vec(plane.width(), plane.height(), data).unwrap()
}

/// A grey frame of white level 255.
pub(crate) fn grey(plane: Plane) -> Frame {
    Frame::grey(plane, 255.0).unwrap()
}

/// Every level that this processor has.
pub(crate) fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|&l| l <= Level::detect())
}

pub(crate) fn cpu(level: Level, threads: usize, tile: usize) -> Cpu {
    Cpu::new(DeviceOptions { threads, tile, level: Some(level) }).unwrap()
}

/// The processor's result for a plan.
pub(crate) fn run(cpu: &Cpu, plan: &Plan, noisy: &[PlaneView<'_>]) -> Vec<Plane> {
    quell::device::picture(cpu, &plan.clone().into(), noisy, &[], &Control::new()).unwrap()
}

pub(crate) fn views(planes: &[Plane]) -> Vec<PlaneView<'_>> {
    planes.iter().map(Plane::view).collect()
}

/// Largest difference of two planes; a NaN is as far as can be.
pub(crate) fn worst(a: &Plane, b: &Plane) -> f32 {
    assert_eq!((a.width(), a.height()), (b.width(), b.height()));
    let differences = a.as_slice().iter().zip(b.as_slice()).map(|(x, y)| (x - y).abs());
    differences.fold(0.0, |m, d| if d.is_nan() { f32::INFINITY } else { d.max(m) })
}

/// All passes of `params` on every level, against the reference.
pub(crate) fn check(params: &Params, w: usize, h: usize, sigma: &[f32]) {
    let planes: Vec<Plane> = (0..sigma.len()).map(|c| picture(w, h, sigma[c], c as u32)).collect();
    let plan = Plan::new(params, w, h, sigma).unwrap();
    check_planes(&plan, &planes, TOLERANCE);
}

/// All passes of a plan on every level, against the reference.
pub(crate) fn check_planes(plan: &Plan, planes: &[Plane], tolerance: f32) {
    let noisy = views(planes);
    let want = reference::run(plan, &noisy);
    for level in levels() {
        let got = run(&cpu(level, 1, 0), plan, &noisy);
        assert_eq!(got.len(), want.last.len());
        for (c, (got, want)) in got.iter().zip(&want.last).enumerate() {
            let off = worst(got, want);
            assert!(off < tolerance, "{level:?}, channel {c}: off by {off} with {plan:#?}");
        }
    }
}
