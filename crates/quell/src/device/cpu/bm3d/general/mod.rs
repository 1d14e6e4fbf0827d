//! Collaborative filtering of any patch size with any transforms: what [`filter8`](super::filter8) does not serve.
//!
//! The plan of work is that of the fast filter. The horizontal transform of every row segment is computed once
//! per pixel; a patch then costs one vertical transform, filtered patches are added up in the same
//! half-transformed domain, and the horizontal inverse runs once per pixel at the end. Transforms are matrix
//! products, but for Haar and Walsh-Hadamard across the group.
//!
//! Everything is plain loops over rows of `P` floats, the patch side rounded up to 8 or 16, which the compiler
//! turns into vectors at every level. Nothing is fused, so all levels give the same bits. The lanes beyond the
//! patch are zero in every matrix and so in every coefficient.

mod patch;
mod stack;

use super::filter8::{FilterUnit, part_of_noise};
use super::group8::MAX;
use crate::bm3d::Shrink;
use crate::device::cpu::group::matching::Window;
use crate::device::cpu::simd::{Kernel, Simd};
use patch::{Layout, PatchTransform, convolve};
use stack::{Correlation, StackTransform, correlated, single};

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    /// Half-transformed region of the noisy picture, of the pilot and of the result.
    noisy: Vec<f32>,
    basic: Vec<f32>,
    sums: Vec<f32>,
    /// Sum of the weights of the patches at every pixel.
    weights: Vec<f32>,
    line: Vec<f32>,
    /// Coefficients of the current group.
    stack: Vec<f32>,
    pilot: Vec<f32>,
    /// Variances of its coefficients, in units of the noise variance: of all patches or, when not exact, of one.
    relative: Vec<f32>,
    pairs: Vec<f32>,
    across: StackTransform,
}

/// [`FilterUnit`] for any patch and any transforms; the job's own scratch stays untouched.
pub(super) struct FilterAny<'a> {
    pub(super) job: FilterUnit<'a>,
    pub(super) scratch: &'a mut Scratch,
}

impl Kernel for FilterAny<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        match self.job.pass.patch {
            ..=8 => run::<8>(self),
            _ => run::<16>(self),
        }
    }
}

#[inline(always)]
fn run<const P: usize>(FilterAny { job, scratch }: FilterAny<'_>) {
    let FilterUnit { pass, unit, groups, noisy, basic, sigma, counts, scratch: _, numerator, denominator } =
        job;
    let (n, region) = (pass.patch, &unit.region);
    let layout = Layout::new(region, n);
    let transform = PatchTransform::<P>::new(pass);
    let Scratch { noisy: z, basic: b, sums, weights, line, stack, pilot, relative, pairs, across } = scratch;
    let z = transform.region(&noisy, region, layout, z);
    let b = basic.map(
        #[inline(always)]
        |basic| transform.region(&basic, region, layout, b),
    );
    let sums = filled::<P>(sums, layout.cells(), 0.0);
    weights.clear();
    weights.resize(layout.width * layout.height, 0.0);
    let stack = filled::<P>(stack, pass.group * n, 0.0);
    let pilot = filled::<P>(pilot, pass.group * n, 0.0);
    across.prepare(pass.stack, pass.group);
    let correlation = pass.exact.then(|| Correlation::<P>::new(&pass.transform.forward(n)));
    let relative = filled::<P>(relative, if pass.exact { pass.group * n } else { n }, 1.0);
    if let (false, Some(spectrum)) = (pass.exact, &pass.spectrum) {
        single(spectrum, n, relative);
    }
    let window = Window { radius: pass.radius };
    let mut at = [(0, 0); MAX];
    let references = unit.ys.iter().flat_map(|&y| unit.xs.iter().map(move |&x| (x, y)));
    for (i, (x, y)) in references.enumerate() {
        let group = groups.group(i);
        let m = group.len();
        for (at, &key) in at.iter_mut().zip(group) {
            let (dy, dx) = window.displacement(key);
            *at = (
                (x - region.x.start).wrapping_add_signed(dx as isize),
                (y - region.y.start).wrapping_add_signed(dy as isize),
            );
        }
        let (at, stack) = (&at[..m], &mut stack[..m * n]);
        match (&correlation, &pass.spectrum) {
            (Some(_), Some(spectrum)) => correlated(spectrum, n, at, across.columns(m), relative),
            (Some(correlation), None) => correlation.variances(at, across.columns(m), pairs, relative),
            (None, _) => {}
        }
        transform.load(z, layout, at, stack);
        across.forward(stack, m);
        let mean = stack[0][0];
        let part = part_of_noise(counts, (x, y), n);
        let kept = match (pass.shrink, b) {
            (Shrink::Hard { lambda }, _) => hard(stack, relative, n, (lambda * sigma).powi(2) * part),
            (Shrink::Wiener { mu2 }, Some(b)) => {
                let pilot = &mut pilot[..m * n];
                transform.load(b, layout, at, pilot);
                across.forward(pilot, m);
                wiener(stack, pilot, relative, n, mu2 * sigma * sigma * part)
            }
            (Shrink::Wiener { .. }, None) => unreachable!("the Wiener pass always has a pilot"),
            (Shrink::Regress { .. }, _) => unreachable!("has no coefficients"),
        };
        if pass.keeps_mean() {
            stack[0][0] = mean;
        }
        // Groups with nothing left count as one coefficient.
        let weight = pass.weight.of(kept.max(1.0));
        across.inverse(stack, m);
        transform.add(stack, weight, layout, at, sums);
        for (x, y) in at {
            weights[y * layout.width + x] += weight;
        }
    }
    transform.back(sums, layout, line, numerator);
    convolve(weights, layout, &pass.kaiser, line, denominator);
}

