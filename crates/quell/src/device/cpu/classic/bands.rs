//! Bands of rows on every thread. What a band holds depends on the picture alone.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::device::cpu::Level;
use crate::device::cpu::simd::{Kernel, Simd, dispatch};
use crate::{Control, Result};

/// Rows of a band.
pub(super) const ROWS: usize = 16;

/// What the user is told.
const STAGE: &str = "filtering";

/// Counts bands, and lets the user stop between them.
pub(super) struct Steps<'a> {
    control: &'a Control,
    done: Mutex<u64>,
    total: u64,
}

impl<'a> Steps<'a> {
    /// Of `total` steps none is done.
    pub(super) fn new(control: &'a Control, total: usize) -> Self {
        Self { control, done: Mutex::new(0), total: total as u64 }
    }

    /// Whether to go on.
    pub(super) fn check(&self) -> Result<()> {
        self.control.check()
    }

    /// One more is done.
    pub(super) fn step(&self) {
        // Under the lock, so that no report overtakes another.
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        self.control.report(*done, self.total, STAGE);
    }
}

/// Calls `work` with the first row and the samples of every band of `data`, whose rows have `width` samples.
pub(super) fn each<T: Send>(
    data: &mut [T],
    width: usize,
    steps: Option<&Steps<'_>>,
    work: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    data.par_chunks_mut(ROWS * width).enumerate().try_for_each(|(i, band)| {
        if let Some(steps) = steps {
            steps.check()?;
        }
        work(i * ROWS, band);
        if let Some(steps) = steps {
            steps.step();
        }
        Ok(())
    })
}

/// A function without vectors of its own.
struct Plain<F>(F);

impl<F: FnOnce()> Kernel for Plain<F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        (self.0)();
    }
}

/// Calls `f`, which is to be `#[inline(always)]`, compiled for the instructions of a level.
#[inline(always)]
pub(super) fn at_level(level: Level, f: impl FnOnce()) {
    dispatch(level, Plain(f));
}

/// Calls `work` with the number and the content of every item.
pub(super) fn each_item<T: Send>(
    items: &mut [T],
    steps: &Steps<'_>,
    work: impl Fn(usize, &mut T) + Sync,
) -> Result<()> {
    items.par_iter_mut().enumerate().try_for_each(|(i, item)| {
        steps.check()?;
        work(i, item);
        steps.step();
        Ok(())
    })
}

/// Calls `work` with the number and the samples of every row.
pub(super) fn each_row<T: Send>(data: &mut [T], width: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    data.par_chunks_exact_mut(width).enumerate().for_each(|(y, row)| work(y, row));
}
