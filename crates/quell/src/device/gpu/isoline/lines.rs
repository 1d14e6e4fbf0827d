//! PI-LD, PI-PD and the hybrid filter: which kernels, with what, in which order.

use crate::Control;
use crate::device::gpu::clock::Clock;
use crate::device::gpu::library::{Library, Loaded};
use crate::device::gpu::{Arg, GpuResult, Limits, Program, Runtime, Shape, Stop};
use crate::isoline::{Plan, Variant};

const PRELUDE: &str = include_str!("../../../../kernels/prelude.h");
const LIKELIHOOD: &str = include_str!("../../../../kernels/isoline/likelihood.cl");
const SEGMENTS: &str = include_str!("../../../../kernels/isoline/segments.cl");
const FOLLOW: &str = include_str!("../../../../kernels/isoline/follow.cl");
const STAR: &str = include_str!("../../../../kernels/isoline/star.cl");
const DEVIATION: &str = include_str!("../../../../kernels/isoline/deviation.cl");

/// Columns and rows of a work-group of the kernels with a pixel for every work-item.
const TILE: (usize, usize) = (32, 8);
/// The most that kernels declare of local memory: CUDA allows no more without asking, OpenCL promises no less than 32 KB.
const LOCAL_BYTES: usize = 48 * 1024;
/// Two sides of a test that differ by less than this part of them are compared in integers: some times more than their
/// rounding.
const NEAR: f32 = 4e-6;

/// What is filtered, and room for what is made of it. Planes are tight, one behind the other.
pub(crate) struct Planes<'a, R: Runtime> {
    /// The picture.
    pub(crate) z: &'a R::Buffer,
    /// Of [`scratch_bytes`] each.
    pub(crate) scratch: [&'a R::Buffer; 2],
    /// As many planes as the picture has, or one for the number of edges.
    pub(crate) out: &'a R::Buffer,
    /// Planes of directions and of lengths, if they are wanted.
    pub(crate) maps: Option<&'a R::Buffer>,
}

/// The paper's filters on a device.
pub(crate) struct Lines<'a, R: Runtime> {
    runtime: &'a R,
    library: &'a Library<R>,
    queue: &'a R::Queue,
    pub(super) programs: Programs<'a>,
}

impl<'a, R: Runtime> Lines<'a, R> {
    /// `whole`: luma has whole samples from 0 to 255, for which results are exact.
    pub(crate) fn new(
        runtime: &'a R,
        library: &'a Library<R>,
        queue: &'a R::Queue,
        plan: &'a Plan,
        whole: bool,
    ) -> Self {
        let programs = Programs { plan, whole, maps: false, near: NEAR };
        Self { runtime, library, queue, programs }
    }

    /// Filters a picture.
    pub(crate) fn filter(
        &mut self,
        planes: &Planes<'_, R>,
        clock: &mut Clock<R>,
        control: &Control,
    ) -> Result<(), Stop> {
        self.programs.maps = planes.maps.is_some();
        let variant = self.programs.plan.variant;
        if variant == Variant::PiLd {
            self.deviation(planes, control)?;
            clock.lap(self.runtime, self.queue, "lines")?;
            return Ok(());
        }
        self.segments(planes)?;
        clock.lap(self.runtime, self.queue, "directions")?;
        self.follow(planes)?;
        clock.lap(self.runtime, self.queue, "lines")?;
        if variant == Variant::Hybrid {
            self.star(planes, false)?;
            clock.lap(self.runtime, self.queue, "edges")?;
        }
        Ok(())
    }

    /// The number of edges at every pixel, into the first plane of the result.
    pub(crate) fn edges(&self, planes: &Planes<'_, R>) -> GpuResult<()> {
        self.star(planes, true)
    }

    fn segments(&self, planes: &Planes<'_, R>) -> GpuResult<()> {
        let strips = Strips::new(self.programs.plan, self.runtime.limits());
        let loaded = self.load(self.programs.segments(&strips), None)?;
        let mut args = vec![Arg::Buffer(planes.z)];
        args.extend(planes.scratch.map(Arg::Buffer));
        args.extend(self.padded());
        args.extend(self.size());
        let shape = Shape { grid: self.grid((strips.columns, strips.rows)), items: strips.items(), local: 0 };
        self.runtime.launch(self.queue, loaded.kernel("isoline_segments")?, shape, &args)
    }

    fn follow(&self, planes: &Planes<'_, R>) -> GpuResult<()> {
        let loaded = self.load(self.programs.follow(), Some(&lengthening(self.programs.plan)))?;
        let mut args = vec![Arg::Buffer(planes.z)];
        args.extend(planes.scratch.map(Arg::Buffer));
        args.extend([loaded.tables()?, planes.out, planes.maps.unwrap_or(planes.out)].map(Arg::Buffer));
        args.extend(self.padded());
        args.extend(self.size());
        self.runtime.launch(self.queue, loaded.kernel("isoline_follow")?, self.pixelwise(), &args)
    }

    fn star(&self, planes: &Planes<'_, R>, count: bool) -> GpuResult<()> {
        let loaded = self.load(self.programs.star(count), Some(&splitting(self.programs.plan)))?;
        let mut args = vec![Arg::Buffer(planes.z)];
        args.extend([loaded.tables()?, planes.out, planes.maps.unwrap_or(planes.out)].map(Arg::Buffer));
        args.extend(self.size());
        self.runtime.launch(self.queue, loaded.kernel("isoline_star")?, self.pixelwise(), &args)
    }

