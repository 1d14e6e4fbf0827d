//! Plain arrays; the compiler vectorises them for the target's baseline.

use super::{Simd, Wide};

#[derive(Clone, Copy)]
pub(super) struct Portable;

/// Fused only where the hardware does it: a software fma is some fifty times slower.
#[inline(always)]
fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_arch = "aarch64", target_feature = "fma")) { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn zip<T: Copy, const N: usize>(a: [T; N], b: [T; N], f: impl Fn(T, T) -> T) -> [T; N] {
    let mut out = a;
    for i in 0..N {
        out[i] = f(a[i], b[i]);
    }
    out
}

impl Simd for Portable {
    type U16 = [u16; 32];
    type U32 = [u32; 32];
    type F32 = [f32; 8];
    type Mask = [bool; 8];
    type Wide = [f32; 8];

    const WIDE: bool = false;

    #[inline(always)]
    fn vectorize<R>(f: impl FnOnce() -> R) -> R {
        f()
    }

    #[inline(always)]
    unsafe fn u16_load(p: *const u16) -> Self::U16 {
        // SAFETY: the caller vouches for 32 elements.
        unsafe { p.cast::<Self::U16>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn u16_store(p: *mut u16, v: Self::U16) {
        // SAFETY: the caller vouches for 32 elements.
        unsafe { p.cast::<Self::U16>().write_unaligned(v) }
    }
    #[inline(always)]
    fn u16_splat(v: u16) -> Self::U16 {
        [v; 32]
    }
    #[inline(always)]
    fn u16_sub(a: Self::U16, b: Self::U16) -> Self::U16 {
        zip(a, b, u16::wrapping_sub)
    }
    #[inline(always)]
    fn u16_mul(a: Self::U16, b: Self::U16) -> Self::U16 {
        zip(a, b, u16::wrapping_mul)
    }
    #[inline(always)]
    fn u16_adds(a: Self::U16, b: Self::U16) -> Self::U16 {
        zip(a, b, u16::saturating_add)
    }
    #[inline(always)]
    fn u16_or(a: Self::U16, b: Self::U16) -> Self::U16 {
        zip(a, b, |x, y| x | y)
    }
    #[inline(always)]
    fn u16_min(a: Self::U16, b: Self::U16) -> Self::U16 {
        zip(a, b, u16::min)
    }
    #[inline(always)]
    fn u16_max(a: Self::U16, b: Self::U16) -> Self::U16 {
        zip(a, b, u16::max)
    }
    #[inline(always)]
    fn u16_lt(a: Self::U16, b: Self::U16) -> u32 {
        (0..32).fold(0, |m, i| m | (u32::from(a[i] < b[i]) << i))
    }
    #[inline(always)]
    fn u16_down<const N: usize>(a: Self::U16) -> Self::U16 {
        std::array::from_fn(|i| a[(i + N) % 32])
    }

    #[inline(always)]
    unsafe fn u32_load(p: *const u32) -> Self::U32 {
        // SAFETY: the caller vouches for 32 elements.
        unsafe { p.cast::<Self::U32>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn u32_store(p: *mut u32, v: Self::U32) {
        // SAFETY: the caller vouches for 32 elements.
        unsafe { p.cast::<Self::U32>().write_unaligned(v) }
    }
    #[inline(always)]
    fn u32_min(a: Self::U32, b: Self::U32) -> Self::U32 {
        zip(a, b, u32::min)
    }
    #[inline(always)]
    fn u32_max(a: Self::U32, b: Self::U32) -> Self::U32 {
        zip(a, b, u32::max)
    }

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::F32 {
        // SAFETY: the caller vouches for 8 elements.
        unsafe { p.cast::<Self::F32>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self::F32) {
        // SAFETY: the caller vouches for 8 elements.
        unsafe { p.cast::<Self::F32>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn load_halves(p: *const f32, q: *const f32) -> Self::F32 {
        // SAFETY: the caller vouches for 4 elements at both.
        unsafe { std::array::from_fn(|i| if i < 4 { *p.add(i) } else { *q.add(i - 4) }) }
    }
    #[inline(always)]
    unsafe fn store_halves(p: *mut f32, q: *mut f32, v: Self::F32) {
        for (i, v) in v.into_iter().enumerate() {
            // SAFETY: the caller vouches for 4 elements at both.
            unsafe { if i < 4 { *p.add(i) = v } else { *q.add(i - 4) = v } }
        }
    }
    #[inline(always)]
    fn splat(v: f32) -> Self::F32 {
        [v; 8]
    }
    #[inline(always)]
    fn add(a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |x, y| x + y)
    }
    #[inline(always)]
    fn sub(a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |x, y| x - y)
    }
    #[inline(always)]
    fn mul(a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |x, y| x * y)
    }
    #[inline(always)]
    fn div(a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |x, y| x / y)
    }
    #[inline(always)]
    fn max(a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |x, y| if x > y { x } else { y })
    }
    #[inline(always)]
    fn fma(a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 {
        std::array::from_fn(|i| mul_add(a[i], b[i], c[i]))
    }
    #[inline(always)]
    fn fnma(a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 {
        std::array::from_fn(|i| mul_add(-a[i], b[i], c[i]))
    }
    #[inline(always)]
    fn gt(a: Self::F32, b: Self::F32) -> Self::Mask {
        std::array::from_fn(|i| a[i] > b[i])
    }
    #[inline(always)]
    fn keep(m: Self::Mask, v: Self::F32) -> Self::F32 {
        std::array::from_fn(|i| if m[i] { v[i] } else { 0.0 })
    }
    #[inline(always)]
    fn transpose(r: &mut [Self::F32; 8]) {
        *r = std::array::from_fn(|i| std::array::from_fn(|j| r[j][i]));
    }
}

/// The same operations under another name.
impl Wide for [f32; 8] {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: the caller vouches for 8 elements.
        unsafe { Portable::load(p) }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self) {
        // SAFETY: the caller vouches for 8 elements.
        unsafe { Portable::store(p, v) }
    }
    #[inline(always)]
    fn splat(v: f32) -> Self {
        [v; 8]
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Portable::add(self, b)
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Portable::sub(self, b)
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Portable::mul(self, b)
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        Portable::max(self, b)
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        Portable::fma(self, b, c)
    }
    #[inline(always)]
    fn fnma(self, b: Self, c: Self) -> Self {
        Portable::fnma(self, b, c)
    }
    #[inline(always)]
    fn keep_below(self, limit: Self, u: Self) -> Self {
        Portable::keep(Portable::gt(limit, u), self)
    }
    #[inline(always)]
    fn whole_add(self, b: Self) -> Self {
        zip(self, b, |a, b| f32::from_bits((a.to_bits() as i32).wrapping_add(b as i32) as u32))
    }
    #[inline(always)]
    fn whole_value(self) -> Self {
        self.map(|v| v.to_bits() as i32 as f32)
    }
    #[inline(always)]
    fn shift(self, t: Self) -> Self {
        zip(self, t, |v, t| f32::from_bits(v.to_bits().wrapping_add(t.to_bits() << 23)))
    }
}
