//! `quell devices`: what there is to work on.

use crate::failure::Exit;
use crate::table::{Cell, Style, Table};

/// Runs the command.
pub(crate) fn run(style: Style) -> anyhow::Result<Exit> {
    let mut table = Table::new(&["name", "units", "detail", "description"]);
    for d in quell::device::list() {
        table.push(vec![
            Cell::Text(d.name),
            Cell::Count(d.units),
            Cell::Text(d.detail),
            Cell::Text(d.description),
        ]);
    }
    table.print(style)?;
    Ok(Exit::Done)
}
