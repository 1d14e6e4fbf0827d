//! Some of what was taken out comes back: (grain + detail w) r, where r = noisy - clean ([`Mix`]).

use rayon::prelude::*;

use super::layer::{Before, Layer};
use crate::device::{Input, Samples};
use crate::memory::check_planes;
use crate::method::{Mix, Plan};
use crate::{Control, Result};

/// How often the energy of noise a residue must have to be more than noise. The energy of 25 samples of noise deviates by
/// 0.28 of it: what is no more than 1.5 of it comes back nowhere, so that flat areas stay flat.
const NOISE: f32 = 1.5;

const REACH: usize = Mix::REACH;
const SIDE: usize = 2 * REACH + 1;

/// Frames whose residues come back in part.
pub(super) struct Mixed {
    mix: Mix,
    size: (usize, usize),
    /// Sums of squares along rows.
    energy: Vec<f32>,
}

impl Mixed {
    pub(super) fn new(plan: &Plan) -> Self {
        let window = plan.window();
        Self { mix: plan.front().mix, size: (window.width, window.height), energy: Vec::new() }
    }
}

impl Layer for Mixed {
    type Known = ();
    const NEEDS_FRAME: bool = true;
    const REACH: usize = REACH;

    fn before(&mut self, _: &Input<'_>) -> Result<Option<Before<()>>> {
        Ok((!self.mix.is_none()).then(|| Before::knowing(())))
    }

