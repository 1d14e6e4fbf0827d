//! Which blocks of a plane can tell something about noise. Areas that are filled, cut off or not seen cannot: a
//! letterbox, a cut-out or a burnt sky must not hide the noise of the rest, nor make drawn edges pass for noise.

use super::blocks::{Block, SIDE};
use crate::PlaneView;

/// Samples at an end of the range that a usable block may have. Noise of which 5 % is cut off has lost less than 5 % of
/// its deviation; to refuse every block with a clipped sample would keep only those with little noise.
const CLIPPED: u32 = 3;
/// The lowest or highest value of a plane is where it was clipped if it occurs at least so often, and so many times
/// as often as the value next to it: tails of noise grow thin instead.
const PILE: (usize, usize) = (16, 4);
/// Samples that the ends of the range and the steps between values are told from, about.
const ENDS: usize = 1 << 17;
const STEPS: usize = 4096;
/// Steps between values are not taken for larger than this part of white: a picture of fewer levels is drawn.
const COARSEST: f32 = 1.0 / 64.0;
/// In a drawn block one value fills more than this many samples, and more than noise of the block's deviation would
/// put on one value: a share of `0.4 * step / deviation`.
const REPEATED: usize = 8;
const DOMINANT: f32 = 1.5;

/// What a block can tell about noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Something: noise has moved its samples freely, up to a few that are at an end of the range.
    Usable {
        /// Samples at the lower end.
        black: u32,
        /// Samples at the upper end.
        white: u32,
    },
    /// Nothing: all samples are equal, or a part of them in a plane that is mostly so. Drawn, filled or saturated, not
    /// recorded.
    Flat,
    /// Nothing reliable: too many samples are at an end of the range.
    Clipped,
    /// Nothing that is seen.
    Transparent,
}

/// What is known of a plane before its blocks are looked at.
#[derive(Clone, Debug)]
pub(super) struct Judge<'a> {
    /// Where samples are cut off: 0 and white, or the lowest and highest value where many have it.
    pub(super) low: f32,
    pub(super) high: f32,
    /// Between neighbouring values, as far as a selection of samples tells.
    pub(super) step: f32,
    /// Where this is 0, nothing is seen.
    alpha: Option<PlaneView<'a>>,
    /// Most blocks are exactly flat: those with a filled part do not count either.
    pub(super) filled: bool,
}

impl<'a> Judge<'a> {
    pub(super) fn new(plane: &PlaneView<'_>, white: f32, alpha: Option<PlaneView<'a>>) -> Self {
        let (low, high) = ends(plane, white);
        Self { low, high, step: step(plane).min(COARSEST * white), alpha, filled: false }
    }

    /// Judges the block whose top left sample is there.
    pub(super) fn content(&self, (x, y): (u32, u32), block: &Block) -> Content {
        if self.alpha.is_some_and(|alpha| {
            (y as usize..y as usize + SIDE).any(|y| alpha.row(y)[x as usize..][..SIDE].contains(&0.0))
        }) {
            return Content::Transparent;
        }
        let samples = block.as_flattened();
        if samples.iter().all(|v| *v == samples[0]) {
            return Content::Flat;
        }
        let (mut blacks, mut whites) = ([0_u32; SIDE], [0_u32; SIDE]);
        for row in block {
            for (i, &v) in row.iter().enumerate() {
                blacks[i] += u32::from(v == self.low);
                whites[i] += u32::from(v == self.high);
            }
        }
        let (black, white) = (blacks.iter().sum(), whites.iter().sum());
        if black + white > CLIPPED {
            // Neither tells anything, but a page of black on white is drawn, and a dark picture is not.
            if has_filled_part(block) { Content::Flat } else { Content::Clipped }
        } else if self.filled && (has_filled_part(block) || self.has_a_dominant_value(block)) {
            Content::Flat
        } else {
            Content::Usable { black, white }
        }
    }

    /// One value is there far oftener than noise of the block's deviation would have it: a background.
    fn has_a_dominant_value(&self, block: &Block) -> bool {
        let mut samples = [0.0; SIDE * SIDE];
        samples.copy_from_slice(block.as_flattened());
        samples.sort_unstable_by(f32::total_cmp);
        let most = samples.chunk_by(|a, b| a == b).map(<[f32]>::len).max().unwrap_or(0);
        if most <= REPEATED {
            return false;
        }
        let n = samples.len() as f32;
        let mean = samples.iter().sum::<f32>() / n;
        let variance = samples.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / n;
        most as f32 / n * variance.sqrt() > DOMINANT * self.step
    }
}

/// Whether 4 x 4 samples side by side are equal, as hardly ever in noise that survived rounding.
fn has_filled_part(block: &Block) -> bool {
    // Bit x: a sample equals its right neighbours, or the one below.
    let pairs =
        |row: &[f32; SIDE]| (0..SIDE - 1).fold(0_u8, |bits, x| bits | u8::from(row[x] == row[x + 1]) << x);
    let runs: [u8; SIDE] = std::array::from_fn(|y| {
        let equal = pairs(&block[y]);
        equal & equal >> 1 & equal >> 2
    });
    let below =
        |y: usize| (0..SIDE).fold(0_u8, |bits, x| bits | u8::from(block[y][x] == block[y + 1][x]) << x);
    (0..=SIDE - 4).any(|y| {
        let across = runs[y] & runs[y + 1] & runs[y + 2] & runs[y + 3];
        across != 0 && across & below(y) & below(y + 1) & below(y + 2) != 0
    })
}

