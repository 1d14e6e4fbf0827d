//! One page that stands alone, and the numbers of every section as CSV and JSON beside it.

mod html;
mod plot;
mod table;

use std::io::Cursor;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use quell::{Cancel, Frame};
use quell_io::{Format, Metadata, Page, Picture, SampleType, WriteOptions};

use crate::catalogue::Experiment;
use crate::finding::{finding, mean};
use crate::material::{Material, part};
use crate::measure::Bench;
use crate::published::Published;
use crate::run::Measured;
use crate::{Error, Machine, Options, Result, Row};

/// Pictures that have everything in common but themselves, as one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Point {
    pub(crate) variant: String,
    pub(crate) value: Option<f64>,
    pub(crate) sigma: f32,
    pub(crate) size: String,
    pub(crate) megapixels: f64,
    pub(crate) device: String,
    pub(crate) threads: usize,
    pub(crate) tile: usize,
    pub(crate) level: Option<String>,
    pub(crate) past: Option<usize>,
    pub(crate) pictures: usize,
    pub(crate) psnr_noisy: Option<f64>,
    pub(crate) psnr: Option<f64>,
    pub(crate) ssim: Option<f64>,
    pub(crate) ms: Option<f64>,
    pub(crate) ms_low: Option<f64>,
    pub(crate) ms_high: Option<f64>,
    pub(crate) device_ms: Option<f64>,
    pub(crate) memory: Option<f64>,
    /// Of what was found, in percent of what is there.
    pub(crate) error: Option<f64>,
    pub(crate) stages: Option<String>,
    pub(crate) failed: Option<String>,
}

/// One experiment as it stands in the report.
pub struct Section {
    /// What was found, in a sentence.
    pub title: String,
    /// How many rows it is made of.
    pub rows: usize,
    pub(crate) html: String,
    pub(crate) name: String,
}

/// Writes the report of what was measured, and says where it is.
pub fn report(
    experiments: &[&Experiment],
    measured: &Measured,
    material: &Material,
    options: &Options,
    command: &str,
) -> Result<(PathBuf, Vec<Section>)> {
    let published = Published::new();
    let mut sections = Vec::new();
    for e in experiments {
        let rows: Measured = measured.iter().filter(|(c, _)| c.experiment == e.name).cloned().collect();
        write_rows(&options.folder, &e.name, &rows)?;
        sections.push(section(e, &rows, material, options, &published)?);
    }
    let page = html::page(&sections, &Machine::new(), &material.notes, options.quick, command);
    let path = options.folder.join("index.html");
    quell_io::save(&path, page.as_bytes())?;
    Ok((path, sections))
}

fn section(
    e: &Experiment,
    rows: &Measured,
    material: &Material,
    options: &Options,
    published: &Published,
) -> Result<Section> {
    let points = points(rows.iter().map(|(_, row)| row));
    let title = if rows.is_empty() { e.question.clone() } else { finding(e, &points) };
    let plots = if rows.is_empty() { Vec::new() } else { plot::plots(e, &points)? };
    // Pictures of sets that are not ours to ship are not shown either.
    let shown = e.crops && material.set().is_none();
    let crops = if shown { crops(rows, material, options)? } else { Vec::new() };
    let parts = html::Parts {
        experiment: e,
        title: &title,
        plots: &plots,
        table: &table::measured(&points),
        published: &e
            .published
            .as_ref()
            .map(|key| table::published(published, key, rows, material))
            .unwrap_or_default(),
        crops: &crops,
        commands: &commands(rows),
        source: published.source(&e.source).unwrap_or_default(),
        remark: e.published.as_ref().and_then(|key| published.remark(key)),
    };
    Ok(Section { html: html::section(&parts), title: title.clone(), rows: rows.len(), name: e.name.clone() })
}

/// Each command once.
fn commands(rows: &Measured) -> Vec<String> {
    let mut all: Vec<String> = rows.iter().map(|(case, _)| case.command()).collect();
    all.dedup();
    let mut seen = std::collections::HashSet::new();
    all.retain(|c| seen.insert(c.clone()));
    all
}

fn write_rows(folder: &Path, name: &str, rows: &Measured) -> Result<()> {
    let data = folder.join("data");
    let (csv, json) = (data.join(format!("{name}.csv")), data.join(format!("{name}.json")));
    let mut writer = csv::Writer::from_writer(Vec::new());
    let bad = |e: csv::Error| Error::File { path: csv.clone(), source: std::io::Error::other(e) };
    for (_, row) in rows {
        writer.serialize(row).map_err(bad)?;
    }
    let bytes = writer.into_inner().map_err(|e| Error::file(&csv)(std::io::Error::other(e.to_string())))?;
    quell_io::save(&csv, &bytes)?;
    let all: Vec<&Row> = rows.iter().map(|(_, row)| row).collect();
    let text = serde_json::to_string_pretty(&all).map_err(|e| Error::file(&json)(e.into()))?;
    Ok(quell_io::save(&json, text.as_bytes())?)
}

