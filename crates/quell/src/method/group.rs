//! Groups of similar patches: what is compared, where the reference patches are, in which order matches come. The same for
//! every method that groups patches, and for every device.

use std::ops::Range;

use serde::Serialize;

use super::bm3d::reference::{extract, separable};
use crate::PlaneView;
use crate::transform::Transform;

/// One similar patch: its distance and its displacement from the reference patch.
///
/// The derived order (distance, then row, then column) is the contract's total order of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    /// Sum of squared differences on the matching plane.
    pub ssd: u32,
    /// Rows down from the reference patch.
    pub dy: i32,
    /// Columns right of the reference patch.
    pub dx: i32,
}

/// How samples become the small integers that patches are compared on, so that every device sees the same
/// distances: `q = clamp(floor((z + 1/2) / scale) + offset, 0, 255)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MatchingPlane {
    /// Grey levels per step, a power of two.
    pub scale: f32,
    /// Keeps noise below black and above white apart when there is room for it.
    pub offset: f32,
}

impl MatchingPlane {
    /// The finest plane on which a patch sum up to `tau * pixels` fits into 16 bits.
    pub(crate) fn new(tau: f32, pixels: usize) -> Self {
        let mut scale = 1.0;
        while tau * pixels as f32 / (scale * scale) > MAX_SSD as f32 && scale < COARSEST {
            scale *= 2.0;
        }
        Self { scale, offset: ((256.0 - 256.0 / scale) / 2.0_f32).floor() }
    }

    /// The same plane for pictures between black and white, but for the tails of the noise; else one that is
    /// centred on the middle of `low..high`, and coarser if need be.
    pub(crate) fn covering(self, low: f32, high: f32, tails: f32) -> Self {
        if low >= -tails && high <= 255.0 + tails {
            return self;
        }
        let mut scale = self.scale;
        while high - low > 256.0 * scale && scale < COARSEST {
            scale *= 2.0;
        }
        Self { scale, offset: (128.0 - (low + high) / 2.0 / scale).floor() }
    }

    /// The matching value of a sample on the 0..255 scale.
    #[inline(always)]
    pub fn quantise(&self, z: f32) -> u8 {
        // Multiplying by a power of two is exact, so this has one rounding on every device. Whole numbers fall
        // into the middle of a step, where a last-bit error of the sample changes nothing.
        let step = 1.0 / self.scale;
        (z * step + (self.offset + 0.5 * step)) as u8
    }
}

/// The coarsest plane.
const COARSEST: f32 = 64.0;

/// Distances are 16-bit on every device; this value and above mean "not similar".
pub(crate) const MAX_SSD: u32 = 65534;

/// How the similar patches of reference patches are found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Search {
    /// Side of what is compared.
    pub patch: usize,
    /// Distance between reference patches.
    pub step: usize,
    /// Row and column of the first reference patch on the grid.
    pub offset: usize,
    /// Largest displacement of a candidate in rows and columns.
    pub radius: usize,
    /// Most patches in a group.
    pub group: usize,
    /// Largest distance of a match, on the matching plane.
    pub max_ssd: u32,
    /// The plane that patches are compared on.
    pub matching: MatchingPlane,
    /// Threshold before patches are compared, 0..255 scale; 0 is off.
    pub prefilter: f32,
}

impl Search {
    /// The pixels of a side of `n` that the groups of reference patches between these can hold.
    pub(crate) fn reach(&self, references: Range<usize>, n: usize) -> Range<usize> {
        let last = references.end + self.patch + self.radius;
        references.start.saturating_sub(self.radius)..last.min(n)
    }

    /// Positions of the reference patches along a side of `n` pixels: the grid, and the first and the last one.
    pub fn grid(&self, n: usize) -> Vec<usize> {
        let last = n - self.patch;
        let offset = self.offset % self.step;
        let first = (offset > 0).then_some(0);
        let mut positions: Vec<usize> = first.into_iter().chain((offset..=last).step_by(self.step)).collect();
        if positions.last() != Some(&last) {
            positions.push(last);
        }
        positions
    }
}

/// Positions of the reference patches along a side of `n` pixels: multiples of the step, and the last one.
pub fn grid(n: usize, patch: usize, step: usize) -> Vec<usize> {
    let last = n - patch;
    let mut positions: Vec<usize> = (0..=last).step_by(step).collect();
    if !last.is_multiple_of(step) {
        positions.push(last);
    }
    positions
}

/// What patches are compared on: for every position, the integers whose differences are summed.
pub struct Guide {
    search: Search,
    width: usize,
    height: usize,
    /// The matching plane, or with a prefilter the thresholded coefficients of every patch.
    values: Values,
}

enum Values {
    Plane(Vec<u8>),
    Coefficients(Vec<Vec<i32>>),
}