    fn deviation(&self, planes: &Planes<'_, R>, control: &Control) -> Result<(), Stop> {
        let (plan, limits) = (self.programs.plan, self.runtime.limits());
        let loaded = self.load(self.programs.deviation(limits), Some(&lengthening(plan)))?;
        let shape = self.pixelwise();
        let [columns, rows] = shape.grid;
        let band = band(plan, limits).clamp(1, rows);
        for first in (0..rows).step_by(band) {
            control.check()?;
            let mut args = vec![Arg::Buffer(planes.z)];
            args.extend([loaded.tables()?, planes.out, planes.maps.unwrap_or(planes.out)].map(Arg::Buffer));
            args.push(int(first));
            args.extend(self.size());
            let shape = Shape { grid: [columns, band.min(rows - first)], ..shape };
            self.runtime.launch(self.queue, loaded.kernel("isoline_deviation")?, shape, &args)?;
        }
        Ok(())
    }

    fn load(&self, program: Program, tables: Option<&[f32]>) -> GpuResult<std::sync::Arc<Loaded<R>>> {
        self.library.get(self.runtime, program, 0, tables)
    }

    /// The last arguments of every kernel: width, height, and the middle of the scale.
    fn size<'b>(&self) -> [Arg<'b, R>; 3] {
        let Programs { plan, whole, .. } = self.programs;
        let middle = if whole { 128.0 } else { (0.5 * plan.white).ceil() };
        [int(plan.width), int(plan.height), Arg::F32(middle)]
    }

    /// Pitch and planes of the scratch memory.
    fn padded<'b>(&self) -> [Arg<'b, R>; 2] {
        let (pitch, rows) = padded(self.programs.plan);
        [int(pitch), int(pitch * rows)]
    }

    fn grid(&self, tile: (usize, usize)) -> [usize; 2] {
        let plan = self.programs.plan;
        [plan.width.div_ceil(tile.0), plan.height.div_ceil(tile.1)]
    }

    fn pixelwise(&self) -> Shape {
        Shape { grid: self.grid(TILE), items: TILE.0 * TILE.1, local: 0 }
    }
}

fn int<'a, R: Runtime>(v: usize) -> Arg<'a, R> {
    Arg::I32(v as i32)
}

/// Columns and rows of the scratch memory: whole work-groups of `isoline_segments`.
fn padded(plan: &Plan) -> (usize, usize) {
    (plan.width.next_multiple_of(Strips::COLUMNS), plan.height.next_multiple_of(Strips::MOST_ROWS))
}

/// Bytes of what is kept between kernels: sums over each pixel's segment and its direction; sums of the other planes.
pub(crate) fn scratch_bytes(plan: &Plan, whole: bool) -> [usize; 2] {
    if plan.variant == Variant::PiLd {
        return [4, 4];
    }
    let (pitch, rows) = padded(plan);
    [pitch * rows * if whole { 8 } else { 16 }, (4 * (plan.channels() - 1) * pitch * rows).max(4)]
}

/// Rows of work-groups of PI-LD that one launch takes: some ten milliseconds on a small GPU, so that others get at it
/// and work can be stopped.
fn band(plan: &Plan, limits: &Limits) -> usize {
    const EACH: usize = 200_000_000;
    let turns = (2 * plan.turn + 1).min(plan.patterns.directions());
    let tried = plan.patterns.directions() * plan.segments * turns * plan.segment_pixels();
    EACH * limits.units.max(1) / (plan.width * TILE.1 * tried).max(1)
}

/// How `isoline_segments` is spread over work-items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strips {
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

    fn new(plan: &Plan, limits: &Limits) -> Self {
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
    plan: &'a Plan,
    whole: bool,
    maps: bool,
    pub(super) near: f32,
}

impl Programs<'_> {
    /// What all have in common.
    fn program(&self, name: &'static str, kernel: &'static str, source: &'static str) -> Program {
        let sources = vec![PRELUDE, LIKELIHOOD, source];
        let mut p = Program { name, sources, defines: Vec::new(), kernels: vec![kernel] };
        let patterns = &self.plan.patterns;
        let offsets = (0..patterns.directions()).flat_map(|d| patterns.segment(d));
        let offsets: Vec<String> = offsets.map(|o| format!("{},{}", o.dy, o.dx)).collect();
        p.define("DIRECTIONS", patterns.directions());
        p.define("LENGTH", patterns.length());
        p.define("THICKNESS", self.plan.thickness);
        p.define("OFFSETS", offsets.join(","));
        p.define("CHANNELS", self.plan.channels());
        p.define("WHOLE", u8::from(self.whole));
        p.define("NEAR", format!("{:e}f", self.near));
        p.define("MAPS", u8::from(self.maps));
        p
    }

    fn segments(&self, strips: &Strips) -> Program {
        let mut p = Self { maps: false, ..*self }.program("isoline-segments", "isoline_segments", SEGMENTS);
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

    fn follow(&self) -> Program {
        self.lines("isoline-follow", "isoline_follow", FOLLOW)
    }

    fn deviation(&self, limits: &Limits) -> Program {
        let mut p = self.lines("isoline-deviation", "isoline_deviation", DEVIATION);
        let plan = self.plan;
        let around = 2 * (plan.patterns.length() * plan.segments + plan.thickness / 2);
        let table = plan.patterns.directions() * (plan.segment_pixels() + 1);
        let bytes = 4 * ((TILE.0 + around) * (TILE.1 + around) + table);
        p.define("TILED", u8::from(bytes <= LOCAL_BYTES.min(limits.local_bytes)));
        p
    }

    fn star(&self, count: bool) -> Program {
        let mut p = self.program("isoline-star", "isoline_star", STAR);
        p.define("COUNT", u8::from(count));
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
