//! 8 x 8 blocks of a picture: where they are taken, and what becomes of them.

use rayon::prelude::*;

use super::judge::{Content, Judge};
use crate::PlaneView;

/// Side of a block.
pub(super) const SIDE: usize = 8;

/// One block of one plane, row by row.
pub(super) type Block = [[f32; SIDE]; SIDE];

/// How many blocks of a picture were looked at, over all channels, and what they were good for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Blocks {
    /// The noise was read from some of these.
    pub used: usize,
    /// Filled with one value.
    pub flat: usize,
    /// Cut off at the ends of the range.
    pub clipped: usize,
    /// Not seen.
    pub transparent: usize,
}

impl Blocks {
    fn count(&mut self, content: Content) {
        *match content {
            Content::Usable { .. } => &mut self.used,
            Content::Flat => &mut self.flat,
            Content::Clipped => &mut self.clipped,
            Content::Transparent => &mut self.transparent,
        } += 1;
    }

    /// All of them.
    pub fn total(&self) -> usize {
        self.used + self.flat + self.clipped + self.transparent
    }

    /// More than half of what is seen and not cut off is filled.
    fn mostly_flat(&self) -> bool {
        self.flat > self.used
    }
}

impl std::ops::AddAssign for Blocks {
    fn add_assign(&mut self, other: Self) {
        self.used += other.used;
        self.flat += other.flat;
        self.clipped += other.clipped;
        self.transparent += other.transparent;
    }
}

/// Looks at blocks. `start` makes what `take` puts the usable ones into, with their samples at the lower and the upper
/// end of the range. Where most blocks turn out to be flat, the judge becomes stricter, and all is done again.
pub(super) fn survey<T>(
    plane: &PlaneView<'_>,
    judge: &mut Judge<'_>,
    corners: &[Corner],
    start: impl Fn() -> T,
    take: impl Fn(&mut T, Corner, &Block, [u32; 2]),
) -> (T, Blocks) {
    loop {
        let (mut taken, mut blocks) = (start(), Blocks::default());
        for &corner in corners {
            let block = load(plane, corner);
            let content = judge.content(corner, &block);
            blocks.count(content);
            if let Content::Usable { black, white } = content {
                take(&mut taken, corner, &block, [black, white]);
            }
        }
        if judge.filled || !blocks.mostly_flat() {
            return (taken, blocks);
        }
        judge.filled = true;
    }
}

/// What was taken of blocks.
pub(super) struct Taken<T> {
    /// Of the usable ones, in the order of their corners.
    pub(super) list: Vec<T>,
    pub(super) blocks: Blocks,
    /// Whether any of these has samples at the lower and the upper end of the range.
    pub(super) ends: [bool; 2],
}

/// Blocks that a thread looks at before it asks for more.
const PART: usize = 1024;

/// As [`survey`], one value of each usable block, by all threads: each looks at a part of the corners.
pub(super) fn survey_each<T: Send>(
    plane: &PlaneView<'_>,
    judge: &mut Judge<'_>,
    corners: &[Corner],
    take: impl Fn(Corner, &Block) -> T + Sync,
) -> Taken<T> {
    loop {
        let known: &Judge<'_> = judge;
        let part = |corners: &[Corner]| {
            let (mut list, mut blocks, mut ends) =
                (Vec::with_capacity(corners.len()), Blocks::default(), [false; 2]);
            for &corner in corners {
                let block = load(plane, corner);
                let content = known.content(corner, &block);
                blocks.count(content);
                if let Content::Usable { black, white } = content {
                    list.push(take(corner, &block));
                    ends = [ends[0] || black > 0, ends[1] || white > 0];
                }
            }
            Taken { list, blocks, ends }
        };
        let parts: Vec<Taken<T>> = corners.par_chunks(PART).map(part).collect();
        let mut all =
            Taken { list: Vec::with_capacity(corners.len()), blocks: Blocks::default(), ends: [false; 2] };
        for part in parts {
            all.list.extend(part.list);
            all.blocks += part.blocks;
            all.ends = [all.ends[0] || part.ends[0], all.ends[1] || part.ends[1]];
        }
        if judge.filled || !all.blocks.mostly_flat() {
            return all;
        }
        judge.filled = true;
    }
}

/// Column and row of a block's top left sample; narrow, because there are many.
pub(super) type Corner = (u32, u32);

/// Top left corners on a regular grid of at least `step` pixels, made wider, first downwards then across, until
/// there are no more than `limit`: the cost is bounded, and the same picture always gives the same blocks.
pub(super) fn corners(plane: &PlaneView<'_>, step: usize, limit: usize) -> Vec<Corner> {
    let (Some(last_x), Some(last_y)) = (plane.width().checked_sub(SIDE), plane.height().checked_sub(SIDE))
    else {
        return Vec::new();
    };
    let (mut step_x, mut step_y) = (step, step);
    while (last_x / step_x + 1) * (last_y / step_y + 1) > limit.max(1) {
        if step_y <= step_x {
            step_y += 1;
        } else {
            step_x += 1;
        }
    }
    let row = |y| (0..=last_x).step_by(step_x).map(move |x| (x as u32, y as u32));
    (0..=last_y).step_by(step_y).flat_map(row).collect()
}

/// Copies a block out of a plane.
pub(super) fn load(plane: &PlaneView<'_>, (x, y): Corner) -> Block {
    let (x, y) = (x as usize, y as usize);
    std::array::from_fn(|i| {
        let mut row = [0.0; SIDE];
        row.copy_from_slice(&plane.row(y + i)[x..x + SIDE]);
        row
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plane;

    #[test]
    fn the_grid_is_bounded_and_stays_inside() {
        for (w, h) in [(8, 8), (9, 8), (8, 300), (64, 64), (500, 333), (4000, 30)] {
            let plane = Plane::zeros(w, h);
            let found = corners(&plane.view(), 1, 1000);
            assert!(!found.is_empty() && found.len() <= 1000, "{w} x {h}: {}", found.len());
            assert!(found.len() >= ((w - 7) * (h - 7)).min(1000) / 3, "{w} x {h}: {}", found.len());
            assert!(found.iter().all(|&(x, y)| x as usize + SIDE <= w && y as usize + SIDE <= h));
        }
        assert!(corners(&Plane::zeros(7, 100).view(), 1, 1000).is_empty());
    }
}
