//! `quell noise IN…`: how noisy pictures are, by every estimator.

use std::path::Path;

use quell::FrameView;
use quell::noise::{Estimator, estimate};

use crate::args::NoiseArgs;
use crate::expand::expand;
use crate::failure::{self, Exit};
use crate::reading::{Reader, unit};
use crate::report::name;
use crate::table::{Cell, Table};

/// Runs the command.
pub(crate) fn run(args: &NoiseArgs) -> anyhow::Result<Exit> {
    let reader = Reader::new(&args.reading);
    let expanded = expand(&args.inputs, args.recursive);
    let mut table = Table::new(&["file", "page", "estimator", "sigma", "red", "green", "blue"]);
    let mut exit = Exit::Done;
    for error in &expanded.errors {
        exit = failure::report(error);
    }
    for source in &expanded.sources {
        if let Err(error) = failure::guard(|| add(&mut table, &source.path, &reader)) {
            exit = failure::report(&error);
        }
    }
    table.print(args.style)?;
    Ok(exit)
}

fn add(table: &mut Table, path: &Path, reader: &Reader) -> anyhow::Result<()> {
    let source = reader.open(path)?;
    let pages = &source.picture.pages;
    for (i, page) in pages.iter().enumerate() {
        for estimator in Estimator::ALL {
            let frame = page.frame.view();
            let mut row = vec![
                Cell::Text(name(path)),
                if pages.len() > 1 { Cell::Count(i + 1) } else { Cell::Missing },
                Cell::Text(estimator.name().to_owned()),
                Cell::number(Some(sigma(&frame, estimator)?), 2),
            ];
            for c in 0..3 {
                // A grey picture has no colours to tell apart.
                let plane = frame.planes().get(c).filter(|_| frame.channels() == 3);
                let value =
                    plane.map(|p| sigma(&FrameView::new(vec![*p], frame.white())?, estimator)).transpose()?;
                row.push(Cell::number(value, 2));
            }
            table.push(row);
        }
    }
    Ok(())
}

/// Noise on the 0..255 scale.
fn sigma(frame: &FrameView<'_>, estimator: Estimator) -> quell::Result<f64> {
    Ok(f64::from(estimate(frame, estimator)? / unit(frame)))
}
