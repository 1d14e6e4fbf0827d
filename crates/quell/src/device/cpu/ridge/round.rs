//! The rounds: groups of every unit are found, regressed and added up.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::lists::{Lists, Offsets};
use super::{any, group16};
use crate::device::cpu::group::aggregate::{Sums, spread, strips};
use crate::device::cpu::group::matching::{self, Groups, MatchUnit, Window};
use crate::device::cpu::group::unit::{Rect, Source, Unit, units};
use crate::device::cpu::schedule::{Part, in_order};
use crate::device::cpu::simd::dispatch;
use crate::device::cpu::{Channels, Cpu};
use crate::method::group::Search;
use crate::ridge::{Plan, Round};
use crate::{Control, Plane, PlaneView, Result};

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    matching: matching::Scratch,
    groups: Groups,
    pub(super) offsets: Offsets,
    pub(super) group16: group16::Scratch,
    pub(super) any: any::Scratch,
}

/// A picture that goes through its rounds.
pub(super) struct Rounds<'a> {
    cpu: &'a Cpu,
    plan: &'a Plan,
    noisy: &'a [PlaneView<'a>],
    /// Of how many frames each pixel is the average, if not of one.
    counts: Option<PlaneView<'a>>,
    /// The estimate and what has noise left, of every channel.
    x: Vec<Plane>,
    z: Vec<Plane>,
    /// Means over patches of the squared difference of noisy and `z`; none as long as they are the same.
    residue: Vec<Plane>,
}

/// How patches were grouped last.
struct Grouping<'a> {
    search: &'a Search,
    units: Vec<Unit>,
    lists: Vec<Mutex<Lists>>,
}

impl<'a> Grouping<'a> {
    fn new(search: &'a Search, margin: usize, (w, h): (usize, usize)) -> Self {
        // On the picture with its margin; what is filtered of it lies in the middle, at the same place.
        let mut units = units(search, w + 2 * margin, h + 2 * margin);
        for Rect { x, y } in units.iter_mut().map(|u| &mut u.region) {
            (x.end, y.end) = (x.end - 2 * margin, y.end - 2 * margin);
        }
        let lists = units.iter().map(|_| Mutex::default()).collect();
        Self { search, units, lists }
    }
}

/// One unit of one channel, as it is filtered.
pub(super) struct Job<'a> {
    pub(super) plan: &'a Plan,
    pub(super) channel: usize,
    /// Noise that is to be left, in units of sigma.
    pub(super) tau: f32,
    pub(super) unit: &'a Unit,
    pub(super) lists: &'a Lists,
    /// Most patches of a group.
    pub(super) most: usize,
    pub(super) x: &'a Plane,
    pub(super) z: &'a Plane,
    pub(super) residue: Option<&'a Plane>,
    pub(super) counts: Option<PlaneView<'a>>,
    pub(super) offsets: &'a Offsets,
    /// `N`, `S0` and `S1` over the region; the last two for the corners of patches alone.
    pub(super) sums: &'a mut [Vec<f32>],
}

/// What a group counts.
pub(super) struct Weights {
    /// Of the noise that `z` had, what is left in this group, in units of sigma.
    pub(super) t: f32,
    pub(super) ridge: f32,
}

impl Job<'_> {
    /// How noisy a group is, whose first patch is at `place`.
    #[inline(always)]
    pub(super) fn noise(&self, place: usize, numbers: &[u16]) -> Weights {
        let k = numbers.len();
        let (middle, width) = (self.plan.patch / 2, self.plan.width);
        let count =
            self.counts.map_or(1.0, |counts| counts.row(place / width + middle)[place % width + middle]);
        let t = match self.residue {
            None => 1.0,
            Some(residue) => {
                let residue = residue.as_slice();
                let at =
                    |n: &u16| residue[place.wrapping_add_signed(self.offsets.of[usize::from(*n)].0 as isize)];
                let square = numbers.iter().map(at).sum::<f32>() / k as f32;
                1.0 - (square * count).sqrt() / self.plan.sigma[self.channel]
            }
        };
        let t = t.max(self.tau + 1e-6);
        Weights { t, ridge: self.plan.ridge(self.channel, k, t) / count }
    }

    /// The weight of a group and the part of it that is new, where `|I - D A|^2` is this.
    #[inline(always)]
    pub(super) fn weight(&self, k: usize, t: f32, variance: f32) -> (f32, f32) {
        let weight = k as f32 / (self.most as f32 * (1.0 + variance));
        (weight, weight * (1.0 - (self.tau / t).min(0.999)))
    }

    /// Where a reference patch is in the picture and in the region.
    #[inline(always)]
    pub(super) fn places(&self, x: usize, y: usize) -> (usize, usize) {
        let region = &self.unit.region;
        let inside = (y - region.y.start) * region.width() + x - region.x.start;
        (y * self.plan.width + x, inside)
    }
}

