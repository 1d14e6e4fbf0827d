use super::anscombe::Mean;
use super::*;
use crate::noise::{add_gaussian, add_poisson_gaussian};
use crate::{Frame, Plane};

/// Mean and deviation of `f` over a flat picture with noise `a*y + b`.
fn moments(y: f32, a: f64, b: f64, f: impl Fn(f32) -> f32) -> (f64, f64) {
    let flat = Frame::grey(Plane::from_vec(512, 256, vec![y; 512 * 256]).unwrap(), 255.0).unwrap();
    let noisy = add_poisson_gaussian(&flat, a, b.sqrt(), 7).unwrap();
    let values: Vec<f64> = noisy.planes()[0].as_slice().iter().map(|&v| f(v).into()).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt())
}

#[test]
fn means_of_roots_are_those_that_were_checked() {
    // 0.1 and 1 photon, without and with Gaussian noise: computed independently.
    for (y, s, expected) in
        [(0.1, 0.0, 1.33491), (1.0, 0.0, 2.18691), (1.0, 0.1, 2.19274), (5.0, 1.0, 4.94670)]
    {
        let mean = Mean::new(s).of(y);
        assert!((mean - expected).abs() < 1e-5, "{mean} for {y} photons and {s}");
    }
}

#[test]
fn both_ways_to_the_mean_meet() {
    for s in [0.0, 0.5, 3.0, 40.0] {
        let mean = Mean::new(s);
        let (below, above) = (mean.of(60.0 - 1e-9), mean.of(60.0));
        assert!((below - above).abs() < 2e-5, "{below} {above} at {s}");
    }
}

#[test]
fn means_of_the_transform_come_back_without_bias() {
    // From a third of a photon at white to many thousands.
    for (a, b) in [
        (765.0, 0.0),
        (255.0, 650.0),
        (25.0, 0.0),
        (2.0, 9.0),
        (0.05, 4.0),
        (1e-3, 100.0),
        (2.0, -20.0),
        (6e-4, -0.077),
    ] {
        let curve = Curve::poisson_gauss(a, b).unwrap();
        let (black, noise) = if b < 0.0 { (-b / a, 0.0) } else { (0.0, b) };
        for y in [0.0f32, 3.0, 40.0, 255.0] {
            let y = y + black;
            let (mean, _) = moments(y - black, a.into(), noise.into(), |z| curve.forward(z + black));
            let back = curve.inverse(mean as f32);
            // Four standard errors; the inverse is not steeper than twice the deviation over sigma.
            let allowed = 4.0 * 2.0 * curve.deviation(y).max(0.2 * a) / (512.0f32 * 256.0).sqrt();
            assert!((back - y).abs() < allowed.max(1e-3), "{y} came back as {back}: a {a}, b {b}");
        }
    }
}

#[test]
fn noise_is_the_same_everywhere_after_the_transform() {
    for (a, b) in [(25.0, 100.0), (2.0, 9.0), (0.05, 4.0)] {
        let curve = Curve::poisson_gauss(a, b).unwrap();
        for y in [60.0, 128.0, 255.0] {
            let (_, deviation) = moments(y, a.into(), b.into(), |z| curve.forward(z));
            let ratio = deviation / f64::from(curve.sigma());
            assert!((ratio - 1.0).abs() < 0.03, "{ratio} at {y}: a {a}, b {b}");
        }
    }
}

#[test]
fn the_scale_is_that_of_samples_unless_there_are_few_photons() {
    for (a, b) in [(10.0, 100.0), (2.0, 9.0), (1e-4, 25.0), (0.5, -3.0)] {
        let curve = Curve::poisson_gauss(a, b).unwrap();
        let black = (-b / a).max(0.0);
        assert!(curve.forward(black) >= -1e-3 && curve.forward(black) < 12.0);
        assert!((curve.forward(255.0) - 255.0).abs() < 0.01, "{}", curve.forward(255.0));
    }
    assert_eq!(Curve::poisson_gauss(255.0, 0.0).unwrap().sigma(), STRONGEST as f32);
}

