//! Energies of 8 x 8 blocks in two bands, for those who look at noise by brightness.

use super::blocks::{self, Block, Blocks};
use super::dct;
use super::judge::{self, Judge};
use crate::PlaneView;

/// A block that can tell something about noise.
#[derive(Clone, Copy, Debug)]
pub(in crate::noise) struct Bands {
    pub(in crate::noise) mean: f32,
    /// Mean energy of a low frequency, which picture and noise have.
    pub(in crate::noise) low: f32,
    /// Mean energy of a high frequency, which is the noise's, if anything is.
    pub(in crate::noise) high: f32,
}

/// The blocks of a plane.
#[derive(Clone, Debug)]
pub(in crate::noise) struct Seen {
    pub(in crate::noise) bands: Vec<Bands>,
    pub(in crate::noise) blocks: Blocks,
    /// Where samples were cut off, if any of these blocks has such samples.
    pub(in crate::noise) ends: (Option<f32>, Option<f32>),
    /// Between neighbouring values; 0 for floats of any value.
    pub(in crate::noise) step: f32,
    /// How many independent blocks one of them is worth.
    pub(in crate::noise) independent: f64,
}

/// Looks at no more than `limit` blocks. With `zeros`, samples of 0 are values like others: no photons.
pub(in crate::noise) fn look(
    plane: &PlaneView<'_>,
    white: f32,
    alpha: Option<PlaneView<'_>>,
    limit: usize,
    zeros: bool,
) -> Seen {
    let mut judge = Judge::new(plane, white, alpha);
    if zeros {
        judge.low = f32::NEG_INFINITY;
    }
    // Values beyond an end tell that nothing was cut off there.
    let beyond = |outside: &dyn Fn(f32) -> bool| plane.rows().any(|row| row.iter().any(|v| outside(*v)));
    if beyond(&|v| v > judge.high) {
        judge.high = f32::INFINITY;
    }
    if beyond(&|v| v < judge.low) {
        judge.low = f32::NEG_INFINITY;
    }
    let corners = blocks::corners(plane, 1, limit);
    let start = || (Vec::with_capacity(corners.len()), [0; 2]);
    let take = |(bands, ends): &mut (Vec<Bands>, [u32; 2]), _, block: &Block, at: [u32; 2]| {
        let (low, high, mean) = dct::energies(block);
        bands.push(Bands { mean, low, high });
        *ends = [ends[0] + at[0], ends[1] + at[1]];
    };
    let ((bands, [blacks, whites]), blocks) = blocks::survey(plane, &mut judge, &corners, start, take);
    let pixels = (plane.width() * plane.height()) as f64;
    Seen {
        bands,
        ends: ((blacks > 0).then_some(judge.low), (whites > 0).then_some(judge.high)),
        step: judge::step(plane),
        independent: dct::independent(pixels, corners.len()),
        blocks,
    }
}
