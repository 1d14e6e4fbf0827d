//! The bilateral filter: the pixels of a piece of a row at once, displacement by displacement.

use super::bands::{self, ROWS, Steps, at_level};
use super::gauss::mirror;
use crate::device::cpu::Level;
use crate::nlm::fold;
use crate::{Control, Error, Plane, PlaneView, Result};

/// Pixels of a piece: its sums stay in the nearest cache.
const PIECE: usize = 256;
/// Pieces are a multiple of this long, so that vectors have no rest.
const LANES: usize = 16;

pub(super) fn run(
    level: Level,
    g: &[f32],
    scale: &[f32],
    planes: &[PlaneView<'_>],
    control: &Control,
) -> Result<Vec<Plane>> {
    match planes {
        [a] => filter(level, g, scale, [a], control),
        [a, b] => filter(level, g, scale, [a, b], control),
        [a, b, c] => filter(level, g, scale, [a, b, c], control),
        [a, b, c, d] => filter(level, g, scale, [a, b, c, d], control),
        _ => Err(Error::Shape(format!("{} planes cannot be compared together", planes.len()))),
    }
}

fn filter<const C: usize>(
    level: Level,
    g: &[f32],
    scale: &[f32],
    planes: [&PlaneView<'_>; C],
    control: &Control,
) -> Result<Vec<Plane>> {
    let (width, height, margin) = (planes[0].width(), planes[0].height(), g.len() - 1);
    let scale: [f32; C] = std::array::from_fn(|c| scale[c]);
    let padded: [Padded; C] = planes.map(|p| Padded::new(p, margin));
    // A band is the same rows of every plane.
    let mut out: [Vec<f32>; C] = std::array::from_fn(|_| vec![0.0; width * height]);
    let mut parts = out.each_mut().map(|plane| plane.chunks_mut(ROWS * width));
    let mut bands: Vec<[&mut [f32]; C]> = (0..height.div_ceil(ROWS))
        .map(|_| parts.each_mut().map(|parts| parts.next().unwrap_or_default()))
        .collect();
    let steps = Steps::new(control, bands.len());
    bands::each_item(&mut bands, &steps, |i, band| {
        at_level(
            level,
            #[inline(always)]
            || {
                for y in 0..band[0].len() / width {
                    for x in (0..width).step_by(PIECE) {
                        let count = PIECE.min(width - x);
                        let found = piece(g, &scale, &padded, (x, i * ROWS + y), count);
                        for (to, found) in band.iter_mut().zip(&found) {
                            to[y * width + x..][..count].copy_from_slice(&found[..count]);
                        }
                    }
                }
            },
        );
    })?;
    out.into_iter().map(|data| Plane::from_vec(width, height, data)).collect()
}

/// The result at the `count` pixels from `x`, `y` on.
#[inline(always)]
fn piece<const C: usize>(
    g: &[f32],
    scale: &[f32; C],
    planes: &[Padded; C],
    (x, y): (usize, usize),
    count: usize,
) -> [[f32; PIECE]; C] {
    let r = g.len() - 1;
    let n = count.next_multiple_of(LANES);
    let here: [&[f32]; C] = planes.each_ref().map(|p| p.samples(x + r, y + r, n));
    let (mut sums, mut total) = ([[0.0_f32; PIECE]; C], [0.0_f32; PIECE]);
    for j in 0..=2 * r {
        for i in 0..=2 * r {
            let near = g[i.abs_diff(r)] * g[j.abs_diff(r)];
            let there: [&[f32]; C] = planes.each_ref().map(|p| p.samples(x + i, y + j, n));
            for (l, total) in total[..n].iter_mut().enumerate() {
                let difference: [f32; C] = std::array::from_fn(|c| there[c][l] - here[c][l]);
                let mut u = 0.0;
                for c in 0..C {
                    let scaled = scale[c] * difference[c];
                    u += scaled * scaled;
                }
                let weight = near * exp_minus(u);
                *total += weight;
                // Sums of differences keep the digits that sums of large samples would lose.
                for c in 0..C {
                    sums[c][l] += weight * difference[c];
                }
            }
        }
    }
    for (sums, here) in sums.iter_mut().zip(here) {
        for ((sum, total), here) in sums.iter_mut().zip(&total).zip(here) {
            *sum = here + *sum / total;
        }
    }
    sums
}

/// `e^-u` for `u >= 0`, to a relative error of 4e-6; beyond 80 that of 80, which is nothing beside the pixel's own 1.
#[inline(always)]
fn exp_minus(u: f32) -> f32 {
    let u = if u < 80.0 { u } else { 80.0 };
    // 2^k e^r with |r| <= ln 2 / 2: adding 1.5 * 2^23 rounds to a whole number, which its low bits are.
    const WHOLE: f32 = 12_582_912.0;
    let t = WHOLE - u * std::f32::consts::LOG2_E;
    let k = t - WHOLE;
    // ln 2 in two parts: the first has so few bits that its multiples are exact.
    let r = -u - k * 0.693_359_4 + k * 2.121_944_4e-4;
    let e = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0)))));
    f32::from_bits(e.to_bits().wrapping_add(t.to_bits() << 23))
}

/// Samples of a plane with its margin.
pub(super) fn padded(width: usize, height: usize, margin: usize) -> usize {
    stride(width, margin) * (height + 2 * margin)
}

/// Samples from row to row: what is beyond the last column is computed, but not kept.
fn stride(width: usize, margin: usize) -> usize {
    width.next_multiple_of(LANES) + 2 * margin
}

/// A plane that goes on as in a mirror around the picture.
struct Padded {
    stride: usize,
    data: Vec<f32>,
}

impl Padded {
    fn new(plane: &PlaneView<'_>, margin: usize) -> Self {
        let (width, height) = (plane.width(), plane.height());
        let stride = stride(width, margin);
        let mut data = vec![0.0; padded(width, height, margin)];
        bands::each_row(&mut data, stride, |y, row| {
            let from = plane.row(fold(y as isize - margin as isize, height));
            row[margin..][..width].copy_from_slice(from);
            mirror(&mut row[..width + 2 * margin], margin);
        });
        Self { stride, data }
    }

    /// Samples of a row; columns and rows count from the first corner of the margin.
    #[inline(always)]
    fn samples(&self, x: usize, y: usize, count: usize) -> &[f32] {
        &self.data[y * self.stride + x..][..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_near_that_of_the_standard_library() {
        for i in 0..80_000 {
            let u = i as f32 * 1e-3;
            let (got, want) = (f64::from(exp_minus(u)), (-f64::from(u)).exp());
            assert!((got / want - 1.0).abs() < 4e-6, "e^-{u}: {got:e} for {want:e}");
        }
        assert!(exp_minus(f32::MAX) < 1e-30 && exp_minus(0.0) == 1.0);
    }
}
