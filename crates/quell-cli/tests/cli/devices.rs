//! Devices: what is listed, what is named, several pictures at once.

use std::fs;

use crate::common::{Folder, noisy};
use quell_io::SampleType;

#[test]
fn every_device_says_whether_it_can_be_used() {
    let f = Folder::new("list");
    let run = f.quell(&["devices", "--json"]).expect(0);
    assert_eq!(run.err(), "", "no noise about drivers that are not there");
    let all = run.json();
    let cpu = all.last().unwrap();
    assert_eq!((&cpu["name"], &cpu["kind"], &cpu["usable"]), (&"cpu".into(), &"cpu".into(), &true.into()));
    assert!(cpu["units"].as_u64().unwrap() > 0);
    for device in &all {
        let (name, kind) = (device["name"].as_str().unwrap(), device["kind"].as_str().unwrap());
        assert!(name == "cpu" || name.starts_with(&format!("{kind}:")), "{device}");
        if device["usable"] == false {
            assert!(!device["problem"]["why"].as_str().unwrap().is_empty(), "{device}");
            assert!(!device["problem"]["remedy"].as_str().unwrap().is_empty(), "{device}");
        }
    }
    let table = f.quell(&["devices"]).expect(0);
    assert!(
        table.out().starts_with("name") && table.out().lines().count() == all.len() + 1,
        "{}",
        table.out()
    );
}

#[test]
fn a_named_device_that_is_not_there_is_an_error_and_nothing_is_written() {
    let f = Folder::new("absent");
    f.picture("a.pgm");
    for device in ["cuda:63", "opencl:63"] {
        for args in
            [&["a.pgm", "--sigma", "15"][..], &["bench", "--size", "16x16"], &["gpu-check", "--quick"]]
        {
            let run = f.quell(&[args, &["--device", device]].concat()).expect(1);
            assert!(run.err().starts_with(&format!("error: {device}: ")), "{}", run.err());
            run.says("hint: quell devices shows");
        }
    }
    assert_eq!(f.files(), ["a.pgm"]);
}

#[test]
fn the_command_line_is_checked_before_a_device_is_started() {
    let f = Folder::new("before");
    f.picture("a.pgm");
    f.quell(&["a.pgm", "--device", "cuda:63", "--hard-step", "99"]).expect(2).says("--hard-step 99");
    f.quell(&["a.pgm", "--device", "cuda:63", "-o", "a.pgm"]).expect(2).says("would overwrite");
    f.quell(&["bench", "--device", "cuda:63", "--hard-step", "99"]).expect(2).says("--hard-step 99");
}

#[test]
fn auto_and_cpu_give_a_picture() {
    let f = Folder::new("auto");
    f.picture("a.pgm");
    for device in ["auto", "cpu"] {
        let run = f.quell(&["a.pgm", "--sigma", "15", "--force", "--json", "--device", device]).expect(0);
        let used = run.json()[0]["device"].as_str().unwrap().to_owned();
        assert!(!used.is_empty() && (device == "auto" || used == "cpu"), "{used}");
    }
}

/// Standard error without the times.
fn lines(text: &str) -> Vec<String> {
    let line =
        |l: &str| l.rsplit_once(", ").filter(|(_, t)| t.ends_with(" s")).map_or(l, |(l, _)| l).to_owned();
    text.lines().map(line).collect()
}

#[test]
fn pictures_in_work_at_once_are_reported_in_order_and_come_out_the_same() {
    let f = Folder::new("jobs");
    for i in 0..9usize {
        // The first are the largest: with several at once, later ones are done before them.
        let size = 160 - 15 * i;
        f.save(&format!("in/{i}.pgm"), &[noisy(size, size, i as u64)], SampleType::U8);
    }
    fs::write(f.path("in/4.pgm"), "not a picture at all").unwrap();
    let run = |out: &str, jobs: &str| {
        f.quell(&["in", "-o", out, "--sigma", "15", "--jobs", jobs, "--threads", "1", "--json"]).expect(1)
    };
    let (one, four) = (run("one/", "1"), run("four/", "4"));
    let inputs = |r: &crate::common::Run| r.json().iter().map(|j| j["input"].to_string()).collect::<Vec<_>>();
    assert_eq!(inputs(&one).len(), 9);
    assert_eq!(inputs(&one), inputs(&four));
    assert_eq!(lines(one.err()), lines(&four.err().replace("four/", "one/")));
    for i in (0..9).filter(|i| *i != 4) {
        let read = |folder: &str| fs::read(f.path(&format!("{folder}/{i}.pgm"))).unwrap();
        assert_eq!(read("one"), read("four"));
    }
    assert_eq!(f.files().len(), 9 + 2 * 8, "{:?}", f.files());
    let again = f.quell(&["in", "-o", "four/", "--sigma", "15", "--jobs", "4"]).expect(1);
    again.says("8 skipped: made before from the same inputs with the same settings");
}

