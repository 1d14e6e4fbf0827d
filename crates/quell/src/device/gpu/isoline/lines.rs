//! PI-LD, PI-PD and the hybrid filter.

use std::sync::Arc;

use super::frames::{Frames, Key};
use super::program::{program, segments};
use crate::device::gpu::clock::Clock;
use crate::device::gpu::library::Loaded;
use crate::device::gpu::transfer::most;
use crate::device::gpu::{Arg, GpuError, GpuResult, Limits, Program, Runtime, Shape, Stop, buffer, int};
use crate::device::{SampleFormat, Samples};
use crate::isoline::{Map, Plan, Variant};

const LIKELIHOOD: &str = include_str!("../../../../kernels/isoline/likelihood.cl");
const SEGMENTS: &str = include_str!("../../../../kernels/isoline/segments.cl");
const FOLLOW: &str = include_str!("../../../../kernels/isoline/follow.cl");
const STAR: &str = include_str!("../../../../kernels/isoline/star.cl");
const DEVIATION: &str = include_str!("../../../../kernels/isoline/deviation.cl");

/// Two sides of a test that differ by less than this part of them are compared in integers: some times more than their
/// rounding.
pub(super) const NEAR: f32 = 4e-6;
/// Where sums over each pixel's segment are kept with its direction, and those of the other planes.
const BEST: usize = 0;
const OTHERS: usize = 1;
/// Columns and rows of a work-group of the kernels with a pixel for every work-item.
const TILE: (usize, usize) = (32, 8);
/// Local memory that kernels may declare; CUDA gives no more without asking.
const LOCAL_BYTES: usize = 48 * 1024;

/// Filters the frame into the buffer of the result, as samples of this type.
pub(super) fn filter<R: Runtime>(
    all: &mut Frames<R>,
    to: SampleFormat,
    clock: &mut Clock<R>,
) -> Result<(), Stop> {
    Pass::new(all, None, to)?.run(clock)
}

/// What the filter knows, as floats into the buffer of the result.
pub(super) fn map<R: Runtime>(all: &mut Frames<R>, map: Map) -> Result<(), Stop> {
    let pass = Pass::new(all, Some(map), SampleFormat::F32)?;
    if map == Map::Edges { Ok(pass.star()?) } else { pass.run(&mut Clock::off()) }
}

/// Whether sums of these samples are exact: whole numbers from 0 to 255.
pub(super) fn is_exact(samples: &Samples<'_>) -> bool {
    match samples {
        Samples::U8(_) => true,
        Samples::U16(_) => false,
        Samples::F32(v) => v.iter().all(|&v| (0.0..=255.0).contains(&v) && v.fract() == 0.0),
    }
}

/// One picture on its way.
struct Pass<'a, R: Runtime> {
    all: &'a Frames<R>,
    programs: Programs<'a>,
}

impl<'a, R: Runtime> Pass<'a, R> {
    fn new(all: &'a mut Frames<R>, map: Option<Map>, to: SampleFormat) -> GpuResult<Self> {
        let (plan, pixels) = (&all.plan, all.pixels());
        let (pitch, rows) = padded(plan);
        let words = if all.exact() { 2 } else { 4 };
        let kept = [words, plan.channels() - 1].map(|n| n * pitch * rows);
        // Kernels count samples in 32 bits.
        if kept.iter().any(|&n| i32::try_from(n).is_err()) {
            return Err(GpuError::OutOfMemory { bytes: 4 * kept[0] });
        }
        if plan.variant != Variant::PiLd && map != Some(Map::Edges) {
            all.make_room([kept[0].div_ceil(pixels), kept[1].div_ceil(pixels), 0, 0])?;
        }
        let all: &'a Frames<R> = all;
        let programs = Programs { plan: &all.plan, exact: all.exact(), near: all.near, map, to };
        Ok(Self { all, programs })
    }

    fn run(&self, clock: &mut Clock<R>) -> Result<(), Stop> {
        let (runtime, queue, variant) = (&*self.all.runtime, self.all.queue(), self.programs.plan.variant);
        if variant == Variant::PiLd {
            self.deviation()?;
            return Ok(clock.lap(runtime, queue, "lines")?);
        }
        self.segments()?;
        clock.lap(runtime, queue, "directions")?;
        self.follow()?;
        clock.lap(runtime, queue, "lines")?;
        if variant == Variant::Hybrid && self.programs.map != Some(Map::Directions) {
            self.star()?;
            clock.lap(runtime, queue, "edges")?;
        }
        Ok(())
    }

    fn key(&self, name: &'static str) -> Key {
        let Programs { exact, near, map, to, .. } = self.programs;
        (name, [exact.into(), near.to_bits(), map.map_or(0, |m| 1 + m as u32), to as u32])
    }

    fn loaded(
        &self,
        name: &'static str,
        make: impl FnOnce() -> (Program, Vec<f32>),
    ) -> GpuResult<Arc<Loaded<R>>> {
        let make = || {
            let (program, tests) = make();
            (program, Some(tests))
        };
        self.all.program_with(self.key(name), make)
    }

