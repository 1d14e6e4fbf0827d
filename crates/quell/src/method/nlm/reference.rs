//! NL-means in plain `f64`, to be read beside the paper. Slow; every fast path is tested against it.

use super::{Center, Plan, fold};
use crate::{Plane, PlaneView};

/// One frame: the planes that are averaged, and those that distances are computed on (none: the same).
#[derive(Clone, Copy)]
pub struct Views<'a> {
    /// Averaged.
    pub planes: &'a [PlaneView<'a>],
    /// Compared.
    pub guide: &'a [PlaneView<'a>],
}

impl Views<'_> {
    /// What is compared.
    fn compared(&self) -> &[PlaneView<'_>] {
        if self.guide.is_empty() { self.planes } else { self.guide }
    }
}

/// Filters frame `at` of a sequence.
pub fn run(plan: &Plan, frames: &[Views<'_>], at: usize) -> Vec<Plane> {
    let (w, h) = (plan.width as isize, plan.height as isize);
    let b = plan.patch_radius as isize;
    let mut out = vec![Plane::zeros(plan.width, plan.height); plan.channels];
    for y in 0..h {
        for x in 0..w {
            // The patches that make an estimate of this pixel: its own, or all that cover it.
            let around = if plan.patchwise { -b..=b } else { 0..=0 };
            let centers = around.clone().flat_map(|v| around.clone().map(move |u| (x + u, y + v)));
            let estimates: Vec<Vec<f64>> = centers.map(|c| estimate(plan, frames, at, c, (x, y))).collect();
            for (channel, plane) in out.iter_mut().enumerate() {
                let sum: f64 = estimates.iter().map(|e| e[channel]).sum();
                plane.row_mut(y as usize)[x as usize] = (sum / estimates.len() as f64) as f32;
            }
        }
    }
    out
}

/// The estimate of pixel `x` that the patch centred at `c` makes (Goossens et al. eq. 2; IPOL 2011 sec. 3).
fn estimate(plan: &Plan, frames: &[Views<'_>], at: usize, c: (isize, isize), x: (isize, isize)) -> Vec<f64> {
    let a = plan.search_radius as isize;
    let times = at.saturating_sub(plan.past)..(at + plan.future + 1).min(frames.len());
    let mut sums = vec![0.0; plan.channels];
    let (mut total, mut best) = (0.0, 0.0_f64);
    let add = |sums: &mut [f64], t: usize, q: (isize, isize), weight: f64| {
        for (sum, plane) in sums.iter_mut().zip(frames[t].planes) {
            *sum += weight * sample(plane, x.0 + q.0, x.1 + q.1);
        }
    };
    for t in times {
        for q in (-a..=a).flat_map(|dy| (-a..=a).map(move |dx| (dx, dy))) {
            if (t, q) == (at, (0, 0)) {
                continue;
            }
            let weight = plan.weight_of(distance(plan, &frames[at], &frames[t], c, q));
            add(&mut sums, t, q, weight);
            total += weight;
            best = best.max(weight);
        }
    }
    let own = match plan.center {
        Center::Max => best.max(Center::LEAST.into()),
        Center::One => 1.0,
    };
    add(&mut sums, at, (0, 0), own);
    sums.iter().map(|s| s / (total + own)).collect()
}

/// Sum of squared differences of the patches at `c` and `c + q` (Goossens et al. eq. 4, without its normalisation).
fn distance(plan: &Plan, here: &Views<'_>, there: &Views<'_>, c: (isize, isize), q: (isize, isize)) -> f64 {
    let b = plan.patch_radius as isize;
    let mut sum = 0.0;
    for (here, there) in here.compared().iter().zip(there.compared()) {
        for (dx, dy) in (-b..=b).flat_map(|dy| (-b..=b).map(move |dx| (dx, dy))) {
            let (x, y) = (c.0 + dx, c.1 + dy);
            sum += (sample(there, x + q.0, y + q.1) - sample(here, x, y)).powi(2);
        }
    }
    sum
}

fn sample(plane: &PlaneView<'_>, x: isize, y: isize) -> f64 {
    plane.row(fold(y, plane.height()))[fold(x, plane.width())].into()
}
