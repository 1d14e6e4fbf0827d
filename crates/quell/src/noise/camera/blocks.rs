//! Blocks of 16 x 16 samples: how much energy each has at which frequencies, and what speaks against it. A block is looked
//! at and dropped; what stays is a few numbers.

use rayon::prelude::*;

use crate::transform::Transform;
use crate::{FrameView, PlaneView};

/// Side of a block: enough frequencies to see where the grain of developed photographs ends, 2 to 4 pixels.
pub(super) const SIDE: usize = 16;
/// Frequencies `(u, v)` of a block with `max(u, v)` from the first of these to below the second are a band. The mean is in
/// none.
pub(super) const BANDS: [(usize, usize); 5] = [(1, 3), (3, 6), (6, 10), (10, 13), (13, 16)];
/// Distance of neighbouring blocks: a quarter of a block finds the quiet places between edges.
const STEP: usize = 4;
/// Blocks looked at, at most: a large picture costs no more than one of 0.7 megapixels.
const LIMIT: usize = 40_000;
/// Side of the parts whose variances tell whether a block is alike all over.
const PART: usize = 4;
/// Added to the variance of a part: what rounding to 8 bits leaves, about.
const ROUNDED: f32 = 0.1;

/// Samples of one channel of a block, row by row.
type Samples = [[f32; SIDE]; SIDE];

/// What is kept of a block, on the 0..255 scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Its top left sample.
    pub(super) at: (usize, usize),
    /// Mean of its samples.
    pub(super) brightness: f32,
    /// Mean energy of a coefficient of luma by band. White noise has its variance in all of them, if it is of colour.
    pub(super) energy: [f32; BANDS.len()],
    /// Share of pixels at an end of the range.
    pub(super) clipped: f32,
    /// Geometric over arithmetic mean of the variances of its parts: near 1 for noise, small where an edge runs through.
    pub(super) evenness: f32,
}

/// Looks at the blocks of a picture, on a grid that is the same for the same size. `grey`: the first plane stands for all.
pub(super) fn survey(frame: &FrameView<'_>, alpha: Option<&PlaneView<'_>>, grey: bool) -> Vec<Block> {
    let (Some(last_x), Some(last_y)) = (frame.width().checked_sub(SIDE), frame.height().checked_sub(SIDE))
    else {
        return Vec::new();
    };
    let mut step = STEP;
    while (last_x / step + 1) * (last_y / step + 1) > LIMIT {
        step += 1;
    }
    let planes = if grey { &frame.planes()[..1] } else { frame.planes() };
    let cosines = Cosines::new();
    let row = |y: usize| {
        let seen = |x: &usize| alpha.is_none_or(|alpha| is_seen(alpha, *x, y));
        let look = |x| look(planes, frame.white(), &cosines, x, y);
        (0..=last_x).step_by(step).filter(seen).map(look).collect::<Vec<_>>()
    };
    let rows: Vec<usize> = (0..=last_y).step_by(step).collect();
    rows.into_par_iter().map(row).collect::<Vec<_>>().concat()
}

/// Whether nothing of a block is transparent.
fn is_seen(alpha: &PlaneView<'_>, x: usize, y: usize) -> bool {
    (y..y + SIDE).all(|y| !alpha.row(y)[x..x + SIDE].contains(&0.0))
}

