//! Running ffmpeg and ffprobe: what they say and count, and that none outlives its work.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::program::program;
use crate::{Error, Result};

/// Lines of standard error that are kept.
const LINES: usize = 3;
/// Before its level the text of a line may be anything; these levels mean that something was lost.
const BAD: [&str; 3] = ["[error]", "[fatal]", "[panic]"];

type Shared = Arc<Mutex<Child>>;

/// Programs at work.
static RUNNING: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<Shared>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all programs at once, for signal handlers.
pub(crate) fn stop_all() {
    for child in running().drain(..) {
        // A failure means that it has ended by itself.
        let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
    }
}

/// What a program printed that ran to its end.
pub(super) struct Output {
    pub(super) text: String,
    /// What went wrong on the way, though it did not fail.
    pub(super) errors: Vec<String>,
}

/// Runs a program to its end; what it printed.
pub(super) fn output(name: &str, args: &[&OsStr], needed: &str) -> Result<Output> {
    let (tool, _, stdout) = Tool::spawn(name, args.iter().copied(), needed, false)?;
    let mut text = Vec::new();
    if let Some(mut stdout) = stdout {
        stdout.read_to_end(&mut text)?;
    }
    let ended = tool.wait()?;
    if !ended.status.success() {
        return Err(ended.error());
    }
    Ok(Output { text: String::from_utf8_lossy(&text).into_owned(), errors: ended.said.errors })
}

fn not_started(program: &Path, needed: &str, e: io::Error) -> Error {
    if e.kind() == ErrorKind::NotFound {
        return Error::NoProgram { program: program.display().to_string(), needed: needed.to_owned() };
    }
    Error::Ffmpeg(format!("{} cannot be started: {e}", program.display()))
}

/// How a program ended.
pub(super) struct Ended {
    status: ExitStatus,
    said: Said,
}

impl Ended {
    /// It failed, or it did not and said that something went wrong: ffmpeg ends with 0 after much of what it could not
    /// read or write.
    pub(super) fn failed(&self) -> bool {
        !self.status.success() || !self.said.errors.is_empty()
    }

    /// It ended with an exit code that says so.
    pub(super) fn broke_off(&self) -> bool {
        !self.status.success()
    }

    /// What it said, for a failure.
    pub(super) fn error(&self) -> Error {
        Error::Ffmpeg(self.said.why().unwrap_or_else(|| format!("ended with {}", self.status)))
    }

    /// What it counted.
    pub(super) fn counted(&self) -> Option<Counted> {
        self.said.counted
    }
}

/// Frames as ffmpeg counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// Written.
    pub(super) written: u64,
    /// Of those, repeated to keep the frame rate.
    repeated: u64,
    /// Left out to keep it.
    dropped: u64,
}

impl Counted {
    /// Frames that came in.
    pub(super) fn taken(self) -> u64 {
        self.written.saturating_add(self.dropped).saturating_sub(self.repeated)
    }

    /// What was done to keep the frame rate.
    pub(super) fn changes(self) -> Option<String> {
        let what = match (self.repeated, self.dropped) {
            (0, 0) => return None,
            (n, 0) => format!("{n} repeated"),
            (0, n) => format!("{n} left out"),
            (n, m) => format!("{n} repeated and {m} left out"),
        };
        Some(format!("timestamps have gaps: of the frames {what}, in step with the sound"))
    }
}

/// What was said on standard error.
#[derive(Debug, Default)]
struct Said {
    /// The last lines that mean a loss.
    errors: Vec<String>,
    /// The last of the others.
    rest: Vec<String>,
    counted: Option<Counted>,
}

impl Said {
    fn why(&self) -> Option<String> {
        let lines = if self.errors.is_empty() { &self.rest } else { &self.errors };
        (!lines.is_empty()).then(|| lines.join("; "))
    }
}

/// ffmpeg at work; killed when dropped.
#[derive(Debug)]
pub(super) struct Tool {
    child: Shared,
    said: Option<JoinHandle<Said>>,
}

impl Tool {
    /// Starts ffmpeg with pipes for what it reads or writes.
    pub(super) fn start(
        args: &[OsString],
        needed: &str,
        stdin: bool,
    ) -> Result<(Self, Option<ChildStdin>, Option<ChildStdout>)> {
        // Levels tell losses from the talk of encoders; the progress has the counts.
        let usual = ["-hide_banner", "-nostdin", "-nostats", "-v", "level+error", "-progress", "pipe:2"];
        let usual = usual.iter().map(OsStr::new);
        Self::spawn("ffmpeg", usual.chain(args.iter().map(OsString::as_os_str)), needed, stdin)
    }

