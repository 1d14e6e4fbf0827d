//! Drivers that are not there, broken, or empty: libraries of our own in their place.

use std::path::PathBuf;
use std::process::Command;

use crate::common::{Folder, Run};

/// Compiles C into a folder of libraries; `None` where there is no compiler.
fn library(f: &Folder, names: &[&str], code: &str) -> Option<PathBuf> {
    std::fs::create_dir_all(f.path("lib")).unwrap();
    std::fs::write(f.path("fake.c"), code).unwrap();
    let flags = ["-shared", "-fPIC", "-w", "-o"];
    let made = Command::new("cc").args(flags).args([f.path("fake.so"), f.path("fake.c")]).status();
    if !made.is_ok_and(|s| s.success()) {
        println!("skipped: no C compiler");
        return None;
    }
    for name in names {
        std::fs::copy(f.path("fake.so"), f.path(&format!("lib/{name}"))).unwrap();
    }
    Some(f.path("lib"))
}

/// No OpenCL either, so that the processor is next.
const NO_OPENCL: &str = "
int clGetPlatformIDs(unsigned n, void** p, unsigned* count) { if (count) *count = 0; return -1001; }";

const NAMES: [&str; 5] = ["libcuda.so", "libcuda.so.1", "libOpenCL.so", "libOpenCL.so.1", "libnvcuda.so"];

fn run(f: &Folder, args: &[&str]) -> Run {
    let mut command = f.command(args);
    // The backtrace of a panic that is dealt with is of no interest.
    command.env("LD_LIBRARY_PATH", f.path("lib")).env("RUST_BACKTRACE", "0");
    Run::of(command)
}

#[test]
fn a_driver_that_does_not_start_is_said_in_one_line() {
    let f = Folder::new("broken-driver");
    f.picture("a.pgm");
    f.picture("b.pgm");
    let code = "
        int cuInit(unsigned flags) { return 999; }
        int cuDriverGetVersion(int* v) { *v = 13000; return 0; }
        int cuGetErrorString(int e, const char** s) { *s = \"unknown error\"; return 0; }
        int cuGetErrorName(int e, const char** s) { *s = \"CUDA_ERROR_UNKNOWN\"; return 0; }";
    let Some(_) = library(&f, &NAMES, &format!("{code}{NO_OPENCL}")) else { return };
    let pictures = run(&f, &["a.pgm", "b.pgm", "--sigma", "15"]).expect(0);
    let notes: Vec<&str> = pictures.err().lines().filter(|l| l.starts_with("note: ")).collect();
    assert!(notes.len() == 1 && notes[0].starts_with("note: cuda:0: "), "{}", pictures.err());
    assert!(notes[0].ends_with("; going on with cpu"), "{}", notes[0]);
    assert_eq!(run(&f, &["a.pgm", "--sigma", "15", "-f", "-q"]).expect(0).err(), "");
    run(&f, &["a.pgm", "--sigma", "15", "-f", "--device", "cuda"]).expect(1).says("error: cuda:0: ");
    let listed = run(&f, &["devices", "--json"]).expect(0).json();
    assert_eq!((&listed[0]["name"], &listed[0]["usable"]), (&"cuda:0".into(), &false.into()), "{listed:?}");
    assert!(!listed[0]["problem"]["remedy"].as_str().unwrap().is_empty());
}

#[test]
fn a_driver_that_lacks_half_of_itself_is_no_worse() {
    let f = Folder::new("half-driver");
    f.picture("a.pgm");
    let code = "int cuInit(unsigned flags) { return 999; }";
    let Some(_) = library(&f, &NAMES, &format!("{code}{NO_OPENCL}")) else { return };
    let picture = run(&f, &["a.pgm", "--sigma", "15"]).expect(0);
    assert!(picture.err().lines().count() <= 2 && !picture.err().contains("bug"), "{}", picture.err());
    assert_eq!(run(&f, &["devices", "--json"]).expect(0).json().last().unwrap()["name"], "cpu");
}

#[test]
fn drivers_without_devices_and_no_drivers_are_passed_over_in_silence() {
    let f = Folder::new("empty-driver");
    f.picture("a.pgm");
    let code = "
        int cuInit(unsigned flags) { return 100; }
        int cuDriverGetVersion(int* v) { *v = 13000; return 0; }
        int cuGetErrorString(int e, const char** s) { *s = \"no device\"; return 0; }
        int cuGetErrorName(int e, const char** s) { *s = \"CUDA_ERROR_NO_DEVICE\"; return 0; }";
    let Some(_) = library(&f, &NAMES, &format!("{code}{NO_OPENCL}")) else { return };
    let silent = |f: &Folder| {
        let picture = run(f, &["a.pgm", "--sigma", "15", "-f"]).expect(0);
        assert_eq!(picture.err().lines().count(), 1, "{}", picture.err());
        let listed = run(f, &["devices"]).expect(0);
        assert_eq!((listed.out().lines().count(), listed.err()), (2, ""), "{}", listed.out());
    };
    silent(&f);
    // Files that are no libraries are as good as none.
    NAMES.iter().for_each(|n| std::fs::write(f.path(&format!("lib/{n}")), "no library").unwrap());
    let picture = run(&f, &["a.pgm", "--sigma", "15", "-f"]).expect(0);
    assert!(!picture.err().contains("bug"), "{}", picture.err());
}
