//! AVX-512 (F, BW, DQ, VL): 512-bit integers; the floats of BM3D stay 256-bit, with twice the registers, so that the
//! result is bit for bit that of AVX2.

use std::arch::x86_64::*;

use super::avx2::{float_methods, op};
use super::{Simd, Wide};

#[derive(Clone, Copy)]
pub(super) struct Avx512;

impl Simd for Avx512 {
    type U16 = __m512i;
    type U32 = [__m512i; 2];
    type F32 = __m256;
    type Mask = __mmask8;
    type Wide = __m512;

    const WIDE: bool = true;

    #[inline(always)]
    fn vectorize<R>(f: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
        fn inner<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: `dispatch` comes here only when the processor has these sets.
        unsafe { inner(f) }
    }

    #[inline(always)]
    unsafe fn u16_load(p: *const u16) -> Self::U16 {
        // SAFETY: the caller vouches for 32 elements.
        unsafe { _mm512_loadu_si512(p.cast()) }
    }
    #[inline(always)]
    unsafe fn u16_store(p: *mut u16, v: Self::U16) {
        // SAFETY: the caller vouches for 32 elements.
        unsafe { _mm512_storeu_si512(p.cast(), v) }
    }
    #[inline(always)]
    fn u16_splat(v: u16) -> Self::U16 {
        op!(_mm512_set1_epi16(v as i16))
    }
    #[inline(always)]
    fn u16_sub(a: Self::U16, b: Self::U16) -> Self::U16 {
        op!(_mm512_sub_epi16(a, b))
    }
    #[inline(always)]
    fn u16_mul(a: Self::U16, b: Self::U16) -> Self::U16 {
        op!(_mm512_mullo_epi16(a, b))
    }
    #[inline(always)]
    fn u16_adds(a: Self::U16, b: Self::U16) -> Self::U16 {
        op!(_mm512_adds_epu16(a, b))
    }
    #[inline(always)]
    fn u16_or(a: Self::U16, b: Self::U16) -> Self::U16 {
        op!(_mm512_or_si512(a, b))
    }
    #[inline(always)]
    fn u16_min(a: Self::U16, b: Self::U16) -> Self::U16 {
        op!(_mm512_min_epu16(a, b))
    }
    #[inline(always)]
    fn u16_max(a: Self::U16, b: Self::U16) -> Self::U16 {
        op!(_mm512_max_epu16(a, b))
    }
    #[inline(always)]
    fn u16_lt(a: Self::U16, b: Self::U16) -> u32 {
        op!(_mm512_cmplt_epu16_mask(a, b))
    }
    #[inline(always)]
    fn u16_down<const N: usize>(a: Self::U16) -> Self::U16 {
        const fn lanes(n: usize) -> [u16; 32] {
            let mut index = [0; 32];
            let mut i = 0;
            while i < 32 {
                index[i] = ((i + n) % 32) as u16;
                i += 1;
            }
            index
        }
        let index = const { lanes(N) };
        // `index` has 32 elements, so the load is in bounds.
        op!(_mm512_permutexvar_epi16(_mm512_loadu_si512(index.as_ptr().cast()), a))
    }

    #[inline(always)]
    unsafe fn u32_load(p: *const u32) -> Self::U32 {
        // SAFETY: the caller vouches for 32 elements.
        unsafe { [_mm512_loadu_si512(p.cast()), _mm512_loadu_si512(p.add(16).cast())] }
    }
    #[inline(always)]
    unsafe fn u32_store(p: *mut u32, v: Self::U32) {
        // SAFETY: the caller vouches for 32 elements.
        unsafe {
            _mm512_storeu_si512(p.cast(), v[0]);
            _mm512_storeu_si512(p.add(16).cast(), v[1]);
        }
    }
    #[inline(always)]
    fn u32_min(a: Self::U32, b: Self::U32) -> Self::U32 {
        [op!(_mm512_min_epu32(a[0], b[0])), op!(_mm512_min_epu32(a[1], b[1]))]
    }
    #[inline(always)]
    fn u32_max(a: Self::U32, b: Self::U32) -> Self::U32 {
        [op!(_mm512_max_epu32(a[0], b[0])), op!(_mm512_max_epu32(a[1], b[1]))]
    }

    float_methods!();

    #[inline(always)]
    fn gt(a: Self::F32, b: Self::F32) -> Self::Mask {
        op!(_mm256_cmp_ps_mask::<_CMP_GT_OQ>(a, b))
    }
    #[inline(always)]
    fn keep(m: Self::Mask, v: Self::F32) -> Self::F32 {
        op!(_mm256_maskz_mov_ps(m, v))
    }
}

impl Wide for __m512 {
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: the caller vouches for 16 elements.
        unsafe { _mm512_loadu_ps(p) }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self) {
        // SAFETY: the caller vouches for 16 elements.
        unsafe { _mm512_storeu_ps(p, v) }
    }
    #[inline(always)]
    fn splat(v: f32) -> Self {
        op!(_mm512_set1_ps(v))
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        op!(_mm512_add_ps(self, b))
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        op!(_mm512_sub_ps(self, b))
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        op!(_mm512_mul_ps(self, b))
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        op!(_mm512_max_ps(self, b))
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        op!(_mm512_fmadd_ps(self, b, c))
    }
    #[inline(always)]
    fn fnma(self, b: Self, c: Self) -> Self {
        op!(_mm512_fnmadd_ps(self, b, c))
    }
    #[inline(always)]
    fn keep_below(self, limit: Self, u: Self) -> Self {
        op!(_mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(limit, u), self))
    }
    #[inline(always)]
    fn whole_add(self, b: Self) -> Self {
        op!(_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(self), _mm512_cvtps_epi32(b))))
    }
    #[inline(always)]
    fn whole_value(self) -> Self {
        op!(_mm512_cvtepi32_ps(_mm512_castps_si512(self)))
    }
    #[inline(always)]
    fn shift(self, t: Self) -> Self {
        let k = op!(_mm512_slli_epi32::<23>(_mm512_castps_si512(t)));
        op!(_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(self), k)))
    }
}
