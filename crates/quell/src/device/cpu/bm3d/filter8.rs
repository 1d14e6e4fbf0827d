//! Collaborative filtering of groups of 8 x 8 patches with a Haar transform across the group.
//!
//! The horizontal transform of every row segment is computed once per pixel and kept, 8 floats a pixel; so a
//! patch costs eight loads and one vertical transform, and nothing is transposed. Filtered patches are added
//! up in the same half-transformed domain, and the horizontal inverse runs once per pixel at the end. The
//! denominator needs one addition per patch and a separable convolution with the window.

use super::matching::{Groups, Window};
use super::patch8::{Bior8, Dct8, Points8, Scales};
use super::unit::{Source, Unit};
use super::variance::Variances;
use crate::bm3d::{PassPlan, Shrink, Weight};
use crate::device::cpu::simd::{Kernel, Simd, inlined};
use crate::transform::Transform;

/// Whether this filter can run the pass.
pub(super) fn supports(pass: &PassPlan) -> bool {
    pass.patch == 8
        && pass.stack == Transform::Haar
        && matches!(pass.transform, Transform::Dct | Transform::Bior)
}

/// A vector of eight floats in memory.
pub(super) type Row = [f32; 8];

/// Largest group.
pub(super) const MAX: usize = 128;

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    noisy: Vec<Row>,
    basic: Vec<Row>,
    sums: Vec<Row>,
    weights: Vec<f32>,
    line: Vec<f32>,
    overlap: Vec<f32>,
    stack: Vec<[Row; 8]>,
    pilot: Vec<[Row; 8]>,
    variances: Variances,
}

/// Filters the groups of a unit for one channel; adds nothing to what other units do.
pub(super) struct FilterUnit<'a> {
    pub(super) pass: &'a PassPlan,
    pub(super) unit: &'a Unit,
    pub(super) groups: &'a Groups,
    pub(super) noisy: Source<'a>,
    pub(super) basic: Option<Source<'a>>,
    pub(super) sigma: f32,
    pub(super) scratch: &'a mut Scratch,
    /// Numerator and denominator over the unit's region.
    pub(super) numerator: &'a mut [f32],
    pub(super) denominator: &'a mut [f32],
}

impl Kernel for FilterUnit<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        match self.pass.transform {
            Transform::Bior => run::<S, Bior8>(self),
            _ => run::<S, Dct8>(self),
        }
    }
}

/// Constants of a pass, scaled for the unscaled transforms.
struct Constants {
    hard: bool,
    exact: bool,
    weight: Weight,
    /// `lambda^2` or `mu2`, times the noise variance.
    strength: f32,
    /// Squared norms of the two-dimensional analysis atoms.
    norm2: [Row; 8],
    /// What a coefficient is multiplied by on the way back.
    undo: [Row; 8],
}

impl Constants {
    fn new<T: Points8>(pass: &PassPlan, sigma: f32) -> Self {
        let scales = Scales::of::<T>();
        let outer = |f: &dyn Fn(usize, usize) -> f64| -> [Row; 8] {
            std::array::from_fn(|u| std::array::from_fn(|v| f(u, v) as f32))
        };
        let factor = match pass.shrink {
            Shrink::Hard { lambda } => lambda * lambda,
            Shrink::Wiener { mu2 } => mu2,
        };
        Self {
            hard: matches!(pass.shrink, Shrink::Hard { .. }),
            exact: pass.exact,
            weight: pass.weight,
            strength: factor * sigma * sigma,
            norm2: outer(&|u, v| scales.norm2[u] * scales.norm2[v]),
            undo: outer(&|u, v| scales.undo[u] * scales.undo[v]),
        }
    }
}

/// Geometry of the half-transformed buffers, in rows of eight floats.
#[derive(Clone, Copy)]
struct Layout {
    width: usize,
    height: usize,
    stride: usize,
}

