//! The classic filters on the processor: bands of rows on every thread, in plain loops that compilers make vectors of.
//!
//! Nothing is fused and no sum depends on the lanes, so that results have the same bits at every level and on any
//! number of threads.
//!
//! - `bands`: rows to threads, progress out, cancellation in
//! - `gauss`, `bilateral`, `tv`, `wiener`: one file per filter
//! - `cosine`: the transform of the Wiener filter

mod bands;
mod bilateral;
mod cosine;
mod gauss;
#[cfg(test)]
mod tests;
mod tv;
mod wiener;

use super::Cpu;
use crate::method::classic::{Filter, Plan};
use crate::{Control, Error, Plane, PlaneView, Result, memory};

/// Most planes that the bilateral filter compares together.
const MOST: usize = 4;

/// Filters the planes of a picture.
pub(super) fn run(cpu: &Cpu, plan: &Plan, planes: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>> {
    let (width, height, channels) = (plan.width, plan.height, plan.channels());
    let fits = |p: &PlaneView<'_>| (p.width(), p.height()) == (width, height);
    if planes.len() != channels || !planes.iter().all(fits) {
        return Err(Error::Shape("planes do not fit the plan".into()));
    }
    if !(1..=MOST).contains(&channels) {
        return Err(Error::Shape(format!("{channels} planes: 1 to {MOST} can be filtered together")));
    }
    memory::check_planes(channels + working(plan), width, height)?;
    control.check()?;
    cpu.pool.install(|| match &plan.filter {
        Filter::Bilateral { g, scale } => bilateral::run(cpu.level, g, scale, planes, control),
        filter => {
            let each = |(c, plane): (usize, &PlaneView<'_>)| {
                let control = control.section(c, channels);
                match filter {
                    Filter::Tv { lambda, iterations } => {
                        tv::run(cpu.level, lambda[c], *iterations, plane, &control)
                    }
                    Filter::Wiener { g } => wiener::run(cpu.level, g, plan.sigma[c], plane, &control),
                    Filter::Gauss { g } | Filter::Bilateral { g, .. } => {
                        gauss::run(cpu.level, g, plane, &control)
                    }
                }
            };
            planes.iter().enumerate().map(each).collect()
        }
    })
}

/// Planes that are needed besides those of the result.
fn working(plan: &Plan) -> usize {
    match &plan.filter {
        Filter::Gauss { .. } => 0,
        // Copies with margins, which may be larger than the picture.
        Filter::Bilateral { g, .. } => {
            let pixels = bilateral::padded(plan.width, plan.height, g.len() - 1);
            plan.channels() * pixels.div_ceil((plan.width * plan.height).max(1))
        }
        Filter::Tv { .. } | Filter::Wiener { .. } => 2,
    }
}
