//! The page, inside of the program.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

/// `ui/`; builds for debugging read it from the disk.
#[derive(RustEmbed)]
#[folder = "ui/"]
struct Ui;

/// One of its files.
pub(crate) fn asset(path: &str) -> Response {
    let Some(file) = Ui::get(path) else { return StatusCode::NOT_FOUND.into_response() };
    let kind = match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    };
    // Another version of quell may be at this address next time.
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], file.data.into_owned())
        .into_response()
}
