//! The room as a whole: made noise against its spectrum, guides, estimates, and what they are for.

use super::*;
use crate::metrics::psnr;
use crate::nlm::reference::{Views, run};
use crate::nlm::{Params, Plan, Profile};
use crate::{Frame, Plane};

fn picture(w: usize, h: usize, channels: usize, f: impl Fn(usize, usize, usize) -> f32) -> Frame {
    let plane = |c| Plane::from_vec(w, h, (0..w * h).map(|i| f(i % w, i / w, c)).collect()).unwrap();
    Frame::new((0..channels).map(plane).collect(), 255.0).unwrap()
}

fn flat(w: usize, h: usize, channels: usize) -> Frame {
    picture(w, h, channels, |_, _, _| 128.0)
}

/// Sky, a wall with bricks, a fine weave, a disc: edges and texture, and some quiet places.
fn drawn(w: usize, h: usize, channels: usize) -> Frame {
    picture(w, h, channels, |x, y, c| {
        let (u, v) = (x as f32, y as f32);
        let tint = [1.0, 0.85, 0.7][c];
        let disc = (u - 0.7 * w as f32).hypot(v - 0.4 * h as f32) < 0.15 * w as f32;
        let value = if disc {
            210.0
        } else if y < h / 2 {
            90.0 + v / 4.0
        } else if x < w / 2 {
            let joint = y % 12 < 2 || (x + 12 * (y / 12 % 2)) % 24 < 2;
            if joint { 60.0 } else { 150.0 }
        } else {
            110.0 + 30.0 * (u * 0.9).sin() * (v * 0.7).cos()
        };
        value * tint
    })
}

/// Correlation of two planes with zero mean, one shifted by `(dx, dy)`, over the mean of their variances.
fn correlation(a: &Plane, b: &Plane, dx: usize, dy: usize) -> f64 {
    let mean =
        |p: &Plane| p.as_slice().iter().map(|&v| f64::from(v)).sum::<f64>() / p.as_slice().len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for y in 0..a.height() - dy {
        for x in 0..a.width() - dx {
            let (u, v) = (f64::from(a.row(y)[x]) - ma, f64::from(b.row(y + dy)[x + dx]) - mb);
            ab += u * v;
            aa += u * u;
            bb += v * v;
        }
    }
    ab / (aa * bb).sqrt()
}

fn variance(p: &Plane) -> f64 {
    let n = p.as_slice().len() as f64;
    let mean = p.as_slice().iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    p.as_slice().iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n
}

/// Without the borders, where the mirrored noise is not what the spectrum says.
fn inside(p: &Plane) -> Plane {
    let (w, h, m) = (p.width(), p.height(), 32);
    let rows = (m..h - m).flat_map(|y| p.row(y)[m..w - m].iter().copied());
    Plane::from_vec(w - 2 * m, h - 2 * m, rows.collect()).unwrap()
}

fn cov() -> Covariance {
    Covariance::new([[900.0, 500.0, -100.0], [500.0, 600.0, 50.0], [-100.0, 50.0, 400.0]]).unwrap()
}

fn known(covariance: Option<Covariance>, psd: Option<Psd>) -> Correlation {
    Correlation { covariance: covariance.map(CovarianceSource::Known), psd: psd.map(PsdSource::Known) }
}

#[test]
fn made_noise_has_its_spectrum() {
    for kernel in Kernel::ALL {
        let noise = kernel.add(&flat(512, 384, 1), 20.0, None, 3).unwrap();
        let psd = kernel.psd(512, 384, 400.0).unwrap();
        assert!((psd.variance() / 400.0 - 1.0).abs() < 1e-4, "{}: {}", kernel.name(), psd.variance());
        let p = &noise.planes()[0];
        // Correlated noise has fewer independent parts than samples: as many fewer as the mean square of the spectrum is
        // above the square of its mean. Four standard errors.
        let values = psd.plane().as_slice().iter().map(|&v| f64::from(v));
        let n = values.len() as f64;
        let peaked = values.clone().map(|v| v * v).sum::<f64>() * n / values.sum::<f64>().powi(2);
        let error = variance(p) / 400.0 - 1.0;
        assert!(error.abs() < 4.0 * (2.0 * peaked / n).sqrt(), "{}: {error:+.3}", kernel.name());
        for (dx, dy) in [(1, 0), (0, 1), (1, 1), (5, 2), (3, 0)] {
            let (found, expected) = (correlation(p, p, dx, dy), psd.correlation(dx as isize, dy as isize));
            assert!((found - expected).abs() < 0.05, "{} {dx} {dy}: {found:.3} {expected:.3}", kernel.name());
        }
    }
}

