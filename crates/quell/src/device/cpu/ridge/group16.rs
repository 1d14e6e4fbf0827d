//! The regression of groups of 4 x 4 patches: 16 pixels are two vectors, and everything is a product of k x 16 and 16 x 16.

#![expect(clippy::needless_range_loop, reason = "matrices read better with the indices of the formulas")]

use super::round::{Job, Weights};
use crate::device::cpu::simd::{Kernel, Simd};
use crate::ridge::Plan;

/// Pixels of a patch.
const N: usize = 16;

/// Whether this is for the plan.
pub(super) fn supports(plan: &Plan) -> bool {
    plan.patch == 4 && plan.center
}

/// Buffers of one thread: 16 x 16 matrices, and the patches of a group as rows of 16.
pub(super) struct Scratch {
    x: Vec<f32>,
    z: Vec<f32>,
    gram: [f32; N * N],
    cross: [f32; N * N],
    map: [f32; N * N],
    /// Rows of the unit matrix.
    unit: [f32; N * N],
}

impl Default for Scratch {
    fn default() -> Self {
        let unit = std::array::from_fn(|i| if i / N == i % N { 1.0 } else { 0.0 });
        let zero = [0.0; N * N];
        Self { x: Vec::new(), z: Vec::new(), gram: zero, cross: zero, map: zero, unit }
    }
}

/// Filters the groups of a unit for one channel.
pub(super) struct FilterUnit<'a, 'b> {
    pub(super) job: &'a mut Job<'b>,
    pub(super) scratch: &'a mut Scratch,
}

impl Kernel for FilterUnit<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Self { job, scratch } = self;
        scratch.x.resize(job.most * N, 0.0);
        scratch.z.resize(job.most * N, 0.0);
        let (unit, lists) = (job.unit, job.lists);
        for (x, y, numbers) in lists.groups(unit) {
            group::<S>(job, scratch, x, y, numbers);
        }
    }
}

#[inline(always)]
fn group<S: Simd>(job: &mut Job<'_>, s: &mut Scratch, x: usize, y: usize, numbers: &[u16]) {
    let (k, (place, inside)) = (numbers.len(), job.places(x, y));
    let Weights { t, ridge } = job.noise(place, numbers);
    let (stride, width) = (job.plan.width, job.unit.region.width());
    assert!(s.x.len() >= k * N && s.z.len() >= k * N);
    let inside_picture = job.offsets.of.len();
    assert!(numbers.iter().all(|&n| usize::from(n) < inside_picture));
    // SAFETY: displacements were only found where whole patches lie in the picture and in the region of the unit;
    // `Scratch` has room for `most` patches, and matrices are 16 x 16.
    unsafe {
        let offset = |n: u16| *job.offsets.of.get_unchecked(usize::from(n));
        let from = |plane: &[f32]| {
            let first = plane.as_ptr().add(place);
            move |n: u16| first.offset(offset(n).0 as isize)
        };
        let xm = gather::<S>(from(job.x.as_slice()), stride, numbers, s.x.as_mut_ptr());
        let zm = gather::<S>(from(job.z.as_slice()), stride, numbers, s.z.as_mut_ptr());
        less::<S>(s.x.as_mut_ptr(), k, xm);
        differences::<S>(s.z.as_mut_ptr(), s.x.as_ptr(), k, zm);
        let (x, gram) = (s.x.as_ptr(), s.gram.as_mut_ptr());
        products::<S>(x, x, k, gram);
        products::<S>(x, s.z.as_ptr(), k, s.cross.as_mut_ptr());
        let trace: f32 = (0..N).map(|i| s.gram[i * (N + 1)]).sum();
        let ridge = ridge.max(1e-6 * trace);
        (0..N).for_each(|i| s.gram[i * (N + 1)] += ridge);
        invert::<S>(s.gram.as_mut_ptr(), s.unit.as_ptr());
        let variance = variance::<S>(s.gram.as_ptr(), s.unit.as_ptr(), ridge);
        let (weight, kept) = job.weight(k, t, variance);
        // The inverse is symmetric.
        products::<S>(s.gram.as_ptr(), s.cross.as_ptr(), N, s.map.as_mut_ptr());
        complete::<S>(s.map.as_mut_ptr(), s.gram.as_ptr(), s.unit.as_ptr(), ridge, kept);
        let [numerators, all, new] = &mut *job.sums else { unreachable!("three sums a channel") };
        let scaled = [S::mul(zm[0], S::splat(kept)), S::mul(zm[1], S::splat(kept))];
        let to = numerators.as_mut_ptr().add(inside);
        let to = |n: u16| to.offset(offset(n).1 as isize);
        add_estimates::<S>(x, s.map.as_ptr(), scaled, numbers, to, width);
        for &n in numbers {
            let corner = inside.wrapping_add_signed(offset(n).1 as isize);
            *all.get_unchecked_mut(corner) += weight;
            *new.get_unchecked_mut(corner) += kept;
        }
    }
}

