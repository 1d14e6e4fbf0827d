//! The groups of a unit, kept for the rounds that use them again.

use crate::device::cpu::group::matching::{Groups, Window};
use crate::device::cpu::group::unit::Unit;
use crate::ridge::GroupSize;

/// Groups of a unit, reference by reference in rows.
#[derive(Default)]
pub(super) struct Lists {
    /// Numbers of displacements, group after group.
    numbers: Vec<u16>,
    /// Where each group ends in `numbers`.
    ends: Vec<u32>,
}

impl Lists {
    /// Keeps what was found.
    pub(super) fn keep(&mut self, groups: &Groups, references: usize, size: GroupSize) {
        self.numbers.clear();
        self.ends.clear();
        for i in 0..references {
            let keys = groups.matches(i);
            // The reference itself comes first, at no distance.
            let k = size.of(keys.len(), |j| if j == 0 { 0 } else { keys[j] >> 16 });
            self.numbers.extend(keys[..k].iter().map(|&key| key as u16));
            self.ends.push(self.numbers.len() as u32);
        }
    }

    /// Each group: its reference patch, column and row, and its displacements.
    pub(super) fn groups<'a>(&'a self, unit: &'a Unit) -> impl Iterator<Item = (usize, usize, &'a [u16])> {
        let references = unit.ys.iter().flat_map(|&y| unit.xs.iter().map(move |&x| (x, y)));
        let mut start = 0;
        references.zip(&self.ends).map(move |((x, y), &end)| {
            let numbers = &self.numbers[start..end as usize];
            start = end as usize;
            (x, y, numbers)
        })
    }
}

/// How far displacements lead in planes of some widths.
#[derive(Default)]
pub(super) struct Offsets {
    /// In the picture and in the unit's region.
    pub(super) of: Vec<(i32, i32)>,
}

impl Offsets {
    pub(super) fn set(&mut self, window: Window, width: usize, region: usize) {
        self.of.clear();
        let side = window.side() as u32;
        self.of.extend((0..side * side).map(|number| {
            let (dy, dx) = window.displacement(number);
            (dy * width as i32 + dx, dy * region as i32 + dx)
        }));
    }
}
