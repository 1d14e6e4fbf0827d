//! What goes wrong, as the page is told.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request makes no sense.
    Request,
    /// Nobody knows who asks.
    Stranger,
    /// That is not allowed.
    Forbidden,
    /// There is no such thing.
    Missing,
    /// Something newer took its place, or is there already.
    Superseded,
    /// Too much was sent.
    TooLarge,
    /// A file or a setting makes no sense.
    Sense,
    /// The work was cancelled.
    Cancelled,
    /// A bug, or the machine.
    Failed,
}

/// A problem with its remedy, where there is one.
#[derive(Clone, Debug, thiserror::Error, Serialize)]
#[error("{error}")]
pub struct Problem {
    /// Whose fault it is.
    #[serde(skip)]
    pub kind: Kind,
    /// What happened.
    pub error: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Problem {
    /// Without a remedy.
    pub fn new(kind: Kind, error: impl Into<String>) -> Self {
        Self { kind, error: error.into(), hint: None }
    }

    /// With one.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A file or setting that makes no sense.
    pub fn sense(error: impl Into<String>) -> Self {
        Self::new(Kind::Sense, error)
    }

    /// Something that is not there.
    pub fn missing(error: impl Into<String>) -> Self {
        Self::new(Kind::Missing, error)
    }

    /// Settings that are no longer wanted.
    pub(crate) fn superseded() -> Self {
        Self::new(Kind::Superseded, "superseded")
    }
}

impl From<quell::Error> for Problem {
    fn from(error: quell::Error) -> Self {
        match error {
            quell::Error::Cancelled => Self::new(Kind::Cancelled, "cancelled"),
            error => Self::sense(error.to_string()),
        }
    }
}

impl From<quell_io::Error> for Problem {
    fn from(error: quell_io::Error) -> Self {
        Self::sense(error.to_string())
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::new(Kind::Failed, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = match self.kind {
            Kind::Request => StatusCode::BAD_REQUEST,
            Kind::Stranger => StatusCode::UNAUTHORIZED,
            Kind::Forbidden => StatusCode::FORBIDDEN,
            Kind::Missing => StatusCode::NOT_FOUND,
            Kind::Superseded | Kind::Cancelled => StatusCode::CONFLICT,
            Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::Sense => StatusCode::UNPROCESSABLE_ENTITY,
            Kind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(self)).into_response()
    }
}
