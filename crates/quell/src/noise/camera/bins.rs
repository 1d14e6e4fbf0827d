//! The quietest blocks of every brightness. Noise is told from texture by how alike they are: blocks of noise differ by
//! chance alone, blocks of texture by what is in the picture.

use rayon::prelude::*;

use super::blocks::{BANDS, Block};

/// Bins of brightness, with equally many blocks: noise of cameras depends on it.
const BINS: usize = 12;
/// The quietest of a bin are this share of it, and no fewer than `FEWEST`: enough to see how they scatter.
const SHARE: f64 = 0.1;
const FEWEST: usize = 30;
/// Shares of clipped pixels that a block may have: the smallest is taken that leaves `ENOUGH` of the blocks. Dark pictures
/// have clipped pixels nearly everywhere.
const CLIPPED: [f32; 6] = [0.02, 0.05, 0.1, 0.2, 0.4, 1.0];
const ENOUGH: f64 = 0.1;
/// Blocks with less energy than this in the second band of luma are filled, or were set to zero by JPEG.
const EMPTY: f32 = 1e-3;

/// The picture's own detail is what this share of the blocks has less of.
const DETAILED: f64 = 0.97;

/// What the blocks of a picture have.
#[derive(Clone, Debug, Default)]
pub(super) struct Bins {
    /// From dark to bright; none where there are too few blocks to tell.
    pub(super) list: Vec<Bin>,
    /// Energy of detail, with the noise, in the second and the third band of luma.
    pub(super) detail: [f64; 2],
}

/// The quietest blocks of about one brightness.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bin {
    /// Their mean brightness.
    pub(super) brightness: f64,
    /// Deviation of the logarithm of the energy in the second band: 0.28 for noise, more for texture.
    pub(super) scatter: f64,
    /// Roots of mean energies, by channel and band.
    pub(super) levels: [[f64; BANDS.len()]; 3],
    /// Mean evenness.
    pub(super) evenness: f64,
}

/// Sorts blocks by brightness and takes the quietest of each bin.
pub(super) fn bins(
    mut blocks: Vec<Block>,
    colour: impl Fn(&Block) -> [[f32; BANDS.len()]; 2] + Sync,
) -> Bins {
    let usable = |most: f32| move |b: &Block| b.clipped <= most && b.energy[1] > EMPTY;
    let wanted = (ENOUGH * blocks.len() as f64).max(8.0 * FEWEST as f64);
    let enough = |most: &f32| blocks.iter().filter(|b| usable(*most)(b)).count() as f64 >= wanted;
    let most = CLIPPED.into_iter().find(enough).unwrap_or(1.0);
    blocks.retain(usable(most));
    if blocks.len() < 4 * FEWEST {
        return Bins::default();
    }
    // Stable: the same picture always has the same order.
    blocks.par_sort_by(|a, b| a.brightness.total_cmp(&b.brightness));
    let brightness: Vec<f32> = blocks.iter().map(|b| b.brightness).collect();
    let edge = |k: usize| quantile(&brightness, k as f64 / BINS as f64);
    let bin = |k: usize| {
        let first = blocks.partition_point(|b| f64::from(b.brightness) < edge(k));
        let end = blocks.partition_point(|b| f64::from(b.brightness) <= edge(k + 1));
        (end >= first + FEWEST).then(|| quietest(&blocks[first..end], &colour))
    };
    let detail = |band: usize| {
        let mut energy: Vec<f32> = blocks.iter().map(|b| b.energy[band]).collect();
        energy.par_sort_unstable_by(f32::total_cmp);
        quantile(&energy, DETAILED)
    };
    let (list, detail) = rayon::join(
        || (0..BINS).into_par_iter().filter_map(bin).collect(),
        || rayon::join(|| detail(1), || detail(2)),
    );
    Bins { list, detail: detail.into() }
}

/// The value that a share of the sorted values is below.
fn quantile(sorted: &[f32], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    let (a, b) = (f64::from(sorted[low]), f64::from(sorted[high]));
    a + (b - a) * at.fract()
}

/// What the blocks with the least energy in the first band have. Noise is independent in the others, so that choosing does
/// not bias them.
fn quietest(bin: &[Block], colour: &(impl Fn(&Block) -> [[f32; BANDS.len()]; 2] + Sync)) -> Bin {
    let mut order: Vec<&Block> = bin.iter().collect();
    order.sort_by(|a, b| a.energy[0].total_cmp(&b.energy[0]));
    order.truncate(FEWEST.max((bin.len() as f64 * SHARE) as usize));
    let n = order.len() as f64;
    let mean = |f: &dyn Fn(&Block) -> f64| order.iter().map(|b| f(b)).sum::<f64>() / n;
    let log = |b: &Block| f64::from(b.energy[1]).ln();
    let centre = mean(&log);
    let colours: Vec<[[f32; BANDS.len()]; 2]> = order.par_iter().map(|b| colour(b)).collect();
    let level = |c: usize, band: usize| match c {
        0 => mean(&|b| f64::from(b.energy[band])).sqrt(),
        _ => (colours.iter().map(|e| f64::from(e[c - 1][band])).sum::<f64>() / n).sqrt(),
    };
    Bin {
        brightness: mean(&|b| f64::from(b.brightness)),
        scatter: mean(&|b| (log(b) - centre).powi(2)).sqrt(),
        levels: std::array::from_fn(|c| std::array::from_fn(|band| level(c, band))),
        evenness: mean(&|b| f64::from(b.evenness)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(blocks: Vec<Block>) -> Bins {
        bins(blocks, |_| Default::default())
    }

    fn block(brightness: f32, energy: f32, clipped: f32) -> Block {
        Block { at: (0, 0), brightness, energy: [energy; BANDS.len()], clipped, evenness: 1.0 }
    }

    #[test]
    fn the_quietest_tenth_of_every_brightness_is_measured() {
        let blocks = (0..12_000).map(|i| {
            let loud = if i % 1000 < 100 { 4.0 } else { 400.0 };
            block((i / 1000) as f32 * 10.0 + (i % 7) as f32, loud, 0.0)
        });
        let found = grey(blocks.collect()).list;
        assert_eq!(found.len(), BINS);
        for (k, bin) in found.iter().enumerate() {
            assert!((bin.brightness - 10.0 * k as f64 - 3.0).abs() < 1.0, "{bin:?}");
            assert!((bin.levels[0][2] - 2.0).abs() < 0.1 && bin.scatter < 0.2, "{bin:?}");
        }
    }

    #[test]
    fn clipped_blocks_count_only_where_there_are_no_others() {
        let mixed = |clean: usize| {
            (0..4000).map(move |i| {
                block(i as f32, if i < clean { 4.0 } else { 1.0 }, if i < clean { 0.0 } else { 0.5 })
            })
        };
        assert!(grey(mixed(1000).collect()).list.iter().all(|b| b.levels[0][0] == 2.0));
        assert!(grey(mixed(100).collect()).list.iter().any(|b| b.levels[0][0] == 1.0));
    }

    #[test]
    fn filled_blocks_tell_nothing() {
        assert!(grey((0..4000).map(|i| block(i as f32, 0.0, 0.0)).collect()).list.is_empty());
        assert!(grey(Vec::new()).list.is_empty());
        // All of one brightness: every bin is the same.
        assert_eq!(grey(vec![block(7.0, 9.0, 0.0); 500]).list.len(), BINS);
    }
}
