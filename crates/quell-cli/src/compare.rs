//! `quell compare CLEAN OTHER…`: PSNR and SSIM, together and per channel.

use std::path::Path;

use anyhow::Context;
use quell::metrics::{Quality, psnr, ssim};
use quell_io::Page;

use crate::args::CompareArgs;
use crate::expand::expand;
use crate::failure::{self, Exit, Failure};
use crate::reading::Reader;
use crate::report::{self, count, name};
use crate::table::{Cell, Table};

const COLUMNS: [&str; 11] = [
    "file",
    "page",
    "identical",
    "psnr",
    "psnr_red",
    "psnr_green",
    "psnr_blue",
    "ssim",
    "ssim_red",
    "ssim_green",
    "ssim_blue",
];

/// Runs the command.
pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<Exit> {
    let reader = Reader::new(&args.reading);
    let clean = reader.open(&args.clean)?.picture.pages;
    let expanded = expand(&args.others, false);
    let mut table = Table::new(&COLUMNS);
    let mut exit = Exit::Done;
    expanded.notes.iter().for_each(|note| report::message(&format!("note: {note}")));
    for error in &expanded.errors {
        exit = failure::report(error);
    }
    for other in &expanded.sources {
        if let Err(error) = failure::guard(|| add(&mut table, &clean, &other.path, &reader)) {
            exit = failure::report(&error);
        }
    }
    table.print(args.style)?;
    Ok(exit)
}

fn add(table: &mut Table, clean: &[Page], path: &Path, reader: &Reader) -> anyhow::Result<()> {
    let other = reader.open(path)?.picture.pages;
    if other.len() != clean.len() {
        let pages = (count(other.len(), "page"), count(clean.len(), "page"));
        let what = format!("{}: {} cannot be compared with {}", name(path), pages.0, pages.1);
        return Err(Failure::new(what).into());
    }
    for (i, (a, b)) in clean.iter().zip(&other).enumerate() {
        let p = psnr(&a.frame, &b.frame).with_context(|| name(path))?;
        // SSIM is not defined for pictures smaller than its window.
        let s = ssim(&a.frame, &b.frame).ok();
        let mut row = vec![
            Cell::File(path.to_owned()),
            if clean.len() > 1 { Cell::Count(i + 1) } else { Cell::Missing },
            Cell::Flag(p.all == f64::INFINITY),
        ];
        row.extend(cells(Some(&p), 2));
        row.extend(cells(s.as_ref(), 4));
        table.push(row);
    }
    Ok(())
}

/// All channels together, then each of three.
fn cells(quality: Option<&Quality>, decimals: usize) -> [Cell; 4] {
    std::array::from_fn(|i| {
        let value = quality.and_then(|q| match i {
            0 => Some(q.all),
            _ if q.channels.len() == 3 => q.channels.get(i - 1).copied(),
            _ => None,
        });
        Cell::number(value, decimals)
    })
}
