//! PI-LD: from every pixel a line in every direction.

use super::follow::{step, tests};
use super::likelihood::{Sums, Test};
use super::segments::Segments;
use crate::device::cpu::frames::{Band, Padded};
use crate::isoline::Plan;

/// One band: its planes become the means over each pixel's line, the line's first direction and its pixels.
pub(super) struct DeviationBand<'a, 'b> {
    pub(super) plan: &'a Plan,
    pub(super) segments: &'a Segments,
    pub(super) z: &'a [Padded],
    pub(super) band: &'a mut Band<'b>,
}

/// A line: of each of its segments the index of its start, and its direction.
type Path = Vec<(usize, usize)>;

impl DeviationBand<'_, '_> {
    pub(super) fn run(self) {
        let layout = self.z[0].layout;
        let channels = self.z.len();
        let tests = tests(self.plan);
        let pixels = self.segments.pixels;
        let (mut line, mut best) = (Path::new(), Path::new());
        for row in 0..self.band.rows {
            for x in 0..layout.width {
                let at = (self.band.first + row, x);
                best.clear();
                let mut least = f64::MAX;
                for d in 0..self.plan.patterns.directions() {
                    let sums = self.search(&tests, at, d, &mut line);
                    let n = 1 + line.len() * pixels;
                    let spread = sums.spread(n as f64);
                    if line.len() > best.len() || line.len() == best.len() && spread < least {
                        least = spread;
                        std::mem::swap(&mut line, &mut best);
                    }
                }
                let length = (1 + best.len() * pixels) as f32;
                let to = row * layout.stride + layout.margin + x;
                for c in 0..channels {
                    let z = self.z[c].data();
                    let sum = |&(from, d): &(usize, usize)| {
                        self.segments.of(d).iter().map(|&o| z[from.wrapping_add_signed(o)]).sum::<f32>()
                    };
                    let start = z[layout.index(at.0, at.1)];
                    self.band.planes[c][to] = (start + best.iter().map(sum).sum::<f32>()) / length;
                }
                self.band.planes[channels][to] = best.first().map_or(0.0, |&(_, d)| d as f32);
                self.band.planes[channels + 1][to] = length;
            }
        }
    }

    /// The line that begins in direction `d`.
    fn search(&self, tests: &[Test], at: (usize, usize), d: usize, line: &mut Path) -> Sums {
        let layout = self.z[0].layout;
        let all = self.plan.patterns.directions();
        let turn = self.plan.turn.min(all / 2 - 1);
        let start = layout.index(at.0, at.1);
        let luma = f64::from(self.z[0].data()[start]);
        line.clear();
        line.push((start, d));
        let mut sums = Sums { x: luma, x2: luma * luma }.add(self.segment(start, d));
        let mut end = step(at, self.plan.patterns.end(d), self.plan);
        let mut last = d;
        for test in &tests[..self.plan.segments - 1] {
            let from = layout.index(end.0, end.1);
            let n = (1 + (line.len() + 1) * self.segments.pixels) as f64;
            let mut found: Option<(f64, Sums, usize)> = None;
            for q in 0..=2 * turn {
                let next = (last + all + q - turn) % all;
                let more = self.segment(from, next);
                let longer = sums.add(more);
                let spread = longer.spread(n);
                if found.is_none_or(|(least, ..)| spread < least) && test.one_level(sums, more) {
                    found = Some((spread, longer, next));
                }
            }
            let Some((_, longer, next)) = found else { break };
            line.push((from, next));
            (sums, last) = (longer, next);
            end = step(end, self.plan.patterns.end(next), self.plan);
        }
        sums
    }

    #[inline(always)]
    fn segment(&self, from: usize, d: usize) -> Sums {
        let z = self.z[0].data();
        let (mut x, mut x2) = (0.0f32, 0.0f32);
        for &o in self.segments.of(d) {
            let v = z[from.wrapping_add_signed(o)];
            x += v;
            x2 += v * v;
        }
        Sums { x: x.into(), x2: x2.into() }
    }
}
