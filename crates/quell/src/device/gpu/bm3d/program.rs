//! From a plan to programs: which kernels carry out a pass, and the constants baked into them.
//!
//! What changes from picture to picture (sizes, noise, distances) is an argument of the kernels; what changes their
//! code (patch, step, window, group, transforms) is a constant.

use std::fmt::Write;

use super::geometry::MARGIN;
use crate::ColorMode;
use crate::bm3d::{PassPlan, Shrink, Spectrum, Weight};
use crate::device::gpu::{Limits, Program};
use crate::method::group::Search;
use crate::ridge::GroupSize;
use crate::transform::{Matrix, Transform};

const PRELUDE: &str = include_str!("../../../../kernels/prelude.h");
const LAYOUT: &str = include_str!("../../../../kernels/bm3d/layout.cl");
const INGEST: &str = include_str!("../../../../kernels/bm3d/ingest.cl");
const NORMS: &str = include_str!("../../../../kernels/bm3d/norms.cl");
const MATCH: &str = include_str!("../../../../kernels/bm3d/match.cl");
const PATCH: &str = include_str!("../../../../kernels/bm3d/patch.cl");
const FILTER: &str = include_str!("../../../../kernels/bm3d/filter.cl");
const REGRESS: &str = include_str!("../../../../kernels/ridge/regress.cl");
const FILTER_ANY: &str = include_str!("../../../../kernels/bm3d/filter_any.cl");
const FINISH: &str = include_str!("../../../../kernels/bm3d/finish.cl");
const COLOR: &str = include_str!("../../../../kernels/bm3d/color.cl");
pub(crate) const SPACE: &str = include_str!("../../../../kernels/bm3d/space.cl");
const SIZES: &str = include_str!("../../../../kernels/bm3d/sizes.cl");

/// The most that kernels declare of local memory: CUDA allows no more without asking, most OpenCL drivers have it.
pub(crate) const LOCAL_BYTES: usize = 48 * 1024;

/// The type of the samples that come in and go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Format {
    U8,
    U16,
    F32,
}

impl Format {
    /// Bytes of a sample.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::F32 => 4,
        }
    }

    fn c_type(self) -> &'static str {
        match self {
            Self::U8 => "uchar",
            Self::U16 => "ushort",
            Self::F32 => "float",
        }
    }
}

/// How samples of the planes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaneFormat {
    /// As they are.
    Float,
    /// In 16 bits, less a grey level in the middle, where halves are finest. What the tensor kernels read.
    Half,
}

impl PlaneFormat {
    /// Bytes of a sample.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Float => 4,
            Self::Half => 2,
        }
    }

    /// What is subtracted from samples.
    pub(crate) fn centre(self) -> f32 {
        match self {
            Self::Float => 0.0,
            Self::Half => 128.0,
        }
    }
}

pub(crate) fn program(name: &'static str, sources: &[&'static str], kernels: &[&'static str]) -> Program {
    let sources = [&[PRELUDE, LAYOUT], sources].concat();
    let mut program = Program { name, sources, defines: Vec::new(), kernels: kernels.to_vec() };
    program.define("MARGIN", MARGIN);
    program
}

/// Samples into planes.
pub(crate) fn ingest(format: Format, planes: PlaneFormat) -> Program {
    let mut p = program("bm3d-ingest", &[INGEST], &["bm3d_ingest", "bm3d_ingest_guide"]);
    p.define("SAMPLE", format.c_type());
    p.define("PLANE_HALF", u8::from(planes == PlaneFormat::Half));
    p
}

/// Red, green and blue into planes of a colour space, and back.
pub(crate) fn color((from, to): (Format, Format), planes: PlaneFormat, mode: ColorMode) -> Program {
    let mut p = program("bm3d-color", &[SPACE, COLOR], &["bm3d_ingest_color", "bm3d_finish_color"]);
    p.define("FROM", from.c_type());
    p.define("TO", to.c_type());
    p.define("WHOLE", u8::from(to != Format::F32));
    p.define("PLANE_HALF", u8::from(planes == PlaneFormat::Half));
    p.define("FORWARD", list(mode.matrix().into_iter().flatten()));
    p.define("INVERSE", list(mode.inverse_matrix().into_iter().flatten()));
    p
}

/// Samples of half the size, and results of that size into those of the whole.
pub(crate) fn sizes(format: Format) -> Program {
    let mut p = program("sizes", &[SIZES], &["sizes_down", "sizes_difference", "sizes_merge"]);
    p.define("SAMPLE", format.c_type());
    p
}

