//! Collaborative filtering of groups of 8 x 8 patches with a Haar transform across the group.
//!
//! The horizontal transform of every row segment is computed once per pixel and kept, 8 floats a pixel; so a
//! patch costs eight loads and one vertical transform, and nothing is transposed. Filtered patches are added
//! up in the same half-transformed domain, and the horizontal inverse runs once per pixel at the end. The
//! denominator needs one addition per patch and a separable convolution with the window.

use super::group8::{Constants, Group, MAX, filter_group};
use super::half::{Layout, Row, back, convolve, transform_region};
use super::patch8::{Bior8, Dct8, Points8};
use super::variance::Variances;
use crate::bm3d::PassPlan;
use crate::device::cpu::group::matching::{Groups, Window};
use crate::device::cpu::group::unit::{Source, Unit};
use crate::device::cpu::simd::{Kernel, Simd};
use crate::transform::Transform;

/// Whether this filter can run the pass.
pub(super) fn supports(pass: &PassPlan) -> bool {
    pass.patch == 8
        && pass.stack == Transform::Haar
        && matches!(pass.transform, Transform::Dct | Transform::Bior)
}

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    noisy: Vec<Row>,
    basic: Vec<Row>,
    sums: Vec<Row>,
    weights: Vec<f32>,
    line: Vec<f32>,
    overlap: Vec<f32>,
    stack: Vec<[Row; 8]>,
    pilot: Vec<[Row; 8]>,
    variances: Variances,
}

/// Filters the groups of a unit for one channel; adds nothing to what other units do.
pub(super) struct FilterUnit<'a> {
    pub(super) pass: &'a PassPlan,
    pub(super) unit: &'a Unit,
    pub(super) groups: &'a Groups,
    pub(super) noisy: Source<'a>,
    pub(super) basic: Option<Source<'a>>,
    pub(super) sigma: f32,
    /// Of how many frames each pixel is the average, if not of one.
    pub(super) counts: Option<Source<'a>>,
    pub(super) scratch: &'a mut Scratch,
    /// Numerator and denominator over the unit's region.
    pub(super) numerator: &'a mut [f32],
    pub(super) denominator: &'a mut [f32],
}

/// The part of the noise variance that is left in the group of a reference patch.
#[inline(always)]
pub(super) fn part_of_noise(counts: Option<Source<'_>>, (x, y): (usize, usize), patch: usize) -> f32 {
    let middle = x + patch / 2;
    counts.map_or(1.0, |counts| 1.0 / counts.row(y + patch / 2, middle..middle + 1)[0])
}

impl Kernel for FilterUnit<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        match self.pass.transform {
            Transform::Bior => run::<S, Bior8>(self),
            _ => run::<S, Dct8>(self),
        }
    }
}
#[inline(always)]
fn run<S: Simd, T: Points8>(job: FilterUnit<'_>) {
    let FilterUnit { pass, unit, groups, noisy, basic, sigma, counts, scratch, numerator, denominator } = job;
    let region = &unit.region;
    let width = region.width();
    // One vector more than a multiple of eight, so that the rows of a patch do not share cache sets.
    let layout = Layout { width, height: region.height(), stride: width.next_multiple_of(8) + 9 };
    let constants = Constants::new::<T>(pass, sigma);
    let Scratch { noisy: z, basic: b, sums, weights, line, overlap, stack, pilot, variances } = scratch;
    transform_region::<S, T>(&noisy, unit, layout, line, z);
    if let Some(basic) = basic {
        transform_region::<S, T>(&basic, unit, layout, line, b);
    }
    let cells = layout.stride * layout.height;
    // Behind the last place of a patch that has all its rows.
    let last = cells.saturating_sub(7 * layout.stride);
    sums.resize(cells, [0.0; 8]);
    sums.as_flattened_mut().fill(0.0);
    weights.clear();
    weights.resize(width * layout.height, 0.0);
    stack.resize(MAX, [[0.0; 8]; 8]);
    pilot.resize(MAX, [[0.0; 8]; 8]);
    let window = Window { radius: pass.radius };
    let spectrum = pass.spectrum.as_ref();
    match spectrum {
        _ if pass.exact => variances.prepare::<T>(window),
        Some(spectrum) => variances.prepare_single(spectrum),
        None => {}
    }
    let steps = Steps::new(window, layout);
    let kaiser: [f32; 8] = std::array::from_fn(|i| pass.kaiser[i]);
    let mut at = [0usize; MAX];
    let mut i = 0;
    for &y in &unit.ys {
        for &x in &unit.xs {
            let group = groups.group(i);
            i += 1;
            let (px, py) = (x - region.x.start, y - region.y.start);
            let (origin, weight_origin) = (py * layout.stride + px, py * width + px);
            for (a, key) in at.iter_mut().zip(group) {
                *a = origin.wrapping_add_signed(steps.cells[(key & 0xffff) as usize]);
            }
            let n = group.len();
            // A place before the first one has wrapped around, and is as far beyond as can be.
            assert!(at[..n].iter().all(|&a| a < last));
            if pass.exact {
                variances.of_group::<S>(group, spectrum);
            }
            let job = Group {
                at: &at[..n],
                stride: layout.stride,
                constants: &constants,
                strength: constants.strength(part_of_noise(counts, (x, y), pass.patch)),
                variances,
                kaiser: &kaiser,
                noisy: z.as_ptr(),
                basic: b.as_ptr(),
                sums: sums.as_mut_ptr(),
                stack: stack.as_mut_ptr(),
                pilot: pilot.as_mut_ptr(),
            };
            // SAFETY: the assertion above keeps every patch inside the buffers, which hold `cells` rows.
            let weight = unsafe { filter_group::<S, T>(job) };
            for key in group {
                weights[weight_origin.wrapping_add_signed(steps.pixels[(key & 0xffff) as usize])] += weight;
            }
        }
    }
    back::<S, T>(sums, layout, &kaiser, overlap, numerator);
    convolve::<S>(weights, width, &kaiser, line, denominator);
}

/// Distance in memory of every displacement of the window.
struct Steps {
    cells: Vec<isize>,
    pixels: Vec<isize>,
}

impl Steps {
    fn new(window: Window, layout: Layout) -> Self {
        let offset = |stride: usize| {
            (0..(window.side() * window.side()) as u32)
                .map(|n| {
                    let (dy, dx) = window.displacement(n);
                    dy as isize * stride as isize + dx as isize
                })
                .collect()
        };
        Self { cells: offset(layout.stride), pixels: offset(layout.width) }
    }
}
