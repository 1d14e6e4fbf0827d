//! What is done to the samples: one scale for sigma, colours, pages, plans and parameters, reports.

use std::fs;

use crate::common::{Folder, noisy, noisy_rgb, psnr};
use quell::{Frame, Plane};
use quell_io::SampleType;

#[test]
fn sigma_means_the_same_at_every_depth() {
    let f = Folder::new("depth");
    // Rounded first, so that all three hold the same picture.
    f.noisy("a8.pgm", SampleType::U8);
    let frame = f.load("a8.pgm").remove(0);
    f.save("a16.pgm", std::slice::from_ref(&frame), SampleType::U16);
    f.save("af.npy", &[frame], SampleType::F32);
    f.quell(&["a8.pgm", "a16.pgm", "af.npy", "--sigma", "15", "-o", "out"]).expect(0);
    let eight = f.load("out/a8.pgm").remove(0);
    for name in ["out/a16.pgm", "out/af.npy"] {
        let other = f.load(name).remove(0);
        let pairs = eight.planes()[0].as_slice().iter().zip(other.planes()[0].as_slice());
        // Scaling rounds, and patches at the very threshold may change sides; a wrong sigma is off by far more.
        let mean = pairs.map(|(a, b)| (a - b).abs()).sum::<f32>() / 576.0;
        assert!(mean < 0.4, "{name} differs by {mean}");
    }
}

#[test]
fn white_can_be_given_for_float_pictures() {
    let f = Folder::new("white");
    let frame = noisy(24, 24, 1);
    f.save("unit.npy", std::slice::from_ref(&frame), SampleType::F32);
    let page = quell_io::Page { frame, alpha: None, samples: SampleType::F32 };
    let picture = quell_io::Picture {
        pages: vec![page],
        metadata: quell_io::Metadata::default(),
        format: quell_io::Format::Npy,
        notes: Vec::new(),
    };
    quell_io::write(&f.path("byte.npy"), &picture, &quell_io::WriteOptions::default()).unwrap();
    let sigma = |args: &[&str]| {
        let found = f.quell(&[args, &["--json", "--force"]].concat()).expect(0).json()[0]["sigma"].as_f64();
        found.unwrap()
    };
    let (unit, byte) = (sigma(&["unit.npy"]), sigma(&["byte.npy", "--white", "255"]));
    assert!((unit - byte).abs() < 0.01 * unit, "{unit} and {byte}");
}

#[test]
fn colour_and_every_mode() {
    let f = Folder::new("colour");
    f.save("a.ppm", &[noisy_rgb(24, 24)], SampleType::U8);
    for mode in ["opp", "ycbcr", "independent", "luma"] {
        let run = f.quell(&["a.ppm", "--sigma", "15", "--color", mode, "--force"]).expect(0);
        run.says("a.ppm: 24 x 24 RGB, sigma 15");
        assert_eq!(f.load("a.quell.ppm")[0].channels(), 3);
    }
}

#[test]
fn every_page_is_filtered() {
    let f = Folder::new("pages");
    f.save("a.tif", &[noisy(24, 24, 1), noisy(32, 16, 2)], SampleType::U8);
    let run = f.quell(&["a.tif", "--sigma", "15", "--json"]).expect(0).says("2 pages");
    assert_eq!(run.json()[0]["pages"], 2);
    let (old, new) = (f.load("a.tif"), f.load("a.quell.tif"));
    assert_eq!(new.len(), 2);
    for (a, b) in old.iter().zip(&new) {
        assert!(psnr(b) > psnr(a) + 3.0);
    }
}

#[test]
fn strength_and_passes_change_the_result() {
    let f = Folder::new("strength");
    f.picture("a.pgm");
    let result = |args: &[&str]| {
        f.quell(&[&["a.pgm", "--sigma", "15", "--force", "-o", "b.pgm"], args].concat()).expect(0);
        fs::read(f.path("b.pgm")).unwrap()
    };
    let plain = result(&[]);
    assert_eq!(plain, result(&["--strength", "1", "--threads", "1"]));
    assert_ne!(plain, result(&["--strength", "2"]));
    assert_ne!(plain, result(&["--passes", "1"]));
    assert_ne!(plain, result(&["--hard-group", "2", "--wiener-group", "2"]));
}

