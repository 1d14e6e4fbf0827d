//! The page.

use std::fmt::Write;

use super::table::Table;
use super::{Crop, Section};
use crate::Machine;
use crate::catalogue::Experiment;

const STYLE: &str = include_str!("style.css");

/// What a section is made of.
pub(super) struct Parts<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) title: &'a str,
    pub(super) plots: &'a [String],
    pub(super) table: &'a Table,
    pub(super) published: &'a Table,
    pub(super) crops: &'a [Crop],
    pub(super) commands: &'a [String],
    pub(super) source: &'a str,
    pub(super) remark: Option<&'a str>,
}

/// Writing into text cannot fail.
macro_rules! put {
    ($to:expr, $($arg:tt)*) => { let _ = write!($to, $($arg)*); };
}

/// Text as a page shows it.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub(super) fn section(p: &Parts<'_>) -> String {
    let (e, mut out) = (p.experiment, String::new());
    put!(
        out,
        "<section id=\"{0}\"><p class=name><a href=\"#{0}\">{0}</a></p><h2>{1}</h2>",
        e.name,
        escape(p.title)
    );
    put!(out, "<p class=question>{}</p><p class=source>{}</p>", escape(&e.question), escape(p.source));
    if p.table.rows.is_empty() {
        put!(
            out,
            "<p class=absent>Not run: {}.</p></section>",
            match e.name.as_str() {
                "photographs" =>
                    "it needs pairs of a noisy and a clean photograph (--input FOLDER with NAME_noisy.png and NAME_clean.png)",
                _ => "there is nothing to run it on",
            }
        );
        return out;
    }
    if !p.plots.is_empty() {
        out.push_str("<div class=plots>");
        for plot in p.plots {
            put!(out, "<figure class=plot>{}</figure>", svg(plot));
        }
        out.push_str("</div>");
    }
    if !p.crops.is_empty() {
        out.push_str("<div class=crops>");
        for (name, data) in p.crops {
            put!(
                out,
                "<figure><img src=\"{data}\" alt=\"{0}\"><figcaption>{0}</figcaption></figure>",
                escape(name)
            );
        }
        out.push_str("</div>");
    }
    table(&mut out, p.table, "Measured");
    if !p.published.rows.is_empty() {
        table(&mut out, p.published, "Published, and ours");
    }
    for remark in p.remark.into_iter().chain(e.remark.as_deref()) {
        put!(out, "<p class=remark>{}</p>", escape(remark));
    }
    put!(out, "<details><summary>Commands</summary><pre>quell lab run {}\n", e.name);
    for command in p.commands {
        put!(out, "{}\n", escape(command));
    }
    put!(
        out,
        "</pre><p>Every row: <a href=\"data/{0}.csv\">CSV</a>, <a href=\"data/{0}.json\">JSON</a>.</p></details></section>",
        e.name
    );
    out
}

/// The drawing without its declaration, which belongs to files.
fn svg(text: &str) -> &str {
    text.find("<svg").map_or(text, |at| &text[at..])
}

fn table(out: &mut String, table: &Table, caption: &str) {
    put!(out, "<div class=table><table><caption>{caption}</caption><thead><tr>");
    for cell in &table.head {
        put!(out, "<th>{}</th>", escape(cell));
    }
    out.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            let class = if cell.parse::<f64>().is_ok() { " class=n" } else { "" };
            put!(out, "<td{class}>{}</td>", escape(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

pub(super) fn page(
    sections: &[Section],
    machine: &Machine,
    notes: &[String],
    quick: bool,
    command: &str,
) -> String {
    let mut out = String::new();
    put!(
        out,
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>quell lab</title><style>{STYLE}</style></head><body><header><h1>quell lab</h1>\
         <p>The experiments of the papers behind quell, repeated on one machine.</p><dl>"
    );
    let gpus = if machine.gpus.is_empty() { "none".into() } else { machine.gpus.join("; ") };
    let protocol = "times from host to host, one run that is not timed, then the median of 2 to 7; PSNR on the float result where noise was not clipped";
    for (name, value) in [
        ("Processor", machine.processor.as_str()),
        ("GPU", &gpus),
        ("System", &machine.system),
        ("Version", &machine.version),
        ("Protocol", protocol),
        ("Made by", command),
    ] {
        put!(out, "<dt>{name}</dt><dd>{}</dd>", escape(value));
    }
    if quick {
        out.push_str(
            "<dt>Quick</dt><dd>parts of few pictures: figures show the order of things, not more</dd>",
        );
    }
    for note in notes {
        put!(out, "<dt>Pictures</dt><dd>{}</dd>", escape(note));
    }
    out.push_str("</dl><nav><ol>");
    for s in sections {
        put!(out, "<li><a href=\"#{}\">{}</a></li>", s.name, escape(&s.title));
    }
    out.push_str("</ol></nav></header><main>");
    sections.iter().for_each(|s| out.push_str(&s.html));
    out.push_str("</main></body></html>\n");
    out
}
