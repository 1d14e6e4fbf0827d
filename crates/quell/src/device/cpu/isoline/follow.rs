//! PI-PD's second kernel: lines that follow the directions found beforehand.

use super::likelihood::{Sums, Test};
use super::segments::Segments;
use crate::device::cpu::frames::{Band, Padded};
use crate::isoline::{Offset, Plan};

/// One band: its planes become the means over each pixel's line, the line's first direction and its pixels.
pub(super) struct FollowBand<'a, 'b> {
    pub(super) plan: &'a Plan,
    pub(super) segments: &'a Segments,
    pub(super) z: &'a [Padded],
    /// What [`SegmentBand`](super::segments::SegmentBand) made.
    pub(super) best: &'a [Padded],
    pub(super) band: &'a mut Band<'b>,
}

/// Tests of a line of `1 + k pixels`, for `k` from 1 on, against one segment more.
pub(super) fn tests(plan: &Plan) -> Vec<Test> {
    let pixels = plan.segment_pixels();
    (1..plan.segments.max(2)).map(|k| Test::new(1 + k * pixels, pixels, plan.threshold)).collect()
}

/// The position one segment on, inside of the picture.
#[inline(always)]
pub(super) fn step((y, x): (usize, usize), by: Offset, plan: &Plan) -> (usize, usize) {
    let y = (y as isize + by.dy as isize).clamp(0, plan.height as isize - 1);
    let x = (x as isize + by.dx as isize).clamp(0, plan.width as isize - 1);
    (y as usize, x as usize)
}

impl FollowBand<'_, '_> {
    pub(super) fn run(self) {
        let Self { plan, segments, z, best, band } = self;
        let layout = z[0].layout;
        let channels = z.len();
        let tests = tests(plan);
        let all = plan.patterns.directions();
        let ends: Vec<Offset> = (0..all).map(|d| plan.patterns.end(d)).collect();
        let (direction, x1, x2) = (best[0].data(), best[1].data(), best[2].data());
        let luma = z[0].data();
        let pixels = segments.pixels as f32;
        for row in 0..band.rows {
            let y = band.first + row;
            for x in 0..layout.width {
                let at = layout.index(y, x);
                let start = f64::from(luma[at]);
                let segment = |at: usize| Sums { x: x1[at].into(), x2: x2[at].into() };
                let mut line = Sums { x: start, x2: start * start }.add(segment(at));
                let mut others: [f32; 3] = [0.0; 3];
                for c in 1..channels {
                    others[c - 1] = z[c].data()[at] + best[c + 2].data()[at];
                }
                let mut d = direction[at] as usize;
                let mut end = step((y, x), ends[d], plan);
                let mut count = 1;
                for test in &tests[..plan.segments - 1] {
                    let there = layout.index(end.0, end.1);
                    let next = direction[there] as usize;
                    let apart = d.abs_diff(next);
                    if apart.min(all - apart) > plan.turn || !test.one_level(line, segment(there)) {
                        break;
                    }
                    line = line.add(segment(there));
                    for c in 1..channels {
                        others[c - 1] += best[c + 2].data()[there];
                    }
                    (d, end, count) = (next, step(end, ends[next], plan), count + 1);
                }
                let length = 1.0 + count as f32 * pixels;
                let to = row * layout.stride + layout.margin + x;
                band.planes[0][to] = line.x as f32 / length;
                for c in 1..channels {
                    band.planes[c][to] = others[c - 1] / length;
                }
                band.planes[channels][to] = direction[at];
                band.planes[channels + 1][to] = length;
            }
        }
    }
}
