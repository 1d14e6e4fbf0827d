//! Pooling of segments, eight pixels at a time.

use super::segments::total;
use crate::device::cpu::frames::{Band, Layout, Padded};
use crate::device::cpu::simd::{Kernel, Simd};
use crate::isoline::{Plan, Pooling};

/// The segments of directions, one after the other, as distances in memory.
pub(super) struct Chains {
    /// `[direction][segment][pixel]`.
    offsets: Vec<isize>,
    segments: usize,
    pixels: usize,
}

impl Chains {
    pub(super) fn new(plan: &Plan, layout: Layout, directions: impl Iterator<Item = usize>) -> Self {
        let mut offsets = Vec::new();
        for d in directions {
            let (end, across) = (plan.patterns.end(d), plan.patterns.across(d));
            let half = (plan.thickness / 2) as i32;
            for k in 0..plan.segments as i32 {
                for o in plan.patterns.segment(d) {
                    for side in -half..=half {
                        let dy = k * end.dy + o.dy + side * across.dy;
                        let dx = k * end.dx + o.dx + side * across.dx;
                        offsets.push(layout.offset(dy, dx));
                    }
                }
            }
        }
        Self { offsets, segments: plan.segments, pixels: plan.segment_pixels() }
    }
}

/// One band of a pooling: plane `c` of the band becomes the pooled `z[c]`. There may be one plane more, for the number of
/// pixels that were pooled.
pub(super) struct PoolBand<'a, 'b> {
    pub(super) chains: &'a Chains,
    pub(super) pooling: &'a Pooling,
    pub(super) z: &'a [Padded],
    /// How many frames each pixel is the average of, if more than one.
    pub(super) count: Option<&'a Padded>,
    /// The level of each pixel.
    pub(super) level: &'a Padded,
    /// What segments are compared on, if not `z[0]`.
    pub(super) guide: Option<&'a Padded>,
    pub(super) band: &'a mut Band<'b>,
}

impl Kernel for PoolBand<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        // Segments of 3 pixels are the common case; grey and colour pictures keep their sums in registers.
        match (self.z.len(), self.chains.pixels, self.guide.is_some()) {
            (1, 3, false) => rows::<S, 1, 3, false>(self),
            (1, 3, true) => rows::<S, 1, 3, true>(self),
            (3, 3, false) => rows::<S, 3, 3, false>(self),
            (3, 3, true) => rows::<S, 3, 3, true>(self),
            (1, _, false) => rows::<S, 1, 0, false>(self),
            (1, _, true) => rows::<S, 1, 0, true>(self),
            (2, _, false) => rows::<S, 2, 0, false>(self),
            (2, _, true) => rows::<S, 2, 0, true>(self),
            (3, _, false) => rows::<S, 3, 0, false>(self),
            (3, _, true) => rows::<S, 3, 0, true>(self),
            (_, _, false) => rows::<S, 4, 0, false>(self),
            (_, _, true) => rows::<S, 4, 0, true>(self),
        }
    }
}

/// `C` planes; `N` pixels in a segment, or 0: so many as the chains have; `G`: there is a guide.
#[inline(never)]
fn rows<S: Simd, const C: usize, const N: usize, const G: bool>(job: PoolBand<'_, '_>) {
    S::vectorize(
        #[inline(always)]
        || rows_inner::<S, C, N, G>(job),
    );
}

#[inline(always)]
fn rows_inner<S: Simd, const C: usize, const N: usize, const G: bool>(job: PoolBand<'_, '_>) {
    let layout = job.level.layout;
    let Chains { offsets, segments, pixels } = job.chains;
    let n = if N == 0 { *pixels } else { N };
    let each = n * segments;
    let z: [&[f32]; C] = std::array::from_fn(|c| job.z[c].data());
    let guide = job.guide.map_or(z[0], Padded::data);
    let (one, zero) = (S::splat(1.0), S::splat(0.0));
    let inverse = S::splat(1.0 / n as f32);
    let count = job.count.map(Padded::data);
    for y in 0..job.band.rows {
        for x in (0..layout.width).step_by(8) {
            let at = layout.index(job.band.first + y, x);
            // SAFETY: the margin is as wide as the longest chain reaches, and planes have 8 samples more than that:
            // every pixel of a chain, and the 7 after it, is inside its plane.
            unsafe {
                let level = S::load(job.level.data().as_ptr().add(at));
                let mut slope = S::splat(job.pooling.slope);
                if let Some(count) = count {
                    slope = S::mul(slope, S::load(count.as_ptr().add(at)));
                }
                // Two sums each, so that additions need not wait for one another.
                let mut sums: [[S::F32; C]; 2] = [[zero; C]; 2];
                for c in 0..C {
                    sums[0][c] = S::load(z[c].as_ptr().add(at));
                }
                let mut weights = [zero; 2];
                for chain in offsets.chunks_exact(each) {
                    let mut lambda = zero;
                    for (k, segment) in chain.chunks_exact(n).enumerate() {
                        let mut sum: [S::F32; C] = std::array::from_fn(
                            #[inline(always)]
                            |c| total::<S>(z[c].as_ptr().add(at), segment),
                        );
                        let compared = if G { total::<S>(guide.as_ptr().add(at), segment) } else { sum[0] };
                        let apart = S::sub(S::mul(compared, inverse), level);
                        lambda = S::fma(apart, apart, lambda);
                        let weight = S::max(zero, S::fnma(slope, lambda, one));
                        for c in 0..C {
                            sum[c] = S::fma(weight, sum[c], sums[k % 2][c]);
                        }
                        sums[k % 2] = sum;
                        weights[k % 2] = S::add(weights[k % 2], weight);
                    }
                }
                let pixels = S::fma(S::add(weights[0], weights[1]), S::splat(n as f32), one);
                if let Some(to) = job.band.planes.get_mut(C) {
                    let to = &mut to[y * layout.stride + layout.margin + x..][..8];
                    S::store(to.as_mut_ptr(), pixels);
                }
                for (c, (&a, &b)) in sums[0].iter().zip(&sums[1]).enumerate() {
                    let result = S::div(S::add(a, b), pixels);
                    let to = &mut job.band.planes[c][y * layout.stride + layout.margin + x..][..8];
                    S::store(to.as_mut_ptr(), result);
                }
            }
        }
    }
}
