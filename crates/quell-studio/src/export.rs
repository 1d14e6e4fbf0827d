//! The queue of files to write, one after the other, as the command line does it.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quell::Cancel;
use serde_json::{Value, json};

use crate::program::Export;
use crate::studio::Studio;
use crate::{Kind, Problem};

/// Time between two reports.
const REPORT: Duration = Duration::from_millis(100);

/// All exports of a session.
#[derive(Default)]
pub(crate) struct Exports {
    queue: Mutex<Queue>,
    bell: Condvar,
}

#[derive(Default)]
struct Queue {
    items: Vec<Item>,
    ended: bool,
}

/// One file.
struct Item {
    id: u64,
    file: u64,
    name: String,
    job: Export,
    state: State,
    done: f64,
    started: Option<Instant>,
    text: Option<String>,
    problem: Option<Problem>,
    cancel: Cancel,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Done,
    Failed,
    Cancelled,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Item {
    fn describe(&self) -> Value {
        let left = self
            .started
            .filter(|_| self.state == State::Running && self.done > 0.0)
            .map(|started| started.elapsed().as_secs_f64() * (1.0 - self.done) / self.done);
        json!({
            "id": self.id.to_string(),
            "file": self.file.to_string(),
            "name": self.name,
            "output": self.job.output.display().to_string(),
            "state": self.state.name(),
            "done": self.done,
            "seconds_left": left,
            "text": self.text,
            "error": self.problem.as_ref().map(|p| &p.error),
            "hint": self.problem.as_ref().and_then(|p| p.hint.as_ref()),
        })
    }
}

impl Exports {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them, for the page.
    pub(crate) fn describe(&self) -> Value {
        self.queue().items.iter().map(Item::describe).collect()
    }

    /// Adds files: number, name, input, output. Returns what the page is told of them.
    pub(crate) fn add(
        &self,
        files: Vec<(u64, String, PathBuf, PathBuf)>,
        flags: &[String],
        replace: bool,
    ) -> Value {
        let mut queue = self.queue();
        let mut added = Vec::new();
        for (file, name, input, output) in files {
            let id = queue.items.len() as u64 + 1;
            let item = Item {
                id,
                file,
                name,
                job: Export { input, output, flags: flags.to_vec(), replace },
                state: State::Waiting,
                done: 0.0,
                started: None,
                text: None,
                problem: None,
                cancel: Cancel::new(),
            };
            added.push(item.describe());
            queue.items.push(item);
        }
        self.bell.notify_all();
        added.into()
    }

    /// Whether a file is to be written here already.
    pub(crate) fn is_target(&self, output: &PathBuf) -> bool {
        let busy = |item: &Item| matches!(item.state, State::Waiting | State::Running);
        self.queue().items.iter().any(|item| busy(item) && item.job.output == *output)
    }

    /// Stops one.
    pub(crate) fn cancel(&self, id: u64) -> Result<(), Problem> {
        let mut queue = self.queue();
        let item = queue.items.iter_mut().find(|item| item.id == id);
        let item = item.ok_or_else(|| Problem::missing(format!("there is no export {id}")))?;
        item.cancel.cancel();
        if item.state == State::Waiting {
            item.state = State::Cancelled;
        }
        Ok(())
    }

    /// Ends the thread.
    pub(crate) fn end(&self) {
        let mut queue = self.queue();
        queue.ended = true;
        queue.items.iter().for_each(|item| item.cancel.cancel());
        self.bell.notify_all();
    }

    /// Waits for the next one.
    fn next(&self) -> Option<(u64, Export, Cancel)> {
        let mut queue = self.queue();
        loop {
            if queue.ended {
                return None;
            }
            if let Some(item) = queue.items.iter_mut().find(|item| item.state == State::Waiting) {
                item.state = State::Running;
                item.started = Some(Instant::now());
                return Some((item.id, item.job.clone(), item.cancel.clone()));
            }
            queue = self.bell.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn change(&self, id: u64, change: impl FnOnce(&mut Item)) {
        if let Some(item) = self.queue().items.iter_mut().find(|item| item.id == id) {
            change(item);
        }
    }
}

/// What the thread does until the end: one that fails does not stop the others.
pub(crate) fn run(studio: &Arc<Studio>) {
    let exports = &studio.exports;
    let tell = || studio.events.send("queue", &exports.describe());
    while let Some((id, job, cancel)) = exports.next() {
        tell();
        studio.desk.pause(true);
        let (last, to) = (Mutex::new(Instant::now()), studio.clone());
        let progress = Arc::new(move |done: f64| {
            let Ok(mut last) = last.try_lock() else { return };
            if last.elapsed() > REPORT {
                *last = Instant::now();
                to.exports.change(id, |item| item.done = done.clamp(item.done, 1.0));
                to.events.send("queue", &to.exports.describe());
            }
        });
        // It may have come while the queue was waiting.
        let result = check_free(&job).and_then(|()| studio.program.export(&job, progress, &cancel));
        studio.desk.pause(false);
        exports.change(id, |item| match result {
            Ok(text) => {
                (item.state, item.done, item.text) = (State::Done, 1.0, Some(text));
            }
            Err(problem) if problem.kind == Kind::Cancelled => item.state = State::Cancelled,
            Err(problem) => {
                (item.state, item.problem) = (State::Failed, Some(problem));
            }
        });
        tell();
    }
}

/// What exists is not replaced unless that was wanted.
pub(crate) fn check_free(job: &Export) -> Result<(), Problem> {
    if job.replace || !job.output.exists() {
        return Ok(());
    }
    Err(Problem::new(Kind::Superseded, format!("{} exists", job.output.display()))
        .hint("choose another name, or let it be replaced"))
}
