//! The numerical contract: every level of the processor against the scalar reference.

use quell::bm3d::{Params, Plan, Profile, reference};
use quell::device::cpu::{Cpu, Level};
use quell::device::{Backend, DeviceOptions};
use quell::{Control, Plane};

/// A picture with flat parts, edges, texture and noise; the same on every machine.
fn picture(w: usize, h: usize, sigma: f32, seed: u32) -> Plane {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 16_777_216.0
    };
    let data = (0..w * h)
        .map(|i| {
            let (x, y) = ((i % w) as f32, (i / w) as f32);
            let edge = if (x - y * 0.7) > 0.2 * w as f32 { 60.0 } else { 0.0 };
            let texture = 20.0 * (x * 0.9).sin() * (y * 0.5).cos();
            let noise: f32 = (0..12).map(|_| uniform()).sum::<f32>() - 6.0;
            100.0 + edge + if y > h as f32 * 0.5 { texture } else { 0.0 } + sigma * noise
        })
        .collect();
    Plane::from_vec(w, h, data).unwrap()
}

fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|&l| l <= Level::detect())
}

fn cpu(level: Level, threads: usize, tile: usize) -> Cpu {
    Cpu::new(DeviceOptions { threads, tile, level: Some(level) }).unwrap()
}

fn worst(a: &Plane, b: &Plane) -> f32 {
    a.as_slice().iter().zip(b.as_slice()).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
}

/// Both passes of `params` on every level, against the reference.
fn check(params: &Params, w: usize, h: usize, sigma: &[f32]) {
    let planes: Vec<Plane> = (0..sigma.len()).map(|c| picture(w, h, sigma[c], c as u32)).collect();
    let views: Vec<_> = planes.iter().map(Plane::view).collect();
    let plan = Plan::new(params, w, h, sigma).unwrap();
    let want = reference::run(&plan, &views);
    for level in levels() {
        let got = cpu(level, 1, 0).bm3d(&plan, &views, &Control::new()).unwrap();
        for (c, (got, want)) in got.iter().zip(&want.last).enumerate() {
            let off = worst(got, want);
            assert!(off < TOLERANCE, "{level:?} {w} x {h}, channel {c}: off by {off}");
        }
    }
}

/// Grey levels. Both passes are f32 against f64; a coefficient within rounding of its threshold may fall on
/// the other side, which moves the pixels of one group a little (contract 5 allows 0.25).
const TOLERANCE: f32 = 0.05;

#[test]
fn odd_sizes() {
    for (w, h) in [(8, 8), (9, 17), (17, 9), (8, 61), (31, 37), (97, 53)] {
        check(&Profile::Normal.params(25.0), w, h, &[25.0]);
    }
}

#[test]
fn every_profile() {
    for profile in Profile::ALL {
        for sigma in [10.0, 25.0, 60.0] {
            check(&profile.params(sigma), 61, 47, &[sigma]);
        }
    }
}

#[test]
fn every_step() {
    for step in 1..=8 {
        let mut params = Profile::Normal.params(25.0);
        (params.hard.step, params.wiener.step) = (step, step);
        (params.hard.window, params.wiener.window) = (13, 9);
        check(&params, 45, 41, &[25.0]);
    }
}

#[test]
fn colour_channels_share_groups() {
    check(&Profile::Normal.params(25.0), 40, 33, &[14.4, 17.7, 15.3]);
}
