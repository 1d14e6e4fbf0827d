//! `--frames A-B`: some frames of a clip, filtered as they are in the whole of it.

use std::ops::Range;
use std::str::FromStr;

/// Frames from the first to the last of them, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    first: u64,
    /// None: up to the end.
    last: Option<u64>,
}

/// What has to be read for it, and which of that is wanted; counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// Frames before the first that is looked at.
    pub(super) skip: u64,
    /// How many are looked at; None: all that there are.
    pub(super) count: Option<u64>,
    /// Those of them that are written.
    pub(super) wanted: Range<u64>,
}

impl Part {
    /// How many there are of a clip of so many frames.
    pub(super) fn len(self, frames: Option<u64>) -> Option<u64> {
        let last = match (self.last, frames) {
            (Some(last), Some(frames)) => last.min(frames),
            (last, frames) => last.or(frames)?,
        };
        Some((last + 1).saturating_sub(self.first))
    }

    /// With as many frames before and after it as a filter looks at.
    pub(super) fn reading(self, past: usize, future: usize) -> Reading {
        let skip = (self.first - 1).saturating_sub(past as u64);
        let first = self.first - 1 - skip;
        let wanted = first..self.last.map_or(u64::MAX, |last| last - skip);
        Reading { skip, count: self.last.map(|last| (last - skip).saturating_add(future as u64)), wanted }
    }
}

impl Reading {
    /// A whole clip.
    pub(super) fn all() -> Self {
        Self { skip: 0, count: None, wanted: 0..u64::MAX }
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |s: &str| s.trim().parse::<u64>().ok().filter(|n| (1..=1 << 40).contains(n));
        let part = match text.split_once('-') {
            None => number(text).map(|n| Self { first: n, last: Some(n) }),
            Some((first, "")) => number(first).map(|first| Self { first, last: None }),
            Some((first, last)) => number(first)
                .zip(number(last))
                .filter(|(first, last)| first <= last)
                .map(|(first, last)| Self { first, last: Some(last) }),
        };
        part.ok_or_else(|| "must be frames such as 100-150, 100- or 7; the first is 1".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_from_one_and_read_with_those_around_them() {
        let part = |text: &str| text.parse::<Part>().unwrap();
        let reading = |skip, count, wanted| Reading { skip, count, wanted };
        assert_eq!(part("10-12").reading(2, 1), reading(7, Some(6), 2..5));
        assert_eq!(part("1-3").reading(2, 2), reading(0, Some(5), 0..3));
        assert_eq!(part("2").reading(4, 0), reading(0, Some(2), 1..2));
        assert_eq!(part("5-").reading(2, 2), reading(2, None, 2..u64::MAX));
        assert_eq!(
            (part("5-9").len(Some(7)), part("5-").len(Some(7)), part("5-").len(None)),
            (Some(3), Some(3), None)
        );
        assert_eq!(part("8-9").len(Some(7)), Some(0));
        for bad in ["0-3", "4-3", "-3", "", "a", "1-b", "1.5", "99999999999999999999"] {
            assert!(bad.parse::<Part>().is_err(), "{bad}");
        }
    }
}