#[test]
fn no_photons_are_the_least_and_many_go_on() {
    let curve = Curve::poisson_gauss(255.0, 0.0).unwrap();
    assert_eq!([curve.inverse(-1000.0), curve.inverse(curve.forward(0.0))], [0.0, 0.0]);
    let curve = Curve::poisson_gauss(2.0, 9.0).unwrap();
    for y in [500.0, 1019.0, 1021.0, 5000.0, 1e6] {
        // So many photons come back as they are, but for the quarter by which the mean of a root is less.
        let back = curve.inverse(curve.forward(y));
        assert!((back - y - 0.5).abs() < 0.02 + 2e-6 * y, "{y}: {back}");
    }
}

#[test]
fn mixtures_with_the_clean_picture_have_the_noise_of_the_transform() {
    let curve = Curve::poisson_gauss(120.0, 100.0).unwrap();
    let rounds = curve.rounds();
    assert_eq!(rounds.len(), curve.further_rounds());
    assert!(!rounds.is_empty());
    // At half a photon the transform of the samples has too little noise; every mixture comes nearer.
    let y = 60.0;
    let noise = |f: &dyn Fn(f32) -> f32| moments(y, 120.0, 100.0, f);
    let mut before = noise(&|z| curve.forward(z)).1 / f64::from(curve.sigma());
    for (part, mixture) in rounds {
        assert_eq!(mixture.sigma(), curve.sigma());
        let (mean, deviation) = noise(&|z| mixture.forward(y + part * (z - y)));
        let ratio = deviation / f64::from(curve.sigma());
        assert!(ratio > before + 0.05 && ratio < 1.05, "{ratio} after {before}");
        before = ratio;
        // The inverse is that of more photons, not of the mixture: a few hundredths of a photon are left.
        let back = mixture.inverse(mean as f32);
        assert!((back - y).abs() < 0.05 * 120.0, "{y} came back as {back}");
    }
    assert!(Curve::poisson_gauss(4.0, 9.0).unwrap().rounds().is_empty());
}

#[test]
fn constant_noise_needs_no_transform() {
    let curve = Curve::poisson_gauss(0.0, 100.0).unwrap();
    assert_eq!(
        [curve.sigma(), curve.deviation(7.0), curve.forward(33.0), curve.inverse(-4.0)],
        [10.0, 10.0, 33.0, -4.0]
    );
    let free = Curve::from_points(&[(10.0, 10.0), (200.0, 10.0)]).unwrap();
    for z in [-40.0, 5.0, 100.0, 300.0] {
        assert!((free.forward(z) - z).abs() < 1e-3 && (free.inverse(z) - z).abs() < 1e-2, "{z}");
    }
    assert!((free.sigma() - 10.0).abs() < 1e-4 && (free.typical() - 10.0).abs() < 1e-4);
}

#[test]
fn any_curve_is_made_flat_and_comes_back_without_bias() {
    // Rising and falling, as after a tone curve.
    let curve = Curve::from_points(&[(0.0, 3.0), (60.0, 9.0), (150.0, 6.0), (255.0, 2.0)]).unwrap();
    for y in [-10.0, 20.0, 60.0, 90.0, 150.0, 230.0, 270.0] {
        let flat = Frame::grey(Plane::from_vec(512, 256, vec![y; 512 * 256]).unwrap(), 255.0).unwrap();
        let sigma = curve.deviation(y);
        let noisy = add_gaussian(&flat, sigma.into(), 3).unwrap();
        let mut out = vec![0.0; 512 * 256];
        curve.forward_into(noisy.planes()[0].as_slice(), 1.0, &mut out);
        let mean = out.iter().map(|v| f64::from(*v)).sum::<f64>() / out.len() as f64;
        let variance = out.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / out.len() as f64;
        let back = curve.inverse(mean as f32);
        assert!((back - y).abs() < 4.0 * sigma / 362.0, "{y} came back as {back}");
        // To first order only: at the peak, samples on both sides are taken for less noisy than they are.
        let allowed = if y == 60.0 { 0.1 } else { 0.05 };
        let ratio = variance.sqrt() as f32 / curve.sigma();
        assert!((ratio - 1.0).abs() < allowed, "{ratio} at {y}");
    }
}