    fn segments(&self) -> GpuResult<()> {
        let strips = Strips::new(self.programs.plan, self.all.runtime.limits());
        let loaded = self.all.program(self.key("segments"), || self.programs.segments(&strips))?;
        let mut args = vec![self.all.frame()?, self.all.stage(BEST)?, self.all.stage(OTHERS)?];
        args.extend(self.padded());
        args.extend(self.size());
        let tile = (strips.columns, strips.rows);
        self.all.launch(&loaded, "isoline_segments", tile, 1, strips.items(), &args)
    }

    fn follow(&self) -> GpuResult<()> {
        let loaded = self.loaded("follow", || (self.programs.follow(), lengthening(self.programs.plan)))?;
        let mut args = vec![self.all.frame()?, self.all.stage(BEST)?, self.all.stage(OTHERS)?];
        args.extend(self.tests_and_out(&loaded)?);
        args.extend(self.padded());
        args.extend(self.size());
        args.push(self.white());
        self.all.launch(&loaded, "isoline_follow", TILE, 1, TILE.0 * TILE.1, &args)
    }

    /// The number of edges, or what replaces lines where there are none.
    fn star(&self) -> GpuResult<()> {
        let loaded = self.loaded("star", || (self.programs.star(), splitting(self.programs.plan)))?;
        let mut args = vec![self.all.frame()?];
        args.extend(self.tests_and_out(&loaded)?);
        args.extend(self.size());
        args.push(self.white());
        self.all.launch(&loaded, "isoline_star", TILE, 1, TILE.0 * TILE.1, &args)
    }

    fn deviation(&self) -> GpuResult<()> {
        let (plan, runtime) = (self.programs.plan, &self.all.runtime);
        let make = || (self.programs.deviation(runtime.limits()), lengthening(plan));
        let loaded = self.loaded("deviation", make)?;
        let (columns, rows) = (plan.width.div_ceil(TILE.0), plan.height.div_ceil(TILE.1));
        let band = band(plan, runtime.limits()).clamp(1, rows);
        for first in (0..rows).step_by(band) {
            let mut args = vec![self.all.frame()?];
            args.extend(self.tests_and_out(&loaded)?);
            args.push(int(first));
            args.extend(self.size());
            args.push(self.white());
            let grid = [columns, band.min(rows - first)];
            let shape = Shape { grid, items: TILE.0 * TILE.1, local: 0 };
            runtime.launch(self.all.queue(), loaded.kernel("isoline_deviation")?, shape, &args)?;
        }
        Ok(())
    }

    fn tests_and_out<'b>(&'b self, loaded: &'b Loaded<R>) -> GpuResult<[Arg<'b, R>; 2]> {
        Ok([Arg::Buffer(loaded.tables()?), buffer(&self.all.memory().transfer.out)?])
    }

    /// Pitch and planes of what is kept.
    fn padded(&self) -> [Arg<'static, R>; 2] {
        let (pitch, rows) = padded(self.programs.plan);
        [int(pitch), int(pitch * rows)]
    }

    /// Width, height, and the middle of the scale.
    fn size(&self) -> [Arg<'static, R>; 3] {
        let plan = self.programs.plan;
        let middle = if self.programs.exact { 128.0 } else { (0.5 * plan.white).ceil() };
        [int(plan.width), int(plan.height), Arg::F32(middle)]
    }

    fn white(&self) -> Arg<'static, R> {
        Arg::F32(self.programs.plan.white.min(most(self.programs.to)))
    }
}

/// Columns and rows of what is kept: whole work-groups of `isoline_segments`.
fn padded(plan: &Plan) -> (usize, usize) {
    (plan.width.next_multiple_of(Strips::COLUMNS), plan.height.next_multiple_of(Strips::MOST_ROWS))
}

/// Rows of work-groups of PI-LD that one launch takes: some ten milliseconds on a small GPU, so that others get at it.
fn band(plan: &Plan, limits: &Limits) -> usize {
    const EACH: usize = 200_000_000;
    let turns = (2 * plan.turn + 1).min(plan.patterns.directions());
    let tried = plan.patterns.directions() * plan.segments * turns * plan.segment_pixels();
    EACH * limits.units.max(1) / (plan.width * TILE.1 * tried).max(1)
}

/// How `isoline_segments` is spread over work-items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strips {
    columns: usize,
    rows: usize,
    /// Rows of a work-item.
    strip: usize,
    /// Every direction has its own code, with its offsets as constants.
    unrolled: bool,
}

impl Strips {
    const COLUMNS: usize = 64;
    const MOST_ROWS: usize = 16;

