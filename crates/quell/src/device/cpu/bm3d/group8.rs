//! The collaborative filter of one group: Haar across the patches, vertical transform, shrinkage, and back.

#![expect(clippy::needless_range_loop, reason = "unrolled kernels read better with the index of the paper")]

use super::half::Row;
use super::patch8::{Points8, Scales};
use super::variance::Variances;
use crate::bm3d::{PassPlan, Shrink, Weight};
use crate::device::cpu::simd::{Simd, inlined};

/// Largest group.
pub(super) const MAX: usize = 128;

/// Constants of a pass, scaled for the unscaled transforms.
pub(super) struct Constants {
    hard: bool,
    /// Coefficients have variances of their own.
    relative: bool,
    weight: Weight,
    /// `lambda^2` or `mu2`, times the noise variance.
    strength: f32,
    /// Squared norms of the two-dimensional analysis atoms.
    norm2: [Row; 8],
    /// What a coefficient is multiplied by on the way back.
    undo: [Row; 8],
}

impl Constants {
    pub(super) fn new<T: Points8>(pass: &PassPlan, sigma: f32) -> Self {
        let scales = Scales::of::<T>();
        let outer = |f: &dyn Fn(usize, usize) -> f64| -> [Row; 8] {
            std::array::from_fn(|u| std::array::from_fn(|v| f(u, v) as f32))
        };
        let factor = match pass.shrink {
            Shrink::Hard { lambda } => lambda * lambda,
            Shrink::Wiener { mu2 } => mu2,
            Shrink::Regress { .. } => unreachable!("has no coefficients"),
        };
        Self {
            hard: matches!(pass.shrink, Shrink::Hard { .. }),
            relative: pass.exact || pass.spectrum.is_some(),
            weight: pass.weight,
            strength: factor * sigma * sigma,
            norm2: outer(&|u, v| scales.norm2[u] * scales.norm2[v]),
            undo: outer(&|u, v| scales.undo[u] * scales.undo[v]),
        }
    }

    /// For a group in which so much of the noise variance is left.
    #[inline(always)]
    pub(super) fn strength(&self, part: f32) -> f32 {
        // Never 0: a Wiener filter that assumes no noise would divide 0 by 0.
        (self.strength * part).max(1e-30)
    }
}

/// One group and where its data are.
pub(super) struct Group<'a> {
    pub(super) at: &'a [usize],
    pub(super) stride: usize,
    pub(super) constants: &'a Constants,
    /// `lambda^2` or `mu2`, times the noise variance.
    pub(super) strength: f32,
    pub(super) variances: &'a Variances,
    pub(super) kaiser: &'a Row,
    pub(super) noisy: *const Row,
    pub(super) basic: *const Row,
    pub(super) sums: *mut Row,
    pub(super) stack: *mut [Row; 8],
    pub(super) pilot: *mut [Row; 8],
}

/// Filters one group and adds it to the sums; returns its weight.
///
/// # Safety
/// Every patch of the group lies inside the buffers; `stack` and `pilot` have room for the group.
#[inline(never)]
pub(super) unsafe fn filter_group<S: Simd, T: Points8>(g: Group<'_>) -> f32 {
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
        // Groups with nothing left count as one coefficient.
        let weight = g.constants.weight.of(kept.max(1.0));
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

/// Lane 0 of the first row of the first coefficient is the mean of the group: it is never shrunk.
#[inline(always)]
fn with_mean<S: Simd>(shrunk: S::F32, whole: S::F32) -> S::F32 {
    const FIRST: Row = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    const REST: Row = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    // SAFETY: rows have 8 floats.
    let (first, rest) = unsafe { (S::load(FIRST.as_ptr()), S::load(REST.as_ptr())) };
    S::add(S::mul(shrunk, rest), S::mul(whole, first))
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
            let (threshold, back) = (S::splat(g.strength * size), S::splat(1.0 / size));
            for u in 0..8 {
                let energy = S::mul(v[u], v[u]);
                let factor = S::mul(back, S::load(c.undo[u].as_ptr()));
                let (noise, share) = if c.relative {
                    let relative = g.variances.relative::<S>(k, u);
                    (S::mul(relative, S::load(c.norm2[u].as_ptr())), relative)
                } else {
                    (S::load(c.norm2[u].as_ptr()), S::splat(1.0))
                };
                let keep = S::gt(energy, S::mul(threshold, noise));
                kept[u % 2] = S::add(kept[u % 2], S::keep(keep, share));
                let shrunk = S::mul(S::keep(keep, v[u]), factor);
                v[u] = if k == 0 && u == 0 { with_mean::<S>(shrunk, S::mul(v[u], factor)) } else { shrunk };
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
            let (strength, back) = (S::splat(g.strength * size), S::splat(1.0 / size));
            let mut b = S::load8(pilot.as_ptr().cast(), 8);
            T::forward::<S>(&mut b);
            for u in 0..8 {
                let energy = S::mul(b[u], b[u]);
                let norm2 = S::load(c.norm2[u].as_ptr());
                let (noise, share) = if c.relative {
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
                let factor = S::mul(back, S::load(c.undo[u].as_ptr()));
                let shrunk = S::mul(w, factor);
                b[u] = if k == 0 && u == 0 { with_mean::<S>(shrunk, factor) } else { shrunk };
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