#[inline(always)]
fn run<S: Simd, T: Points8>(job: FilterUnit<'_>) {
    let FilterUnit { pass, unit, groups, noisy, basic, sigma, scratch, numerator, denominator } = job;
    let region = &unit.region;
    let width = region.width();
    // One vector more than a multiple of eight, so that the rows of a patch do not share cache sets.
    let layout = Layout { width, height: region.height(), stride: width.next_multiple_of(8) + 9 };
    let constants = Constants::new::<T>(pass, sigma);
    let Scratch { noisy: z, basic: b, sums, weights, line, overlap, stack, pilot, variances } = scratch;
    transform_region::<S, T>(&noisy, unit, layout, line, z);
    if let Some(basic) = basic {
        transform_region::<S, T>(&basic, unit, layout, line, b);
    }
    let cells = layout.stride * layout.height;
    sums.resize(cells, [0.0; 8]);
    sums.as_flattened_mut().fill(0.0);
    weights.clear();
    weights.resize(width * layout.height, 0.0);
    stack.resize(MAX, [[0.0; 8]; 8]);
    pilot.resize(MAX, [[0.0; 8]; 8]);
    let window = Window { radius: pass.radius };
    if pass.exact {
        variances.prepare::<T>(window);
    }
    let steps = Steps::new(window, layout);
    let kaiser: [f32; 8] = std::array::from_fn(|i| pass.kaiser[i]);
    let mut at = [0usize; MAX];
    let mut i = 0;
    for &y in &unit.ys {
        for &x in &unit.xs {
            let group = groups.group(i);
            i += 1;
            let (px, py) = (x - region.x.start, y - region.y.start);
            let (origin, weight_origin) = (py * layout.stride + px, py * width + px);
            for (a, key) in at.iter_mut().zip(group) {
                *a = origin.wrapping_add_signed(steps.cells[(key & 0xffff) as usize]);
            }
            let n = group.len();
            assert!(at[..n].iter().all(|&a| a + 7 * layout.stride < cells));
            if pass.exact {
                variances.of_group::<S>(group);
            }
            let job = Group {
                at: &at[..n],
                stride: layout.stride,
                constants: &constants,
                variances,
                kaiser: &kaiser,
                noisy: z.as_ptr(),
                basic: b.as_ptr(),
                sums: sums.as_mut_ptr(),
                stack: stack.as_mut_ptr(),
                pilot: pilot.as_mut_ptr(),
            };
            // SAFETY: the assertion above keeps every patch inside the buffers, which hold `cells` rows.
            let weight = unsafe { filter_group::<S, T>(job) };
            for key in group {
                weights[weight_origin.wrapping_add_signed(steps.pixels[(key & 0xffff) as usize])] += weight;
            }
        }
    }
    back::<S, T>(sums, layout, &kaiser, overlap, numerator);
    convolve::<S>(weights, width, &kaiser, line, denominator);
}

/// Distance in memory of every displacement of the window.
struct Steps {
    cells: Vec<isize>,
    pixels: Vec<isize>,
}

impl Steps {
    fn new(window: Window, layout: Layout) -> Self {
        let offset = |stride: usize| {
            (0..(window.side() * window.side()) as u32)
                .map(|n| {
                    let (dy, dx) = window.displacement(n);
                    dy as isize * stride as isize + dx as isize
                })
                .collect()
        };
        Self { cells: offset(layout.stride), pixels: offset(layout.width) }
    }
}

/// The horizontal transform at every pixel of a region.
#[inline(never)]
fn transform_region<S: Simd, T: Points8>(
    plane: &Source<'_>,
    unit: &Unit,
    layout: Layout,
    line: &mut Vec<f32>,
    out: &mut Vec<Row>,
) {
    S::vectorize(
        #[inline(always)]
        || transform_region_inner::<S, T>(plane, unit, layout, line, out),
    );
}

#[inline(always)]
fn transform_region_inner<S: Simd, T: Points8>(
    plane: &Source<'_>,
    unit: &Unit,
    layout: Layout,
    line: &mut Vec<f32>,
    out: &mut Vec<Row>,
) {
    line.clear();
    line.resize(layout.width + 24, 0.0);
    // Only ever read where a patch fits, so what is left over from another unit does no harm.
    if out.len() < layout.stride * layout.height {
        out.resize(layout.stride * layout.height, [0.0; 8]);
    }
    for (y, row) in unit.region.y.clone().zip(out.chunks_exact_mut(layout.stride)) {
        line[..layout.width].copy_from_slice(plane.row(y, unit.region.x.clone()));
        for x in (0..layout.width).step_by(8) {
            let samples = &line[x..x + 16];
            let cells = &mut row[x..x + 8];
            // SAFETY: `samples` holds the 15 floats that are read, `cells` the 8 rows that are written.
            unsafe {
                let mut v = S::load8(samples.as_ptr(), 1);
                T::forward::<S>(&mut v);
                S::transpose(&mut v);
                for (cell, v) in cells.iter_mut().zip(v) {
                    S::store(cell.as_mut_ptr(), v);
                }
            }
        }
    }
}

