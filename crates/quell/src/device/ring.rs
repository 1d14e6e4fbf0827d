//! The frames of a video that are needed: those that wait to be filtered, and before them as many as their windows reach
//! back.

use std::collections::VecDeque;
use std::ops::Range;

/// Frames by their number in the video, and the memory of those that nobody needs any more.
pub(super) struct Ring<F> {
    frames: VecDeque<F>,
    /// The number of the first that is there.
    first: usize,
    /// The number of the next to be filtered.
    next: usize,
    past: usize,
    future: usize,
    spare: Vec<F>,
}

impl<F> Ring<F> {
    /// For windows that reach so many frames back and ahead.
    pub(super) fn new(past: usize, future: usize) -> Self {
        Self { frames: VecDeque::new(), first: 0, next: 0, past, future, spare: Vec::new() }
    }

    /// One past the number of the last frame.
    fn end(&self) -> usize {
        self.first + self.frames.len()
    }

    /// Takes the next frame.
    pub(super) fn push(&mut self, frame: F) {
        self.frames.push_back(frame);
    }

    /// The numbers of the frames that are there.
    pub(super) fn numbers(&self) -> Range<usize> {
        self.first..self.end()
    }

    /// The number of the frame whose turn it is, whether it is there or not.
    pub(super) fn turn(&self) -> usize {
        self.next
    }

    /// The number of the frame that is to be filtered next, if it is there.
    pub(super) fn next(&self) -> Option<usize> {
        (self.next < self.end()).then_some(self.next)
    }

    /// Whether all frames of its window are there.
    pub(super) fn ready(&self) -> bool {
        self.next + self.future < self.end()
    }

    /// The frames of a window that are there.
    pub(super) fn window(&self, number: usize) -> Range<usize> {
        number.saturating_sub(self.past).max(self.first)..(number + self.future + 1).min(self.end())
    }

    /// A frame by its number.
    pub(super) fn get(&self, number: usize) -> Option<&F> {
        number.checked_sub(self.first).and_then(|i| self.frames.get(i))
    }

    /// The last one.
    pub(super) fn last(&self) -> Option<&F> {
        self.frames.back()
    }

    /// Whether this is the number of the last one.
    pub(super) fn is_last(&self, number: usize) -> bool {
        number + 1 == self.end()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &F> {
        self.frames.iter().chain(&self.spare)
    }

    /// The next frame has been filtered: it is the turn of the one after it.
    pub(super) fn advance(&mut self) {
        self.next += 1;
        while self.first + self.past < self.next
            && let Some(frame) = self.frames.pop_front()
        {
            self.spare.push(frame);
            self.first += 1;
        }
    }

    /// The memory of a frame that is needed no more.
    pub(super) fn room(&mut self) -> Option<F> {
        self.spare.pop()
    }

    /// Memory from elsewhere.
    pub(super) fn give(&mut self, room: impl IntoIterator<Item = F>) {
        self.spare.extend(room);
    }

    /// All memory, when the video is over.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = F> + '_ {
        self.first += self.frames.len();
        self.next = self.first;
        self.frames.drain(..).chain(self.spare.drain(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_stay_as_long_as_a_window_needs_them() {
        let mut ring = Ring::new(2, 1);
        assert_eq!((ring.next(), ring.ready()), (None, false));
        let mut seen = Vec::new();
        for t in 0..5 {
            let memory = ring.room().unwrap_or_else(|| vec![0; 1]);
            ring.push(vec![t; memory.len()]);
            if ring.ready() {
                let at = ring.next().unwrap();
                seen.push((at, ring.window(at).map(|n| ring.get(n).unwrap()[0]).collect::<Vec<_>>()));
                ring.advance();
            }
        }
        while let Some(at) = ring.next() {
            seen.push((at, ring.window(at).map(|n| ring.get(n).unwrap()[0]).collect()));
            ring.advance();
        }
        let want: [&[i32]; 5] = [&[0, 1], &[0, 1, 2], &[0, 1, 2, 3], &[1, 2, 3, 4], &[2, 3, 4]];
        assert_eq!(seen, want.iter().enumerate().map(|(at, w)| (at, w.to_vec())).collect::<Vec<_>>());
        assert!(ring.get(0).is_none() && ring.get(4).is_some() && ring.get(5).is_none());
        assert!(ring.iter().count() <= 5 && ring.drain().count() > 0 && ring.next().is_none());
    }

    #[test]
    fn without_a_past_nothing_is_kept() {
        let mut ring = Ring::new(0, 0);
        for t in 0..3 {
            ring.push(t);
            assert!(ring.ready() && ring.is_last(t));
            ring.advance();
            assert!(ring.last().is_none());
            assert_eq!(ring.room(), Some(t));
        }
    }
}
