//! `--noise-cov` and `--noise-psd`: what the files say, on the 0..255 scale.

use std::path::Path;

use anyhow::Context;
use quell::noise::correlated::{Correlation, CovarianceSource, Psd, PsdSource};
use quell_io::ReadOptions;

use crate::args::{EngineArgs, Known};
use crate::failure::{Failure, message};
use crate::report::name;

/// What the flags ask for.
pub(crate) fn read(args: &EngineArgs) -> anyhow::Result<Correlation> {
    let covariance = source(args.noise_cov.as_ref(), "--noise-cov", |_| {
        Ok(CovarianceSource::Known(args.noise_cov_text.as_deref().unwrap_or_default().parse()?))
    })?;
    let options = ReadOptions::default();
    let psd = source(args.noise_psd.as_ref(), "--noise-psd", |path| {
        check_size(path, options.max_pixels)?;
        let picture = quell_io::read(path, &options)?;
        let page = picture.pages.into_iter().next().context("the file holds no picture")?;
        let mut planes = page.frame.into_planes();
        if planes.len() != 1 {
            anyhow::bail!("a power spectrum has one channel, this has {}", planes.len());
        }
        Ok(PsdSource::Known(Psd::new(planes.remove(0))?))
    })?;
    Ok(Correlation {
        covariance: covariance.map(|c| c.unwrap_or(CovarianceSource::Auto)),
        psd: psd.map(|p| p.unwrap_or(PsdSource::Auto)),
    })
}

/// Refuses what cannot be a picture of so many floats, before it is read: devices never end.
fn check_size(path: &Path, max_pixels: u64) -> anyhow::Result<()> {
    let file = std::fs::metadata(path)?;
    if file.is_dir() {
        anyhow::bail!("is a folder");
    }
    if !file.is_file() {
        anyhow::bail!("is not a regular file");
    }
    // Double floats, and as much again for whatever else a format holds.
    if file.len() / 16 > max_pixels {
        anyhow::bail!("is no power spectrum: it has {} GiB", file.len() >> 30);
    }
    Ok(())
}

/// What a flag asks for: nothing, to find it out, or what is in a file.
fn source<T>(
    known: Option<&Known>,
    flag: &str,
    load: impl FnOnce(&Path) -> anyhow::Result<T>,
) -> anyhow::Result<Option<Option<T>>> {
    match known {
        None => Ok(None),
        Some(Known::Auto) => Ok(Some(None)),
        Some(Known::File(path)) => load(path)
            .map(|v| Some(Some(v)))
            .map_err(|e| Failure::usage(format!("{flag} {}: {}", name(path), message(&e))).into()),
    }
}
