//! From a plan to programs: constants that are baked into the kernels, and how these are spread over work-items.

use crate::device::gpu::bm3d::program::{LOCAL_BYTES, program};
use crate::device::gpu::{Limits, Program};
use crate::method::group::Search;

const PLANES: &str = include_str!("../../../../kernels/ridge/planes.cl");
const GROUP: &str = include_str!("../../../../kernels/ridge/group.cl");

/// The matching plane, the residue, and the end of a round.
pub(super) fn planes() -> Program {
    program("ridge-planes", &[PLANES], &["ridge_guide", "ridge_residue", "ridge_finish"])
}

/// How the general kernel takes groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupShape {
    /// References of a work-group, columns and rows.
    pub(super) block: [usize; 2],
    /// Groups at a time, 16 work-items each.
    pub(super) teams: usize,
}

impl GroupShape {
    /// The first that fits into the local memory. Blocks overlap, so that larger ones do less; but the largest leave room
    /// for few work-groups at a time.
    pub(super) fn new(search: &Search, limits: &Limits) -> Option<Self> {
        let room = limits.local_bytes.min(LOCAL_BYTES);
        [([8, 4], 8), ([8, 4], 4), ([4, 4], 4), ([4, 2], 2), ([1, 1], 1)]
            .map(|(block, teams)| Self { block, teams })
            .into_iter()
            .find(|shape| shape.local_bytes(search) <= room)
    }

    /// Local memory of a work-group, as the kernel declares it.
    fn local_bytes(&self, search: &Search) -> usize {
        let side = |references: usize| (references - 1) * search.step + 2 * search.radius + 4;
        let tile = side(self.block[1]) * (side(self.block[0]) | 1);
        let team = 2 * (16 * 20 + 16) + 32 + 1;
        4 * (tile + self.teams * team) + self.teams * 2 * search.group.next_multiple_of(16) + 64
    }

    pub(super) fn items(&self) -> usize {
        16 * self.teams
    }
}

/// The regression of groups; `counted`, of averages of frames.
pub(super) fn group(search: &Search, shape: GroupShape, counted: bool) -> Program {
    let mut p = program("ridge-group", &[GROUP], &["ridge_group"]);
    p.define("STEP", search.step);
    p.define("RADIUS", search.radius);
    p.define("GROUP", search.group);
    p.define("BLOCK_X", shape.block[0]);
    p.define("BLOCK_Y", shape.block[1]);
    p.define("TEAMS", shape.teams);
    p.define("COUNTED", u8::from(counted));
    p
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;
    use crate::device::cuda::{compile_only, usage};
    use crate::device::gpu::GpuError;
    use crate::device::gpu::bm3d::program::{Cut, MatchShape, matching};
    use crate::ridge::{Plan, Profile};

    #[test]
    fn general_kernels_compile_for_cuda_and_stay_in_registers() {
        let limits = Limits { tensor: false, ..Limits::large(48) };
        let mut programs = vec![planes()];
        for profile in [Profile::Fast, Profile::High, Profile::Best] {
            let plan = Plan::new(&profile.params(25.0), 64, 64, &[25.0]).unwrap();
            let search = plan.rounds[0].search.as_ref().unwrap();
            for counted in [false, true] {
                programs.push(group(search, GroupShape::new(search, &limits).unwrap(), counted));
            }
            let shape = MatchShape::new(search, &limits, false).unwrap();
            programs.push(matching(search, shape, false, Cut::Size(plan.size)));
        }
        for program in programs {
            for arch in ["sm_80", "sm_90"] {
                let log = match compile_only(&program, arch) {
                    Ok((_, log)) => log,
                    Err(e @ GpuError::Compile { .. }) => panic!("{e}"),
                    Err(e) => return println!("skipped: {e}"),
                };
                for kernel in usage(&log) {
                    println!("{kernel}");
                    // Three work-groups of 128 work-items share the 65536 registers of a multiprocessor.
                    let fits = kernel.stack <= 16 && kernel.spill_stores <= 16 && kernel.registers <= 170;
                    assert!(fits && kernel.shared <= 48 * 1024, "{kernel} with {:?}", program.defines);
                }
            }
        }
    }
}
