//! Where ffmpeg and ffprobe are, and what they can do.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::tool::output;
use crate::{Error, Result};

/// Names the program where it is not on the path, or another one of its kind.
const VARIABLE: &str = "QUELL_FFMPEG";

/// `ffmpeg` or `ffprobe` as the user has it.
pub(super) fn program(name: &str, needed: &str) -> Result<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from);
    match named {
        None => Ok(name.into()),
        Some(named) if name == "ffmpeg" => Ok(named),
        Some(named) => companion(&named, name).ok_or_else(|| Error::NoProgram {
            program: format!("{name} beside {}, which {VARIABLE} names,", named.display()),
            needed: needed.to_owned(),
        }),
    }
}

/// The program `name` that belongs to the ffmpeg `named`: they come in pairs, and one of another build may know other
/// formats. A name without a folder is looked for on the path, and so is its companion.
fn companion(named: &Path, name: &str) -> Option<PathBuf> {
    let own = named.file_name()?.to_string_lossy().into_owned();
    // `ffmpeg-7` goes with `ffprobe-7`; a name that has no ffmpeg in it tells nothing.
    let alike = Some(own.replace("ffmpeg", name)).filter(|a| *a != own);
    if named.parent().is_none_or(|p| p.as_os_str().is_empty()) {
        return Some(alike.unwrap_or_else(|| name.to_owned()).into());
    }
    let plain = if own.ends_with(".exe") { format!("{name}.exe") } else { name.to_owned() };
    let real = named.canonicalize().ok();
    let folders = [Some(named), real.as_deref()].into_iter().flatten();
    let names: Vec<String> = alike.into_iter().chain([plain]).collect();
    folders.flat_map(|f| names.iter().map(|n| f.with_file_name(n))).find(|p| p.is_file())
}

/// The option that tells what happens to timestamps; it was renamed in ffmpeg 5.1.
pub(super) fn timing_option(needed: &str) -> Result<&'static str> {
    static OLD: OnceLock<bool> = OnceLock::new();
    let old = match OLD.get() {
        Some(old) => *old,
        None => is_old(&output("ffmpeg", &["-version".as_ref()], needed)?.text),
    };
    Ok(if *OLD.get_or_init(|| old) { "-vsync" } else { "-fps_mode" })
}

/// Builds from source have no number, and are new.
fn is_old(text: &str) -> bool {
    let version = text.split_whitespace().nth(2).unwrap_or_default().trim_start_matches('n');
    let mut numbers = version.split(['.', '-']).map_while(|n| n.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), minor) => (major, minor.unwrap_or(0)) < (5, 1),
        _ => false,
    }
}

/// Names of the video encoders that this ffmpeg has.
pub(super) fn encoders(needed: &str) -> Result<Vec<String>> {
    let text = output("ffmpeg", &["-hide_banner".as_ref(), "-encoders".as_ref()], needed)?.text;
    Ok(parse_encoders(&text))
}

/// ` V....D libx264   libx264 H.264 …`.
fn parse_encoders(text: &str) -> Vec<String> {
    let name = |line: &str| {
        let mut words = line.split_whitespace();
        let video = words.next().is_some_and(|flags| flags.len() == 6 && flags.starts_with('V'));
        words.next().filter(|name| video && *name != "=").map(str::to_owned)
    };
    text.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_apart() {
        let old = [
            "ffmpeg version 4.4.2-0ubuntu0.22.04.1 Copyright",
            "ffmpeg version 5.0 Copyright",
            "ffmpeg version n4.4",
        ];
        let new = [
            "ffmpeg version 5.1.9-0+deb12u1 C",
            "ffmpeg version n7.1 C",
            "ffmpeg version N-112-gabc C",
            "ffmpeg version 8.0 C",
        ];
        assert_eq!(old.map(is_old), [true; 3]);
        assert_eq!(new.map(is_old), [false; 4]);
    }

    #[test]
    fn encoders_of_pictures_are_listed() {
        let text = "Encoders:\n V..... = Video\n ------\n V....D libx264   libx264 H.264\n A....D aac   AAC\n VFS..D ffv1   FFV1";
        assert_eq!(parse_encoders(text), ["libx264", "ffv1"]);
    }

    #[test]
    fn the_companion_stands_beside_under_its_own_name() {
        let folder = std::env::temp_dir().join(format!("quell-io-companion-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let wrapper = folder.join("wrapper.sh");
        std::fs::write(&wrapper, "").unwrap();
        // A name without ffmpeg in it must not be taken for its own companion.
        assert_eq!(companion(&wrapper, "ffprobe"), None);
        std::fs::write(folder.join("ffprobe"), "").unwrap();
        assert_eq!(companion(&wrapper, "ffprobe"), Some(folder.join("ffprobe")));
        std::fs::write(folder.join("ffprobe-7"), "").unwrap();
        assert_eq!(companion(&folder.join("ffmpeg-7"), "ffprobe"), Some(folder.join("ffprobe-7")));
        assert_eq!(companion(&folder.join("ffmpeg-8"), "ffprobe"), Some(folder.join("ffprobe")));
        assert_eq!(companion(Path::new("ffmpeg-7"), "ffprobe"), Some("ffprobe-7".into()));
        assert_eq!(companion(&folder.join("no/ffmpeg"), "ffprobe"), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
