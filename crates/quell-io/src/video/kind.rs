//! Which paths are clips.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::sequence::Pattern;
use super::y4m::MAGIC;
use crate::Format;

/// How the frames of a clip are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VideoKind {
    /// `-`: YUV4MPEG2 on standard input or output.
    Pipe,
    /// A YUV4MPEG2 file.
    Y4m,
    /// Numbered pictures: `frame_%04d.png`.
    Pictures,
    /// Anything that ffmpeg knows.
    Container,
}

/// Extensions of containers.
const CONTAINERS: [&str; 22] = [
    "3gp", "asf", "avi", "dv", "f4v", "flv", "m2ts", "m4v", "mkv", "mov", "mp4", "mpeg", "mpg", "mts", "mxf",
    "nut", "ogv", "rm", "ts", "vob", "webm", "wmv",
];

impl VideoKind {
    /// What the name stands for; `None` if it is no clip.
    ///
    /// ```
    /// use quell_io::video::VideoKind;
    /// assert_eq!(VideoKind::of_name("a/frame_%04d.png".as_ref()), Some(VideoKind::Pictures));
    /// assert_eq!(VideoKind::of_name("a/clip.MP4".as_ref()), Some(VideoKind::Container));
    /// assert_eq!(VideoKind::of_name("a/clip.png".as_ref()), None);
    /// ```
    pub fn of_name(path: &Path) -> Option<Self> {
        if path.as_os_str() == "-" {
            return Some(Self::Pipe);
        }
        match extension(path).as_str() {
            "y4m" => Some(Self::Y4m),
            e if CONTAINERS.contains(&e) => Some(Self::Container),
            _ if Format::from_path(path).is_some() && Pattern::new(path).is_some() && !path.exists() => {
                Some(Self::Pictures)
            }
            _ => None,
        }
    }

    /// What a file is: by name, or a YUV4MPEG2 stream by its content under any name.
    pub fn of_file(path: &Path) -> Option<Self> {
        let named = Self::of_name(path);
        // A pipe can be read only once, and not here.
        if matches!(named, Some(Self::Pipe | Self::Pictures)) || !path.is_file() {
            return named;
        }
        let mut first = [0; MAGIC.len()];
        let is_y4m = File::open(path).and_then(|mut f| f.read_exact(&mut first)).is_ok() && first == MAGIC;
        if is_y4m { Some(Self::Y4m) } else { named }
    }
}

/// In small letters, without the dot.
pub(super) fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// `.mp4 files`, for messages.
pub(super) fn of_files(path: &Path) -> String {
    format!(".{} files", extension(path))
}
