//! Plots: lines with marks of their own, so that they can be told apart without colours.

use std::sync::Arc;

use kuva::backend::svg::SvgBackend;
use kuva::plot::legend::LegendPosition;
use kuva::plot::line::LineStyle;
use kuva::plot::scatter::MarkerShape;
use kuva::plot::{LinePlot, ScatterPlot};
use kuva::render::layout::{Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;

use super::Point;
use crate::Result;
use crate::catalogue::{Experiment, PlotSpec};

/// Colours that the colour-blind tell apart, dark enough for paper and light enough for a dark page.
const COLORS: [&str; 6] = ["#3b7dd8", "#d2553c", "#2f9e6e", "#a06bd0", "#b98412", "#6d7683"];
const MARKS: [MarkerShape; 6] = [
    MarkerShape::Circle,
    MarkerShape::Square,
    MarkerShape::Triangle,
    MarkerShape::Diamond,
    MarkerShape::TriangleDown,
    MarkerShape::Plus,
];
const STYLES: [LineStyle; 4] = [LineStyle::Solid, LineStyle::Dashed, LineStyle::DashDot, LineStyle::Dotted];
/// Of a plot, in pixels.
const SIZE: (f64, f64) = (620.0, 400.0);

/// The plots of an experiment that have data.
pub(super) fn plots(e: &Experiment, points: &[Point]) -> Result<Vec<String>> {
    let label = e.vary.as_ref().map(|v| v.label.as_str());
    e.plots.iter().map(|spec| plot(spec, label, points)).filter_map(Result::transpose).collect()
}

/// A line of the plot.
struct Series {
    name: String,
    points: Vec<(f64, f64, String)>,
}

fn plot(spec: &PlotSpec, varied: Option<&str>, points: &[Point]) -> Result<Option<String>> {
    let seen: Vec<&Point> = points.iter().filter(|p| spec.sigma.is_none_or(|s| s == p.sigma)).collect();
    let names = Names::of(&seen, spec);
    let mut all: Vec<Series> = Vec::new();
    for p in &seen {
        let (Some(x), Some(y)) = (value(&spec.x, p), value(&spec.y, p)) else { continue };
        let name = names.name(p);
        let at = (x, y, p.variant.clone());
        match all.iter_mut().find(|s| s.name == name) {
            Some(series) => series.points.push(at),
            None => all.push(Series { name, points: vec![at] }),
        }
    }
    if all.is_empty() {
        return Ok(None);
    }
    for series in &mut all {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    Ok(Some(draw(spec, varied, &all)))
}

fn draw(spec: &PlotSpec, varied: Option<&str>, all: &[Series]) -> String {
    let mut plots = Vec::new();
    let many = all.iter().any(|s| s.points.len() > 1);
    let scatter = spec.x == "ms";
    if spec.front {
        plots.push(Plot::Line(
            LinePlot::new().with_data(front(all)).with_color("#9aa3ad").with_stroke_width(1.2).with_dashed(),
        ));
    }
    for (i, series) in all.iter().enumerate() {
        let color = COLORS[i % COLORS.len()];
        let data: Vec<(f64, f64)> = series.points.iter().map(|p| (p.0, p.1)).collect();
        if !scatter && many {
            let line = LinePlot::new()
                .with_data(data.clone())
                .with_color(color)
                .with_stroke_width(1.8)
                .with_line_style(STYLES[i / COLORS.len() % STYLES.len()].clone());
            plots.push(Plot::Line(line));
        }
        let mut marks = ScatterPlot::new()
            .with_data(data)
            .with_color(color)
            .with_size(4.5)
            .with_marker(MARKS[(i + i / COLORS.len()) % MARKS.len()]);
        if scatter {
            marks = marks.with_labels(series.points.iter().map(|p| p.2.clone())).with_repel_labels();
        }
        // A single series needs no name: the axes have it.
        if all.len() > 1 {
            marks = marks.with_legend(series.name.clone());
        }
        plots.push(Plot::Scatter(marks));
    }
    let named = |name: &str| match (name, varied) {
        ("value", Some(varied)) => varied.to_owned(),
        _ => plain(name).to_owned(),
    };
    let mut title = format!("{} by {}", named(&spec.y), named(&spec.x));
    title[..1].make_ascii_uppercase();
    if let Some(sigma) = spec.sigma {
        title += &format!(", sigma {sigma}");
    }
    let mut layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_x_label(if spec.x == "value" { named("value") } else { label(&spec.x).to_owned() })
        .with_y_label(label(&spec.y))
        .with_width(SIZE.0)
        .with_height(SIZE.1)
        .with_title_size(14)
        .with_label_size(12)
        .with_tick_size(11)
        .with_legend_position(LegendPosition::OutsideRightTop)
        .with_legend_box(false)
        .with_tick_format(TickFormat::Custom(Arc::new(tick)));
    let wide = |v: &mut dyn Iterator<Item = f64>| {
        let (low, high) = v.fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
        low > 0.0 && high / low > 20.0
    };
    let xs = &mut all.iter().flat_map(|s| s.points.iter().map(|p| p.0));
    if matches!(&*spec.x, "ms" | "megapixels") && wide(xs) {
        layout = layout.with_log_x();
    }
    let ys = &mut all.iter().flat_map(|s| s.points.iter().map(|p| p.1));
    if matches!(&*spec.y, "ms" | "memory") && wide(ys) {
        layout = layout.with_log_y();
    }
    // Without a size of its own it takes that of the page.
    let fixed = format!("width=\"{}\" height=\"{}\"", SIZE.0, SIZE.1);
    let free = format!("viewBox=\"0 0 {} {}\"", SIZE.0, SIZE.1);
    SvgBackend.render_scene(&render_multiple(plots, layout)).replacen(&fixed, &free, 1)
}

/// A number as an axis has it: no more figures than it needs.
fn tick(v: f64) -> String {
    let text = format!("{v:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Those that nothing beats in both: less time, more quality.
fn front(all: &[Series]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = all.iter().flat_map(|s| s.points.iter().map(|p| (p.0, p.1))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let mut best = f64::NEG_INFINITY;
    points.retain(|p| {
        let better = p.1 > best;
        best = best.max(p.1);
        better
    });
    points
}

/// What the lines are called by: what tells them apart.
struct Names {
    variant: bool,
    device: bool,
    sigma: bool,
}

impl Names {
    fn of(points: &[&Point], spec: &PlotSpec) -> Self {
        let several =
            |f: &dyn Fn(&Point) -> String| points.iter().any(|p| f(p) != f(points.first().unwrap_or(p)));
        Self {
            // By time every point has its name beside it.
            variant: !matches!(&*spec.x, "value" | "ms") && several(&|p| p.variant.clone()),
            device: several(&|p| p.device.clone()),
            sigma: spec.x != "sigma" && spec.sigma.is_none() && several(&|p| p.sigma.to_string()),
        }
    }

    fn name(&self, p: &Point) -> String {
        let mut parts = Vec::new();
        if self.variant {
            parts.push(p.variant.clone());
        }
        if self.sigma {
            parts.push(format!("sigma {}", p.sigma));
        }
        if self.device {
            parts.push(p.device.clone());
        }
        parts.join(", ")
    }
}

fn value(name: &str, p: &Point) -> Option<f64> {
    match name {
        "sigma" => Some(p.sigma.into()),
        "psnr" => p.psnr,
        "ssim" => p.ssim,
        "ms" => p.ms,
        "memory" => p.memory,
        "error" => p.error,
        "megapixels" => Some(p.megapixels),
        "value" => p.value,
        "threads" => Some(p.threads as f64),
        "tile" => Some(p.tile as f64),
        "past" => p.past.map(|n| n as f64),
        _ => None,
    }
}

fn label(name: &str) -> &'static str {
    match name {
        "sigma" => "sigma (white is 255)",
        "psnr" => "PSNR, dB",
        "ssim" => "SSIM",
        "ms" => "milliseconds",
        "memory" => "memory, MB",
        "error" => "error, %",
        "megapixels" => "megapixels",
        "value" => "value",
        "threads" => "threads",
        "tile" => "side of tiles, pixels (0: none)",
        "past" => "frames before each one",
        _ => "",
    }
}

fn plain(name: &str) -> &'static str {
    match name {
        "sigma" => "noise",
        "psnr" => "quality",
        "ssim" => "similarity",
        "ms" => "time",
        "memory" => "memory",
        "error" => "error",
        "megapixels" => "size",
        "value" => "value",
        "threads" => "threads",
        "tile" => "tile",
        "past" => "frames",
        _ => "",
    }
}
