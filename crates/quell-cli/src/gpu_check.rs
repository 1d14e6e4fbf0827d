//! `quell gpu-check`: a device against the reference, case by case.

use std::time::Instant;

use quell::device::check::{self, CaseResult, Outcome};
use quell::device::{self, DeviceOptions};
use quell::{Cancel, Error};

use crate::args::CheckArgs;
use crate::failure::Exit;
use crate::report::{self, count};
use crate::table::{Cell, Style, Table};

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
    let mut cases = Vec::new();
    {
        // A table is aligned when it is complete; until then a line per failure shows that something goes on.
        let mut take = |case: CaseResult| {
            if let Outcome::Fail(why) = &case.outcome {
                report::message(&format!("FAIL {}: {why}", case.case));
            }
            if !cancel.is_cancelled() {
                cases.push(case);
            }
        };
        check::suite(&*whole, args.quick, &mut take);
        check::tiles(&*whole, &*tiled, args.quick, &mut take);
    }
    if cancel.is_cancelled() {
        return Err(Error::Cancelled.into());
    }
    table(&cases).print(args.style)?;
    let failed = cases.iter().filter(|c| c.failed()).count();
    if args.style == Style::Text {
        let left_out = cases.iter().filter(|c| matches!(c.outcome, Outcome::NotOffered(_))).count();
        let seconds = report::seconds(started.elapsed().as_secs_f64());
        report::message(&format!(
            "{}: {}, {failed} failed, {left_out} not offered, {seconds}",
            info.name,
            count(cases.len(), "case")
        ));
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

/// One row per case.
fn table(cases: &[CaseResult]) -> Table {
    let columns = ["case", "worst", "pass_1", "pass_2", "psnr_db", "same_groups", "result", "why"];
    let mut table = Table::new(&columns);
    for c in cases {
        let grey = |v: Option<f32>| Cell::number(v.map(f64::from), 4);
        let (result, why) = match &c.outcome {
            Outcome::Pass => ("pass", None),
            Outcome::Fail(why) => ("FAIL", Some(why)),
            Outcome::NotOffered(why) => ("not offered", Some(why)),
        };
        table.push(vec![
            Cell::Text(c.case.clone()),
            grey(c.worst),
            grey(c.first_pass),
            grey(c.second_pass),
            Cell::number(c.psnr_db, 4),
            c.groups.map_or(Cell::Missing, Cell::Flag),
            Cell::Text(result.to_owned()),
            why.map_or(Cell::Missing, |why| Cell::Text(why.clone())),
        ]);
    }
    table
}
