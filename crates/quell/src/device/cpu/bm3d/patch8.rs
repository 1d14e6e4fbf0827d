//! Fast 8-point transforms, unscaled: every scale is folded into thresholds and shrinkage factors.

use crate::device::cpu::simd::Simd;
use crate::transform::{Matrix, Transform};

/// An 8-point transform as a flow graph across eight vectors.
pub(super) trait Points8 {
    /// The exact transform that this is, up to a factor per row.
    const TRANSFORM: Transform;
    /// Analysis.
    fn forward<S: Simd>(d: &mut [S::F32; 8]);
    /// Synthesis; undoes `forward` up to the factors of [`Scales::undo`].
    fn inverse<S: Simd>(d: &mut [S::F32; 8]);
    /// What the coefficients must be multiplied by so that `inverse` undoes `forward`.
    fn undo() -> [f64; 8];
}

/// The scales of an unscaled transform.
pub(super) struct Scales {
    /// Square of the factor of each analysis row against the exact transform.
    pub(super) norm2: [f64; 8],
    /// Factor of each coefficient before the inverse.
    pub(super) undo: [f64; 8],
    /// `autocorrelation[d][u]`: correlation of analysis row `u` with itself shifted by `d` pixels, 1 for no shift.
    pub(super) autocorrelation: [[f64; 8]; 8],
}

impl Scales {
    pub(super) fn of<T: Points8>() -> Self {
        let exact: Matrix = T::TRANSFORM.forward(8);
        // Row u of the unscaled transform is a multiple of the exact row: read the factor off one element.
        let gain: [f64; 8] = std::array::from_fn(|u| {
            let i =
                (0..8).max_by(|&a, &b| exact.at(u, a).abs().total_cmp(&exact.at(u, b).abs())).unwrap_or(0);
            row::<T>(i)[u] / exact.at(u, i)
        });
        let correlation = |u: usize, d: usize| -> f64 {
            let a = exact.row(u);
            (d..8).map(|i| a[i] * a[i - d]).sum::<f64>()
        };
        Self {
            norm2: gain.map(|g| g * g),
            undo: T::undo(),
            autocorrelation: std::array::from_fn(|d| {
                std::array::from_fn(|u| correlation(u, d) / correlation(u, 0))
            }),
        }
    }
}

/// The unscaled transform of unit vector `i`, in double precision.
fn row<T: Points8>(i: usize) -> [f64; 8] {
    match T::TRANSFORM {
        Transform::Dct => {
            let exact = Transform::Dct.forward(8);
            // Arai, Agui and Nakajima: row u carries sqrt(8), and sqrt(2) cos(u pi / 16) but for u = 0.
            std::array::from_fn(|u| {
                let c =
                    if u == 0 { 1.0 } else { (u as f64 * std::f64::consts::PI / 16.0).cos() * 2f64.sqrt() };
                8f64.sqrt() * c * exact.at(u, i)
            })
        }
        _ => {
            let mut x = [0.0; 8];
            x[i] = 1.0;
            bior_forward(&mut x, |a, b| a + b, |a, b| a - b, |a, b| a + LIFT * b, |a, b| a - LIFT * b);
            x
        }
    }
}

/// DCT-II by the flow graph of Arai, Agui and Nakajima.
pub(super) struct Dct8;

impl Points8 for Dct8 {
    const TRANSFORM: Transform = Transform::Dct;

    #[inline(always)]
    fn forward<S: Simd>(d: &mut [S::F32; 8]) {
        let c = S::splat;
        let (a0, a7) = (S::add(d[0], d[7]), S::sub(d[0], d[7]));
        let (a1, a6) = (S::add(d[1], d[6]), S::sub(d[1], d[6]));
        let (a2, a5) = (S::add(d[2], d[5]), S::sub(d[2], d[5]));
        let (a3, a4) = (S::add(d[3], d[4]), S::sub(d[3], d[4]));
        let (b0, b3) = (S::add(a0, a3), S::sub(a0, a3));
        let (b1, b2) = (S::add(a1, a2), S::sub(a1, a2));
        d[0] = S::add(b0, b1);
        d[4] = S::sub(b0, b1);
        let half = c(std::f32::consts::FRAC_1_SQRT_2);
        let s = S::add(b2, b3);
        d[2] = S::fma(s, half, b3);
        d[6] = S::fnma(s, half, b3);
        let (t0, t1, t2) = (S::add(a4, a5), S::add(a5, a6), S::add(a6, a7));
        let z5 = S::mul(S::sub(t0, t2), c(0.382_683_43));
        let z2 = S::fma(t0, c(0.541_196_1), z5);
        let z4 = S::fma(t2, c(1.306_563), z5);
        let z11 = S::fma(t1, half, a7);
        let z13 = S::fnma(t1, half, a7);
        d[5] = S::add(z13, z2);
        d[3] = S::sub(z13, z2);
        d[1] = S::add(z11, z4);
        d[7] = S::sub(z11, z4);
    }

    #[inline(always)]
    fn inverse<S: Simd>(d: &mut [S::F32; 8]) {
        let c = S::splat;
        let root = c(std::f32::consts::SQRT_2);
        let (p, q) = (S::add(d[0], d[4]), S::sub(d[0], d[4]));
        let s = S::add(d[2], d[6]);
        let t = S::sub(S::mul(S::sub(d[2], d[6]), root), s);
        let (e0, e3) = (S::add(p, s), S::sub(p, s));
        let (e1, e2) = (S::add(q, t), S::sub(q, t));
        let (z13, z10) = (S::add(d[5], d[3]), S::sub(d[5], d[3]));
        let (z11, z12) = (S::add(d[1], d[7]), S::sub(d[1], d[7]));
        let o7 = S::add(z11, z13);
        let z5 = S::mul(S::add(z10, z12), c(1.847_759_1));
        let t10 = S::fnma(z12, c(1.082_392_2), z5);
        let t12 = S::fnma(z10, c(2.613_126), z5);
        let o6 = S::sub(t12, o7);
        let o5 = S::sub(S::mul(S::sub(z11, z13), root), o6);
        let o4 = S::sub(t10, o5);
        *d = [
            S::add(e0, o7),
            S::add(e1, o6),
            S::add(e2, o5),
            S::add(e3, o4),
            S::sub(e3, o4),
            S::sub(e2, o5),
            S::sub(e1, o6),
            S::sub(e0, o7),
        ];
    }

