//! One table, three ways to print it: aligned text, CSV, JSON lines.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::report;

/// How a table is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    /// Aligned columns for people; empty columns are left out.
    #[default]
    Text,
    /// Comma-separated values with a header.
    Csv,
    /// One JSON object per row.
    Json,
}

/// One entry.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    /// Words.
    Text(String),
    /// A file.
    File(PathBuf),
    /// A number, printed for people with this many decimals.
    Number(f64, usize),
    /// A whole number.
    Count(usize),
    /// Yes or no.
    Flag(bool),
    /// Does not apply.
    Missing,
}

impl Cell {
    /// A number, or nothing.
    pub(crate) fn number(v: Option<f64>, decimals: usize) -> Self {
        v.map_or(Self::Missing, |v| Self::Number(v, decimals))
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(s) => s.clone(),
            Self::File(path) => report::name(path),
            Self::Number(v, decimals) => format!("{v:.decimals$}"),
            Self::Count(n) => n.to_string(),
            Self::Flag(b) => if *b { "yes" } else { "no" }.to_owned(),
            Self::Missing => String::new(),
        }
    }

    pub(crate) fn csv(&self) -> String {
        match self {
            Self::Text(_) | Self::File(_) if self.text().contains([',', '"', '\n', '\r']) => {
                format!("\"{}\"", self.text().replace('"', "\"\""))
            }
            Self::Number(v, _) => v.to_string(),
            Self::Flag(b) => b.to_string(),
            other => other.text(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Text(s) => Value::from(s.as_str()),
            Self::File(path) => Value::from(report::exact(path).0),
            // JSON knows no infinity: it becomes null.
            Self::Number(v, _) => Value::from(*v),
            Self::Count(n) => Value::from(*n),
            Self::Flag(b) => Value::from(*b),
            Self::Missing => Value::Null,
        }
    }

    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_) | Self::File(_))
    }
}

/// Rows of cells under named columns.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: &[&'static str]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row: one cell per column.
    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// Prints to standard output.
    pub(crate) fn print(&self, style: Style) -> anyhow::Result<()> {
        match style {
            Style::Text if self.rows.is_empty() => {}
            Style::Text => self.lines().iter().try_for_each(|l| report::data(l))?,
            Style::Csv => {
                report::data(&self.columns.join(","))?;
                for row in &self.rows {
                    report::data(&row.iter().map(Cell::csv).collect::<Vec<_>>().join(","))?;
                }
            }
            Style::Json => {
                for row in &self.rows {
                    let mut object = Map::new();
                    for (name, cell) in std::iter::zip(&self.columns, row) {
                        object.insert((*name).to_owned(), cell.json());
                        if let Cell::File(path) = cell
                            && let Some(bytes) = report::exact(path).1
                        {
                            object.insert(format!("{name}_bytes"), bytes.into());
                        }
                    }
                    report::json(&object)?;
                }
            }
        }
        Ok(())
    }

    /// Aligned text: words to the left, numbers to the right, a header on top.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![String::new(); self.rows.len() + 1];
        for (c, name) in self.columns.iter().enumerate() {
            let cells: Vec<String> = self.rows.iter().map(|r| r[c].text()).collect();
            if cells.iter().all(String::is_empty) {
                continue;
            }
            let left = self.rows.iter().any(|r| r[c].is_text());
            let head = name.replace('_', " ");
            let width = cells.iter().chain([&head]).map(|s| s.chars().count()).max().unwrap_or(0);
            for (line, cell) in lines.iter_mut().zip([&head].into_iter().chain(&cells)) {
                let gap = if line.is_empty() { "" } else { "  " };
                *line += &if left { format!("{gap}{cell:<width$}") } else { format!("{gap}{cell:>width$}") };
            }
        }
        lines.iter().map(|l| l.trim_end().to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_aligned_and_empty_columns_are_left_out() {
        let mut t = Table::new(&["file", "page", "psnr"]);
        t.push(vec![Cell::Text("a.png".into()), Cell::Missing, Cell::Number(9.5, 2)]);
        t.push(vec![Cell::Text("long.png".into()), Cell::Missing, Cell::Number(31.25, 2)]);
        assert_eq!(t.lines(), ["file       psnr", "a.png      9.50", "long.png  31.25"]);
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        assert_eq!(Cell::Text("a,\"b\"".into()).csv(), "\"a,\"\"b\"\"\"");
        assert_eq!(Cell::Number(1.25, 1).csv(), "1.25");
    }
}
