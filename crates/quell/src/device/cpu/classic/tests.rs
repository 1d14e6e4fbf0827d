//! The processor against the reference and its own properties, at every level and on any number of threads.

use std::sync::{Arc, Mutex};

use super::run;
use crate::device::DeviceOptions;
use crate::device::cpu::{Cpu, Level};
use crate::method::classic::{Params, Plan, Profile, Variant, reference};
use crate::metrics::{largest, psnr};
use crate::noise::add_gaussian;
use crate::{Cancel, Control, Error, Frame, Plane, PlaneView};

/// In grey levels of 255: `f32` against `f64`.
const TOLERANCE: f32 = 1e-3;

fn cpu(threads: usize, level: Option<Level>) -> Cpu {
    Cpu::new(DeviceOptions { threads, level, ..DeviceOptions::default() }).unwrap()
}

/// An edge, a ramp, texture and noise; each plane its own.
fn picture(width: usize, height: usize, channels: usize, sigma: f32) -> Vec<Plane> {
    let frame = Frame::new(clean(width, height, channels), 255.0).unwrap();
    add_gaussian(&frame, sigma.into(), 7).unwrap().into_planes()
}

fn clean(width: usize, height: usize, channels: usize) -> Vec<Plane> {
    let sample = |c: usize, i: usize| {
        let (x, y) = ((i % width) as f32, (i / width) as f32);
        let edge = if x > 0.3 * width as f32 + 0.4 * y { 80.0 } else { 0.0 };
        let texture = if y > 0.6 * height as f32 { 15.0 * (0.8 * x).sin() * (0.5 * y).cos() } else { 0.0 };
        (60.0 + edge + 0.3 * y + texture) * (1.0 + 0.2 * c as f32)
    };
    let plane = |c| Plane::from_vec(width, height, (0..width * height).map(|i| sample(c, i)).collect());
    (0..channels).map(|c| plane(c).unwrap()).collect()
}

fn views(planes: &[Plane]) -> Vec<PlaneView<'_>> {
    planes.iter().map(Plane::view).collect()
}

fn plan(params: &Params, planes: &[Plane], sigma: f32) -> Plan {
    let sigma: Vec<f32> = (0..planes.len()).map(|c| sigma * (1.0 + 0.1 * c as f32)).collect();
    Plan::new(params, (planes[0].width(), planes[0].height()), 255.0, &sigma).unwrap()
}

fn filter(cpu: &Cpu, plan: &Plan, planes: &[Plane]) -> Vec<Plane> {
    run(cpu, plan, &views(planes), &Control::new()).unwrap()
}

fn worst(a: &[Plane], b: &[Plane]) -> f32 {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().flat_map(Plane::as_slice).zip(b.iter().flat_map(Plane::as_slice));
    largest(pairs.map(|(a, b)| (a - b).abs()))
}

#[test]
fn every_size_and_level_is_near_the_reference() {
    let levels: Vec<Cpu> =
        Level::ALL.into_iter().filter(|l| *l <= Level::detect()).map(|l| cpu(0, Some(l))).collect();
    for (width, height) in [(1, 1), (1, 7), (7, 1), (2, 2), (17, 16), (33, 20)] {
        for channels in [1, 3] {
            let planes = picture(width, height, channels, 20.0);
            for profile in Profile::ALL {
                let plan = plan(&profile.params(20.0, channels), &planes, 20.0);
                let want = reference::run(&plan, &views(&planes));
                let mut bits: Option<Vec<Plane>> = None;
                for cpu in &levels {
                    let got = filter(cpu, &plan, &planes);
                    let off = worst(&got, &want);
                    let of = (profile.name(), width, height, channels);
                    assert!(off < TOLERANCE, "{of:?}: off by {off}");
                    assert_eq!(*bits.get_or_insert_with(|| got.clone()), got, "{of:?}: levels differ");
                }
            }
        }
    }
}

#[test]
fn parameters_of_the_user_are_near_the_reference() {
    let planes = picture(29, 23, 3, 20.0);
    let good = Profile::Tv.params(20.0, 3);
    for params in [
        // Wider than the picture.
        Params { variant: Variant::Gauss, spread: 9.0, radius: 60, ..good.clone() },
        Params { variant: Variant::Bilateral, spread: 5.0, radius: 30, range: 1.0, ..good.clone() },
        Params { variant: Variant::Wiener, smoothing: 20.0, ..good.clone() },
        Params { variant: Variant::Wiener, smoothing: 0.1, ..good.clone() },
        Params { lambda: 100.0, ..good.clone() },
        Params { iterations: 1, ..good },
    ] {
        let plan = plan(&params, &planes, 20.0);
        let off = worst(&filter(&cpu(0, None), &plan, &planes), &reference::run(&plan, &views(&planes)));
        assert!(off < 3.0 * TOLERANCE, "{params:?}: off by {off}");
    }
}

#[test]
fn threads_and_bands_do_not_change_a_bit() {
    let planes = picture(301, 157, 3, 20.0);
    for profile in Profile::ALL {
        let plan = plan(&profile.params(20.0, 3), &planes, 20.0);
        let one = filter(&cpu(1, None), &plan, &planes);
        for threads in [2, 5] {
            assert_eq!(filter(&cpu(threads, None), &plan, &planes), one, "{profile:?}, {threads} threads");
        }
    }
}