#[test]
fn several_estimates_at_once_and_several_depths() {
    let f = Folder::new("jobs-depths");
    f.noisy("a.pgm", SampleType::U8);
    f.noisy("b.pgm", SampleType::U16);
    f.noisy("c.npy", SampleType::F32);
    let inputs = ["a.pgm", "b.pgm", "c.npy"];
    f.quell(&[&inputs[..], &["--jobs", "3", "--sigma", "15"]].concat()).expect(0).says("3 pictures done");
    f.quell(&[&inputs[..], &["--jobs", "3", "--force"]].concat()).expect(0).says("(estimated)");
    f.quell(&[&inputs[..], &["--jobs", "0"]].concat()).expect(2);
}

#[test]
fn bench_takes_sizes_colours_and_streams() {
    let f = Folder::new("bench-many");
    let args = "bench --device cpu --size 24x16,16x24 --rgb --repeat 1 --stream 3 --profile fast --json";
    let rows = f.quell(&args.split(' ').collect::<Vec<_>>()).expect(0).json();
    let sizes: Vec<_> = rows.iter().map(|r| (r["width"].as_u64(), r["height"].as_u64())).collect();
    assert_eq!(sizes, [(Some(24), Some(16)), (Some(16), Some(24))]);
    for row in &rows {
        assert_eq!(row["channels"], 3);
        assert!(row["stream_fps"].as_f64().unwrap() > 0.0 && row["psnr"].as_f64().unwrap() > 20.0, "{row}");
    }
    for args in [&["--sample", "i8"][..], &["--stream", "-1"], &["--size", "4x4,"], &["--repeat", "0"]] {
        f.quell(&[&["bench"], args].concat()).expect(2);
    }
}

#[test]
fn the_check_passes_on_the_processor_and_prints_a_row_per_case() {
    let f = Folder::new("check");
    let rows = f.quell(&["gpu-check", "--device", "cpu", "--quick", "--json"]).expect(0).json();
    assert!(rows.len() >= 35, "{} cases", rows.len());
    for row in &rows {
        assert_eq!(row["result"], "pass", "{row}");
    }
    assert!(rows.iter().any(|r| r["same_groups"] == true));
    assert!(rows.iter().any(|r| r["case"].as_str().unwrap().starts_with("tiles")));
}

/// A device besides the processor to run on, if `scripts/gpu-tools` found one.
fn other_device() -> Option<String> {
    let device = std::env::var("QUELL_TEST_DEVICE").ok();
    if device.is_none() {
        println!("skipped: QUELL_TEST_DEVICE names no device");
    }
    device
}

#[test]
fn another_device_gives_the_same_picture() {
    let Some(device) = other_device() else { return };
    let f = Folder::new("other");
    for (name, samples) in [("a.pgm", SampleType::U8), ("b.pgm", SampleType::U16), ("c.npy", SampleType::F32)]
    {
        f.save(name, &[noisy(61, 47, 3)], samples);
    }
    let inputs = ["a.pgm", "b.pgm", "c.npy"];
    for (out, device) in [("cpu/", "cpu"), ("other/", &device)] {
        let flags = ["-o", out, "--sigma", "15", "--profile", "original", "--device", device, "--json"];
        let run = f.quell(&[&inputs[..], &flags].concat()).expect(0);
        let records = run.json();
        assert_eq!(records.iter().map(|r| r["input"].as_str().unwrap()).collect::<Vec<_>>(), inputs);
        assert!(records.iter().all(|r| r["device"].as_str().unwrap().starts_with(device)), "{records:?}");
    }
    for name in inputs {
        let db = |folder: &str| crate::common::psnr(&f.load(&format!("{folder}/{name}"))[0]);
        let (cpu, other) = (db("cpu"), db("other"));
        assert!((cpu - other).abs() < 0.01, "{name}: {cpu} and {other} dB");
    }
}

#[test]
fn another_device_is_measured_stage_by_stage() {
    let Some(device) = other_device() else { return };
    let f = Folder::new("other-bench");
    let args = "bench --size 64x48 --profile original --repeat 3 --stream 4 --json --device";
    let run = f.quell(&args.split(' ').chain([device.as_str()]).collect::<Vec<_>>()).expect(0);
    let m = &run.json()[0];
    assert_eq!((m["width"].as_u64(), m["total_ms"].as_array().unwrap().len()), (Some(64), 3), "{m}");
    assert!(m["stages_ms"].as_object().unwrap().len() >= 4, "{m}");
    for key in ["median_ms", "host_ms", "stream_fps", "device_bytes"] {
        assert!(m[key].as_f64().unwrap() > 0.0, "{key}: {m}");
    }
    assert!(m["psnr"].as_f64().unwrap() > 24.0, "{m}");
    f.quell(&["bench", "--sigma", "auto", "--device", &device]).expect(2).says("--sigma auto");
}
