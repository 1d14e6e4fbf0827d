//! Progress out of, and cancellation into, long work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Error, Result};

/// How far a piece of work has come.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Units of work done, over all passes.
    pub done: u64,
    /// Units of work in all.
    pub total: u64,
    /// What is going on, for example `pass 2 of 2`.
    pub stage: &'static str,
}

impl Progress {
    /// Between 0 and 1.
    pub fn fraction(&self) -> f64 {
        if self.total == 0 { 1.0 } else { self.done as f64 / self.total as f64 }
    }
}

/// A handle that stops running work from another thread.
///
/// ```
/// let cancel = quell::Cancel::new();
/// cancel.clone().cancel();
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A handle that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the work to stop; it ends with [`Error::Cancelled`] within a few milliseconds.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Called with every [`Progress`] step, from any worker thread.
pub type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

/// Steps of a part of the work that goes on beside others.
const FINE: u64 = 1 << 16;

/// What a running job listens to and reports to.
#[derive(Clone, Default)]
pub struct Control {
    cancel: Cancel,
    progress: Option<ProgressFn>,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}

impl Control {
    /// Neither reported nor cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops when `cancel` says so.
    #[must_use]
    pub fn with_cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// Reports to `progress`.
    #[must_use]
    pub fn with_progress(mut self, progress: ProgressFn) -> Self {
        self.progress = Some(progress);
        self
    }

    /// For the `index`-th of `count` equal parts of the work: its progress counts as that part of the whole.
    #[must_use]
    pub fn section(&self, index: usize, count: usize) -> Self {
        self.sections(index..index + 1, count)
    }

    /// The same for several parts that follow each other.
    pub(crate) fn sections(&self, parts: std::ops::Range<usize>, count: usize) -> Self {
        let [start, parts, count] = [parts.start, parts.len(), count].map(|n| n as u64);
        let progress = self.progress.clone().map(|report| -> ProgressFn {
            Arc::new(move |p: Progress| {
                let (done, total) = (start * p.total + parts * p.done, count * p.total);
                report(Progress { done, total, stage: p.stage });
            })
        });
        Self { cancel: self.cancel.clone(), progress }
    }

    /// For `count` equal parts of the work that go on at once: their progress is added up.
    pub(crate) fn parallel(&self, count: usize) -> Vec<Self> {
        let parts: Arc<Mutex<Vec<u64>>> = Arc::new(Mutex::new(vec![0; count]));
        (0..count)
            .map(|i| {
                let (whole, parts) = (self.clone(), parts.clone());
                let report: ProgressFn = Arc::new(move |p: Progress| {
                    let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
                    parts[i] = (p.fraction() * FINE as f64) as u64;
                    // Under the lock, so that no report overtakes another.
                    whole.report(parts.iter().sum(), FINE * count as u64, p.stage);
                });
                Self { cancel: self.cancel.clone(), progress: self.progress.is_some().then_some(report) }
            })
            .collect()
    }

    /// [`Error::Cancelled`] once cancelled.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Reports a step.
    pub fn report(&self, done: u64, total: u64, stage: &'static str) {
        if let Some(report) = &self.progress {
            report(Progress { done, total, stage });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_add_up_to_the_whole() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = seen.clone();
        let control =
            Control::new().with_progress(Arc::new(move |p| into.lock().unwrap().push(p.fraction())));
        for part in 0..3 {
            let section = control.section(part, 3);
            section.report(1, 2, "");
            section.report(2, 2, "");
        }
        let seen = seen.lock().unwrap();
        assert!(seen.is_sorted() && seen.len() == 6 && seen[5] == 1.0, "{seen:?}");
    }

    #[test]
    fn parts_at_once_add_up_to_the_whole() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = seen.clone();
        let control =
            Control::new().with_progress(Arc::new(move |p| into.lock().unwrap().push(p.fraction())));
        let parts = control.parallel(2);
        for (part, done) in [(0, 1), (1, 2), (1, 4), (0, 4)] {
            parts[part].report(done, 4, "");
        }
        assert_eq!(*seen.lock().unwrap(), [0.125, 0.375, 0.625, 1.0]);
        control.cancel.cancel();
        assert!(parts[1].check().is_err());
    }
}
