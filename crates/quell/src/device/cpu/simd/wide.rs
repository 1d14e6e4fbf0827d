//! Vectors of floats as wide as the registers, for kernels that do not mind how many lanes there are.

/// Floats of one register. Methods may only be reached inside the [`Simd::vectorize`](super::Simd::vectorize) whose
/// [`Simd::Wide`](super::Simd::Wide) it is; pointers need to be valid for [`LANES`](Self::LANES) elements.
pub(in crate::device::cpu) trait Wide: Copy {
    /// Number of lanes, a multiple of 8, at most 16.
    const LANES: usize;

    unsafe fn load(p: *const f32) -> Self;
    unsafe fn store(p: *mut f32, v: Self);
    fn splat(v: f32) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn max(self, b: Self) -> Self;
    /// `self * b + c`, fused where the instruction set can.
    fn fma(self, b: Self, c: Self) -> Self;
    /// `c - self * b`, fused where the instruction set can.
    fn fnma(self, b: Self, c: Self) -> Self;
    /// `self` where `u < limit`, 0 elsewhere.
    fn keep_below(self, limit: Self, u: Self) -> Self;
    /// 32-bit integers, kept as the bits of floats (`self`; 0 is 0), plus floats that are whole numbers.
    fn whole_add(self, b: Self) -> Self;
    /// Such integers as floats.
    fn whole_value(self) -> Self;
    /// `self` times `2^k`, given `t = k + 1.5 * 2^23` (whose low bits are `k`) and a normal result.
    fn shift(self, t: Self) -> Self;

    /// `e^-u` for `u` from 0 to 80, to a relative error of 3e-7.
    #[inline(always)]
    fn exp_minus(u: Self) -> Self {
        // 2^k e^r with |r| <= ln 2 / 2: adding 1.5 * 2^23 rounds to a whole number.
        let whole = Self::splat(12_582_912.0);
        let t = u.fnma(Self::splat(std::f32::consts::LOG2_E), whole);
        let k = t.sub(whole);
        // ln 2 in two parts: the first has so few bits that its multiples are exact.
        let r = k.fnma(Self::splat(0.693_359_4), Self::splat(0.0).sub(u));
        let r = k.fnma(Self::splat(-2.121_944_4e-4), r);
        let terms = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
        let mut sum = Self::splat(terms[0]);
        for term in &terms[1..] {
            sum = sum.fma(r, Self::splat(*term));
        }
        sum.shift(t)
    }
}
