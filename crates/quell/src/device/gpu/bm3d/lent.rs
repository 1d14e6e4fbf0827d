//! Pictures that are in device memory already: the kernels read and write the caller's rows, nothing is copied.

use super::geometry::{MARGIN, Region, Tile};
use super::kernels::{Kernels, Kind};
use super::pass::{self, Front, Results, Steps, TileRun};
use super::{Format, LEAST_TILE, check};
use crate::bm3d::Plan;
use crate::device::gpu::clock::Clock;
use crate::device::gpu::{Gpu, Runtime, Stop};
use crate::device::samples::no_device_memory;
use crate::device::{DeviceSamples, SampleFormat};
use crate::{ColorMode, Control, Error, Result};

/// Memory of the caller that the samples of one tile come from and go to, channel by channel.
pub(crate) struct Lent<R: Runtime> {
    pub(crate) from: Vec<Rows<R>>,
    pub(crate) to: Vec<Rows<R>>,
    /// What is written, from the corner of the tile's region: left, top, right, bottom.
    pub(crate) core: [i32; 4],
}

/// The rows of a tile's region.
pub(crate) struct Rows<R: Runtime> {
    /// Begins with the first sample of the region.
    pub(crate) buffer: R::Buffer,
    /// Samples from one row to the next.
    pub(crate) stride: i32,
}

impl<R: Runtime> Rows<R> {
    /// `None` if the runtime has no addresses, or offsets in the region exceed those of the kernels.
    fn new(runtime: &R, samples: &DeviceSamples, region: &Region) -> Option<Self> {
        let (pitch, bytes) = (samples.pitch_bytes(), samples.format().bytes());
        let stride = pitch / bytes;
        i32::try_from(stride.checked_mul(region.height())?).ok()?;
        let offset = region.y.start * pitch + region.x.start * bytes;
        let length = (region.height() - 1) * pitch + region.width() * bytes;
        Some(Self { buffer: runtime.borrow(samples, offset, length)?, stride: stride as i32 })
    }
}

impl<R: Runtime> Lent<R> {
    fn new(runtime: &R, from: &[DeviceSamples], to: &[DeviceSamples], tile: &Tile) -> Option<Self> {
        let rows = |s: &[DeviceSamples]| {
            s.iter().map(|s| Rows::new(runtime, s, &tile.region)).collect::<Option<_>>()
        };
        let (x, y) = (tile.region.x.start, tile.region.y.start);
        let core = [tile.core.x.start - x, tile.core.y.start - y, tile.core.x.end - x, tile.core.y.end - y];
        Some(Self { from: rows(from)?, to: rows(to)?, core: core.map(|v| v as i32) })
    }
}