/// The horizontal inverse of the sums, windowed and overlapped.
#[inline(never)]
fn back<S: Simd, T: Points8>(
    sums: &[Row],
    layout: Layout,
    kaiser: &Row,
    overlap: &mut Vec<f32>,
    out: &mut [f32],
) {
    S::vectorize(
        #[inline(always)]
        || back_inner::<S, T>(sums, layout, kaiser, overlap, out),
    );
}

#[inline(always)]
fn back_inner<S: Simd, T: Points8>(
    sums: &[Row],
    layout: Layout,
    kaiser: &Row,
    overlap: &mut Vec<f32>,
    out: &mut [f32],
) {
    // Eight lines, one per column of a patch, each with room for seven pixels on the left.
    let stride = layout.width.next_multiple_of(8) + 16;
    overlap.clear();
    overlap.resize(8 * stride, 0.0);
    let mut line = vec![0.0; layout.width.next_multiple_of(8)];
    for (cells, out) in sums.chunks_exact(layout.stride).zip(out.chunks_exact_mut(layout.width)) {
        for x in (0..layout.width).step_by(8) {
            let cells = &cells[x..x + 8];
            assert!(overlap.len() >= 7 * stride + 8 + x + 8);
            // SAFETY: `cells` has 8 rows; the assertion covers the last store.
            unsafe {
                let mut v = S::load8(cells.as_ptr().cast(), 8);
                S::transpose(&mut v);
                T::inverse::<S>(&mut v);
                for (j, v) in v.into_iter().enumerate() {
                    S::store(overlap.as_mut_ptr().add(j * stride + 8 + x), S::mul(v, S::splat(kaiser[j])));
                }
            }
        }
        for x in (0..layout.width).step_by(8) {
            // SAFETY: the lines hold `width` rounded up to 8, plus 8 on the left; `line` likewise.
            unsafe {
                let p = overlap.as_ptr().add(8 + x);
                let mut s = S::load(p);
                for j in 1..8 {
                    s = S::add(s, S::load(p.add(j * stride - j)));
                }
                S::store(line.as_mut_ptr().add(x), s);
            }
        }
        out.copy_from_slice(&line[..layout.width]);
    }
}

/// The separable convolution of the patch weights with the window: the denominator of every pixel.
#[inline(never)]
fn convolve<S: Simd>(weights: &[f32], width: usize, kaiser: &Row, line: &mut Vec<f32>, out: &mut [f32]) {
    S::vectorize(
        #[inline(always)]
        || convolve_inner::<S>(weights, width, kaiser, line, out),
    );
}

#[inline(always)]
fn convolve_inner<S: Simd>(
    weights: &[f32],
    width: usize,
    kaiser: &Row,
    line: &mut Vec<f32>,
    out: &mut [f32],
) {
    let padded = width.next_multiple_of(8);
    let height = out.len() / width;
    // Eight horizontally convolved rows in a ring, then a line of weights with seven zeros before it.
    line.clear();
    line.resize(8 * padded + 8 + padded, 0.0);
    let (ring, input) = line.split_at_mut(8 * padded);
    let mut row = vec![0.0; padded];
    for y in 0..height {
        input[8..8 + width].copy_from_slice(&weights[y * width..][..width]);
        let rows = (y + 1).min(8);
        for x in (0..padded).step_by(8) {
            // SAFETY: `input` holds 8 + `padded` floats, each row of the ring and `row` hold `padded`.
            unsafe {
                let mut sum = S::mul(S::load(input.as_ptr().add(8 + x)), S::splat(kaiser[0]));
                for j in 1..8 {
                    sum = S::fma(S::load(input.as_ptr().add(8 + x - j)), S::splat(kaiser[j]), sum);
                }
                S::store(ring.as_mut_ptr().add(y % 8 * padded + x), sum);
                let mut total = S::mul(sum, S::splat(kaiser[0]));
                for j in 1..rows {
                    let above = S::load(ring.as_ptr().add((y - j) % 8 * padded + x));
                    total = S::fma(above, S::splat(kaiser[j]), total);
                }
                S::store(row.as_mut_ptr().add(x), total);
            }
        }
        out[y * width..][..width].copy_from_slice(&row[..width]);
    }
}

/// One group and where its data are.
struct Group<'a> {
    at: &'a [usize],
    stride: usize,
    constants: &'a Constants,
    variances: &'a Variances,
    kaiser: &'a Row,
    noisy: *const Row,
    basic: *const Row,
    sums: *mut Row,
    stack: *mut [Row; 8],
    pilot: *mut [Row; 8],
}

