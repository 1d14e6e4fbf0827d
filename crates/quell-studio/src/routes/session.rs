//! Who asks, what there is, and what happens.

use std::sync::OnceLock;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use quell::Method;
use quell::method::Kind as Values;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Shared, blocking, body};
use crate::Problem;
use crate::library::UPLOAD;
use crate::settings::range;

#[derive(Deserialize)]
struct Token {
    token: String,
}

/// A token for a cookie.
pub(super) async fn exchange(
    State(studio): Shared,
    headers: HeaderMap,
    bytes: Bytes,
) -> Result<Response, Problem> {
    let Token { token } = body(&bytes)?;
    if studio.guard.has_session(&headers) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let cookie = studio.guard.exchange(&token)?;
    studio.program.another_address(&studio.guard.url());
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

/// What there is.
pub(super) async fn state(State(studio): Shared) -> Result<Json<Value>, Problem> {
    blocking(move || {
        let files: Vec<Value> = studio.library.entries().iter().map(|entry| entry.describe()).collect();
        Ok(Json(json!({
            "version": env!("CARGO_PKG_VERSION"),
            "files": files,
            "methods": methods(),
            "devices": devices(),
            "memory": studio.describe_memory(),
            "folder": studio.library.folder().display().to_string(),
            "upload_limit": UPLOAD,
            "queue": studio.exports.describe(),
        })))
    })
    .await
}

/// What happens.
pub(super) async fn events(State(studio): Shared) -> impl IntoResponse {
    Sse::new(studio.events.listen()).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
}

/// Every device; drivers are asked once.
fn devices() -> &'static Value {
    static DEVICES: OnceLock<Value> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let one = |d: quell::device::DeviceInfo| {
            let problem = d.problem.as_ref().map(|p| format!("{}; {}", p.why, p.remedy));
            json!({"flag": d.name, "name": d.description, "usable": d.usable(), "problem": problem})
        };
        quell::device::list().into_iter().map(one).collect()
    })
}

/// Every method, from the engine's own lists.
fn methods() -> &'static Value {
    static METHODS: OnceLock<Value> = OnceLock::new();
    METHODS.get_or_init(|| Method::all().into_iter().map(method).collect())
}

fn method(method: Method) -> Value {
    let profiles: Vec<Value> = method
        .profiles()
        .into_iter()
        .map(|p| json!({"name": p.profile(), "help": p.profile_help(), "default": p == method}))
        .collect();
    let parameters = method.parameters(25.0).into_iter().map(|p| {
        let (kind, choices): (&str, &[&str]) = match p.kind {
            Values::Whole => ("whole", &[]),
            Values::Switch => ("switch", &[]),
            Values::Choice(names) => ("choice", names),
            _ => ("number", &[]),
        };
        let (min, max) = range(method, &p).unzip();
        json!({
            "name": p.name, "flag": p.name.replace('.', "-"), "help": p.help, "kind": kind, "choices": choices,
            "min": min, "max": max,
        })
    });
    json!({
        "name": method.name(), "help": method.help(), "profiles": profiles, "parameters": parameters.collect::<Value>(),
    })
}
