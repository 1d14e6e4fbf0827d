//! Settings: checked, kept, and in other words.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use quell::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Shared, blocking, body, number, query};
use crate::presets::Preset;
use crate::settings::{Noise, Settings, Setup, command, key};
use crate::studio::Studio;
use crate::{Kind, Problem, presets};

#[derive(Deserialize)]
struct Which {
    method: String,
    profile: Option<String>,
    sigma: Option<f32>,
    channels: Option<usize>,
}

/// The values of parameters that nobody set.
pub(super) async fn defaults(uri: Uri) -> Result<Json<BTreeMap<&'static str, String>>, Problem> {
    let which: Which = query(&uri)?;
    let method = Method::named(&which.method, which.profile.as_deref())?;
    let sigma = which.sigma.filter(|s| s.is_finite() && *s > 0.0).unwrap_or(25.0);
    let value = |p: quell::method::ParameterInfo| if which.channels == Some(3) { p.rgb } else { p.grey };
    Ok(Json(method.parameters(sigma).into_iter().map(|p| (p.name, value(p))).collect()))
}

#[derive(Deserialize)]
struct Choice {
    file: String,
    candidate: String,
    settings: Settings,
}

/// A candidate gets settings.
pub(super) async fn check(State(studio): Shared, bytes: Bytes) -> Result<Json<Value>, Problem> {
    let Choice { file, candidate, settings } = body(&bytes)?;
    if !["A", "B", "C", "D"].contains(&candidate.as_str()) {
        return Err(Problem::new(Kind::Request, format!("candidates are A to D, not {candidate:?}")));
    }
    let file = number(&file)?;
    blocking(move || {
        let (settings, flags) = checked(&studio, settings)?;
        let key = key(&flags);
        let setup = match studio.setups.find(&key) {
            Ok(setup) => setup,
            Err(_) => {
                let denoiser = studio.program.denoiser(&flags)?;
                studio.setups.keep(Setup { key: key.clone(), settings, flags, denoiser })
            }
        };
        studio.setups.choose(&candidate, key);
        studio.desk.supersede(&|view| studio.setups.is_current(&view.key));
        let entry = studio.library.entry(file)?;
        // A file that cannot be opened says so elsewhere.
        let shape = studio.library.open(&*studio.program, file).and_then(|source| source.shape(0)).ok();
        let (white, channels) = shape.map_or((255.0, 3), |shape| (shape.white, shape.channels));
        let words =
            [vec!["quell".to_owned(), entry.path.display().to_string()], setup.flags.clone()].concat();
        Ok(Json(json!({
            "key": &*setup.key,
            "command": command(&words),
            "python": setup.settings.python(white, channels)?,
            "toml": setup.settings.toml()?,
            "flags": setup.flags,
        })))
    })
    .await
}

/// Presets that there are.
pub(super) async fn presets(State(studio): Shared) -> Result<Json<Vec<Preset>>, Problem> {
    blocking(move || presets::list(&studio.library).map(Json)).await
}

#[derive(Deserialize)]
struct Named {
    name: String,
    settings: Settings,
}

/// Keeps one.
pub(super) async fn save_preset(State(studio): Shared, bytes: Bytes) -> Result<StatusCode, Problem> {
    let Named { name, settings } = body(&bytes)?;
    blocking(move || presets::save(&studio.library, &name, &settings)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Settings with the files that they name, and their flags.
pub(super) fn checked(studio: &Studio, mut settings: Settings) -> Result<(Settings, Vec<String>), Problem> {
    if let Noise::Profile { path } = &mut settings.noise {
        *path = studio.library.in_folder(path)?.display().to_string();
    }
    let flags = settings.flags()?;
    Ok((settings, flags))
}
