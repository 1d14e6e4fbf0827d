//! Ctrl-C: stop the work at its next check, and leave no partial file behind.

use std::time::Duration;

use quell::Cancel;

use crate::failure::Exit;

/// Work that has not ended this long after the signal (a large file being encoded, say) is cut off.
const GRACE: Duration = Duration::from_millis(400);

/// From now on an interrupt or termination signal cancels the returned handle; main then ends with
/// [`Exit::Interrupted`], or the process is ended here when main takes too long.
pub(crate) fn listen() -> Cancel {
    let cancel = Cancel::new();
    let handle = cancel.clone();
    let installed = on_signal(move || {
        handle.cancel();
        std::thread::sleep(GRACE);
        quell_io::remove_unfinished();
        std::process::exit(Exit::Interrupted as i32);
    });
    if let Err(e) = installed {
        crate::report::message(&format!("warning: Ctrl-C may leave temporary files behind: {e}"));
    }
    cancel
}

/// Not the hang-up signal: `nohup quell …` must outlive its terminal.
#[cfg(unix)]
fn on_signal(act: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    use std::sync::Arc;

    use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    // A file that would grow beyond its limit is an error of that file, not the end of the program.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if signals.forever().next().is_some() {
            act();
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
fn on_signal(act: impl FnOnce() + Send + 'static) -> Result<(), ctrlc::Error> {
    let mut act = Some(act);
    ctrlc::set_handler(move || {
        if let Some(act) = act.take() {
            act();
        }
    })
}
