//! A picture at several sizes: noise that is too coarse for a filter is fine in a smaller picture.

use std::ops::Range;

use super::layer::{Floats, host_only, samples};
use super::pyramid::{down, merge};
use crate::device::{DeviceSamples, Input, Samples, SamplesMut, Sequence};
use crate::memory::check_planes;
use crate::method::{Plan, Window};
use crate::{Control, Result};

/// A sequence for frames as they are, and one for those of half the size.
pub(super) struct Scaled {
    fine: Box<dyn Sequence>,
    coarse: Box<dyn Sequence>,
    window: Window,
    white: f32,
    /// The rows that the fine one gets: coarse results depend on more rows, where the picture is not whole.
    rows: Range<usize>,
    /// How far the coarse one is believed, in the units of the samples, by plane; none, if without limits.
    limits: Vec<f32>,
    /// The coarse planes of a frame.
    small: Vec<Vec<f32>>,
    /// Coarse results.
    known: Floats,
    /// Fine results, where they do not become floats.
    floats: Floats,
}

/// Of four parts of the work, three are the fine one's.
const FINE: Range<usize> = 0..3;
const COARSE: Range<usize> = 3..4;

impl Scaled {
    /// `fine` gets these rows of the frames of the plan, `coarse` all of half their size.
    pub(super) fn new(
        fine: Box<dyn Sequence>,
        rows: Range<usize>,
        coarse: Box<dyn Sequence>,
        plan: &Plan,
    ) -> Self {
        let (window, white) = (plan.window(), plan.front().white);
        let limits = plan.limits().iter().map(|limit| limit / plan.scale()).collect();
        let (small, known, floats) = Default::default();
        Self { fine, coarse, window, white, rows, limits, small, known, floats }
    }

    /// The samples of the rows that are the fine sequence's.
    fn span(&self) -> Range<usize> {
        self.rows.start * self.window.width..self.rows.end * self.window.width
    }

    /// Does something with a frame, as its rows for the fine sequence and as the coarse frame.
    fn both(
        &mut self,
        frame: &Input<'_>,
        work: impl FnOnce(&mut Self, &Input<'_>, &Input<'_>) -> Result<()>,
    ) -> Result<()> {
        self.window.check_input(frame)?;
        let Window { width, height, planes, .. } = self.window;
        let mut small = std::mem::take(&mut self.small);
        if small.is_empty() {
            check_planes(planes, width / 2, height / 2)?;
            small = vec![vec![0.0; (width / 2) * (height / 2)]; planes];
        }
        frame.planes.iter().zip(&mut small).for_each(|(from, to)| down(*from, width, to));
        let fine: Vec<Samples<'_>> = frame.planes.iter().map(|p| p.part(self.span())).collect();
        let coarse: Vec<Samples<'_>> = small.iter().map(|p| Samples::F32(p)).collect();
        let done = work(self, &Input { planes: &fine, guide: &[] }, &Input { planes: &coarse, guide: &[] });
        self.small = small;
        done
    }

