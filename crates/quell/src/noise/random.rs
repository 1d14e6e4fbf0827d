//! Random numbers that are the same on every platform and in every version.
//!
//! Seeds stand in test protocols and published tables, so the bits behind them must never change; generators
//! and distributions of libraries do, and so do the logarithms of C libraries. Hence by hand, and only with
//! operations that IEEE 754 fixes to the last bit: xoshiro256++ (Blackman, Vigna 2018) seeded by SplitMix64,
//! Marsaglia's polar method (1964) for normal values, and for Poisson ones arrival times (small means) or
//! Hörmann's transformed rejection PTRS (1993). None of them is an approximation of the distribution.

use std::f64::consts::{LN_2, PI};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: [u64; 4],
    /// The second value of the last pair of the polar method.
    spare: Option<f64>,
}

impl Random {
    /// The stream of `seed` for one plane and row: rows can be made in any order and in parallel.
    pub(crate) fn new(seed: u64, plane: u64, row: u64) -> Self {
        let mut key = scatter(scatter(scatter(seed).wrapping_add(plane)).wrapping_add(row));
        Self { state: std::array::from_fn(|_| split_mix(&mut key)), spare: None }
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in (0, 1], a multiple of 2^-53: never zero, so that its logarithm exists.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Normal with mean 0 and deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        if let Some(v) = self.spare.take() {
            return v;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let r = x * x + y * y;
            if r < 1.0 && r > 0.0 {
                let scale = (-2.0 * ln(r) / r).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }

    /// Poisson with this mean; 0 for a mean of 0 or less.
    pub(crate) fn poisson(&mut self, mean: f64) -> f64 {
        if mean <= 0.0 {
            0.0
        } else if mean < 10.0 {
            self.poisson_by_arrivals(mean)
        } else {
            self.poisson_by_rejection(mean)
        }
    }

    /// The number of arrivals, with exponential waiting times, before `mean`.
    fn poisson_by_arrivals(&mut self, mean: f64) -> f64 {
        let mut time = -ln(self.uniform());
        let mut count = 0.0;
        while time < mean {
            count += 1.0;
            time -= ln(self.uniform());
        }
        count
    }

    /// Hörmann's PTRS; needs a mean of 10 or more.
    fn poisson_by_rejection(&mut self, mean: f64) -> f64 {
        let b = 0.931 + 2.53 * mean.sqrt();
        let a = -0.059 + 0.024_83 * b;
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let limit = 0.9277 - 3.6224 / (b - 2.0);
        let ln_mean = ln(mean);
        loop {
            let u = self.uniform() - 0.5;
            let v = self.uniform();
            let us = 0.5 - u.abs();
            let k = ((2.0 * a / us + b) * u + mean + 0.43).floor();
            if us >= 0.07 && v <= limit {
                return k;
            }
            if k < 0.0 || (us < 0.013 && v > us) {
                continue;
            }
            if ln(v * inverse_alpha / (a / (us * us) + b)) <= k * ln_mean - mean - ln_factorial(k) {
                return k;
            }
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A bijection that leaves no trace of order: neighbouring seeds, planes and rows get unrelated keys.
fn scatter(mut key: u64) -> u64 {
    split_mix(&mut key)
}

/// Natural logarithm of a positive normal number, within 2 units of the last place, the same everywhere.
fn ln(v: f64) -> f64 {
    let bits = v.to_bits();
    let mut exponent = (bits >> 52) as f64 - 1023.0;
    let mut mantissa = f64::from_bits((bits & 0x000F_FFFF_FFFF_FFFF) | 0x3FF0_0000_0000_0000);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1.0;
    }
    // ln m = 2 artanh s, |s| < 0.172: eleven terms of the series reach the last bit.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let q = s * s;
    let series = (1..=11).rev().fold(0.0, |sum, k| sum * q + 1.0 / f64::from(2 * k - 1));
    exponent * LN_2 + 2.0 * s * series
}

/// `ln k!`: a product up to 15, above it Stirling's series.
fn ln_factorial(k: f64) -> f64 {
    if k < 16.0 {
        return ln((2..=k as u32).map(f64::from).product());
    }
    let r = 1.0 / k;
    let tail = r * (1.0 / 12.0 - r * r * (1.0 / 360.0 - r * r * (1.0 / 1260.0 - r * r / 1680.0)));
    (k + 0.5) * ln(k) - k + 0.5 * ln(2.0 * PI) + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        // First outputs for state 1, 2, 3, 4, as in the reference implementation.
        let mut r = Random { state: [1, 2, 3, 4], spare: None };
        assert_eq!([r.bits(), r.bits(), r.bits()], [41_943_041, 58_720_359, 3_588_806_011_781_223]);
    }

    #[test]
    fn split_mix_is_the_published_one() {
        let mut s = 1_234_567;
        assert_eq!(split_mix(&mut s), 6_457_827_717_110_365_317);
        assert_eq!(split_mix(&mut s), 3_203_168_211_198_807_973);
    }

    #[test]
    fn logarithms_agree_with_the_standard_library() {
        let mut r = Random::new(3, 0, 0);
        for _ in 0..2000 {
            for v in [r.uniform(), r.uniform() * 1e9, r.uniform() * 1e-9] {
                assert!((ln(v) - v.ln()).abs() <= 4e-16 * v.ln().abs().max(1.0), "ln {v}");
            }
        }
        let mut sum = 0.0_f64;
        for k in 1..200 {
            sum += f64::from(k).ln();
            assert!((ln_factorial(f64::from(k)) - sum).abs() < 1e-12 * sum.max(1.0), "{k}!");
        }
    }

    /// Probabilities of 0, 1, 2, … by recursion from the mode, an independent way.
    fn probabilities(mean: f64, n: usize) -> Vec<f64> {
        let mut p: Vec<f64> = Vec::with_capacity(n);
        p.push((-mean).exp());
        for k in 1..n {
            p.push(p[k - 1] * mean / k as f64);
        }
        p
    }

    #[test]
    fn poisson_follows_its_law_on_both_sides_of_the_switch() {
        const N: usize = 200_000;
        for mean in [0.05, 0.7, 3.0, 9.99, 10.0, 14.0, 60.0] {
            let mut r = Random::new(7, 0, 0);
            let p = probabilities(mean, 160);
            let mut counts = vec![0.0; p.len()];
            for _ in 0..N {
                counts[r.poisson(mean) as usize] += 1.0;
            }
            // Chi-square over the cells with at least 20 expected.
            let cells: Vec<(f64, f64)> =
                p.iter().map(|p| p * N as f64).zip(counts).filter(|c| c.0 >= 20.0).collect();
            let chi: f64 = cells.iter().map(|(e, c)| (c - e) * (c - e) / e).sum();
            let limit = cells.len() as f64 + 4.0 * (2.0 * cells.len() as f64).sqrt();
            assert!(chi < limit, "mean {mean}: chi-square {chi} over {} cells", cells.len());
        }
    }
}
