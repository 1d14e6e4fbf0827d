//! Shapes for every plan, and the kernels of common plans through NVRTC for real architectures, without a GPU: they
//! compile, fit, and keep everything in registers.

use super::program;
use super::setup::{Average, Setup};
use crate::device::SampleFormat::{self, F32, U8};
use crate::device::cuda::lean;
use crate::device::gpu::{Limits, Program};
use crate::nlm::{Center, Params, Plan, Profile, Weight};

fn plan(params: &Params, channels: usize, guides: usize) -> Plan {
    Plan::new(params, (640, 480), channels, guides, 255.0, 25.0).unwrap()
}

fn programs(plan: &Plan, format: SampleFormat, limits: &Limits) -> Vec<Program> {
    let setup = Setup::new(plan, format, limits).unwrap();
    let to = setup.patches.is_none().then_some(format);
    let average = match &setup.average {
        Average::Bytes(shape) => program::bytes(plan, shape, to),
        Average::General(shape) => program::general(plan, shape, to),
    };
    let patches = setup.patches.map(|(shape, _)| program::patches(plan, &shape, format));
    [average].into_iter().chain(patches).collect()
}

#[test]
fn there_is_a_shape_for_every_plan() {
    let base = Profile::Fast.params(25.0, 1);
    for kilobytes in [32, 48, 227] {
        for patch in (1..=21).step_by(2) {
            for (search, patchwise) in [(1, false), (21, false), (101, false), (1, true), (101, true)] {
                for (channels, guides) in [(1, 0), (2, 0), (3, 0), (3, 1), (1, 3), (3, 3)] {
                    let params = Params { patch, search, patchwise, ..base.clone() };
                    let plan = plan(&params, channels, guides);
                    for format in [U8, F32] {
                        let setup = Setup::new(&plan, format, &Limits::large(kilobytes));
                        assert!(setup.is_ok(), "{plan:?} in {kilobytes} KB: {:?}", setup.err());
                    }
                }
            }
        }
    }
}

#[test]
fn bytes_have_their_own_kernel() {
    let plan = plan(&Profile::Fast.params(25.0, 1), 1, 0);
    let average = |format| Setup::new(&plan, format, &Limits::large(227)).unwrap().average;
    assert!(matches!(average(U8), Average::Bytes(_)));
    assert!(matches!(average(F32), Average::General(_)));
}

#[test]
fn kernels_compile_and_do_not_spill() {
    let with = |patch, search| Params { patch, search, ..Profile::Fast.params(25.0, 1) };
    let gauss = Params { weight: Weight::Gauss, ..with(21, 101) };
    let one = Params { center: Center::One, ..with(9, 5) };
    let cases = [
        (with(7, 21), 1, 0, U8),
        (with(9, 5), 1, 0, U8),
        (with(11, 101), 1, 0, U8),
        (with(7, 21), 1, 0, F32),
        (one, 3, 0, U8),
        (with(9, 21), 3, 0, U8),
        (with(9, 5), 2, 3, F32),
        (gauss.clone(), 3, 0, F32),
        (Profile::Normal.params(25.0, 1), 1, 0, U8),
        (Profile::Ipol.params(25.0, 3), 3, 0, F32),
        (Params { patchwise: true, ..gauss }, 3, 3, F32),
    ];
    for (params, channels, guides, format) in cases {
        let plan = plan(&params, channels, guides);
        lean(&programs(&plan, format, &Limits::large(227)), &["sm_80", "sm_90"]);
    }
}