/// Filters one group and adds it to the sums; returns its weight.
///
/// # Safety
/// Every patch of the group lies inside the buffers; `stack` and `pilot` have room for the group.
#[inline(never)]
unsafe fn filter_group<S: Simd, T: Points8>(g: Group<'_>) -> f32 {
    macro_rules! sizes {
        ($($n:literal)+) => {
            match g.at.len() {
                $($n => S::vectorize(
                    #[inline(always)]
                    // SAFETY: passed on.
                    || unsafe { filter_group_of::<S, T, $n>(g) },
                ),)+
                _ => unreachable!("groups are powers of two up to 128"),
            }
        };
    }
    sizes!(1 2 4 8 16 32 64 128)
}

/// # Safety
/// As [`filter_group`], with `N` patches.
#[inline(always)]
unsafe fn filter_group_of<S: Simd, T: Points8, const N: usize>(g: Group<'_>) -> f32 {
    // SAFETY: passed on from the caller; `at` has N elements.
    unsafe {
        load_haar::<S, N>(g.noisy, &g, g.stack);
        let kept = if g.constants.hard {
            hard::<S, T, N>(&g)
        } else {
            load_haar::<S, N>(g.basic, &g, g.pilot);
            wiener::<S, T, N>(&g)
        };
        // Groups with nothing left count as one coefficient (hard) or a millionth of all (Wiener).
        let least = if g.constants.hard { 1.0 } else { 64e-6 * N as f32 };
        let weight = g.constants.weight.of(kept.max(least));
        haar_add::<S, N>(&g, weight);
        weight
    }
}

/// Level of coefficient `k` of a Haar pyramid over `n` patches: how many halvings its support has seen.
#[inline(always)]
fn level(n: usize, k: usize) -> u32 {
    n.ilog2() - if k == 0 { 0 } else { k.ilog2() }
}

/// Haar across the patches, eight at a time so that they stay in registers, then across the eight-sums.
/// Coefficient order: the mean, then from the coarsest difference to the finest.
#[inline(always)]
unsafe fn load_haar<S: Simd, const N: usize>(from: *const Row, g: &Group<'_>, to: *mut [Row; 8]) {
    for r in 0..8 {
        let zero = S::splat(0.0);
        let mut tops = [zero; 16];
        // SAFETY: patches and stack are inside their buffers by the caller's contract.
        let load = inlined(
            #[inline(always)]
            |k: usize| unsafe { S::load((*from.add(*g.at.get_unchecked(k) + r * g.stride)).as_ptr()) },
        );
        // SAFETY: as above; k is below N.
        let put = inlined(
            #[inline(always)]
            |k: usize, v| unsafe { S::store((*to.add(k))[r].as_mut_ptr(), v) },
        );
        let chunk = if N < 8 { N } else { 8 };
        for c in 0..N / chunk {
            let mut v = [zero; 8];
            for i in 0..chunk {
                v[i] = load(c * chunk + i);
            }
            let mut half = chunk / 2;
            while half > 0 {
                // `half` details of this chunk, at the level that has N / chunk * half details in all.
                for i in 0..half {
                    let (a, b) = (v[2 * i], v[2 * i + 1]);
                    v[i] = S::add(a, b);
                    put(N / chunk * half + c * half + i, S::sub(a, b));
                }
                half /= 2;
            }
            tops[c] = v[0];
        }
        let mut half = N / chunk / 2;
        while half > 0 {
            for i in 0..half {
                let (a, b) = (tops[2 * i], tops[2 * i + 1]);
                tops[i] = S::add(a, b);
                put(half + i, S::sub(a, b));
            }
            half /= 2;
        }
        put(0, tops[0]);
    }
}

