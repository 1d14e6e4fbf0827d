//! A picture at half its size, and what is known there brought back: fine + 0.9 up(blur(coarse - down(fine))).

use rayon::prelude::*;

use crate::device::Samples;

/// How much of what the coarse picture knows better is taken.
const GAIN: f32 = 0.9;

/// Coarse rows that a thread takes at a time.
const ROWS: usize = 16;

/// The means of 2 x 2 samples; an odd last row or column is left out.
pub(in crate::device) fn down(from: Samples<'_>, width: usize, to: &mut [f32]) {
    match from {
        Samples::U8(v) => means(v, width, to),
        Samples::U16(v) => means(v, width, to),
        Samples::F32(v) => means(v, width, to),
    }
}

fn means<T: Copy + Into<f32> + Sync>(from: &[T], width: usize, to: &mut [f32]) {
    each_pair(from, width, to, |to, [a, b, c, d]| *to = mean(a, b, c, d));
}

/// Coarse samples less the means of the fine ones, e; with a limit c, e / (1 + (e / c)^2).
fn subtract_means(fine: &[f32], width: usize, coarse: &mut [f32], limit: Option<f32>) {
    match limit {
        None => each_pair(fine, width, coarse, |to, [a, b, c, d]| *to -= mean(a, b, c, d)),
        Some(limit) => each_pair(fine, width, coarse, |to, [a, b, c, d]| {
            let e = *to - mean(a, b, c, d);
            *to = e / (1.0 + (e / limit).powi(2));
        }),
    }
}

#[inline(always)]
fn mean(a: f32, b: f32, c: f32, d: f32) -> f32 {
    0.25 * ((a + b) + (c + d))
}

/// Every coarse sample with the four fine ones that it stands for.
#[inline(always)]
fn each_pair<T: Copy + Into<f32> + Sync>(
    fine: &[T],
    width: usize,
    coarse: &mut [f32],
    work: impl Fn(&mut f32, [f32; 4]) + Sync,
) {
    let half = width / 2;
    coarse.par_chunks_exact_mut(half).with_min_len(ROWS).enumerate().for_each(|(y, coarse)| {
        let (upper, lower) = fine[2 * y * width..][..2 * width].split_at(width);
        let pairs = upper.as_chunks::<2>().0.iter().zip(lower.as_chunks::<2>().0);
        for (to, (&[a, b], &[c, d])) in coarse.iter_mut().zip(pairs) {
            work(to, [a.into(), b.into(), c.into(), d.into()]);
        }
    });
}

/// Makes `fine`, of rows of `width` samples, the result. `coarse`, of half the size, is used up, and believed up to a
/// limit, if there is one ([`Plan::with_coarser_within`](crate::Plan::with_coarser_within)).
pub(in crate::device) fn merge(fine: &mut [f32], width: usize, coarse: &mut [f32], limit: Option<f32>) {
    let (half, height) = (width / 2, fine.len() / width / 2);
    let coarse = &mut coarse[..half * height];
    subtract_means(fine, width, coarse, limit);
    let difference = &*coarse;
    fine.par_chunks_mut(2 * ROWS * width).enumerate().for_each_init(
        || (vec![0.0; half], vec![0.0; half + 2]),
        |(column, blurred), (band, fine)| {
            for (y, fine) in fine.chunks_exact_mut(width).enumerate() {
                let y = (2 * ROWS * band + y).min(2 * height - 1);
                // Of the two rows around, the one above for even rows and the one below for odd ones.
                let near = y / 2;
                let far =
                    if y.is_multiple_of(2) { near.saturating_sub(1) } else { (near + 1).min(height - 1) };
                blur_down(difference, half, near, far, column);
                blur_along(column, blurred);
                add_between(blurred, fine);
            }
        },
    );
}

/// 3/4 of a row and 1/4 of another, both blurred by [1 2 1]/4 down the columns.
fn blur_down(from: &[f32], width: usize, near: usize, far: usize, to: &mut [f32]) {
    let height = from.len() / width;
    let row = |y: usize| &from[y * width..][..width];
    let around = |y: usize| (row(y.saturating_sub(1)), row(y), row((y + 1).min(height - 1)));
    let ((a, b, c), (d, e, f)) = (around(near), around(far));
    for (x, to) in to.iter_mut().enumerate() {
        *to = 0.1875 * (a[x] + 2.0 * b[x] + c[x]) + 0.0625 * (d[x] + 2.0 * e[x] + f[x]);
    }
}

/// A row blurred by [1 2 1]/4, with one more sample at both ends, as large as the last.
fn blur_along(from: &[f32], to: &mut [f32]) {
    let n = from.len();
    let blur = |a: f32, b: f32, c: f32| 0.25 * (a + 2.0 * b + c);
    for (to, v) in to[2..].iter_mut().zip(from.windows(3)) {
        *to = blur(v[0], v[1], v[2]);
    }
    to[1] = blur(from[0], from[0], from[1.min(n - 1)]);
    to[n] = blur(from[n.saturating_sub(2)], from[n - 1], from[n - 1]);
    (to[0], to[n + 1]) = (to[1], to[n]);
}

