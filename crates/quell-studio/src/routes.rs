//! What can be asked for: thin, the work is done elsewhere.

mod files;
mod look;
mod samples;
mod session;
mod settings;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, Request, State};
use axum::http::Uri;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::de::DeserializeOwned;

use crate::assets::asset;
use crate::studio::Studio;
use crate::{Kind, Problem, guard};

/// The studio, as requests have it.
type Shared = State<Arc<Studio>>;

/// Every address.
pub(crate) fn all(studio: Arc<Studio>) -> Router {
    Router::new()
        .route("/", get(|| async { asset("index.html") }))
        .route("/ui/{*path}", get(|Path(path): Path<String>| async move { asset(&path) }))
        .route("/api/session", post(session::exchange))
        .route("/api/state", get(session::state))
        .route("/api/events", get(session::events))
        .route("/api/defaults", get(settings::defaults))
        .route("/api/settings", post(settings::check))
        .route("/api/upload", post(files::upload))
        .route("/api/files/{id}", get(files::open))
        .route("/api/files/{id}/close", post(files::close))
        .route("/api/files/{id}/source", get(samples::source))
        .route("/api/files/{id}/result", get(samples::result))
        .route("/api/files/{id}/thumb", get(look::thumb))
        .route("/api/files/{id}/noise", get(look::noise_of))
        .route("/api/files/{id}/noise/save", post(look::save_noise))
        .route("/api/files/{id}/groups", get(look::groups_at))
        .route("/api/files/{id}/isolines", get(look::isolines_at))
        .route("/api/files/{id}/removed", get(look::removed))
        .route("/api/files/{id}/compare", get(look::against))
        .route("/api/files/{id}/histogram", get(look::histogram))
        .route("/api/presets", get(settings::presets).post(settings::save_preset))
        .route("/api/export", post(files::export))
        .route("/api/export/{id}/cancel", post(files::cancel))
        .fallback(|| async { Problem::missing("there is nothing here") })
        .layer(middleware::from_fn_with_state(studio.clone(), guarded))
        .with_state(studio)
}

/// Lets in who may ask.
async fn guarded(State(studio): Shared, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let mut response = match studio.guard.check(request.method(), &path, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    guard::seal(&path, response.headers_mut());
    response
}

/// What stands behind the question mark.
fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    let query = Query::<T>::try_from_uri(uri);
    query.map(|Query(query)| query).map_err(|e| Problem::new(Kind::Request, e.body_text()))
}

/// JSON that was sent.
fn body<T: DeserializeOwned>(bytes: &Bytes) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|e| Problem::new(Kind::Request, e.to_string()))
}

/// A number that stands for something.
fn number(id: &str) -> Result<u64, Problem> {
    id.parse().map_err(|_| Problem::missing(format!("there is no {id:?}")))
}

/// Work that takes its time, away from the threads that answer.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| {
        Err(Problem::new(Kind::Failed, "a bug in quell").hint("please report it with what you did"))
    })
}
