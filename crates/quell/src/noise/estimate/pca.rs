//! Chen, Zhu, Heng, "An efficient statistical method for image noise level estimation", ICCV 2015.

use super::blocks::{self, Content, SIDE};
use super::eigen::eigenvalues;
use crate::FrameView;

const N: usize = SIDE * SIDE;
const LIMIT: usize = 16_384;
/// Patches whose sums are kept in `f32` before they are added in `f64`.
const FLUSH: usize = 256;

pub(super) fn estimate(frame: &FrameView<'_>) -> Option<f64> {
    let per: Vec<f64> = frame.planes().iter().map(|p| {
        let corners = blocks::corners(frame, 3, LIMIT / frame.channels());
        let mut c = Covariance::new();
        for &at in &corners {
            let b = blocks::load(p, at);
            if blocks::content(&b, frame.white()) == Content::Usable { c.add(b.as_flattened()); }
        }
        let e = c.eigenvalues();
        tau(&e)
    }).collect();
    Some((per.iter().sum::<f64>() / per.len() as f64).sqrt())
}

fn tau(e: &[f64]) -> f64 {
    for m in (1..=e.len()).rev() {
        let s = &e[..m];
        let t = s.iter().sum::<f64>() / m as f64;
        let above = s.iter().filter(|v| **v > t).count();
        let below = s.iter().filter(|v| **v < t).count();
        if above == below { return t.max(0.0); }
    }
    0.0
}

struct Covariance { pending: Vec<[f32; N]>, sum: Vec<f64>, mean: Vec<f64>, part: Vec<f32>, count: usize }

impl Covariance {
    fn new() -> Self {
        Self { pending: Vec::new(), sum: vec![0.0; N * N], mean: vec![0.0; N], part: vec![0.0; N * N], count: 0 }
    }
    fn add(&mut self, v: &[f32]) {
        let mut a = [0.0; N];
        a.copy_from_slice(v);
        for v in &mut a { *v -= 128.0; }
        self.pending.push(a);
        self.count += 1;
        if self.pending.len() == FLUSH { self.flush(); }
    }
    fn flush(&mut self) {
        self.part.fill(0.0);
        for v in &self.pending { for (m, v) in self.mean.iter_mut().zip(v) { *m += f64::from(*v); } }
        let zero = [0.0; N];
        for q in self.pending.chunks(4) {
            let g = |i: usize| q.get(i).unwrap_or(&zero);
            let (a, b, c, d) = (g(0), g(1), g(2), g(3));
            for i in 0..N {
                // From a multiple of 8, so that the inner loop has whole vectors.
                let from = i / 8 * 8;
                let row = &mut self.part[i * N + from..][..N - from];
                let (ai, bi, ci, di) = (a[i], b[i], c[i], d[i]);
                for ((((o, a), b), c), d) in row.iter_mut().zip(&a[from..]).zip(&b[from..]).zip(&c[from..]).zip(&d[from..]) {
                    *o += ai * a + bi * b + ci * c + di * d;
                }
            }
        }
        for (s, p) in self.sum.iter_mut().zip(&self.part) { *s += f64::from(*p); }
        self.pending.clear();
    }
    fn eigenvalues(mut self) -> Vec<f64> {
        self.flush();
        let n = self.count.max(1) as f64;
        let mut m = vec![0.0; N * N];
        for i in 0..N { for j in i..N {
            let v = self.sum[i * N + j] / n - self.mean[i] * self.mean[j] / (n * n);
            m[i * N + j] = v; m[j * N + i] = v;
        } }
        eigenvalues(&mut m, N)
    }
}