impl<R: Runtime> Gpu<R> {
    /// Runs a plan on channels in device memory; the result is there on return.
    pub(crate) fn run_lent(
        &self,
        plan: &Plan,
        from: &[DeviceSamples],
        to: &[DeviceSamples],
        front: Front,
        control: &Control,
    ) -> Result<()> {
        let refuse = |what: &str| Err(Error::Unsupported(format!("{}: {what}", self.runtime.name())));
        if from.first().is_some_and(|s| self.runtime.borrow(s, 0, 0).is_none()) {
            return Err(no_device_memory(&self.info.name));
        }
        if front.color == Some(ColorMode::Luma) {
            return refuse(
                "luma alone of a picture in device memory is not offered; use samples in host memory",
            );
        }
        check_planes(plan, from, to)?;
        check(plan, front)?;
        let (Some(first), Some(last)) = (from.first(), to.first()) else { return Ok(()) };
        let mixed = |s: &[DeviceSamples]| s.windows(2).any(|p| p[0].format() != p[1].format());
        if mixed(from) || mixed(to) {
            return refuse("planes of one picture in device memory must be of one type");
        }
        let formats: (Format, Format) = (first.format().into(), last.format().into());
        // Nobody looks at the samples: integers are taken to lie between black and white, as `denoise_device` says, and
        // are precise enough as halves then; floats may be anything.
        let halves = first.format() != SampleFormat::F32;
        // Offsets in a tile are 32-bit, and the rows of a tile are as far apart as those of the picture.
        let strides = from.iter().chain(to).map(|s| s.pitch_bytes() / s.format().bytes());
        let rows = i32::MAX as usize / strides.max().unwrap_or(1).max(1);
        let most = rows.saturating_sub(2 * plan.halo() + MARGIN).max(LEAST_TILE);
        let overlap = from.iter().any(|a| to.iter().any(|b| overlap(plan, a, b)));
        self.in_tiles(plan, most, control, |tiles| {
            if overlap && tiles.len() > 1 {
                let reason = "a picture in device memory can be replaced by its result only if it is filtered in one \
                              tile; this one takes several";
                return refuse(reason).map_err(Stop::Error);
            }
            let kernels = self.kernels(plan, &Kind { formats, halves, color: front.color, ..Kind::FLOATS })?;
            self.lent_tiles(plan, &kernels, tiles, from, to, front, control)
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn lent_tiles(
        &self,
        plan: &Plan,
        kernels: &Kernels<R>,
        tiles: &[Tile],
        from: &[DeviceSamples],
        to: &[DeviceSamples],
        front: Front,
        control: &Control,
    ) -> Result<(), Stop> {
        let lent = tiles.iter().map(|t| Lent::new(&*self.runtime, from, to, t)).collect::<Option<Vec<_>>>();
        let Some(lent) = lent else {
            return Err(Stop::Error(too_far_apart()));
        };
        let total = tiles.iter().map(|t| pass::launches(plan, &t.region, self.runtime.limits())).sum();
        let mut steps = Steps { control, done: 0, total };
        let mut slot = self.bm3d.slots.take(&*self.runtime)?;
        for (tile, lent) in tiles.iter().zip(&lent) {
            let mut run = TileRun {
                lent: Some(lent),
                ..TileRun::new(&*self.runtime, kernels, plan, &tile.region, slot.whole(), front)
            };
            if let Err(stop) = run_tile(&mut run, &mut steps) {
                // Whatever is still queued reads and writes the caller's memory; after an error nothing is.
                let _ = self.runtime.finish(&slot.queue);
                slot.discard();
                return Err(stop);
            }
        }
        Ok(())
    }
}

fn run_tile<R: Runtime>(run: &mut TileRun<'_, R>, steps: &mut Steps<'_>) -> Result<(), Stop> {
    run.allocate(0)?;
    let mut clock = Clock::off();
    run.make_channels(&mut clock)?;
    run.passes(0, Results::Samples, &mut clock, steps)?;
    run.runtime.finish(run.place.queue)?;
    Ok(())
}

/// As many planes as the plan has channels, rows of its width, and no more of them than there are addresses.
fn check_planes(plan: &Plan, from: &[DeviceSamples], to: &[DeviceSamples]) -> Result<()> {
    let planes = plan.channels();
    if from.len() != planes || to.len() != planes {
        let (from, to) = (from.len(), to.len());
        return Err(Error::Shape(format!("{planes} planes are needed, not {from} in and {to} out")));
    }
    from.iter().chain(to).try_for_each(|s| {
        s.check(plan.width)?;
        let bytes = s.pitch_bytes().checked_mul(plan.height).and_then(|n| u64::try_from(n).ok());
        bytes.and_then(|n| s.address().checked_add(n)).map(|_| ()).ok_or_else(too_far_apart)
    })
}

fn too_far_apart() -> Error {
    Error::Shape("the rows of a picture in device memory are too far apart".into())
}

/// Whether two planes have memory in common.
fn overlap(plan: &Plan, a: &DeviceSamples, b: &DeviceSamples) -> bool {
    let row = |s: &DeviceSamples| (plan.width * s.format().bytes()) as u64;
    let end = |s: &DeviceSamples| s.address() + (s.pitch_bytes() * (plan.height - 1)) as u64 + row(s);
    if a.address() >= end(b) || b.address() >= end(a) {
        return false;
    }
    // Side by side in wider rows.
    let (low, high) = if a.address() <= b.address() { (a, b) } else { (b, a) };
    let (pitch, apart) = (low.pitch_bytes() as u64, high.address() - low.address());
    let beside = apart % pitch >= row(low) && apart % pitch + row(high) <= pitch;
    low.pitch_bytes() != high.pitch_bytes() || !beside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bm3d::Profile;

    #[test]
    fn planes_beside_each_other_do_not_overlap() {
        let plan = Plan::new(&Profile::Fast.params(20.0), 40, 30, &[20.0]).unwrap();
        // SAFETY: never given to a device.
        let at = |address, pitch| unsafe { DeviceSamples::new(address, pitch, SampleFormat::U8) };
        let a = at(1000, 100);
        let both = |b: &DeviceSamples| {
            assert_eq!(overlap(&plan, &a, b), overlap(&plan, b, &a));
            overlap(&plan, &a, b)
        };
        assert!(both(&a) && both(&at(1039, 100)) && both(&at(1100, 100)) && both(&at(1061, 100)));
        assert!(!both(&at(1040, 100)) && !both(&at(1060, 100)) && !both(&at(1000 + 3000, 100)));
        assert!(both(&at(1040, 80)), "rows of another pitch drift into each other");
        assert!(!both(&at(1000 + 29 * 100 + 40, 80)));
    }
}
