//! Weights of distances, a vector at a time.

use super::grid::V;
use crate::device::cpu::simd::{Simd, Wide};
use crate::nlm::{Plan, Weight};

/// A function from sums of squared differences to weights.
pub(super) trait Weigh: Copy {
    fn at<S: Simd>(self, ssd: V<S>) -> V<S>;
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
    fn argument<S: Simd>(self, ssd: V<S>) -> V<S> {
        V::<S>::max(
            V::<S>::fma(V::<S>::splat(self.slope), ssd, V::<S>::splat(-self.floor)),
            V::<S>::splat(0.0),
        )
    }
}

/// `max(1 - u^2, 0)`.
#[inline(always)]
fn falling<S: Simd>(u: V<S>) -> V<S> {
    V::<S>::max(V::<S>::fnma(u, u, V::<S>::splat(1.0)), V::<S>::splat(0.0))
}

#[inline(always)]
fn square<S: Simd>(v: V<S>) -> V<S> {
    V::<S>::mul(v, v)
}

/// [`Weight::Bisquare`] of distances that nothing is taken off.
#[derive(Clone, Copy)]
pub(super) struct Plain(f32);

impl Weigh for Plain {
    #[inline(always)]
    fn at<S: Simd>(self, ssd: V<S>) -> V<S> {
        square::<S>(falling::<S>(V::<S>::mul(V::<S>::splat(self.0), ssd)))
    }
}

/// [`Weight::Bisquare`].
#[derive(Clone, Copy)]
pub(super) struct Bisquare(Scale);

impl Weigh for Bisquare {
    #[inline(always)]
    fn at<S: Simd>(self, ssd: V<S>) -> V<S> {
        square::<S>(falling::<S>(self.0.argument::<S>(ssd)))
    }
}

/// [`Weight::Bisquare8`].
#[derive(Clone, Copy)]
pub(super) struct Bisquare8(Scale);

impl Weigh for Bisquare8 {
    #[inline(always)]
    fn at<S: Simd>(self, ssd: V<S>) -> V<S> {
        square::<S>(square::<S>(square::<S>(falling::<S>(self.0.argument::<S>(ssd)))))
    }
}

/// [`Weight::Gauss`].
#[derive(Clone, Copy)]
pub(super) struct Gauss(Scale);

impl Weigh for Gauss {
    #[inline(always)]
    fn at<S: Simd>(self, ssd: V<S>) -> V<S> {
        let u = self.0.argument::<S>(ssd);
        V::<S>::exp_minus(u).keep_below(V::<S>::splat(80.0), u)
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
