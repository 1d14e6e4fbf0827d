//! The commands beside denoising, and help.

use crate::common::{self, Folder, clean, noisy, noisy_rgb};
use quell::Frame;
use quell_io::SampleType;

#[test]
fn noise_is_estimated_by_every_estimator() {
    let f = Folder::new("noise");
    f.save("a.pgm", &[noisy(64, 64, 1)], SampleType::U16);
    f.save("c.ppm", &[noisy_rgb(64, 64)], SampleType::U8);
    let rows = f.quell(&["noise", "a.pgm", "c.ppm", "--json"]).expect(0).json();
    assert_eq!(rows.len(), 2 * quell::noise::Estimator::ALL.len());
    for row in &rows {
        let sigma = row["sigma"].as_f64().unwrap();
        assert!((9.0..21.0).contains(&sigma), "{row}");
        assert_eq!(row["red"].is_null(), row["file"] == "a.pgm");
    }
    let text = f.quell(&["noise", "a.pgm"]).expect(0);
    assert!(text.out().starts_with("file "), "{}", text.out());
    assert!(text.out().contains("mad"));
}

#[test]
fn noise_goes_on_after_a_bad_file() {
    let f = Folder::new("noise-bad");
    f.picture("a.pgm");
    let run = f.quell(&["noise", "missing.pgm", "a.pgm"]).expect(1).says("missing.pgm: no such file");
    assert!(run.out().contains("a.pgm"));
}

#[test]
fn compare_measures_against_the_clean_picture() {
    let f = Folder::new("compare");
    f.save("clean.pgm", &[clean(32, 32)], SampleType::U8);
    f.save("noisy.pgm", &[noisy(32, 32, 1)], SampleType::U16);
    let rows = f.quell(&["compare", "clean.pgm", "noisy.pgm", "clean.pgm", "--json"]).expect(0).json();
    let psnr = rows[0]["psnr"].as_f64().unwrap();
    // 20 log10(255 / 15) = 24.6.
    assert!((psnr - 24.6).abs() < 0.5, "{psnr}");
    assert!(rows[0]["ssim"].as_f64().unwrap() < 0.99);
    assert_eq!((&rows[1]["identical"], &rows[1]["ssim"]), (&true.into(), &1.0.into()));
    let csv = f.quell(&["compare", "clean.pgm", "noisy.pgm", "--csv"]).expect(0);
    let mut lines = csv.out().lines();
    assert!(lines.next().unwrap().starts_with("file,page,identical,psnr,"));
    assert!(lines.next().unwrap().starts_with("noisy.pgm,,false,24."));
}

#[test]
fn compare_refuses_other_sizes_and_goes_on() {
    let f = Folder::new("compare-size");
    f.save("clean.pgm", &[clean(32, 32)], SampleType::U8);
    f.save("small.pgm", &[clean(24, 24)], SampleType::U8);
    let run =
        f.quell(&["compare", "clean.pgm", "small.pgm", "clean.pgm"]).expect(1).says("error: small.pgm: ");
    assert!(run.out().contains("clean.pgm"));
}

#[test]
fn degrade_is_seeded_and_says_what_integers_lose() {
    let f = Folder::new("degrade");
    f.save("clean.pgm", &[clean(64, 64)], SampleType::U8);
    let make = |out: &str, seed: &str| {
        f.quell(&["degrade", "clean.pgm", "-o", out, "--sigma", "20", "--seed", seed]).expect(0)
    };
    make("a.pgm", "7").says("rounded and clipped");
    make("b.pgm", "7");
    make("c.pgm", "8");
    assert_eq!(f.load("a.pgm"), f.load("b.pgm"));
    assert_ne!(f.load("a.pgm"), f.load("c.pgm"));
    let psnr = common::psnr(&f.load("a.pgm")[0]);
    assert!((psnr - 22.1).abs() < 0.5, "{psnr}");
}

#[test]
fn degrade_to_float_clips_nothing() {
    let f = Folder::new("degrade-float");
    f.save("clean.pgm", &[clean(64, 64)], SampleType::U8);
    let run = f.quell(&["degrade", "clean.pgm", "-o", "a.npy", "--sigma", "100", "--float"]).expect(0);
    assert_eq!(run.err(), "");
    let frame = f.load("a.npy").remove(0);
    assert!(frame.planes()[0].as_slice().iter().any(|v| *v < 0.0));
    let psnr = common::psnr(&frame);
    assert!((psnr - 8.13).abs() < 0.4, "{psnr}");
}

#[test]
fn poisson_noise_grows_with_the_signal() {
    let f = Folder::new("poisson");
    f.save("clean.pgm", &[clean(64, 64)], SampleType::U8);
    let psnr = |gain: &str| {
        let args = ["degrade", "clean.pgm", "-o", "a.npy", "--float", "--sigma", "0", "--poisson", gain];
        f.quell(&args).expect(0);
        common::psnr(&f.load("a.npy")[0])
    };
    // Variance 4 times the mean of about 120: deviation 22.
    let four = psnr("4");
    assert!((four - 21.3).abs() < 1.0, "{four}");
    assert!(psnr("1") > four + 5.0);
}

