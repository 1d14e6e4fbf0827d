//! Rectangles of samples, before and after.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::{Shared, blocking, number, query};
use crate::store::View;
use crate::studio::Studio;
use crate::tile::{Area, Samples, Shape, tile};
use crate::work::Desk;
use crate::{Kind, Problem};

/// Pixels of a side, at most.
const MOST: usize = 2048;
/// Levels, at most.
const LEVELS: u32 = 16;

#[derive(Clone, Deserialize)]
struct Rectangle {
    #[serde(default)]
    frame: usize,
    #[serde(default)]
    level: u32,
    x: usize,
    y: usize,
    w: usize,
    h: usize,
    #[serde(default)]
    key: String,
}

impl Rectangle {
    /// What of it lies in the picture.
    fn area(&self, shape: &Shape) -> Result<Area, Problem> {
        let wrong = |what: String| Err(Problem::new(Kind::Request, what));
        if self.level > LEVELS {
            return wrong(format!("level {}: there are {LEVELS}", self.level));
        }
        if self.w == 0 || self.h == 0 || self.w > MOST || self.h > MOST {
            return wrong(format!("{} x {} pixels: from 1 to {MOST} a side can be had", self.w, self.h));
        }
        let (width, height) = shape.at_level(self.level);
        if self.x >= width || self.y >= height {
            return wrong(format!(
                "{}, {} is not in the picture, which has {width} x {height}",
                self.x, self.y
            ));
        }
        Ok(Area { x: self.x, y: self.y, width: self.w, height: self.h }.within(width, height))
    }
}

/// As it was.
pub(super) async fn source(
    State(studio): Shared,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let (file, wanted): (u64, Rectangle) = (number(&id)?, query(&uri)?);
    blocking(move || {
        let source = studio.library.open(&*studio.program, file)?;
        let shape = source.shape(wanted.frame)?;
        let area = wanted.area(&shape)?;
        Ok(answer(&shape, area, source.tile(wanted.frame, wanted.level, area)?))
    })
    .await
}

/// As it becomes.
pub(super) async fn result(
    State(studio): Shared,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let (file, wanted): (u64, Rectangle) = (number(&id)?, query(&uri)?);
    let setup = studio.setups.find(&wanted.key)?;
    let view = View { file, frame: wanted.frame, key: setup.key.clone() };
    let shape = {
        let studio = studio.clone();
        let frame = wanted.frame;
        blocking(move || studio.library.open(&*studio.program, file)?.shape(frame)).await?
    };
    let area = wanted.area(&shape)?;
    wait(&studio, &view, &shape, area.of_level(wanted.level).within(shape.width, shape.height)).await?;
    blocking(move || {
        let sheet = studio.store.sheet(&view, shape);
        Ok(answer(&shape, area, tile(&*sheet, wanted.level, area)?))
    })
    .await
}

/// Until a part of a result is there.
pub(super) async fn wait(
    studio: &Arc<Studio>,
    view: &View,
    shape: &Shape,
    area: Area,
) -> Result<(), Problem> {
    if studio.store.sheet(view, *shape).missing(area).is_none() {
        return Ok(());
    }
    if !studio.setups.is_current(&view.key) {
        return Err(Problem::superseded());
    }
    Desk::wish(studio, view.clone(), area).done().await
}

fn answer(shape: &Shape, area: Area, samples: Samples) -> Response {
    let numbers = [
        ("x-quell-width", area.width.to_string()),
        ("x-quell-height", area.height.to_string()),
        ("x-quell-channels", shape.channels.to_string()),
        ("x-quell-samples", shape.samples().to_owned()),
        ("x-quell-white", shape.white.to_string()),
    ];
    (numbers, [(header::CONTENT_TYPE, "application/octet-stream")], samples.into_bytes()).into_response()
}