    fn after(
        &mut self,
        (): (),
        noisy: &[Samples<'_>],
        results: &mut [&mut [f32]],
        control: &Control,
    ) -> Result<()> {
        let (width, height) = self.size;
        if self.mix.detail > 0.0 && self.energy.is_empty() {
            check_planes(1, width, height)?;
            self.energy = vec![0.0; width * height];
        }
        for (noisy, clean) in noisy.iter().zip(results) {
            control.check()?;
            match noisy {
                Samples::U8(v) => mix(self.mix, v, width, clean, &mut self.energy),
                Samples::U16(v) => mix(self.mix, v, width, clean, &mut self.energy),
                Samples::F32(v) => mix(self.mix, v, width, clean, &mut self.energy),
            }
        }
        Ok(())
    }
}

/// Mixes a plane. `energy` is as large, if details come back.
fn mix<T: Copy + Into<f32> + Sync>(
    mix: Mix,
    noisy: &[T],
    width: usize,
    clean: &mut [f32],
    energy: &mut [f32],
) {
    if mix.detail == 0.0 {
        let rows = clean.par_chunks_mut(width).zip(noisy.par_chunks(width));
        rows.for_each(|(clean, noisy)| {
            clean.iter_mut().zip(noisy).for_each(|(v, &n)| *v += mix.grain * (n.into() - *v));
        });
        return;
    }
    let rows = energy.par_chunks_mut(width).zip(clean.par_chunks(width)).zip(noisy.par_chunks(width));
    rows.for_each_init(
        || vec![0.0; width + 2 * REACH],
        |squares, ((energy, clean), noisy)| {
            let inside = &mut squares[REACH..REACH + width];
            for ((to, v), &n) in inside.iter_mut().zip(clean).zip(noisy) {
                let r = n.into() - v;
                *to = r * r;
            }
            let (first, last) = (squares[REACH], squares[REACH + width - 1]);
            squares[..REACH].fill(first);
            squares[REACH + width..].fill(last);
            energy.iter_mut().zip(squares.windows(SIDE)).for_each(|(to, v)| *to = v.iter().sum());
        },
    );
    let (energy, height) = (&*energy, clean.len() / width);
    let floor = NOISE * mix.sigma * mix.sigma * (SIDE * SIDE) as f32;
    let rows = clean.par_chunks_mut(width).zip(noisy.par_chunks(width)).enumerate();
    rows.for_each(|(y, (clean, noisy))| {
        let around: [&[f32]; SIDE] = std::array::from_fn(|i| {
            let y = (y + i).saturating_sub(REACH).min(height - 1);
            &energy[y * width..][..width]
        });
        for (x, (v, &n)) in clean.iter_mut().zip(noisy).enumerate() {
            let sum: f32 = around.iter().map(|row| row[x]).sum();
            let structure = if sum > floor { 1.0 - floor / sum } else { 0.0 };
            *v += (mix.grain + mix.detail * structure).min(1.0) * (n.into() - *v);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::add_gaussian;
    use crate::{Frame, Plane};

    /// The formula, written down.
    fn reference(of: Mix, noisy: &[f32], (w, h): (usize, usize), clean: &[f32]) -> Vec<f64> {
        let residue = |y: isize, x: isize| {
            let at = y.clamp(0, h as isize - 1) as usize * w + x.clamp(0, w as isize - 1) as usize;
            f64::from(noisy[at]) - f64::from(clean[at])
        };
        let [detail, grain, sigma] = [of.detail, of.grain, of.sigma].map(f64::from);
        let one = |i: usize| {
            let (y, x) = ((i / w) as isize, (i % w) as isize);
            let around = (-2..=2).flat_map(|dy| (-2..=2).map(move |dx| (dy, dx)));
            let energy = around.map(|(dy, dx)| residue(y + dy, x + dx).powi(2)).sum::<f64>() / 25.0;
            let structure = (1.0 - 1.5 * sigma * sigma / energy.max(1e-30)).max(0.0);
            f64::from(clean[i]) + (grain + detail * structure).min(1.0) * residue(y, x)
        };
        (0..w * h).map(one).collect()
    }

    fn noise(w: usize, h: usize, sigma: f64, seed: u64) -> Vec<f32> {
        let flat = Frame::grey(Plane::from_vec(w, h, vec![100.0; w * h]).unwrap(), 255.0).unwrap();
        add_gaussian(&flat, sigma, seed).unwrap().into_planes().remove(0).into_vec()
    }

    #[test]
    fn mixing_is_the_formula() {
        for (w, h) in [(1, 1), (1, 7), (6, 1), (2, 3), (31, 17)] {
            let (noisy, clean) = (noise(w, h, 30.0, 1), noise(w, h, 20.0, 2));
            for (detail, grain) in [(0.0, 0.3), (0.6, 0.0), (0.5, 0.2), (1.0, 1.0)] {
                let of = Mix { detail, grain, sigma: 20.0 };
                let want = reference(of, &noisy, (w, h), &clean);
                let mut got = clean.clone();
                mix(of, &noisy, w, &mut got, &mut vec![0.0; w * h]);
                for (got, want) in got.iter().zip(&want) {
                    assert!((f64::from(*got) - want).abs() < 1e-3, "{w} x {h}: {got}, not {want}");
                }
            }
        }
    }

    #[test]
    fn all_the_grain_is_the_noisy_picture_and_noise_alone_has_no_detail() {
        let (w, h) = (64, 64);
        let noisy = noise(w, h, 20.0, 3);
        let run = |detail, grain| {
            let mut clean = vec![100.0; w * h];
            let of = Mix { detail, grain, sigma: 20.0 };
            mix(of, &noisy, w, &mut clean, &mut vec![0.0; w * h]);
            clean
        };
        let energy = |v: &[f32]| v.iter().map(|v| (v - 100.0).powi(2)).sum::<f32>() / v.len() as f32;
        assert!(run(0.0, 1.0).iter().zip(&noisy).all(|(a, b)| (a - b).abs() < 1e-4));
        assert!(energy(&run(1.0, 0.0)) < 0.01 * 400.0, "{}", energy(&run(1.0, 0.0)));
        let half = energy(&run(0.0, 0.5)) / energy(&noisy);
        assert!((half - 0.25).abs() < 1e-3, "{half}");
    }

    #[test]
    fn structure_that_was_lost_comes_back() {
        let (w, h) = (64, 64);
        let stripe = |i: usize| if i % w == 32 { 80.0 } else { 0.0 };
        let noisy: Vec<f32> = noise(w, h, 10.0, 4).iter().enumerate().map(|(i, v)| v + stripe(i)).collect();
        let mut out = vec![100.0; w * h];
        let of = Mix { detail: 1.0, grain: 0.0, sigma: 10.0 };
        mix(of, &noisy, w, &mut out, &mut vec![0.0; w * h]);
        let column = |x: usize| (0..h).map(|y| out[y * w + x] - 100.0).sum::<f32>() / h as f32;
        assert!(column(32) > 60.0 && column(10).abs() < 1.0, "{} {}", column(32), column(10));
    }
}
