//! Files as inputs of ffmpeg: one container each, and nothing that it could be made to open besides.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::{Error, Result};

/// Formats that hold a clip themselves. Playlists, lists of files and devices are none of them.
const FORMATS: &str = "matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,avi,mpegts,mpeg,mpegvideo,asf,flv,live_flv,ogg,mxf,nut,rm,\
    dv,gxf,wtv,ivf,h264,hevc,m4v,vc1,obu,av1,mjpeg,yuv4mpegpipe";

/// Texts that name other files, by their beginning.
const PLAYLISTS: [(&str, &str); 6] = [
    ("ffconcat", "ffconcat"),
    ("#EXTM3U", "M3U"),
    ("[playlist]", "PLS"),
    ("<MPD", "DASH"),
    ("<?xml", "XML"),
    ("file ", "list of files"),
];

/// A path that ffmpeg takes for a file, whatever is in its name.
pub(super) fn file(path: &Path) -> OsString {
    let mut name = OsString::from("file:");
    name.push(path);
    name
}

/// Options before the name of a file that is read.
pub(super) fn limits() -> [OsString; 4] {
    ["-protocol_whitelist", "file,pipe", "-format_whitelist", FORMATS].map(OsString::from)
}

/// Refuses what is no container with a message that says what it is. [`limits`] hold where this does not know it.
pub(super) fn check(path: &Path) -> Result<()> {
    let mut first = Vec::new();
    // The message of opening is clearer than that of ffprobe.
    File::open(path)?.take(256).read_to_end(&mut first)?;
    let text = String::from_utf8_lossy(&first);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    match PLAYLISTS.iter().find(|(begin, _)| text.starts_with(begin)) {
        Some((_, kind)) => Err(Error::Unsupported(format!(
            "the content is no clip but a playlist ({kind}), which names other files; name those files themselves"
        ))),
        None => Ok(()),
    }
}

/// Whether an AVI file is shorter than its first chunk says: ffmpeg ends there without a word.
pub(super) fn is_cut_off(path: &Path) -> Result<bool> {
    let mut first = Vec::new();
    let mut file = File::open(path)?;
    file.by_ref().take(12).read_to_end(&mut first)?;
    let [b'R', b'I', b'F', b'F', a, b, c, d, b'A', b'V', b'I', b' '] = first[..] else { return Ok(false) };
    Ok(file.metadata()?.len() < u64::from(u32::from_le_bytes([a, b, c, d])) + 8)
}

/// What ffmpeg says of a format that is not among ours, in our words.
pub(super) fn explain(e: Error) -> Error {
    match e {
        Error::Ffmpeg(text) if text.contains("Format not on whitelist") => {
            Error::Unsupported("the content is no container of a clip".to_owned())
        }
        e => e,
    }
}
