//! `quell noise IN…`: how noisy pictures are, by every estimator.

use std::path::Path;

use anyhow::Context;
use quell::noise::correlated::{Correlation, CovarianceSource, PsdSource};
use quell::noise::{self, Blocks, Estimator, Model, Origin, measure};
use quell::{FrameView, Plane, PlaneView};

use crate::args::{From, NoiseArgs};
use crate::expand::expand;
use crate::failure::{self, Exit, Failure};
use crate::plot::Drawn;
use crate::range::Used;
use crate::reading::{Reader, unit};
use crate::report::{self, name};
use crate::table::{Cell, Style, Table};

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

const CURVES: [&str; 7] = ["file", "page", "noise", "by", "at", "luma", "chroma"];

/// Runs the command.
pub(crate) fn run(args: &NoiseArgs) -> anyhow::Result<Exit> {
    let reader = Reader::new(&args.reading);
    let expanded = expand(&args.inputs, args.recursive);
    if (args.save.is_some() || args.plot.is_some()) && expanded.sources.len() + expanded.errors.len() != 1 {
        return Err(Failure::usage("--save and --plot take what was found of one picture")
            .hint("name one picture")
            .into());
    }
    if let Some(From::Picture(path)) = &args.from {
        let what = format!("--noise-from {}: must be X,Y,W,H here", name(path));
        return Err(Failure::usage(what)
            .hint(format!("quell noise {} measures that picture", name(path)))
            .into());
    }
    let measures = args.curves || args.from.is_some() || args.save.is_some() || args.plot.is_some();
    let columns: &[&str] = match (args.correlation, measures) {
        (true, _) => &CORRELATION,
        (false, true) => &CURVES,
        (false, false) => &STRENGTH,
    };
    let mut table = Table::new(columns);
    let mut exit = Exit::Done;
    expanded.notes.iter().for_each(|note| report::message(&format!("note: {note}")));
    for error in &expanded.errors {
        exit = failure::report(error);
    }
    for source in &expanded.sources {
        let add = |table: &mut Table| match (args.correlation, measures) {
            (true, _) => add_correlation(table, &source.path, &reader),
            (false, true) => add_curves(table, &source.path, &reader, args),
            (false, false) => add_strength(table, &source.path, &reader),
        };
        if let Err(error) = failure::guard(|| add(&mut table)) {
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

/// What the noise of every page is like: a row for each brightness and each frequency. Of the first page it is kept and drawn.
fn add_curves(table: &mut Table, path: &Path, reader: &Reader, args: &NoiseArgs) -> anyhow::Result<()> {
    let source = reader.open(path)?;
    let pages = &source.picture.pages;
    for (i, page) in pages.iter().enumerate() {
        let frame = page.frame.view();
        let region = match args.from {
            Some(From::Region(region)) => Some(region),
            _ => None,
        };
        let found = found(&frame, page.alpha.as_ref().map(Plane::view).as_ref(), region);
        let Some(model) = found.with_context(|| name(path))? else {
            let missing = || Cell::Missing;
            let page = if pages.len() > 1 { Cell::Count(i + 1) } else { missing() };
            table.push(vec![
                Cell::File(path.to_owned()),
                page,
                Cell::Text("none".into()),
                missing(),
                missing(),
                missing(),
                missing(),
            ]);
            if args.save.is_some() || args.plot.is_some() {
                return Err(Failure::new(format!("{}: no noise was found", name(path)))
                    .hint("--noise-from X,Y,W,H measures it in a flat part")
                    .into());
            }
            continue;
        };
        let title = path.file_name().map_or_else(String::new, |n| report::name(Path::new(n)));
        let drawn = Drawn::new(title.clone(), &model);
        let mut row = |by: &str, (at, luma): (f32, f32), chroma: Option<f32>| {
            table.push(vec![
                Cell::File(path.to_owned()),
                if pages.len() > 1 { Cell::Count(i + 1) } else { Cell::Missing },
                Cell::Text(model.kind().to_owned()),
                Cell::Text(by.to_owned()),
                Cell::Number(f64::from(at), 3),
                Cell::Number(f64::from(luma), 2),
                Cell::number(chroma.map(f64::from), 2),
            ]);
        };
        drawn.levels.iter().for_each(|point| row("brightness", *point, None));
        for (k, point) in drawn.luma.iter().enumerate() {
            row("frequency", *point, drawn.chroma.get(k).map(|p| p.1));
        }
        if args.style == Style::Text {
            report::message(&format!("{}: {model}", name(path)));
        }
        if i > 0 {
            continue;
        }
        if let Some(to) = &args.save {
            let camera = source.picture.metadata.camera();
            let origin = Origin { camera: camera.name, iso: camera.iso, picture: Some(title) };
            let text = model.to_toml_from(&origin);
            quell_io::save(to, text.as_bytes()).with_context(|| format!("cannot write {}", name(to)))?;
        }
        if let Some(to) = &args.plot {
            drawn.write(to)?;
        }
    }
    Ok(())
}

/// What the noise of a picture is like, estimated or in a region.
fn found(
    frame: &FrameView<'_>,
    alpha: Option<&PlaneView<'_>>,
    region: Option<[usize; 4]>,
) -> quell::Result<Option<Model>> {
    match region {
        Some(region) => noise::measure_region(frame, region).map(Some),
        None => measure(frame, alpha, Estimator::Auto)?.model(frame.white()),
    }
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
