//! The average of a frame with those around it, along the motion of blocks.

use super::boxes::{BoxSums, Part};
use super::motion::{Motion, Whole};
use super::padded::{Band, Padded, each_band};
use super::{ROWS, columns};
use crate::device::cpu::Level;
use crate::device::cpu::simd::{Kernel, Simd, dispatch};
use crate::method::Averaging;

/// What is counted of the frames of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::device) enum Count {
    /// The sum of their weights.
    Weights,
    /// How many times less noise variance their average has.
    Effective,
}

/// A frame that waits, or that later ones look at.
pub(in crate::device) struct Frame {
    pub(in crate::device) z: Vec<Padded>,
    /// Where frames are averaged.
    compared: Option<Compared>,
}

/// What frames are compared on.
struct Compared {
    means: Padded,
    whole: Whole,
}

impl Frame {
    /// Planes with a margin as wide as blocks move, where they are averaged.
    pub(in crate::device) fn new(level: Level, averaging: Option<&Averaging>, z: Vec<Padded>) -> Self {
        let compared = averaging.map(|averaging| {
            let mut means = [z[0].another()];
            each_band(&mut means, ROWS, |band| dispatch(level, MeanBand { from: &z[0], band }));
            let [means] = means;
            let whole = Whole::new(averaging, &means);
            Compared { means, whole }
        });
        Self { z, compared }
    }
}

/// The planes of `frame` averaged with `others`, in the order of time, and behind them over how many frames each pixel, by either count;
/// nothing if there are no others.
pub(in crate::device) fn average(
    level: Level,
    averaging: &Averaging,
    frame: &Frame,
    others: &[&Frame],
    count: Count,
) -> Option<(Vec<Padded>, Padded)> {
    let here = frame.compared.as_ref()?;
    let other = |f: &&'_ Frame| {
        let there = f.compared.as_ref()?;
        Some(Motion::search(level, averaging, (&frame.z, &here.whole), (&f.z, &there.whole)))
    };
    let motion = others.iter().map(other).collect::<Option<Vec<Motion>>>()?;
    if motion.is_empty() {
        return None;
    }
    let layout = frame.z[0].layout;
    let planes = frame.z.len() + if count == Count::Effective { 2 } else { 1 };
    let mut out: Vec<Padded> = (0..planes).map(|_| frame.z[0].another()).collect();
    each_band(&mut out, ROWS, |band| {
        for columns in columns(layout.width) {
            let part = Part::new(layout, band.first, band.rows, columns, Averaging::BOX);
            let job = AverageBand { averaging, frame, others, motion: &motion, part, band };
            dispatch(level, job);
        }
    });
    out.truncate(frame.z.len() + 1);
    let count = out.pop()?;
    Some((out, count))
}

/// Means over 3 x 3 pixels.
struct MeanBand<'a, 'b> {
    from: &'a Padded,
    band: &'a mut Band<'b>,
}

impl Kernel for MeanBand<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let layout = self.from.layout;
        let ninth = S::splat(1.0 / 9.0);
        for y in 0..self.band.rows {
            for x in (0..layout.width).step_by(8) {
                let at = layout.index(self.band.first + y, x) - layout.stride - 1;
                let around = &self.from.data()[at..at + 2 * layout.stride + 10];
                let to = &mut self.band.planes[0][y * layout.stride + layout.margin + x..][..8];
                // SAFETY: `around` has three rows of 10 samples, `to` has 8.
                unsafe {
                    let mut sum = S::splat(0.0);
                    for row in 0..3 {
                        let p = around.as_ptr().add(row * layout.stride);
                        sum = S::add(sum, S::add(S::add(S::load(p), S::load(p.add(1))), S::load(p.add(2))));
                    }
                    S::store(to.as_mut_ptr(), S::mul(sum, ninth));
                }
            }
        }
    }
}

/// A part of a band: its planes become the averages, then the number of frames and, where that is effective, the sum of the
/// squares of weights.
struct AverageBand<'a, 'b> {
    averaging: &'a Averaging,
    frame: &'a Frame,
    others: &'a [&'a Frame],
    /// From the frame to each of the others.
    motion: &'a [Motion],
    part: Part,
    band: &'a mut Band<'b>,
}

impl Kernel for AverageBand<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let part = &self.part;
        let layout = self.frame.z[0].layout;
        let channels = self.frame.z.len();
        let mut boxes = BoxSums::new(part);
        let mut apart = vec![0.0; self.band.rows * part.wide];
        let (zero, one) = (S::splat(0.0), S::splat(1.0));
        let (slope, noise) = (S::splat(self.averaging.slope), S::splat(self.averaging.noise));
        let Some(here) = &self.frame.compared else { return };
        for (i, (other, motion)) in self.others.iter().zip(self.motion).enumerate() {
            let Some(there) = &other.compared else { return };
            // Eight pixels from a multiple of 8 on are of one block.
            let moved = |y: usize, x: usize, at: usize| {
                let (dy, dx) = motion.at(y, x);
                at.wrapping_add_signed(layout.offset(dy, dx))
            };
            boxes.means::<S>(
                part,
                #[inline(always)]
                |row, x, at| {
                    let from = moved(part.row(row), part.column(x), at);
                    let (a, b) = (&here.means.data()[at..at + 8], &there.means.data()[from..from + 8]);
                    // SAFETY: there are 8 of each.
                    let d = unsafe { S::sub(S::load(b.as_ptr()), S::load(a.as_ptr())) };
                    let d = S::sub(d, S::splat(motion.brighter(part.row(row), part.column(x))[0]));
                    S::mul(d, d)
                },
                &mut apart,
            );
            let last = i + 1 == self.others.len();
            for y in 0..self.band.rows {
                for x in part.vectors() {
                    let at = layout.index(self.band.first + y, part.column(x));
                    let from = moved(self.band.first + y, part.column(x), at);
                    let to = part.to(y, x);
                    let brighter = motion.brighter(self.band.first + y, part.column(x));
                    let apart = &apart[y * part.wide + x..][..8];
                    // SAFETY: every slice has 8 samples.
                    unsafe {
                        let above = S::max(zero, S::sub(S::load(apart.as_ptr()), noise));
                        let root = S::fma(slope, above, one);
                        let weight = S::div(one, S::mul(root, root));
                        let count = self.band.planes[channels][to..to + 8].as_mut_ptr();
                        let n = S::add(if i == 0 { one } else { S::load(count) }, weight);
                        S::store(count, n);
                        if let Some(squares) = self.band.planes.get_mut(channels + 1) {
                            let squares = squares[to..to + 8].as_mut_ptr();
                            let before = if i == 0 { one } else { S::load(squares) };
                            let sum = S::fma(weight, weight, before);
                            S::store(squares, sum);
                            if last {
                                S::store(count, S::div(S::mul(n, n), sum));
                            }
                        }
                        for (c, &brighter) in brighter.iter().enumerate() {
                            let sum = self.band.planes[c][to..to + 8].as_mut_ptr();
                            let before = if i == 0 {
                                S::load(self.frame.z[c].data()[at..at + 8].as_ptr())
                            } else {
                                S::load(sum)
                            };
                            let z = S::load(other.z[c].data()[from..from + 8].as_ptr());
                            let z = S::sub(z, S::splat(brighter));
                            let total = S::fma(weight, z, before);
                            S::store(sum, if last { S::div(total, n) } else { total });
                        }
                    }
                }
            }
        }
    }
}
