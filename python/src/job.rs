//! Work that goes on without the interpreter, that Ctrl-C stops and that reports how far it is.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use quell::{Cancel, Control, Progress};
use rayon::ThreadPool;

use crate::errors::raise;
use crate::idle::{Held, Idle};

/// How often signals are looked for and progress is told.
const TICK: Duration = Duration::from_millis(40);

/// Does `work` with the interpreter released. Signals are handled, and `progress` is called with a number from 0 to 1,
/// on the calling thread; an exception from either stops the work and is raised when it has ended.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Control) -> quell::Result<T> + Send,
) -> PyResult<T> {
    run_with(py, Cancel::new(), progress, work)
}

/// The same for work that listens to `cancel`.
pub(crate) fn run_with<T: Send>(
    py: Python<'_>,
    cancel: Cancel,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Control) -> quell::Result<T> + Send,
) -> PyResult<T> {
    let reached = Arc::new(Mutex::new(0.0));
    let mut control = Control::new().with_cancel(cancel.clone());
    if progress.is_some() {
        let reached = reached.clone();
        control = control.with_progress(Arc::new(move |p: Progress| {
            *reached.lock().unwrap_or_else(PoisonError::into_inner) = p.fraction();
        }));
    }
    let tell = |py: Python<'_>, fraction: f64| match progress {
        Some(progress) => progress.call1(py, (fraction,)).map(drop),
        None => Ok(()),
    };
    let (done, interrupted) = py.detach(|| {
        std::thread::scope(|threads| {
            let (sender, receiver) = sync_channel(1);
            let worker = threads.spawn(move || {
                // Who waits for it is always there.
                let _ = sender.send(work(&control));
            });
            let mut interrupted = None;
            loop {
                match receiver.recv_timeout(TICK) {
                    Ok(done) => return (done, interrupted),
                    Err(RecvTimeoutError::Disconnected) => match worker.join() {
                        Err(panic) => std::panic::resume_unwind(panic),
                        Ok(()) => unreachable!("a worker sends before it ends"),
                    },
                    Err(RecvTimeoutError::Timeout) if interrupted.is_some() => {}
                    Err(RecvTimeoutError::Timeout) => {
                        let fraction = *reached.lock().unwrap_or_else(PoisonError::into_inner);
                        let went_on =
                            Python::attach(|py| py.check_signals().and_then(|()| tell(py, fraction)));
                        if let Err(exception) = went_on {
                            cancel.cancel();
                            interrupted = Some(exception);
                        }
                    }
                }
            }
        })
    });
    if let Some(exception) = interrupted {
        return Err(exception);
    }
    let done = done.map_err(raise)?;
    tell(py, 1.0)?;
    Ok(done)
}

/// Threads for what is done before there is a device: estimating noise, checking samples. Not those that all of the
/// process share, which do not live on in a forked one.
pub(crate) fn host(threads: usize) -> quell::Result<Held<usize, Arc<ThreadPool>>> {
    static POOLS: Idle<usize, Arc<ThreadPool>> = Idle::new();
    let make = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| quell::Error::Device { device: "cpu".into(), reason: e.to_string() })?;
        Ok(Arc::new(pool))
    };
    // As many as there are cores serve all; fewer are those of one call.
    if threads == 0 { POOLS.share(0, make) } else { POOLS.take(threads, make) }
}