#[test]
fn slices_are_scaled_and_transformed_as_single_samples() {
    let from: Vec<f32> = (0..100).map(|i| i as f32 * 700.0 - 900.0).collect();
    let curves = [
        Curve::poisson_gauss(3.0, 4.0).unwrap(),
        Curve::poisson_gauss(0.0, 4.0).unwrap(),
        Curve::from_points(&[(0.0, 3.0), (60.0, 9.0)]).unwrap(),
    ];
    for curve in curves {
        let (mut there, mut back) = (vec![0.0; 100], vec![0.0; 100]);
        curve.forward_into(&from, 255.0 / 65535.0, &mut there);
        curve.inverse_into(&there, 257.0, &mut back);
        for i in 0..100 {
            assert_eq!(there[i], curve.forward(from[i] * (255.0 / 65535.0)));
            assert_eq!(back[i], curve.inverse(there[i]) * 257.0);
        }
    }
}

#[test]
fn typical_noise_and_strength() {
    let curve = Curve::poisson_gauss(2.0, 9.0).unwrap();
    assert!((curve.typical() - 264.0f32.sqrt()).abs() < 1e-3);
    let twice = curve.scaled(2.0);
    assert!((twice.deviation(77.0) / curve.deviation(77.0) - 2.0).abs() < 1e-5);
    assert_eq!(twice.gain_and_floor(), Some((8.0, 36.0)));
    let points = Curve::from_points(&[(0.0, 3.0), (60.0, 9.0)]).unwrap().scaled(0.5);
    assert_eq!(points.points(), [(0.0, 1.5), (60.0, 4.5)]);
    assert_eq!(curve.points().len(), 17);
}

#[test]
fn files_round_trip_and_nonsense_is_refused() {
    for curve in [
        Curve::poisson_gauss(0.37, -1.25).unwrap(),
        Curve::poisson_gauss(0.0, 6.25).unwrap(),
        Curve::from_points(&[(0.0, 3.1), (60.5, 9.0), (255.0, 4.0)]).unwrap(),
    ] {
        assert_eq!(Curve::from_toml(&curve.to_toml()).unwrap(), curve, "{}", curve.to_toml());
    }
    for (text, why) in [
        ("kind = \"poisson-gauss\"\ngain = nan\nfloor = 1.0", "gain"),
        ("kind = \"poisson-gauss\"\ngain = -2.0\nfloor = 1.0", "gain"),
        ("kind = \"poisson-gauss\"\ngain = 1.0\nfloor = inf", "floor"),
        ("kind = \"poisson-gauss\"\ngain = 1.0\nfloor = -300.0", "floor"),
        ("kind = \"poisson-gauss\"\ngain = 0.0\nfloor = 0.0", "floor"),
        ("kind = \"poisson-gauss\"\ngain = 1.0", "floor"),
        ("kind = \"points\"\npoints = [[1.0, 2.0]]", "points = 1"),
        ("kind = \"points\"\npoints = [[1.0, 2.0], [1.0, 3.0]]", "brightness of point 2"),
        ("kind = \"points\"\npoints = [[1.0, 2.0], [2.0, nan]]", "deviation of point 2"),
        ("kind = \"points\"\npoints = [[1.0, 2.0], [2.0, 3.0, 4.0]]", "noise curve"),
        ("kind = \"cubic\"", "cubic"),
        ("", "kind"),
    ] {
        let e = Curve::from_toml(text).unwrap_err().to_string();
        assert!(e.contains(why), "{text}: {e}");
    }
}

#[test]
fn points_beyond_any_sense_give_finite_numbers() {
    let steep = Curve::from_points(&[(0.0, 1000.0), (0.01, 0.001), (1.0, 5000.0)]).unwrap();
    let far = Curve::from_points(&[(-1e6, 0.001), (1e6, 1e4)]).unwrap();
    for curve in
        [steep, far, Curve::poisson_gauss(1e6, 1e8).unwrap(), Curve::poisson_gauss(1e-5, 1e-6).unwrap()]
    {
        assert!(curve.sigma().is_finite() && curve.sigma() > 0.0);
        for z in [-1e9, -10.0, 0.0, 1.0, 255.0, 1e9] {
            assert!(curve.forward(z).is_finite() && curve.inverse(z).is_finite(), "{z} {curve:?}");
        }
    }
}