/// The inverse of [`load_haar`] on coefficients that carry their factors, windowed and added to the sums.
#[inline(always)]
unsafe fn haar_add<S: Simd, const N: usize>(g: &Group<'_>, weight: f32) {
    for r in 0..8 {
        let zero = S::splat(0.0);
        let kw = S::splat(weight * g.kaiser[r]);
        // SAFETY: k is below N.
        let get = inlined(
            #[inline(always)]
            |k: usize| unsafe { S::load((*g.stack.add(k))[r].as_ptr()) },
        );
        let chunk = if N < 8 { N } else { 8 };
        let mut tops = [zero; 16];
        tops[0] = get(0);
        let mut half = 1;
        while half < N / chunk {
            for i in (0..half).rev() {
                let (s, d) = (tops[i], get(half + i));
                tops[2 * i] = S::add(s, d);
                tops[2 * i + 1] = S::sub(s, d);
            }
            half *= 2;
        }
        for c in 0..N / chunk {
            let mut v = [zero; 8];
            v[0] = tops[c];
            let mut half = 1;
            while half < chunk {
                for i in (0..half).rev() {
                    let (s, d) = (v[i], get(N / chunk * half + c * half + i));
                    v[2 * i] = S::add(s, d);
                    v[2 * i + 1] = S::sub(s, d);
                }
                half *= 2;
            }
            for i in 0..chunk {
                // SAFETY: the patch lies inside the sums.
                unsafe {
                    let p = (*g.sums.add(*g.at.get_unchecked(c * chunk + i) + r * g.stride)).as_mut_ptr();
                    S::store(p, S::fma(v[i], kw, S::load(p)));
                }
            }
        }
    }
}

/// Hard threshold; returns the variance kept, in units of the noise variance.
#[inline(always)]
unsafe fn hard<S: Simd, T: Points8, const N: usize>(g: &Group<'_>) -> f32 {
    let c = g.constants;
    let mut kept = [S::splat(0.0); 2];
    for k in 0..N {
        let size = (1u32 << level(N, k)) as f32;
        // SAFETY: k is below N; rows have 8 floats.
        unsafe {
            let rows = &mut *g.stack.add(k);
            let mut v = S::load8(rows.as_ptr().cast(), 8);
            T::forward::<S>(&mut v);
            let (threshold, back) = (S::splat(c.strength * size), S::splat(1.0 / size));
            for u in 0..8 {
                let energy = S::mul(v[u], v[u]);
                let factor = S::mul(back, S::load(c.undo[u].as_ptr()));
                let (noise, share) = if c.exact {
                    let relative = g.variances.relative::<S>(k, u);
                    (S::mul(relative, S::load(c.norm2[u].as_ptr())), relative)
                } else {
                    (S::load(c.norm2[u].as_ptr()), S::splat(1.0))
                };
                let keep = S::gt(energy, S::mul(threshold, noise));
                kept[u % 2] = S::add(kept[u % 2], S::keep(keep, share));
                v[u] = S::mul(S::keep(keep, v[u]), factor);
            }
            T::inverse::<S>(&mut v);
            for (row, v) in rows.iter_mut().zip(v) {
                S::store(row.as_mut_ptr(), v);
            }
        }
    }
    S::sum(S::add(kept[0], kept[1]))
}

/// Empirical Wiener filter; returns the variance kept, in units of the noise variance.
#[inline(always)]
unsafe fn wiener<S: Simd, T: Points8, const N: usize>(g: &Group<'_>) -> f32 {
    let c = g.constants;
    let mut kept = [S::splat(0.0); 2];
    for k in 0..N {
        let size = (1u32 << level(N, k)) as f32;
        // SAFETY: k is below N; rows have 8 floats.
        unsafe {
            let (rows, pilot) = (&mut *g.stack.add(k), &*g.pilot.add(k));
            let (strength, back) = (S::splat(c.strength * size), S::splat(1.0 / size));
            let mut b = S::load8(pilot.as_ptr().cast(), 8);
            T::forward::<S>(&mut b);
            for u in 0..8 {
                let energy = S::mul(b[u], b[u]);
                let norm2 = S::load(c.norm2[u].as_ptr());
                let (noise, share) = if c.exact {
                    let relative = g.variances.relative::<S>(k, u);
                    (S::mul(relative, norm2), Some(relative))
                } else {
                    (norm2, None)
                };
                let w = S::div(energy, S::fma(strength, noise, energy));
                let w2 = S::mul(w, w);
                kept[u % 2] = match share {
                    Some(share) => S::fma(w2, share, kept[u % 2]),
                    None => S::add(w2, kept[u % 2]),
                };
                b[u] = S::mul(w, S::mul(back, S::load(c.undo[u].as_ptr())));
            }
            let mut v = S::load8(rows.as_ptr().cast(), 8);
            T::forward::<S>(&mut v);
            for u in 0..8 {
                v[u] = S::mul(v[u], b[u]);
            }
            T::inverse::<S>(&mut v);
            for (row, v) in rows.iter_mut().zip(v) {
                S::store(row.as_mut_ptr(), v);
            }
        }
    }
    S::sum(S::add(kept[0], kept[1]))
}
