//! The last few of something that takes a while to make.

use std::sync::{Arc, Mutex, PoisonError};

/// How many are remembered: kernels of three sizes of every picture in work, and more.
const RECENT: usize = 16;

/// What was made last, by what it was made for.
pub(crate) struct Recent<K, V>(Mutex<Vec<(K, Arc<V>)>>);

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, V> Recent<K, V> {
    /// What was made for `key`, made now if it is new. Others wait.
    pub(crate) fn get<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, value)) = recent.iter().find(|(k, _)| *k == key) {
            return Ok(value.clone());
        }
        let value = Arc::new(make()?);
        recent.truncate(RECENT - 1);
        recent.insert(0, (key, value.clone()));
        Ok(value)
    }
}
