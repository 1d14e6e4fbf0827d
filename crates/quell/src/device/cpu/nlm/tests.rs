//! The processor against the reference, at every level, and bit for bit on any number of threads.

use std::sync::{Arc, Mutex};

use crate::device::cpu::{Cpu, Level};
use crate::device::{Backend, DeviceOptions, Input, SampleBuffer, SampleFormat, Samples, SamplesMut, check};
use crate::metrics::largest;
use crate::nlm::reference::{self, Views};
use crate::nlm::{Params, Plan, Profile};
use crate::{Cancel, Control, Error, Plane, PlaneView};

fn cpu(threads: usize, level: Option<Level>) -> Cpu {
    Cpu::new(DeviceOptions { threads, level, ..DeviceOptions::default() }).unwrap()
}

fn within_the_contract(level: Level, quick: bool) {
    let mut failed = Vec::new();
    check::nlm(&cpu(0, Some(level)), quick, &mut |case| {
        if case.outcome != check::Outcome::Pass {
            failed.push(case);
        }
    });
    assert!(failed.is_empty(), "{level:?}: {failed:#?}");
}

#[test]
fn every_level_is_within_the_contract() {
    Level::ALL.into_iter().filter(|l| *l <= Level::detect()).for_each(|l| within_the_contract(l, true));
}

#[test]
#[ignore = "takes minutes"]
fn large_windows_are_within_the_contract() {
    Level::ALL.into_iter().filter(|l| *l <= Level::detect()).for_each(|l| within_the_contract(l, false));
}

/// Stripes of some contrast, and noise of deviation `sigma`, all different.
fn picture(width: usize, height: usize, contrast: f32, sigma: f32, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    let pixel = |i: usize| {
        let (x, y) = (i % width, i / width);
        let stripe = if (x + y / 3) % 40 < 20 { contrast } else { 0.0 };
        stripe + (random() + random() + random()) * 2.0 * sigma
    };
    (0..width * height).map(pixel).collect()
}

/// All frames through the processor, pulled as soon as the plan allows; `delay` more frames late.
fn filter(cpu: &Cpu, plan: &Plan, frames: &[Vec<f32>], delay: usize) -> Vec<Vec<f32>> {
    let control = Control::new();
    let mut sequence = cpu.open(&plan.clone().into()).unwrap();
    let mut out = Vec::new();
    for t in 0..frames.len() + plan.future + delay {
        if let Some(frame) = frames.get(t) {
            let input = Input { planes: &[Samples::F32(frame)], guide: &[] };
            sequence.push(&input, &control).unwrap();
        }
        if t >= plan.future + delay {
            let mut to = vec![f32::NAN; plan.width * plan.height];
            sequence.pull(&mut [SamplesMut::F32(&mut to)], &control).unwrap();
            out.push(to);
        }
    }
    out
}

fn params(change: impl FnOnce(&mut Params)) -> Params {
    let mut params = Params { patch: 3, search: 5, ..Profile::Fast.params(25.0, 1) };
    change(&mut params);
    params
}

/// The largest difference from the reference in all frames.
fn worst(plan: &Plan, frames: &[Vec<f32>], got: &[Vec<f32>]) -> f32 {
    worst_below(f32::INFINITY, plan, frames, got)
}