#[test]
fn weak_noise_beside_large_samples_does_not_drift() {
    let scaled = |p: &Plane| p.as_slice().iter().map(|v| 60_000.0 + 0.04 * v).collect();
    let planes: Vec<Plane> =
        picture(40, 30, 1, 20.0).iter().map(|p| Plane::from_vec(40, 30, scaled(p)).unwrap()).collect();
    for profile in Profile::ALL {
        let plan = Plan::new(&profile.params(0.003, 1), (40, 30), 65_535.0, &[0.8]).unwrap();
        let off = worst(&filter(&cpu(0, None), &plan, &planes), &reference::run(&plan, &views(&planes)));
        // Samples have steps of 1/256.
        assert!(off < 0.02, "{profile:?}: off by {off}");
    }
}

#[test]
fn extreme_samples_stay_numbers() {
    for white in [1e-15_f32, 1.0, 1e15] {
        let limit = (white * 1e12).min(1e16);
        let mut plane = Plane::zeros(24, 18);
        plane.as_mut_slice()[100] = limit;
        plane.as_mut_slice()[333] = -limit;
        for profile in Profile::ALL {
            for sigma in [f32::MIN_POSITIVE, white, 100.0 * white] {
                let plan = Plan::new(&profile.params(25.0, 1), (24, 18), white, &[sigma]).unwrap();
                let found = filter(&cpu(1, None), &plan, std::slice::from_ref(&plane));
                let all = found[0].as_slice().iter();
                assert!(all.clone().all(|v| v.is_finite()), "{profile:?}, white {white}, sigma {sigma}");
            }
        }
    }
}

#[test]
fn planes_that_do_not_fit_are_refused() {
    let planes = picture(20, 10, 3, 20.0);
    let plan = plan(&Profile::Gauss.params(20.0, 3), &planes, 20.0);
    let other = Plane::zeros(20, 11);
    let cpu = cpu(1, None);
    for wrong in [vec![], views(&planes[..2]), vec![planes[0].view(), planes[1].view(), other.view()]] {
        let e = run(&cpu, &plan, &wrong, &Control::new()).unwrap_err();
        assert!(matches!(e, Error::Shape(_)), "{e}");
    }
    let five = vec![planes[0].clone(); 5];
    let many = Plan::new(&Profile::Tv.params(20.0, 3), (20, 10), 255.0, &[20.0; 5]).unwrap();
    let e = run(&cpu, &many, &views(&five), &Control::new()).unwrap_err();
    assert_eq!(e.to_string(), "5 planes: 1 to 4 can be filtered together");
}

#[test]
fn rows_may_lie_apart() {
    let whole = picture(50, 21, 1, 20.0).remove(0);
    let part = PlaneView::new(33, 21, 50, &whole.as_slice()[4..]).unwrap();
    let copy = part.to_plane();
    for profile in Profile::ALL {
        let plan = Plan::new(&profile.params(20.0, 1), (33, 21), 255.0, &[20.0]).unwrap();
        let strided = run(&cpu(2, None), &plan, &[part], &Control::new()).unwrap();
        assert_eq!(strided, filter(&cpu(2, None), &plan, std::slice::from_ref(&copy)), "{profile:?}");
    }
}

#[test]
fn work_is_reported_and_can_be_stopped() {
    let planes = picture(200, 120, 3, 20.0);
    let cpu = cpu(2, None);
    for profile in Profile::ALL {
        let plan = plan(&profile.params(20.0, 3), &planes, 20.0);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = seen.clone();
        let control =
            Control::new().with_progress(Arc::new(move |p| into.lock().unwrap().push(p.fraction())));
        run(&cpu, &plan, &views(&planes), &control).unwrap();
        let seen = seen.lock().unwrap();
        assert!(seen.is_sorted() && seen.last() == Some(&1.0) && seen.len() > 4, "{profile:?}: {seen:?}");

        // Before it begins, and after the third report.
        for after in [0, 3] {
            let (cancel, count) = (Cancel::new(), Mutex::new(0));
            let stop = cancel.clone();
            if after == 0 {
                cancel.cancel();
            }
            let report = move |_| {
                let mut count = count.lock().unwrap();
                *count += 1;
                if *count == after {
                    stop.cancel();
                }
            };
            let control = Control::new().with_cancel(cancel).with_progress(Arc::new(report));
            let stopped = run(&cpu, &plan, &views(&planes), &control);
            assert!(matches!(stopped, Err(Error::Cancelled)), "{profile:?}");
        }
    }
}

/// What every filter reached on a picture of our own, grey and colour, in dB: a mistake that the reference shares would
/// show here.
#[test]
fn every_filter_reaches_what_it_did() {
    const SIGMA: f32 = 25.0;
    let found = Profile::ALL.map(|profile| {
        let db = [1, 3].map(|channels| {
            let clean = Frame::new(clean(96, 80, channels), 255.0).unwrap();
            let noisy = add_gaussian(&clean, SIGMA.into(), 11).unwrap();
            let sigma = vec![SIGMA; channels];
            let plan = Plan::new(&profile.params(SIGMA, channels), (96, 80), 255.0, &sigma).unwrap();
            let result = filter(&cpu(0, None), &plan, noisy.planes());
            psnr(&clean, &Frame::new(result, 255.0).unwrap()).unwrap().all
        });
        (profile.name(), db)
    });
    for (name, db) in &found {
        println!("(\"{name}\", [{:.3}, {:.3}]),", db[0], db[1]);
    }
    for ((name, found), (kept_name, kept)) in found.iter().zip(&REACHED) {
        assert_eq!(name, kept_name);
        for (found, kept) in found.iter().zip(kept) {
            assert!((found - kept).abs() < 0.002, "{name}: {found:.3} dB, {kept} was kept");
        }
    }
}

const REACHED: [(&str, [f64; 2]); 4] = [
    ("gauss", [28.976, 28.611]),
    ("bilateral", [30.187, 31.468]),
    ("tv", [32.278, 31.496]),
    ("wiener", [30.065, 29.400]),
];
