//! What the papers print.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Tables of the papers, by name.
pub(crate) struct Published {
    sources: BTreeMap<String, String>,
    sets: BTreeMap<String, Set>,
    tables: BTreeMap<String, Table>,
}

/// A set of pictures that is not ours to ship.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) files: usize,
    pub(crate) sha256: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Table {
    remark: String,
    rows: Vec<Figure>,
}

/// A figure, and the variant of ours that it is to be compared with.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) variant: String,
    pub(crate) set: Option<String>,
    pub(crate) picture: Option<String>,
    /// `WxH, sigma`.
    pub(crate) test: Option<String>,
    pub(crate) sigma: Option<f32>,
    pub(crate) past: Option<usize>,
    /// After pass 1.
    pub(crate) psnr1: Option<f64>,
    pub(crate) psnr: Option<f64>,
    pub(crate) ssim: Option<f64>,
    pub(crate) ms: Option<f64>,
}

impl Published {
    pub(crate) fn new() -> Self {
        #[derive(Deserialize)]
        struct File {
            sources: BTreeMap<String, String>,
            sets: BTreeMap<String, Set>,
            #[serde(flatten)]
            tables: BTreeMap<String, Table>,
        }
        let file: File = toml::from_str(include_str!("../data/published.toml")).expect("our own data");
        Self { sources: file.sources, sets: file.sets, tables: file.tables }
    }

    /// The paper.
    pub(crate) fn source(&self, key: &str) -> Option<&str> {
        self.sources.get(key).map(String::as_str)
    }

    /// Sets that are known by their content.
    pub(crate) fn sets(&self) -> &BTreeMap<String, Set> {
        &self.sets
    }

    /// The rows of a table.
    pub(crate) fn rows(&self, key: &str) -> &[Figure] {
        self.tables.get(key).map_or(&[], |t| &t.rows)
    }

    /// What is to be known of it.
    pub(crate) fn remark(&self, key: &str) -> Option<&str> {
        self.tables.get(key).map(|t| &*t.remark)
    }
}
