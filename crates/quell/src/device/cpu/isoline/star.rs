//! The edge detector of the hybrid filter.

use super::likelihood::{Sums, Test};
use super::segments::total;
use crate::device::cpu::frames::{Band, Padded};
use crate::device::cpu::simd::{Kernel, Simd};
use crate::isoline::Plan;

/// One band. Either its first plane becomes the number of edges, or the planes' samples, and their lengths in the last
/// plane, are replaced where there is at most one edge.
pub(super) struct StarBand<'a, 'b> {
    pub(super) plan: &'a Plan,
    pub(super) z: &'a [Padded],
    pub(super) squares: &'a Padded,
    pub(super) count: bool,
    pub(super) band: &'a mut Band<'b>,
}

/// Eight pixels.
type Lanes = [f32; 8];

impl Kernel for StarBand<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let layout = self.squares.layout;
        let patterns = &self.plan.patterns;
        let length = patterns.length();
        let arms: [Vec<isize>; 8] = std::array::from_fn(|i| {
            let arm = patterns.segment(i * patterns.directions() / 8);
            arm.iter().map(|o| layout.offset(o.dy, o.dx)).collect()
        });
        let test = Test::new(5 * length + 1, 3 * length, self.plan.edge_threshold);
        for y in 0..self.band.rows {
            for x in (0..layout.width).step_by(8) {
                let at = layout.index(self.band.first + y, x);
                let (sums, squares) =
                    (star::<S>(self.z[0].data(), at, &arms), star::<S>(self.squares.data(), at, &arms));
                let (edges, side) = edges(&test, &sums, &squares);
                let to = y * layout.stride + layout.margin + x;
                if self.count {
                    self.band.planes[0][to..to + 8].copy_from_slice(&edges);
                    continue;
                }
                let last = self.band.planes.len() - 1;
                for (c, z) in self.z.iter().enumerate() {
                    let sums = if c == 0 { sums } else { star::<S>(z.data(), at, &arms) };
                    for lane in 0..8 {
                        let arms = match edges[lane] {
                            0.0 => 8,
                            1.0 => 5,
                            _ => continue,
                        };
                        let first = if arms == 8 { 0 } else { side[lane] as usize };
                        let sum: f32 = (first..first + arms).map(|i| sums[i % 8][lane]).sum();
                        let pixels = (arms * length + 1) as f32;
                        self.band.planes[c][to + lane] = (sum + sums[8][lane]) / pixels;
                        self.band.planes[last][to + lane] = pixels;
                    }
                }
            }
        }
    }
}

/// The sums over the eight arms, and the centre.
#[inline(always)]
fn star<S: Simd>(z: &[f32], at: usize, arms: &[Vec<isize>; 8]) -> [Lanes; 9] {
    let mut out = [[0.0; 8]; 9];
    out[8].copy_from_slice(&z[at..at + 8]);
    for (out, arm) in out.iter_mut().zip(arms) {
        // SAFETY: the margin is as wide as an arm is long, and planes have 8 samples more than that; `out` has 8.
        unsafe { S::store(out.as_mut_ptr(), total::<S>(z.as_ptr().add(at), arm)) };
    }
    out
}

/// How many edges each pixel has, and the last of their sides.
#[inline(always)]
fn edges(test: &Test, x: &[Lanes; 9], x2: &[Lanes; 9]) -> (Lanes, Lanes) {
    let (mut count, mut last) = ([0.0; 8], [0.0; 8]);
    for side in 0..8 {
        for lane in 0..8 {
            // Sums of so few 8-bit samples are exact in any order.
            let half = |sums: &[Lanes; 9], from: usize, to: usize| -> f64 {
                f64::from((side + from..side + to).map(|i| sums[i % 8][lane]).sum::<f32>())
            };
            let high = Sums {
                x: half(x, 0, 5) + f64::from(x[8][lane]),
                x2: half(x2, 0, 5) + f64::from(x2[8][lane]),
            };
            let low = Sums { x: half(x, 5, 8), x2: half(x2, 5, 8) };
            let (one, two) = test.sides(high, low);
            if one > two {
                count[lane] += 1.0;
                last[lane] = side as f32;
            }
        }
    }
    (count, last)
}
