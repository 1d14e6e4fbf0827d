//! Grouping: the similar patches of every reference patch of a unit.
//!
//! The fast way serves the patches of the profiles: distances of 32 neighbouring references at once, one displacement after the
//! other, exact in 16 bits ([`scan`], [`select`]). Whatever it cannot do (other patch sizes, prefilters, odd
//! columns at the border) goes through the plain comparison of one reference at a time.

use std::ops::Range;

use super::unit::{Source, Unit};
use super::{scan, select};
use crate::device::cpu::simd::{Kernel, Simd};
use crate::method::group::{Match, Search};
use crate::transform::Transform;

/// Groups of a unit, reference by reference in rows.
#[derive(Default)]
pub(in crate::device::cpu) struct Groups {
    /// Most patches in a group.
    size: usize,
    /// `size` keys per reference: distance in the upper half, displacement number in the lower half.
    keys: Vec<u32>,
    /// Patches per group, before rounding down.
    counts: Vec<u8>,
}

impl Groups {
    /// Room for `references` groups of at most `size`.
    pub(in crate::device::cpu) fn reset(&mut self, size: usize, references: usize) {
        self.size = size;
        self.keys.clear();
        self.keys.resize(size * references, 0);
        self.counts.clear();
        self.counts.resize(references, 0);
    }

    /// Writes the group of reference `i`: the reference itself, then `others` in order.
    pub(in crate::device::cpu) fn set(&mut self, i: usize, own: u32, others: impl Iterator<Item = u32>) {
        let slot = &mut self.keys[i * self.size..][..self.size];
        slot[0] = own;
        let mut n = 1;
        for (s, key) in slot[1..].iter_mut().zip(others) {
            *s = key;
            n += 1;
        }
        self.counts[i] = n;
    }

    /// All matches of reference `i`.
    pub(in crate::device::cpu) fn matches(&self, i: usize) -> &[u32] {
        &self.keys[i * self.size..][..self.counts[i].into()]
    }

    /// The group of reference `i`: its matches, rounded down to a power of two.
    pub(in crate::device::cpu) fn group(&self, i: usize) -> &[u32] {
        let all = self.matches(i);
        &all[..1 << all.len().ilog2()]
    }
}

/// Displacements are numbered row by row over the search window.
#[derive(Clone, Copy)]
pub(in crate::device::cpu) struct Window {
    pub(in crate::device::cpu) radius: usize,
}

impl Window {
    pub(in crate::device::cpu) fn side(self) -> usize {
        2 * self.radius + 1
    }

    /// Number of the displacement (0, 0).
    pub(in crate::device::cpu) fn own(self) -> u32 {
        (self.radius * self.side() + self.radius) as u32
    }

    /// The displacement `(dy, dx)` of a key.
    pub(in crate::device::cpu) fn displacement(self, key: u32) -> (i32, i32) {
        let number = (key & 0xffff) as usize;
        let r = self.radius as i32;
        ((number / self.side()) as i32 - r, (number % self.side()) as i32 - r)
    }

    pub(in crate::device::cpu) fn key(self, m: &Match) -> u32 {
        let r = self.radius as i32;
        (m.ssd << 16) | ((m.dy + r) as u32 * self.side() as u32 + (m.dx + r) as u32)
    }
}

/// Buffers of one thread.
#[derive(Default)]
pub(in crate::device::cpu) struct Scratch {
    plane: Vec<u8>,
    coefficients: Vec<i16>,
    scan: scan::Scratch,
    select: select::Scratch,
}

/// Finds the groups of a unit. `guide` is the plane that patches are compared on, as samples.
pub(in crate::device::cpu) struct MatchUnit<'a> {
    pub(in crate::device::cpu) search: &'a Search,
    pub(in crate::device::cpu) unit: &'a Unit,
    pub(in crate::device::cpu) guide: Source<'a>,
    pub(in crate::device::cpu) scratch: &'a mut Scratch,
    pub(in crate::device::cpu) groups: &'a mut Groups,
}

impl Kernel for MatchUnit<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Self { search, unit, guide, scratch, groups } = self;
        groups.reset(search.group, unit.xs.len() * unit.ys.len());
        let region = &unit.region;
        scratch.plane.resize(region.width() * region.height(), 0);
        for (y, out) in region.y.clone().zip(scratch.plane.chunks_exact_mut(region.width())) {
            for (q, &z) in out.iter_mut().zip(guide.row(y, region.x.clone())) {
                *q = search.matching.quantise(z);
            }
        }
        let mut regular = 0..0;
        if search.prefilter == 0.0 {
            regular = on_grid(search, &unit.xs);
            macro_rules! fast {
                ($($patch:literal: $($step:literal)+;)+) => {
                    match (search.patch, search.step) {
                        $($(($patch, $step) => {
                            fast::<S, $step, $patch>(search, unit, guide, regular.clone(), scratch, groups);
                        })+)+
                        _ => regular = 0..0,
                    }
                };
            }
            fast! { 8: 1 2 3 4 5 6 7 8; 6: 2 3 4; 11: 4; 13: 4; }
        } else {
            prefilter(search, unit, guide, &mut scratch.coefficients);
        }
        for (row, &y) in unit.ys.iter().enumerate() {
            for (column, &x) in unit.xs.iter().enumerate().filter(|(i, _)| !regular.contains(i)) {
                let matches = plain(search, unit, scratch, guide.size, x, y);
                let window = Window { radius: search.radius };
                groups.set(row * unit.xs.len() + column, window.own(), matches.iter().map(|m| window.key(m)));
            }
        }
    }
}