/// The block whose top left sample is there.
fn look(planes: &[PlaneView<'_>], white: f32, cosines: &Cosines, x: usize, y: usize) -> Block {
    let scale = 255.0 / white;
    let mut clipped = [[false; SIDE]; SIDE];
    let mut luma = [[0.0; SIDE]; SIDE];
    for plane in planes {
        for (i, (row, ends)) in luma.iter_mut().zip(&mut clipped).enumerate() {
            let from = &plane.row(y + i)[x..x + SIDE];
            for ((to, end), &v) in row.iter_mut().zip(ends).zip(from) {
                *to += v * scale;
                *end |= v <= 0.0 || v >= white;
            }
        }
    }
    // By a row of length 1: white noise keeps its deviation. A grey picture is as if red, green and blue were equal.
    let root = 3.0_f32.sqrt();
    let unit = if planes.len() == 1 { root } else { 1.0 / root };
    luma.as_flattened_mut().iter_mut().for_each(|v| *v *= unit);
    let mean = centre(&mut luma);
    let count = clipped.as_flattened().iter().filter(|end| **end).count();
    Block {
        at: (x, y),
        brightness: mean / root,
        energy: bands(&cosines.transform(&luma)),
        clipped: count as f32 / (SIDE * SIDE) as f32,
        evenness: evenness(&luma),
    }
}

/// What tells of the colour of blocks; of grey pictures nothing. Most blocks are not asked.
pub(super) struct Colour<'a> {
    planes: &'a [PlaneView<'a>],
    scale: f32,
    cosines: Cosines,
}

impl<'a> Colour<'a> {
    pub(super) fn new(frame: &'a FrameView<'a>, grey: bool) -> Self {
        let planes = if grey { &[] } else { frame.planes() };
        Self { planes, scale: 255.0 / frame.white(), cosines: Cosines::new() }
    }

    /// Mean energy of a coefficient of both channels of colour, by band.
    pub(super) fn energy(&self, block: &Block) -> [[f32; BANDS.len()]; 2] {
        let [red, green, blue] = self.planes else { return [[0.0; BANDS.len()]; 2] };
        let (x, y) = block.at;
        // Rows of length 1, too.
        let (first, second) = (0.5_f32.sqrt(), 1.0 / 6.0_f32.sqrt());
        let mut channels = [[[0.0; SIDE]; SIDE]; 2];
        let [d, e] = &mut channels;
        for (i, (d, e)) in d.iter_mut().zip(e).enumerate() {
            let [r, g, b] = [red, green, blue].map(|p| &p.row(y + i)[x..x + SIDE]);
            for ((d, e), ((r, g), b)) in d.iter_mut().zip(e).zip(r.iter().zip(g).zip(b)) {
                let [r, g, b] = [r, g, b].map(|v| v * self.scale);
                (*d, *e) = (first * (r - b), second * (r - 2.0 * g + b));
            }
        }
        channels.map(|mut channel| {
            centre(&mut channel);
            bands(&self.cosines.transform(&channel))
        })
    }
}

/// Takes the mean away, which would cost the small coefficients their digits.
fn centre(samples: &mut Samples) -> f32 {
    // Rows side by side: one addition does not wait for the other.
    let mut sums = [0.0; SIDE];
    for row in samples.iter() {
        sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
    }
    let mean = sums.iter().sum::<f32>() / (SIDE * SIDE) as f32;
    samples.as_flattened_mut().iter_mut().for_each(|v| *v -= mean);
    mean
}

/// Mean energy of the coefficients of every band.
fn bands(c: &Samples) -> [f32; BANDS.len()] {
    let mut shells = [0.0; SIDE];
    for (u, row) in c.iter().enumerate() {
        shells[u] += row[..=u].iter().map(|v| v * v).sum::<f32>();
        for (shell, v) in shells[u + 1..].iter_mut().zip(&row[u + 1..]) {
            *shell += v * v;
        }
    }
    BANDS.map(|(from, to)| shells[from..to].iter().sum::<f32>() / (to * to - from * from) as f32)
}

