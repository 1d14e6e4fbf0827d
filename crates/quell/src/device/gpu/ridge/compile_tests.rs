//! The tensor kernels of the profiles through NVRTC for real architectures, without a GPU: they compile, and keep
//! everything in registers.

use super::tensor::{TensorGroup, TensorMatch};
use crate::device::cuda::{compile_only, usage};
use crate::device::gpu::{GpuError, Limits};
use crate::ridge::{Plan, Profile};

#[test]
fn kernels_compile_and_do_not_spill() {
    // What a work-group may have of local memory differs, and with it the shapes.
    let architectures = [
        ("sm_90", 227, &[Profile::Normal, Profile::High, Profile::Best][..]),
        ("sm_80", 163, &[Profile::Normal, Profile::High]),
        ("sm_100", 227, &[Profile::Normal]),
    ];
    for (arch, kilobytes, profiles) in architectures {
        let limits = Limits::large(kilobytes);
        for profile in profiles {
            let plan = Plan::new(&profile.params(25.0), 640, 480, &[25.0]).unwrap();
            let search = plan.rounds[0].search.as_ref().unwrap();
            let matching = TensorMatch::new(search, plan.size, &limits).expect("a common plan");
            let group = TensorGroup::new(search, &limits).expect("a common plan");
            println!("{profile:?}: {matching:?}, {group:?}");
            for program in [matching.program(), group.program(false), group.program(true)] {
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
                    // The shapes are for sm_90; elsewhere the group kernel is a register or two short.
                    // So it is where it counts frames.
                    let counted = program.defines.contains(&("COUNTED", "1".into()));
                    let allowed = if arch == "sm_90" && !counted { 0 } else { 16 };
                    assert!(kernel.spill_stores <= allowed, "{} spills: {kernel}", program.name);
                }
            }
        }
    }
}