/// The buffer as `rows` rows, every float set to `value`.
fn filled<const P: usize>(buffer: &mut Vec<f32>, rows: usize, value: f32) -> &mut [[f32; P]] {
    buffer.clear();
    buffer.resize(rows * P, value);
    buffer.as_chunks_mut().0
}

/// Hard threshold; returns the variance kept, in units of the noise variance. `strength` is the squared
/// threshold of a coefficient of variance 1.
#[inline(always)]
fn hard<const P: usize>(stack: &mut [[f32; P]], relative: &[[f32; P]], n: usize, strength: f32) -> f32 {
    let mut kept = [0.0; P];
    for (z, v) in stack.chunks_exact_mut(n).zip(relative.chunks_exact(n).cycle()) {
        for (z, v) in z.iter_mut().zip(v) {
            for l in 0..P {
                let keep = z[l] * z[l] > strength * v[l];
                z[l] = if keep { z[l] } else { 0.0 };
                kept[l] += if keep { v[l] } else { 0.0 };
            }
        }
    }
    kept.iter().sum()
}

/// Wiener filter; returns the variance kept, in units of the noise variance. `strength` is the noise variance
/// that the filter assumes.
#[inline(always)]
fn wiener<const P: usize>(
    stack: &mut [[f32; P]],
    pilot: &[[f32; P]],
    relative: &[[f32; P]],
    n: usize,
    strength: f32,
) -> f32 {
    let mut kept = [0.0; P];
    let patches = stack.chunks_exact_mut(n).zip(pilot.chunks_exact(n)).zip(relative.chunks_exact(n).cycle());
    for ((z, b), v) in patches {
        for ((z, b), v) in z.iter_mut().zip(b).zip(v) {
            for l in 0..P {
                let energy = b[l] * b[l];
                // With a strength of 0 the lanes beyond the patch are 0 / 0.
                let w = energy / (energy + strength * v[l]).max(f32::MIN_POSITIVE);
                z[l] *= w;
                kept[l] += w * w * v[l];
            }
        }
    }
    kept.iter().sum()
}

#[cfg(test)]
mod tests {
    use crate::bm3d::{Params, Plan, Profile};
    use crate::device::cpu::{Cpu, Level};
    use crate::device::{DeviceOptions, picture};
    use crate::transform::Transform;
    use crate::{Control, Plane};

    /// The result at every level, with patches of 5 and 11 pixels and a given transform across the groups.
    fn results(stack: Transform, change: impl Fn(&mut Params)) -> Vec<Plane> {
        let (w, h) = (47, 38);
        let noise = |i: usize| (i.wrapping_mul(2_654_435_761) >> 7 & 63) as f32;
        let data = (0..w * h).map(|i| (i % w * 3) as f32 + noise(i)).collect();
        let plane = Plane::from_vec(w, h, data).unwrap();
        let mut params = Profile::Vn.params(20.0);
        (params.hard.patch, params.hard.transform, params.hard.window) = (5, Transform::Dct, 15);
        for pass in [&mut params.hard, &mut params.wiener] {
            (pass.stack, pass.exact) = (stack, true);
        }
        change(&mut params);
        let plan = Plan::new(&params, w, h, &[20.0]).unwrap();
        let run = |level| {
            let cpu = Cpu::new(DeviceOptions { threads: 1, tile: 0, level: Some(level) }).unwrap();
            picture(&cpu, &plan.clone().into(), &[plane.view()], &[], &Control::new()).unwrap().remove(0)
        };
        Level::ALL.into_iter().filter(|&l| l <= Level::detect()).map(run).collect()
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        for stack in Transform::ALL {
            let all = results(stack, |_| ());
            assert!(all.iter().all(|plane| plane == &all[0]), "{stack:?}");
        }
    }

    #[test]
    fn a_wiener_filter_that_assumes_no_noise_stays_finite() {
        for plane in results(Transform::Wht, |p| p.mu2 = 0.0) {
            assert!(plane.as_slice().iter().all(|v| v.is_finite()));
        }
    }
}