#[test]
fn kernels_have_the_correlations_of_their_definition() {
    let psd = |k: Kernel| k.psd(256, 256, 1.0).unwrap();
    // The autocorrelation of a triangle of half width 16 at lag 1, and none between rows.
    let triangle = |i: i32| f64::from((16 - i.abs()).max(0));
    let lag = |d: i32| (-20..=20).map(|i| triangle(i) * triangle(i + d)).sum::<f64>();
    assert!((psd(Kernel::G1).correlation(1, 0) - lag(1) / lag(0)).abs() < 1e-4);
    assert!((psd(Kernel::G1).correlation(7, 0) - lag(7) / lag(0)).abs() < 1e-4);
    assert!(psd(Kernel::G1).correlation(0, 1).abs() < 1e-4);
    // cos(x + y) is the same along one diagonal, and turns by 2 per step along the other.
    assert!(psd(Kernel::G3).correlation(1, -1) > 0.99);
    assert!((psd(Kernel::G3).correlation(1, 1) - 2.0_f64.cos()).abs() < 0.01);
    assert!((psd(Kernel::G1w).correlation(1, 0) - 0.8 * lag(1) / lag(0)).abs() < 1e-4);
    // Two Gaussians of deviation 1 convolved: exp(-d^2 / 4).
    assert!((psd(Kernel::Soft).correlation(1, 1) - (-0.5_f64).exp()).abs() < 1e-4);
    let (x, diagonal) = (psd(Kernel::G2).correlation(3, 0), psd(Kernel::G2).correlation(0, 3));
    assert!((x - diagonal).abs() < 1e-4 && x < -0.1, "{x} {diagonal}");
}

#[test]
fn white_noise_without_covariance_is_the_usual_noise() {
    let frame = flat(40, 30, 3);
    let expected = crate::noise::add_gaussian(&frame, 5.0, 9).unwrap();
    assert_eq!(Kernel::White.add(&frame, 5.0, None, 9).unwrap(), expected);
}

#[test]
fn exact_whitening_makes_white_noise_of_unit_variance() {
    for kernel in [Kernel::G1w, Kernel::G2w, Kernel::G3w, Kernel::G4, Kernel::White] {
        let noise = kernel.add(&flat(320, 256, 3), cov().variance().sqrt(), Some(&cov()), 5).unwrap();
        let psd = kernel.psd(320, 256, 1.0).unwrap();
        let exact = known(Some(cov()), Some(psd)).resolve(&noise.view(), None).unwrap();
        let exact = exact.with_softness(0.0).unwrap();
        assert!((exact.noise() - 1.0).abs() < 0.01);
        let guide = exact.guide(noise.view().planes()).unwrap();
        for (i, p) in guide.iter().enumerate() {
            let name = kernel.name();
            assert!((variance(p) - 1.0).abs() < 0.05, "{name} {i}: variance {}", variance(p));
            for (dx, dy) in [(1, 0), (0, 1), (1, 1), (2, 0), (6, 0), (3, 3)] {
                let r = correlation(p, p, dx, dy);
                assert!(r.abs() < 0.03, "{name} {i}: {r:.3} at {dx} {dy}");
            }
            let r = correlation(p, &guide[(i + 1) % 3], 0, 0);
            assert!(r.abs() < 0.02, "{name}: {r:.3} between {i} and the next");
        }
    }
}

#[test]
fn guides_have_the_noise_that_they_tell() {
    for kernel in Kernel::ALL {
        for covariance in [None, Some(cov())] {
            let noise = kernel.add(&flat(320, 256, 3), 20.0, covariance.as_ref(), 5).unwrap();
            let psd = kernel.psd(320, 256, 1.0).unwrap();
            // The level is given: scales of covariance and spectrum do not count.
            let whitening = known(covariance, Some(psd)).resolve(&noise.view(), Some(20.0)).unwrap();
            let guide = whitening.guide(noise.view().planes()).unwrap();
            let found = guide.iter().map(|p| variance(&inside(p))).sum::<f64>() / 3.0;
            let told = f64::from(whitening.noise());
            assert!(
                told <= 1.0 + 1e-5 && (found / told - 1.0).abs() < 0.08,
                "{}: {found} {told}",
                kernel.name()
            );
            assert!(kernel == Kernel::White || told < 0.97, "{}: {told}", kernel.name());
            let mixed = known(covariance, None).resolve(&noise.view(), Some(20.0)).unwrap();
            let found = mixed.guide(noise.view().planes()).unwrap().iter().map(variance).sum::<f64>() / 3.0;
            assert!((found / f64::from(mixed.noise()) - 1.0).abs() < 0.12, "{}: {found}", kernel.name());
        }
    }
}

