//! Ctrl-C: the work stops, nothing partial is left, what was finished stays.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, noisy};
use quell_io::SampleType;

/// Slow on every machine: a reference patch at every pixel, the largest window and groups.
const SLOW: &str =
    "--sigma 15 --device cpu --threads 1 --hard-step 1 --hard-window 127 --hard-group 128 --hard-tau 60000";

fn start(f: &Folder, args: &str) -> Child {
    let args: Vec<&str> = args.split(' ').chain(SLOW.split(' ')).collect();
    f.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Interrupts it; it ends soon, with exit code 130.
fn interrupt(child: Child) -> String {
    let signalled = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let out = child.wait_with_output().unwrap();
    assert!(signalled.elapsed() < Duration::from_secs(5), "took {:?}", signalled.elapsed());
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(130), "{said}");
    said
}

#[test]
fn ctrl_c_ends_with_130_and_leaves_no_partial_file() {
    let f = Folder::new("ctrl-c");
    f.picture("a.pgm");
    f.save("big.pgm", &[noisy(1500, 1500, 1)], SampleType::U8);
    let child = start(&f, "a.pgm big.pgm");
    let started = Instant::now();
    while !f.path("a.quell.pgm").is_file() {
        assert!(started.elapsed() < Duration::from_secs(100), "the first picture never came");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    interrupt(child);
    assert_eq!(f.files(), ["a.pgm", "a.quell.pgm", "big.pgm"]);
}

#[test]
fn ctrl_c_ends_several_pictures_at_once() {
    let f = Folder::new("ctrl-c-jobs");
    let names = ["a.pgm", "b.pgm", "c.pgm", "d.pgm"];
    names.iter().for_each(|n| drop(f.save(n, &[noisy(1500, 1500, 1)], SampleType::U8)));
    let child = start(&f, "a.pgm b.pgm c.pgm d.pgm --jobs 3");
    std::thread::sleep(Duration::from_millis(1500));
    interrupt(child);
    assert_eq!(f.files(), names);
}

/// Enough noise for a filter that takes its time.
fn clip(f: &Folder, name: &str) {
    let mut clip = b"YUV4MPEG2 W320 H240 F25:1 Cmono\n".to_vec();
    for seed in 0..40 {
        clip.extend(b"FRAME\n");
        clip.extend(noisy(320, 240, seed).planes()[0].as_slice().iter().map(|v| v.clamp(0.0, 255.0) as u8));
    }
    std::fs::write(f.path(name), clip).unwrap();
}

#[test]
fn ctrl_c_leaves_no_part_of_a_clip() {
    let f = Folder::new("ctrl-c-clip");
    clip(&f, "a.y4m");
    let child = start(&f, "a.y4m");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(f.files().len(), 2, "a temporary file: {:?}", f.files());
    interrupt(child);
    assert_eq!(f.files(), ["a.y4m"]);
}

#[test]
fn ctrl_c_ends_ffmpeg_too() {
    let f = Folder::new("ctrl-c-ffmpeg");
    clip(&f, "a.y4m");
    if !Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).status().is_ok_and(|s| s.success()) {
        eprintln!("skipped: ffmpeg was not found");
        return;
    }
    let child = start(&f, "a.y4m -o b.mkv");
    std::thread::sleep(Duration::from_millis(2500));
    interrupt(child);
    // What ffmpeg might still write would be seen now.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(f.files(), ["a.y4m"]);
}
