//! AVX-512 (F, BW, DQ, VL): 512-bit integers; floats stay 256-bit, with twice the registers, so that the
//! result is bit for bit that of AVX2.

use std::arch::x86_64::*;

use super::Simd;
use super::avx2::{float_methods, op};

#[derive(Clone, Copy)]
pub(super) struct Avx512;

impl Simd for Avx512 {
    type U16 = __m512i;
    type U32 = [__m512i; 2];
    type F32 = __m256;
    type Mask = __mmask8;

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