#[test]
fn a_printed_plan_is_a_parameter_file() {
    let f = Folder::new("plan");
    f.picture("a.pgm");
    let args = ["a.pgm", "--sigma", "15", "--hard-step", "4", "--lambda", "2.9"];
    let plan = f.quell(&[&args[..], &["--print-plan"]].concat()).expect(0);
    assert!(plan.out().contains("a.pgm: 24 x 24 grey, sigma 15") && plan.out().contains("step = 4"));
    assert_eq!(f.files(), ["a.pgm"], "a plan does nothing else");

    fs::write(f.path("plan.toml"), plan.out()).unwrap();
    let again = f.quell(&["a.pgm", "--sigma", "15", "--params", "plan.toml", "--print-plan"]).expect(0);
    assert_eq!(again.out(), plan.out());

    f.quell(&[&args[..], &["-o", "flags.pgm"]].concat()).expect(0);
    f.quell(&["a.pgm", "--sigma", "15", "--params", "plan.toml", "-o", "file.pgm"]).expect(0);
    assert_eq!(fs::read(f.path("flags.pgm")).unwrap(), fs::read(f.path("file.pgm")).unwrap());
}

#[test]
fn json_has_one_object_per_file_and_nothing_else() {
    let f = Folder::new("json");
    f.picture("a.pgm");
    let run = f.quell(&["a.pgm", "missing.pgm", "--json", "--sigma", "15", "--quiet"]).expect(1);
    let records = run.json();
    assert_eq!(records.len(), 2);
    let a = &records[0];
    for (key, value) in
        [("input", "a.pgm"), ("output", "a.quell.pgm"), ("status", "done"), ("profile", "normal")]
    {
        assert_eq!(a[key], value);
    }
    assert_eq!((&a["width"], &a["height"], &a["channels"]), (&24.into(), &24.into(), &1.into()));
    assert_eq!(a["sigma"], 15.0);
    assert!(a["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!((&records[1]["status"], &records[1]["error"]), (&"failed".into(), &"no such file".into()));
    let again = f.quell(&["a.pgm", "missing.pgm", "--json", "--sigma", "15"]).expect(1);
    assert_eq!(again.json()[0]["status"], "skipped");
}

#[test]
fn remarks_on_what_a_format_cannot_keep_are_shown() {
    let f = Folder::new("remarks");
    f.noisy("a.npy", SampleType::F32);
    let run =
        f.quell(&["a.npy", "-o", "a.png", "--sigma", "15", "--json"]).expect(0).says("note: a.npy: PNG");
    assert!(!run.json()[0]["notes"].as_array().unwrap().is_empty());
    fs::rename(f.path("a.png"), f.path("b.tif")).unwrap();
    f.quell(&["b.tif", "--sigma", "15"]).expect(0).says("note: b.tif: ");
}

#[test]
fn coarse_noise_is_pointed_out() {
    let f = Folder::new("coarse");
    // White noise at half the size, each sample spread over four pixels.
    let flat = Frame::grey(Plane::from_vec(96, 96, vec![120.0; 96 * 96]).unwrap(), 255.0).unwrap();
    let fine = quell::noise::add_gaussian(&flat, 12.0, 1).unwrap();
    let row = |y: usize| fine.planes()[0].row(y / 2).iter().flat_map(|&v| [v, v]).collect::<Vec<_>>();
    let data = (0..192).flat_map(row).collect();
    let coarse = Frame::grey(Plane::from_vec(192, 192, data).unwrap(), 255.0).unwrap();
    f.save("coarse.npy", &[coarse], SampleType::F32);
    f.save("fine.npy", &[fine], SampleType::F32);
    f.quell(&["coarse.npy", "--profile", "fast", "--estimator", "ponomarenko"])
        .expect(0)
        .says("try --estimator coarse");
    let run = f.quell(&["fine.npy", "--profile", "fast", "--json"]).expect(0);
    assert_eq!(run.json()[0]["notes"], serde_json::json!([]));
}

#[test]
fn jpeg_quality_is_obeyed() {
    let f = Folder::new("jpeg");
    f.picture("a.png");
    let size = |quality: &str| {
        f.quell(&["a.png", "-o", "a.jpg", "--sigma", "15", "--force", "--jpeg-quality", quality]).expect(0);
        fs::metadata(f.path("a.jpg")).unwrap().len()
    };
    assert!(size("20") < size("98"));
}

#[test]
fn quiet_says_only_errors() {
    let f = Folder::new("quiet");
    f.picture("a.pgm");
    let run = f.quell(&["a.pgm", "--sigma", "15", "--quiet"]).expect(0);
    assert_eq!((run.out(), run.err()), ("", ""));
    f.quell(&["b.pgm", "--quiet"]).expect(1).says("error: b.pgm: no such file");
}

#[test]
fn no_escape_codes_outside_a_terminal() {
    let f = Folder::new("plain");
    f.picture("a.pgm");
    let run = f.quell(&["a.pgm", "b.pgm", "--sigma", "15"]).expect(1);
    assert!(!run.err().contains('\x1b'));
}