/// The same where the reference is below a limit.
fn worst_below(limit: f32, plan: &Plan, frames: &[Vec<f32>], got: &[Vec<f32>]) -> f32 {
    let planes: Vec<Plane> =
        frames.iter().map(|f| Plane::from_vec(plan.width, plan.height, f.clone()).unwrap()).collect();
    let views: Vec<[PlaneView<'_>; 1]> = planes.iter().map(|p| [p.view()]).collect();
    let views: Vec<Views<'_>> = views.iter().map(|v| Views { planes: v, guide: &[] }).collect();
    let off = |(t, got): (usize, &Vec<f32>)| {
        let want = reference::run(plan, &views, t).remove(0);
        let pairs = got.iter().zip(want.as_slice()).filter(|(_, want)| **want < limit);
        largest(pairs.map(|(a, b)| (a - b).abs()))
    };
    largest(got.iter().enumerate().map(off))
}

#[test]
fn threads_do_not_change_a_bit() {
    let size = (900, 150);
    let frames: Vec<Vec<f32>> = (0..3).map(|t| picture(size.0, size.1, 80.0, 20.0, t)).collect();
    for change in [|p: &mut Params| (p.past, p.future) = (1, 1), |p: &mut Params| p.patchwise = true] {
        let plan = Plan::new(&params(change), size, 1, 0, 255.0, 20.0).unwrap();
        let one = filter(&cpu(1, None), &plan, &frames, 0);
        for threads in [2, 5] {
            assert_eq!(filter(&cpu(threads, None), &plan, &frames, 0), one, "{threads} threads");
        }
    }
}

#[test]
fn tiles_leave_no_seams() {
    let frames = [picture(800, 150, 80.0, 20.0, 1)];
    for patchwise in [false, true] {
        let params = params(|p| p.patchwise = patchwise);
        let plan = Plan::new(&params, (800, 150), 1, 0, 255.0, 20.0).unwrap();
        let worst = worst(&plan, &frames, &filter(&cpu(0, None), &plan, &frames, 0));
        assert!(worst < 0.002, "{worst}");
    }
}

#[test]
fn weak_noise_beside_strong_edges_does_not_drift() {
    // Distances across an edge are 1e9 times those of equal patches.
    let frames = [picture(300, 90, 60000.0, 1.0, 2)];
    let plan = Plan::new(&params(|p| p.patch = 9), (300, 90), 1, 0, 65535.0, 1.0).unwrap();
    let got = filter(&cpu(0, None), &plan, &frames, 0);
    // Beside the edges, where samples are small: the bright ones have steps of 1/256 themselves.
    let worst = worst_below(1000.0, &plan, &frames, &got);
    assert!(worst < 1e-4, "{worst}");
}

#[test]
fn sums_beyond_24_bits_do_not_drift_either() {
    // Whole numbers: columns of the patch are below 2^24, the patch is not.
    let mut frame = picture(90, 60, 240.0, 1.0, 3);
    frame.iter_mut().for_each(|v| *v = v.round());
    let plan = Plan::new(&params(|p| p.patch = 21), (90, 60), 1, 0, 255.0, 1.0).unwrap();
    let frames = [frame];
    let worst = worst(&plan, &frames, &filter(&cpu(0, None), &plan, &frames, 0));
    assert!(worst < 0.001, "{worst}");
}

#[test]
fn frames_may_be_pulled_late() {
    let frames: Vec<Vec<f32>> = (0..5).map(|t| picture(60, 40, 80.0, 20.0, t)).collect();
    let plan = Plan::new(&params(|p| (p.past, p.future) = (2, 1)), (60, 40), 1, 0, 255.0, 20.0).unwrap();
    let cpu = cpu(0, None);
    let got = filter(&cpu, &plan, &frames, 0);
    assert!(worst(&plan, &frames, &got) < 0.002);
    assert!(worst(&plan, &frames, &filter(&cpu, &plan, &frames, 3)) < 0.002);
}

#[test]
fn a_frame_pulled_early_knows_nothing_of_later_ones() {
    let frames: Vec<Vec<f32>> = (0..2).map(|t| picture(50, 30, 80.0, 20.0, t)).collect();
    let plan = Plan::new(&params(|p| (p.past, p.future) = (1, 2)), (50, 30), 1, 0, 255.0, 20.0).unwrap();
    let control = Control::new();
    let mut sequence = cpu(0, None).open(&plan.clone().into()).unwrap();
    let mut first = vec![0.0; 50 * 30];
    sequence.push(&Input { planes: &[Samples::F32(&frames[0])], guide: &[] }, &control).unwrap();
    sequence.pull(&mut [SamplesMut::F32(&mut first)], &control).unwrap();
    let mut second = first.clone();
    sequence.push(&Input { planes: &[Samples::F32(&frames[1])], guide: &[] }, &control).unwrap();
    sequence.pull(&mut [SamplesMut::F32(&mut second)], &control).unwrap();
    assert!(worst(&plan, &frames[..1], &[first]) < 0.002);
    // The second has the first as its past.
    let mut both = filter(&cpu(0, None), &Plan { future: 0, ..plan.clone() }, &frames, 0);
    assert_eq!(both.remove(1), second);
    let none = sequence.pull(&mut [SamplesMut::F32(&mut second)], &control).unwrap_err();
    assert_eq!(none.to_string(), "every frame has been filtered already");
}

#[test]
fn work_is_reported_and_can_be_stopped() {
    let frame = picture(300, 300, 80.0, 20.0, 0);
    let plan = Plan::new(&params(|p| p.patchwise = true), (300, 300), 1, 0, 255.0, 20.0).unwrap();
    let input = Input { planes: &[Samples::F32(&frame)], guide: &[] };
    let mut to = SampleBuffer::new(SampleFormat::U8, 300 * 300);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = seen.clone();
    let control = Control::new().with_progress(Arc::new(move |p| into.lock().unwrap().push(p.fraction())));
    let cpu = cpu(2, None);
    let mut sequence = cpu.open(&plan.clone().into()).unwrap();
    sequence.push(&input, &control).unwrap();
    sequence.pull(&mut [to.view_mut()], &control).unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.is_sorted() && seen.last() == Some(&1.0) && seen.len() > 4, "{seen:?}");
    let cancel = Cancel::new();
    cancel.cancel();
    let mut sequence = cpu.open(&plan.clone().into()).unwrap();
    sequence.push(&input, &Control::new()).unwrap();
    let stopped = sequence.pull(&mut [to.view_mut()], &Control::new().with_cancel(cancel));
    assert!(matches!(stopped, Err(Error::Cancelled)));
}
