//! Errors as the user sees them: one line on what went wrong, one `hint:` line on what to do.

use std::fmt;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::report;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
    Done = 0,
    /// At least one file failed.
    Failed = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// Ctrl-C.
    Interrupted = 130,
}

/// A failure with a remedy.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    hint: Option<String>,
    usage: bool,
}

impl Failure {
    /// Something about a file or the machine.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, usage: false }
    }

    /// Something about the command line; ends with [`Exit::Usage`].
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, usage: true }
    }

    /// Adds the remedy.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}

/// Prints an error that ends the command, and says how to exit.
pub(crate) fn report(error: &anyhow::Error) -> Exit {
    if is_broken_pipe(error) && error.chain().count() == 1 {
        // The reader of our output has seen enough: `quell noise *.png | head`. What happens to a file has its name
        // before it, and is an error.
        return Exit::Done;
    }
    if is_cancelled(error) {
        return Exit::Interrupted;
    }
    report::error(&message(error), hint(error).as_deref());
    if error.downcast_ref::<Failure>().is_some_and(|f| f.usage) { Exit::Usage } else { Exit::Failed }
}

/// Runs `work`; a panic in it (a bug, perhaps provoked by a damaged file) is an error like any other, so that
/// a batch goes on.
pub(crate) fn guard<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let failure = Failure::new(format!("a bug in quell: {text}"));
        Err(failure.hint("please report it; RUST_BACKTRACE=1 shows where it is").into())
    })
}

/// Panics print nothing by themselves, unless a backtrace is asked for: [`guard`] makes errors of them.
pub(crate) fn silence_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_none_or(|v| v == "0") {
        std::panic::set_hook(Box::new(|_| {}));
    }
}

/// The whole chain of causes in one line, without repetitions.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = plain(&cause.to_string());
        // A transparent wrapper prints the same text as its source.
        if parts.last() != Some(&text) {
            parts.push(text);
        }
    }
    parts.join(": ")
}

/// Without the number that the system adds to its messages, and without what a terminal would act upon.
fn plain(text: &str) -> String {
    let text = text.find(" (os error ").map_or(text, |at| &text[..at]);
    text.lines().map(report::escaped).collect::<Vec<_>>().join("\n")
}

/// What the user can do about it, where we know.
pub(crate) fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return failure.hint.clone();
        }
        if let Some(quell::Error::NotFinite { .. }) = cause.downcast_ref() {
            return Some(
                "--nan keep leaves such samples as they are, --nan zero sets them to zero".to_owned(),
            );
        }
        if let Some(quell::Error::Huge { .. }) = cause.downcast_ref() {
            return Some("--white says which value is white; else divide the data by a constant first".to_owned());
        }
        if let Some(quell::Error::Memory { .. }) = cause.downcast_ref() {
            return Some(SMALLER.to_owned());
        }
        if let Some(quell::Error::Device { device, .. } | quell::Error::DeviceMemory { device, .. }) =
            cause.downcast_ref()
            && device != "cpu"
        {
            return Some("quell devices shows what there is; --device auto takes what works".to_owned());
        }
        if let Some(io) = cause.downcast_ref::<io::Error>()
            && io.kind() == ErrorKind::FileTooLarge
        {
            return Some("the system or the disk limits how large files may be: see ulimit -f".to_owned());
        }
        match cause.downcast_ref()? {
            quell_io::Error::Axes { could_be, .. } => Some(format!(
                "--axes {} says it; S are colours, C, Z and T pictures of their own",
                could_be.join(", ")
            )),
            quell_io::Error::TooLarge { .. } | quell_io::Error::PagesTooLarge { .. } => Some("--max-pixels raises the limit".to_owned()),
            quell_io::Error::Memory { .. } | quell_io::Error::Frame(quell::Error::Memory { .. }) => {
                Some(SMALLER.to_owned())
            }
            quell_io::Error::NoProgram { .. } => Some(
                "install ffmpeg (apt install ffmpeg, brew install ffmpeg), name it in QUELL_FFMPEG, or use .y4m"
                    .to_owned(),
            ),
            quell_io::Error::UnknownExtension(_) => Some(format!("known extensions: {EXTENSIONS}")),
            _ => None,
        }
    })
}

/// For pictures that do not fit into memory.
const SMALLER: &str = "--tile 1024 filters the picture in parts, --jobs 1 one picture at a time";

/// For hints.
pub(crate) const EXTENSIONS: &str = "png, jpg, tif, webp, pgm, ppm, pam, pfm, exr, npy";

/// For hints.
pub(crate) const CLIPS: &str = "y4m, and by ffmpeg mp4, mkv, mov, webm, avi and others";

/// Whether the work was cancelled.
pub(crate) fn is_cancelled(error: &anyhow::Error) -> bool {
    error.chain().any(|c| matches!(c.downcast_ref(), Some(quell::Error::Cancelled)))
}

/// Whether a pipe was closed by its reader.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|c| c.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_joined_once_and_without_numbers() {
        let io = io::Error::from_raw_os_error(2);
        let e = anyhow::Error::new(quell_io::Error::Io(io)).context("a.png");
        assert_eq!(message(&e), "a.png: No such file or directory");
    }

    #[test]
    fn a_panic_is_an_error_with_its_text() {
        let e = guard::<()>(|| panic!("index {} is wrong", 3)).unwrap_err();
        assert_eq!(message(&e), "a bug in quell: index 3 is wrong");
        assert!(hint(&e).is_some());
        assert_eq!(guard(|| Ok(4)).unwrap(), 4);
    }
}