impl Guide {
    /// What is compared of `plane`.
    pub fn new(search: Search, plane: &PlaneView<'_>) -> Self {
        let (width, height) = (plane.width(), plane.height());
        let values = if search.prefilter == 0.0 {
            Values::Plane(plane.rows().flatten().map(|&z| search.matching.quantise(z)).collect())
        } else {
            Values::Coefficients(prefiltered(&search, plane))
        };
        Self { search, width, height, values }
    }

    /// Sum of squared differences of the patches at two positions.
    pub fn ssd(&self, (x, y): (usize, usize), (cx, cy): (usize, usize)) -> u32 {
        let n = self.search.patch;
        match &self.values {
            Values::Plane(q) => (0..n * n)
                .map(|i| {
                    let at = |x: usize, y: usize| i32::from(q[(y + i / n) * self.width + x + i % n]);
                    (at(x, y) - at(cx, cy)).pow(2) as u32
                })
                .sum(),
            Values::Coefficients(c) => {
                let columns = self.width - n + 1;
                let (a, b) = (&c[y * columns + x], &c[cy * columns + cx]);
                a.iter().zip(b).map(|(a, b)| (a - b).pow(2) as u32).sum()
            }
        }
    }

    /// Similar patches by (distance, row, column), the reference patch first (DAB07 eq. 6, contract 3 and 4).
    pub fn matches(&self, x: usize, y: usize) -> Vec<Match> {
        let (r, n) = (self.search.radius, self.search.patch);
        let (rows, columns) = (
            y.saturating_sub(r)..=(y + r).min(self.height - n),
            x.saturating_sub(r)..=(x + r).min(self.width - n),
        );
        let mut all = Vec::new();
        for cy in rows {
            for cx in columns.clone().filter(|&cx| (cx, cy) != (x, y)) {
                let ssd = self.ssd((x, y), (cx, cy));
                if ssd <= self.search.max_ssd {
                    all.push(Match { ssd, dy: cy as i32 - y as i32, dx: cx as i32 - x as i32 });
                }
            }
        }
        all.sort_unstable();
        all.insert(0, Match { ssd: 0, dy: 0, dx: 0 });
        all.truncate(self.search.group);
        all
    }

    /// The group of BM3D: matches, their number rounded down to a power of two.
    pub fn group(&self, x: usize, y: usize) -> Vec<Match> {
        let mut matches = self.matches(x, y);
        matches.truncate(1 << matches.len().ilog2());
        matches
    }
}

/// Hard-thresholded coefficients of every patch in matching units (DAB07 eq. 4), rounded to integers.
fn prefiltered(search: &Search, plane: &PlaneView<'_>) -> Vec<Vec<i32>> {
    let (n, scale) = (search.patch, f64::from(search.matching.scale));
    let t = Transform::Dct.forward(n);
    let positions = (0..=plane.height() - n).flat_map(|y| (0..=plane.width() - n).map(move |x| (x, y)));
    positions
        .map(|p| {
            let patch = extract(plane, &[p], n).remove(0);
            let coefficients = separable(&t, &patch);
            let keep =
                |v: &f64| if v.abs() > search.prefilter.into() { (v / scale).round() as i32 } else { 0 };
            coefficients.iter().map(keep).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_with_an_offset_begin_and_end_at_the_border() {
        let search = |offset| Search {
            patch: 6,
            step: 4,
            offset,
            radius: 9,
            group: 8,
            max_ssd: 9,
            matching: MatchingPlane::new(1.0, 36),
            prefilter: 0.0,
        };
        assert_eq!(search(0).grid(18), [0, 4, 8, 12]);
        assert_eq!(search(0).grid(19), grid(19, 6, 4));
        assert_eq!(search(2).grid(18), [0, 2, 6, 10, 12]);
        assert_eq!(search(5).grid(7), [0, 1]);
        assert_eq!(search(3).grid(6), [0]);
    }

    #[test]
    fn grid_is_multiples_and_the_last() {
        assert_eq!(grid(20, 8, 3), [0, 3, 6, 9, 12]);
        assert_eq!(grid(21, 8, 3), [0, 3, 6, 9, 12, 13]);
        assert_eq!(grid(8, 8, 3), [0]);
    }

    #[test]
    fn eight_bit_samples_are_compared_as_they_are_when_tau_is_small() {
        let plane = MatchingPlane::new(400.0, 64);
        assert_eq!(plane, MatchingPlane { scale: 1.0, offset: 0.0 });
        assert!((0..=255u8).all(|v| plane.quantise(v.into()) == v));
        assert_eq!((plane.quantise(-3.0), plane.quantise(300.0), plane.quantise(99.5)), (0, 255, 100));
    }

    #[test]
    fn coarse_planes_make_room_beyond_black_and_white() {
        let plane = MatchingPlane::new(2500.0, 64);
        assert_eq!(plane, MatchingPlane { scale: 2.0, offset: 64.0 });
        assert_ne!(plane.quantise(-100.0), plane.quantise(-90.0));
        assert_ne!(plane.quantise(370.0), plane.quantise(380.0));
    }
}
