//! AVX2 with FMA: two, four and one 256-bit registers for the three vector types.

use std::arch::x86_64::*;

use super::{Simd, Wide};

#[derive(Clone, Copy)]
pub(super) struct Avx2;

/// Lane-wise over the registers of a wide vector.
#[inline(always)]
fn zip<const N: usize>(
    a: [__m256i; N],
    b: [__m256i; N],
    f: impl Fn(__m256i, __m256i) -> __m256i,
) -> [__m256i; N] {
    let mut out = a;
    for i in 0..N {
        out[i] = f(a[i], b[i]);
    }
    out
}

/// Wraps an intrinsic. SAFETY, for every use: `Simd`'s rule says that this code runs under `vectorize`.
macro_rules! op {
    ($call:expr) => {
        // SAFETY: only reached inside `vectorize`, so the instruction set is there.
        unsafe { $call }
    };
}
pub(super) use op;

/// The float half of the trait: the same 256-bit instructions serve AVX-512 machines.
macro_rules! float_methods {
    () => {
        #[inline(always)]
        unsafe fn load(p: *const f32) -> Self::F32 {
            // SAFETY: the caller vouches for 8 elements.
            unsafe { _mm256_loadu_ps(p) }
        }
        #[inline(always)]
        unsafe fn store(p: *mut f32, v: Self::F32) {
            // SAFETY: the caller vouches for 8 elements.
            unsafe { _mm256_storeu_ps(p, v) }
        }
        #[inline(always)]
        unsafe fn load_halves(p: *const f32, q: *const f32) -> Self::F32 {
            // SAFETY: the caller vouches for 4 elements at both.
            unsafe { _mm256_loadu2_m128(q, p) }
        }
        #[inline(always)]
        unsafe fn store_halves(p: *mut f32, q: *mut f32, v: Self::F32) {
            // SAFETY: the caller vouches for 4 elements at both.
            unsafe { _mm256_storeu2_m128(q, p, v) }
        }
        #[inline(always)]
        fn splat(v: f32) -> Self::F32 {
            op!(_mm256_set1_ps(v))
        }
        #[inline(always)]
        fn add(a: Self::F32, b: Self::F32) -> Self::F32 {
            op!(_mm256_add_ps(a, b))
        }
        #[inline(always)]
        fn sub(a: Self::F32, b: Self::F32) -> Self::F32 {
            op!(_mm256_sub_ps(a, b))
        }
        #[inline(always)]
        fn mul(a: Self::F32, b: Self::F32) -> Self::F32 {
            op!(_mm256_mul_ps(a, b))
        }
        #[inline(always)]
        fn div(a: Self::F32, b: Self::F32) -> Self::F32 {
            op!(_mm256_div_ps(a, b))
        }
        #[inline(always)]
        fn max(a: Self::F32, b: Self::F32) -> Self::F32 {
            op!(_mm256_max_ps(a, b))
        }
        #[inline(always)]
        fn fma(a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 {
            op!(_mm256_fmadd_ps(a, b, c))
        }
        #[inline(always)]
        fn fnma(a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 {
            op!(_mm256_fnmadd_ps(a, b, c))
        }
        #[inline(always)]
        fn transpose(r: &mut [Self::F32; 8]) {
            // Straight-line on purpose: closures here were compiled without the instruction set.
            // SAFETY: only reached inside `vectorize`, so the instruction set is there.
            unsafe {
                let (a0, a1) = (_mm256_unpacklo_ps(r[0], r[1]), _mm256_unpackhi_ps(r[0], r[1]));
                let (a2, a3) = (_mm256_unpacklo_ps(r[2], r[3]), _mm256_unpackhi_ps(r[2], r[3]));
                let (a4, a5) = (_mm256_unpacklo_ps(r[4], r[5]), _mm256_unpackhi_ps(r[4], r[5]));
                let (a6, a7) = (_mm256_unpacklo_ps(r[6], r[7]), _mm256_unpackhi_ps(r[6], r[7]));
                let (b0, b1) = (_mm256_shuffle_ps::<0x44>(a0, a2), _mm256_shuffle_ps::<0xee>(a0, a2));
                let (b2, b3) = (_mm256_shuffle_ps::<0x44>(a1, a3), _mm256_shuffle_ps::<0xee>(a1, a3));
                let (b4, b5) = (_mm256_shuffle_ps::<0x44>(a4, a6), _mm256_shuffle_ps::<0xee>(a4, a6));
                let (b6, b7) = (_mm256_shuffle_ps::<0x44>(a5, a7), _mm256_shuffle_ps::<0xee>(a5, a7));
                *r = [
                    _mm256_permute2f128_ps::<0x20>(b0, b4),
                    _mm256_permute2f128_ps::<0x20>(b1, b5),
                    _mm256_permute2f128_ps::<0x20>(b2, b6),
                    _mm256_permute2f128_ps::<0x20>(b3, b7),
                    _mm256_permute2f128_ps::<0x31>(b0, b4),
                    _mm256_permute2f128_ps::<0x31>(b1, b5),
                    _mm256_permute2f128_ps::<0x31>(b2, b6),
                    _mm256_permute2f128_ps::<0x31>(b3, b7),
                ];
            }
        }
    };
}
pub(super) use float_methods;

impl Simd for Avx2 {
    type U16 = [__m256i; 2];
    type U32 = [__m256i; 4];
    type F32 = __m256;
    type Mask = __m256;
    type Wide = __m256;

    const WIDE: bool = false;

    #[inline(always)]
    fn vectorize<R>(f: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
        fn inner<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: `dispatch` comes here only when the processor has AVX2 and FMA; every such processor
        // has the bit manipulation instructions too.
        unsafe { inner(f) }
    }

    #[inline(always)]
    unsafe fn u16_load(p: *const u16) -> Self::U16 {
        // SAFETY: the caller vouches for 32 elements.
        unsafe { [_mm256_loadu_si256(p.cast()), _mm256_loadu_si256(p.add(16).cast())] }
    }
    #[inline(always)]
    unsafe fn u16_store(p: *mut u16, v: Self::U16) {
        // SAFETY: the caller vouches for 32 elements.
        unsafe {
            _mm256_storeu_si256(p.cast(), v[0]);
            _mm256_storeu_si256(p.add(16).cast(), v[1]);
        }
    }
    #[inline(always)]
    fn u16_splat(v: u16) -> Self::U16 {
        [op!(_mm256_set1_epi16(v as i16)); 2]
    }
    #[inline(always)]
    fn u16_sub(a: Self::U16, b: Self::U16) -> Self::U16 {
        zip(a, b, |a, b| op!(_mm256_sub_epi16(a, b)))
    }
    #[inline(always)]
    fn u16_mul(a: Self::U16, b: Self::U16) -> Self::U16 {
        zip(a, b, |a, b| op!(_mm256_mullo_epi16(a, b)))
    }
    #[inline(always)]
    fn u16_adds(a: Self::U16, b: Self::U16) -> Self::U16 {
        zip(a, b, |a, b| op!(_mm256_adds_epu16(a, b)))
    }
    #[inline(always)]
    fn u16_or(a: Self::U16, b: Self::U16) -> Self::U16 {
        zip(a, b, |a, b| op!(_mm256_or_si256(a, b)))
    }
    #[inline(always)]
    fn u16_min(a: Self::U16, b: Self::U16) -> Self::U16 {
        zip(a, b, |a, b| op!(_mm256_min_epu16(a, b)))
    }
    #[inline(always)]
    fn u16_max(a: Self::U16, b: Self::U16) -> Self::U16 {
        zip(a, b, |a, b| op!(_mm256_max_epu16(a, b)))
    }
    #[inline(always)]
    fn u16_lt(a: Self::U16, b: Self::U16) -> u32 {
        // b - a saturates to 0 exactly where a >= b; packing keeps one byte per lane.
        let ge = zip(b, a, |b, a| op!(_mm256_cmpeq_epi16(_mm256_subs_epu16(b, a), _mm256_setzero_si256())));
        let bytes = op!(_mm256_permute4x64_epi64::<0xd8>(_mm256_packs_epi16(ge[0], ge[1])));
        !(op!(_mm256_movemask_epi8(bytes)) as u32)
    }
    #[inline(always)]
    fn u16_down<const N: usize>(a: Self::U16) -> Self::U16 {
        // alignr works on 128-bit halves: pair each half with its upper neighbour first.
        let mid = op!(_mm256_permute2x128_si256::<0x21>(a[0], a[1]));
        let top = op!(_mm256_permute2x128_si256::<0x81>(a[1], a[1]));
        let shift = |low, high| match N {
            0 => low,
            1 => op!(_mm256_alignr_epi8::<2>(high, low)),
            2 => op!(_mm256_alignr_epi8::<4>(high, low)),
            3 => op!(_mm256_alignr_epi8::<6>(high, low)),
            4 => op!(_mm256_alignr_epi8::<8>(high, low)),
            5 => op!(_mm256_alignr_epi8::<10>(high, low)),
            6 => op!(_mm256_alignr_epi8::<12>(high, low)),
            7 => op!(_mm256_alignr_epi8::<14>(high, low)),
            _ => high,
        };
        [shift(a[0], mid), shift(a[1], top)]
    }

    #[inline(always)]
    unsafe fn u32_load(p: *const u32) -> Self::U32 {
        // SAFETY: the caller vouches for 32 elements.
        unsafe {
            [
                _mm256_loadu_si256(p.cast()),
                _mm256_loadu_si256(p.add(8).cast()),
                _mm256_loadu_si256(p.add(16).cast()),
                _mm256_loadu_si256(p.add(24).cast()),
            ]
        }
    }
    #[inline(always)]
    unsafe fn u32_store(p: *mut u32, v: Self::U32) {
        for (i, v) in v.into_iter().enumerate() {
            // SAFETY: the caller vouches for 32 elements.
            unsafe { _mm256_storeu_si256(p.add(8 * i).cast(), v) };
        }
    }
    #[inline(always)]
    fn u32_min(a: Self::U32, b: Self::U32) -> Self::U32 {
        zip(a, b, |a, b| op!(_mm256_min_epu32(a, b)))
    }
    #[inline(always)]
    fn u32_max(a: Self::U32, b: Self::U32) -> Self::U32 {
        zip(a, b, |a, b| op!(_mm256_max_epu32(a, b)))
    }

    float_methods!();

    #[inline(always)]
    fn gt(a: Self::F32, b: Self::F32) -> Self::Mask {
        op!(_mm256_cmp_ps::<_CMP_GT_OQ>(a, b))
    }
    #[inline(always)]
    fn keep(m: Self::Mask, v: Self::F32) -> Self::F32 {
        op!(_mm256_and_ps(m, v))
    }
}

impl Wide for __m256 {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: the caller vouches for 8 elements.
        unsafe { _mm256_loadu_ps(p) }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self) {
        // SAFETY: the caller vouches for 8 elements.
        unsafe { _mm256_storeu_ps(p, v) }
    }
    #[inline(always)]
    fn splat(v: f32) -> Self {
        op!(_mm256_set1_ps(v))
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        op!(_mm256_add_ps(self, b))
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        op!(_mm256_sub_ps(self, b))
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        op!(_mm256_mul_ps(self, b))
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        op!(_mm256_max_ps(self, b))
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        op!(_mm256_fmadd_ps(self, b, c))
    }
    #[inline(always)]
    fn fnma(self, b: Self, c: Self) -> Self {
        op!(_mm256_fnmadd_ps(self, b, c))
    }
    #[inline(always)]
    fn keep_below(self, limit: Self, u: Self) -> Self {
        op!(_mm256_and_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(limit, u), self))
    }
    #[inline(always)]
    fn whole_add(self, b: Self) -> Self {
        op!(_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(self), _mm256_cvtps_epi32(b))))
    }
    #[inline(always)]
    fn whole_value(self) -> Self {
        op!(_mm256_cvtepi32_ps(_mm256_castps_si256(self)))
    }
    #[inline(always)]
    fn shift(self, t: Self) -> Self {
        let k = op!(_mm256_slli_epi32::<23>(_mm256_castps_si256(t)));
        op!(_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(self), k)))
    }
}
