//! The nearest candidates of 32 references at once, exact and in order, without a branch per distance.
//!
//! 1. Every candidate falls into one of a few bins; the minima of the bins, sorted, give a distance that is
//!    certainly large enough for the wanted number of candidates.
//! 2. Candidates below it are collected with their number in the lower half of the key, lane by lane.
//! 3. A sorting network puts the keys of all lanes in order. Should a lane overflow, the network runs early,
//!    only the best are kept and the bound becomes the worst of them. Numbers rise, so among equal distances
//!    the earlier candidate wins, as the contract wants.

use super::scan::LANES;
use crate::device::cpu::simd::Simd;

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    /// `[bin][32]`.
    bins: Vec<u16>,
    /// `[slot][32]`.
    keys: Vec<u32>,
    filled: [u32; LANES],
    networks: Networks,
}

impl Scratch {
    /// The keys of a lane in order, at most `most`.
    pub(super) fn lane(&self, lane: usize, most: usize) -> impl Iterator<Item = u32> {
        let n = most.min(self.filled[lane] as usize);
        self.keys.iter().skip(lane).step_by(LANES).take(n).copied()
    }
}

/// Finds the `group - 1` nearest of `distances` (`[candidate][32]`) that are not above `max`.
#[inline(never)]
pub(super) fn nearest<S: Simd>(s: &mut Scratch, distances: &[u16], group: usize, max: u32, lanes: usize) {
    S::vectorize(
        #[inline(always)]
        || nearest_inner::<S>(s, distances, group, max, lanes),
    );
}

#[inline(always)]
fn nearest_inner<S: Simd>(s: &mut Scratch, distances: &[u16], group: usize, max: u32, lanes: usize) {
    let wanted = group - 1;
    s.filled = [0; LANES];
    if wanted == 0 {
        return;
    }
    let capacity = (2 * group).next_power_of_two().max(8);
    s.keys.clear();
    s.keys.resize(capacity * LANES, u32::MAX);
    let mut bound = [0u16; LANES];
    upper_bound::<S>(s, distances, group, max, &mut bound);
    bound[lanes..].fill(0);
    // SAFETY: `distances` holds whole vectors; `bound` is one.
    unsafe {
        let mut limit = S::u16_load(bound.as_ptr());
        let candidates = distances.len() / LANES;
        let mut number = 0;
        while number < candidates {
            // Two candidates share one loop over hits: its exit is the branch that is hard to predict.
            let d = distances.as_ptr().add(number * LANES);
            let mut hits = u64::from(S::u16_lt(S::u16_load(d), limit));
            if number + 1 < candidates {
                hits |= u64::from(S::u16_lt(S::u16_load(d.add(LANES)), limit)) << 32;
            }
            let mut full = false;
            while hits != 0 {
                let bit = hits.trailing_zeros() as usize;
                hits &= hits - 1;
                let lane = bit % LANES;
                let slot = *s.filled.get_unchecked(lane) as usize;
                // A lane is emptied as soon as it is nearly full, so the slot exists.
                let key = (u32::from(*d.add(bit)) << 16) | (number + bit / LANES) as u32;
                *s.keys.get_unchecked_mut(slot * LANES + lane) = key;
                *s.filled.get_unchecked_mut(lane) = slot as u32 + 1;
                full |= slot + 2 >= capacity;
            }
            if full {
                compact::<S>(s, wanted, capacity, &mut bound);
                limit = S::u16_load(bound.as_ptr());
            }
            number += 2;
        }
    }
    let most = s.filled.iter().copied().max().unwrap_or(0) as usize;
    if most > 1 {
        let size = most.next_power_of_two();
        sort_keys::<S>(&mut s.keys, s.networks.of(size));
    }
}

