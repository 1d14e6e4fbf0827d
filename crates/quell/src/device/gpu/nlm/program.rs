//! From a plan to programs: what changes the code of kernels is a constant, the rest is an argument.

use super::shape::{ByteShape, Needs, TileShape};
use crate::device::SampleFormat;
use crate::device::gpu::Program;
use crate::device::gpu::transfer::c_type;
use crate::nlm::{Center, Plan, Weight};

const PRELUDE: &str = include_str!("../../../../kernels/prelude.h");
const COMMON: &str = include_str!("../../../../kernels/nlm/common.cl");
const INGEST: &str = include_str!("../../../../kernels/nlm/ingest.cl");
const NORMS: &str = include_str!("../../../../kernels/nlm/norms.cl");
const BYTES: &str = include_str!("../../../../kernels/nlm/bytes.cl");
const TILE: &str = include_str!("../../../../kernels/nlm/tile.cl");
const GENERAL: &str = include_str!("../../../../kernels/nlm/general.cl");
const PATCHES: &str = include_str!("../../../../kernels/nlm/patches.cl");

/// Samples of a row that a work-group of `nlm_ingest` takes, and its work-items.
pub(crate) const INGEST_TILE: (usize, usize) = (512, 128);
/// Columns, and work-items, and rows that a work-group of `nlm_norms` takes.
pub(crate) const NORM_TILE: (usize, usize) = (128, 16);

fn program(name: &'static str, kernel: &'static str, sources: &[&'static str]) -> Program {
    let sources = [&[PRELUDE], sources].concat();
    Program { name, sources, defines: Vec::new(), kernels: vec![kernel] }
}

/// Samples into padded planes of floats or bytes.
pub(crate) fn ingest(from: SampleFormat, to: SampleFormat) -> Program {
    let mut p = program("nlm-ingest", "nlm_ingest", &[INGEST]);
    p.define("SAMPLE", c_type(from));
    p.define("PLANE", c_type(to));
    p
}

/// Norms of the patches of a plane of bytes.
pub(crate) fn norms(plan: &Plan) -> Program {
    let mut p = program("nlm-norms", "nlm_norms", &[NORMS]);
    p.define("RADIUS", plan.patch_radius);
    p
}

/// What all kernels that weigh have in common. `to` is what they write, if not only sums.
fn weighing(p: &mut Program, plan: &Plan, to: Option<SampleFormat>) {
    let format = to.unwrap_or(SampleFormat::F32);
    p.define("SEARCH", plan.search_radius);
    p.define("RADIUS", plan.patch_radius);
    p.define(
        "WEIGHT",
        match plan.weight {
            Weight::Bisquare => 0,
            Weight::Bisquare8 => 1,
            Weight::Gauss => 2,
        },
    );
    p.define("BEST", u8::from(plan.center == Center::Max));
    p.define("LEAST", format!("{:e}f", Center::LEAST));
    p.define("TOTALS", u8::from(to.is_none()));
    p.define("SAMPLE", c_type(format));
    p.define("WHOLE", u8::from(format != SampleFormat::F32));
}

fn tile(p: &mut Program, plan: &Plan, shape: &TileShape) {
    p.define("PLANES", Needs::new(plan, false).planes);
    p.define("CHANNELS", plan.channels);
    p.define("GUIDED", u8::from(plan.guides > 0));
    p.define("COLUMNS", shape.columns);
    p.define("ROWS", shape.rows);
    p.define("STRIP", shape.strip);
    p.define("SPAN_X", shape.span.0);
    p.define("SPAN_Y", shape.span.1);
    p.define("DIRECT", u8::from(shape.direct));
    p.define("BUFFERS", shape.buffers);
}

/// Averages, or the sums of weights, of any planes.
pub(crate) fn general(plan: &Plan, shape: &TileShape, to: Option<SampleFormat>) -> Program {
    let mut p = program("nlm-general", "nlm_general", &[COMMON, TILE, GENERAL]);
    weighing(&mut p, plan, to);
    tile(&mut p, plan, shape);
    p
}

/// Patchwise averages of any planes.
pub(crate) fn patches(plan: &Plan, shape: &TileShape, to: SampleFormat) -> Program {
    let mut p = program("nlm-patches", "nlm_patches", &[COMMON, TILE, PATCHES]);
    weighing(&mut p, plan, Some(to));
    tile(&mut p, plan, shape);
    p
}

/// Averages, or the sums of weights, of a plane of bytes.
pub(crate) fn bytes(plan: &Plan, shape: &ByteShape, to: Option<SampleFormat>) -> Program {
    let mut p = program("nlm-bytes", "nlm_bytes", &[COMMON, BYTES]);
    weighing(&mut p, plan, to);
    p.define("COLUMNS", shape.columns);
    p.define("ROWS", shape.rows);
    p.define("STRIP", shape.strip);
    p.define("SPAN_X", shape.span.0);
    p.define("SPAN_Y", shape.span.1);
    p
}

/// `slope` and `offset` of the kernels: exponentials are powers of two there.
pub(crate) fn slope_and_offset(plan: &Plan) -> (f32, f32) {
    match plan.weight {
        Weight::Bisquare | Weight::Bisquare8 => (plan.slope, -plan.floor),
        Weight::Gauss => {
            let scale = std::f64::consts::LOG2_E;
            ((f64::from(plan.slope) * scale) as f32, (f64::from(plan.floor) * scale) as f32)
        }
    }
}
