//! Every case of some experiments, kept as soon as it is measured.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use quell::{Cancel, Device};
use serde::{Deserialize, Serialize};

use crate::case::cases;
use crate::measure::Bench;
use crate::{Case, Error, Experiment, Machine, Material, Result, Row};

/// How experiments are run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where rows are kept, and the report is written.
    pub folder: PathBuf,
    /// The devices to measure on.
    pub devices: Vec<Device>,
    /// Little of everything.
    pub quick: bool,
    /// Measure again what was measured before.
    pub fresh: bool,
    /// Stops between two cases, or in one.
    pub cancel: Cancel,
}

/// What is told of the work while it goes on.
#[derive(Clone, Debug)]
pub struct Watch<'a> {
    /// Cases done, and all of them.
    pub done: (usize, usize),
    /// Seconds that the rest will take, if it goes on like this.
    pub seconds_left: Option<f64>,
    /// What is measured now.
    pub now: &'a Case,
}

/// A row as it is kept.
#[derive(Deserialize, Serialize)]
struct Kept {
    id: String,
    quick: bool,
    machine: Machine,
    row: Row,
}

/// Rows of experiments with the cases that they are of.
pub(crate) type Measured = Vec<(Case, Row)>;

/// Measures every case of some experiments. What was measured on this machine before, by an earlier run into the same
/// folder, is taken from there.
pub fn run(
    experiments: &[&Experiment],
    material: &Material,
    options: &Options,
    mut watch: impl FnMut(Watch<'_>),
) -> Result<Vec<(Case, Row)>> {
    let machine = Machine::new();
    let file = options.folder.join("data").join("rows.jsonl");
    let folder = options.folder.join("data");
    std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    let mut known = if options.fresh { HashMap::new() } else { load(&file, &machine, options.quick)? };
    let all: Vec<Case> =
        experiments.iter().flat_map(|e| cases(e, material, &options.devices, options.quick)).collect();
    let mut out = OpenOptions::new()
        .create(true)
        .append(!options.fresh)
        .write(true)
        .truncate(options.fresh)
        .open(&file)
        .map_err(Error::file(&file))?;
    let mut bench = Bench::new(material, options.quick, options.cancel.clone());
    let (began, mut measured, mut fresh) = (Instant::now(), Vec::new(), 0usize);
    let missing = all.iter().filter(|c| !known.contains_key(&c.id())).count();
    for (i, case) in all.iter().enumerate() {
        if options.cancel.is_cancelled() {
            return Err(quell::Error::Cancelled.into());
        }
        if let Some(row) = known.remove(&case.id()) {
            measured.push((case.clone(), row));
            continue;
        }
        let spent = began.elapsed().as_secs_f64();
        let seconds_left = (fresh > 0).then(|| spent / fresh as f64 * (missing - fresh) as f64);
        watch(Watch { done: (i, all.len()), seconds_left, now: case });
        let row = bench.measure(case)?;
        fresh += 1;
        let kept = Kept { id: case.id(), quick: options.quick, machine: machine.clone(), row };
        let line = serde_json::to_string(&kept).map_err(std::io::Error::from).map_err(Error::file(&file))?;
        writeln!(out, "{line}").map_err(Error::file(&file))?;
        measured.push((case.clone(), kept.row));
    }
    Ok(measured)
}

/// Rows of an earlier run, by their names. What is not understood is measured again.
fn load(file: &Path, machine: &Machine, quick: bool) -> Result<HashMap<String, Row>> {
    if !file.exists() {
        return Ok(HashMap::new());
    }
    let text = std::fs::read_to_string(file).map_err(Error::file(file))?;
    let rows = text.lines().filter_map(|line| serde_json::from_str::<Kept>(line).ok());
    Ok(rows.filter(|k| k.quick == quick && k.machine == *machine).map(|k| (k.id, k.row)).collect())
}