#[test]
fn the_level_comes_from_sigma_then_covariance_then_spectrum() {
    let frame = Kernel::White.add(&flat(64, 64, 3), 20.0, None, 1).unwrap();
    let level = |correlation: &Correlation, sigma| correlation.resolve(&frame.view(), sigma).unwrap().sigma();
    let psd = Kernel::G1.psd(64, 64, 81.0).unwrap();
    let both = known(Some(cov().with_variance(49.0)), Some(psd));
    assert_eq!(level(&both, Some(5.0)), 5.0);
    assert!((level(&both, None) - 7.0).abs() < 1e-4);
    assert!((level(&Correlation { covariance: None, ..both.clone() }, None) - 9.0).abs() < 1e-3);
    assert!((level(&both.scaled(3.0), None) - 21.0).abs() < 1e-3);
    let w = both.resolve(&frame.view(), Some(5.0)).unwrap();
    assert!((w.covariance().unwrap().variance() - 25.0).abs() < 1e-3);
    assert!((w.psd().unwrap().variance() - 25.0).abs() < 1e-3);
    // Nothing said: as for white noise.
    assert!((level(&Correlation::default(), None) / 20.0 - 1.0).abs() < 0.08);
}

#[test]
fn spectra_are_found_in_flat_and_in_textured_pictures() {
    for clean in [flat(320, 256, 1), drawn(320, 256, 1)] {
        for kernel in Kernel::ALL {
            let noisy = kernel.add(&clean, 20.0, None, 7).unwrap();
            let auto = Correlation { psd: Some(PsdSource::Auto), ..Correlation::default() };
            let found = auto.resolve(&noisy.view(), None).unwrap();
            let (psd, exact) = (found.psd().unwrap(), kernel.psd(320, 256, 400.0).unwrap());
            for (dx, dy) in [(1, 0), (0, 1), (1, 1), (3, 0), (0, 3)] {
                let (a, b) = (psd.correlation(dx, dy), exact.correlation(dx, dy));
                assert!((a - b).abs() < 0.15, "{} at {dx} {dy}: {a:.3} for {b:.3}", kernel.name());
            }
            let error = f64::from(found.sigma()) / 20.0 - 1.0;
            // All of the power of g3 is in one wavelength, and only a few blocks are independent of each other.
            let limit = match kernel {
                Kernel::White => 0.05,
                Kernel::G3 => 0.3,
                _ => 0.16,
            };
            assert!(error.abs() < limit, "{}: sigma {error:+.3}", kernel.name());
        }
    }
}

#[test]
fn covariances_are_found_with_white_and_with_coloured_noise() {
    for clean in [flat(256, 256, 3), drawn(256, 256, 3)] {
        for kernel in [Kernel::White, Kernel::G1, Kernel::G3w, Kernel::G4] {
            let noisy = kernel.add(&clean, cov().variance().sqrt(), Some(&cov()), 2).unwrap();
            let psd = (kernel != Kernel::White).then_some(PsdSource::Auto);
            let auto = Correlation { covariance: Some(CovarianceSource::Auto), psd };
            let found = auto.resolve(&noisy.view(), None).unwrap();
            let c = found.covariance().unwrap();
            for (i, j) in [(0, 1), (0, 2), (1, 2)] {
                let (a, b) = (c.correlation(i, j), cov().correlation(i, j));
                assert!((a - b).abs() < 0.1, "{} {i} {j}: {a:.3} for {b:.3}", kernel.name());
            }
            for i in 0..3 {
                let (a, b) = (c.rows()[i][i] / c.variance(), cov().rows()[i][i] / cov().variance());
                assert!((a / b - 1.0).abs() < 0.15, "{} {i}: {a:.3} for {b:.3}", kernel.name());
            }
        }
    }
}