/// Where samples are cut off.
pub(super) fn ends(plane: &PlaneView<'_>, white: f32) -> (f32, f32) {
    let skip = (plane.width() * plane.height()).div_ceil(ENDS);
    let rows = || (0..plane.height()).step_by(skip).map(|y| plane.row(y));
    let count = |value: f32| rows().map(|r| r.iter().filter(|v| **v == value).count()).sum::<usize>();
    let is_pile = |n: usize, next: f32| n >= PILE.0 && n > PILE.1 * count(next);
    let over_rows = |start: f32, f: fn(f32, f32) -> f32| rows().flatten().fold(start, |a, &v| f(a, v));
    let (lowest, highest) = (over_rows(f32::INFINITY, f32::min), over_rows(f32::NEG_INFINITY, f32::max));
    let end = |value: f32, usual: f32, next: &dyn Fn() -> f32| {
        let n = if value == usual { 0 } else { count(value) };
        if n >= PILE.0 && is_pile(n, next()) { value } else { usual }
    };
    let above = || rows().flatten().fold(f32::INFINITY, |a, &v| if v > lowest { a.min(v) } else { a });
    let below = || rows().flatten().fold(f32::NEG_INFINITY, |a, &v| if v < highest { a.max(v) } else { a });
    (end(lowest, 0.0, &above), end(highest, white, &below))
}

/// The smallest difference between values, of a regular selection of samples; 0 if there is but one value.
pub(super) fn step(plane: &PlaneView<'_>) -> f32 {
    let (w, count) = (plane.width(), plane.width() * plane.height());
    // An odd stride does not fall in step with even widths.
    let stride = (count / STEPS).max(1) | 1;
    let mut samples: Vec<f32> = (0..count).step_by(stride).map(|i| plane.row(i / w)[i % w]).collect();
    samples.sort_unstable_by(f32::total_cmp);
    let smallest = samples.windows(2).map(|w| w[1] - w[0]).filter(|d| *d > 0.0).fold(f32::INFINITY, f32::min);
    if smallest.is_finite() { smallest } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plane;

    fn plane(f: impl Fn(usize, usize) -> f32) -> Plane {
        Plane::from_vec(64, 64, (0..4096).map(|i| f(i % 64, i / 64)).collect()).unwrap()
    }

    fn judge(low: f32, high: f32) -> Judge<'static> {
        Judge { low, high, step: 1.0, alpha: None, filled: false }
    }

    #[test]
    fn drawn_and_cut_off_blocks_are_told() {
        let mut block = [[100.0; SIDE]; SIDE];
        let content = |block: &Block, white| judge(0.0, white).content((0, 0), block);
        assert_eq!(content(&block, 255.0), Content::Flat);
        block[3][4] = 0.0;
        block[5][1] = 255.0;
        assert_eq!(content(&block, 255.0), Content::Usable { black: 1, white: 1 });
        block[0] = [255.0; SIDE];
        assert_eq!(content(&block, 255.0), Content::Flat);
        for y in [2, 6] {
            block[y] = std::array::from_fn(|x| (y + 2 * x) as f32);
        }
        assert_eq!(content(&block, 255.0), Content::Clipped);
        // The same samples are nothing special under another white level.
        assert_eq!(content(&block, 1000.0), Content::Usable { black: 1, white: 0 });
    }

    #[test]
    fn blocks_with_a_transparent_sample_are_told() {
        let (alpha, block) = (plane(|x, y| if (x, y) == (9, 9) { 0.0 } else { 1.0 }), [[1.0; SIDE]; SIDE]);
        let judge = Judge { alpha: Some(alpha.view()), ..judge(0.0, 255.0) };
        assert_eq!(judge.content((2, 2), &block), Content::Transparent);
        assert_eq!(judge.content((1, 2), &block), Content::Flat);
    }

    #[test]
    fn piles_at_the_ends_of_the_range_are_where_it_was_clipped() {
        // Values of 0 to 79, cut off at 20 and 60 of white 255.
        let cut = plane(|x, y| ((x * 7 + y * 13) % 80).clamp(20, 60) as f32);
        assert_eq!(ends(&cut.view(), 255.0), (20.0, 60.0));
        let free = plane(|x, y| ((x * 7 + y * 13) % 80 + 1) as f32);
        assert_eq!(ends(&free.view(), 255.0), (0.0, 255.0));
    }

    #[test]
    fn steps_between_values_are_found_in_any_units() {
        for unit in [1.0, 16.0, 1.0 / 255.0] {
            let found = step(&plane(|x, y| ((x * 7 + y * 13) % 80) as f32 * unit).view());
            assert!((found / unit - 1.0).abs() < 1e-4, "{found} of {unit}");
        }
        assert_eq!(step(&plane(|_, _| 7.0).view()), 0.0);
    }

    #[test]
    fn filled_parts_are_squares_of_one_value() {
        let mut block: Block = std::array::from_fn(|y| std::array::from_fn(|x| (8 * y + x) as f32));
        assert!(!has_filled_part(&block));
        for row in &mut block[4..] {
            row[3..7].fill(9.0);
        }
        assert!(has_filled_part(&block));
        block[5][3..7].fill(8.0);
        assert!(!has_filled_part(&block));
    }
}
