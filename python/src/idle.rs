//! What one call uses at a time and leaves to the next: calls at the same time have their own, and do not wait for each other.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

/// Those that nobody uses, of every kind and process: threads do not live on in a forked one.
pub(crate) struct Idle<K, T>(Mutex<Vec<(u32, K, T)>>);

/// One in use, which goes back when it is dropped. Clones of it are the same thing.
pub(crate) struct Held<K: Copy + 'static, T: Clone + 'static> {
    /// Where it goes back to; nothing, where it is there already.
    from: Option<&'static Idle<K, T>>,
    process: u32,
    kind: K,
    thing: T,
}

impl<K: Copy + PartialEq, T: Clone> Idle<K, T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// One of this kind; a new one, if all are in use.
    pub(crate) fn take(
        &'static self,
        kind: K,
        make: impl FnOnce() -> quell::Result<T>,
    ) -> quell::Result<Held<K, T>> {
        let process = std::process::id();
        let found = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let same = all.iter().position(|(p, k, _)| (*p, *k) == (process, kind));
            same.map(|i| all.swap_remove(i).2)
        };
        let thing = found.map_or_else(make, Ok)?;
        Ok(Held { from: Some(self), process, kind, thing })
    }

    /// One of this kind that others use at the same time.
    pub(crate) fn share(
        &'static self,
        kind: K,
        make: impl FnOnce() -> quell::Result<T>,
    ) -> quell::Result<Held<K, T>> {
        let held = self.take(kind, make)?;
        Ok(Held { from: None, process: held.process, kind, thing: held.thing.clone() })
    }
}

impl<K: Copy, T: Clone> Drop for Held<K, T> {
    fn drop(&mut self) {
        let Some(from) = self.from else { return };
        let mut all = from.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((self.process, self.kind, self.thing.clone()));
    }
}

impl<K: Copy, T: Clone> Deref for Held<K, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.thing
    }
}