fn evenness(samples: &Samples) -> f32 {
    const SIDES: usize = SIDE / PART;
    const COUNT: f32 = (PART * PART) as f32;
    // Parts side by side: each in the order of its samples, none waits for another.
    fn over_parts(samples: &Samples, f: impl Fn(f32, usize) -> f32) -> [f32; SIDES * SIDES] {
        let mut sums = [0.0_f32; SIDES * SIDES];
        for (y, row) in samples.iter().enumerate() {
            for k in 0..PART {
                for j in 0..SIDES {
                    let part = y / PART * SIDES + j;
                    sums[part] += f(row[PART * j + k], part);
                }
            }
        }
        sums
    }
    let means = over_parts(samples, |v, _| v).map(|sum| sum / COUNT);
    let squares = over_parts(samples, |v, part| (v - means[part]).powi(2));
    let (mut sum, mut logs) = (0.0, 0.0);
    for variance in squares.map(|s| s / COUNT + ROUNDED) {
        sum += variance;
        logs += variance.ln();
    }
    let parts = (SIDES * SIDES) as f32;
    (logs / parts).exp() / (sum / parts)
}

/// The orthonormal DCT-II of blocks.
struct Cosines([[f32; SIDE / 2]; SIDE]);

impl Cosines {
    fn new() -> Self {
        let exact = Transform::Dct.forward(SIDE);
        Self(std::array::from_fn(|u| std::array::from_fn(|y| exact.at(u, y) as f32)))
    }

    /// Of a block, transposed: bands do not ask which way a wave runs.
    fn transform(&self, samples: &Samples) -> Samples {
        let half = self.columns(samples);
        self.columns(&std::array::from_fn(|y| std::array::from_fn(|x| half[x][y])))
    }

    /// Of every column: even waves see sums of mirrored rows, odd ones differences.
    fn columns(&self, samples: &Samples) -> Samples {
        let mirrored = |sign: f32| -> [[f32; SIDE]; SIDE / 2] {
            std::array::from_fn(|y| std::array::from_fn(|x| samples[y][x] + sign * samples[SIDE - 1 - y][x]))
        };
        let parities = [mirrored(1.0), mirrored(-1.0)];
        std::array::from_fn(|u| {
            let mut sum = [0.0; SIDE];
            for (row, cosine) in parities[u % 2].iter().zip(&self.0[u]) {
                sum.iter_mut().zip(row).for_each(|(s, v)| *s += cosine * v);
            }
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energies_are_those_of_the_exact_transform() {
        let samples: Samples = std::array::from_fn(|y| {
            std::array::from_fn(|x| ((x * x * 37 + y * 91 + x * y * 13) % 256) as f32)
        });
        let exact = Transform::Dct.forward(SIDE);
        let mut sums = [0.0; BANDS.len()];
        let mut counts = [0; BANDS.len()];
        for (u, v) in (0..SIDE).flat_map(|u| (0..SIDE).map(move |v| (u, v))) {
            let pixels = (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (y, x)));
            let c: f64 =
                pixels.map(|(y, x)| exact.at(u, y) * exact.at(v, x) * f64::from(samples[y][x])).sum();
            if let Some(band) = BANDS.iter().position(|(from, to)| (*from..*to).contains(&u.max(v))) {
                sums[band] += c * c;
                counts[band] += 1;
            }
        }
        let found = bands(&Cosines::new().transform(&samples));
        for (band, found) in found.into_iter().enumerate() {
            let exact = sums[band] / f64::from(counts[band]);
            assert!((f64::from(found) / exact - 1.0).abs() < 1e-4, "band {band}: {found} for {exact}");
        }
        assert_eq!(counts.iter().sum::<i32>(), 255);
    }

    #[test]
    fn an_edge_is_uneven_and_noise_is_even() {
        let edge: Samples = std::array::from_fn(|_| std::array::from_fn(|x| if x < 6 { 0.0 } else { 90.0 }));
        let weave: Samples = std::array::from_fn(|y| {
            std::array::from_fn(|x| ((x * 7 + y * 13) * (x + 3 * y + 1) % 17) as f32)
        });
        assert!(evenness(&edge) < 0.1, "{}", evenness(&edge));
        assert!(evenness(&weave) > 0.7, "{}", evenness(&weave));
    }
}
