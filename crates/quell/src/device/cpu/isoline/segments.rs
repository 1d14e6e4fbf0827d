//! The direction of least variance at every pixel, eight at a time (PI-PD's first kernel).

use crate::device::cpu::frames::{Band, Layout, Padded};
use crate::device::cpu::simd::{Kernel, Simd};
use crate::isoline::Plan;

/// The segment of every direction as distances in memory: `[direction][pixel]`.
pub(super) struct Segments {
    pub(super) offsets: Vec<isize>,
    pub(super) pixels: usize,
}

impl Segments {
    pub(super) fn new(plan: &Plan, layout: Layout) -> Self {
        let half = (plan.thickness / 2) as i32;
        let mut offsets = Vec::new();
        for d in 0..plan.patterns.directions() {
            let across = plan.patterns.across(d);
            for o in plan.patterns.segment(d) {
                for side in -half..=half {
                    offsets.push(layout.offset(o.dy + side * across.dy, o.dx + side * across.dx));
                }
            }
        }
        Self { offsets, pixels: plan.segment_pixels() }
    }

    /// The segment of direction `d`.
    pub(super) fn of(&self, d: usize) -> &[isize] {
        &self.offsets[d * self.pixels..][..self.pixels]
    }
}

/// One band: its planes become the best direction, the sums of luma and its squares over that segment, and the sums of
/// the other planes.
pub(super) struct SegmentBand<'a, 'b> {
    pub(super) segments: &'a Segments,
    pub(super) z: &'a [Padded],
    pub(super) squares: &'a Padded,
    pub(super) band: &'a mut Band<'b>,
}

impl Kernel for SegmentBand<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        match (self.z.len(), self.segments.pixels) {
            (1, 5) => rows::<S, 1, 5>(self),
            (1, _) => rows::<S, 1, 0>(self),
            (2, _) => rows::<S, 2, 0>(self),
            (3, _) => rows::<S, 3, 0>(self),
            _ => rows::<S, 4, 0>(self),
        }
    }
}

/// `C` planes; `N` pixels in a segment, or 0: so many as there are.
#[inline(never)]
fn rows<S: Simd, const C: usize, const N: usize>(job: SegmentBand<'_, '_>) {
    S::vectorize(
        #[inline(always)]
        || rows_inner::<S, C, N>(job),
    );
}

#[inline(always)]
fn rows_inner<S: Simd, const C: usize, const N: usize>(job: SegmentBand<'_, '_>) {
    let layout = job.squares.layout;
    let n = if N == 0 { job.segments.pixels } else { N };
    let pixels = S::splat(n as f32);
    let z: [&[f32]; C] = std::array::from_fn(|c| job.z[c].data());
    let squares = job.squares.data();
    for y in 0..job.band.rows {
        for x in (0..layout.width).step_by(8) {
            let at = layout.index(job.band.first + y, x);
            let zero = S::splat(0.0);
            // The best so far: its spread, negated; direction and sums.
            let (mut least, mut direction, mut x2) = (S::splat(f32::MIN), zero, zero);
            let mut sums: [S::F32; C] = [zero; C];
            for (d, segment) in job.segments.offsets.chunks_exact(n).enumerate() {
                // SAFETY: the margin is as wide as a segment reaches, and planes have 8 samples more than that.
                unsafe {
                    let square = total::<S>(squares.as_ptr().add(at), segment);
                    let sum: [S::F32; C] = std::array::from_fn(
                        #[inline(always)]
                        |c| total::<S>(z[c].as_ptr().add(at), segment),
                    );
                    // All whole numbers below 2^24 for 8-bit samples: exact, however it is rounded.
                    let spread = S::fnma(pixels, square, S::mul(sum[0], sum[0]));
                    let better = S::gt(spread, least);
                    least = S::max(spread, least);
                    direction = take::<S>(better, S::splat(d as f32), direction);
                    x2 = take::<S>(better, square, x2);
                    for c in 0..C {
                        sums[c] = take::<S>(better, sum[c], sums[c]);
                    }
                }
            }
            let to = y * layout.stride + layout.margin + x;
            for (plane, v) in
                job.band.planes.iter_mut().zip([direction, sums[0], x2].iter().chain(&sums[1..]))
            {
                // SAFETY: the slice has 8 samples.
                unsafe { S::store(plane[to..to + 8].as_mut_ptr(), *v) };
            }
        }
    }
}

/// `new` where the mask holds, else `old`; exact for whole numbers.
#[inline(always)]
fn take<S: Simd>(mask: S::Mask, new: S::F32, old: S::F32) -> S::F32 {
    S::add(old, S::keep(mask, S::sub(new, old)))
}

/// The sum over the pixels of a segment.
///
/// # Safety
/// Eight samples must be readable at every offset from `p`.
#[inline(always)]
pub(super) unsafe fn total<S: Simd>(p: *const f32, segment: &[isize]) -> S::F32 {
    // SAFETY: the caller vouches for it.
    unsafe {
        let mut sum = S::load(p.offset(segment[0]));
        for &o in &segment[1..] {
            sum = S::add(sum, S::load(p.offset(o)));
        }
        sum
    }
}
