//! Every value of every parameter that changes the arithmetic, against the reference.

use quell::bm3d::{Params, PassParams, Plan, Profile, Weight, reference};
use quell::transform::Transform;

use crate::common::{TOLERANCE, check, check_planes, picture};

/// Small windows and groups, and taus that let the groups fill.
fn small() -> Params {
    let mut params = Profile::Np.params(25.0);
    for pass in [&mut params.hard, &mut params.wiener] {
        (pass.window, pass.group, pass.step) = (9, 8, 4);
    }
    (params.hard.tau, params.wiener.tau) = (3000.0, 600.0);
    params
}

fn with(change: impl Fn(&mut PassParams)) -> Params {
    let mut params = small();
    change(&mut params.hard);
    change(&mut params.wiener);
    params
}

#[test]
fn every_transform_at_every_patch_size() {
    for transform in Transform::ALL {
        for patch in (4..=16).filter(|&n| transform.check(n).is_ok()) {
            check(&with(|p| (p.patch, p.transform) = (patch, transform)), 31, 26, &[25.0]);
        }
    }
}

#[test]
fn transforms_that_do_not_exist_are_refused_by_name() {
    for transform in [Transform::Bior, Transform::Haar, Transform::Wht] {
        for patch in (4..=16).filter(|n: &usize| !n.is_power_of_two()) {
            let e = with(|p| (p.patch, p.transform) = (patch, transform)).validate().unwrap_err();
            let want =
                format!("hard.transform = {}: needs a power of two, not {patch} points", transform.name());
            assert_eq!(e.to_string(), want);
        }
    }
}

#[test]
fn every_stack_transform_at_every_group_size() {
    for stack in Transform::ALL {
        for group in [1, 2, 4, 8, 16, 32, 64, 128] {
            let params = with(|p| {
                (p.stack, p.group, p.step) = (stack, group, 8);
                (p.window, p.tau) = (27, 6000.0);
            });
            check(&params, 28, 25, &[25.0]);
        }
    }
}

#[test]
fn the_largest_groups_fill() {
    let mut params = with(|p| (p.group, p.window, p.tau) = (128, 27, 6000.0));
    params.passes = 1;
    let plane = picture(28, 25, 25.0, 0);
    let pass = Plan::new(&params, 28, 25, &[25.0]).unwrap().passes.remove(0);
    let guide = reference::Guide::new(pass.search(), &plane.view());
    assert_eq!(guide.group(8, 8).len(), 128);
}

#[test]
fn exact_variances_with_every_stack_transform() {
    for stack in Transform::ALL {
        for group in [1, 2, 4, 8, 16, 32] {
            let params = with(|p| {
                (p.stack, p.group, p.step, p.exact) = (stack, group, 8, true);
                (p.window, p.tau) = (13, 6000.0);
            });
            check(&params, 25, 20, &[25.0]);
        }
    }
}

#[test]
fn exact_variances_of_large_groups() {
    // The reference needs the cube of the group size: one pass over few patches.
    for group in [64, 128] {
        let mut params = with(|p| (p.group, p.step, p.exact, p.window) = (group, 8, true, 27));
        (params.hard.tau, params.passes) = (20_000.0, 1);
        let plan = Plan::new(&params, 20, 20, &[25.0]).unwrap();
        check_planes(&plan, &[picture(20, 20, 25.0, 1)], TOLERANCE);
    }
}

#[test]
fn exact_variances_of_every_patch_transform() {
    for transform in Transform::ALL {
        for patch in [4, 8, 16] {
            let params = with(|p| (p.patch, p.transform, p.exact) = (patch, transform, true));
            check(&params, 27, 24, &[25.0]);
        }
    }
}

#[test]
fn exact_variances_in_one_pass_only() {
    for (hard, wiener) in [(true, false), (false, true)] {
        let mut params = small();
        (params.hard.exact, params.wiener.exact) = (hard, wiener);
        check(&params, 40, 31, &[25.0, 14.0]);
    }
}

#[test]
fn prefilter_before_matching() {
    for lambda2d in [0.5, 2.0, 4.0] {
        for patch in [4, 8, 11] {
            let mut params = with(|p| (p.patch, p.transform) = (patch, Transform::Dct));
            params.hard.lambda2d = lambda2d;
            check(&params, 33, 27, &[30.0]);
        }
    }
}

#[test]
fn both_weights_and_every_window_shape() {
    for weight in [Weight::Variance, Weight::Deviation] {
        for beta in [0.0, 2.0, 12.0] {
            for exact in [false, true] {
                check(&with(|p| (p.weight, p.beta, p.exact) = (weight, beta, exact)), 32, 29, &[25.0]);
            }
        }
    }
}

#[test]
fn thresholds_of_both_passes() {
    for (lambda, mu2) in [(0.0, 1.0), (1.0, 0.2), (5.0, 4.0)] {
        let mut params = small();
        (params.lambda, params.mu2) = (lambda, mu2);
        check(&params, 40, 31, &[25.0]);
    }
}

#[test]
fn windows_and_taus_from_none_to_most() {
    for window in [1, 3, 5, 27, 127] {
        check(&with(|p| p.window = window), 37, 34, &[25.0]);
    }
    for tau in [0.0, 40.0, 900.0, 20_000.0, 65_025.0] {
        check(&with(|p| p.tau = tau), 37, 34, &[25.0]);
    }
}

#[test]
fn different_patch_sizes_in_the_two_passes() {
    for (hard, wiener) in [(8, 11), (12, 8), (4, 16)] {
        let mut params = with(|p| p.transform = Transform::Dct);
        (params.hard.patch, params.wiener.patch) = (hard, wiener);
        check(&params, 37, 30, &[25.0]);
    }
}

#[test]
fn noise_from_faint_to_drowning() {
    for sigma in [0.5, 2.0, 5.0, 75.0, 100.0] {
        check(&Profile::Normal.params(sigma), 45, 36, &[sigma]);
    }
}
