//! Pictures of every format against everything that cuts a run short: SIGKILL, a limit on file sizes, a full disk, an
//! input that ends early, standard output without a reader; beside the inputs and over them. No input is lost, no half
//! output has a final name, and the next start leaves no temporary file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, RECORD, noisy};
use quell_io::{ReadOptions, SampleType};

const SIDE: usize = 200;
const FORMATS: [(&str, SampleType); 8] = [
    ("a.png", SampleType::U8),
    ("b.jpg", SampleType::U8),
    ("c.tif", SampleType::U16),
    ("d.exr", SampleType::F32),
    ("e.npy", SampleType::F32),
    ("f.webp", SampleType::U8),
    ("g.pgm", SampleType::U8),
    ("h.pfm", SampleType::F32),
];
const QUICK: [&str; 6] = ["--sigma", "15", "--method", "isoline", "--device", "cpu"];

/// A folder with a picture of every format.
struct Pictures {
    f: Folder,
    inputs: BTreeMap<&'static str, Vec<u8>>,
    in_place: bool,
}

impl Pictures {
    fn new(test: &str, in_place: bool) -> Self {
        let f = Folder::new(&format!("{test}-{in_place}"));
        let frame = [noisy(SIDE, SIDE, 1)];
        let inputs = FORMATS.map(|(name, samples)| (name, fs::read(f.save(name, &frame, samples)).unwrap()));
        Self { f, inputs: inputs.into(), in_place }
    }

    /// The command for these inputs.
    fn args<'a>(&self, inputs: &[&'a str]) -> Vec<&'a str> {
        [inputs, &QUICK, if self.in_place { &["--in-place"] } else { &[] }].concat()
    }

    fn output(&self, name: &str) -> String {
        if self.in_place { name.to_owned() } else { name.replace('.', ".quell.") }
    }

    /// Inputs are as they were, or in their place is a whole result; outputs are whole or not there.
    #[track_caller]
    fn check(&self) {
        for (name, before) in &self.inputs {
            let now = fs::read(self.f.path(name)).unwrap_or_else(|e| panic!("{name} is lost: {e}"));
            assert!(now == *before || (self.in_place && self.is_whole(name)), "{name}: {} bytes", now.len());
            let output = self.output(name);
            assert!(!self.f.path(&output).exists() || self.is_whole(&output), "{output} is half");
        }
    }

    fn is_whole(&self, name: &str) -> bool {
        let read = quell_io::read(&self.f.path(name), &ReadOptions::default());
        read.is_ok_and(|p| p.pages.len() == 1 && p.pages[0].frame.height() == SIDE)
    }

    /// Nothing was done, and nothing is left of the attempt.
    #[track_caller]
    fn check_untouched(&self) {
        for (name, before) in &self.inputs {
            assert!(fs::read(self.f.path(name)).unwrap() == *before, "{name}");
        }
        assert_eq!(self.f.files(), self.inputs.keys().copied().collect::<Vec<_>>());
    }

    fn names(&self) -> Vec<&'static str> {
        self.inputs.keys().copied().collect()
    }
}

fn both(test: &str, act: impl Fn(Pictures)) {
    [false, true].into_iter().for_each(|in_place| act(Pictures::new(test, in_place)));
}

fn temporary(f: &Folder) -> Vec<String> {
    f.files().into_iter().filter(|n| n.starts_with(".quell-") && n.contains(".tmp")).collect()
}

/// When a run is killed.
#[derive(Clone, Copy)]
enum Moment {
    After(Duration),
    /// As soon as there is a temporary file, or a little later.
    Writing(Duration),
}

/// `false` if it had ended before.
fn kill(p: &Pictures, name: &'static str, moment: Moment) -> bool {
    let mut child =
        p.f.command(&p.args(&[name])).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    match moment {
        Moment::After(time) => std::thread::sleep(time),
        Moment::Writing(time) => {
            while temporary(&p.f).is_empty() && child.try_wait().unwrap().is_none() {
                assert!(started.elapsed() < Duration::from_secs(100), "{name}: never written");
            }
            std::thread::sleep(time);
        }
    }
    child.kill().unwrap();
    let status = child.wait().unwrap();
    status.code().is_none()
}