/// Copies the patches of a group to rows of 16, and gives their mean.
///
/// # Safety
/// Every patch is readable, `to` has room for all.
#[inline(always)]
unsafe fn gather<S: Simd>(
    from: impl Fn(u16) -> *const f32,
    stride: usize,
    numbers: &[u16],
    to: *mut f32,
) -> [S::F32; 2] {
    let mut sum = [S::splat(0.0); 2];
    for (j, &n) in numbers.iter().enumerate() {
        // SAFETY: by this function's contract.
        unsafe {
            let p = from(n);
            let a = S::load_halves(p, p.add(stride));
            let b = S::load_halves(p.add(2 * stride), p.add(3 * stride));
            S::store(to.add(N * j), a);
            S::store(to.add(N * j + 8), b);
            sum = [S::add(sum[0], a), S::add(sum[1], b)];
        }
    }
    let part = S::splat(1.0 / numbers.len() as f32);
    [S::mul(sum[0], part), S::mul(sum[1], part)]
}

/// Takes the mean off every row.
///
/// # Safety
/// `rows` are `k` rows of 16.
#[inline(always)]
unsafe fn less<S: Simd>(rows: *mut f32, k: usize, mean: [S::F32; 2]) {
    for j in 0..2 * k {
        // SAFETY: by this function's contract.
        unsafe {
            let p = rows.add(8 * j);
            S::store(p, S::sub(S::load(p), mean[j % 2]));
        }
    }
}

/// `Zc - Xc`, where `Xc` is given.
///
/// # Safety
/// Both are `k` rows of 16.
#[inline(always)]
unsafe fn differences<S: Simd>(z: *mut f32, x: *const f32, k: usize, mean: [S::F32; 2]) {
    for j in 0..2 * k {
        // SAFETY: by this function's contract.
        unsafe {
            let p = z.add(8 * j);
            S::store(p, S::sub(S::sub(S::load(p), mean[j % 2]), S::load(x.add(8 * j))));
        }
    }
}

/// `A' B` of matrices of `k` rows of 16.
///
/// # Safety
/// `a` and `b` are `k` rows of 16, `to` is 16 rows.
#[inline(always)]
unsafe fn products<S: Simd>(a: *const f32, b: *const f32, k: usize, to: *mut f32) {
    // SAFETY: by this function's contract.
    unsafe {
        if S::WIDE {
            some_products::<S, 8>(a, b, k, to, 0);
            some_products::<S, 8>(a, b, k, to, 8);
        } else {
            some_products::<S, 6>(a, b, k, to, 0);
            some_products::<S, 6>(a, b, k, to, 6);
            some_products::<S, 4>(a, b, k, to, 12);
        }
    }
}

/// Some rows of them: as many as there are registers for.
///
/// # Safety
/// As for [`products`]; `first + ROWS` is at most 16.
#[inline(always)]
unsafe fn some_products<S: Simd, const ROWS: usize>(
    a: *const f32,
    b: *const f32,
    k: usize,
    to: *mut f32,
    first: usize,
) {
    let mut sums = [[S::splat(0.0); 2]; ROWS];
    for j in 0..k {
        // SAFETY: by this function's contract.
        unsafe {
            let right = [S::load(b.add(N * j)), S::load(b.add(N * j + 8))];
            for i in 0..ROWS {
                let left = S::splat(*a.add(N * j + first + i));
                sums[i] = [S::fma(left, right[0], sums[i][0]), S::fma(left, right[1], sums[i][1])];
            }
        }
    }
    for i in 0..ROWS {
        // SAFETY: by this function's contract.
        unsafe {
            S::store(to.add(N * (first + i)), sums[i][0]);
            S::store(to.add(N * (first + i) + 8), sums[i][1]);
        }
    }
}