    pub(super) fn new(plan: &Plan, limits: &Limits) -> Self {
        // Compilers take long over long programs; those of processors gain nothing by them.
        let offsets = plan.segment_pixels() * plan.patterns.directions();
        let unrolled = offsets <= 320 && (limits.tensor || !limits.is_cpu);
        let strip = if unrolled && offsets <= 160 { 4 } else { 1 };
        Self { columns: Self::COLUMNS, rows: 4 * strip, strip, unrolled }
    }

    fn items(&self) -> usize {
        self.columns * (self.rows / self.strip)
    }
}

/// From a plan to programs.
#[derive(Clone, Copy)]
pub(super) struct Programs<'a> {
    pub(super) plan: &'a Plan,
    pub(super) exact: bool,
    pub(super) near: f32,
    /// What is wanted if not the planes.
    pub(super) map: Option<Map>,
    pub(super) to: SampleFormat,
}

impl Programs<'_> {
    /// What all have in common.
    fn program(&self, name: &'static str, kernel: &'static str, source: &'static str) -> Program {
        let mut p = program(name, kernel, source, self.to);
        p.sources.insert(2, LIKELIHOOD);
        let patterns = &self.plan.patterns;
        p.define("DIRECTIONS", patterns.directions());
        p.define("LENGTH", patterns.length());
        p.define("THICKNESS", self.plan.thickness);
        segments(&mut p, self.plan);
        p.define("CHANNELS", self.plan.channels());
        p.define("EXACT", u8::from(self.exact));
        p.define("NEAR", format!("{:e}f", self.near));
        p.define(
            "WANTED",
            match self.map {
                None => 0,
                Some(Map::Directions) => 1,
                Some(Map::Lengths) => 2,
                Some(Map::Edges) => 3,
            },
        );
        p
    }

    pub(super) fn segments(&self, strips: &Strips) -> Program {
        // Whatever becomes of it.
        let all = Self { map: None, to: SampleFormat::F32, ..*self };
        let mut p = all.program("isoline-segments", "isoline_segments", SEGMENTS);
        p.define("COLUMNS", strips.columns);
        p.define("ROWS", strips.rows);
        p.define("STRIP", strips.strip);
        p.define("EACH", if strips.unrolled { "UNROLL" } else { "NO_UNROLL" });
        p
    }

    /// Of those that lengthen lines.
    fn lines(&self, name: &'static str, kernel: &'static str, source: &'static str) -> Program {
        let mut p = self.program(name, kernel, source);
        p.define("SEGMENTS", self.plan.segments);
        p.define("TURN", self.plan.turn);
        // The table of tests follows from it.
        p.define("THRESHOLD", self.plan.threshold);
        p
    }

    pub(super) fn follow(&self) -> Program {
        self.lines("isoline-follow", "isoline_follow", FOLLOW)
    }

    pub(super) fn deviation(&self, limits: &Limits) -> Program {
        let mut p = self.lines("isoline-deviation", "isoline_deviation", DEVIATION);
        let plan = self.plan;
        let around = 2 * (plan.patterns.length() * plan.segments + plan.thickness / 2);
        let table = plan.patterns.directions() * (plan.segment_pixels() + 1);
        let bytes = 4 * ((TILE.0 + around) * (TILE.1 + around) + table);
        p.define("TILED", u8::from(bytes <= LOCAL_BYTES.min(limits.local_bytes)));
        p
    }

    pub(super) fn star(&self) -> Program {
        let mut p = self.program("isoline-star", "isoline_star", STAR);
        // The table of tests follows from it.
        p.define("THRESHOLD", self.plan.edge_threshold);
        p
    }
}

/// Tests of a line of `1 + k pixels`, for `k` from 1 on, against one segment more.
fn lengthening(plan: &Plan) -> Vec<f32> {
    let pixels = plan.segment_pixels();
    (1..plan.segments.max(2)).flat_map(|k| test(1 + k * pixels, pixels, plan.threshold)).collect()
}

/// The test of five arms and the centre of a star against the other three.
fn splitting(plan: &Plan) -> Vec<f32> {
    let length = plan.patterns.length();
    test(5 * length + 1, 3 * length, plan.edge_threshold).to_vec()
}

/// A row of the table of tests: see `one_level` of the kernels.
fn test(first: usize, second: usize, threshold: f32) -> [f32; 8] {
    /// Least variance, as in the reference.
    const LEAST: f64 = 1e-12;
    let (first, second) = (first as f64, second as f64);
    let n = first + second;
    let factor = first * second / (n * (f64::from(threshold) / n).exp());
    // `mantissa * 2^-exponent`. Of a factor that is all but nothing it is never used: the sides are not near then.
    let bits = factor.to_bits();
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    let exponent = 1075 - (bits >> 52) as i32;
    let part = |shift: u32, width: u32| (mantissa >> shift & ((1 << width) - 1)) as f32;
    let least = [LEAST * n * n, LEAST * first * second * n].map(|v| v as f32);
    [factor as f32, least[0], least[1], part(29, 24), part(5, 24), part(0, 5), exponent as f32, 0.0]
}
