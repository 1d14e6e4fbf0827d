//! Clause 6 and 7: the same bits for any number of threads, any tiling, and any history of the denoiser.

use quell::bm3d::{Params, Plan, Profile};
use quell::device::DeviceOptions;
use quell::{Denoiser, Plane};

use crate::common::{cpu, eight_bit, grey, levels, picture, run, views};

fn bits(planes: &[Plane]) -> Vec<u32> {
    planes.iter().flat_map(|p| p.as_slice().iter().map(|v| v.to_bits())).collect()
}

/// Wide enough for tiles of 333 pixels, with windows small enough for a quick run.
fn small_windows() -> Params {
    let mut params = Profile::Normal.params(25.0);
    (params.hard.window, params.wiener.window) = (13, 9);
    params
}

#[test]
fn any_number_of_threads() {
    for (profile, w, h) in [(Profile::Fast, 150, 131), (Profile::Normal, 150, 131), (Profile::Vn, 50, 61)] {
        let noisy = [picture(w, h, 25.0, 1), picture(w, h, 20.0, 2)];
        let plan = Plan::new(&profile.params(25.0), w, h, &[25.0, 20.0]).unwrap();
        for level in levels() {
            let want = bits(&run(&cpu(level, 1, 0), &plan, &views(&noisy)));
            for threads in [2, 3, 7] {
                let got = bits(&run(&cpu(level, threads, 0), &plan, &views(&noisy)));
                assert!(got == want, "{profile:?} {level:?}: {threads} threads change the result");
            }
        }
    }
}

#[test]
fn any_tiling() {
    let noisy = [picture(401, 167, 25.0, 3)];
    for passes in [1, 2] {
        let plan = Plan::new(&Params { passes, ..small_windows() }, 401, 167, &[25.0]).unwrap();
        for level in levels() {
            let want = bits(&run(&cpu(level, 1, 0), &plan, &views(&noisy)));
            for (tile, threads) in [(64, 1), (64, 3), (100, 2), (333, 7)] {
                let got = bits(&run(&cpu(level, threads, tile), &plan, &views(&noisy)));
                assert!(got == want, "{level:?}, {passes} passes: tiles of {tile} change the result");
            }
        }
    }
}

#[test]
fn tiles_of_other_patch_sizes_and_steps() {
    let noisy = [picture(150, 90, 25.0, 4)];
    for (patch, step) in [(5, 4), (8, 7), (11, 6), (16, 5)] {
        let mut params = small_windows();
        for pass in [&mut params.hard, &mut params.wiener] {
            (pass.patch, pass.step, pass.group) = (patch, step, 4);
            (pass.transform, pass.exact) = (quell::transform::Transform::Dct, false);
        }
        let plan = Plan::new(&params, 150, 90, &[25.0]).unwrap();
        for level in levels() {
            let want = bits(&run(&cpu(level, 1, 0), &plan, &views(&noisy)));
            let got = bits(&run(&cpu(level, 2, 64), &plan, &views(&noisy)));
            assert!(got == want, "{level:?}, patches of {patch} at {step}: tiles change the result");
        }
    }
}

#[test]
fn colour_pictures_in_tiles() {
    let planes = (0..3).map(|c| eight_bit(131, 97, 25.0, c)).collect();
    let frame = quell::Frame::new(planes, 255.0).unwrap();
    let denoise = |threads, tile| {
        let options = DeviceOptions { threads, tile, level: None };
        let denoiser = Denoiser::bm3d(Profile::Fast).sigma(25.0).options(options).build().unwrap();
        bits(denoiser.denoise(&frame).unwrap().planes())
    };
    let want = denoise(1, 0);
    assert!(denoise(2, 64) == want && denoise(3, 100) == want);
}

#[test]
fn a_denoiser_remembers_nothing() {
    let denoiser = |threads| Denoiser::bm3d(Profile::Normal).sigma(25.0).threads(threads).build().unwrap();
    let frames = [(64, 48), (33, 97), (8, 8), (120, 40)].map(|(w, h)| grey(picture(w, h, 25.0, 9)));
    let used = denoiser(2);
    for round in 0..2 {
        for frame in &frames {
            let fresh = denoiser(1).denoise(frame).unwrap();
            let again = used.denoise(frame).unwrap();
            assert_eq!(bits(again.planes()), bits(fresh.planes()), "round {round}");
        }
    }
}
