//! Tables of a section: what was measured, and what was published beside it.

use super::Point;
use crate::finding::number;
use crate::material::Material;
use crate::published::{Figure, Published};
use crate::run::Measured;

/// Names of columns, and rows of cells.
#[derive(Default)]
pub(super) struct Table {
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// Leaves out columns that say nothing, or the same in every row where `same` may be left out.
    fn shrink(mut self, always: usize) -> Self {
        let keep: Vec<bool> =
            (0..self.head.len()).map(|i| i < always || self.rows.iter().any(|r| !r[i].is_empty())).collect();
        let cut = |cells: &mut Vec<String>| {
            let mut i = 0;
            cells.retain(|_| {
                i += 1;
                keep[i - 1]
            });
        };
        cut(&mut self.head);
        self.rows.iter_mut().for_each(cut);
        self
    }
}

fn text(v: Option<f64>, places: usize) -> String {
    v.map(|v| format!("{v:.places$}")).unwrap_or_default()
}

/// Every point.
pub(super) fn measured(points: &[Point]) -> Table {
    let head = [
        "variant",
        "sigma",
        "size",
        "device",
        "threads",
        "tile",
        "level",
        "past",
        "noisy dB",
        "PSNR dB",
        "SSIM",
        "error %",
        "ms",
        "from",
        "to",
        "kernels ms",
        "Mpix/s",
        "memory MB",
        "stages, ms",
        "why not",
    ];
    let several = |f: fn(&Point) -> String| points.iter().any(|p| f(p) != f(&points[0]));
    let (sigmas, sizes) = (several(|p| p.sigma.to_string()), several(|p| p.size.clone()));
    let row = |p: &Point| {
        let only = |show: bool, text: String| if show { text } else { String::new() };
        let count = |n: usize| only(n > 0, n.to_string());
        vec![
            p.variant.clone(),
            only(sigmas || p.sigma > 0.0, p.sigma.to_string()),
            only(sizes || points.len() < 9, p.size.clone()),
            p.device.clone(),
            count(p.threads),
            only(points.iter().any(|p| p.tile > 0), p.tile.to_string()),
            p.level.clone().unwrap_or_default(),
            p.past.map(|n| n.to_string()).unwrap_or_default(),
            text(p.psnr_noisy, 2),
            text(p.psnr, 2),
            text(p.ssim, 4),
            text(p.error, 1),
            p.ms.map(number).unwrap_or_default(),
            p.ms_low.map(number).unwrap_or_default(),
            p.ms_high.map(number).unwrap_or_default(),
            p.device_ms.map(number).unwrap_or_default(),
            p.ms.filter(|_| p.error.is_none()).map(|ms| number(p.megapixels * 1e3 / ms)).unwrap_or_default(),
            text(p.memory, 0),
            p.stages.clone().unwrap_or_default(),
            p.failed.clone().unwrap_or_default(),
        ]
    };
    Table { head: head.map(Into::into).to_vec(), rows: points.iter().map(row).collect() }.shrink(1)
}

/// Published figures, each with ours beside it.
pub(super) fn published(all: &Published, key: &str, rows: &Measured, material: &Material) -> Table {
    let devices = {
        let mut names: Vec<&str> = Vec::new();
        for (_, row) in rows {
            if !names.contains(&row.device.as_str()) {
                names.push(&row.device);
            }
        }
        names
    };
    let mut head: Vec<String> =
        ["published", "variant", "of", "pass 1 dB", "PSNR dB", "SSIM", "ms"].map(Into::into).to_vec();
    head.extend(["ours: pass 1 dB", "PSNR dB", "SSIM"].map(Into::into));
    head.extend(devices.iter().map(|d| format!("ms, {d}")));
    let row = |f: &Figure| {
        let of = |variant: &str, device: &str| {
            let fits = |f: &Figure| {
                let of: Vec<&crate::Row> = rows
                    .iter()
                    .map(|(_, r)| r)
                    .filter(|r| r.variant == variant && r.device == device && matches(f, r))
                    .collect();
                of
            };
            fits(f)
        };
        let mean = |variant: &str, device: &str, field: fn(&crate::Row) -> Option<f64>| {
            let set = f.set.as_deref().is_none_or(|s| material.set() == Some(s));
            let values: Vec<f64> = of(variant, device).into_iter().filter_map(field).collect();
            crate::finding::mean(&values).filter(|_| set)
        };
        let device = devices.first().copied().unwrap_or("cpu");
        let what = [
            f.test.clone().unwrap_or_default(),
            f.sigma.map(|s| format!("sigma {s}")).unwrap_or_default(),
            f.past.map(|p| format!("past {p}")).unwrap_or_default(),
        ];
        let what: Vec<String> = what.into_iter().filter(|t| !t.is_empty()).collect();
        let first = format!("{}, pass 1", f.variant);
        let mut cells = vec![
            f.what.clone(),
            f.variant.clone(),
            what.join(", "),
            text(f.psnr1, 2),
            text(f.psnr, 2),
            text(f.ssim, 2),
            f.ms.map(number).unwrap_or_default(),
            text(f.psnr1.and_then(|_| mean(&first, device, |r| r.psnr)), 2),
            text(f.psnr.and_then(|_| mean(&f.variant, device, |r| r.psnr)), 2),
            text(f.ssim.and_then(|_| mean(&f.variant, device, |r| r.ssim)), 2),
        ];
        cells.extend(
            devices
                .iter()
                .map(|d| f.ms.and_then(|_| mean(&f.variant, d, |r| r.ms)).map(number).unwrap_or_default()),
        );
        cells
    };
    let known = |f: &&Figure| rows.iter().any(|(_, r)| r.variant == f.variant);
    let rows: Vec<Vec<String>> = all.rows(key).iter().filter(known).map(row).collect();
    Table { head, rows }.shrink(2)
}

/// Whether a row is of what a figure is of.
fn matches(f: &Figure, row: &crate::Row) -> bool {
    let test = format!("{}x{}, {}", row.width, row.height, row.sigma);
    f.test.as_ref().is_none_or(|t| *t == test)
        && f.sigma.is_none_or(|s| s == row.sigma)
        && f.past.is_none_or(|p| Some(p) == row.past)
        && f.picture.as_ref().is_none_or(|p| *p == row.picture)
}
