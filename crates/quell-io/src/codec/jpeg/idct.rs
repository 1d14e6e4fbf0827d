//! The inverse DCT of a block, in integers.
//!
//! The factorisation is that of C. Loeffler, A. Ligtenberg, G. Moschytz: Practical fast 1-D DCT algorithms with
//! 11 multiplications, ICASSP 1989. Constants have 13 fractional bits and the columns keep two more, which are
//! the widths that libjpeg's accurate method uses too: results are the same to the bit.

use std::num::Wrapping;

/// Damaged files hold coefficients of any size; sums wrap and samples are clamped.
type Int = Wrapping<i32>;

/// Fractional bits of the constants.
const BITS: usize = 13;
/// Fractional bits that the column pass leaves.
const EXTRA: usize = 2;

/// `v` with [`BITS`] fractional bits.
const fn fix(v: f64) -> Int {
    Wrapping((v * (1 << BITS) as f64 + 0.5) as i32)
}

// Rotations of the paper's flow graph, as sums and differences of sqrt(2) cos(k pi / 16).
const EVEN_SUM: Int = fix(0.541196100);
const EVEN_HIGH: Int = fix(1.847759065);
const EVEN_LOW: Int = fix(0.765366865);
const ODD_ALL: Int = fix(1.175875602);
const ODD: [Int; 4] = [fix(0.298631336), fix(2.053119869), fix(3.072711026), fix(1.501321110)];
const PAIR: [Int; 4] = [fix(0.899976223), fix(2.562915447), fix(1.961570560), fix(0.390180644)];

/// Eight coefficients to eight samples, `shift` bits dropped with rounding.
fn line(c: [Int; 8], shift: usize) -> [Int; 8] {
    // Even part.
    let z = (c[2] + c[6]) * EVEN_SUM;
    let (low, high) = (z - c[6] * EVEN_HIGH, z + c[2] * EVEN_LOW);
    let (sum, difference) = ((c[0] + c[4]) << BITS, (c[0] - c[4]) << BITS);
    let even = [sum + high, difference + low, difference - low, sum - high];

    // Odd part.
    let z5 = (c[7] + c[3] + c[5] + c[1]) * ODD_ALL;
    let z1 = (c[7] + c[1]) * PAIR[0];
    let z2 = (c[5] + c[3]) * PAIR[1];
    let z3 = z5 - (c[7] + c[3]) * PAIR[2];
    let z4 = z5 - (c[5] + c[1]) * PAIR[3];
    let odd =
        [c[1] * ODD[3] - z1 + z4, c[3] * ODD[2] - z2 + z3, c[5] * ODD[1] - z2 + z4, c[7] * ODD[0] - z1 + z3];

    let half = Wrapping(1 << (shift - 1));
    std::array::from_fn(|i| {
        let (i, sign) = if i < 4 { (i, false) } else { (7 - i, true) };
        let v = if sign { even[i] - odd[i] } else { even[i] + odd[i] };
        (v + half) >> shift
    })
}

/// A level-shifted sample.
fn sample(v: Int) -> u8 {
    (v.0.saturating_add(128)).clamp(0, 255) as u8
}

/// Dequantises `coefficients` (natural order) and writes the block's samples to `out`, whose rows are `stride`
/// apart.
pub(super) fn block(coefficients: &[i16; 64], quantiser: &[u16; 64], out: &mut [u8], stride: usize) {
    if coefficients[1..].iter().all(|c| *c == 0) {
        let dc = Wrapping(i32::from(coefficients[0])) * Wrapping(i32::from(quantiser[0]));
        let flat = sample(((dc << EXTRA) + Wrapping(1 << (EXTRA + 2))) >> (EXTRA + 3));
        out.chunks_mut(stride).take(8).for_each(|row| row[..8].fill(flat));
        return;
    }
    let at = |i: usize| Wrapping(i32::from(coefficients[i])) * Wrapping(i32::from(quantiser[i]));
    let mut columns = [[Wrapping(0); 8]; 8];
    for (x, column) in columns.iter_mut().enumerate() {
        *column = if (1..8).all(|y| coefficients[8 * y + x] == 0) {
            [at(x) << EXTRA; 8]
        } else {
            line(std::array::from_fn(|y| at(8 * y + x)), BITS - EXTRA)
        };
    }
    for (y, row) in out.chunks_mut(stride).take(8).enumerate() {
        let samples = line(std::array::from_fn(|x| columns[x][y]), BITS + EXTRA + 3);
        row[..8].iter_mut().zip(samples).for_each(|(o, v)| *o = sample(v));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, in double precision.
    fn exact(coefficients: &[i16; 64], quantiser: &[u16; 64]) -> [f64; 64] {
        let basis = |u: usize, x: usize| {
            let scale = if u == 0 { 0.125_f64.sqrt() } else { 0.5 };
            scale * ((2 * x + 1) as f64 * u as f64 * std::f64::consts::PI / 16.0).cos()
        };
        std::array::from_fn(|i| {
            let (x, y) = (i % 8, i / 8);
            (0..64)
                .map(|k| {
                    let c = f64::from(coefficients[k]) * f64::from(quantiser[k]);
                    c * basis(k % 8, x) * basis(k / 8, y)
                })
                .sum::<f64>()
                + 128.0
        })
    }

    #[test]
    fn blocks_are_within_rounding_of_the_definition() {
        let mut state = 7_u32;
        let mut random = |n: u32| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 16) % n
        };
        let mut wrong = 0;
        for round in 0..400 {
            let quantiser: [u16; 64] = std::array::from_fn(|_| 1 + random(9) as u16);
            // From one coefficient to all of them.
            let coefficients: [i16; 64] =
                std::array::from_fn(|k| if k <= round % 64 { random(21) as i16 - 10 } else { 0 });
            let mut got = [0; 64];
            block(&coefficients, &quantiser, &mut got, 8);
            for (g, e) in got.iter().zip(exact(&coefficients, &quantiser)) {
                let e = e.clamp(0.0, 255.0);
                assert!((f64::from(*g) - e).abs() < 0.6, "{g} {e}");
                wrong += usize::from(f64::from(*g) != e.round());
            }
        }
        assert!(wrong < 400 * 64 / 50, "{wrong} samples are not the nearest");
    }

    #[test]
    fn the_largest_coefficients_do_not_overflow() {
        let mut out = [0; 64];
        for c in [i16::MIN, i16::MAX] {
            block(&[c; 64], &[u16::MAX; 64], &mut out, 8);
            block(&std::array::from_fn(|i| if i == 0 { c } else { 0 }), &[u16::MAX; 64], &mut out, 8);
        }
    }
}
