//! Context ridge on a GPU: BM3D's pilot, then rounds over what stays on the device. All that goes around both, samples and
//! colours, sizes, frames, is the same.

#[cfg(all(test, feature = "cuda"))]
mod compile_tests;
mod kernels;
mod memory;
mod probe;
mod program;
mod rounds;
pub(crate) mod tensor;
#[cfg(all(test, feature = "emulator"))]
mod tensor_tests;
#[cfg(all(test, any(feature = "emulator", feature = "opencl")))]
pub(crate) mod tests;

pub(super) use kernels::{Kernels, KernelsKey};
pub(super) use memory::{Memory, pixel_bytes};
pub(super) use rounds::{Rounds, launches, list_bytes};

use super::Limits;
use super::bm3d::geometry::{Geometry, MARGIN};
use crate::bm3d::{PassPlan, Shrink};
use crate::method::group::Search;
use crate::ridge::Plan;
use crate::{Error, Result, bm3d};

/// The pilot of a plan, or why it is not offered here.
pub(super) fn check(plan: &Plan) -> Result<&bm3d::Plan> {
    let refused =
        |why: &str| Err(Error::Unsupported(format!("context ridge on GPUs {why}: --device cpu or auto")));
    let pilot = &*plan.pilot;
    let fits = |pass: &PassPlan| pass.group <= 32 && pass.group * (pass.patch * pass.patch + 16) <= 8192;
    let regresses = |pass: &PassPlan| matches!(pass.shrink, Shrink::Regress { .. });
    if pilot.passes.iter().any(|pass| regresses(pass) && !fits(pass)) {
        return refused("has BM3D as its pilot, or regressions of 16 patches of up to 13 x 13 pixels");
    }
    if (plan.patch, plan.margin, plan.center) != (4, 1, true) {
        return refused("has patches of 4 x 4 pixels, compared with one more around, without their mean");
    }
    let Some(first) = plan.rounds.first().and_then(|round| round.search.as_ref()) else {
        return refused("groups in its first round");
    };
    let alike = |s: &Search| {
        let of = |s: &Search| (s.patch, s.step, s.radius, s.group);
        of(s) == of(first) && s.prefilter == 0.0
    };
    // A window is a square in a tile of at most 256 x 256 pixels.
    let small = first.radius <= MARGIN / 2 + 8 && first.step <= 8 && first.group <= 128;
    if !small || !plan.rounds.iter().filter_map(|r| r.search.as_ref()).all(alike) {
        return refused("has windows of up to 65 pixels and groups of up to 128, the same in all rounds");
    }
    let g = Geometry::new(pilot, plan.width, plan.height);
    // What the kernels read beyond the border of the picture.
    let reach = first.radius + 2 * first.patch + 8;
    if g.pitch < MARGIN + plan.width + reach || g.rows < MARGIN + plan.height + reach {
        return refused("has no wider windows than its pilot");
    }
    Ok(pilot)
}

/// Whether the rounds have patches as halves.
pub(super) fn in_halves(plan: &Plan, limits: &Limits) -> bool {
    let search = search(plan, 0);
    tensor::precise(plan, search, 1.0) && tensor::TensorGroup::new(search, limits).is_some()
}

/// How patches are grouped in a round.
fn search(plan: &Plan, index: usize) -> &Search {
    let searches = plan.rounds[..=index].iter().rev().find_map(|round| round.search.as_ref());
    searches.unwrap_or_else(|| unreachable!("checked: the first round has one"))
}
