//! Weights of distances, a vector at a time.

use crate::device::cpu::simd::Simd;
use crate::nlm::{Plan, Weight};

/// A function from sums of squared differences to weights.
pub(super) trait Weigh: Copy {
    fn at<S: Simd>(self, ssd: S::F32) -> S::F32;
}

/// The numbers of a plan that weights depend on.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    slope: f32,
    floor: f32,
}

impl Scale {
    /// `max(slope d - floor, 0)`.
    #[inline(always)]
    fn argument<S: Simd>(self, ssd: S::F32) -> S::F32 {
        S::max(S::fma(S::splat(self.slope), ssd, S::splat(-self.floor)), S::splat(0.0))
    }
}

/// `max(1 - u^2, 0)`.
#[inline(always)]
fn falling<S: Simd>(u: S::F32) -> S::F32 {
    S::max(S::fnma(u, u, S::splat(1.0)), S::splat(0.0))
}

#[inline(always)]
fn square<S: Simd>(v: S::F32) -> S::F32 {
    S::mul(v, v)
}

/// [`Weight::Bisquare`] of distances that nothing is taken off.
#[derive(Clone, Copy)]
pub(super) struct Plain(f32);

impl Weigh for Plain {
    #[inline(always)]
    fn at<S: Simd>(self, ssd: S::F32) -> S::F32 {
        square::<S>(falling::<S>(S::mul(S::splat(self.0), ssd)))
    }
}

/// [`Weight::Bisquare`].
#[derive(Clone, Copy)]
pub(super) struct Bisquare(Scale);

impl Weigh for Bisquare {
    #[inline(always)]
    fn at<S: Simd>(self, ssd: S::F32) -> S::F32 {
        square::<S>(falling::<S>(self.0.argument::<S>(ssd)))
    }
}

/// [`Weight::Bisquare8`].
#[derive(Clone, Copy)]
pub(super) struct Bisquare8(Scale);

impl Weigh for Bisquare8 {
    #[inline(always)]
    fn at<S: Simd>(self, ssd: S::F32) -> S::F32 {
        square::<S>(square::<S>(square::<S>(falling::<S>(self.0.argument::<S>(ssd)))))
    }
}

/// [`Weight::Gauss`].
#[derive(Clone, Copy)]
pub(super) struct Gauss(Scale);

impl Weigh for Gauss {
    #[inline(always)]
    fn at<S: Simd>(self, ssd: S::F32) -> S::F32 {
        let u = self.0.argument::<S>(ssd);
        S::keep(S::gt(S::splat(80.0), u), S::exp_minus(u))
    }
}

/// The function of a plan.
#[derive(Clone, Copy)]
pub(super) enum Weighing {
    Plain(Plain),
    Bisquare(Bisquare),
    Bisquare8(Bisquare8),
    Gauss(Gauss),
}

impl Weighing {
    pub(super) fn new(plan: &Plan) -> Self {
        let scale = Scale { slope: plan.slope, floor: plan.floor };
        match plan.weight {
            Weight::Bisquare if plan.floor == 0.0 => Self::Plain(Plain(plan.slope)),
            Weight::Bisquare => Self::Bisquare(Bisquare(scale)),
            Weight::Bisquare8 => Self::Bisquare8(Bisquare8(scale)),
            Weight::Gauss => Self::Gauss(Gauss(scale)),
        }
    }
}
