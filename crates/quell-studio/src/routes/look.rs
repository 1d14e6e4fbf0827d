//! Looking closer.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::samples::wait;
use super::{Shared, blocking, body, number, query};
use crate::noise::Histogram;
use crate::source::Source;
use crate::store::View;
use crate::studio::Studio;
use crate::tile::{Area, Shape};
use crate::{Kind, Problem, compare, groups, isolines, noise};

/// What is looked at; not every question needs all of it.
#[derive(Clone, Deserialize)]
struct Question {
    #[serde(default)]
    frame: usize,
    #[serde(default)]
    key: String,
    x: Option<usize>,
    y: Option<usize>,
    w: Option<usize>,
    h: Option<usize>,
    pass: Option<usize>,
    clean: Option<String>,
}

impl Question {
    /// A rectangle, if one is named.
    fn region(&self) -> Option<[usize; 4]> {
        Some([self.x?, self.y?, self.w?, self.h?])
    }

    /// The same within a picture; all of it, if none is named.
    fn area(&self, shape: &Shape) -> Result<Area, Problem> {
        let Some([x, y, width, height]) = self.region() else { return Ok(shape.area()) };
        let area = Area { x, y, width, height }.within(shape.width, shape.height);
        if area.pixels() == 0 {
            return Err(Problem::new(Kind::Request, "the rectangle is not in the picture"));
        }
        Ok(area)
    }

    fn pixel(&self) -> Result<(usize, usize), Problem> {
        self.x.zip(self.y).ok_or_else(|| Problem::new(Kind::Request, "x and y say which pixel"))
    }

    fn view(&self, studio: &Studio, file: u64) -> Result<View, Problem> {
        Ok(View { file, frame: self.frame, key: studio.setups.find(&self.key)?.key.clone() })
    }
}

/// The noise of a frame, or of a part of it.
pub(super) async fn noise_of(
    State(studio): Shared,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Json<Value>, Problem> {
    let (file, asked): (u64, Question) = (number(&id)?, query(&uri)?);
    blocking(move || noise::describe(&studio, file, asked.frame, asked.region()).map(Json)).await
}

#[derive(Deserialize)]
struct Profile {
    name: String,
    region: Option<[usize; 4]>,
    #[serde(default)]
    frame: usize,
}

/// Keeps it.
pub(super) async fn save_noise(
    State(studio): Shared,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Result<Json<Value>, Problem> {
    let (file, profile): (u64, Profile) = (number(&id)?, body(&bytes)?);
    blocking(move || {
        let path = noise::save(&studio, file, profile.frame, &profile.name, profile.region)?;
        Ok(Json(json!({"path": path.display().to_string()})))
    })
    .await
}

/// The group at a pixel.
pub(super) async fn groups_at(
    State(studio): Shared,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Json<Value>, Problem> {
    let (file, asked): (u64, Question) = (number(&id)?, query(&uri)?);
    blocking(move || {
        let view = asked.view(&studio, file)?;
        let (source, planned) = studio.planned(&view)?;
        groups::groups(&planned, &source, asked.frame, asked.pixel()?, asked.pass.unwrap_or(1)).map(Json)
    })
    .await
}

/// The isolines at a pixel.
pub(super) async fn isolines_at(
    State(studio): Shared,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Json<Value>, Problem> {
    let (file, asked): (u64, Question) = (number(&id)?, query(&uri)?);
    blocking(move || {
        let view = asked.view(&studio, file)?;
        let (source, planned) = studio.planned(&view)?;
        isolines::isolines(&planned, &source, asked.frame, asked.pixel()?).map(Json)
    })
    .await
}

/// A result that is there, for who looks at it.
struct Ready {
    source: Arc<Source>,
    view: View,
    shape: Shape,
    area: Area,
}

/// Waits for the part of a result that is asked for.
async fn ready(studio: &Arc<Studio>, file: u64, asked: &Question) -> Result<Ready, Problem> {
    let view = asked.view(studio, file)?;
    let (to, frame) = (studio.clone(), asked.frame);
    let source = blocking(move || to.library.open(&*to.program, file)).await?;
    let shape = source.shape(frame)?;
    let area = asked.area(&shape)?;
    wait(studio, &view, &shape, area).await?;
    Ok(Ready { source, view, shape, area })
}

/// What was removed.
pub(super) async fn removed(
    State(studio): Shared,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Json<Value>, Problem> {
    let (file, asked): (u64, Question) = (number(&id)?, query(&uri)?);
    let ready = ready(&studio, file, &asked).await?;
    blocking(move || {
        let sheet = studio.store.sheet(&ready.view, ready.shape);
        compare::removed(&ready.source, asked.frame, &sheet, ready.area).map(Json)
    })
    .await
}

/// Against a clean picture.
pub(super) async fn against(
    State(studio): Shared,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Json<Value>, Problem> {
    let (file, asked): (u64, Question) = (number(&id)?, query(&uri)?);
    let clean = asked.clean.as_deref().ok_or_else(|| Problem::new(Kind::Request, "clean names a file"))?;
    let clean = number(clean)?;
    let ready = ready(&studio, file, &asked).await?;
    blocking(move || {
        let clean = studio.library.open(&*studio.program, clean)?;
        let sheet = studio.store.sheet(&ready.view, ready.shape);
        compare::compare(&ready.source, asked.frame, &sheet, &clean, ready.area).map(Json)
    })
    .await
}

/// How often values are there: of a frame, or of what is computed of its result.
pub(super) async fn histogram(
    State(studio): Shared,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Json<Value>, Problem> {
    let (file, asked): (u64, Question) = (number(&id)?, query(&uri)?);
    blocking(move || {
        let source = studio.library.open(&*studio.program, file)?;
        let shape = source.shape(asked.frame)?;
        let found = match (&*source, asked.key.as_str()) {
            (Source::Giant(giant), "") => Histogram::of_page(giant.overview()?),
            (_, "") => Histogram::of_page(&*source.page(asked.frame)?),
            _ => {
                let mut all = Histogram::new(shape.channels, shape.white);
                studio.store.sheet(&asked.view(&studio, file)?, shape).each(|block| all.add(block));
                all
            }
        };
        Ok(Json(found.describe()))
    })
    .await
}

/// A small picture of a file.
pub(super) async fn thumb(State(studio): Shared, Path(id): Path<String>) -> Result<Response, Problem> {
    let file = number(&id)?;
    blocking(move || {
        let library = &studio.library;
        let make = || compare::thumb(&*library.glance(&*studio.program, file)?, 0);
        let png = library.thumb(file, make)?;
        Ok(([(header::CONTENT_TYPE, "image/png")], png).into_response())
    })
    .await
}
