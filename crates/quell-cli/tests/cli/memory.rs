//! Pictures that there is no memory for: an error of that picture, whatever it is that does not fit.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::common::Folder;

/// Runs quell with so many MiB of address space.
fn limited(f: &Folder, mib: usize, args: &[&str]) -> std::process::Output {
    let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", mib << 10);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_quell")]).args(args).current_dir(f.path(""));
    // Arenas of threads are address space that nobody uses.
    shell.env("MALLOC_ARENA_MAX", "2").output().unwrap()
}

/// A grey picture of 40 million pixels, almost for nothing.
fn large(f: &Folder) {
    let file = fs::File::create(f.path("a-large.pgm")).unwrap();
    std::io::Write::write_all(&mut &file, b"P5 8000 5000 255\n").unwrap();
    file.set_len(17 + 8000 * 5000).unwrap();
}

#[test]
fn a_picture_too_large_for_memory_fails_alone_with_its_size() {
    let f = Folder::new("memory");
    large(&f);
    f.picture("b-small.pgm");
    // What is too much: the file, its samples, the copies of the filter.
    for (mib, method) in
        [(150, "bm3d"), (250, "bm3d"), (420, "bm3d"), (560, "bm3d"), (420, "nlm"), (420, "isoline")]
    {
        let args =
            ["a-large.pgm", "b-small.pgm", "-o", "out/", "--sigma", "15", "--jobs", "1", "--threads", "2"];
        let run = limited(
            &f,
            mib,
            &[&args[..], &["--method", method, "--profile", "fast", "--device", "cpu"]].concat(),
        );
        let err = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.signal(), None, "{mib} MiB, {method}: {err}");
        assert_eq!(run.status.code(), Some(1), "{mib} MiB, {method}: {err}");
        assert!(err.contains("error: a-large.pgm: not enough memory"), "{mib} MiB, {method}: {err}");
        let size = err.contains("8000 x 5000 pixels") || err.contains("40000017 bytes");
        assert!(size && err.contains("hint: ") && !err.contains("panicked"), "{mib} MiB, {method}: {err}");
        assert!(f.path("out/b-small.pgm").exists() && !f.path("out/a-large.pgm").exists());
        fs::remove_dir_all(f.path("out")).unwrap();
    }
}
