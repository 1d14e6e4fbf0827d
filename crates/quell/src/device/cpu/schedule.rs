//! Parallel work whose results are combined in a fixed order, whatever the number of threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::Result;

/// A part of what results are combined into. Different parts are filled at the same time, each in its own order.
pub(super) struct Part<T, P> {
    /// Results that have come since the part was looked at.
    new: Mutex<Vec<(usize, Arc<T>)>>,
    state: Mutex<State<T, P>>,
    items: Vec<usize>,
}

struct State<T, P> {
    into: P,
    /// Which of the items is next.
    next: usize,
    waiting: BTreeMap<usize, Arc<T>>,
}

impl<T, P> Part<T, P> {
    /// Takes the results of these items, which ascend, in this order.
    pub(super) fn new(into: P, items: Vec<usize>) -> Self {
        let state = State { into, next: 0, waiting: BTreeMap::new() };
        Self { new: Mutex::default(), state: Mutex::new(state), items }
    }

    /// Hands a result over. Whoever finds nobody at work on the part does what there is to do; nobody waits.
    fn offer(&self, i: usize, result: Arc<T>, merge: &impl Fn(&mut P, usize, Option<usize>, &T)) {
        lock(&self.new).push((i, result));
        while !lock(&self.new).is_empty() {
            let mut state = match self.state.try_lock() {
                Ok(state) => state,
                Err(TryLockError::Poisoned(e)) => e.into_inner(),
                // That thread looks again when it has finished.
                Err(TryLockError::WouldBlock) => return,
            };
            let state = &mut *state;
            state.waiting.extend(lock(&self.new).drain(..));
            while let Some(&item) = self.items.get(state.next)
                && let Some(ready) = state.waiting.remove(&item)
            {
                state.next += 1;
                merge(&mut state.into, item, self.items.get(state.next).copied(), &ready);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work(i)` for `i` in `0..count` on the threads of the current rayon pool and hands the results to the parts that
/// take them: `merge(part, i, next, result)`, where `next` is the item that this part takes after `i`. Items are dealt
/// out in ascending order too, so few results ever wait.
///
/// Each thread keeps one `scratch`. The first error stops the dealing and is returned.
pub(super) fn in_order<T: Send + Sync, S, P: Send>(
    count: usize,
    parts: &[Part<T, P>],
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<T> + Sync,
    merge: impl Fn(&mut P, usize, Option<usize>, &T) + Sync,
) -> Result<()> {
    let dealt = AtomicUsize::new(0);
    let results = rayon::broadcast(|_| {
        let mut mine = None;
        loop {
            let i = dealt.fetch_add(1, Ordering::Relaxed);
            if i >= count {
                return Ok(());
            }
            let result = work(i, mine.get_or_insert_with(&scratch)).inspect_err(|_| {
                dealt.fetch_max(count, Ordering::Relaxed);
            })?;
            let result = Arc::new(result);
            for part in parts.iter().filter(|p| p.items.binary_search(&i).is_ok()) {
                part.offer(i, result.clone(), &merge);
            }
        }
    });
    results.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn merges_in_order_on_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            // Everything, and every third one.
            let items = [(0..40).collect::<Vec<_>>(), (0..40).step_by(3).collect()];
            let mut seen = [Vec::new(), Vec::new()];
            let parts: Vec<_> =
                seen.iter_mut().zip(&items).map(|(seen, items)| Part::new(seen, items.clone())).collect();
            pool.install(|| {
                let slow_even = |i: usize, _: &mut ()| {
                    if i.is_multiple_of(2) {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    Ok(i * i)
                };
                let merge = |seen: &mut &mut Vec<_>, i, next, v: &usize| seen.push((i, next, *v));
                in_order(40, &parts, || (), slow_even, merge).unwrap();
            });
            drop(parts);
            for (seen, items) in seen.iter().zip(&items) {
                let want = items.iter().enumerate().map(|(n, &i)| (i, items.get(n + 1).copied(), i * i));
                assert_eq!(*seen, want.collect::<Vec<_>>(), "{threads} threads");
            }
        }
    }

    #[test]
    fn the_first_error_stops_the_work() {
        let done = AtomicUsize::new(0);
        let work = |i: usize, _: &mut ()| {
            done.fetch_add(1, Ordering::Relaxed);
            if i == 3 { Err(Error::Cancelled) } else { Ok(()) }
        };
        let parts = [Part::new((), (0..1000).collect())];
        assert!(matches!(in_order(1000, &parts, || (), work, |_, _, _, ()| ()), Err(Error::Cancelled)));
        assert!(done.into_inner() < 1000);
    }
}
