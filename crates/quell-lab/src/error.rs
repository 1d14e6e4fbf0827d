//! What can go wrong in the lab.

use std::path::PathBuf;

/// A result of the lab.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an experiment ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such experiment.
    #[error("no experiment is called {name}: {near}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        near: String,
    },
    /// A value to sweep over makes no sense.
    #[error("{what}: {why}")]
    Axis {
        /// As it was given.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is nothing to measure on.
    #[error("{path}: {why}")]
    Material {
        /// Where pictures were looked for.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A file cannot be written or read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Of a picture or clip.
    #[error(transparent)]
    Io(#[from] quell_io::Error),
    /// Of the engine.
    #[error(transparent)]
    Quell(#[from] quell::Error),
    /// A drawing failed.
    #[error("a plot could not be drawn: {0}")]
    Plot(String),
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
