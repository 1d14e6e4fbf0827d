//! Files in and out.

use std::collections::HashSet;
use std::future::poll_fn;
use std::io::Write;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use futures_core::Stream;
use serde::Deserialize;
use serde_json::Value;

use super::settings::checked;
use super::{Shared, blocking, body, number, query};
use crate::export::check_free;
use crate::library::UPLOAD;
use crate::program::Export;
use crate::settings::Settings;
use crate::studio::Studio;
use crate::{Kind, Problem};

/// Opens a file.
pub(super) async fn open(State(studio): Shared, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    let file = number(&id)?;
    blocking(move || described(&studio, file)).await
}

/// A file that cannot be opened says so in its description.
fn described(studio: &Arc<Studio>, file: u64) -> Result<Json<Value>, Problem> {
    let entry = studio.library.entry(file)?;
    if studio.library.open(&*studio.program, file).is_ok() {
        studio.make_room();
    }
    Ok(Json(entry.describe()))
}

/// Forgets a file.
pub(super) async fn close(State(studio): Shared, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    let file = number(&id)?;
    blocking(move || {
        studio.library.close(file)?;
        studio.desk.supersede(&|view| view.file != file && studio.setups.is_current(&view.key));
        studio.store.forget(file);
        studio.plans.forget(file);
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Takes a file in.
pub(super) async fn upload(
    State(studio): Shared,
    headers: HeaderMap,
    uri: Uri,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let Named { name } = query(&uri)?;
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|n| n.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|n| n > UPLOAD) {
        return Err(too_large());
    }
    let place = studio.library.place_for(&name)?;
    if let Err(problem) = receive(body, &place).await {
        let _ = std::fs::remove_file(&place);
        return Err(problem);
    }
    blocking(move || {
        let entry = studio.library.uploaded(place);
        described(&studio, entry.id)
    })
    .await
}

async fn receive(body: Body, place: &PathBuf) -> Result<(), Problem> {
    let mut file = std::fs::File::create_new(place)?;
    let mut stream = body.into_data_stream();
    let mut size = 0;
    while let Some(chunk) = poll_fn(|context| Pin::new(&mut stream).poll_next(context)).await {
        let chunk = chunk.map_err(|e| Problem::new(Kind::Request, e.to_string()))?;
        size += chunk.len() as u64;
        if size > UPLOAD {
            return Err(too_large());
        }
        tokio::task::block_in_place(|| file.write_all(&chunk))?;
    }
    Ok(())
}

fn too_large() -> Problem {
    Problem::new(Kind::TooLarge, format!("more than {} MiB", UPLOAD >> 20))
        .hint("name the file on the command line: it is read where it is then")
}

#[derive(Deserialize)]
struct Exporting {
    files: Vec<String>,
    #[serde(default)]
    settings: Settings,
    name: Option<String>,
    #[serde(default)]
    replace: bool,
}

/// Puts files into the queue.
pub(super) async fn export(State(studio): Shared, bytes: Bytes) -> Result<Json<Value>, Problem> {
    let Exporting { files, settings, name, replace } = body(&bytes)?;
    if files.is_empty() || (name.is_some() && files.len() > 1) {
        return Err(Problem::new(Kind::Request, "a name is for one file"));
    }
    blocking(move || {
        let (_, flags) = checked(&studio, settings)?;
        studio.program.denoiser(&flags)?;
        let mut jobs = Vec::new();
        let mut outputs = HashSet::new();
        for file in &files {
            let entry = studio.library.entry(number(file)?)?;
            let output = studio.library.output(name.as_ref().unwrap_or(&entry.output_name()))?;
            let job = Export { input: entry.path.clone(), output, flags: flags.clone(), replace };
            check_free(&job)?;
            if studio.exports.is_target(&job.output) || !outputs.insert(job.output.clone()) {
                let what = format!("{} is to be written already", job.output.display());
                return Err(Problem::new(Kind::Superseded, what));
            }
            jobs.push((entry.id, entry.name.clone(), job.input, job.output));
        }
        let added = studio.exports.add(jobs, &flags, replace);
        studio.events.send("queue", &studio.exports.describe());
        Ok(Json(added))
    })
    .await
}

/// Stops an export.
pub(super) async fn cancel(State(studio): Shared, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    studio.exports.cancel(number(&id)?)?;
    studio.events.send("queue", &studio.exports.describe());
    Ok(StatusCode::NO_CONTENT)
}