/// Which of some positions are on the grid: only the first and the last one of all may lie beside it.
fn on_grid(search: &Search, positions: &[usize]) -> Range<usize> {
    let on = |x: usize| x % search.step == search.offset % search.step;
    let first = usize::from(!on(positions[0]));
    let end = positions.iter().rposition(|&x| on(x)).map_or(first, |i| i + 1);
    first..end.max(first)
}

/// The `regular` columns, a block of 32 lanes and a band of rows at a time.
#[inline(always)]
fn fast<S: Simd, const STEP: usize, const P: usize>(
    search: &Search,
    unit: &Unit,
    guide: Source<'_>,
    regular: Range<usize>,
    scratch: &mut Scratch,
    groups: &mut Groups,
) {
    let Some(&x0) = unit.xs.get(regular.start) else { return };
    let window = Window { radius: search.radius };
    let band = scan::band_rows(STEP, window);
    scratch.scan.load::<STEP, P>(unit, x0, window, &scratch.plane, guide.size);
    let mut row = 0;
    // A row that lies beside the grid is a band of its own.
    for rows in unit.ys.chunk_by(|a, b| b - a == STEP).flat_map(|run| run.chunks(band)) {
        let mut column = regular.start;
        while column < regular.end {
            let lanes = (regular.end - column).min(scan::lanes(P, STEP));
            scan::distances::<S, STEP, P>(&mut scratch.scan, window, column - regular.start, lanes, rows);
            for r in 0..rows.len() {
                let distances = scratch.scan.row(window, r);
                select::nearest::<S>(&mut scratch.select, distances, search.group, search.max_ssd, lanes);
                for lane in 0..lanes {
                    let i = (row + r) * unit.xs.len() + column + lane;
                    groups.set(i, window.own(), scratch.select.lane(lane, search.group - 1));
                }
            }
            column += lanes;
        }
        row += rows.len();
    }
}

/// The matches of one reference patch by definition, without the reference itself.
fn plain(
    search: &Search,
    unit: &Unit,
    scratch: &Scratch,
    (w, h): (usize, usize),
    x: usize,
    y: usize,
) -> Vec<Match> {
    let (n, r, region) = (search.patch, search.radius, &unit.region);
    let stride = region.width();
    let mut best: Vec<Match> = Vec::with_capacity(search.group);
    for cy in y.saturating_sub(r)..=(y + r).min(h - n) {
        for cx in x.saturating_sub(r)..=(x + r).min(w - n) {
            if (cx, cy) == (x, y) {
                continue;
            }
            let limit = match best.last() {
                Some(last) if best.len() + 1 == search.group => last.ssd.min(search.max_ssd + 1),
                _ => search.max_ssd + 1,
            };
            let at = |x: usize, y: usize| (y - region.y.start) * stride + x - region.x.start;
            let ssd = if search.prefilter == 0.0 {
                plane_ssd(&scratch.plane, stride, n, at(x, y), at(cx, cy), limit)
            } else {
                let area = n * n;
                let patch = |i: usize| &scratch.coefficients[i * area..][..area];
                let pairs = patch(at(x, y)).iter().zip(patch(at(cx, cy)));
                pairs.map(|(&a, &b)| (i32::from(a) - i32::from(b)).pow(2) as u32).sum()
            };
            if ssd < limit && search.group > 1 {
                // Candidates come in raster order, so among equals the earlier one stays in front.
                let m = Match { ssd, dy: cy as i32 - y as i32, dx: cx as i32 - x as i32 };
                best.truncate(search.group - 2);
                best.insert(best.partition_point(|b| b.ssd <= ssd), m);
            }
        }
    }
    best
}

/// Sum of squared differences, given up once it reaches `limit`.
fn plane_ssd(plane: &[u8], stride: usize, n: usize, a: usize, b: usize, limit: u32) -> u32 {
    let mut sum = 0;
    for row in 0..n {
        let (a, b) = (&plane[a + row * stride..][..n], &plane[b + row * stride..][..n]);
        sum += a.iter().zip(b).map(|(&a, &b)| u32::from(a.abs_diff(b)).pow(2)).sum::<u32>();
        if sum >= limit {
            break;
        }
    }
    sum
}

