//! Frames in, frames out, and which pairs of frames are compared when.
//!
//! A frame's pairs with those before it are looked at once, when it arrives; where the plan looks into the future, their
//! weights serve the earlier frame too, whose sums wait for it. Frames arrive when the first result is pulled that
//! needs them.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use super::frame::Frame;
use super::grid::Grid;
use super::samples::Mirrored;
use super::tile::{Job, Pairing, Scratch};
use crate::device::cpu::pool::Pool;
use crate::device::cpu::schedule::{self, in_order};
use crate::device::cpu::simd::{Kernel, Simd, dispatch};
use crate::device::cpu::{Cpu, Level};
use crate::device::sequence::nothing_left;
use crate::device::{Input, SamplesMut, Sequence};
use crate::memory::check_planes;
use crate::method::Planned;
use crate::nlm::Plan;
use crate::{Control, Error, Result};

/// NL-means at work.
pub(in crate::device::cpu) struct NlmSequence {
    pool: Arc<rayon::ThreadPool>,
    level: Level,
    plan: Plan,
    grid: Grid,
    frames: VecDeque<Frame>,
    /// The number in the sequence of the first of `frames`.
    first: usize,
    /// The next frame to be filtered.
    next: usize,
    /// The next frame to arrive.
    arriving: usize,
    scratch: Pool<Scratch>,
}

impl NlmSequence {
    pub(in crate::device::cpu) fn new(cpu: &Cpu, plan: &Plan) -> Result<Self> {
        if plan.width == 0 || plan.height == 0 || plan.channels == 0 {
            return Err(Error::Shape("a picture without samples cannot be filtered".into()));
        }
        Ok(Self {
            pool: cpu.pool.clone(),
            level: cpu.level,
            plan: plan.clone(),
            grid: Grid::new(plan, cpu.level),
            frames: VecDeque::new(),
            first: 0,
            next: 0,
            arriving: 0,
            scratch: Pool::default(),
        })
    }

    /// One past the last frame.
    fn end(&self) -> usize {
        self.first + self.frames.len()
    }

    fn frame(&self, t: usize) -> &Frame {
        &self.frames[t - self.first]
    }

    /// Frames around the next one that there are.
    fn window(&self) -> RangeInclusive<usize> {
        let last = self.end() - 1;
        self.next.saturating_sub(self.plan.past).max(self.first)..=last.min(self.next + self.plan.future)
    }

    /// Does something to every tile on all threads; the results come in order.
    fn tiles(&self, task: Task, steps: &Steps<'_>, merge: impl FnMut(Part<'_>) + Send) -> Result<()> {
        let whole = [schedule::Part::new(merge, (0..self.grid.len()).collect())];
        let work = |i: usize, scratch: &mut Scratch| {
            let tile = TileWork { sequence: self, task, index: i, scratch, control: steps.control };
            dispatch(self.level, tile)
        };
        self.pool.install(|| {
            in_order(
                self.grid.len(),
                &whole,
                || self.scratch.borrow(),
                |i, scratch| work(i, scratch),
                |merge, i, _, planes| {
                    let tile = self.grid.tile(i);
                    for (j, row) in planes.chunks_exact(tile.columns).enumerate() {
                        let (plane, y) = (j / tile.rows, tile.y + j % tile.rows);
                        merge(Part { plane, y, x: tile.x, row });
                    }
                    steps.step();
                },
            )
        })
    }
}

/// Part of a row of a result.
struct Part<'a> {
    plane: usize,
    y: usize,
    x: usize,
    row: &'a [f32],
}

impl Sequence for NlmSequence {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        Planned::window(&self.plan).check_input(frame)?;
        control.check()?;
        check_planes(frame.planes.len() + frame.guide.len(), self.plan.width, self.plan.height)?;
        self.frames.push_back(Frame::new(&self.grid, frame));
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        Planned::window(&self.plan).check_output(to)?;
        if self.next >= self.end() {
            return Err(nothing_left());
        }
        let rounds = if self.plan.patchwise { 2 } else { 1 };
        let steps = Steps { control, done: AtomicU64::new(0), total: rounds * self.grid.len() as u64 };
        let (width, white) = (self.plan.width, self.plan.white);
        let store = |part: Part<'_>| {
            let at = part.y * width + part.x;
            let to = &mut to[part.plane];
            store(to, at, part.row, white);
        };
        if self.plan.patchwise {
            check_planes(2, self.plan.width, self.plan.height)?;
            let mut totals = [Mirrored::new(&self.grid), Mirrored::new(&self.grid)];
            self.tiles(Task::Sums, &steps, |part| {
                totals[part.plane].row_mut(part.y, width)[part.x..][..part.row.len()]
                    .copy_from_slice(part.row);
            })?;
            totals.iter_mut().for_each(|plane| plane.mirror(width));
            let index = self.next - self.first;
            self.frames[index].totals = Some(totals);
            self.tiles(Task::Shares, &steps, store)?;
        } else {
            self.tiles(Task::Sums, &steps, store)?;
        }
        self.arriving = self.arriving.max(self.window().end() + 1);
        let done = self.next - self.first;
        self.frames[done].sums.clear();
        self.frames[done].totals = None;
        self.next += 1;
        while self.first + self.plan.past < self.next && !self.frames.is_empty() {
            self.frames.pop_front();
            self.first += 1;
        }
        Ok(())
    }
}

