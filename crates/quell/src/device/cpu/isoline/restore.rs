//! Lines of most energy in a residual, and what is put back of them.

use crate::device::cpu::frames::{Band, Layout, Padded};
use crate::device::cpu::frames::{BoxSums, Part};
use crate::device::cpu::simd::{Kernel, Simd, inlined};
use crate::isoline::{Plan, Restoring};

/// The lines of the first half of the directions, as distances in memory: `[direction][pixel]`.
pub(super) struct Lines {
    offsets: Vec<isize>,
    pixels: usize,
}

impl Lines {
    pub(super) fn new(plan: &Plan, layout: Layout) -> Self {
        let half = plan.patterns.directions() / 2;
        let mut offsets = Vec::new();
        for d in 0..half {
            let sides = [plan.patterns.segment(d), plan.patterns.segment(d + half)];
            offsets.push(0);
            offsets.extend(sides.concat().iter().map(|o| layout.offset(o.dy, o.dx)));
        }
        Self { offsets, pixels: 2 * plan.patterns.length() + 1 }
    }
}

/// Chooses lines in one band. The band has, for every plane of `q`, its energy, its mean, and, where there is
/// `other`, the mean of that; it may have one plane more, for the directions.
pub(super) struct ChooseBand<'a, 'b> {
    pub(super) lines: &'a Lines,
    pub(super) restoring: &'a Restoring,
    pub(super) q: &'a [Padded],
    pub(super) other: &'a [Padded],
    pub(super) columns: std::ops::Range<usize>,
    pub(super) band: &'a mut Band<'b>,
}

impl Kernel for ChooseBand<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let layout = self.q[0].layout;
        let (channels, others) = (self.q.len(), self.other.len());
        let part = Part::new(layout, self.band.first, self.band.rows, self.columns, self.restoring.square);
        let mut boxes = BoxSums::new(&part);
        let mut means = vec![0.0; part.tall * part.wide];
        let mut energy = vec![0.0; self.band.rows * part.wide];
        let mut step = vec![0.0; self.band.rows * part.wide];
        let sharpness = S::splat(self.restoring.sharpness);
        let (zero, one, half) = (S::splat(0.0), S::splat(1.0), S::splat(0.5));
        let planes = 2 * channels + others;
        debug_assert!(self.band.planes.len() >= planes);
        for (d, line) in self.lines.offsets.chunks_exact(self.lines.pixels).enumerate() {
            for c in 0..channels {
                boxes.means::<S>(
                    &part,
                    #[inline(always)]
                    |row, x, at| {
                        // SAFETY: the margin is as wide as a line reaches, and `means` has a row of `wide` for each.
                        unsafe {
                            let mean = mean::<S>(self.q[c].data().as_ptr().add(at), line);
                            S::store(means.as_mut_ptr().add(row * part.wide + x), mean);
                            S::mul(mean, mean)
                        }
                    },
                    &mut energy,
                );
                for y in 0..self.band.rows {
                    for x in part.vectors() {
                        let to = part.to(y, x);
                        // SAFETY: `to` and the 7 samples after it are in every plane of the band, `here` in the
                        // buffers of the part.
                        unsafe {
                            let here = y * part.wide + x;
                            let e = S::load(energy.as_ptr().add(here));
                            let m = S::load(means.as_ptr().add(part.inside(y) * part.wide + x));
                            let pe = self.band.planes[c].as_mut_ptr().add(to);
                            let pm = self.band.planes[channels + c].as_mut_ptr().add(to);
                            if d == 0 {
                                S::store(pe, e);
                                S::store(pm, m);
                                continue;
                            }
                            let old = S::load(pe);
                            let gain = S::sub(e, old);
                            let t = if c == 0 {
                                let t = S::max(zero, S::fma(sharpness, gain, half));
                                let t = S::sub(one, S::max(zero, S::sub(one, t)));
                                S::store(step.as_mut_ptr().add(here), t);
                                t
                            } else {
                                S::load(step.as_ptr().add(here))
                            };
                            S::store(pe, S::fma(t, gain, old));
                            let old = S::load(pm);
                            S::store(pm, S::fma(t, S::sub(m, old), old));
                        }
                    }
                }
            }
            if let Some(directions) = self.band.planes.get_mut(planes) {
                for (y, x) in (0..self.band.rows).flat_map(|y| part.vectors().map(move |x| (y, x))) {
                    let to = &mut directions[part.to(y, x)..][..8];
                    for (to, &t) in to.iter_mut().zip(&step[y * part.wide + x..]) {
                        if d == 0 || t > 0.5 {
                            *to = d as f32;
                        }
                    }
                }
            }
            for (c, other) in self.other.iter().enumerate() {
                for y in 0..self.band.rows {
                    for x in part.vectors() {
                        let to = part.to(y, x);
                        // SAFETY: as above.
                        unsafe {
                            let at = layout.index(self.band.first + y, part.column(x));
                            let m = mean::<S>(other.data().as_ptr().add(at), line);
                            let pm = self.band.planes[2 * channels + c].as_mut_ptr().add(to);
                            if d == 0 {
                                S::store(pm, m);
                                continue;
                            }
                            let t = S::load(step.as_ptr().add(y * part.wide + x));
                            let old = S::load(pm);
                            S::store(pm, S::fma(t, S::sub(m, old), old));
                        }
                    }
                }
            }
        }
    }
}

