//! Ctrl-C: the work stops, nothing partial is left, what was finished stays.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, noisy};
use quell_io::SampleType;

#[test]
fn ctrl_c_ends_with_130_and_leaves_no_partial_file() {
    interrupt("ctrl-c", "1");
}

#[test]
fn ctrl_c_ends_several_pictures_at_once() {
    interrupt("ctrl-c-jobs", "3");
}

fn interrupt(test: &str, jobs: &str) {
    let f = Folder::new(test);
    f.picture("a.pgm");
    f.save("big.pgm", &[noisy(1500, 1500, 1)], SampleType::U8);
    // Slow on every machine: a reference patch at every pixel, the largest window and groups.
    let slow = "--hard-step 1 --hard-window 127 --hard-group 128 --hard-tau 60000 --threads 1";
    let args: Vec<&str> =
        "a.pgm big.pgm --sigma 15 --jobs".split(' ').chain([jobs]).chain(slow.split(' ')).collect();
    let child = f.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !f.path("a.quell.pgm").is_file() {
        assert!(started.elapsed() < Duration::from_secs(100), "the first picture never came");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    let signalled = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let out = child.wait_with_output().unwrap();
    assert!(signalled.elapsed() < Duration::from_secs(5), "took {:?}", signalled.elapsed());
    assert_eq!(out.status.code(), Some(130), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(f.files(), ["a.pgm", "a.quell.pgm", "big.pgm"]);
}
