//! 8 x 8 blocks of a picture: where they are taken, and which of them can tell something about noise.

use crate::{FrameView, PlaneView};

/// Side of a block.
pub(super) const SIDE: usize = 8;

/// One block of one plane, row by row.
pub(super) type Block = [[f32; SIDE]; SIDE];

/// Black or white samples that a usable block may have. Noise of which 5 % is cut off has lost less than 5 % of
/// its deviation; to refuse every block with a clipped sample would keep only those with little noise.
const CLIPPED: u32 = 3;

/// Root of the mean variance over the channels that have enough usable blocks; `None` if no channel has. `variance`
/// gets a plane, its white level and its share of `limit`, the most blocks to look at.
pub(super) fn deviation(
    frame: &FrameView<'_>,
    limit: usize,
    variance: impl Fn(&PlaneView<'_>, f32, usize) -> Option<f64>,
) -> Option<f64> {
    let limit = limit / frame.channels();
    let found: Vec<f64> = frame.planes().iter().filter_map(|p| variance(p, frame.white(), limit)).collect();
    let mean = found.iter().sum::<f64>() / found.len() as f64;
    (!found.is_empty()).then(|| mean.sqrt())
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

/// What a block can tell about noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Something: noise has moved its samples freely, up to a few that are exactly black or white.
    Usable {
        /// Samples that are exactly 0.
        black: u32,
        /// Samples that are exactly white.
        white: u32,
    },
    /// Nothing: all samples are equal. Drawn, filled or saturated, not recorded.
    Flat,
    /// Nothing reliable: too many samples are exactly black or white.
    Clipped,
}

/// Judges a block of a picture with this white level.
pub(super) fn content(block: &Block, white: f32) -> Content {
    let samples = block.as_flattened();
    if samples.iter().all(|v| *v == samples[0]) {
        return Content::Flat;
    }
    let (mut blacks, mut whites) = ([0_u32; SIDE], [0_u32; SIDE]);
    for row in block {
        for (i, &v) in row.iter().enumerate() {
            blacks[i] += u32::from(v == 0.0);
            whites[i] += u32::from(v == white);
        }
    }
    let (black, white) = (blacks.iter().sum(), whites.iter().sum());
    if black + white > CLIPPED { Content::Clipped } else { Content::Usable { black, white } }
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

    #[test]
    fn content_tells_drawn_and_cut_off_blocks() {
        let mut block = [[100.0; SIDE]; SIDE];
        assert_eq!(content(&block, 255.0), Content::Flat);
        block[3][4] = 0.0;
        block[5][1] = 255.0;
        assert_eq!(content(&block, 255.0), Content::Usable { black: 1, white: 1 });
        block[0] = [255.0; SIDE];
        assert_eq!(content(&block, 255.0), Content::Clipped);
        // The same samples are nothing special under another white level.
        assert_eq!(content(&block, 1000.0), Content::Usable { black: 1, white: 0 });
    }
}
