//! Buffers that are used again instead of being allocated anew.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A pool of buffers; an empty pool makes new ones.
#[derive(Default)]
pub(in crate::device) struct Pool<T>(Mutex<Vec<T>>);

impl<T: Default> Pool<T> {
    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::device) fn take(&self) -> T {
        self.lock().pop().unwrap_or_default()
    }

    pub(in crate::device) fn give(&self, item: T) {
        self.lock().push(item);
    }

    /// Buffers that wait to be used again.
    pub(in crate::device) fn waiting(&self) -> usize {
        self.lock().len()
    }

    /// A buffer that goes back by itself.
    pub(in crate::device) fn borrow(&self) -> Loan<'_, T> {
        Loan { item: self.take(), pool: self }
    }
}

/// A buffer on loan.
pub(in crate::device) struct Loan<'a, T: Default> {
    item: T,
    pool: &'a Pool<T>,
}

impl<T: Default> Deref for Loan<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.item
    }
}

impl<T: Default> DerefMut for Loan<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.item
    }
}

impl<T: Default> Drop for Loan<'_, T> {
    fn drop(&mut self) {
        self.pool.give(std::mem::take(&mut self.item));
    }
}