#[test]
fn bad_input_is_refused_with_the_reason() {
    let (grey, rgb) = (drawn(64, 48, 1), drawn(64, 48, 3));
    let message = |c: &Correlation, f: &Frame| c.resolve(&f.view(), Some(20.0)).unwrap_err().to_string();
    let other = known(None, Some(Kernel::G1.psd(48, 64, 1.0).unwrap()));
    assert_eq!(message(&other, &grey), "the noise power spectrum is 48 x 64, but the picture 64 x 48");
    assert_eq!(
        message(&known(Some(cov()), None), &grey),
        "a covariance of 3 channels cannot be that of a picture with 1"
    );
    assert!(Kernel::G1.add(&grey, 1.0, Some(&cov()), 0).is_err());
    let auto = Correlation { covariance: Some(CovarianceSource::Auto), psd: Some(PsdSource::Auto) };
    assert!(message(&auto, &drawn(31, 64, 1)).starts_with("31 x 64 pixels are too few"));
    assert_eq!(message(&auto, &flat(64, 64, 1)), "no noise was found to estimate its correlation from");
    let e = known(Some(cov()), None).resolve(&rgb.view(), Some(0.0)).unwrap_err().to_string();
    assert_eq!(e, "sigma = 0: must be a positive number");
    let w = known(Some(cov()), None).resolve(&rgb.view(), Some(2.0)).unwrap();
    assert_eq!(w.guide(grey.view().planes()).unwrap_err().to_string(), "3 planes are needed, not 1");
    let e = w.guide(drawn(10, 10, 3).view().planes()).unwrap_err().to_string();
    assert_eq!(e, "a 10 x 10 plane in frames of 64 x 48");
    assert_eq!("g9".parse::<Kernel>().unwrap_err().to_string().find("one of white, soft, g1"), Some(19));
}

#[test]
fn pictures_of_any_size_have_guides() {
    for (w, h) in [(1, 1), (2, 7), (33, 1), (5, 90), (67, 41)] {
        let noisy = Kernel::G1w.add(&flat(w, h, 3), 20.0, None, 7).unwrap();
        let correlation = known(Some(cov()), Some(Kernel::G1w.psd(w, h, 400.0).unwrap()));
        let guide = correlation.resolve(&noisy.view(), None).unwrap().guide(noisy.view().planes()).unwrap();
        assert!(guide.iter().all(|p| p.as_slice().iter().all(|v| v.is_finite())), "{w} x {h}");
    }
}

/// PSNR of the scalar reference with a guide, or without.
fn filtered(clean: &Frame, noisy: &Frame, whitening: Option<&Whitening>, params: &Params, sigma: f32) -> f64 {
    let view = noisy.view();
    let size = (noisy.width(), noisy.height());
    let guide = whitening.map_or_else(Vec::new, |w| w.guide(view.planes()).unwrap());
    let guide: Vec<_> = guide.iter().map(Plane::view).collect();
    let unit = if guide.is_empty() { sigma } else { 1.0 };
    let plan = Plan::new(params, size, noisy.channels(), guide.len(), 255.0, unit).unwrap();
    let plan = whitening.map_or(plan.clone(), |w| plan.with_guide_noise(w.noise()));
    let out = run(&plan, &[Views { planes: view.planes(), guide: &guide }], 0);
    psnr(clean, &Frame::new(out, 255.0).unwrap()).unwrap().all
}

#[test]
fn guides_raise_the_psnr_where_noise_is_correlated() {
    let clean = drawn(96, 96, 1);
    let fast = Params { patch: 5, search: 9, h: 2.0, ..Profile::Fast.params(25.0, 1) };
    let corrected =
        Params { patch: 7, search: 9, h: 0.5, patchwise: false, ..Profile::Normal.params(25.0, 1) };
    for params in [fast, corrected] {
        for (kernel, gain) in
            [(Kernel::G1, 1.0), (Kernel::G2w, 1.0), (Kernel::G3, 3.0), (Kernel::White, -0.01)]
        {
            let noisy = kernel.add(&clean, 25.0, None, 4).unwrap();
            let psd = kernel.psd(96, 96, 625.0).unwrap();
            let whitening = known(None, Some(psd)).resolve(&noisy.view(), None).unwrap();
            let ignored = filtered(&clean, &noisy, None, &params, 25.0);
            let with = filtered(&clean, &noisy, Some(&whitening), &params, 25.0);
            assert!(with > ignored + gain, "{}: {with:.2} dB, {ignored:.2} ignored", kernel.name());
        }
    }
}