/// Norms of patches of this side.
pub(crate) fn norms(patch: usize) -> Program {
    let mut p = program("bm3d-norms", &[NORMS], &["bm3d_norms"]);
    p.define("PATCH", patch);
    p
}

/// Columns and rows that a work-group of the norms kernel takes, and its work-items.
pub(crate) const NORM_TILE: (usize, usize, usize) = (64, 32, 256);

/// How the general matching is spread over work-items and local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatchShape {
    /// References of a work-group, 32 work-items each.
    pub(crate) neighbours: usize,
    /// Candidates of one column that a work-item does at once.
    rows: usize,
    /// Candidate rows whose samples are in local memory at once.
    band: usize,
    /// Bins of a work-item.
    bins: usize,
    /// Room for the keys of a reference.
    hits: usize,
}

impl MatchShape {
    /// The best for a search, or `None` if a window does not fit into the local memory.
    pub(crate) fn new(search: &Search, limits: &Limits, list: bool) -> Option<Self> {
        let side = 2 * search.radius + 1;
        let words = search.patch.div_ceil(4);
        // Cost of a column of candidates for one work-item: products, loads, distances; times the rounds it takes.
        let cost = |rows: usize| {
            let rounds = (side * side.div_ceil(rows)).div_ceil(32);
            rounds * (rows * search.patch * words + (rows + search.patch - 1) * words * 2 + 8 * rows + 16)
        };
        // The patch and the products are in registers.
        let most = if search.patch * words <= 16 { 10 } else { 8 };
        let rows = (1..=side.min(most)).min_by_key(|&rows| (cost(rows), rows))?;
        let bins = (search.group / 16).max(2);
        let hits = (4 * search.group).max(128);
        let whole = side.next_multiple_of(rows);
        let room = limits.local_bytes.min(LOCAL_BYTES);
        let shapes = [4, 2, 1].into_iter().filter(|&n| !list || n == 1).flat_map(|neighbours| {
            // The whole window at once, or in as few bands as fit.
            let bands = (1..=whole / rows).map(move |n| (whole / rows).div_ceil(n) * rows);
            bands.map(move |band| Self { neighbours, rows, band, bins, hits })
        });
        let fit = shapes.filter(|s| s.local_bytes(search) <= room);
        // Little memory per reference keeps many of them in flight; every band loads rows of samples again.
        fit.min_by_key(|s| {
            let bands = side.div_ceil(s.band);
            s.local_bytes(search).max(8 * 1024) * (10 + 2 * bands) / s.neighbours
        })
    }

    /// Local memory of a work-group, as the kernel declares it.
    fn local_bytes(&self, search: &Search) -> usize {
        let side = 2 * search.radius + 1;
        let words = search.patch.div_ceil(4);
        let columns = ((self.neighbours - 1) * search.step + side + 4 * (words - 1) + 3).next_multiple_of(4);
        let tile = (self.band + search.patch - 1) * columns;
        let rows = side.next_multiple_of(self.band);
        let each = search.patch * words + (side * rows).div_ceil(2) + 32 * self.bins + self.hits + 2;
        4 * (tile + self.neighbours * each + 1)
    }
}

/// What becomes of the matches of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// As many as are a power of two.
    PowerOfTwo,
    /// All.
    All,
    /// So many; and they are kept for all of the picture, not for a band of it.
    Size(GroupSize),
}

/// General matching; with `list`, of references that are named in a buffer.
pub(crate) fn matching(search: &Search, shape: MatchShape, list: bool, cut: Cut) -> Program {
    let mut p = program("bm3d-match", &[MATCH], &["bm3d_match"]);
    p.define("PATCH", search.patch);
    p.define("STEP", search.step);
    p.define("RADIUS", search.radius);
    p.define("GROUP", search.group);
    let least = match cut {
        Cut::PowerOfTwo => 0,
        Cut::All => search.group,
        Cut::Size(size) => size.least,
    };
    p.define("LEAST", least);
    p.define("KEPT", u8::from(matches!(cut, Cut::Size(_))));
    p.define("NEIGHBOURS", shape.neighbours);
    p.define("ROWS", shape.rows);
    p.define("BAND", shape.band);
    p.define("BINS", shape.bins);
    p.define("HITS", shape.hits);
    p.define("LIST", u8::from(list));
    p
}