impl<'a> Rounds<'a> {
    pub(super) fn new(cpu: &'a Cpu, plan: &'a Plan, channels: Channels<'a>, pilot: Vec<Plane>) -> Self {
        let Channels { planes: noisy, counts } = channels;
        let z = noisy.iter().map(PlaneView::to_plane).collect();
        Self { cpu, plan, noisy, counts, x: pilot, z, residue: Vec::new() }
    }

    /// Goes through all rounds, and gives what is left then.
    pub(super) fn run(mut self, control: &Control) -> Result<Vec<Plane>> {
        let plan = self.plan;
        let mut grouping: Option<Grouping<'_>> = None;
        for (index, round) in plan.rounds.iter().enumerate() {
            let guide = round.search.as_ref().map(|search| {
                grouping = Some(Grouping::new(search, plan.margin, (plan.width, plan.height)));
                self.guide(round)
            });
            let Some(grouping) = &grouping else { continue };
            if index > 0 {
                self.residue = self.residues();
            }
            let control = control.section(index, plan.rounds.len());
            self.round(round, grouping, guide.as_ref(), &control)?;
        }
        Ok(self.z)
    }

    /// What is compared.
    fn guide(&self, round: &Round) -> Plane {
        let (margin, w, h) = (self.plan.margin, self.plan.width, self.plan.height);
        let mut guide = Plane::zeros(w + 2 * margin, h + 2 * margin);
        guide.as_mut_slice().par_chunks_exact_mut(w + 2 * margin).enumerate().for_each(|(y, to)| {
            let y = y.saturating_sub(margin).min(h - 1);
            let (x, z) = (self.x[0].row(y), self.z[0].row(y));
            for ((to, x), z) in to[margin..].iter_mut().zip(x).zip(z) {
                *to = z + round.blend * (x - z);
            }
            let (first, last) = (to[margin], to[margin + w - 1]);
            to[..margin].fill(first);
            to[margin + w..].fill(last);
        });
        guide
    }

    /// Means of squared differences over patches; what begins in the last rows and columns has none.
    fn residues(&self) -> Vec<Plane> {
        let (w, h, n) = (self.plan.width, self.plan.height, self.plan.patch);
        let scale = 1.0 / (n * n) as f32;
        let residue = |(y, z): (&PlaneView<'_>, &Plane)| {
            let mut out = Plane::zeros(w, h);
            let rows = out.as_mut_slice().par_chunks_exact_mut(w).enumerate().take(h + 1 - n);
            rows.for_each_init(
                || vec![0.0f32; w],
                |line, (row, to)| {
                    line.fill(0.0);
                    for i in row..row + n {
                        for (v, (a, b)) in line.iter_mut().zip(y.row(i).iter().zip(z.row(i))) {
                            *v += (a - b) * (a - b);
                        }
                    }
                    to.iter_mut()
                        .zip(line.windows(n))
                        .for_each(|(to, v)| *to = scale * v.iter().sum::<f32>());
                },
            );
            out
        };
        self.noisy.iter().zip(&self.z).map(residue).collect()
    }