/// Means over pictures.
pub(crate) fn points<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<Point> {
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        // The size tells drawn pictures apart; others are means over pictures of any size.
        let size = if row.picture == "drawn" && row.past.is_none() { size(row) } else { String::new() };
        let key = format!(
            "{}|{}|{size}|{}|{}|{}|{:?}|{:?}",
            row.variant, row.sigma, row.device, row.threads, row.tile, row.level, row.past
        );
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    merge_drawn(groups).into_iter().map(|rows| point(&rows)).collect()
}

/// A drawn picture among others is one of them.
fn merge_drawn(groups: Vec<(String, Vec<&Row>)>) -> Vec<Vec<&Row>> {
    let mixed = groups.iter().any(|(_, rows)| rows.iter().any(|r| r.picture != "drawn"));
    if !mixed {
        return groups.into_iter().map(|(_, rows)| rows).collect();
    }
    let mut all: Vec<(String, Vec<&Row>)> = Vec::new();
    for (key, rows) in groups {
        let mut parts: Vec<&str> = key.split('|').collect();
        parts[2] = "";
        let key = parts.join("|");
        match all.iter_mut().find(|(k, _)| *k == key) {
            Some((_, known)) => known.extend(rows),
            None => all.push((key, rows)),
        }
    }
    all.into_iter().map(|(_, rows)| rows).collect()
}

fn size(row: &Row) -> String {
    format!("{} x {}", row.width, row.height)
}

fn point(rows: &[&Row]) -> Point {
    let of = |field: fn(&Row) -> Option<f64>| mean(&rows.iter().filter_map(|r| field(r)).collect::<Vec<_>>());
    let first = rows[0];
    let same = rows.iter().all(|r| (r.width, r.height) == (first.width, first.height));
    Point {
        variant: first.variant.clone(),
        value: first.value,
        sigma: first.sigma,
        size: if same && first.width > 0 { size(first) } else { String::new() },
        megapixels: of(|r| Some(r.megapixels())).unwrap_or_default(),
        device: first.device.clone(),
        threads: first.threads,
        tile: first.tile,
        level: first.level.clone(),
        past: first.past,
        pictures: rows.len(),
        psnr_noisy: of(|r| r.psnr_noisy),
        psnr: of(|r| r.psnr),
        ssim: of(|r| r.ssim),
        ms: of(|r| r.ms),
        ms_low: of(|r| r.ms_low),
        ms_high: of(|r| r.ms_high),
        device_ms: of(|r| r.device_ms),
        memory: of(|r| r.memory_mb),
        error: of(|r| r.found.map(|f| 100.0 * (f / f64::from(r.sigma) - 1.0).abs())),
        stages: first.stages.clone(),
        failed: rows.iter().find_map(|r| r.failed.clone()),
    }
}

/// Parts of a picture with what they are, as data of a page.
type Crop = (String, String);

/// The side of a part that is shown.
const CROP: usize = 128;

/// The same part of the first picture: clean, noisy, and as each variant leaves it.
fn crops(rows: &Measured, material: &Material, options: &Options) -> Result<Vec<Crop>> {
    let Some((first, row)) = rows.iter().find(|(_, r)| r.failed.is_none()) else { return Ok(Vec::new()) };
    let middle = rows.iter().find(|(c, _)| c.sigma == 25.0).map_or(first.sigma, |(c, _)| c.sigma);
    let mut bench = Bench::new(material, options.quick, Cancel::new());
    let mut all: Vec<Crop> = Vec::new();
    for (case, r) in rows {
        let same = case.sigma == middle && r.picture == row.picture && case.setup == first.setup;
        if !same || r.failed.is_some() || all.iter().any(|(name, _)| name.starts_with(&r.variant)) {
            continue;
        }
        let Some((clean, noisy, result)) = bench.look(case)? else { continue };
        if all.is_empty() {
            all.push(("clean".into(), picture(&clean)?));
            all.push((format!("noisy, {:.2} dB", r.psnr_noisy.unwrap_or_default()), picture(&noisy)?));
        }
        all.push((format!("{}, {:.2} dB", r.variant, r.psnr.unwrap_or_default()), picture(&result)?));
    }
    Ok(all)
}

/// The middle of a picture as a JPEG in an address: a report is to be sent by mail.
fn picture(frame: &Frame) -> Result<String> {
    let (w, h) = (frame.width().min(CROP), frame.height().min(CROP));
    let frame = part(frame, (frame.width() - w) / 2, (frame.height() - h) / 2, w, h)?;
    let page = Page { frame, alpha: None, samples: SampleType::U8 };
    let picture =
        Picture { pages: vec![page], metadata: Metadata::default(), format: Format::Jpeg, notes: Vec::new() };
    let mut bytes = Cursor::new(Vec::new());
    let writing = WriteOptions { jpeg_quality: 93, ..WriteOptions::default() };
    quell_io::encode(&picture, Format::Jpeg, &writing, &mut bytes)?;
    let text = base64::engine::general_purpose::STANDARD.encode(bytes.into_inner());
    Ok(format!("data:image/jpeg;base64,{text}"))
}