#[test]
fn degrade_makes_correlated_noise_and_tells_its_spectrum() {
    let f = Folder::new("degrade-correlated");
    f.save("clean.pgm", &[clean(64, 48)], SampleType::U8);
    let args = ["degrade", "clean.pgm", "-o", "a.npy", "--float", "--sigma", "20", "--noise-kernel", "g1"];
    f.quell(&[&args[..], &["--write-psd", "psd.tif"]].concat()).expect(0);
    let psnr = common::psnr(&f.load("a.npy")[0]);
    assert!((psnr - 22.1).abs() < 1.5, "{psnr}");
    let psd = quell_io::read(&f.path("psd.tif"), &quell_io::ReadOptions::default()).unwrap();
    let plane = &psd.pages[0].frame.planes()[0];
    let n = (64 * 48) as f64;
    let variance = plane.as_slice().iter().map(|&v| f64::from(v)).sum::<f64>() / (n * n);
    assert!((variance - 400.0).abs() < 0.1, "{variance}");
    f.quell(&[&args[..], &["--write-psd", "psd.png"]].concat()).expect(2).says("--write-psd: psd.png cannot");
    f.quell(&["degrade", "clean.pgm", "-o", "b.npy", "--sigma", "5", "--noise-kernel", "g9"]).expect(2);
}

#[test]
fn degrade_follows_a_covariance_and_noise_finds_it_again() {
    let f = Folder::new("degrade-covariance");
    let grey = clean(160, 160).into_planes().remove(0);
    f.save("clean.ppm", &[Frame::new(vec![grey; 3], 255.0).unwrap()], SampleType::U8);
    std::fs::write(f.path("cov.txt"), "900 600 0 # red\n600 900 0\n0 0 100\n").unwrap();
    f.quell(&["degrade", "clean.ppm", "-o", "a.npy", "--float", "--noise-cov", "cov.txt"]).expect(0);
    let rows = f.quell(&["noise", "--correlation", "--json", "a.npy"]).expect(0).json();
    let number = |key: &str| rows[0][key].as_f64().unwrap();
    assert!((number("red_green") - 0.667).abs() < 0.1 && number("red_blue").abs() < 0.1, "{rows:?}");
    assert!(
        (number("red") / 30.0 - 1.0).abs() < 0.2 && (number("blue") / 10.0 - 1.0).abs() < 0.3,
        "{rows:?}"
    );
    std::fs::write(f.path("bad.txt"), "1 2 0\n2 1 0\n0 0 1").unwrap();
    f.quell(&["degrade", "clean.ppm", "-o", "b.npy", "--float", "--noise-cov", "bad.txt"])
        .expect(1)
        .says("bad.txt: noise covariance = 1 2 0, 2 1 0, 0 0 1: must be positive definite");
}

#[test]
fn devices_are_listed() {
    let f = Folder::new("devices");
    assert!(f.quell(&["devices"]).expect(0).out().contains("cpu"));
    // GPUs come first.
    assert_eq!(f.quell(&["devices", "--json"]).expect(0).json().last().unwrap()["name"], "cpu");
}

#[test]
fn bench_reports_time_memory_and_quality() {
    let f = Folder::new("bench");
    f.save("noisy.npy", &[noisy(32, 32, 1)], SampleType::F32);
    f.save("clean.npy", &[clean(32, 32)], SampleType::F32);
    let args = "bench --input noisy.npy --reference clean.npy --sigma 15 --threads 1 --repeat 2 --output out.npy --json";
    let run = f.quell(&args.split(' ').collect::<Vec<_>>()).expect(0);
    let m = &run.json()[0];
    for times in ["wall_s", "cpu_s"] {
        let times = m[times].as_array().unwrap();
        assert!(times.len() == 2 && times.iter().all(|t| t.as_f64().unwrap() > 0.0), "{m}");
    }
    assert_eq!((&m["threads"], &m["width"], &m["height"]), (&1.into(), &32.into(), &32.into()));
    assert_eq!((&m["profile"], &m["device"]), (&"normal".into(), &"cpu".into()));
    if cfg!(target_os = "linux") {
        assert!(m["peak_rss_bytes"].as_u64().unwrap() > 1 << 20);
    }
    let written = common::psnr(&f.load("out.npy")[0]);
    assert!((written - m["psnr"].as_f64().unwrap()).abs() < 0.01);
}

#[test]
fn bench_makes_a_picture_and_takes_parameters_and_levels() {
    let f = Folder::new("bench-made");
    let base = ["bench", "--size", "24x16", "--repeat", "1"];
    let run =
        f.quell(&[&base[..], &["--level", "portable", "--hard-group", "4", "--json"]].concat()).expect(0);
    assert_eq!(run.json()[0]["level"], "portable");
    assert_eq!(run.json()[0]["height"], 16);
    let table = f.quell(&[&base[..], &["--profile", "all"]].concat()).expect(0);
    for profile in quell::bm3d::Profile::ALL {
        assert!(table.out().lines().any(|l| l.starts_with(profile.name())), "{}", table.out());
    }
}

#[test]
fn help_teaches() {
    let f = Folder::new("help");
    let short = f.quell(&["-h"]).expect(0);
    assert!(short.out().contains("Examples:") && !short.out().contains("--hard-step"));
    let long = f.quell(&["--help"]).expect(0);
    for p in quell::bm3d::PARAMETERS {
        assert!(long.out().contains(&format!("--{}", p.flag())), "--{}", p.flag());
    }
    for profile in quell::bm3d::Profile::ALL {
        assert!(long.out().contains(&format!("- {}:", profile.name())), "{}", profile.name());
    }
    assert!(f.quell(&["--version"]).expect(0).out().starts_with("quell "));
    assert!(f.quell(&["completions", "bash"]).expect(0).out().contains("--in-place"));
}
