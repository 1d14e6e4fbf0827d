//! `quell gpu-check`: a device against the reference, case by case.

use std::io;
use std::time::Instant;

use quell::device::check::{self, CaseResult, Outcome};
use quell::device::{self, DeviceOptions};
use quell::{Cancel, Error};
use serde_json::Value;

use crate::args::CheckArgs;
use crate::failure::Exit;
use crate::report::{self, count};
use crate::table::{Cell, Style};

/// Side of the tiles that are compared with whole pictures: several in the pictures of the suite.
const TILE: usize = 160;

/// Runs the command.
pub(crate) fn run(args: &CheckArgs, cancel: &Cancel) -> anyhow::Result<Exit> {
    device::on_notice(|line| report::message(&format!("note: {line}")));
    let whole = device::open(args.device, DeviceOptions::default())?;
    let tiled = device::open(args.device, DeviceOptions { tile: TILE, ..DeviceOptions::default() })?;
    let info = whole.info();
    if args.style == Style::Text {
        report::message(&format!("{}: {} {} {}", info.name, info.description, info.detail, info.driver));
    }
    let started = Instant::now();
    let mut tally = Tally { style: args.style, cases: 0, failed: 0, left_out: 0, closed: None };
    if args.style != Style::Json {
        tally.print(&header(args.style));
    }
    let wanted = |method: &str| args.method.as_deref().is_none_or(|only| only == method);
    let mut take = |case: CaseResult| tally.take(&case, cancel);
    if wanted("bm3d") {
        check::suite(&*whole, args.quick, &mut take);
        check::tiles(&*whole, &*tiled, args.quick, &mut take);
    }
    if wanted("ridge") {
        check::ridge(&*whole, args.quick, &mut take);
    }
    if wanted("nlm") {
        check::nlm(&*whole, args.quick, &mut take);
    }
    if wanted("isoline") {
        match args.quick {
            true => check::isoline_briefly(&*whole, &mut take),
            false => check::isoline(&*whole, false, &mut take),
        }
    }
    if cancel.is_cancelled() {
        return Err(Error::Cancelled.into());
    }
    if let Some(e) = tally.closed {
        return Err(e.into());
    }
    if args.style == Style::Text {
        report::message(&format!(
            "{}: {}, {} failed, {} not offered, {}",
            info.name,
            count(tally.cases, "case"),
            tally.failed,
            tally.left_out,
            report::seconds(started.elapsed().as_secs_f64())
        ));
    }
    Ok(if tally.failed == 0 { Exit::Done } else { Exit::Failed })
}

/// What came out so far. Rows are printed as they come: the whole may take minutes.
struct Tally {
    style: Style,
    cases: usize,
    failed: usize,
    left_out: usize,
    /// The reader of our output is gone.
    closed: Option<io::Error>,
}

impl Tally {
    fn take(&mut self, case: &CaseResult, cancel: &Cancel) {
        if cancel.is_cancelled() {
            return;
        }
        self.cases += 1;
        self.failed += usize::from(case.failed());
        self.left_out += usize::from(matches!(case.outcome, Outcome::NotOffered(_)));
        self.print(&row(case, self.style));
    }

    fn print(&mut self, line: &str) {
        if let Err(e) = report::data(line) {
            self.closed = Some(e);
        }
    }
}

/// Name of a column, and its width for people.
const COLUMNS: [(&str, usize); 8] = [
    ("case", 36),
    ("worst", 7),
    ("pass_1", 7),
    ("pass_2", 7),
    ("psnr_db", 7),
    ("same_groups", 11),
    ("result", 11),
    ("why", 0),
];

fn header(style: Style) -> String {
    let names = COLUMNS.map(|(name, _)| name);
    match style {
        Style::Text => aligned(&names.map(|n| n.replace('_', " "))),
        _ => names.join(","),
    }
}

fn row(c: &CaseResult, style: Style) -> String {
    let grey = |v: Option<f32>| Cell::number(v.map(f64::from), 4);
    let (result, why) = match &c.outcome {
        Outcome::Pass => ("pass", None),
        Outcome::Fail(why) => ("FAIL", Some(why)),
        Outcome::NotOffered(why) => ("not offered", Some(why)),
    };
    let cells = [
        Cell::Text(c.case.clone()),
        grey(c.worst),
        grey(c.first_pass),
        grey(c.second_pass),
        Cell::number(c.psnr_db, 4),
        c.groups.map_or(Cell::Missing, Cell::Flag),
        Cell::Text(result.to_owned()),
        why.map_or(Cell::Missing, |why| Cell::Text(why.clone())),
    ];
    match style {
        Style::Text => aligned(&cells.each_ref().map(Cell::text)),
        Style::Csv => cells.each_ref().map(Cell::csv).join(","),
        Style::Json => {
            let named =
                std::iter::zip(COLUMNS, &cells).map(|((name, _), cell)| (name.to_owned(), cell.json()));
            Value::Object(named.collect()).to_string()
        }
    }
}

/// Words to the left, numbers to the right.
fn aligned(cells: &[String; 8]) -> String {
    let mut line = String::new();
    for ((name, width), cell) in std::iter::zip(COLUMNS, cells) {
        let left = matches!(name, "case" | "result" | "why");
        line += &if left { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_under_their_names() {
        let mut seen = Vec::new();
        let cpu = device::open(quell::Device::Cpu, DeviceOptions::default()).unwrap();
        check::tiles(&*cpu, &*cpu, true, &mut |case| seen.push(case));
        let (head, line) = (header(Style::Text), row(&seen[0], Style::Text));
        assert_eq!(head.find("result"), line.find("pass"), "{head}\n{line}");
        assert!(head.starts_with("case") && line.starts_with("tiles"));
        let json: Value = serde_json::from_str(&row(&seen[0], Style::Json)).unwrap();
        assert_eq!(
            (&json["result"], &json["worst"], &json["why"]),
            (&"pass".into(), &0.0.into(), &Value::Null)
        );
        assert!(row(&seen[0], Style::Csv).ends_with(",pass,"));
    }
}