/// A bound below which every lane has at least `group - 1` candidates (if it has that many up to `max` at all).
#[inline(always)]
fn upper_bound<S: Simd>(
    s: &mut Scratch,
    distances: &[u16],
    group: usize,
    max: u32,
    bound: &mut [u16; LANES],
) {
    let cap = S::u16_splat((max + 1) as u16);
    let bins = (2 * group).next_power_of_two();
    s.bins.clear();
    s.bins.resize(bins * LANES, u16::MAX);
    let (from, to) = (distances.as_ptr(), s.bins.as_mut_ptr());
    let candidates = distances.len() / LANES;
    // Strided so that neighbouring candidates, which resemble each other, fall into different bins.
    // SAFETY: `bin` is below `bins`, `i` below `candidates`.
    unsafe {
        for bin in 0..bins {
            let mut least = S::u16_splat(u16::MAX);
            let mut i = bin;
            while i < candidates {
                least = S::u16_min(least, S::u16_load(from.add(i * LANES)));
                i += bins;
            }
            S::u16_store(to.add(bin * LANES), least);
        }
        for &(a, b) in s.networks.of(bins) {
            let (pa, pb) = (to.add(a as usize * LANES), to.add(b as usize * LANES));
            let (va, vb) = (S::u16_load(pa), S::u16_load(pb));
            S::u16_store(pa, S::u16_min(va, vb));
            S::u16_store(pb, S::u16_max(va, vb));
        }
        // The group - 1 smallest minima are candidates themselves; one more level lets equals in.
        let enough = S::u16_load(to.add((group - 2) * LANES));
        S::u16_store(bound.as_mut_ptr(), S::u16_min(cap, S::u16_adds(enough, S::u16_splat(1))));
    }
}

/// Keeps the best `wanted` keys of every lane and lowers the bounds to what could still displace one.
#[inline(never)]
fn compact<S: Simd>(s: &mut Scratch, wanted: usize, capacity: usize, bound: &mut [u16; LANES]) {
    S::vectorize(
        #[inline(always)]
        || sort_keys::<S>(&mut s.keys, s.networks.of(capacity)),
    );
    for (lane, filled) in s.filled.iter_mut().enumerate() {
        if *filled as usize >= wanted {
            *filled = wanted as u32;
            bound[lane] = (s.keys[(wanted - 1) * LANES + lane] >> 16) as u16;
        }
        for slot in *filled as usize..capacity {
            s.keys[slot * LANES + lane] = u32::MAX;
        }
    }
}

#[inline(always)]
fn sort_keys<S: Simd>(keys: &mut [u32], network: &[(u8, u8)]) {
    let last = network.iter().map(|&(_, b)| b as usize + 1).max().unwrap_or(0);
    assert!(keys.len() >= last * LANES);
    let p = keys.as_mut_ptr();
    for &(a, b) in network {
        // SAFETY: the assertion covers the largest index of the network.
        unsafe {
            let (pa, pb) = (p.add(a as usize * LANES), p.add(b as usize * LANES));
            let (va, vb) = (S::u32_load(pa), S::u32_load(pb));
            S::u32_store(pa, S::u32_min(va, vb));
            S::u32_store(pb, S::u32_max(va, vb));
        }
    }
}

/// Batcher's odd-even merge sort for every power of two up to 256.
struct Networks(Vec<Vec<(u8, u8)>>);

impl Default for Networks {
    fn default() -> Self {
        Self((0..=8).map(|log| batcher(1 << log)).collect())
    }
}

impl Networks {
    fn of(&self, size: usize) -> &[(u8, u8)] {
        &self.0[size.ilog2() as usize]
    }
}

fn batcher(n: usize) -> Vec<(u8, u8)> {
    let mut pairs = Vec::new();
    let mut p = 1;
    while p < n {
        let mut k = p;
        while k >= 1 {
            for j in (k % p..n - k).step_by(2 * k) {
                for i in 0..k.min(n - j - k) {
                    if (i + j) / (2 * p) == (i + j + k) / (2 * p) {
                        pairs.push(((i + j) as u8, (i + j + k) as u8));
                    }
                }
            }
            k /= 2;
        }
        p *= 2;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_sort() {
        let mut state = 1u32;
        for n in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
            for _ in 0..200 {
                let mut v: Vec<u32> = (0..n)
                    .map(|_| {
                        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                        state >> 28
                    })
                    .collect();
                for (a, b) in batcher(n) {
                    if v[a as usize] > v[b as usize] {
                        v.swap(a.into(), b.into());
                    }
                }
                assert!(v.is_sorted());
            }
        }
    }
}