/// Inverts a symmetric positive matrix in place (Gauss and Jordan, without pivots).
///
/// # Safety
/// Both are 16 rows of 16, `unit` is the unit matrix.
#[inline(always)]
unsafe fn invert<S: Simd>(a: *mut f32, unit: *const f32) {
    for p in 0..N {
        // SAFETY: by this function's contract.
        unsafe {
            let pivot = S::splat(1.0 / *a.add(N * p + p));
            // The half of a row in which column p is, and the other one.
            let (own, other) = (8 * (p / 8), 8 - 8 * (p / 8));
            let one = S::load(unit.add(N * p + own));
            let beside = S::gt(S::splat(0.5), one);
            let row = a.add(N * p);
            let pivots = S::mul(S::add(S::keep(beside, S::load(row.add(own))), one), pivot);
            let others = S::mul(S::load(row.add(other)), pivot);
            for i in 0..N {
                if i == p {
                    continue;
                }
                let row = a.add(N * i);
                let factor = S::splat(*row.add(p));
                S::store(row.add(own), S::fnma(factor, pivots, S::keep(beside, S::load(row.add(own)))));
                S::store(row.add(other), S::fnma(factor, others, S::load(row.add(other))));
            }
            S::store(row.add(own), pivots);
            S::store(row.add(other), others);
        }
    }
}

/// `|I - D A|^2`.
///
/// # Safety
/// Both are 16 rows of 16.
#[inline(always)]
unsafe fn variance<S: Simd>(a: *const f32, unit: *const f32, ridge: f32) -> f32 {
    let (ridge, mut sum) = (S::splat(ridge), S::splat(0.0));
    for i in (0..N * N).step_by(8) {
        // SAFETY: by this function's contract.
        let left = unsafe { S::fnma(ridge, S::load(a.add(i)), S::load(unit.add(i))) };
        sum = S::fma(left, left, sum);
    }
    S::sum(sum)
}

/// From `A Xc' (Zc - Xc)` to `A Xc' Zc`, which is `I - D A` more, times a factor. By way of the differences, because then
/// what an inverse in floats is off by counts only so much as `z` is off the estimate.
///
/// # Safety
/// All are 16 rows of 16.
#[inline(always)]
unsafe fn complete<S: Simd>(map: *mut f32, a: *const f32, unit: *const f32, ridge: f32, factor: f32) {
    let (ridge, factor) = (S::splat(ridge), S::splat(factor));
    for i in (0..N * N).step_by(8) {
        // SAFETY: by this function's contract.
        unsafe {
            let own = S::fnma(ridge, S::load(a.add(i)), S::load(unit.add(i)));
            S::store(map.add(i), S::mul(S::add(S::load(map.add(i)), own), factor));
        }
    }
}

/// Adds `mean + x Q` to where the patches are.
///
/// # Safety
/// `x` are as many rows of 16 as there are `numbers`, `map` 16; `to` leads to places of whole patches.
#[inline(always)]
unsafe fn add_estimates<S: Simd>(
    x: *const f32,
    map: *const f32,
    mean: [S::F32; 2],
    numbers: &[u16],
    to: impl Fn(u16) -> *mut f32,
    stride: usize,
) {
    let fours = numbers.len() / 4 * 4;
    // SAFETY: by this function's contract.
    unsafe {
        for j in (0..fours).step_by(4) {
            add_some::<S, 4>(x.add(N * j), map, mean, &numbers[j..], &to, stride);
        }
        for j in fours..numbers.len() {
            add_some::<S, 1>(x.add(N * j), map, mean, &numbers[j..], &to, stride);
        }
    }
}

/// The same for the first few.
///
/// # Safety
/// As for [`add_estimates`].
#[inline(always)]
unsafe fn add_some<S: Simd, const ROWS: usize>(
    x: *const f32,
    map: *const f32,
    mean: [S::F32; 2],
    numbers: &[u16],
    to: &impl Fn(u16) -> *mut f32,
    stride: usize,
) {
    let mut sums = [mean; ROWS];
    for i in 0..N {
        // SAFETY: by this function's contract.
        unsafe {
            let right = [S::load(map.add(N * i)), S::load(map.add(N * i + 8))];
            for j in 0..ROWS {
                let left = S::splat(*x.add(N * j + i));
                sums[j] = [S::fma(left, right[0], sums[j][0]), S::fma(left, right[1], sums[j][1])];
            }
        }
    }
    for (j, &n) in numbers.iter().enumerate().take(ROWS) {
        // SAFETY: by this function's contract.
        unsafe {
            for (half, sum) in sums[j].into_iter().enumerate() {
                let p = to(n).add(2 * half * stride);
                let q = p.add(stride);
                S::store_halves(p, q, S::add(S::load_halves(p, q), sum));
            }
        }
    }
}
