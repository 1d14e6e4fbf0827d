//! `quell IN… --print-plan`: the parameters of each picture as TOML, in a form that `--params` reads.

use std::path::Path;

use quell_io::video::VideoKind;

use crate::engine::Engine;
use crate::failure::{self, Exit};
use crate::level;
use crate::reading::{Reader, alpha};
use crate::report::{self, name};

/// Prints them; a picture that cannot be read does not stop the others.
pub(crate) fn print<'a>(
    paths: impl Iterator<Item = &'a Path>,
    engine: &Engine,
    reader: &Reader,
    errors: Vec<anyhow::Error>,
) -> anyhow::Result<Exit> {
    let mut exit = Exit::Done;
    let mut fail = |e: &anyhow::Error| {
        report::error(&failure::message(e), failure::hint(e).as_deref());
        exit = Exit::Failed;
    };
    errors.iter().for_each(&mut fail);
    for path in paths {
        match plans(path, engine, reader) {
            Ok(text) => report::data(&text)?,
            Err(e) => fail(&e.context(name(path))),
        }
    }
    Ok(exit)
}

fn plans(path: &Path, engine: &Engine, reader: &Reader) -> anyhow::Result<String> {
    if VideoKind::of_file(path).is_some() {
        anyhow::bail!("is a clip; --print-plan is for pictures");
    }
    let source = reader.read(path)?;
    let mut text = String::new();
    for (i, page) in source.picture.pages.iter().enumerate() {
        let frame = &page.frame;
        let resolved = engine.resolve(frame, alpha(page).as_ref())?;
        let noise = engine.noise(resolved.as_ref());
        let page = if source.picture.pages.len() > 1 { format!(", page {}", i + 1) } else { String::new() };
        let shape = report::shape(frame.width(), frame.height(), frame.channels());
        text += &format!(
            "# {}{page}: {shape}, {}\n",
            name(path),
            level::describe(std::slice::from_ref(&noise), "")
        );
        if let Some(r) = resolved.filter(|_| noise.is_some()) {
            text += &format!(
                "# method {}, profile {}, device {}\n",
                engine.method(),
                engine.profile(),
                engine.device().name
            );
            text += &format!(
                "# filtered for sigma {:.2}, {} pixels around each tile\n",
                r.sigma255,
                r.plan.halo()
            );
            text += &r.params.to_toml();
        }
    }
    Ok(text)
}
