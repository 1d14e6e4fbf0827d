//! The regression of groups of patches of any size, in plain loops: for the profiles that others published.

use super::round::{Job, Weights};
use crate::device::cpu::group::matrix::{Matrix, invert};
use crate::device::cpu::simd::{Kernel, Simd};

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    x: Matrix,
    z: Matrix,
    gram: Matrix,
    cross: Matrix,
    map: Matrix,
    estimate: Matrix,
    means: [Vec<f32>; 2],
}

/// Filters the groups of a unit for one channel.
pub(super) struct FilterUnit<'a, 'b> {
    pub(super) job: &'a mut Job<'b>,
    pub(super) scratch: &'a mut Scratch,
}

impl Kernel for FilterUnit<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Self { job, scratch } = self;
        let (unit, lists) = (job.unit, job.lists);
        for (x, y, numbers) in lists.groups(unit) {
            group(job, scratch, x, y, numbers);
        }
    }
}

#[inline(always)]
fn group(job: &mut Job<'_>, s: &mut Scratch, x: usize, y: usize, numbers: &[u16]) {
    let (k, (place, inside)) = (numbers.len(), job.places(x, y));
    let Weights { t, ridge } = job.noise(place, numbers);
    let (patch, width) = (job.plan.patch, job.plan.width);
    let offset = |n: u16| job.offsets.of[usize::from(n)];
    let places = || {
        let there = numbers.iter().map(|&n| place.wrapping_add_signed(offset(n).0 as isize));
        there.map(|at| (at % width, at / width))
    };
    let [xm, zm] = &mut s.means;
    s.x.gather(patch, places(), |x, y| &job.x.row(y)[x..x + patch]);
    s.z.gather(patch, places(), |x, y| &job.z.row(y)[x..x + patch]);
    s.x.mean(xm);
    s.z.mean(zm);
    if job.plan.center {
        s.x.less(xm);
        s.z.less(zm);
    } else {
        zm.fill(0.0);
    }
    let ridge = ridge.max(1e-6 * s.x.square());
    let variance = if patch * patch <= k {
        s.x.transposed_times(&s.x, &mut s.gram);
        s.gram.add_diagonal(ridge);
        invert(&mut s.gram);
        // By way of differences, as for patches of 16 pixels.
        s.z.less_each(&s.x);
        s.x.transposed_times(&s.z, &mut s.cross);
        s.gram.times(&s.cross, &mut s.map);
        s.gram.complement(ridge);
        s.map.add_each(&s.gram);
        s.x.times(&s.map, &mut s.estimate);
        s.gram.square()
    } else {
        // The same by a matrix of the patches.
        s.x.times_transposed(&mut s.gram);
        s.gram.add_diagonal(ridge);
        invert(&mut s.gram);
        s.gram.complement(ridge);
        s.gram.times(&s.z, &mut s.estimate);
        s.gram.square()
    };
    let (weight, kept) = job.weight(k, t, variance);
    let stride = job.unit.region.width();
    let [numerators, all, new] = &mut *job.sums else { unreachable!("three sums a channel") };
    for (row, &n) in s.estimate.rows().zip(numbers) {
        let corner = inside.wrapping_add_signed(offset(n).1 as isize);
        all[corner] += weight;
        new[corner] += kept;
        for ((i, row), mean) in row.chunks_exact(patch).enumerate().zip(zm.chunks_exact(patch)) {
            let to = &mut numerators[corner + i * stride..][..patch];
            to.iter_mut().zip(row.iter().zip(mean)).for_each(|(to, (v, m))| *to += kept * (v + m));
        }
    }
}
