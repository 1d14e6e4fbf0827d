//! Correlated noise (Makinen et al. 2020): every level against the reference, and what it is good for.

use quell::bm3d::{Params, Plan, Profile};
use quell::noise::correlated::{Correlation, Covariance, CovarianceSource, Kernel, PsdSource};
use quell::transform::Transform;
use quell::{Denoiser, Frame, Plane, metrics};

use crate::common::{TOLERANCE, check_planes, clean, cpu, grey, levels, run, views};

const SIGMA: f32 = 25.0;

/// A noisy picture, and the plan that knows the spectrum of its noise.
fn case(kernel: Kernel, params: &Params, (w, h): (usize, usize)) -> (Plan, Plane) {
    let noisy = kernel.add(&grey(clean(w, h)), SIGMA.into(), None, 3).unwrap();
    let psd = kernel.psd(w, h, 1.0).unwrap();
    let plan = Plan::new(params, w, h, &[SIGMA]).unwrap().with_spectrum(&psd);
    (plan, noisy.into_planes().remove(0))
}

fn check(kernel: Kernel, params: &Params) {
    let (plan, noisy) = case(kernel, params, (53, 47));
    check_planes(&plan, &[noisy], TOLERANCE);
}

fn small() -> Params {
    let mut params = Profile::Normal.params(SIGMA);
    for pass in [&mut params.hard, &mut params.wiener] {
        (pass.window, pass.step) = (25, 4);
    }
    params
}

#[test]
fn every_level_is_the_reference() {
    for kernel in [Kernel::G1w, Kernel::G3w, Kernel::G4, Kernel::White] {
        check(kernel, &small());
    }
}

#[test]
fn variances_of_single_patches_are_the_reference() {
    let mut params = small();
    (params.hard.exact, params.wiener.exact) = (false, false);
    check(Kernel::G3w, &params);
}

#[test]
fn other_patches_and_transforms_are_the_reference() {
    for (exact, stack) in [(true, Transform::Wht), (true, Transform::Dct), (false, Transform::Haar)] {
        let mut params = small();
        for pass in [&mut params.hard, &mut params.wiener] {
            (pass.patch, pass.transform, pass.stack, pass.exact) = (7, Transform::Dct, stack, exact);
        }
        params.wiener.patch = 10;
        check(Kernel::G3w, &params);
    }
}

#[test]
fn a_white_spectrum_changes_next_to_nothing() {
    let (plan, noisy) = case(Kernel::White, &small(), (53, 47));
    let white = Plan::new(&small(), 53, 47, &[SIGMA]).unwrap();
    for level in levels() {
        let result =
            |plan: &Plan| run(&cpu(level, 1, 0), plan, &views(std::slice::from_ref(&noisy))).remove(0);
        let psnr = metrics::psnr(&grey(result(&white)), &grey(result(&plan))).unwrap().all;
        assert!(psnr > 60.0, "{level:?}: {psnr} dB apart");
    }
}

/// dB of a denoiser on noise of a kernel.
fn gain(builder: quell::DenoiserBuilder, kernel: Kernel, colours: bool) -> f64 {
    let plane = clean(160, 128);
    let planes = if colours { vec![plane; 3] } else { vec![plane] };
    let truth = Frame::new(planes, 255.0).unwrap();
    let noisy = kernel.add(&truth, SIGMA.into(), None, 7).unwrap();
    let result = builder.sigma(SIGMA).build().unwrap().denoise(&noisy).unwrap();
    metrics::psnr(&truth, &result).unwrap().all
}

#[test]
fn knowing_the_spectrum_gains_much() {
    let plain = || Denoiser::bm3d(Profile::Normal);
    let known = |kernel: Kernel| Correlation {
        psd: Some(PsdSource::Known(kernel.psd(160, 128, 1.0).unwrap())),
        covariance: None,
    };
    for kernel in [Kernel::G1, Kernel::G2, Kernel::G3] {
        let (without, with) =
            (gain(plain(), kernel, false), gain(plain().correlation(known(kernel)), kernel, false));
        assert!(with > without + 3.0, "{kernel:?}: {without} and {with} dB");
    }
    let without = gain(plain(), Kernel::G1, true);
    let with = gain(plain().correlation(known(Kernel::G1)), Kernel::G1, true);
    assert!(with > without + 3.0, "colours: {without} and {with} dB");
    let auto = Correlation { psd: Some(PsdSource::Auto), covariance: None };
    let (without, with) =
        (gain(plain(), Kernel::G1w, false), gain(plain().correlation(auto), Kernel::G1w, false));
    assert!(with > without + 1.0, "estimated: {without} and {with} dB");
}

#[test]
fn the_covariance_of_channels_is_refused_with_the_reason() {
    let rows = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let covariance = CovarianceSource::Known(Covariance::new(rows).unwrap());
    let correlation = Correlation { covariance: Some(covariance), psd: None };
    let message =
        |b: quell::DenoiserBuilder| b.correlation(correlation.clone()).build().unwrap_err().to_string();
    assert!(message(Denoiser::bm3d(Profile::Normal)).contains("method nlm knows their covariance"));
    assert!(message(Denoiser::isoline(Default::default())).contains("bm3d and nlm know correlated noise"));
}
