//! Ponomarenko's method in the version of Colom and Buades, "Analysis and Extension of the Ponomarenko et al.
//! Method", IPOL 2013, with one bin: one deviation for the whole picture.

use super::blocks::{self, Block, Content, SIDE};
use crate::FrameView;

const CUT: usize = 9;
const LIMIT: usize = 65_536;


struct Cand { low: f32, mean: f32, index: u32 }

pub(super) fn estimate(frame: &FrameView<'_>) -> Option<f64> {
    let per: Vec<f64> = frame.planes().iter().filter_map(|p| plane_estimate(frame, p)).collect();
    if per.is_empty() { return None; }
    Some((per.iter().map(|v| v*v).sum::<f64>() / per.len() as f64).sqrt())
}

fn plane_estimate(frame: &FrameView<'_>, plane: &crate::PlaneView<'_>) -> Option<f64> {
    let env = |n: &str, d: f64| std::env::var(n).ok().and_then(|v| v.parse::<f64>().ok()).unwrap_or(d);
    let share = env("SHARE", 0.005);
    let limit = env("LIMIT", LIMIT as f64) as usize;
    let rounds = env("ROUNDS", 2.0) as usize;
    let thr = env("THR", 1.0);
    let margin = env("MARGIN", 2.0);
    let maxclip = env("MAXCLIP", 3.0) as u32;
    let corners = blocks::corners(frame, 1, limit / frame.channels());
    let white = frame.white();
    let mut list: Vec<Cand> = Vec::new();
    let (mut flat, mut black, mut whites) = (0, 0, 0);
    for (k, &at) in corners.iter().enumerate() {
        let block = blocks::load(plane, at);
        let Some((b, w)) = blocks::clips(&block, white) else { flat += 1; continue };
        black += b; whites += w;
        if b + w > maxclip { continue; }
        let c = transform(&block);
        let mut low = 0.0;
        for i in 0..SIDE { for j in 0..SIDE { if i + j < CUT { low += c[i][j] * c[i][j]; } } }
        low -= c[0][0] * c[0][0];
        list.push(Cand { low: low / 42.0, mean: c[0][0] / 8.0, index: k as u32 });
    }
    if flat * 2 > corners.len() { return Some(0.0); }
    if list.is_empty() { return None; }
    let k = ((list.len() as f64 * share) as usize).max(1);
    list.select_nth_unstable_by(k - 1, |a, b| a.low.total_cmp(&b.low).then(a.index.cmp(&b.index)));
    let high = |sel: &mut dyn Iterator<Item = &Cand>| -> f64 {
        let mut high = [[0.0_f32; SIDE]; SIDE];
        let mut n = 0;
        for c in sel {
            n += 1;
            let c = transform(&blocks::load(plane, corners[c.index as usize]));
            for i in 0..SIDE { for j in 0..SIDE { high[i][j] += c[i][j] * c[i][j]; } }
        }
        let mut v: Vec<f64> = Vec::new();
        for i in 0..SIDE { for j in 0..SIDE { if i + j >= CUT { v.push(f64::from(high[i][j]) / n as f64); } } }
        v.sort_by(f64::total_cmp);
        v[v.len() / 2]
    };
    let mut var = high(&mut list[..k].iter());
    for _ in 0..rounds {
        let m = (margin * var.sqrt()) as f32;
        let lo = if black > 0 { m } else { f32::NEG_INFINITY };
        let hi = if whites > 0 { white - m } else { f32::INFINITY };
        let t = (var * thr) as f32;
        let n = list.iter().filter(|c| c.low <= t && c.mean >= lo && c.mean <= hi).count();
        if n < k { break; }
        var = high(&mut list.iter().filter(|c| c.low <= t && c.mean >= lo && c.mean <= hi));
    }
    Some(var.sqrt())
}

/// The orthonormal 8 x 8 DCT-II.
fn transform(block: &Block) -> Block {
    transpose(&columns(&transpose(&columns(block))))
}

fn transpose(b: &Block) -> Block {
    std::array::from_fn(|i| std::array::from_fn(|j| b[j][i]))
}

/// The orthonormal DCT-II of every column: even and odd halves, then products with the cosines.
fn columns(b: &Block) -> Block {
    // cos(k pi / 16) / 2; the first is 1/sqrt(8).
    const C: [f32; 8] = [
        0.353_553_39, 0.490_392_64, 0.461_939_77, 0.415_734_81, 0.353_553_39, 0.277_785_12, 0.191_341_72, 0.097_545_16,
    ];
    let mut out = [[0.0; SIDE]; SIDE];
    for x in 0..SIDE {
        let s: [f32; 4] = std::array::from_fn(|i| b[i][x] + b[7 - i][x]);
        let d: [f32; 4] = std::array::from_fn(|i| b[i][x] - b[7 - i][x]);
        let (s0, s1, d0, d1) = (s[0] + s[3], s[1] + s[2], s[0] - s[3], s[1] - s[2]);
        out[0][x] = C[0] * (s0 + s1);
        out[4][x] = C[4] * (s0 - s1);
        out[2][x] = C[2] * d0 + C[6] * d1;
        out[6][x] = C[6] * d0 - C[2] * d1;
        out[1][x] = C[1] * d[0] + C[3] * d[1] + C[5] * d[2] + C[7] * d[3];
        out[3][x] = C[3] * d[0] - C[7] * d[1] - C[1] * d[2] - C[5] * d[3];
        out[5][x] = C[5] * d[0] - C[1] * d[1] + C[7] * d[2] + C[3] * d[3];
        out[7][x] = C[7] * d[0] - C[5] * d[1] + C[3] * d[2] - C[1] * d[3];
    }
    out
}
