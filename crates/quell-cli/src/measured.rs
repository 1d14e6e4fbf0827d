//! Noise that is measured in a picture, or was measured before.

use std::path::Path;

use anyhow::Context;
use quell::noise::{self, Model, Origin};
use quell_io::{Camera, ReadOptions};

use crate::args::{Given, Profile};
use crate::failure::{Failure, message};
use crate::report::name;

/// The model, where it is known before there is a picture to filter.
pub(crate) fn known(noise: &Given) -> anyhow::Result<Option<Model>> {
    let Given::Picture(path) = noise else { return Ok(noise.model().cloned()) };
    let wrong = |e: anyhow::Error| {
        Failure::usage(format!("--noise-from {}: {}", name(path), message(&e)))
            .hint("a picture of something even, such as a grey card or a dark frame")
    };
    Ok(Some(of_picture(path).map_err(wrong)?))
}

/// The noise of a picture of something even.
fn of_picture(path: &Path) -> anyhow::Result<Model> {
    let picture = quell_io::read(path, &ReadOptions::default())?;
    let page = picture.pages.first().context("the file holds no picture")?;
    let frame = page.frame.view();
    Ok(noise::measure_region(&frame, [0, 0, frame.width(), frame.height()])?)
}

/// What is to be said where the noise is that of another camera, or of another sensitivity.
pub(crate) fn mismatch(profile: &Profile, camera: &Camera) -> Option<String> {
    let Origin { camera: of, iso, .. } = &profile.origin;
    let differs = |a: bool, b: bool| a && b;
    let camera_differs = differs(of.is_some() && camera.name.is_some(), *of != camera.name);
    let iso_differs = differs(iso.is_some() && camera.iso.is_some(), *iso != camera.iso);
    if !camera_differs && !iso_differs {
        return None;
    }
    let words = |name: &Option<String>, iso: Option<u32>| {
        let name = name.as_deref().unwrap_or("an unknown camera");
        iso.map_or_else(|| name.to_owned(), |iso| format!("{name} at ISO {iso}"))
    };
    Some(format!(
        "{} is of {}, this picture of {}: used all the same",
        name(&profile.path),
        words(of, *iso),
        words(&camera.name, camera.iso)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_camera_is_said() {
        let profile = |camera: Option<&str>, iso| Profile {
            path: "canon.toml".into(),
            model: Model::white(3.0).unwrap(),
            origin: Origin { camera: camera.map(str::to_owned), iso, picture: None },
        };
        let camera = |name: Option<&str>, iso| Camera { name: name.map(str::to_owned), iso };
        let canon = profile(Some("Canon EOS R5"), Some(3200));
        assert_eq!(mismatch(&canon, &camera(Some("Canon EOS R5"), Some(3200))), None);
        assert_eq!(mismatch(&canon, &camera(None, None)), None);
        assert_eq!(mismatch(&profile(None, None), &camera(Some("Canon EOS R5"), Some(100))), None);
        let said = mismatch(&canon, &camera(Some("NIKON D800"), Some(800))).unwrap();
        assert_eq!(
            said,
            "canon.toml is of Canon EOS R5 at ISO 3200, this picture of NIKON D800 at ISO 800: used all the same"
        );
        assert!(mismatch(&canon, &camera(Some("Canon EOS R5"), Some(6400))).is_some());
    }
}