#[test]
fn sigkill_loses_nothing_and_the_next_start_cleans_up() {
    let mut left = 0;
    for in_place in [false, true] {
        let p = Pictures::new("kill", in_place);
        for name in p.names() {
            for moment in [
                Moment::After(Duration::from_millis(15)),
                Moment::Writing(Duration::ZERO),
                Moment::Writing(Duration::from_micros(500)),
            ] {
                let killed = kill(&p, name, moment);
                p.check();
                assert!(killed || temporary(&p.f).is_empty(), "{name}: left behind by a run that ended");
                left += temporary(&p.f).len();
            }
        }
        // It may well have nothing to write.
        p.f.quell(&p.args(&p.names())).expect(0);
        p.check();
        assert_eq!(temporary(&p.f), [""; 0]);
    }
    assert!(left > 0, "no run was killed while it wrote");
}

#[test]
fn a_limit_on_file_sizes_is_an_error_of_each_file() {
    both("limit", |p| {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -f 1 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_quell")]);
        let out = command.args(p.args(&p.names())).current_dir(p.f.path("")).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{said}");
        for name in p.names() {
            let line = format!("error: {name}: cannot write {}: File too large", p.output(name));
            assert!(said.contains(&line), "no {line:?} in {said}");
        }
        assert!(said.contains("hint: ") && said.contains("ulimit -f"), "{said}");
        p.check_untouched();
    });
}

/// Runs a script in a mount namespace of its own, in which `disk` of the folder is a small disk; `None` where that is
/// not allowed.
fn on_a_small_disk(p: &Pictures, script: &str) -> Option<Output> {
    fs::create_dir(p.f.path("disk")).unwrap();
    let script = format!("mount -t tmpfs -o size=1m none disk || exit 99\n{script}");
    for namespace in [&["--mount"][..], &["--mount", "--map-root-user"]] {
        let mut command = Command::new("unshare");
        command.args(namespace).args(["sh", "-c", &script, env!("CARGO_BIN_EXE_quell")]);
        let out = command.args(p.args(&p.names())).current_dir(p.f.path("")).output().ok()?;
        if !matches!(out.status.code(), Some(99)) && !String::from_utf8_lossy(&out.stderr).contains("unshare")
        {
            return Some(out);
        }
    }
    eprintln!("skipped: no disk can be mounted here");
    None
}

#[test]
fn a_full_disk_is_an_error_of_each_file() {
    both("full", |p| {
        // Filled up to the last byte; what is there afterwards is compared with what was there before.
        let script = "cp [a-h].* disk/ && cd disk && (cat /dev/zero > filler; ls -A > ../before) 2> /dev/null
            \"$0\" \"$@\"; code=$?
            ls -A > ../after; cmp ../before ../after || exit 98
            for i in [a-h].*; do cmp $i ../$i || exit 97; done
            exit $code";
        let Some(out) = on_a_small_disk(&p, script) else { return };
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{said}");
        for name in p.names() {
            let line = format!("error: {name}: cannot write {}: No space left on device", p.output(name));
            assert!(said.contains(&line), "no {line:?} in {said}");
        }
    });
}

#[test]
fn an_input_that_ends_early_is_never_replaced_by_a_part_of_it() {
    both("short", |mut p| {
        // Percent of the file; the longest part first, as it is cut again.
        for (before, share) in [(100, 90), (90, 50), (50, 10), (10, 0)] {
            for (name, content) in &mut p.inputs {
                content.truncate(content.len() * share / before);
                fs::write(p.f.path(name), content).unwrap();
            }
            let run = p.f.quell(&p.args(&p.names())).expect(1);
            for name in p.names() {
                assert!(run.err().contains(&format!("error: {name}: ")), "{name} at {share}: {}", run.err());
            }
            p.check_untouched();
        }
    });
}

#[test]
fn a_reader_that_is_gone_costs_no_file() {
    both("pipe", |p| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let args = [p.args(&p.names()), vec!["--json"]].concat();
        let out = p.f.command(&args).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{said}");
        assert_eq!(said.matches("records cannot be written to standard output").count(), 1, "{said}");
        p.check();
        for (name, before) in &p.inputs {
            assert!(p.is_whole(&p.output(name)), "{name}");
            assert!(fs::read(p.f.path(&p.output(name))).unwrap() != *before, "{name}");
        }
        assert!(temporary(&p.f).is_empty());
        assert_eq!(Path::exists(&p.f.path(RECORD)), !p.in_place);
    });
}

#[test]
fn two_runs_at_once_do_not_clean_up_after_each_other() {
    let p = Pictures::new("two", false);
    let names = p.names();
    let runs: Vec<_> = ["x", "x", "x"]
        .map(|out| {
            let args = [p.args(&names), vec!["-o", out, "--force"]].concat();
            p.f.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .into();
    for run in runs {
        let out = run.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    }
    for name in names {
        assert!(p.is_whole(&format!("x/{name}")), "{name}");
    }
    assert_eq!(p.f.files().len(), 16, "{:?}", p.f.files());
}