    /// Has both sequences deliver floats, and merges them into `to`.
    fn merged(
        &mut self,
        to: &mut [SamplesMut<'_>],
        control: &Control,
        fine: impl FnOnce(&mut dyn Sequence, &mut [SamplesMut<'_>], &Control) -> Result<()>,
        coarse: impl FnOnce(&mut dyn Sequence, &mut [SamplesMut<'_>], &Control) -> Result<()>,
    ) -> Result<()> {
        self.window.check_output(to)?;
        let (span, Window { width, height, results, .. }) = (self.span(), self.window);
        let mut known = self.known.planes(results, width / 2, height / 2)?;
        let first = self.rows.start / 2 * (width / 2);
        self.floats.fill(to, self.window, self.white, |to| {
            let mut to: Vec<&mut [f32]> = to.iter_mut().map(|to| &mut to[span.clone()]).collect();
            fine(&mut *self.fine, &mut samples(&mut to), &control.sections(FINE, COARSE.end))?;
            coarse(&mut *self.coarse, &mut samples(&mut known), &control.sections(COARSE, COARSE.end))?;
            for (c, (to, known)) in to.iter_mut().zip(&mut known).enumerate() {
                merge(to, width, &mut known[first..], self.limits.get(c).copied());
            }
            Ok(())
        })
    }
}

impl Sequence for Scaled {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.both(frame, |all, fine, coarse| {
            all.fine.push(fine, control)?;
            all.coarse.push(coarse, control)
        })
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        let pull = |sequence: &mut dyn Sequence, to: &mut [SamplesMut<'_>], control: &Control| {
            sequence.pull(to, control)
        };
        self.merged(to, control, pull, pull)
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.both(frame, |all, fine, coarse| {
            all.merged(
                to,
                control,
                |sequence, to, control| sequence.frame(fine, to, control),
                |sequence, to, control| sequence.frame(coarse, to, control),
            )
        })
    }

    fn lent(&mut self, _: &[DeviceSamples], _: &[DeviceSamples], _: &Control) -> Result<()> {
        Err(host_only())
    }
}

#[cfg(test)]
mod tests {
    use super::super::pyramid;
    use super::*;
    use crate::device::cpu::Cpu;
    use crate::device::{Backend, DeviceOptions, picture};
    use crate::method::Front;
    use crate::metrics::largest;
    use crate::noise::add_gaussian;
    use crate::{ColorMode, Frame, Plane, PlaneView, bm3d, nlm};

    fn cpu() -> Cpu {
        Cpu::new(DeviceOptions { threads: 2, ..DeviceOptions::default() }).unwrap()
    }

    fn plan(width: usize, height: usize, sigma: f32) -> Plan {
        bm3d::Plan::new(&bm3d::Profile::Fast.params(sigma), width, height, &[sigma]).unwrap().into()
    }

    fn two(width: usize, height: usize) -> Plan {
        plan(width, height, 20.0).with_coarser(plan(width / 2, height / 2, 10.0)).unwrap()
    }

    fn noisy(width: usize, height: usize, seed: u64) -> Plane {
        let value = |i: usize| 100.0 + 60.0 * ((i % width) as f32 * 0.1).sin();
        let clean = Plane::from_vec(width, height, (0..width * height).map(value).collect()).unwrap();
        add_gaussian(&Frame::grey(clean, 255.0).unwrap(), 20.0, seed).unwrap().into_planes().remove(0)
    }

    fn filter(plan: &Plan, plane: PlaneView<'_>) -> Vec<f32> {
        picture(&cpu(), plan, &[plane], &[], &Control::new()).unwrap().remove(0).into_vec()
    }

    #[test]
    fn a_picture_of_two_sizes_is_both_pictures_merged() {
        for (w, h) in [(64, 48), (65, 47)] {
            let noisy = noisy(w, h, 1);
            let mut want = filter(&plan(w, h, 20.0), noisy.view());
            let mut small = Plane::zeros(w / 2, h / 2);
            down(Samples::F32(noisy.as_slice()), w, small.as_mut_slice());
            let mut coarse = filter(&plan(w / 2, h / 2, 10.0), small.view());
            pyramid::merge(&mut want, w, &mut coarse, None);
            assert_eq!(filter(&two(w, h), noisy.view()), want);
        }
    }

    #[test]
    fn a_limit_is_one_of_channels_whatever_the_samples() {
        let (mode, (w, h)) = (ColorMode::Opp, (65, 48));
        let limits = [2.0, 3.0, 4.0];
        let sized = |w: usize, h: usize, sigma: f32, front: &Front| {
            let sigmas = mode.noise_gain().map(|gain| sigma * gain as f32);
            let work = bm3d::Plan::new(&bm3d::Profile::Fast.params(sigma), w, h, &sigmas).unwrap();
            Plan::new(work, front.clone())
        };
        let rgb: Vec<Plane> = (0..3).map(|c| noisy(w, h, c)).collect();
        let run = |plan: &Plan, planes: &[Plane]| {
            let views: Vec<PlaneView<'_>> = planes.iter().map(Plane::view).collect();
            picture(&cpu(), plan, &views, &[], &Control::new()).unwrap()
        };
        let channels = mode.forward(&rgb.iter().map(Plane::view).collect::<Vec<_>>());
        let front = Front::channels(255.0);
        let mut want = run(&sized(w, h, 20.0, &front), &channels);
        let mut small = vec![Plane::zeros(w / 2, h / 2); 3];
        for (from, to) in channels.iter().zip(&mut small) {
            down(Samples::F32(from.as_slice()), w, to.as_mut_slice());
        }
        let mut coarse = run(&sized(w / 2, h / 2, 10.0, &front), &small);
        for (c, limit) in limits.into_iter().enumerate() {
            merge(want[c].as_mut_slice(), w, coarse[c].as_mut_slice(), Some(limit));
        }
        let front = Front { color: Some(mode), ..front };
        let (fine, coarse) = (sized(w, h, 20.0, &front), sized(w / 2, h / 2, 10.0, &front));
        let plan = fine.clone().with_coarser_within(coarse.clone(), &limits).unwrap();
        let got = run(&plan, &rgb);
        assert_eq!(got, mode.inverse(&want));
        assert_ne!(got, run(&fine.clone().with_coarser(coarse.clone()).unwrap(), &rgb), "the limit counts");
        // On another scale all is the same.
        let bright = |plan: Plan| plan.with_front(Front { white: 1023.0, ..front.clone() });
        let plan = bright(fine).with_coarser_within(bright(coarse), &limits).unwrap();
        let brighter = rgb.iter().map(|p| p.as_slice().iter().map(|v| v * (1023.0 / 255.0)).collect());
        let brighter: Vec<Plane> = brighter.map(|p| Plane::from_vec(w, h, p).unwrap()).collect();
        let scaled = run(&plan, &brighter);
        let pairs = got.iter().zip(&scaled).flat_map(|(a, b)| a.as_slice().iter().zip(b.as_slice()));
        let off: f64 = pairs.map(|(a, b)| f64::from(a - b * (255.0 / 1023.0)).powi(2)).sum();
        assert!((off / (3 * w * h) as f64).sqrt() < 0.02, "{off}");
    }

    #[test]
    fn samples_of_every_type_come_out_rounded() {
        let (w, h) = (64, 50);
        let bytes: Vec<u8> = noisy(w, h, 2).as_slice().iter().map(|v| v.round() as u8).collect();
        let words: Vec<u16> = bytes.iter().map(|v| (*v).into()).collect();
        let (control, mut sequence) = (Control::new(), cpu().open(&two(w, h)).unwrap());
        let (mut floats, mut out8, mut out16) = (vec![0f32; w * h], vec![0u8; w * h], vec![0u16; w * h]);
        let input = Input { planes: &[Samples::U8(&bytes)], guide: &[] };
        sequence.frame(&input, &mut [SamplesMut::F32(&mut floats)], &control).unwrap();
        sequence.frame(&input, &mut [SamplesMut::U16(&mut out16)], &control).unwrap();
        let input = Input { planes: &[Samples::U16(&words)], guide: &[] };
        sequence.frame(&input, &mut [SamplesMut::U8(&mut out8)], &control).unwrap();
        assert_eq!(out8, floats.iter().map(|v| v.round() as u8).collect::<Vec<_>>());
        assert_eq!(out16, floats.iter().map(|v| v.round() as u16).collect::<Vec<_>>());
        let e = sequence.lent(&[], &[], &control).unwrap_err();
        assert!(matches!(e, crate::Error::Unsupported(_)));
    }

    #[test]
    fn frames_in_work_keep_their_sizes_together() {
        let (w, h, frames) = (41, 40, 6);
        let params = nlm::Params { past: 1, future: 1, search: 5, ..nlm::Profile::Fast.params(20.0, 1) };
        let nlm = |w, h, s| Plan::from(nlm::Plan::new(&params, (w, h), 1, 0, 255.0, s).unwrap());
        let looking = nlm(w, h, 20.0).with_coarser(nlm(w / 2, h / 2, 10.0)).unwrap();
        let (control, cpu) = (Control::new(), cpu());
        for plan in [two(w, h), looking] {
            let run = |ahead: usize| {
                let mut sequence = cpu.open(&plan).unwrap();
                let late = plan.window().future + ahead;
                let mut out = vec![vec![0.0; w * h]; frames];
                for t in 0..frames + late {
                    if t < frames {
                        let noisy = noisy(w, h, t as u64);
                        let input = Input { planes: &[Samples::F32(noisy.as_slice())], guide: &[] };
                        sequence.push(&input, &control).unwrap();
                    }
                    if t >= late {
                        sequence.pull(&mut [SamplesMut::F32(&mut out[t - late])], &control).unwrap();
                    }
                }
                assert!(sequence.pull(&mut [SamplesMut::F32(&mut out[0])], &control).is_err());
                out
            };
            let want = run(0);
            assert_eq!(run(2), want);
            if plan.window().future == 0 {
                assert_eq!(filter(&plan, noisy(w, h, 3).view()), want[3]);
            }
        }
    }

    #[test]
    fn a_flat_picture_stays_and_noise_of_zero_mean_keeps_it() {
        let (w, h) = (129, 101);
        let flat = Plane::from_vec(w, h, vec![77.0; w * h]).unwrap();
        let of = |v: &[f32]| v.iter().map(|v| f64::from(*v)).sum::<f64>() / v.len() as f64;
        let out = filter(&two(w, h), flat.view());
        assert!(largest(out.iter().map(|v| (v - 77.0).abs())) < 1e-3);
        let noisy = add_gaussian(&Frame::grey(flat, 255.0).unwrap(), 20.0, 5).unwrap();
        let out = filter(&two(w, h), noisy.planes()[0].view());
        let (before, after) = (of(noisy.planes()[0].as_slice()), of(&out));
        assert!((before - after).abs() < 0.1, "{before} became {after}");
    }

    #[test]
    fn progress_only_rises_and_ends_at_the_whole() {
        let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let into = seen.clone();
        let control = Control::new()
            .with_progress(std::sync::Arc::new(move |p| into.lock().unwrap().push(p.fraction())));
        // One thread: two may report out of turn.
        let cpu = Cpu::new(DeviceOptions { threads: 1, ..DeviceOptions::default() }).unwrap();
        picture(&cpu, &two(200, 200), &[noisy(200, 200, 1).view()], &[], &control).unwrap();
        let seen = seen.lock().unwrap();
        assert!(seen.is_sorted() && seen.last() == Some(&1.0) && seen.contains(&0.75), "{seen:?}");
    }
}
