//! Running ffmpeg and ffprobe: where they are, what they say, and that none outlives its work.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::{Error, Result};

/// Names the program where it is not on the path, or another one of its kind.
const VARIABLE: &str = "QUELL_FFMPEG";
/// Lines of standard error that are kept.
const LINES: usize = 3;

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

/// A path that ffmpeg takes for a file, whatever is in its name.
pub(super) fn file(path: &Path) -> OsString {
    let mut name = OsString::from("file:");
    name.push(path);
    name
}

/// `ffmpeg` or `ffprobe` as the user has it.
fn program(name: &str) -> PathBuf {
    let Some(named) = std::env::var_os(VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from) else {
        return name.into();
    };
    let other = named.file_name().map(|f| f.to_string_lossy().replace("ffmpeg", name));
    match other {
        Some(other) if name != "ffmpeg" => {
            let beside = named.with_file_name(other);
            if beside.is_file() { beside } else { name.into() }
        }
        _ => named,
    }
}

/// Runs a program to its end; what it printed.
pub(super) fn output(name: &str, args: &[&OsStr], needed: &str) -> Result<String> {
    let program = program(name);
    let out = Command::new(&program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| not_started(&program, needed, e))?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        let last: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).collect();
        return Err(failed(last[last.len().saturating_sub(LINES)..].iter().map(|l| plain(l)), out.status));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

fn not_started(program: &Path, needed: &str, e: io::Error) -> Error {
    if e.kind() == ErrorKind::NotFound {
        return Error::NoProgram { program: program.display().to_string(), needed: needed.to_owned() };
    }
    Error::Ffmpeg(format!("{} cannot be started: {e}", program.display()))
}

fn failed(said: impl IntoIterator<Item = String>, status: ExitStatus) -> Error {
    let said: Vec<String> = said.into_iter().collect();
    if said.is_empty() {
        Error::Ffmpeg(format!("ended with {status}"))
    } else {
        Error::Ffmpeg(said.join("; "))
    }
}

/// A line without the address of the part that printed it.
fn plain(line: &str) -> String {
    let line = line.trim();
    let rest =
        line.strip_prefix('[').and_then(|l| l.split_once("] ")).filter(|(part, _)| part.contains(" @ "));
    rest.map_or(line, |(_, rest)| rest).chars().take(300).collect()
}

/// The option that tells what happens to timestamps; it was renamed in ffmpeg 5.1.
pub(super) fn timing_option(needed: &str) -> Result<&'static str> {
    let text = output("ffmpeg", &["-version".as_ref()], needed)?;
    Ok(if is_old(&text) { "-vsync" } else { "-fps_mode" })
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

/// ffmpeg at work; killed when dropped.
#[derive(Debug)]
pub(super) struct Tool {
    child: Shared,
    said: Option<JoinHandle<Vec<String>>>,
}

impl Tool {
    /// Starts ffmpeg with pipes for what it reads or writes.
    pub(super) fn start(
        args: &[OsString],
        needed: &str,
        stdin: bool,
    ) -> Result<(Self, Option<ChildStdin>, Option<ChildStdout>)> {
        let program = program("ffmpeg");
        let mut command = Command::new(&program);
        command.args(["-hide_banner", "-nostdin", "-v", "error"]).args(args).stderr(Stdio::piped());
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
        let said = stderr.map(|s| std::thread::spawn(move || last_lines(s)));
        Ok((Self { child, said }, stdin, stdout))
    }

    /// Waits for its end. What it said is an error if it failed, and remarks otherwise.
    pub(super) fn wait(mut self) -> Result<Vec<String>> {
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
        if status.success() { Ok(said) } else { Err(failed(said, status)) }
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
fn last_lines(stderr: ChildStderr) -> Vec<String> {
    let mut lines = VecDeque::new();
    let mut from = BufReader::new(stderr);
    let mut line = Vec::new();
    while matches!(from.read_until(b'\n', &mut line), Ok(n) if n > 0) {
        let text = plain(&String::from_utf8_lossy(&line));
        line.clear();
        if text.is_empty() {
            continue;
        }
        lines.push_back(text);
        if lines.len() > LINES {
            lines.pop_front();
        }
    }
    lines.into()
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
    fn lines_lose_addresses_only() {
        assert_eq!(plain("[mov,mp4 @ 0x55d] moov atom not found\n"), "moov atom not found");
        assert_eq!(plain("[sic] a.mp4: Invalid data"), "[sic] a.mp4: Invalid data");
    }
}
