//! What every method and profile reaches on pictures of our own. The references are compared with the fast paths, but a
//! mistake that both share would pass there: here the numbers themselves are kept.

use quell::device::DeviceOptions;
use quell::device::cpu::Level;
use quell::{Denoiser, DenoiserBuilder, Device, Frame, Plane, bm3d, isoline, metrics, nlm, ridge};

use crate::common::{clean, levels, map, picture};

const SIZE: (usize, usize) = (96, 80);
const SIGMA: f32 = 25.0;
/// In dB: other instruction sets round differently, and coefficients fall on the other side of their thresholds.
const TOLERANCE: f64 = 0.02;

/// Grey, or red, green and blue of which each has its own contrast; without and with noise.
fn pictures(channels: usize) -> (Frame, Frame) {
    let (w, h) = SIZE;
    let tinted = |c: usize, plane: &Plane| map(plane, |v| v + (v - 100.0) * (0.1 - 0.15 * c as f32));
    let clean: Vec<Plane> = (0..channels).map(|c| tinted(c, &clean(w, h))).collect();
    let noisy = (0..channels).map(|c| {
        let noise = picture(w, h, SIGMA, 40 + c as u32);
        let plain = crate::common::clean(w, h);
        let values = clean[c].as_slice().iter().zip(noise.as_slice()).zip(plain.as_slice());
        Plane::from_vec(w, h, values.map(|((v, n), p)| v + n - p).collect()).unwrap()
    });
    let noisy = noisy.collect();
    (Frame::new(clean, 255.0).unwrap(), Frame::new(noisy, 255.0).unwrap())
}

/// Grey and colour, in dB.
fn reached(builder: impl Fn() -> DenoiserBuilder) -> [f64; 2] {
    [1, 3].map(|channels| {
        let (clean, noisy) = pictures(channels);
        let denoiser = builder().sigma(SIGMA).device(Device::Cpu).build().unwrap();
        metrics::psnr(&clean, &denoiser.denoise(&noisy).unwrap()).unwrap().all
    })
}

fn compare(method: &str, found: &[(&str, [f64; 2])], kept: &[(&str, [f64; 2])]) {
    for (name, db) in found {
        println!("{method} (\"{name}\", [{:.3}, {:.3}]),", db[0], db[1]);
    }
    assert_eq!(found.len(), kept.len(), "{method}: every profile has its numbers");
    for ((name, found), (kept_name, kept)) in found.iter().zip(kept) {
        assert_eq!(name, kept_name);
        for (found, kept) in found.iter().zip(kept) {
            assert!((found - kept).abs() < TOLERANCE, "{method} {name}: {found:.3} dB, {kept} was kept");
        }
    }
}

#[test]
fn bm3d_reaches_what_it_did() {
    let found = bm3d::Profile::ALL.map(|p| (p.name(), reached(|| Denoiser::bm3d(p))));
    compare("bm3d", &found, &BM3D);
}

#[test]
fn ridge_reaches_what_it_did() {
    let found = ridge::Profile::ALL.map(|p| (p.name(), reached(|| Denoiser::ridge(p))));
    compare("ridge", &found, &RIDGE);
}

#[test]
fn nlm_reaches_what_it_did() {
    let found = nlm::Profile::ALL.map(|p| (p.name(), reached(|| Denoiser::nlm(p))));
    compare("nlm", &found, &NLM);
}

#[test]
fn isolines_reach_what_they_did() {
    let found = isoline::Profile::ALL.map(|p| (p.name(), reached(|| Denoiser::isoline(p))));
    compare("isoline", &found, &ISOLINE);
}

#[test]
fn vectors_of_every_width_give_the_same_bits() {
    let (_, noisy) = pictures(3);
    for profile in [bm3d::Profile::Fast, bm3d::Profile::Normal, bm3d::Profile::Original] {
        let run = |level| {
            let options = DeviceOptions { level: Some(level), ..DeviceOptions::default() };
            let denoiser = Denoiser::bm3d(profile).sigma(SIGMA).device(Device::Cpu).options(options).build();
            let planes = denoiser.unwrap().denoise(&noisy).unwrap().into_planes();
            planes.iter().flat_map(|p| p.as_slice()).map(|v| v.to_bits()).collect::<Vec<u32>>()
        };
        // Portable code multiplies and adds in two steps, vectors in one.
        let all: Vec<_> = levels().filter(|l| *l != Level::Portable).map(|l| (l, run(l))).collect();
        for pair in all.windows(2) {
            assert!(pair[0].1 == pair[1].1, "{profile:?}: {:?} and {:?} differ", pair[0].0, pair[1].0);
        }
    }
}

const RIDGE: [(&str, [f64; 2]); 6] = [
    ("fast", [35.360, 39.557]),
    ("normal", [35.570, 40.098]),
    ("high", [34.674, 39.597]),
    ("best", [34.684, 39.854]),
    ("nl-ridge", [35.223, 38.458]),
    ("lichi", [34.596, 40.018]),
];

const BM3D: [(&str, [f64; 2]); 9] = [
    ("fast", [31.375, 34.508]),
    ("middle", [33.937, 37.452]),
    ("normal", [34.538, 38.883]),
    ("high", [34.793, 38.965]),
    ("original", [34.729, 38.323]),
    ("modified", [32.380, 35.586]),
    ("lc", [33.042, 37.122]),
    ("np", [34.557, 38.495]),
    ("vn", [35.155, 38.680]),
];
const NLM: [(&str, [f64; 2]); 4] = [
    ("fast", [30.509, 31.986]),
    ("normal", [31.230, 32.620]),
    ("ipol", [30.844, 32.174]),
    ("goossens", [29.359, 30.073]),
];
const ISOLINE: [(&str, [f64; 2]); 4] = [
    ("fast", [30.052, 31.741]),
    ("normal", [30.597, 32.522]),
    ("paper", [25.274, 25.792]),
    ("paper-long", [25.023, 25.612]),
];
