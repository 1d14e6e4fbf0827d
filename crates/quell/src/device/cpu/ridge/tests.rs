use super::*;
use crate::PlaneView;
use crate::device::DeviceOptions;
use crate::device::cpu::Level;
use crate::noise::add_gaussian;
use crate::ridge::{Params, Profile, reference};
use crate::{Frame, metrics};

/// Edges, a texture and a flat part.
fn clean(w: usize, h: usize, phase: f32) -> Plane {
    let data = (0..w * h).map(|i| {
        let (x, y) = ((i % w) as f32, (i / w) as f32);
        let edge = if (x - 0.6 * y + 8.0 * phase).rem_euclid(23.0) < 11.0 { 60.0 } else { 150.0 };
        if y < 12.0 { 100.0 } else { edge + 20.0 * (0.4 * x + phase).sin() }
    });
    Plane::from_vec(w, h, data.collect()).unwrap()
}

fn picture(w: usize, h: usize, channels: usize, sigma: f64) -> (Frame, Frame) {
    let planes = (0..channels).map(|c| clean(w, h, c as f32)).collect();
    let clean = Frame::new(planes, 255.0).unwrap();
    let noisy = add_gaussian(&clean, sigma, 5).unwrap();
    (clean, noisy)
}

fn cpu(level: Option<Level>, threads: usize) -> Cpu {
    Cpu::new(DeviceOptions { threads, level, ..DeviceOptions::default() }).unwrap()
}

fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|&l| l <= Level::detect())
}

fn views(planes: &[Plane]) -> Vec<PlaneView<'_>> {
    planes.iter().map(Plane::view).collect()
}

fn worst(a: &[Plane], b: &[Plane]) -> f32 {
    let pairs = a.iter().zip(b).flat_map(|(a, b)| a.as_slice().iter().zip(b.as_slice()));
    // Not a maximum of floats: that would not see what is no number.
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, |worst, off| if off <= worst { worst } else { off })
}

/// Every round by itself, on what the reference had before it.
fn check_rounds(params: &Params, (w, h): (usize, usize), channels: usize, sigma: f32, tolerance: f32) {
    let (_, noisy) = picture(w, h, channels, sigma.into());
    let noisy = views(noisy.planes());
    // Every round groups patches, so that each can be compared by itself.
    let params = Params { rematch: 1, ..params.clone() };
    let plan = Plan::new(&params, w, h, &vec![sigma; channels]).unwrap();
    let (mut x, mut z) =
        (reference::pilot(&plan, &noisy), noisy.iter().map(PlaneView::to_plane).collect::<Vec<_>>());
    let all: Vec<Cpu> = levels().map(|level| cpu(Some(level), 2)).collect();
    for (cpu, pilot) in all.iter().map(|cpu| {
        (cpu, bm3d::run(cpu, &plan.pilot, None, noisy.as_slice().into(), &Control::new()).unwrap())
    }) {
        let off = worst(&pilot, &x);
        assert!(off < tolerance, "{:?}: the pilot is off by {off}", cpu.level);
    }
    for index in 0..plan.rounds.len() {
        let groups = reference::groups(&plan, index, &x[0].view(), &z[0].view()).unwrap();
        let want = reference::round(&plan, index, &groups, &noisy, &x, &z);
        for cpu in &all {
            let got = cpu.pool.install(|| round::one(cpu, &plan, index, &noisy, (&x, &z))).unwrap();
            let off = worst(&got.0, &want.0).max(worst(&got.1, &want.1));
            assert!(off < tolerance, "{:?}, round {index}: off by {off}", cpu.level);
        }
        (x, z) = want;
    }
}

#[test]
fn every_round_is_that_of_the_reference() {
    check_rounds(&Profile::Normal.params(25.0), (71, 53), 1, 25.0, 0.01);
    check_rounds(&Profile::High.params(50.0), (41, 66), 1, 50.0, 0.02);
    check_rounds(&Profile::Fast.params(10.0), (50, 37), 3, 10.0, 0.01);
}

#[test]
fn published_methods_are_those_of_the_reference() {
    check_rounds(&Profile::NlRidge.params(25.0), (40, 33), 1, 25.0, 0.02);
    check_rounds(&Params { rounds: 2, window: 21, ..Profile::Lichi.params(15.0) }, (36, 41), 3, 15.0, 0.02);
}

#[test]
fn tiny_pictures_and_weak_and_strong_noise_are_those_of_the_reference() {
    let small = |sigma| Params { window: 9, ..Profile::Normal.params(sigma) };
    for size in [(8, 8), (9, 21), (40, 8)] {
        check_rounds(&small(20.0), size, 1, 20.0, 0.01);
    }
    check_rounds(&Params { rounds: 2, window: 9, ..Profile::High.params(20.0) }, (9, 8), 1, 20.0, 0.01);
    check_rounds(&small(0.1), (40, 30), 1, 0.1, 0.01);
    check_rounds(&small(200.0), (40, 30), 1, 200.0, 0.1);
}

#[test]
fn flat_pictures_stay_flat() {
    let flat = [Plane::from_vec(64, 40, vec![77.0; 64 * 40]).unwrap()];
    let plan = Plan::new(&Profile::High.params(25.0), 64, 40, &[25.0]).unwrap();
    let got = run(&cpu(None, 1), &plan, views(&flat).as_slice().into(), &Control::new()).unwrap();
    assert!(worst(&got, &flat) < 1e-3);
}

#[test]
fn bits_do_not_depend_on_threads_nor_on_the_wider_instruction_set() {
    let (_, noisy) = picture(301, 190, 1, 25.0);
    let plan = Plan::new(&Profile::Normal.params(25.0), 301, 190, &[25.0]).unwrap();
    let run = |cpu: Cpu| {
        let noisy = views(noisy.planes());
        cpu.pool.install(|| run(&cpu, &plan, noisy.as_slice().into(), &Control::new())).unwrap()
    };
    let want = run(cpu(None, 1));
    assert_eq!(run(cpu(None, 3)), want);
    if Level::detect() >= Level::Avx2 {
        assert_eq!(run(cpu(Some(Level::Avx2), 2)), want);
    }
}

#[test]
fn it_is_better_than_its_pilot() {
    let (clean, noisy) = picture(200, 150, 1, 25.0);
    let plan = Plan::new(&Profile::Normal.params(25.0), 200, 150, &[25.0]).unwrap();
    let (cpu, noisy) = (cpu(None, 2), views(noisy.planes()));
    let psnr = |planes: Vec<Plane>| metrics::psnr(&clean, &Frame::new(planes, 255.0).unwrap()).unwrap().all;
    let first = psnr(bm3d::run(&cpu, &plan.pilot, None, noisy.as_slice().into(), &Control::new()).unwrap());
    let last = psnr(run(&cpu, &plan, noisy.as_slice().into(), &Control::new()).unwrap());
    assert!(last > first + 0.3, "{first} dB and then {last}");
}
