//! Clips and programs that stand in for ffmpeg, for the tests.

use std::fs;
use std::process::Command;

use crate::common::{Folder, Run, noisy};

/// Quick on every machine.
pub(crate) const QUICK: [&str; 8] =
    ["--method", "isoline", "--profile", "fast", "--sigma", "10", "--device", "cpu"];

/// Arguments with [`QUICK`] behind them.
pub(crate) fn quick<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, &QUICK].concat()
}

/// A noisy 4:2:0 clip.
pub(crate) fn y4m(width: usize, height: usize, frames: u64) -> Vec<u8> {
    let mut clip = format!("YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420jpeg\n").into_bytes();
    for i in 0..frames {
        clip.extend(b"FRAME\n");
        clip.extend(noisy(width, height, i).planes()[0].as_slice().iter().map(|v| v.clamp(0.0, 255.0) as u8));
        clip.extend(vec![128; 2 * width.div_ceil(2) * height.div_ceil(2)]);
    }
    clip
}

/// Runs ffmpeg in the folder; `false` if it is not there or lacks what is needed, which is said.
pub(crate) fn ffmpeg(f: &Folder, args: &str) -> bool {
    let mut command = Command::new("ffmpeg");
    command.current_dir(f.path("")).args(["-v", "error", "-y"]).args(args.split(' '));
    let made = command.output().is_ok_and(|o| o.status.success());
    if !made {
        eprintln!("skipped: ffmpeg was not found, or lacks what the test needs");
    }
    made
}

/// A picture that moves, and a tone: input for [`ffmpeg`].
pub(crate) const SOURCE: &str = "-f lavfi -i testsrc2=s=320x240:r=25:d=1.2 -f lavfi -i sine=d=1.2";

/// What ffprobe shows of `entries` of the first video stream.
pub(crate) fn probe(f: &Folder, name: &str, entries: &str) -> String {
    let out = Command::new("ffprobe")
        .args(["-v", "error", "-select_streams", "V:0", "-of", "compact=nk=0", "-show_entries", entries])
        .arg(f.path(name))
        .output()
        .unwrap();
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

/// Frames that can be decoded.
pub(crate) fn frames(f: &Folder, name: &str) -> u64 {
    let out = Command::new("ffprobe")
        .args(["-v", "error", "-select_streams", "V:0", "-count_frames"])
        .args(["-show_entries", "stream=nb_read_frames", "-of", "csv=p=0"])
        .arg(f.path(name))
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().find_map(|l| l.trim().trim_end_matches(',').parse().ok()).unwrap_or(0)
}

/// A script in place of ffmpeg, with the real ffprobe beside it.
pub(crate) fn stand_in(f: &Folder, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(f.path("bin")).unwrap();
    for (name, text) in [("ffmpeg", script), ("ffprobe", "exec ffprobe \"$@\"")] {
        let path = f.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Runs `quell` with the script.
pub(crate) fn with_stand_in(f: &Folder, args: &[&str]) -> Run {
    let mut command = f.command(&quick(args));
    command.env("QUELL_FFMPEG", f.path("bin/ffmpeg"));
    Run::of(command)
}

/// Files but those of [`stand_in`].
pub(crate) fn files(f: &Folder) -> Vec<String> {
    f.files().into_iter().filter(|n| !n.starts_with("bin/")).collect()
}
