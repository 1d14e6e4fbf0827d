//! Vectors. One trait, one file per instruction set; kernels are written once, generic over [`Simd`].
//!
//! By hand rather than by a crate: matching needs 32-lane saturating 16-bit arithmetic with lane shifts and
//! bit masks, and the filter needs unchecked loads at gathered positions, which the portable SIMD crates
//! do not offer together.
//!
//! Soundness: an implementor's methods may only be reached inside its [`Simd::vectorize`], which
//! [`dispatch`] enters after the processor was asked. `S` is never named outside of that.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
mod wide;

use super::Level;
pub(super) use wide::Wide;

/// What kernels are written in. Raw-pointer methods need `p` valid for the stated number of elements.
pub(super) trait Simd: Copy + Send + Sync + 'static {
    /// 32 unsigned 16-bit lanes.
    type U16: Copy;
    /// 32 unsigned 32-bit lanes.
    type U32: Copy;
    /// 8 float lanes.
    type F32: Copy;
    /// Truth of 8 float lanes.
    type Mask: Copy;
    /// As many floats as a register holds.
    type Wide: Wide;

    /// Whether there are registers enough to scan several displacements at once.
    const WIDE: bool;

    /// Calls `f` compiled for this instruction set.
    fn vectorize<R>(f: impl FnOnce() -> R) -> R;

    unsafe fn u16_load(p: *const u16) -> Self::U16;
    unsafe fn u16_store(p: *mut u16, v: Self::U16);
    fn u16_splat(v: u16) -> Self::U16;
    /// Wrapping difference.
    fn u16_sub(a: Self::U16, b: Self::U16) -> Self::U16;
    /// Low half of the product.
    fn u16_mul(a: Self::U16, b: Self::U16) -> Self::U16;
    /// Saturating sum.
    fn u16_adds(a: Self::U16, b: Self::U16) -> Self::U16;
    fn u16_or(a: Self::U16, b: Self::U16) -> Self::U16;
    fn u16_min(a: Self::U16, b: Self::U16) -> Self::U16;
    fn u16_max(a: Self::U16, b: Self::U16) -> Self::U16;
    /// Bit `i` is `a[i] < b[i]`.
    fn u16_lt(a: Self::U16, b: Self::U16) -> u32;
    /// Lane `i` takes lane `i + N`; the last `N` lanes are unspecified.
    fn u16_down<const N: usize>(a: Self::U16) -> Self::U16;

    unsafe fn u32_load(p: *const u32) -> Self::U32;
    unsafe fn u32_store(p: *mut u32, v: Self::U32);
    fn u32_min(a: Self::U32, b: Self::U32) -> Self::U32;
    fn u32_max(a: Self::U32, b: Self::U32) -> Self::U32;

    unsafe fn load(p: *const f32) -> Self::F32;
    unsafe fn store(p: *mut f32, v: Self::F32);
    /// 4 floats from each of two places.
    unsafe fn load_halves(p: *const f32, q: *const f32) -> Self::F32;
    unsafe fn store_halves(p: *mut f32, q: *mut f32, v: Self::F32);
    fn splat(v: f32) -> Self::F32;
    fn add(a: Self::F32, b: Self::F32) -> Self::F32;
    fn sub(a: Self::F32, b: Self::F32) -> Self::F32;
    fn mul(a: Self::F32, b: Self::F32) -> Self::F32;
    fn div(a: Self::F32, b: Self::F32) -> Self::F32;
    fn max(a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a * b + c`, fused where the instruction set can.
    fn fma(a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// `c - a * b`, fused where the instruction set can.
    fn fnma(a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    fn gt(a: Self::F32, b: Self::F32) -> Self::Mask;
    /// `v` where the mask holds, 0 elsewhere.
    fn keep(m: Self::Mask, v: Self::F32) -> Self::F32;
    fn transpose(r: &mut [Self::F32; 8]);

    /// Eight vectors, `stride` floats apart.
    #[inline(always)]
    unsafe fn load8(p: *const f32, stride: usize) -> [Self::F32; 8] {
        let mut v = [Self::splat(0.0); 8];
        for (i, v) in v.iter_mut().enumerate() {
            // SAFETY: the caller vouches for all of them.
            *v = unsafe { Self::load(p.add(i * stride)) };
        }
        v
    }

    /// Sum of the lanes, in a fixed order.
    #[inline(always)]
    fn sum(v: Self::F32) -> f32 {
        let mut a = [0.0; 8];
        // SAFETY: `a` has 8 elements.
        unsafe { Self::store(a.as_mut_ptr(), v) };
        ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
    }
}

/// Work that is generic over the instruction set.
pub(super) trait Kernel {
    type Output;
    /// Does the work; implementations are `#[inline(always)]` so that they are compiled for `S`.
    fn run<S: Simd>(self) -> Self::Output;
}

/// Runs a kernel at a level that [`Level::pick`] found on this processor.
pub(super) fn dispatch<K: Kernel>(level: Level, kernel: K) -> K::Output {
    match level {
        Level::Portable => portable::Portable::vectorize(
            #[inline(always)]
            || kernel.run::<portable::Portable>(),
        ),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::Avx2::vectorize(
            #[inline(always)]
            || kernel.run::<avx2::Avx2>(),
        ),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::Avx512::vectorize(
            #[inline(always)]
            || kernel.run::<avx512::Avx512>(),
        ),
        #[cfg(not(target_arch = "x86_64"))]
        Level::Avx2 | Level::Avx512 => unreachable!("never detected here"),
    }
}

/// Marks a closure that is bound to a name as `#[inline(always)]`: the attribute is only allowed on arguments.
#[inline(always)]
pub(super) fn inlined<F>(f: F) -> F {
    f
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Exp(f32);

    impl Kernel for Exp {
        type Output = f32;
        #[inline(always)]
        fn run<S: Simd>(self) -> f32 {
            let mut out = [0.0; 16];
            // SAFETY: no vector has more than 16 elements.
            unsafe { S::Wide::store(out.as_mut_ptr(), S::Wide::exp_minus(S::Wide::splat(self.0))) };
            out[3]
        }
    }

    #[test]
    fn exponential_is_exact_to_a_few_bits() {
        for level in Level::ALL.into_iter().filter(|l| *l <= Level::detect()) {
            assert_eq!(dispatch(level, Exp(0.0)), 1.0);
            for i in 0..8000 {
                let u = i as f32 * 0.01;
                let (got, want) = (f64::from(dispatch(level, Exp(u))), (-f64::from(u)).exp());
                assert!((got / want - 1.0).abs() < 3e-7, "{level:?}: e^-{u} is {want}, not {got}");
            }
        }
    }
}