/// Adds what lies between coarse samples: fine ones are a quarter of a coarse one left and right of their centres.
fn add_between(coarse: &[f32], fine: &mut [f32]) {
    let (pairs, rest) = fine.as_chunks_mut::<2>();
    for (to, v) in pairs.iter_mut().zip(coarse.windows(3)) {
        let near = 0.75 * GAIN * v[1];
        to[0] += near + 0.25 * GAIN * v[0];
        to[1] += near + 0.25 * GAIN * v[2];
    }
    if let (Some(last), Some(v)) = (rest.first_mut(), coarse.last()) {
        *last += GAIN * v;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula, written down.
    fn reference(fine: &[f32], (w, h): (usize, usize), coarse: &[f32], limit: Option<f64>) -> Vec<f64> {
        let (cw, ch) = (w / 2, h / 2);
        let at =
            |y: isize, x: isize| (y.clamp(0, ch as isize - 1) as usize, x.clamp(0, cw as isize - 1) as usize);
        let down = |y: usize, x: usize| {
            let of = |dy, dx| f64::from(fine[(2 * y + dy) * w + 2 * x + dx]);
            (of(0, 0) + of(0, 1) + of(1, 0) + of(1, 1)) / 4.0
        };
        let difference = |y: isize, x: isize| {
            let (y, x) = at(y, x);
            let e = f64::from(coarse[y * cw + x]) - down(y, x);
            limit.map_or(e, |c| e / (1.0 + (e / c) * (e / c)))
        };
        let blurred = |y: isize, x: isize| {
            let (y, x) = at(y, x);
            let mut sum = 0.0;
            for (dy, a) in [(-1, 0.25), (0, 0.5), (1, 0.25)] {
                for (dx, b) in [(-1, 0.25), (0, 0.5), (1, 0.25)] {
                    sum += a * b * difference(y as isize + dy, x as isize + dx);
                }
            }
            sum
        };
        // Bilinear: the centre of fine sample x is at x/2 - 1/4 among the coarse ones.
        let up = |y: usize, x: usize| {
            let between = |i: usize| {
                let p = i as f64 / 2.0 - 0.25;
                (p.floor() as isize, p - p.floor())
            };
            let ((y, v), (x, u)) = (between(y), between(x));
            (1.0 - v) * ((1.0 - u) * blurred(y, x) + u * blurred(y, x + 1))
                + v * ((1.0 - u) * blurred(y + 1, x) + u * blurred(y + 1, x + 1))
        };
        (0..w * h).map(|i| f64::from(fine[i]) + 0.9 * up(i / w, i % w)).collect()
    }

    fn noise(n: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 65_536.0
        };
        (0..n).map(|_| next()).collect()
    }

    const SIZES: [(usize, usize); 9] =
        [(2, 2), (3, 3), (2, 9), (9, 2), (5, 4), (4, 7), (6, 6), (37, 65), (131, 98)];

    #[test]
    fn the_merge_is_the_formula() {
        for (w, h) in SIZES {
            let (fine, coarse) = (noise(w * h, 7), noise((w / 2) * (h / 2), 8));
            for limit in [None, Some(90.0f32)] {
                let want = reference(&fine, (w, h), &coarse, limit.map(f64::from));
                let mut got = fine.clone();
                merge(&mut got, w, &mut coarse.clone(), limit);
                for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                    let off = (f64::from(*got) - want).abs();
                    assert!(off < 1e-4, "{w} x {h}, {limit:?}, sample {i}: {got}, not {want}");
                }
                let change = fine.iter().zip(&got).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(change > 1.0, "{w} x {h}: nothing was done");
                assert!(limit.is_none_or(|limit| change <= 0.45 * limit), "{w} x {h}: {change}");
            }
        }
    }

    #[test]
    fn means_are_those_of_two_by_two_whatever_the_type() {
        let v = [1u8, 3, 9, /**/ 5, 7, 9, /**/ 8, 8, 8];
        let mut to = [0.0];
        down(Samples::U8(&v), 3, &mut to);
        assert_eq!(to, [4.0]);
        down(Samples::U16(&v.map(u16::from)), 3, &mut to);
        assert_eq!(to, [4.0]);
        down(Samples::F32(&v.map(f32::from)), 3, &mut to);
        assert_eq!(to, [4.0]);
    }

    #[test]
    fn a_coarse_picture_that_says_the_same_changes_nothing() {
        for (w, h) in SIZES {
            let mut fine = noise(w * h, 9);
            let (mut coarse, before) = (vec![0.0; (w / 2) * (h / 2)], fine.clone());
            down(Samples::F32(&fine), w, &mut coarse);
            merge(&mut fine, w, &mut coarse, None);
            assert_eq!(fine, before, "{w} x {h}");
        }
        let (mut fine, mut coarse) = (vec![77.3; 15], vec![77.3; 2]);
        merge(&mut fine, 5, &mut coarse, None);
        assert_eq!(fine, [77.3; 15], "constant");
    }

    #[test]
    fn a_difference_everywhere_is_taken_to_nine_tenths() {
        for (w, h) in SIZES {
            let (mut fine, mut coarse) = (vec![10.0; w * h], vec![20.0; (w / 2) * (h / 2)]);
            merge(&mut fine, w, &mut coarse, None);
            assert!(fine.iter().all(|v| (v - 19.0).abs() < 1e-5), "{w} x {h}: {fine:?}");
        }
    }

    /// Inside, where nothing is repeated, all weights of a coarse sample add up to four fine ones.
    #[test]
    fn a_difference_of_zero_mean_leaves_the_mean() {
        let (w, h) = (32, 24);
        let mut coarse = vec![0.0f32; (w / 2) * (h / 2)];
        for (y, x, v) in [(4, 5, 30.0), (6, 9, -50.0), (5, 6, 20.0)] {
            coarse[y * (w / 2) + x] = v;
        }
        let mut fine = vec![0.0; w * h];
        merge(&mut fine, w, &mut coarse, None);
        let sum: f32 = fine.iter().sum();
        assert!(sum.abs() < 1e-3 && fine.iter().any(|v| v.abs() > 1.0), "{sum}");
    }
}
