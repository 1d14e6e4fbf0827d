//! Presets: parameter files in the folder of exports, which the command line reads as well.

use serde::Serialize;

use crate::library::Library;
use crate::settings::Settings;
use crate::{Kind, Problem};

/// How a file of ours begins; what follows in the line is the settings.
const HEAD: &str = "# quell studio: ";
/// What their names end in.
const END: &str = ".preset.toml";
/// Larger files are none of ours.
const MOST: u64 = 1 << 16;

/// A preset.
#[derive(Debug, Serialize)]
pub(crate) struct Preset {
    name: String,
    settings: Settings,
}

/// Those that there are, by name.
pub(crate) fn list(library: &Library) -> Result<Vec<Preset>, Problem> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(library.folder())?.flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = file.strip_suffix(END) else { continue };
        if entry.metadata().is_ok_and(|found| !found.is_file() || found.len() > MOST) {
            continue;
        }
        // What is not ours, or damaged, is left out.
        let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
        let head = text.lines().next().and_then(|line| line.strip_prefix(HEAD));
        if let Some(settings) = head.and_then(|json| serde_json::from_str(json).ok()) {
            all.push(Preset { name: name.to_owned(), settings });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// Keeps settings under a name; one of that name is replaced.
pub(crate) fn save(library: &Library, name: &str, settings: &Settings) -> Result<(), Problem> {
    if name.is_empty() || name.contains(['/', '\\']) || name.chars().any(char::is_control) {
        return Err(Problem::new(Kind::Request, format!("{name:?} is no name for a preset")));
    }
    let path = library.output(&format!("{name}{END}"))?;
    let json = serde_json::to_string(settings).map_err(|e| Problem::new(Kind::Failed, e.to_string()))?;
    let text = format!("{HEAD}{json}\n{}", settings.toml()?);
    Ok(quell_io::save(&path, text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_found_again_and_are_parameter_files() {
        let folder = std::env::temp_dir().join(format!("quell-presets-{}", std::process::id()));
        let library = Library::new(Vec::new(), &folder).unwrap();
        let some: Settings =
            serde_json::from_str(r#"{"profile": "fast", "strength": 0.8, "params": {"hard.step": "4"}}"#)
                .unwrap();
        save(&library, "my own", &some).unwrap();
        std::fs::write(folder.join("x.preset.toml"), "step = 4").unwrap();
        let found = list(&library).unwrap();
        assert_eq!((found.len(), found[0].name.as_str(), &found[0].settings), (1, "my own", &some));
        let text = std::fs::read_to_string(folder.join("my own.preset.toml")).unwrap();
        let base = quell::bm3d::Profile::Fast.params(25.0);
        assert_eq!(quell::bm3d::Params::from_toml(&text, &base).unwrap().hard.step, 4);
        for bad in ["", "../a", "a\nb", "."] {
            assert!(save(&library, bad, &some).is_err(), "{bad:?}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
