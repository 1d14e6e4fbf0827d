//! Buffers that begin where cache lines do: a vector that lies across two costs two loads.

use std::ops::{Deref, DerefMut};

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// Floats whose first one begins a cache line.
#[derive(Default)]
pub(super) struct Aligned {
    lines: Vec<Line>,
}

impl Aligned {
    /// Makes it long enough; what is in it is of no interest.
    pub(super) fn fit(&mut self, len: usize) {
        let lines = len.div_ceil(16);
        if self.lines.len() < lines {
            self.lines.resize(lines, Line([0.0; 16]));
        }
    }

    /// Makes it long enough, and the first `len` floats zero.
    pub(super) fn zero(&mut self, len: usize) {
        self.fit(len);
        self[..len].fill(0.0);
    }
}

impl Deref for Aligned {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: a line is 16 floats without gaps.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * 16) }
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: a line is 16 floats without gaps, and any floats make a line.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * 16) }
    }
}

/// At least `columns` vectors, an odd number of cache lines: rows so far apart do not compete for the same places of the
/// cache.
pub(super) fn spread_rows(columns: usize, lanes: usize) -> usize {
    let per_line = 16 / lanes.min(16);
    let lines = columns.div_ceil(per_line);
    (lines | 1) * per_line
}
