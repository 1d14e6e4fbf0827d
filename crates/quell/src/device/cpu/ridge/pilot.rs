//! The first estimate by a regression of noisy patches on themselves.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::lists::Offsets;
use super::matrix::{Matrix, invert};
use super::round::spread;
use crate::device::cpu::Cpu;
use crate::device::cpu::group::aggregate::{Sums, strips};
use crate::device::cpu::group::matching::{self, Groups, MatchUnit, Window};
use crate::device::cpu::group::unit::{Rect, Source, Unit, units};
use crate::device::cpu::schedule::{Part, in_order};
use crate::device::cpu::simd::{Kernel, Simd, dispatch};
use crate::ridge::SelfPilot;
use crate::{Control, Plane, PlaneView, Result};

/// Buffers of one thread.
#[derive(Default)]
struct Scratch {
    matching: matching::Scratch,
    groups: Groups,
    offsets: Offsets,
    filter: Buffers,
}

/// Matrices of a group.
#[derive(Default)]
struct Buffers {
    y: Matrix,
    map: Matrix,
    estimate: Matrix,
    mean: Vec<f32>,
}

pub(super) fn run(
    cpu: &Cpu,
    own: &SelfPilot,
    noisy: &[PlaneView<'_>],
    sigma: &[f32],
    control: &Control,
) -> Result<Vec<Plane>> {
    let (w, h) = (noisy[0].width(), noisy[0].height());
    let units = units(&own.search, w, h);
    let planes: Vec<Plane> = noisy.iter().map(PlaneView::to_plane).collect();
    let mut out: Vec<Plane> = noisy.iter().map(|_| Plane::zeros(w, h)).collect();
    let area = Rect { x: 0..w, y: 0..h };
    let parts = strips(&area, 2 * noisy.len(), &mut out, &units.iter().collect::<Vec<_>>()).into_iter().map(
        |strip| {
            let items = (0..units.len()).filter(|&i| strip.takes(&units[i])).collect();
            Part::new(strip, items)
        },
    );
    let divide = |_: usize, _: Range<usize>, sums: &[&[f32]], results: &mut [&mut [f32]]| {
        for (result, sums) in results.iter_mut().zip(sums.chunks_exact(2)) {
            result.iter_mut().zip(sums[0].iter().zip(sums[1])).for_each(|(v, (a, b))| *v = a / b);
        }
    };
    let done = AtomicU64::new(0);
    in_order(
        units.len(),
        &parts.collect::<Vec<_>>(),
        Scratch::default,
        |i, Scratch { matching, groups, offsets, filter }| {
            control.check()?;
            let (unit, mut sums) = (&units[i], Sums::default());
            let guide = Source::whole(noisy[0]);
            dispatch(cpu.level, MatchUnit { search: &own.search, unit, guide, scratch: matching, groups });
            offsets.set(Window { radius: own.search.radius }, w, unit.region.width());
            sums.reset(2 * noisy.len(), unit.region.width() * unit.region.height());
            for ((plane, &sigma), sums) in planes.iter().zip(sigma).zip(sums.0.chunks_exact_mut(2)) {
                let job = FilterUnit { own, sigma, unit, groups, offsets, plane, sums, buffers: filter };
                dispatch(cpu.level, job);
            }
            control.report(done.fetch_add(1, Ordering::Relaxed) + 1, units.len() as u64, "pilot");
            Ok(sums)
        },
        |strip, i, next, sums| strip.add(&units[i], sums, next.map(|i| &units[i]), &divide),
    )?;
    Ok(out)
}

struct FilterUnit<'a> {
    own: &'a SelfPilot,
    sigma: f32,
    unit: &'a Unit,
    groups: &'a Groups,
    offsets: &'a Offsets,
    plane: &'a Plane,
    sums: &'a mut [Vec<f32>],
    buffers: &'a mut Buffers,
}

impl Kernel for FilterUnit<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Self { own, sigma, unit, groups, offsets, plane, sums, buffers } = self;
        let Buffers { y, map, estimate, mean } = buffers;
        let [numerators, denominators] = sums else { unreachable!("two sums a channel") };
        let (region, patch, width) = (&unit.region, own.search.patch, plane.width());
        let alpha2 = own.alpha * own.alpha;
        let noise = (patch * patch) as f32 * sigma * sigma;
        let references = unit.ys.iter().flat_map(|&y| unit.xs.iter().map(move |&x| (x, y)));
        for (i, (column, row)) in references.enumerate() {
            let keys = groups.matches(i);
            let offset = |key: u32| offsets.of[usize::from(key as u16)];
            let place = row * width + column;
            let places = keys.iter().map(|&key| place.wrapping_add_signed(offset(key).0 as isize));
            y.gather(plane.as_slice(), width, patch, places);
            y.mean(mean);
            y.less(mean);
            y.times_transposed(map);
            map.add_diagonal(alpha2 * noise);
            invert(map);
            map.complement((1.0 + alpha2) * noise);
            map.times(y, estimate);
            let own = 1.0 / keys.len() as f32;
            let inside = (row - region.y.start) * region.width() + column - region.x.start;
            for ((row, factors), &key) in estimate.rows().zip(map.rows()).zip(keys) {
                let norm = factors.iter().map(|v| v * v).sum::<f32>() + (1.0 - 1.0 / (alpha2 * alpha2)) * own;
                let weight = 1.0 / norm.max(own);
                let corner = inside.wrapping_add_signed(offset(key).1 as isize);
                denominators[corner] += weight;
                for ((i, row), mean) in row.chunks_exact(patch).enumerate().zip(mean.chunks_exact(patch)) {
                    let to = &mut numerators[corner + i * region.width()..][..patch];
                    to.iter_mut().zip(row.iter().zip(mean)).for_each(|(to, (v, m))| *to += weight * (v + m));
                }
            }
        }
        spread(denominators, region.width(), patch);
    }
}