/// Which general filter a pass gets, and how it is spread over work-items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterShape {
    /// A group in local memory and registers; one work-group per reference.
    Group { items: usize },
    /// Everything else, through global memory; each work-group has `scratch` floats of it.
    Any { items: usize, scratch: usize },
}

impl FilterShape {
    pub(crate) fn new(pass: &PassPlan, limits: &Limits) -> Self {
        let pixels = pass.patch * pass.patch;
        if matches!(pass.shrink, Shrink::Regress { .. }) {
            return Self::Group { items: 128 };
        }
        let fast = matches!(pass.stack, Transform::Haar) || (pass.stack == Transform::Wht && !pass.exact);
        let items = pixels.next_multiple_of(32);
        // As the kernel declares it: the group, its places, partial sums and, for exact variances, pairs.
        let floats = pass.group * (pass.patch * (pass.patch | 1)) + pass.group + items + 8;
        let pair = if pass.spectrum.is_some() { 2 } else { 1 };
        let exact =
            if pass.exact { 4 * (pixels + pass.group) + pair * (pass.group * pass.group / 2 + 4) } else { 0 };
        if fast && pass.group <= 32 && 4 * floats + exact <= limits.local_bytes.min(LOCAL_BYTES) {
            Self::Group { items }
        } else {
            Self::Any { items: 128, scratch: 4 * pass.group * pixels }
        }
    }
}

/// The filter of a pass; `counted`, of averages of frames.
pub(crate) fn filter(pass: &PassPlan, shape: FilterShape, planes: PlaneFormat, counted: bool) -> Program {
    let (name, source) = match shape {
        _ if matches!(pass.shrink, Shrink::Regress { .. }) => ("ridge-regress", REGRESS),
        FilterShape::Group { .. } => ("bm3d-filter", FILTER),
        FilterShape::Any { .. } => ("bm3d-filter-any", FILTER_ANY),
    };
    let mut p = program(name, &[PATCH, source], &["bm3d_filter"]);
    p.define("PLANE_HALF", u8::from(planes == PlaneFormat::Half));
    p.define("PATCH", pass.patch);
    p.define("STEP", pass.step);
    p.define("RADIUS", pass.radius);
    p.define("GROUP", pass.group);
    p.define(
        "ITEMS",
        match shape {
            FilterShape::Group { items } | FilterShape::Any { items, .. } => items,
        },
    );
    p.define("HARD", u8::from(matches!(pass.shrink, Shrink::Hard { .. })));
    if let Shrink::Regress { alpha } = pass.shrink {
        p.define("ALPHA2", format!("{:?}f", alpha * alpha));
    }
    p.define("COUNTED", u8::from(counted));
    p.define("EXACT", u8::from(pass.exact));
    p.define("SPECTRUM", pass.spectrum.as_ref().map_or(0, Spectrum::reach));
    p.define("DEVIATION", u8::from(pass.weight == Weight::Deviation));
    p.define("KEEPS_MEAN", u8::from(pass.keeps_mean()));
    // Rows of these are alternately even and odd, which halves the products.
    p.define("SYMMETRIC", u8::from(matches!(pass.transform, Transform::Dct | Transform::Dst)));
    p.define("HAAR", u8::from(pass.stack == Transform::Haar));
    // Nothing in the code: the tables belong to it.
    p.define("STACK_TRANSFORM", pass.stack.name());
    let inverse = pass.transform.inverse(pass.patch);
    let windowed = Matrix::from_fn(pass.patch, |r, c| f64::from(pass.kaiser[r]) * inverse.at(r, c));
    p.define("FORWARD", literals(&pass.transform.forward(pass.patch)));
    p.define("INVERSE", literals(&windowed));
    p
}

/// Tables of a pass that kernels index at run time: the correlations of the atoms, `[shift][atom]`; then, for the
/// filter of any groups, the transform across 1, 2, 4, ... patches and its inverse, row by row.
pub(crate) fn tables(pass: &PassPlan, shape: FilterShape) -> Vec<f32> {
    let forward = pass.transform.forward(pass.patch);
    let correlation = |u: usize, d: usize| -> f64 {
        let a = forward.row(u);
        a[d..].iter().zip(a).map(|(a, b)| a * b).sum()
    };
    let n = pass.patch;
    let mut out: Vec<f32> =
        (0..n * n).map(|i| (correlation(i % n, i / n) / correlation(i % n, 0)) as f32).collect();
    if matches!(shape, FilterShape::Any { .. }) {
        let sizes = (0..=pass.group.ilog2()).map(|log| 1 << log);
        for m in sizes {
            for matrix in [pass.stack.forward(m), pass.stack.inverse(m)] {
                out.extend((0..m * m).map(|i| matrix.at(i / m, i % m) as f32));
            }
        }
    }
    out
}