/// Writes part of a row.
fn store(to: &mut SamplesMut<'_>, at: usize, row: &[f32], white: f32) {
    let part = at..at + row.len();
    match to {
        SamplesMut::U8(to) => SamplesMut::U8(&mut to[part]).store(row, 1.0, white),
        SamplesMut::U16(to) => SamplesMut::U16(&mut to[part]).store(row, 1.0, white),
        SamplesMut::F32(to) => SamplesMut::F32(&mut to[part]).store(row, 1.0, white),
    }
}

/// Counts tiles.
struct Steps<'a> {
    control: &'a Control,
    done: AtomicU64,
    total: u64,
}

impl Steps<'_> {
    fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.control.report(done, self.total, "NL-means");
    }
}

/// What is done to a tile.
#[derive(Clone, Copy)]
enum Task {
    /// The sums of the frames that arrive, and the result (or, for whole patches, the totals) of the next frame.
    Sums,
    /// The second sweep of whole patches.
    Shares,
}

struct TileWork<'a> {
    sequence: &'a NlmSequence,
    task: Task,
    index: usize,
    scratch: &'a mut Scratch,
    control: &'a Control,
}

impl Kernel for TileWork<'_> {
    type Output = Result<Vec<f32>>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Self::Output {
        match self.task {
            Task::Sums => self.sums::<S>(),
            Task::Shares => self.shares::<S>(),
        }
    }
}

impl<'a> TileWork<'a> {
    fn job(&self) -> Job<'a> {
        let NlmSequence { plan, grid, .. } = self.sequence;
        Job { plan, grid, tile: grid.tile(self.index), control: self.control }
    }

    fn sums<S: Simd>(self) -> Result<Vec<f32>> {
        let sequence = self.sequence;
        let (plan, job) = (&sequence.plan, self.job());
        let Scratch { here, there, work } = &mut *self.scratch;
        let arrivals = sequence.arriving..*sequence.window().end() + 1;
        let waiting =
            |t: usize| sequence.frame(t).sums[self.index].lock().unwrap_or_else(PoisonError::into_inner);
        // The sums of a frame that needs no later one never leave the tile.
        let alone = arrivals == (sequence.next..sequence.next + 1);
        for t in arrivals {
            let frame = sequence.frame(t);
            job.load::<S>(here, frame);
            job.start(work);
            job.compare::<S>(work, Pairing::Within, here, here, (0, 0), frame.exact(frame, plan))?;
            for k in 1..=plan.past.max(plan.future).min(t - sequence.first) {
                let before = sequence.frame(t - k);
                let exact = frame.exact(before, plan);
                let (forth, back) = (k <= plan.past, k <= plan.future && t - k >= sequence.next);
                if !forth && !back {
                    continue;
                }
                job.load::<S>(there, before);
                if !back {
                    job.compare::<S>(work, Pairing::One, here, there, (0, 0), exact)?;
                    continue;
                }
                let mut sums = waiting(t - k);
                work.sums.frame(1).copy_from_slice(&sums);
                if forth {
                    job.compare::<S>(work, Pairing::Both, here, there, (0, 1), exact)?;
                } else {
                    job.compare::<S>(work, Pairing::One, there, here, (1, 1), exact)?;
                }
                sums.copy_from_slice(work.sums.frame(1));
            }
            if !alone {
                *waiting(t) = work.sums.frame(0).to_vec();
            }
        }
        if !alone {
            job.start(work);
            work.sums.frame(0).copy_from_slice(&waiting(sequence.next));
        }
        Ok(if plan.patchwise {
            job.finish_totals::<S>(work)
        } else {
            job.finish::<S>(work, sequence.frame(sequence.next))
        })
    }

    fn shares<S: Simd>(self) -> Result<Vec<f32>> {
        let (sequence, job) = (self.sequence, self.job());
        let Scratch { here, there, work } = &mut *self.scratch;
        let frame = sequence.frame(sequence.next);
        let Some(totals) = &frame.totals else { unreachable!("the first sweep has been done") };
        job.load::<S>(here, frame);
        job.start_shares::<S>(work, here, totals);
        job.share::<S>(work, Pairing::Within, here, here, frame.exact(frame, &sequence.plan))?;
        for t in sequence.window().filter(|t| *t != sequence.next) {
            let other = sequence.frame(t);
            job.load::<S>(there, other);
            job.share::<S>(work, Pairing::One, here, there, frame.exact(other, &sequence.plan))?;
        }
        Ok(job.finish_shares::<S>(work))
    }
}
