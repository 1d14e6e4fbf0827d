//! quell's own filters: pooling, the choice of lines, what is put back; once or twice.

use super::frames::Frames;
use super::program::{self, BLUR_ITEMS, BLUR_TILE, Pooled};
use super::shape::{BoxShape, PoolShape};
use crate::Error;
use crate::device::SampleFormat;
use crate::device::gpu::clock::Clock;
use crate::device::gpu::transfer::most;
use crate::device::gpu::{Arg, GpuResult, Runtime, Stop, buffer, int};
use crate::isoline::{Restoring, Variant};

/// Where the stages leave their planes.
const POOLED: usize = 0;
const FIRST: usize = 1;
const SMOOTH: usize = 2;
const CHOSEN: usize = 3;

/// Filters the frame into the buffer of the result, as samples of this type.
pub(super) fn filter<R: Runtime>(
    all: &mut Frames<R>,
    to: SampleFormat,
    clock: &mut Clock<R>,
) -> Result<(), Stop> {
    let planes = all.plan.channels();
    let twice = all.plan.variant == Variant::TwoRound;
    all.make_room(match all.plan.variant {
        Variant::Pooled => [0; 4],
        Variant::Line => [planes, 0, 0, 2 * planes],
        _ => [planes, planes, planes, 3 * planes],
    })?;
    let mut round = Round { all, to, clock };
    if round.all.plan.variant == Variant::Pooled {
        return Ok(round.pool(None, To::Result)?);
    }
    round.pool(None, To::Stage(POOLED))?;
    round.choose(false)?;
    round.restore(false, if twice { To::Stage(FIRST) } else { To::Result })?;
    if twice {
        round.pool(Some(FIRST), To::Stage(POOLED))?;
        round.blur()?;
        round.choose(true)?;
        round.restore(true, To::Result)?;
    }
    Ok(())
}

/// Where planes go.
#[derive(Clone, Copy)]
enum To {
    /// A stage, as floats.
    Stage(usize),
    /// The result, as samples.
    Result,
}

/// One picture on its way.
struct Round<'a, R: Runtime> {
    all: &'a Frames<R>,
    to: SampleFormat,
    clock: &'a mut Clock<R>,
}

