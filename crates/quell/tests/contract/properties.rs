//! What holds for every picture, whatever its content.

use quell::bm3d::Profile;
use quell::{ColorMode, Denoiser, Frame, Plane, metrics};

use crate::common::{clean, grey, picture, uniform, worst};

#[test]
fn a_constant_picture_stays_as_it_is() {
    for profile in Profile::ALL {
        let denoiser = Denoiser::bm3d(profile).sigma(5.0).build().unwrap();
        for value in [0.0, 30.0, 100.0, 254.7, -40.0, 700.0] {
            let flat = Plane::from_vec(37, 29, vec![value; 37 * 29]).unwrap();
            let off = worst(&denoiser.denoise(&grey(flat.clone())).unwrap().planes()[0], &flat);
            // The Wiener filter takes a little of the mean too: sigma^2 against the energy of the whole group.
            assert!(off < 0.01, "{profile:?}: {value} is off by {off}");
        }
    }
}

#[test]
fn a_constant_colour_stays_as_it_is() {
    let planes = [200.0, 90.0, 30.0].map(|v| Plane::from_vec(24, 19, vec![v; 24 * 19]).unwrap());
    let frame = Frame::new(planes.to_vec(), 255.0).unwrap();
    for mode in ColorMode::ALL {
        let denoiser = Denoiser::bm3d(Profile::Normal).sigma(5.0).color(mode).build().unwrap();
        let got = denoiser.denoise(&frame).unwrap();
        for (got, want) in got.planes().iter().zip(&planes) {
            assert!(worst(got, want) < 0.02, "{mode:?}: off by {}", worst(got, want));
        }
    }
}

#[test]
fn hardly_any_noise_hardly_any_change() {
    let plane = picture(60, 45, 25.0, 1);
    let change = |sigma: f32| {
        let denoiser = Denoiser::bm3d(Profile::Normal).sigma(sigma).build().unwrap();
        worst(&denoiser.denoise(&grey(plane.clone())).unwrap().planes()[0], &plane)
    };
    assert!(change(0.001) < 0.01, "{}", change(0.001));
    assert!(change(0.1) < 1.0, "{}", change(0.1));
    assert!(change(25.0) > 20.0);
}

#[test]
fn strength_multiplies_sigma() {
    let frame = grey(picture(50, 44, 20.0, 2));
    let build =
        |sigma, strength| Denoiser::bm3d(Profile::Normal).sigma(sigma).strength(strength).build().unwrap();
    let want = build(20.0, 1.0).denoise(&frame).unwrap();
    for (sigma, strength) in [(10.0, 2.0), (40.0, 0.5)] {
        assert_eq!(build(sigma, strength).denoise(&frame).unwrap(), want);
    }
    // A strength that brings the noise over 40 takes the parameters of strong noise along.
    let strong = build(25.0, 2.0).resolve(&frame).unwrap().unwrap();
    assert_eq!((strong.sigma, strong.sigma255), (25.0, 50.0));
    let quell::method::Params::Bm3d(params) = strong.params else { panic!("not BM3D") };
    assert_eq!(params, Profile::Normal.params(50.0));
}

#[test]
fn every_profile_removes_noise() {
    let truth = grey(clean(96, 77));
    for profile in Profile::ALL {
        for sigma in [10.0, 30.0, 60.0] {
            let noisy = grey(picture(96, 77, sigma, 3));
            let got = Denoiser::bm3d(profile).sigma(sigma).build().unwrap().denoise(&noisy).unwrap();
            let psnr = |f: &Frame| metrics::psnr(&truth, f).unwrap().all;
            let gain = psnr(&got) - psnr(&noisy);
            assert!(gain > 3.0, "{profile:?} at {sigma}: {gain} dB");
        }
    }
}

#[test]
fn random_pictures_stay_within_their_range() {
    // Averages of transforms of patches: never far outside what went in, never NaN.
    for seed in 0..12 {
        let mut random = uniform(seed);
        let (w, h) = (8 + (random() * 50.0) as usize, 8 + (random() * 50.0) as usize);
        let sigma = 0.5 + 60.0 * random();
        let data: Vec<f32> = (0..w * h).map(|_| 255.0 * random()).collect();
        let frame = grey(Plane::from_vec(w, h, data).unwrap());
        for profile in [Profile::Fast, Profile::Normal] {
            let out = Denoiser::bm3d(profile).sigma(sigma).build().unwrap().denoise(&frame).unwrap();
            let samples = out.planes()[0].as_slice();
            assert!(samples.iter().all(|v| (-128.0..383.0).contains(v)), "{w} x {h}, sigma {sigma}");
        }
    }
}

#[test]
fn no_noise_found_no_change() {
    let flat = grey(Plane::from_vec(64, 64, vec![77.0; 64 * 64]).unwrap());
    let result = Denoiser::bm3d(Profile::Normal).build().unwrap().run(&flat, &quell::Control::new()).unwrap();
    assert!(result.resolved.is_none());
    assert_eq!(result.frame, flat);
}

#[test]
fn estimated_noise_is_near_the_given_one() {
    let denoiser = Denoiser::bm3d(Profile::Normal).build().unwrap();
    let frame = grey(picture(160, 128, 20.0, 5));
    let resolved = denoiser.resolve(&frame).unwrap().unwrap();
    assert!((resolved.sigma - 20.0).abs() < 2.0, "{}", resolved.sigma);
}
