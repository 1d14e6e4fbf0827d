//! A word to the user while something takes long: kernels are being compiled.

use std::sync::OnceLock;

type Listener = Box<dyn Fn(&str) + Send + Sync>;

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// Sets what happens with notices such as "compiling kernels for … (once)". The first one set stays; without one
/// nothing is said. It may be called from any thread.
pub fn on_notice(listener: impl Fn(&str) + Send + Sync + 'static) {
    // A second program part that wants to listen is not worth an error.
    let _ = LISTENER.set(Box::new(listener));
}

/// Tells the user.
pub(crate) fn notice(text: &str) {
    if let Some(listener) = LISTENER.get() {
        listener(text);
    }
}