    fn spawn<'a>(
        name: &str,
        args: impl Iterator<Item = &'a OsStr>,
        needed: &str,
        stdin: bool,
    ) -> Result<(Self, Option<ChildStdin>, Option<ChildStdout>)> {
        let program = program(name, needed)?;
        let mut command = Command::new(&program);
        command.args(args).stderr(Stdio::piped());
        if stdin {
            command.stdin(Stdio::piped()).stdout(Stdio::null());
        } else {
            command.stdin(Stdio::null()).stdout(Stdio::piped());
        }
        // Ctrl-C is for us: we end it, and what it says about being interrupted is of no interest.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|e| not_started(&program, needed, e))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let child = Arc::new(Mutex::new(child));
        running().push(child.clone());
        let said = stderr.map(|s| std::thread::spawn(move || listen(s)));
        Ok((Self { child, said }, stdin, stdout))
    }

    /// Waits for its end.
    pub(super) fn wait(mut self) -> Result<Ended> {
        let mut pause = Duration::from_millis(1);
        let status = loop {
            // The lock is not held while waiting: a signal handler may want it.
            if let Some(status) = self.child().try_wait()? {
                break status;
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(20));
        };
        let said = self.said.take().and_then(|s| s.join().ok()).unwrap_or_default();
        Ok(Ended { status, said })
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        // Both fail only if it has ended and was waited for.
        let _ = self.child().kill();
        let _ = self.child().wait();
        running().retain(|c| !Arc::ptr_eq(c, &self.child));
    }
}

/// Reads standard error to its end, so that it never blocks, and keeps the end of it.
fn listen(stderr: impl Read) -> Said {
    let (mut errors, mut rest) = (VecDeque::new(), VecDeque::new());
    let (mut counts, mut counted) = (Counted::default(), None);
    let mut from = BufReader::new(stderr);
    let mut line = Vec::new();
    while matches!(from.read_until(b'\n', &mut line), Ok(n) if n > 0) {
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        line.clear();
        match text.split_once('=') {
            Some(("frame", n)) => counts.written = n.trim().parse().unwrap_or(0),
            Some(("dup_frames", n)) => counts.repeated = n.trim().parse().unwrap_or(0),
            Some(("drop_frames", n)) => counts.dropped = n.trim().parse().unwrap_or(0),
            Some(("progress", _)) => counted = Some(counts),
            Some((key, _)) if is_progress(key) => {}
            _ if text.is_empty() => {}
            _ => {
                let to = if BAD.iter().any(|b| text.contains(b)) { &mut errors } else { &mut rest };
                let text = plain(&text);
                if to.back() != Some(&text) {
                    to.push_back(text);
                }
                if to.len() > LINES {
                    to.pop_front();
                }
            }
        }
    }
    Said { errors: errors.into(), rest: rest.into(), counted }
}

/// Other lines of the progress.
fn is_progress(key: &str) -> bool {
    matches!(key, "fps" | "bitrate" | "total_size" | "speed")
        || (key.starts_with("out_time") || key.starts_with("stream_")) && !key.contains(' ')
}

/// A line without its level and the address of the part that printed it.
fn plain(line: &str) -> String {
    let part = |l: &str| -> Option<usize> {
        let (inside, _) = l.strip_prefix('[')?.split_once("] ")?;
        (inside.contains(" @ ") || BAD.contains(&&*format!("[{inside}]"))).then_some(inside.len() + 3)
    };
    let mut line = line.trim();
    while let Some(length) = part(line) {
        line = &line[length..];
    }
    line.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_addresses_and_levels_only() {
        assert_eq!(plain("[mov,mp4 @ 0x55d] [error] moov atom not found\n"), "moov atom not found");
        assert_eq!(plain("[fatal] no"), "no");
        assert_eq!(plain("[sic] a.mp4: Invalid data"), "[sic] a.mp4: Invalid data");
    }

    #[test]
    fn losses_are_told_from_talk_and_counts() {
        let text = "x265 [info]: fine\nframe=3\ndup_frames=1\ndrop_frames=0\nout_time_ms=4\nprogress=continue\n\
            [h264 @ 0x1] [error] error while decoding MB 1 2\nframe=13\nfps=0.0\nstream_0_0_q=-0.0\ndup_frames=2\n\
            drop_frames=1\nprogress=end\nframe=99\n";
        let said = listen(text.as_bytes());
        assert_eq!(said.errors, ["error while decoding MB 1 2"]);
        assert_eq!(said.rest, ["x265 [info]: fine"]);
        let counted = said.counted.unwrap();
        assert_eq!((counted.written, counted.taken()), (13, 12));
        assert!(counted.changes().unwrap().contains("2 repeated and 1 left out"));
        let said = listen(&b"talk=1 of many\n"[..]);
        assert_eq!((said.counted, said.why()), (None, Some("talk=1 of many".to_owned())));
    }
}
