//! What a second run does again, and what it leaves out.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::common::{Folder, RECORD, noisy};
use quell_io::SampleType;

const ARGS: [&str; 4] = ["a.pgm", "b.pgm", "--sigma", "15"];
const SKIPPED: &str = "skipped: made before from the same input";

fn set_time(path: &Path, time: SystemTime) {
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Two pictures, filtered once.
fn done(test: &str) -> Folder {
    let f = Folder::new(test);
    f.picture("a.pgm");
    f.picture("b.pgm");
    f.quell(&ARGS).expect(0).says("2 pictures done");
    f
}

#[test]
fn an_output_that_is_named_is_always_made() {
    let f = Folder::new("named");
    f.save("a.pgm", &[noisy(24, 24, 1)], SampleType::U8);
    f.save("b.pgm", &[noisy(24, 24, 2)], SampleType::U8);
    for (input, out) in [("a.pgm", "out.pgm"), ("b.pgm", "out.pgm"), ("b.pgm", "other.pgm")] {
        let run = f.quell(&[input, "-o", out, "--sigma", "15"]).expect(0);
        assert!(!run.err().contains("skipped"), "{}", run.err());
    }
    assert_eq!(f.load("out.pgm"), f.load("other.pgm"));
    // One input that is named is wanted, too, and leaves nothing but its output.
    for _ in 0..2 {
        f.quell(&["a.pgm", "--sigma", "15"]).expect(0).says("-> a.quell.pgm");
        f.quell(&["a.pgm", "-o", "sub/", "--sigma", "15"]).expect(0).says("-> sub/a.pgm");
    }
    assert!(!f.path(RECORD).exists() && !f.path("sub").join(RECORD).exists());
}

#[test]
fn what_is_done_is_skipped_by_a_batch_until_force() {
    let f = done("skip");
    let time = || fs::metadata(f.path("a.quell.pgm")).unwrap().modified().unwrap();
    let first = time();
    let run = f.quell(&ARGS).expect(0);
    let run = run.says("2 skipped: made before from the same inputs with the same settings, --force redoes");
    assert_eq!(run.err().lines().count(), 1, "{}", run.err());
    // Where and how it is computed does not matter.
    f.quell(&[&ARGS[..], &["--threads", "1", "--jobs", "2", "--tile", "64", "--json"]].concat())
        .expect(0)
        .says("2 skipped");
    assert_eq!(time(), first);
    f.quell(&[&ARGS[..], &["--force"]].concat()).expect(0).says("2 pictures done");
    assert_ne!(time(), first);
    f.quell(&ARGS).expect(0).says("2 skipped");
}

#[test]
fn another_input_under_the_same_name_is_done_whatever_its_time() {
    let f = done("input");
    let (a, out) = (f.path("a.pgm"), f.path("a.quell.pgm"));
    let before = fs::read(&out).unwrap();
    let time = fs::metadata(&a).unwrap().modified().unwrap();
    f.save("a.pgm", &[noisy(24, 24, 9)], SampleType::U8);
    // As cp -p, tar and rsync leave it: older than the output, and as large as before.
    for time in [time, time - Duration::from_secs(1000)] {
        set_time(&a, time);
        f.quell(&ARGS).expect(0).says("-> a.quell.pgm").says(&format!("1 {SKIPPED}"));
        assert_ne!(fs::read(&out).unwrap(), before);
    }
}

#[test]
fn other_settings_are_done() {
    let f = done("settings");
    fs::write(f.path("plan.toml"), "[hard]\nstep = 2").unwrap();
    for (i, args) in [
        &["--sigma", "16"][..],
        &["--sigma", "15", "--strength", "0.8"],
        &["--sigma", "15", "--profile", "fast"],
        &["--sigma", "15", "--method", "nlm"],
        &["--sigma", "15", "--hard-step", "2"],
        &["--sigma", "15", "--white", "200"],
        &["--sigma", "15", "--params", "plan.toml"],
        &[],
    ]
    .iter()
    .enumerate()
    {
        let args = [&["a.pgm", "b.pgm"], *args].concat();
        f.quell(&args).expect(0).says("2 pictures done");
        f.quell(&args).expect(0).says("2 skipped");
        assert_eq!(f.files().len(), 5, "{i}");
    }
    let args = [&ARGS[..], &["--params", "plan.toml"]].concat();
    f.quell(&args).expect(0).says("2 pictures done");
    fs::write(f.path("plan.toml"), "[hard]\nstep = 4").unwrap();
    f.quell(&args).expect(0).says("2 pictures done");
}

#[test]
fn an_output_that_is_not_as_it_was_left_is_never_done() {
    let f = done("output");
    let out = f.path("a.quell.pgm");
    let (made, time) = (fs::read(&out).unwrap(), fs::metadata(&out).unwrap().modified().unwrap());
    let mut flipped = made.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let later = SystemTime::now() + Duration::from_secs(1000);
    for (content, edited) in [(&b""[..], false), (&made[..made.len() / 2], true), (&flipped[..], true)] {
        for time in [time, later] {
            fs::write(&out, content).unwrap();
            set_time(&out, time);
            let run = f.quell(&ARGS).expect(0).says("-> a.quell.pgm").says(&format!("1 {SKIPPED}"));
            let note = "note: a.quell.pgm: was changed since quell made it, made again";
            assert_eq!(run.err().contains(note), edited, "{}", run.err());
            assert_eq!(fs::read(&out).unwrap(), made);
        }
    }
    fs::remove_file(&out).unwrap();
    f.quell(&ARGS).expect(0).says("-> a.quell.pgm").says(&format!("1 {SKIPPED}"));
}

#[test]
fn what_something_else_made_is_not_taken_for_done() {
    let f = Folder::new("others");
    for name in ["in/a.pgm", "in/b.pgm", "out/a.pgm"] {
        f.picture(name);
    }
    set_time(&f.path("out/a.pgm"), SystemTime::now() + Duration::from_secs(1000));
    f.quell(&["in", "-o", "out", "--sigma", "15"]).expect(0).says("2 pictures done");
}

#[test]
fn a_record_that_is_gone_or_damaged_only_costs_time() {
    let f = done("record");
    for rubbish in [Some(&b"\xff\xff\n{\"output\":"[..]), Some(b""), None] {
        match rubbish {
            Some(bytes) => fs::write(f.path(RECORD), bytes).unwrap(),
            None => fs::remove_file(f.path(RECORD)).unwrap(),
        }
        f.quell(&ARGS).expect(0).says("2 pictures done");
        f.quell(&ARGS).expect(0).says("2 skipped");
    }
    fs::remove_file(f.path(RECORD)).unwrap();
    fs::create_dir(f.path(RECORD)).unwrap();
    f.quell(&ARGS).expect(0).says("2 pictures done").says("note: cannot record what was done in");
}

#[test]
fn clips_and_numbered_pictures_are_skipped_by_the_same_rule() {
    let f = Folder::new("skipclips");
    let clip = |value: u8| [&b"YUV4MPEG2 W16 H16 F25:1 Cmono\nFRAME\n"[..], &[value; 256]].concat();
    fs::write(f.path("a.y4m"), clip(7)).unwrap();
    (1..4).for_each(|i| drop(f.picture(&format!("in/f_{i}.pgm"))));
    let args = ["a.y4m", "in/f_%d.pgm", "-o", "out", "--sigma", "15", "--method", "nlm"];
    f.quell(&args).expect(0).says("2 files done");
    f.quell(&args).expect(0).says("2 skipped");
    fs::write(f.path("a.y4m"), clip(8)).unwrap();
    f.quell(&args).expect(0).says("-> out/a.y4m").says(&format!("1 {SKIPPED}"));
    f.save("in/f_2.pgm", &[noisy(24, 24, 5)], SampleType::U8);
    f.quell(&args).expect(0).says("-> out/f_%d.pgm").says(&format!("1 {SKIPPED}"));
    fs::remove_file(f.path("out/f_3.pgm")).unwrap();
    f.quell(&args).expect(0).says("-> out/f_%d.pgm").says(&format!("1 {SKIPPED}"));
    f.quell(&args).expect(0).says("2 skipped");
}