    fn undo() -> [f64; 8] {
        [0.125; 8]
    }
}

/// bior1.5 with period 8 is Haar with one lifting step: the outer taps of the low-pass filter cancel.
pub(super) struct Bior8;

const LIFT: f64 = 22.0 / 128.0;

/// Shared by the vector kernel and the double-precision scales.
#[inline(always)]
fn bior_forward<V: Copy>(
    x: &mut [V; 8],
    add: impl Fn(V, V) -> V,
    sub: impl Fn(V, V) -> V,
    lift: impl Fn(V, V) -> V,
    drop: impl Fn(V, V) -> V,
) {
    let (d0, d1, d2, d3) = (sub(x[0], x[1]), sub(x[2], x[3]), sub(x[4], x[5]), sub(x[6], x[7]));
    let (e0, e1) = (sub(d1, d3), sub(d0, d2));
    let s0 = lift(add(x[0], x[1]), e0);
    let s1 = drop(add(x[2], x[3]), e1);
    let s2 = drop(add(x[4], x[5]), e0);
    let s3 = lift(add(x[6], x[7]), e1);
    let (a, b) = (add(s0, s1), add(s2, s3));
    *x = [add(a, b), sub(a, b), sub(s0, s1), sub(s2, s3), d0, d1, d2, d3];
}

impl Points8 for Bior8 {
    const TRANSFORM: Transform = Transform::Bior;

    #[inline(always)]
    fn forward<S: Simd>(d: &mut [S::F32; 8]) {
        let c = S::splat(LIFT as f32);
        bior_forward(d, S::add, S::sub, |a, b| S::fma(b, c, a), |a, b| S::fnma(b, c, a));
    }

    #[inline(always)]
    fn inverse<S: Simd>(d: &mut [S::F32; 8]) {
        // Details come in halved by `undo` at every level, so each level is a plain sum and difference;
        // the finest details are therefore half of those that the lifting step used.
        let c = S::splat(2.0 * LIFT as f32 * 0.5);
        let (a, b) = (S::add(d[0], d[1]), S::sub(d[0], d[1]));
        let (s0, s1) = (S::add(a, d[2]), S::sub(a, d[2]));
        let (s2, s3) = (S::add(b, d[3]), S::sub(b, d[3]));
        let (e0, e1) = (S::sub(d[5], d[7]), S::sub(d[4], d[6]));
        let t0 = S::fnma(e0, c, s0);
        let t1 = S::fma(e1, c, s1);
        let t2 = S::fma(e0, c, s2);
        let t3 = S::fnma(e1, c, s3);
        *d = [
            S::add(t0, d[4]),
            S::sub(t0, d[4]),
            S::add(t1, d[5]),
            S::sub(t1, d[5]),
            S::add(t2, d[6]),
            S::sub(t2, d[6]),
            S::add(t3, d[7]),
            S::sub(t3, d[7]),
        ];
    }

    fn undo() -> [f64; 8] {
        [0.125, 0.125, 0.25, 0.25, 0.5, 0.5, 0.5, 0.5]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::cpu::Level;
    use crate::device::cpu::simd::{Kernel, dispatch};

    struct RoundTrip<T>(std::marker::PhantomData<T>);

    impl<T: Points8> Kernel for RoundTrip<T> {
        /// Coefficients and reconstruction of each unit vector.
        type Output = Vec<([f32; 8], [f32; 8])>;
        fn run<S: Simd>(self) -> Self::Output {
            let undo = T::undo();
            (0..8)
                .map(|i| {
                    let mut d: [S::F32; 8] =
                        std::array::from_fn(|j| S::splat(if i == j { 1.0 } else { 0.0 }));
                    let first = |d: &[S::F32; 8]| -> [f32; 8] { std::array::from_fn(|j| S::sum(d[j]) / 8.0) };
                    T::forward::<S>(&mut d);
                    let c = first(&d);
                    for (v, u) in d.iter_mut().zip(undo) {
                        *v = S::mul(*v, S::splat(u as f32));
                    }
                    T::inverse::<S>(&mut d);
                    (c, first(&d))
                })
                .collect()
        }
    }

    fn check<T: Points8>() {
        let exact = T::TRANSFORM.forward(8);
        let norm2 = Scales::of::<T>().norm2;
        for level in Level::ALL.into_iter().filter(|&l| l <= Level::detect()) {
            for (i, (c, back)) in dispatch(level, RoundTrip::<T>(std::marker::PhantomData)).iter().enumerate()
            {
                for u in 0..8 {
                    let want = exact.at(u, i) * norm2[u].sqrt();
                    assert!((f64::from(c[u]) - want).abs() < 1e-5, "{level:?} {i} {u}: {} {want}", c[u]);
                    assert!((back[u] - if i == u { 1.0 } else { 0.0 }).abs() < 1e-5, "{level:?} {i} {u}");
                }
            }
        }
    }

    #[test]
    fn flow_graphs_are_the_exact_transforms() {
        check::<Dct8>();
        check::<Bior8>();
    }
}
