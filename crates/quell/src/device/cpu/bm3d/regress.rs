//! Groups whose noisy patches are regressed on themselves ([`Shrink::Regress`](crate::bm3d::Shrink::Regress)).

use super::filter8::{FilterUnit, part_of_noise};
use crate::device::cpu::group::aggregate::spread;
use crate::device::cpu::group::matching::Window;
use crate::device::cpu::group::matrix::{Matrix, invert};
use crate::device::cpu::simd::{Kernel, Simd};

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    y: Matrix,
    map: Matrix,
    estimate: Matrix,
    mean: Vec<f32>,
}

/// [`FilterUnit`] for such groups; the job's own scratch stays untouched.
pub(super) struct Regress<'a> {
    pub(super) job: FilterUnit<'a>,
    pub(super) alpha: f32,
    pub(super) scratch: &'a mut Scratch,
}

impl Kernel for Regress<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Self { job, alpha, scratch: Scratch { y, map, estimate, mean } } = self;
        let FilterUnit { pass, unit, groups, noisy, sigma, counts, numerator, denominator, .. } = job;
        let (region, patch) = (&unit.region, pass.patch);
        let window = Window { radius: pass.radius };
        let (alpha2, whole) = (alpha * alpha, (patch * patch) as f32 * sigma * sigma);
        let references = unit.ys.iter().flat_map(|&y| unit.xs.iter().map(move |&x| (x, y)));
        for (i, (column, row)) in references.enumerate() {
            let keys = groups.matches(i);
            let noise = whole * part_of_noise(counts, (column, row), patch);
            let place = |&key: &u32| {
                let (dy, dx) = window.displacement(key);
                (column.wrapping_add_signed(dx as isize), row.wrapping_add_signed(dy as isize))
            };
            y.gather(patch, keys.iter().map(place), |x, y| noisy.row(y, x..x + patch));
            y.mean(mean);
            y.less(mean);
            y.times_transposed(map);
            map.add_diagonal(alpha2 * noise);
            invert(map);
            map.complement((1.0 + alpha2) * noise);
            map.times(y, estimate);
            let own = 1.0 / keys.len() as f32;
            for ((row, factors), (x, y)) in estimate.rows().zip(map.rows()).zip(keys.iter().map(place)) {
                let norm = factors.iter().map(|v| v * v).sum::<f32>() + (1.0 - 1.0 / (alpha2 * alpha2)) * own;
                let weight = 1.0 / norm.max(own);
                let corner = (y - region.y.start) * region.width() + x - region.x.start;
                denominator[corner] += weight;
                for ((i, row), mean) in row.chunks_exact(patch).enumerate().zip(mean.chunks_exact(patch)) {
                    let to = &mut numerator[corner + i * region.width()..][..patch];
                    to.iter_mut().zip(row.iter().zip(mean)).for_each(|(to, (v, m))| *to += weight * (v + m));
                }
            }
        }
        spread(denominator, region.width(), patch);
    }
}
