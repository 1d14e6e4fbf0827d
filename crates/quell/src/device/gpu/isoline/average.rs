//! The average of a frame with those around it.

use super::frames::Frames;
use crate::device::gpu::average::{self, Averager};
use crate::device::gpu::clock::Clock;
use crate::device::gpu::growing::Growing;
use crate::device::gpu::library::Loaded;
use crate::device::gpu::{GpuResult, Runtime};

fn averager<'a, R: Runtime>(all: &'a Frames<R>, loaded: &'a Loaded<R>) -> Averager<'a, R> {
    let (averaging, size) = (&all.plan.averaging, (all.plan.width, all.plan.height));
    Averager { runtime: &all.runtime, queue: all.queue(), loaded, averaging, size }
}

/// The kernels of a plan.
fn program<R: Runtime>(all: &Frames<R>) -> GpuResult<std::sync::Arc<Loaded<R>>> {
    let plan = &all.plan;
    all.program(("frames", [0; 4]), || average::program(&plan.averaging, plan.channels(), false))
}

/// What a frame is compared on, behind its planes.
pub(super) fn means<R: Runtime>(all: &Frames<R>, frame: &Growing<R::Buffer>) -> GpuResult<()> {
    averager(all, &*program(all)?).means(frame)
}

/// Averages the frame with the others of its window; `false` if there are none.
pub(super) fn average<R: Runtime>(all: &mut Frames<R>, clock: &mut Clock<R>) -> GpuResult<bool> {
    let at = all.at;
    if all.video.frames.window(at).all(|t| t == at) {
        return Ok(false);
    }
    all.make_average()?;
    let loaded = program(all)?;
    let (all, memory) = (&*all, all.memory());
    let others = all.video.frames.window(at).filter(|&t| t != at).filter_map(|t| all.video.frames.get(t));
    let Some(here) = all.video.frames.get(at) else { return Ok(false) };
    let others: Vec<_> = others.collect();
    averager(all, &loaded).average(here, &others, &memory.motion, &memory.average, clock)?;
    Ok(true)
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;
    use crate::device::SampleFormat;
    use crate::device::cuda::lean;
    use crate::device::gpu::Limits;
    use crate::device::gpu::isoline::program;
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
                average::program(&plan.averaging, channels, false),
                average::program(&plan.averaging, channels, true),
                program::pool(&plan, &pool, pooled, SampleFormat::F32),
                program::restore(&shape, true, true, SampleFormat::U8),
            ];
            lean(&programs, &["sm_80", "sm_90"]);
        }
    }
}
