//! From a plan to programs: what changes the code of kernels is a constant, the rest is an argument.

use std::fmt::Write;

use super::shape::{BoxShape, PoolShape};
use crate::device::SampleFormat;
use crate::device::gpu::Program;
use crate::device::gpu::transfer::c_type;
use crate::isoline::{Offset, Plan};

const PRELUDE: &str = include_str!("../../../../kernels/prelude.h");
const COMMON: &str = include_str!("../../../../kernels/isoline/common.cl");
const INGEST: &str = include_str!("../../../../kernels/isoline/ingest.cl");
const POOL: &str = include_str!("../../../../kernels/isoline/pool.cl");
const BLUR: &str = include_str!("../../../../kernels/isoline/blur.cl");
const CHOOSE: &str = include_str!("../../../../kernels/isoline/choose.cl");
const RESTORE: &str = include_str!("../../../../kernels/isoline/restore.cl");

/// Samples that a work-group of `isoline_ingest` takes, and its work-items.
pub(super) const INGEST_TILE: (usize, usize) = (2048, 256);
/// Columns and rows that a work-group of `isoline_blur` takes.
pub(super) const BLUR_TILE: (usize, usize) = (64, 32);
/// Its work-items.
pub(super) const BLUR_ITEMS: usize = 256;

/// A program that writes samples of this type.
pub(super) fn program(
    name: &'static str,
    kernel: &'static str,
    source: &'static str,
    to: SampleFormat,
) -> Program {
    let sources = vec![PRELUDE, COMMON, source];
    let mut p = Program { name, sources, defines: Vec::new(), kernels: vec![kernel] };
    p.define("SAMPLE", c_type(to));
    p.define("WHOLE", u8::from(to != SampleFormat::F32));
    p
}

/// Rows and columns of offsets as tables.
pub(super) fn tables(
    p: &mut Program,
    names: [&'static str; 2],
    offsets: impl Iterator<Item = Offset> + Clone,
) {
    let table = |value: fn(&Offset) -> i32| {
        let mut text = String::from("{");
        offsets.clone().for_each(|o| {
            let _ = write!(text, "{},", value(&o));
        });
        text + "}"
    };
    p.define(names[0], table(|o| o.dy));
    p.define(names[1], table(|o| o.dx));
}

/// The pixels of every direction's segment, as thick as it is, as tables.
pub(super) fn segments(p: &mut Program, plan: &Plan) {
    let patterns = &plan.patterns;
    let half = (plan.thickness / 2) as i32;
    let thick = (0..patterns.directions()).flat_map(|d| {
        let across = patterns.across(d);
        let beside =
            move |o: &Offset, side: i32| Offset { dy: o.dy + side * across.dy, dx: o.dx + side * across.dx };
        patterns.segment(d).iter().flat_map(move |o| (-half..=half).map(move |side| beside(o, side)))
    });
    tables(p, ["SEGMENT_Y", "SEGMENT_X"], thick);
}

/// Samples into planes of floats.
pub(crate) fn ingest(from: SampleFormat) -> Program {
    program("isoline-ingest", "isoline_ingest", INGEST, from)
}

/// What a pooling has before it.
#[derive(Clone, Copy)]
pub(crate) struct Pooled {
    /// A first round.
    pub(crate) guided: bool,
    /// An average over frames.
    pub(crate) counted: bool,
    /// Nothing: samples are as they were sent, of this type.
    pub(crate) fresh: Option<SampleFormat>,
}

/// The first pooling, or the second.
pub(crate) fn pool(plan: &Plan, shape: &PoolShape, what: Pooled, to: SampleFormat) -> Program {
    let Pooled { guided, counted, fresh } = what;
    let mut p = program("isoline-pool", "isoline_pool", POOL, to);
    p.define("INPUT", c_type(fresh.unwrap_or(SampleFormat::F32)));
    p.define("FRESH", u8::from(fresh.is_some()));
    let patterns = &plan.patterns;
    p.define("DIRECTIONS", patterns.directions());
    p.define("SEGMENTS", plan.segments);
    p.define("PIXELS", plan.segment_pixels());
    segments(&mut p, plan);
    tables(&mut p, ["END_Y", "END_X"], (0..patterns.directions()).map(|d| patterns.end(d)));
    p.define("COLUMNS", shape.columns);
    p.define("ROWS", shape.rows);
    p.define("STRIP", shape.strip);
    p.define("REACH", shape.reach);
    p.define("CHANNELS", plan.channels());
    p.define("GUIDED", u8::from(guided));
    p.define("COUNTED", u8::from(counted));
    p.define("DIRECT", u8::from(shape.direct));
    p.define("UNROLLED", u8::from(shape.unrolled));
    p
}

/// The blur of the second round.
pub(crate) fn blur() -> Program {
    program("isoline-blur", "isoline_blur", BLUR, SampleFormat::F32)
}

/// What kernels need to know of boxes.
fn boxes(p: &mut Program, shape: &BoxShape) {
    p.define("CELL", shape.square().cell);
    p.define("MARGIN", shape.square().margin);
    p.define("UNIT", shape.unit());
    p.define("COLUMNS", shape.columns);
    p.define("WIDE", shape.tile().0);
    p.define("STRIP", shape.strip);
    p.define("STRIPS", shape.strips);
}

/// The choice of lines; of the second round, with those of another picture.
pub(crate) fn choose(plan: &Plan, shape: &BoxShape, second: bool) -> Program {
    let mut p = program("isoline-choose", "isoline_choose", CHOOSE, SampleFormat::F32);
    boxes(&mut p, shape);
    let lines = plan.patterns.directions() / 2;
    p.define("LINES", lines);
    p.define("LENGTH", plan.patterns.length());
    tables(&mut p, ["LINE_Y", "LINE_X"], (0..lines).flat_map(|d| plan.patterns.segment(d)).copied());
    p.define("GROUP", shape.group);
    p.define("CHANNELS", plan.channels());
    p.define("SECOND", u8::from(second));
    p.define("UNROLLED", u8::from(shape.unrolled));
    p
}

/// What is put back.
pub(crate) fn restore(shape: &BoxShape, second: bool, counted: bool, to: SampleFormat) -> Program {
    let mut p = program("isoline-restore", "isoline_restore", RESTORE, to);
    boxes(&mut p, shape);
    p.define("SECOND", u8::from(second));
    p.define("COUNTED", u8::from(counted));
    p
}
