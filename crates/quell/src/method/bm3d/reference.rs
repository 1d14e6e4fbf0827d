//! BM3D in plain `f64`, to be read beside the paper. Slow; every fast path is tested against it.

use super::{PassPlan, Plan, Shrink, Spectrum, Weight, grid};
pub use crate::method::group::Guide;
use crate::ridge::reference::regress_on_itself;
use crate::transform::{Matrix, Transform};
use crate::{Plane, PlaneView};

/// Both passes: the basic estimate of every channel and, if the plan has a second pass, the final one.
pub struct Estimates {
    /// After pass 1.
    pub basic: Vec<Plane>,
    /// After the last pass.
    pub last: Vec<Plane>,
}

/// Runs the plan.
pub fn run(plan: &Plan, noisy: &[PlaneView<'_>]) -> Estimates {
    run_counted(plan, noisy, None)
}

/// The same for averages of so many frames each pixel ([`Frames::Counted`](crate::method::Frames::Counted)).
pub fn run_counted(plan: &Plan, noisy: &[PlaneView<'_>], counts: Option<&PlaneView<'_>>) -> Estimates {
    let basic = pass_counted(&plan.passes[0], noisy, None, counts);
    let last = match plan.passes.get(1) {
        Some(wiener) => {
            let pilot: Vec<_> = basic.iter().map(Plane::view).collect();
            pass_counted(wiener, noisy, Some(&pilot), counts)
        }
        None => basic.clone(),
    };
    Estimates { basic, last }
}

/// One pass (DAB07 sec. III): grouping, collaborative filtering, aggregation.
pub fn pass(plan: &PassPlan, noisy: &[PlaneView<'_>], basic: Option<&[PlaneView<'_>]>) -> Vec<Plane> {
    pass_counted(plan, noisy, basic, None)
}

/// The same for averages of frames.
pub fn pass_counted(
    plan: &PassPlan,
    noisy: &[PlaneView<'_>],
    basic: Option<&[PlaneView<'_>]>,
    counts: Option<&PlaneView<'_>>,
) -> Vec<Plane> {
    let (w, h, n) = (noisy[0].width(), noisy[0].height(), plan.patch);
    let guide = Guide::new(plan.search(), basic.map_or(&noisy[0], |b| &b[0]));
    let filter = GroupFilter::new(plan);
    let kaiser: Vec<f64> = plan.kaiser.iter().map(|&v| v.into()).collect();
    let mut numerator = vec![vec![0.0; w * h]; noisy.len()];
    let mut denominator = numerator.clone();
    for &y in &grid(h, n, plan.step) {
        for &x in &grid(w, n, plan.step) {
            let matches = match plan.shrink {
                Shrink::Regress { .. } => guide.matches(x, y),
                _ => guide.group(x, y),
            };
            let group: Vec<(usize, usize)> = matches
                .iter()
                .map(|m| (x.wrapping_add_signed(m.dx as isize), y.wrapping_add_signed(m.dy as isize)))
                .collect();
            for c in 0..noisy.len() {
                let stack = extract(&noisy[c], &group, n);
                let pilot = basic.map(|b| extract(&b[c], &group, n));
                let sigma = f64::from(plan.sigma[c]) / count_at(counts, (x, y), n).sqrt();
                let (estimate, weights) = match plan.shrink {
                    Shrink::Regress { alpha } => regress_on_itself(&stack, sigma, alpha.into()),
                    _ => {
                        let (estimate, weight) = filter.apply(&group, stack, pilot, sigma);
                        (estimate, vec![weight; group.len()])
                    }
                };
                for ((patch, &(px, py)), weight) in estimate.iter().zip(&group).zip(weights) {
                    for (i, v) in patch.iter().enumerate() {
                        let k = weight * kaiser[i / n] * kaiser[i % n];
                        let at = (py + i / n) * w + px + i % n;
                        numerator[c][at] += k * v;
                        denominator[c][at] += k;
                    }
                }
            }
        }
    }
    numerator
        .iter()
        .zip(&denominator)
        .map(|(num, den)| {
            let data = num.iter().zip(den).map(|(a, b)| (a / b) as f32).collect();
            Plane::from_vec(w, h, data).unwrap_or_else(|_| unreachable!("same size as the input"))
        })
        .collect()
}

/// Of how many frames the middle of a patch is the average.
pub(in crate::method) fn count_at(
    counts: Option<&PlaneView<'_>>,
    (x, y): (usize, usize),
    patch: usize,
) -> f64 {
    counts.map_or(1.0, |counts| counts.row(y + patch / 2)[x + patch / 2].into())
}

pub(in crate::method) fn extract(plane: &PlaneView<'_>, group: &[(usize, usize)], n: usize) -> Vec<Vec<f64>> {
    group
        .iter()
        .map(|&(x, y)| (0..n * n).map(|i| f64::from(plane.row(y + i / n)[x + i % n])).collect())
        .collect()
}

/// `t` along the columns and the rows of a patch.
pub(in crate::method) fn separable(t: &Matrix, patch: &[f64]) -> Vec<f64> {
    let n = t.size();
    let rows: Vec<Vec<f64>> = patch.chunks(n).map(|row| t.apply(row)).collect();
    let columns: Vec<Vec<f64>> =
        (0..n).map(|c| t.apply(&rows.iter().map(|r| r[c]).collect::<Vec<_>>())).collect();
    (0..n * n).map(|i| columns[i % n][i / n]).collect()
}

/// The collaborative filter (DAB07 eq. 7 to 11).
pub struct GroupFilter {
    shrink: Shrink,
    stack: Transform,
    exact: bool,
    weight: Weight,
    /// Whether coefficient (0, 0) is the mean of the group: it is never shrunk, so that dark and bright pictures
    /// are filtered alike. It still counts in the weight as the paper has it.
    keeps_mean: bool,
    forward: Matrix,
    inverse: Matrix,
    /// `autocorrelation[u][d]` of the atoms, 1 for no shift, for the exact variances.
    autocorrelation: Vec<Vec<f64>>,
    /// Of correlated noise.
    spectrum: Option<Spectrum>,
}

impl GroupFilter {
    /// The filter of one pass.
    pub fn new(plan: &PassPlan) -> Self {
        let n = plan.patch;
        let forward = plan.transform.forward(n);
        let autocorrelation = (0..n)
            .map(|u| {
                let a = forward.row(u);
                let correlation = |d: usize| (d..n).map(|i| a[i] * a[i - d]).sum::<f64>();
                (0..n).map(|d| correlation(d) / correlation(0)).collect()
            })
            .collect();
        Self {
            shrink: plan.shrink,
            stack: plan.stack,
            exact: plan.exact,
            weight: plan.weight,
            keeps_mean: plan.keeps_mean(),
            inverse: plan.transform.inverse(n),
            forward,
            autocorrelation,
            spectrum: plan.spectrum.clone(),
        }
    }

    /// Filters a stack of patches; returns the estimates and the weight of the group.
    pub fn apply(
        &self,
        group: &[(usize, usize)],
        noisy: Vec<Vec<f64>>,
        pilot: Option<Vec<Vec<f64>>>,
        sigma: f64,
    ) -> (Vec<Vec<f64>>, f64) {
        let hm = self.stack.forward(group.len());
        let variance = self.variances(group, &hm, sigma);
        let mut z = self.spectrum(&hm, noisy);
        let mean = self.keeps_mean.then(|| z[0][0]);
        let mut kept = 0.0;
        match (self.shrink, pilot) {
            (Shrink::Wiener { mu2 }, Some(pilot)) => {
                let b = self.spectrum(&hm, pilot);
                for ((z, b), v) in z.iter_mut().zip(&b).zip(&variance) {
                    for ((z, b), v) in z.iter_mut().zip(b).zip(v) {
                        let w = b * b / (b * b + f64::from(mu2) * v);
                        *z *= w;
                        kept += w * w * v;
                    }
                }
            }
            (Shrink::Hard { lambda }, _) => {
                for (z, v) in z.iter_mut().zip(&variance) {
                    for (z, v) in z.iter_mut().zip(v) {
                        if *z * *z > f64::from(lambda).powi(2) * v {
                            kept += v;
                        } else {
                            *z = 0.0;
                        }
                    }
                }
            }
            (Shrink::Wiener { .. }, None) => unreachable!("the Wiener pass always has a pilot"),
            (Shrink::Regress { .. }, _) => unreachable!("has no coefficients"),
        }
        if let Some(mean) = mean {
            z[0][0] = mean;
        }
        // The weight in units of the noise: 1 / Nhar, or 1 / |W|^2; a group with nothing left counts as one
        // coefficient in both passes.
        let kept = (kept / (sigma * sigma)).max(1.0);
        let weight = match self.weight {
            Weight::Variance => 1.0 / kept,
            Weight::Deviation => 1.0 / kept.sqrt(),
        };
        let back = self.stack.inverse(group.len());
        let stack = along(&back, &z).iter().map(|p| separable(&self.inverse, p)).collect();
        (stack, weight)
    }

    fn spectrum(&self, hm: &Matrix, stack: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        along(hm, &stack.iter().map(|p| separable(&self.forward, p)).collect::<Vec<_>>())
    }

    /// Noise variance of every coefficient: `diag(H G H^T)` with `G` the correlation of the atoms at the
    /// patches' displacements (Makinen et al. 2020), which the spectrum has where the noise is correlated; that of a
    /// patch on its own when not exact.
    fn variances(&self, group: &[(usize, usize)], hm: &Matrix, sigma: f64) -> Vec<Vec<f64>> {
        let (n, m) = (self.forward.size(), group.len());
        let r = |u: usize, d: usize| self.autocorrelation[u].get(d).copied().unwrap_or(0.0);
        let covariance = |i: usize, a: usize, b: usize| match &self.spectrum {
            _ if a != b && !self.exact => 0.0,
            Some(spectrum) => {
                let apart = |a: usize, b: usize| a as isize - b as isize;
                let at = spectrum.at(apart(group[a].1, group[b].1), apart(group[a].0, group[b].0));
                at.map_or(0.0, |r| r[i].into())
            }
            None => r(i / n, group[a].1.abs_diff(group[b].1)) * r(i % n, group[a].0.abs_diff(group[b].0)),
        };
        let mut out = vec![vec![sigma * sigma; n * n]; m];
        if !self.exact && self.spectrum.is_none() {
            return out;
        }
        for i in 0..n * n {
            let g = Matrix::from_fn(m, |a, b| covariance(i, a, b));
            for (k, out) in out.iter_mut().enumerate() {
                let h = hm.row(k);
                let v: f64 = h.iter().zip(g.apply(h)).map(|(a, b)| a * b).sum();
                // A combination that cancels exactly has no variance; keep clear of 0 / 0.
                out[i] = sigma * sigma * v.max(1e-6);
            }
        }
        out
    }
}

/// `m` across the patches of a stack.
fn along(m: &Matrix, stack: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..stack.len())
        .map(|k| {
            let mut out = vec![0.0; stack[0].len()];
            for (a, patch) in m.row(k).iter().zip(stack) {
                out.iter_mut().zip(patch).for_each(|(o, p)| *o += a * p);
            }
            out
        })
        .collect()
}
