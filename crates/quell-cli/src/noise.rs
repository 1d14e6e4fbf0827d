//! `quell noise IN…`: how noisy pictures are, by every estimator.

use std::path::Path;

use anyhow::Context;
use quell::noise::correlated::{Correlation, CovarianceSource, PsdSource};
use quell::noise::{Blocks, Estimator, measure};
use quell::{FrameView, Plane, PlaneView};

use crate::args::NoiseArgs;
use crate::expand::expand;
use crate::failure::{self, Exit};
use crate::range::Used;
use crate::reading::{Reader, unit};
use crate::report::{self, name};
use crate::table::{Cell, Table};

const STRENGTH: [&str; 13] = [
    "file",
    "page",
    "estimator",
    "sigma",
    "red",
    "green",
    "blue",
    "noise",
    "grain",
    "used",
    "flat",
    "clipped",
    "transparent",
];
const CORRELATION: [&str; 13] = [
    "file",
    "page",
    "sigma",
    "red",
    "green",
    "blue",
    "right",
    "below",
    "diagonal",
    "two_right",
    "red_green",
    "green_blue",
    "red_blue",
];

/// Runs the command.
pub(crate) fn run(args: &NoiseArgs) -> anyhow::Result<Exit> {
    let reader = Reader::new(&args.reading);
    let expanded = expand(&args.inputs, args.recursive);
    let mut table = Table::new(if args.correlation { &CORRELATION } else { &STRENGTH });
    let mut exit = Exit::Done;
    expanded.notes.iter().for_each(|note| report::message(&format!("note: {note}")));
    for error in &expanded.errors {
        exit = failure::report(error);
    }
    for source in &expanded.sources {
        let add = if args.correlation { add_correlation } else { add_strength };
        if let Err(error) = failure::guard(|| add(&mut table, &source.path, &reader)) {
            exit = failure::report(&error);
        }
    }
    table.print(args.style)?;
    Ok(exit)
}

fn add_strength(table: &mut Table, path: &Path, reader: &Reader) -> anyhow::Result<()> {
    let source = reader.open(path)?;
    let pages = &source.picture.pages;
    for (i, page) in pages.iter().enumerate() {
        let alpha = page.alpha.as_ref().map(Plane::view);
        let mut range = Used::new(page.frame.white());
        range.add(&page.frame.view());
        if let Some(note) = range.note(true) {
            report::message(&report::note(path, &note));
        }
        for estimator in Estimator::ALL {
            let frame = page.frame.view();
            let found = measure(&frame, alpha.as_ref(), estimator)?;
            let mut row = vec![
                Cell::File(path.to_owned()),
                if pages.len() > 1 { Cell::Count(i + 1) } else { Cell::Missing },
                Cell::Text(estimator.name().to_owned()),
                Cell::Number(f64::from(found.sigma / unit(&frame)), 2),
            ];
            let of_planes = match estimator {
                Estimator::Auto => Estimator::Ponomarenko,
                other => other,
            };
            for c in 0..3 {
                // A grey picture has no colours to tell apart; a camera's noise is told by all of them.
                let apart = frame.channels() == 3 && found.camera.is_none();
                let plane = frame.planes().get(c).filter(|_| apart);
                let sigma = |p: &PlaneView<'_>| -> quell::Result<f64> {
                    let plane = FrameView::new(vec![*p], frame.white())?;
                    Ok(f64::from(measure(&plane, alpha.as_ref(), of_planes)?.sigma / unit(&frame)))
                };
                row.push(Cell::number(plane.map(sigma).transpose()?, 2));
            }
            let noise = match (&found.camera, estimator) {
                (Some(_), _) => Cell::Text("camera".into()),
                (None, Estimator::Auto) if found.worth_removing() > 0.0 => Cell::Text("white".into()),
                _ => Cell::Missing,
            };
            row.extend([noise, Cell::number(found.camera.as_ref().map(|c| f64::from(c.grain)), 1)]);
            let Blocks { used, flat, clipped, transparent, .. } = found.blocks;
            row.extend([used, flat, clipped, transparent].map(Cell::Count));
            table.push(row);
        }
    }
    Ok(())
}

/// One row per page: deviations, then correlations of a pixel's noise with that of its neighbours, and of the channels.
fn add_correlation(table: &mut Table, path: &Path, reader: &Reader) -> anyhow::Result<()> {
    let source = reader.open(path)?;
    let pages = &source.picture.pages;
    for (i, page) in pages.iter().enumerate() {
        let frame = page.frame.view();
        let auto = Correlation { covariance: Some(CovarianceSource::Auto), psd: Some(PsdSource::Auto) };
        let found = auto.resolve(&frame, None).with_context(|| name(path))?;
        let unit = f64::from(unit(&frame));
        let mut row = vec![
            Cell::File(path.to_owned()),
            if pages.len() > 1 { Cell::Count(i + 1) } else { Cell::Missing },
            Cell::Number(f64::from(found.sigma()) / unit, 2),
        ];
        let covariance = found.covariance();
        row.extend((0..3).map(|c| Cell::number(covariance.map(|m| m.rows()[c][c].sqrt() / unit), 2)));
        let psd = found.psd();
        let lag = |(x, y)| Cell::number(psd.as_ref().map(|p| p.correlation(x, y)), 3);
        row.extend([(1, 0), (0, 1), (1, 1), (2, 0)].map(lag));
        let pair = |(i, j)| Cell::number(covariance.map(|m| m.correlation(i, j)), 3);
        row.extend([(0, 1), (1, 2), (0, 2)].map(pair));
        table.push(row);
    }
    Ok(())
}
