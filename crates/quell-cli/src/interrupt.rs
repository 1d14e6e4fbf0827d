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
    let installed = ctrlc::set_handler(move || {
        handle.cancel();
        std::thread::sleep(GRACE);
        quell_io::remove_unfinished();
        std::process::exit(Exit::Interrupted as i32);
    });
    if let Err(e) = installed {
        eprintln!("warning: Ctrl-C may leave temporary files behind: {e}");
    }
    cancel
}
