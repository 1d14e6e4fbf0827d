//! The kernels of common plans through NVRTC for real architectures, without a GPU: they compile, fit, and keep everything
//! in registers.

use super::program::{self, Pooled};
use super::shape::{BoxShape, PoolShape};
use crate::device::SampleFormat::{F32, U8};
use crate::device::cuda::lean;
use crate::device::gpu::{Limits, Program};
use crate::isoline::{Params, Plan, Profile};

fn limits() -> Limits {
    Limits::large(227)
}

/// The kernels of both rounds.
fn programs(plan: &Plan) -> Vec<Program> {
    let pool = |guided: bool| {
        let shape = PoolShape::new(plan, guided, &limits());
        let what = Pooled { guided, counted: false, fresh: (!guided).then_some(U8) };
        program::pool(plan, &shape, what, F32)
    };
    let choose = |second: bool| {
        let square = if second { plan.pilot_restore.square } else { plan.restore.square };
        let shape = BoxShape::choosing(plan, square, second, &limits()).unwrap();
        [
            program::choose(plan, &shape, second),
            program::restore(&BoxShape::restoring(square), second, false, if second { U8 } else { F32 }),
        ]
    };
    [pool(false), pool(true), program::blur()].into_iter().chain([false, true].map(choose).concat()).collect()
}

#[test]
fn kernels_compile_and_do_not_spill() {
    for params in [Profile::Normal.params(25.0, 1), Profile::Fast.params(60.0, 1)] {
        let plan = Plan::new(&params, (640, 480), 255.0, &[25.0]).unwrap();
        lean(&programs(&plan), &["sm_90"]);
    }
}

#[test]
fn there_is_a_shape_for_every_plan_of_one_plane() {
    for (window, cell) in [(1, 1), (31, 1), (32, 8), (12, 4), (4, 2)] {
        for (length, directions) in [(1, 8), (3, 32), (10, 32)] {
            let base = Profile::Normal.params(25.0, 1);
            let params = Params { window, cell, length, max_length: length + 1, directions, ..base };
            let plan = Plan::new(&params, (640, 480), 255.0, &[25.0]).unwrap();
            for second in [false, true] {
                let shape = BoxShape::choosing(&plan, plan.restore.square, second, &limits());
                assert!(shape.is_some(), "{params:?}");
            }
        }
    }
}