/// Sums and weights to samples: of a plane for the next pass, or to give back.
pub(crate) fn finish(pass: &PassPlan, out: Format, planes: PlaneFormat) -> Program {
    let kernels = [
        "bm3d_finish_plane",
        "bm3d_finish_guide",
        "bm3d_finish_estimate",
        "bm3d_finish_samples",
        "bm3d_finish_channel",
    ];
    let mut p = program("bm3d-finish", &[FINISH], &kernels);
    p.define("PLANE_HALF", u8::from(planes == PlaneFormat::Half));
    p.define("PATCH", pass.patch);
    p.define("SAMPLE", out.c_type());
    p.define("WHOLE", u8::from(out != Format::F32));
    p.define("WINDOW", list(pass.kaiser.iter().map(|&v| f64::from(v))));
    p
}

fn literals(m: &Matrix) -> String {
    list((0..m.size()).flat_map(|r| m.row(r).iter().copied()))
}

/// Numbers as C writes them, without spaces.
pub(crate) fn list(values: impl Iterator<Item = f64>) -> String {
    let mut text = String::new();
    for v in values {
        // Rounding noise of the matrices is zero: the kernels leave such products out.
        let v = if v.abs() < 1e-12 { 0.0 } else { v as f32 };
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}{v:e}f");
    }
    text
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;
    use crate::bm3d::{Plan, Profile};
    use crate::device::cuda::{compile_only, usage};
    use crate::device::gpu::GpuError;

    /// What an ordinary GPU offers.
    const LIMITS: Limits =
        Limits { local_bytes: 48 * 1024, memory_bytes: 1 << 33, units: 64, tensor: false, is_cpu: false };

    /// Every general program that the profiles need.
    fn programs() -> Vec<Program> {
        let mut all: Vec<Program> = Vec::new();
        let mut add = |p: Program| {
            if !all.contains(&p) {
                all.push(p);
            }
        };
        for format in [Format::U8, Format::U16, Format::F32] {
            add(sizes(format));
            for planes in [PlaneFormat::Float, PlaneFormat::Half] {
                add(ingest(format, planes));
                add(color((format, format), planes, ColorMode::Opp));
            }
        }
        for profile in Profile::ALL {
            for params in [profile.params(25.0), profile.params(60.0), profile.color_params(25.0)] {
                let plan = Plan::new(&params, 64, 64, &[25.0]).unwrap();
                for pass in &plan.passes {
                    for list in [false, true] {
                        let search = pass.search();
                        let shape = MatchShape::new(&search, &LIMITS, list).unwrap();
                        add(matching(&search, shape, list, Cut::PowerOfTwo));
                    }
                    for counted in [false, true] {
                        add(filter(pass, FilterShape::new(pass, &LIMITS), PlaneFormat::Float, counted));
                    }
                    add(norms(pass.patch));
                    add(finish(pass, Format::U8, PlaneFormat::Half));
                }
            }
        }
        all
    }

    #[test]
    fn every_profile_has_the_quick_filter() {
        assert!(programs().iter().all(|p| p.name != "bm3d-filter-any"));
    }

    #[test]
    fn general_kernels_compile_for_cuda_and_stay_in_registers() {
        for program in programs() {
            for arch in ["sm_80", "sm_90", "sm_100"] {
                let log = match compile_only(&program, arch) {
                    Ok((_, log)) => log,
                    Err(e @ GpuError::Compile { .. }) => panic!("{e}"),
                    Err(e) => return println!("skipped: {e}"),
                };
                let found = usage(&log);
                assert_eq!(found.len(), program.kernels.len(), "{log}");
                for kernel in found {
                    println!("{kernel}");
                    // The assembler may park a few values outside the loops to fit one more work-group on; an array
                    // that left the registers would take more. 168 registers still leave 12 warps.
                    let fits = kernel.stack <= 16 && kernel.spill_stores <= 16 && kernel.registers <= 168;
                    assert!(fits && kernel.shared <= 48 * 1024, "{kernel} with {:?}", program.defines);
                }
            }
        }
    }
}
