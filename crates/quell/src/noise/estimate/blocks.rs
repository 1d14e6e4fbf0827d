//! 8 x 8 blocks of a picture: where they are taken, and which of them can tell something about noise.

use crate::{FrameView, PlaneView};

/// Side of a block.
pub(super) const SIDE: usize = 8;

/// One block of one plane, row by row.
pub(super) type Block = [[f32; SIDE]; SIDE];

/// Top left corners on a regular grid of at least `step` pixels, wider where there would be more than `limit`
/// of them: the cost is bounded for any size, and the same picture always gives the same blocks.
pub(super) fn corners(frame: &FrameView<'_>, step: usize, limit: usize) -> Vec<(usize, usize)> {
    let (Some(last_x), Some(last_y)) = (frame.width().checked_sub(SIDE), frame.height().checked_sub(SIDE))
    else {
        return Vec::new();
    };
    let count = |s: usize| (last_x / s + 1) * (last_y / s + 1);
    let mut step = step;
    while count(step) > limit {
        step += 1;
    }
    let row = |y| (0..=last_x).step_by(step).map(move |x| (x, y));
    (0..=last_y).step_by(step).flat_map(row).collect()
}

/// Copies a block out of a plane.
pub(super) fn load(plane: &PlaneView<'_>, (x, y): (usize, usize)) -> Block {
    std::array::from_fn(|i| {
        let mut row = [0.0; SIDE];
        row.copy_from_slice(&plane.row(y + i)[x..x + SIDE]);
        row
    })
}

/// What a block is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// All samples inside the range.
    Usable,
    /// All samples equal: drawn, filled or saturated, not recorded.
    Flat,
    /// Some samples exactly black or white: noise may have been cut off there.
    Clipped,
}

/// Judges a block of a picture with this white level.
pub(super) fn content(block: &Block, white: f32) -> Content {
    let mut low = block[0];
    let mut high = block[0];
    let mut clipped = [false; SIDE];
    for row in block {
        for (i, &v) in row.iter().enumerate() {
            low[i] = low[i].min(v);
            high[i] = high[i].max(v);
            clipped[i] |= v == 0.0 || v == white;
        }
    }
    if low.iter().chain(&high).all(|v| *v == low[0]) {
        Content::Flat
    } else if clipped.contains(&true) {
        Content::Clipped
    } else {
        Content::Usable
    }
}

pub(super) fn clips(block: &Block, white: f32) -> Option<(u32, u32)> {
    let mut low = block[0];
    let mut high = block[0];
    let mut black = [0; SIDE];
    let mut whites = [0; SIDE];
    for row in block {
        for (i, &v) in row.iter().enumerate() {
            low[i] = low[i].min(v);
            high[i] = high[i].max(v);
            black[i] += u32::from(v == 0.0);
            whites[i] += u32::from(v == white);
        }
    }
    if low.iter().chain(&high).all(|v| *v == low[0]) { return None; }
    Some((black.iter().sum(), whites.iter().sum()))
}
