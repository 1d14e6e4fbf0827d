//! The average of a frame with those around it.

use super::frames::Frames;
use super::program::{self, FRAME_ITEMS, FRAME_TILE};
use crate::device::gpu::clock::Clock;
use crate::device::gpu::{Arg, GpuResult, Runtime, buffer, int};
use crate::isoline::Averaging;

/// Means of luma, behind the planes of a frame.
pub(super) fn means<R: Runtime>(all: &Frames<R>, frame: Arg<'_, R>) -> GpuResult<()> {
    let loaded = all.program(("frames", [0; 4]), || program::frames(&all.plan))?;
    let args = [frame, int(all.plan.width), int(all.plan.height)];
    all.launch(&loaded, "isoline_means", FRAME_TILE, 1, FRAME_ITEMS, &args)
}

/// Averages the frame with the others of its window; `false` if there are none.
pub(super) fn average<R: Runtime>(all: &mut Frames<R>, clock: &mut Clock<R>) -> GpuResult<bool> {
    let (at, width, height) = (all.at, all.plan.width, all.plan.height);
    let others: Vec<usize> = all.frames.window(at).filter(|&t| t != at).collect();
    if others.is_empty() {
        return Ok(false);
    }
    let side = Averaging::BLOCK;
    all.make_average(width.div_ceil(side) * height.div_ceil(side))?;
    let loaded = all.program(("frames", [0; 4]), || program::frames(&all.plan))?;
    let (averaging, memory) = (&all.plan.averaging, all.memory());
    for (i, &other) in others.iter().enumerate() {
        let size = || [int(width), int(height)];
        let mut args = vec![all.frame_at(at)?, all.frame_at(other)?, buffer(&memory.motion)?];
        args.extend(size());
        args.extend([Arg::I32(averaging.step_cost), Arg::F32(averaging.quanta)]);
        all.launch(&loaded, "isoline_motion", (side, side), 1, FRAME_ITEMS, &args)?;
        clock.lap(&*all.runtime, all.queue(), "motion")?;
        let mut args = vec![all.frame_at(at)?, all.frame_at(other)?, buffer(&memory.motion)?];
        args.push(buffer(&memory.average)?);
        args.extend(size());
        args.extend([Arg::I32((i == 0).into()), Arg::I32((i + 1 == others.len()).into())]);
        args.extend([averaging.noise, averaging.slope].map(Arg::F32));
        all.launch(&loaded, "isoline_average", FRAME_TILE, 1, FRAME_ITEMS, &args)?;
        clock.lap(&*all.runtime, all.queue(), "average")?;
    }
    Ok(true)
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;
    use crate::device::SampleFormat;
    use crate::device::cuda::lean;
    use crate::device::gpu::Limits;
    use crate::device::gpu::isoline::shape::{BoxShape, PoolShape};
    use crate::isoline::{Params, Plan, Variant};

    #[test]
    fn kernels_compile_and_do_not_spill() {
        let limits = Limits::large(227);
        for (channels, motion) in [(1, 16), (3, 32), (1, 0)] {
            let params = Params { past: 1, motion, ..Params::of(Variant::TwoRound, 25.0, channels) };
            let plan = Plan::new(&params, (640, 480), 255.0, &vec![25.0; channels]).unwrap();
            let pool = PoolShape::new(&plan, true, &limits);
            let pooled = program::Pooled { guided: true, counted: true, fresh: None };
            let shape = BoxShape::restoring(plan.restore.square);
            let programs = [
                program::frames(&plan),
                program::pool(&plan, &pool, pooled, SampleFormat::F32),
                program::restore(&shape, true, true, SampleFormat::U8),
            ];
            lean(&programs, &["sm_80", "sm_90"]);
        }
    }
}
