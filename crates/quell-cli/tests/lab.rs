//! `quell lab`: what it measures holds together, and a run that was interrupted goes on.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn lab(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quell")).arg("lab").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("quell-lab-test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The rows of an experiment, by the names of the columns.
fn rows(folder: &Path, name: &str) -> Vec<HashMap<String, String>> {
    let text = std::fs::read_to_string(folder.join(format!("data/{name}.csv"))).unwrap();
    let mut lines = text.lines();
    let cells = |line: &str| {
        let (mut all, mut cell, mut quoted) = (Vec::new(), String::new(), false);
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => all.push(std::mem::take(&mut cell)),
                c => cell.push(c),
            }
        }
        all.push(cell);
        all
    };
    let head = cells(lines.next().unwrap());
    lines.map(|line| head.iter().cloned().zip(cells(line)).collect()).collect()
}

fn number(row: &HashMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

/// The mean of a column over the rows of a variant.
fn mean(rows: &[HashMap<String, String>], variant: &str, column: &str) -> f64 {
    let all: Vec<f64> = rows.iter().filter(|r| r["variant"] == variant).map(|r| number(r, column)).collect();
    assert!(!all.is_empty(), "{variant}");
    all.iter().sum::<f64>() / all.len() as f64
}

#[test]
fn every_experiment_is_listed_and_wrong_names_are_refused() {
    let out = lab(&["list"]);
    let list = text(&out.stdout);
    assert!(out.status.success() && list.contains("cuenat-kaiser") && list.contains("pareto"), "{list}");
    assert_eq!(text(&lab(&["list", "--json"]).stdout).lines().count() + 1, list.lines().count());
    let out = lab(&["run", "cuenat-kayser"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("cuenat-kaiser"), "{}", text(&out.stderr));
    let out = lab(&["run", "pareto", "--input", "/nowhere"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("/nowhere"), "{}", text(&out.stderr));
}

#[test]
fn what_must_hold_holds_and_a_second_run_measures_nothing() {
    let folder = Folder::new("holds");
    let args = [
        "run",
        "thesis-passes",
        "estimators",
        "photographs",
        "--quick",
        "--device",
        "cpu",
        "-o",
        folder.name(),
    ];
    let out = lab(&args);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let passes = rows(&folder.0, "thesis-passes");
    for profile in ["original", "modified"] {
        let first = format!("{profile}, pass 1");
        assert!(mean(&passes, profile, "psnr") > mean(&passes, &first, "psnr"), "the second pass gains");
        assert!(mean(&passes, profile, "ms") > mean(&passes, &first, "ms"), "and takes time");
    }
    assert!(mean(&passes, "normal", "psnr") > mean(&passes, "original", "psnr"));
    assert!(mean(&passes, "original", "psnr") > mean(&passes, "modified", "psnr"));
    for row in rows(&folder.0, "estimators") {
        let (found, sigma) = (number(&row, "found"), number(&row, "sigma"));
        assert!(row["variant"] != "ponomarenko" || (found / sigma - 1.0).abs() < 0.15, "{row:?}");
    }
    let page = std::fs::read_to_string(folder.0.join("index.html")).unwrap();
    assert_eq!(page.matches("<figure class=plot>").count(), 2, "a plot each");
    assert!(page.contains("Not run: it needs pairs"), "what cannot be run is said");
    assert!(page.contains("912.7") || page.contains("913"), "published figures");
    assert!(page.contains("data:image/jpeg") || !page.contains("<img"));
    let kept = std::fs::read(folder.0.join("data/rows.jsonl")).unwrap();
    let again = lab(&args);
    assert!(again.status.success());
    assert_eq!(std::fs::read(folder.0.join("data/rows.jsonl")).unwrap(), kept, "nothing was measured again");
    // The last row is lost: it alone is measured.
    let lines: Vec<&[u8]> = kept.split_inclusive(|b| *b == b'\n').collect();
    std::fs::write(folder.0.join("data/rows.jsonl"), lines[..lines.len() - 1].concat()).unwrap();
    assert!(lab(&args).status.success());
    let more = std::fs::read_to_string(folder.0.join("data/rows.jsonl")).unwrap();
    assert_eq!(more.lines().count(), lines.len());
}

#[test]
fn a_sweep_finds_the_best_for_a_time() {
    let folder = Folder::new("sweep");
    let best = folder.0.join("best.toml");
    let common = ["--quick", "--device", "cpu", "-o", folder.name(), "-q"];
    let swept = ["sweep", "--profile", "fast", "--param", "hard.step=4,8", "--param", "wiener.step=5"];
    let run = |more: &[&str]| lab(&[&swept[..], more, &common].concat());
    let out = run(&["--save", best.to_str().unwrap()]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(text(&out.stdout).contains("hard.step=4"), "{}", text(&out.stdout));
    let settings = std::fs::read_to_string(&best).unwrap();
    assert!(
        settings.contains("[hard]\nstep = 4\n") && settings.contains("[wiener]\nstep = 5\n"),
        "{settings}"
    );
    assert_eq!(rows(&folder.0, "sweep").len(), 4, "two settings on two pictures");
    let out = run(&["--budget", "0.001"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("0.001"), "{}", text(&out.stderr));
    let out = lab(&[&["sweep", "--param", "hard.stap=4"][..], &common].concat());
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("hard.stap"), "{}", text(&out.stderr));
}

/// Minutes: `cargo test --release -p quell-cli --test lab -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn all_of_it_has_data() {
    let folder = Folder::new("all");
    let out = lab(&["run", "all", "--quick", "--device", "cpu", "-o", folder.name()]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let listed = text(&lab(&["list", "--json"]).stdout);
    for line in listed.lines() {
        let name = line.split('"').nth(3).unwrap();
        let all = rows(&folder.0, name);
        assert!(name == "photographs" || !all.is_empty(), "{name}");
        assert!(all.iter().all(|r| r["failed"].is_empty()), "{name}: {all:?}");
    }
    let sizes = rows(&folder.0, "honzatko-size");
    let of = |width: &str| -> f64 {
        let row = sizes.iter().find(|r| r["variant"] == "normal" && r["width"] == width).unwrap();
        number(row, "ms") / (number(row, "width") * number(row, "height"))
    };
    let ratio = of("1536") / of("512");
    assert!((0.6..1.6).contains(&ratio), "time is linear in pixels: {ratio}");
}
