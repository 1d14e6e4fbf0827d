//! Parallel work whose results are combined in a fixed order, whatever the number of threads.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Result;

struct Merge<T, M> {
    next: usize,
    waiting: BTreeMap<usize, T>,
    merge: M,
}

/// Runs `work(i)` for `i` in `0..count` on the threads of the current rayon pool and hands the results to
/// `merge` in the order of `i`. Items are dealt out in that order too, so few results ever wait.
///
/// Each thread keeps one `scratch`. The first error stops the dealing and is returned.
pub(super) fn in_order<T: Send, S>(
    count: usize,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<T> + Sync,
    merge: impl FnMut(usize, T) + Send,
) -> Result<()> {
    let dealt = AtomicUsize::new(0);
    let state = Mutex::new(Merge { next: 0, waiting: BTreeMap::new(), merge });
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
            let mut state = state.lock().unwrap_or_else(|e| e.into_inner());
            state.waiting.insert(i, result);
            let state = &mut *state;
            while let Some(ready) = state.waiting.remove(&state.next) {
                (state.merge)(state.next, ready);
                state.next += 1;
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
            let mut seen = Vec::new();
            pool.install(|| {
                let slow_even = |i: usize, _: &mut ()| {
                    if i.is_multiple_of(2) {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    Ok(i * i)
                };
                in_order(40, || (), slow_even, |i, v| seen.push((i, v))).unwrap();
            });
            assert_eq!(seen, (0..40).map(|i| (i, i * i)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_error_stops_the_work() {
        let done = AtomicUsize::new(0);
        let work = |i: usize, _: &mut ()| {
            done.fetch_add(1, Ordering::Relaxed);
            if i == 3 { Err(Error::Cancelled) } else { Ok(()) }
        };
        assert!(matches!(in_order(1000, || (), work, |_, ()| ()), Err(Error::Cancelled)));
        assert!(done.into_inner() < 1000);
    }
}