impl<R: Runtime> Round<'_, R> {
    fn target(&self, to: To) -> GpuResult<(SampleFormat, Arg<'_, R>)> {
        Ok(match to {
            To::Stage(i) => (SampleFormat::F32, self.all.stage(i)?),
            To::Result => (self.to, buffer(&self.all.memory().transfer.out)?),
        })
    }

    fn lap(&mut self, stage: &'static str) -> GpuResult<()> {
        self.clock.lap(&*self.all.runtime, self.all.queue(), stage)
    }

    /// What every kernel wants to know of the picture.
    fn size(&self) -> [Arg<'static, R>; 2] {
        [int(self.all.plan.width), int(self.all.plan.height)]
    }

    fn white(&self, format: SampleFormat) -> Arg<'static, R> {
        Arg::F32(self.all.plan.white.min(most(format)))
    }

    /// The first pooling, or the second, guided by a stage.
    fn pool(&mut self, guide: Option<usize>, to: To) -> GpuResult<()> {
        let (all, plan) = (self.all, &self.all.plan);
        let (format, out) = self.target(to)?;
        let pooling = if guide.is_some() { &plan.pilot_pool } else { &plan.pool };
        let guided = guide.is_some();
        let shape = PoolShape::new(plan, guided, all.runtime.limits());
        let fresh = all.fresh().filter(|_| !guided);
        let what = Pooled { guided, counted: all.counted(), fresh };
        let is_fresh = fresh.map_or(0, |f| 1 + f as u32);
        let key = ("pool", [guided.into(), all.counted().into(), format as u32, is_fresh]);
        let loaded = all.program(key, || program::pool(plan, &shape, what, format))?;
        let mut args = match (fresh, guide) {
            (Some(_), _) => {
                let samples = || buffer(&all.memory().transfer.samples);
                vec![samples()?, samples()?, out, all.frame()?]
            }
            (None, None) => vec![all.frame()?, all.frame()?, out],
            (None, Some(stage)) => vec![all.frame()?, all.stage(stage)?, out],
        };
        args.extend(self.size());
        // Sums of segments and levels in the unit in which a difference of 1 is too much.
        let unit = f64::from(pooling.slope).sqrt();
        let scale = (unit / plan.segment_pixels() as f64) as f32;
        let [tap2, tap1, tap0, ..] = pooling.blur.taps;
        args.extend([scale, unit as f32, plan.mix, tap0, tap1, tap2].map(Arg::F32));
        args.push(self.white(format));
        let tile = (shape.columns, shape.rows);
        all.launch(&loaded, "isoline_pool", tile, 1, shape.items(), &args)?;
        drop(args);
        self.lap(if guide.is_some() { "second pooling" } else { "pooling" })
    }

    /// The blur of the second round.
    fn blur(&mut self) -> GpuResult<()> {
        let (all, plan) = (self.all, &self.all.plan);
        let loaded = all.program(("blur", [0; 4]), program::blur)?;
        let [tap2, tap1, tap0, ..] = plan.pilot_pool.blur.taps;
        let mut args = vec![all.stage(POOLED)?, all.stage(SMOOTH)?];
        args.extend(self.size());
        args.push(int(plan.height.div_ceil(BLUR_TILE.1)));
        args.extend([tap0, tap1, tap2].map(Arg::F32));
        all.launch(&loaded, "isoline_blur", BLUR_TILE, plan.channels(), BLUR_ITEMS, &args)?;
        drop(args);
        self.lap("blur")
    }

    /// What the residual of a round is made of: the planes, what is taken off them, the noisy planes.
    fn residual(&self, second: bool) -> GpuResult<[Arg<'_, R>; 3]> {
        let z = || self.all.frame();
        Ok(match second {
            false => [z()?, self.all.stage(POOLED)?, z()?],
            true => [self.all.stage(POOLED)?, self.all.stage(SMOOTH)?, z()?],
        })
    }

    fn restoring(&self, second: bool) -> &Restoring {
        if second { &self.all.plan.pilot_restore } else { &self.all.plan.restore }
    }

    fn choose(&mut self, second: bool) -> Result<(), Stop> {
        let (all, plan) = (self.all, &self.all.plan);
        let restoring = self.restoring(second);
        let shape =
            BoxShape::choosing(plan, restoring.square, second, all.runtime.limits()).ok_or_else(|| {
                let name = all.runtime.name();
                Error::Unsupported(format!("{name}: local memory has no room for such windows and lines"))
            })?;
        let key = ("choose", [second.into(), 0, 0, 0]);
        let loaded = all.program(key, || program::choose(plan, &shape, second))?;
        let mut args = self.residual(second)?.into_iter().collect::<Vec<_>>();
        args.push(all.stage(CHOSEN)?);
        args.extend(self.size());
        args.push(Arg::F32(restoring.sharpness));
        all.launch(&loaded, "isoline_choose", shape.tile(), 1, shape.items(), &args)?;
        drop(args);
        Ok(self.lap(if second { "second lines" } else { "lines" })?)
    }

    fn restore(&mut self, second: bool, to: To) -> GpuResult<()> {
        let (all, plan) = (self.all, &self.all.plan);
        let restoring = self.restoring(second);
        let format = self.target(to)?.0;
        let shape = BoxShape::restoring(restoring.square);
        let key = ("restore", [second.into(), all.counted().into(), format as u32, 0]);
        let loaded = all.program(key, || program::restore(&shape, second, all.counted(), format))?;
        for c in 0..plan.channels() {
            let mut args = self.residual(second)?.into_iter().collect::<Vec<_>>();
            args.extend([all.stage(CHOSEN)?, self.target(to)?.1]);
            args.extend([int(c), int(plan.channels())]);
            args.extend(self.size());
            args.extend([restoring.line_noise[c], restoring.pixel_noise[c], plan.share].map(Arg::F32));
            args.push(self.white(format));
            all.launch(&loaded, "isoline_restore", shape.tile(), 1, shape.items(), &args)?;
        }
        self.lap(if second { "second restoring" } else { "restoring" })
    }
}