    /// One round; with new groups, where there is a guide to find them on.
    fn round(
        &mut self,
        round: &Round,
        grouping: &Grouping<'_>,
        guide: Option<&Plane>,
        control: &Control,
    ) -> Result<()> {
        let (plan, channels) = (self.plan, self.noisy.len());
        let Grouping { search, units, lists } = grouping;
        let area = Rect { x: 0..plan.width, y: 0..plan.height };
        let mut next: Vec<Plane> = (0..2 * channels).map(|_| Plane::zeros(plan.width, plan.height)).collect();
        let parts = strips(&area, 3 * channels, &mut next, units).into_iter().map(|strip| {
            let items = (0..units.len()).filter(|&i| strip.takes(&units[i])).collect();
            Part::new(strip, items)
        });
        let done = AtomicU64::new(0);
        let finish = |y: usize, columns: Range<usize>, sums: &[&[f32]], results: &mut [&mut [f32]]| {
            for (c, (sums, results)) in sums.chunks_exact(3).zip(results.chunks_exact_mut(2)).enumerate() {
                let [x, z] = results else { unreachable!("chunks of two") };
                for (i, old) in self.z[c].row(y)[columns.clone()].iter().enumerate() {
                    let [numerator, all, new] = [sums[0][i], sums[1][i], sums[2][i]];
                    x[i] = numerator / new;
                    z[i] = (numerator + old * (all - new)) / all;
                }
            }
        };
        in_order(
            units.len(),
            &parts.collect::<Vec<_>>(),
            || self.cpu.ridge.scratch.borrow(),
            |i, scratch| {
                control.check()?;
                let mut sums = self.cpu.ridge.sums.borrow();
                let mut lists = lists[i].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if let Some(guide) = guide {
                    self.group(search, &units[i], guide, scratch, &mut lists);
                }
                self.filter(round, search, &units[i], &lists, scratch, &mut sums);
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                control.report(done, units.len() as u64, "context ridge");
                Ok(sums)
            },
            |strip, i, next, sums| strip.add(&units[i], sums, next.map(|i| &units[i]), &finish),
        )?;
        let mut next = next.into_iter();
        (self.x, self.z) = (0..channels).filter_map(|_| Some((next.next()?, next.next()?))).unzip();
        Ok(())
    }

    /// Finds the groups of a unit.
    fn group(&self, search: &Search, unit: &Unit, guide: &Plane, scratch: &mut Scratch, lists: &mut Lists) {
        let Scratch { matching, groups, .. } = scratch;
        let margin = 2 * self.plan.margin;
        let mut unit = unit.clone();
        (unit.region.x.end, unit.region.y.end) = (unit.region.x.end + margin, unit.region.y.end + margin);
        let guide = Source::whole(guide.view());
        dispatch(self.cpu.level, MatchUnit { search, unit: &unit, guide, scratch: matching, groups });
        lists.keep(groups, unit.xs.len() * unit.ys.len(), self.plan.size);
    }

    /// Filters the groups of a unit.
    fn filter(
        &self,
        round: &Round,
        search: &Search,
        unit: &Unit,
        lists: &Lists,
        scratch: &mut Scratch,
        out: &mut Sums,
    ) {
        let (plan, region) = (self.plan, &unit.region);
        let width = region.width();
        let Scratch { offsets, group16, any, .. } = scratch;
        offsets.set(Window { radius: search.radius }, plan.width, width);
        out.reset(3 * self.noisy.len(), width * region.height());
        for (channel, sums) in out.0.chunks_exact_mut(3).enumerate() {
            let mut job = Job {
                plan,
                channel,
                tau: round.tau,
                unit,
                lists,
                most: search.group,
                x: &self.x[channel],
                z: &self.z[channel],
                residue: self.residue.get(channel),
                counts: self.counts,
                offsets,
                sums,
            };
            if group16::supports(plan) {
                dispatch(self.cpu.level, group16::FilterUnit { job: &mut job, scratch: group16 });
            } else {
                dispatch(self.cpu.level, any::FilterUnit { job: &mut job, scratch: any });
            }
            sums[1..].iter_mut().for_each(|corners| spread(corners, width, plan.patch));
        }
    }
}

/// One round by itself: the next estimate, and what has noise left then.
#[cfg(test)]
pub(super) fn one(
    cpu: &Cpu,
    plan: &Plan,
    index: usize,
    noisy: &[PlaneView<'_>],
    (x, z): (&[Plane], &[Plane]),
) -> Result<(Vec<Plane>, Vec<Plane>)> {
    let mut rounds =
        Rounds { x: x.to_vec(), z: z.to_vec(), ..Rounds::new(cpu, plan, noisy.into(), Vec::new()) };
    let round = &plan.rounds[index];
    let search = round.search.as_ref().ok_or_else(|| crate::Error::Unsupported("no groups".into()))?;
    let grouping = Grouping::new(search, plan.margin, (plan.width, plan.height));
    let guide = rounds.guide(round);
    rounds.residue = if index > 0 { rounds.residues() } else { Vec::new() };
    rounds.round(round, &grouping, Some(&guide), &Control::new())?;
    Ok((rounds.x, rounds.z))
}
