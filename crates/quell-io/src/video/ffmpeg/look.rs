//! A second look at a clip by ffprobe, which knows nothing of what we did: how many frames there are, and whether they
//! can be read to the last.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::source::{file, limits};
use super::tool::{Output, output};
use crate::{Error, Result};

/// What was seen.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) frames: u64,
    /// What ffprobe could not read.
    pub(super) errors: Vec<String>,
}

/// Counts packets that are to be shown, without decoding. For most kinds a packet is a frame; where it is a field, or
/// frames need others that are not there, [`frames`] tells.
pub(super) fn packets(path: &Path, needed: &str) -> Result<Seen> {
    let Output { text, errors } = probe(path, &["-show_entries", "packet=flags", "-of", "csv=p=0"], needed)?;
    Ok(Seen { frames: shown(&text), errors })
}

/// Lines such as `K_`; those outside the edit list have a `D`.
fn shown(text: &str) -> u64 {
    text.lines().filter(|l| !l.trim().is_empty() && !l.contains('D')).count() as u64
}

/// Decodes every frame, and counts.
pub(super) fn frames(path: &Path, needed: &str) -> Result<Seen> {
    let args = ["-threads", "0", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0"];
    let Output { text, errors } = probe(path, &args, needed)?;
    let frames = text.lines().find_map(|l| l.trim().trim_end_matches(',').parse().ok()).unwrap_or(0);
    Ok(Seen { frames, errors })
}

fn probe(path: &Path, args: &[&str], needed: &str) -> Result<Output> {
    let mut all: Vec<OsString> = ["-v", "level+error", "-select_streams", "V:0"].map(OsString::from).into();
    all.extend(limits());
    all.extend(args.iter().map(OsString::from));
    all.push(file(path));
    let all: Vec<&OsStr> = all.iter().map(OsString::as_os_str).collect();
    output("ffprobe", &all, needed)
}

/// Whether the finished file has all frames, readable to the last.
pub(super) fn verify(path: &Path, written: u64, needed: &str) -> Result<()> {
    let wrong = |what: String| Err(Error::Encode(format!("{what}: the result was not good, and is removed")));
    match frames(path, needed) {
        Ok(seen) if !seen.errors.is_empty() => wrong(format!("ffmpeg: {}", seen.errors.join("; "))),
        Ok(seen) if seen.frames != written => {
            wrong(format!("{} of {written} frames can be read back", seen.frames))
        }
        Ok(_) => Ok(()),
        Err(Error::Ffmpeg(why)) => wrong(format!("cannot be read back: {why}")),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_outside_the_edit_list_do_not_count() {
        assert_eq!(shown("K_\n__\n_D\nK_,\n\n__C\n"), 4);
    }
}
