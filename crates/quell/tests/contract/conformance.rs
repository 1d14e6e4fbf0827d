//! Clause 5: every level of the processor against the scalar reference.

use quell::bm3d::{Plan, Profile, reference};
use quell::{Plane, metrics};

use crate::common::{check, clean, cpu, grey, levels, picture, run, views, worst};

/// Most that the PSNR may differ from the reference's, in dB.
const PSNR_TOLERANCE: f64 = 0.01;
/// Most that a pixel of pass 2 may differ, in grey levels, given the same basic estimate.
const SECOND_PASS_TOLERANCE: f32 = 0.25;

#[test]
fn odd_sizes() {
    for (w, h) in [(8, 8), (9, 17), (17, 9), (8, 61), (31, 37), (97, 53)] {
        check(&Profile::Normal.params(25.0), w, h, &[25.0]);
    }
}

#[test]
fn every_profile() {
    for profile in Profile::ALL {
        for sigma in [25.0, 60.0] {
            check(&profile.params(sigma), 45, 38, &[sigma]);
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

#[test]
fn psnr_is_that_of_the_reference() {
    let (w, h) = (96, 80);
    let truth = grey(clean(w, h));
    for (profile, sigma) in [(Profile::Fast, 15.0), (Profile::Middle, 25.0), (Profile::Normal, 50.0)] {
        let noisy = [picture(w, h, sigma, 7)];
        let plan = Plan::new(&profile.params(sigma), w, h, &[sigma]).unwrap();
        let psnr = |p: &Plane| metrics::psnr(&truth, &grey(p.clone())).unwrap().all;
        let want = psnr(&reference::run(&plan, &views(&noisy)).last[0]);
        assert!(want > psnr(&noisy[0]) + 3.0, "{profile:?}: the reference gains too little: {want}");
        for level in levels() {
            let got = psnr(&run(&cpu(level, 1, 0), &plan, &views(&noisy))[0]);
            assert!((got - want).abs() < PSNR_TOLERANCE, "{profile:?} {level:?}: {got} and {want} dB");
        }
    }
}

#[test]
fn second_pass_given_the_same_basic_estimate() {
    for profile in Profile::ALL {
        let (w, h) = (45, 38);
        let noisy = [picture(w, h, 25.0, 1)];
        let both = Plan::new(&profile.params(25.0), w, h, &[25.0]).unwrap();
        let first = Plan { passes: both.passes[..1].to_vec(), ..both.clone() };
        for level in levels() {
            let cpu = cpu(level, 1, 0);
            let basic = run(&cpu, &first, &views(&noisy));
            let want = reference::pass(&both.passes[1], &views(&noisy), Some(&views(&basic)));
            let off = worst(&run(&cpu, &both, &views(&noisy))[0], &want[0]);
            assert!(off <= SECOND_PASS_TOLERANCE, "{profile:?} {level:?}: off by {off}");
        }
    }
}