/// The mean over the pixels of a line.
///
/// # Safety
/// Eight samples must be readable at every offset from `p`.
#[inline(always)]
unsafe fn mean<S: Simd>(p: *const f32, line: &[isize]) -> S::F32 {
    // SAFETY: the caller vouches for it.
    unsafe {
        let mut sum = S::load(p.offset(line[0]));
        for &o in &line[1..] {
            sum = S::add(sum, S::load(p.offset(o)));
        }
        S::mul(sum, S::splat(1.0 / line.len() as f32))
    }
}

/// What is put back.
#[derive(Clone, Copy)]
pub(super) enum Finish<'a> {
    /// The first residual `q`, onto the pooled planes.
    First { pooled: &'a [Padded] },
    /// What the second round finds in `r`, onto `smooth`, averaged with the pilot.
    Second { r: &'a [Padded], smooth: &'a [Padded], pilot: &'a [Padded], share: f32 },
}

/// Puts back in one band what the chosen lines hold, and what they leave: plane `c` of the band becomes the result.
pub(super) struct RestoreBand<'a, 'b> {
    pub(super) restoring: &'a Restoring,
    pub(super) q: &'a [Padded],
    /// As [`ChooseBand`] made it.
    pub(super) chosen: &'a [Padded],
    /// How many frames each pixel is the average of, if more than one.
    pub(super) count: Option<&'a Padded>,
    pub(super) finish: Finish<'a>,
    pub(super) columns: std::ops::Range<usize>,
    pub(super) band: &'a mut Band<'b>,
}

impl Kernel for RestoreBand<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let layout = self.q[0].layout;
        let channels = self.q.len();
        let part = Part::new(layout, self.band.first, self.band.rows, self.columns, self.restoring.square);
        let mut boxes = BoxSums::new(&part);
        let mut rest = vec![0.0; self.band.rows * part.wide];
        let (zero, one) = (S::splat(0.0), S::splat(1.0));
        for c in 0..channels {
            let (q, mean) = (self.q[c].data(), self.chosen[channels + c].data());
            boxes.means::<S>(
                &part,
                #[inline(always)]
                |_, _, at| {
                    let (q, mean) = (&q[at..at + 8], &mean[at..at + 8]);
                    // SAFETY: both have 8 samples.
                    let left = unsafe { S::sub(S::load(q.as_ptr()), S::load(mean.as_ptr())) };
                    S::mul(left, left)
                },
                &mut rest,
            );
            let energy = self.chosen[c].data();
            let line_noise = S::splat(self.restoring.line_noise[c]);
            let pixel_noise = S::splat(self.restoring.pixel_noise[c]);
            for y in 0..self.band.rows {
                for x in part.vectors() {
                    let at = layout.index(self.band.first + y, part.column(x));
                    let load = inlined(
                        #[inline(always)]
                        |plane: &[f32]| {
                            let samples = &plane[at..at + 8];
                            // SAFETY: there are 8.
                            unsafe { S::load(samples.as_ptr()) }
                        },
                    );
                    let rest = &rest[y * part.wide + x..][..8];
                    // SAFETY: there are 8.
                    let mut t = unsafe { S::load(rest.as_ptr()) };
                    let mut e = load(energy);
                    // So many times less noise is so many times more energy.
                    if let Some(count) = self.count {
                        let n = load(count.data());
                        (e, t) = (S::mul(e, n), S::mul(t, n));
                    }
                    let result = match self.finish {
                        Finish::First { pooled } => {
                            let (m, r) = (load(mean), load(q));
                            let line = S::max(zero, S::sub(one, S::div(line_noise, e)));
                            let pixel = S::max(zero, S::sub(one, S::div(pixel_noise, t)));
                            S::fma(pixel, S::sub(r, m), S::fma(line, m, load(pooled[c].data())))
                        }
                        Finish::Second { r, smooth, pilot, share } => {
                            let (m, r) = (load(self.chosen[2 * channels + c].data()), load(r[c].data()));
                            let line = S::div(e, S::add(e, line_noise));
                            let pixel = S::div(t, S::add(t, pixel_noise));
                            let new = S::fma(pixel, S::sub(r, m), S::fma(line, m, load(smooth[c].data())));
                            S::fma(S::splat(share), S::sub(load(pilot[c].data()), new), new)
                        }
                    };
                    let to = &mut self.band.planes[c][part.to(y, x)..][..8];
                    // SAFETY: there are 8.
                    unsafe { S::store(to.as_mut_ptr(), result) };
                }
            }
        }
    }
}