/// Thresholded DCT coefficients of every patch of the region (DAB07 eq. 4), in matching units.
fn prefilter(search: &Search, unit: &Unit, guide: Source<'_>, out: &mut Vec<i16>) {
    let (n, region) = (search.patch, &unit.region);
    let t = Transform::Dct.forward(n);
    out.clear();
    out.resize(region.width() * region.height() * n * n, 0);
    let mut rows = vec![0.0f64; n * n];
    for y in region.y.start..=region.y.end - n {
        for x in region.x.start..=region.x.end - n {
            for i in 0..n {
                let samples = guide.row(y + i, x..x + n);
                for v in 0..n {
                    rows[i * n + v] = t.row(v).iter().zip(samples).map(|(a, &b)| a * f64::from(b)).sum();
                }
            }
            let at = ((y - region.y.start) * region.width() + x - region.x.start) * n * n;
            for u in 0..n {
                for v in 0..n {
                    let c: f64 = t.row(u).iter().enumerate().map(|(i, a)| a * rows[i * n + v]).sum();
                    if c.abs() > search.prefilter.into() {
                        out[at + u * n + v] = (c / f64::from(search.matching.scale)).round() as i16;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plane;
    use crate::bm3d::{Plan, Profile};
    use crate::device::cpu::Level;
    use crate::device::cpu::group::unit::units;
    use crate::device::cpu::simd::dispatch;
    use crate::method::group::Guide;

    /// Noise, a flat part and a ramp of few levels: distances with many ties and with none.
    fn picture(w: usize, h: usize) -> Plane {
        let mut state = 7u32;
        let data = (0..w * h).map(|i| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = (state >> 24) as f32;
            match (i % w) * 3 / w {
                0 => 80.0,
                1 => (i / w / 7 * 20) as f32,
                _ => noise,
            }
        });
        Plane::from_vec(w, h, data.collect()).unwrap()
    }

    /// Every match list of both passes, entry by entry, at every level (contract 3).
    fn check(w: usize, h: usize, change: impl Fn(&mut crate::bm3d::Params)) {
        let plane = picture(w, h);
        let mut params = Profile::Normal.params(25.0);
        change(&mut params);
        let plan = Plan::new(&params, w, h, &[25.0]).unwrap();
        for pass in &plan.passes {
            check_search(&pass.search(), &plane);
        }
    }

    fn check_search(search: &Search, plane: &Plane) {
        let guide = Guide::new(search.clone(), &plane.view());
        let window = Window { radius: search.radius };
        for level in Level::ALL.into_iter().filter(|&l| l <= Level::detect()) {
            let (mut scratch, mut groups) = (Scratch::default(), Groups::default());
            for unit in &units(search, plane.width(), plane.height()) {
                let source = Source::whole(plane.view());
                let (scratch, groups) = (&mut scratch, &mut groups);
                dispatch(level, MatchUnit { search, unit, guide: source, scratch, groups });
                let references = unit.ys.iter().flat_map(|&y| unit.xs.iter().map(move |&x| (x, y)));
                for (i, (x, y)) in references.enumerate() {
                    let want: Vec<u32> = guide.matches(x, y).iter().map(|m| window.key(m)).collect();
                    assert_eq!(groups.matches(i), want, "{level:?}, step {}, ({x}, {y})", search.step);
                }
            }
        }
    }

    #[test]
    fn lists_are_those_of_the_reference_at_every_step() {
        for step in 1..=8 {
            check(83, 61, |p| {
                (p.hard.step, p.wiener.step) = (step, step);
                (p.hard.window, p.wiener.window) = (11, 7);
                (p.hard.group, p.wiener.group) = (8, 32);
            });
        }
    }

    #[test]
    fn lists_are_those_of_the_reference_in_wide_windows_and_large_groups() {
        check(70, 67, |p| (p.hard.group, p.wiener.group) = (16, 64));
        check(41, 53, |p| (p.hard.group, p.wiener.group) = (1, 128));
        check(29, 31, |p| (p.hard.tau, p.wiener.tau) = (300.0, 0.0));
    }

    #[test]
    fn lists_are_those_of_the_reference_on_grids_with_an_offset() {
        for (step, offset, (w, h)) in
            [(4, 0, (83, 61)), (4, 2, (150, 41)), (4, 3, (31, 37)), (2, 1, (45, 30)), (3, 1, (9, 8))]
        {
            let plan = Plan::new(&Profile::Normal.params(25.0), w, h, &[25.0]).unwrap();
            let base = plan.passes[0].search();
            let search = Search { patch: 6, step, offset, radius: 9, group: 48, max_ssd: 65534, ..base };
            check_search(&search, &picture(w, h));
        }
        for patch in [11, 13] {
            let plan = Plan::new(&Profile::Normal.params(25.0), 90, 47, &[25.0]).unwrap();
            check_search(&Search { patch, step: 4, ..plan.passes[0].search() }, &picture(90, 47));
        }
    }

    #[test]
    fn lists_are_those_of_the_reference_for_other_patches() {
        for patch in [4, 7, 12, 16] {
            check(40, 37, |p| {
                p.hard.transform = Transform::Dct;
                (p.hard.patch, p.wiener.patch) = (patch, patch);
                (p.hard.window, p.wiener.window) = (9, 13);
            });
        }
        check(30, 33, |p| (p.hard.lambda2d, p.hard.window) = (2.0, 9));
    }
}
