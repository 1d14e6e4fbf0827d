//! Work on several threads, reported in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// Does `work` on every item, `threads` of them at once, and hands each result to `report` on this thread, in the order
/// of the items. An error of `report` ends it: items in work are finished, others are not begun.
pub(crate) fn in_order<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
    mut report: impl FnMut(&T, R) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if threads < 2 {
        return items.iter().try_for_each(|item| report(item, work(item)));
    }
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, stop, work) = (sender.clone(), &next, &stop, &work);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    if sender.send((at, work(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        // Results that wait for an earlier one: they are small, the pictures are gone by then.
        let mut waiting = BTreeMap::new();
        let mut at = 0;
        for (done, result) in results {
            waiting.insert(done, result);
            while let Some(result) = waiting.remove(&at) {
                if let Err(e) = report(&items[at], result) {
                    stop.store(true, Ordering::Relaxed);
                    return Err(e);
                }
                at += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn results_come_in_order_whoever_is_first() {
        let items: Vec<u64> = (0..20).collect();
        for threads in [1, 3, 30] {
            let mut seen = Vec::new();
            let work = |&n: &u64| {
                std::thread::sleep(Duration::from_millis(n * 7 % 5));
                n * 10
            };
            let report = |&n: &u64, r: u64| {
                seen.push((n, r));
                Ok(())
            };
            in_order(&items, threads, work, report).unwrap();
            assert_eq!(seen, items.iter().map(|&n| (n, n * 10)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_ends_it() {
        let items: Vec<usize> = (0..1000).collect();
        for threads in [1, 4] {
            let begun = AtomicUsize::new(0);
            let work = |_: &usize| {
                begun.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(1));
            };
            let report = |&n: &usize, ()| if n == 5 { Err(anyhow::anyhow!("enough")) } else { Ok(()) };
            assert_eq!(in_order(&items, threads, work, report).unwrap_err().to_string(), "enough");
            assert!(begun.load(Ordering::SeqCst) < 500);
        }
    }

    #[test]
    fn several_are_in_work_at_once_but_not_more_than_asked() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |_: &u8| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            now.fetch_sub(1, Ordering::SeqCst);
        };
        in_order(&[0; 12], 3, work, |_, ()| Ok(())).unwrap();
        assert!((2..=3).contains(&most.load(Ordering::SeqCst)));
    }
}
