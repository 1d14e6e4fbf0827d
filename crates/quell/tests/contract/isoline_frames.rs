//! Isoline filters that average frames: every instruction set against the scalar reference, and what is promised.

use quell::device::{Backend, Input, SampleBuffer, Samples, SamplesMut};
use quell::isoline::{Params, Plan, Profile, Variant, reference};
use quell::{Control, Denoiser, Device, Layout, Plane, PlaneView, VideoFormat};

use crate::common::{clean, cpu, eight_bit, levels, map, picture, views, worst};

/// As for pictures: motion is decided in whole numbers, and nothing else is a jump.
const TOLERANCE: f32 = 0.01;

/// Frames that move by a column and a row and a half each.
fn clip(w: usize, h: usize, frames: usize, sigma: f32) -> Vec<Vec<Plane>> {
    let frame = |t: usize| {
        let whole = eight_bit(w + 2 * frames, h + 2 * frames, sigma, 20 + t as u32);
        let rows = (0..h).flat_map(|y| whole.row(y + 3 * t / 2)[t..t + w].to_vec());
        vec![Plane::from_vec(w, h, rows.collect()).unwrap()]
    };
    (0..frames).map(frame).collect()
}

fn plan(params: &Params, frames: &[Vec<Plane>], sigma: f32) -> Plan {
    let size = (frames[0][0].width(), frames[0][0].height());
    Plan::new(params, size, 255.0, &vec![sigma; frames[0].len()]).unwrap()
}

/// Frames through a device, each as soon as those after it are there.
fn filter(device: &dyn Backend, plan: &Plan, frames: &[Vec<Plane>]) -> Vec<Vec<Plane>> {
    let control = Control::new();
    let mut sequence = device.open(&plan.clone().into()).unwrap();
    let mut out = Vec::new();
    for t in 0..frames.len() + plan.future {
        if let Some(frame) = frames.get(t) {
            let planes: Vec<Samples<'_>> = frame.iter().map(|p| Samples::F32(p.as_slice())).collect();
            sequence.push(&Input { planes: &planes, guide: &[] }, &control).unwrap();
        }
        if t >= plan.future {
            let mut planes = vec![Plane::zeros(plan.width, plan.height); plan.channels()];
            let mut to: Vec<_> = planes.iter_mut().map(|p| SamplesMut::F32(p.as_mut_slice())).collect();
            sequence.pull(&mut to, &control).unwrap();
            out.push(planes);
        }
    }
    let mut planes = vec![vec![0.0; plan.width * plan.height]; plan.channels()];
    let mut to: Vec<_> = planes.iter_mut().map(|p| SamplesMut::F32(p)).collect();
    assert!(sequence.pull(&mut to, &control).is_err(), "every frame is out");
    out
}

/// Every level against the reference.
fn check(params: &Params, frames: &[Vec<Plane>], sigma: f32) {
    let plan = plan(params, frames, sigma);
    let all: Vec<Vec<PlaneView<'_>>> = frames.iter().map(|f| views(f)).collect();
    let want: Vec<Vec<Plane>> = (0..frames.len()).map(|t| reference::run_frame(&plan, &all, t)).collect();
    for level in levels() {
        let got = filter(&cpu(level, 1, 0), &plan, frames);
        for (t, (got, want)) in got.iter().zip(&want).enumerate() {
            for (c, (got, want)) in got.iter().zip(want).enumerate() {
                let off = worst(got, want);
                assert!(off < TOLERANCE, "{level:?}, frame {t}, plane {c}: off by {off} with {params:?}");
            }
        }
    }
}

fn ours() -> [Variant; 3] {
    [Variant::Pooled, Variant::Line, Variant::TwoRound]
}

fn with(variant: Variant, past: usize, future: usize) -> Params {
    Params { past, future, ..Params::of(variant, 25.0, 1) }
}

#[test]
fn any_window_of_frames() {
    let frames = clip(50, 37, 5, 25.0);
    for (past, future) in [(1, 0), (0, 1), (2, 1), (4, 4)] {
        for variant in ours() {
            check(&with(variant, past, future), &frames, 25.0);
        }
    }
}

#[test]
fn any_size_and_motion() {
    for (w, h) in [(1, 1), (3, 20), (16, 16), (17, 33), (530, 20), (24, 90)] {
        check(&with(Variant::Line, 1, 0), &clip(w, h, 2, 25.0), 25.0);
    }
    for motion in [0, 4, 32] {
        check(&Params { motion, ..with(Variant::Pooled, 1, 1) }, &clip(40, 40, 3, 25.0), 25.0);
    }
    let short = Params { length: 1, max_length: 2, motion: 8, ..with(Variant::TwoRound, 1, 0) };
    check(&short, &clip(40, 33, 2, 25.0), 25.0);
}

#[test]
fn floats_and_several_planes() {
    let float = |t: u32| vec![picture(44, 39, 25.0, t)];
    check(&with(Variant::TwoRound, 1, 1), &(0..3).map(float).collect::<Vec<_>>(), 25.0);
    for channels in 2..=4 {
        let frame = |t: u32| (0..channels).map(|c| eight_bit(40, 30, 25.0, 10 * t + c)).collect();
        check(&with(Variant::TwoRound, 1, 0), &(0..2).map(frame).collect::<Vec<_>>(), 25.0);
    }
}

/// A frame after another one, alone and averaged with it.
fn after(before: Plane) -> (Plane, Plane) {
    let frames = [vec![before], vec![eight_bit(40, 40, 10.0, 2)]];
    let params = Params { past: 1, ..Params::of(Variant::TwoRound, 10.0, 1) };
    check(&params, &frames, 10.0);
    let device = cpu(levels().last().unwrap(), 1, 0);
    let last = |params: &Params| filter(&device, &plan(params, &frames, 10.0), &frames)[1][0].clone();
    (last(&Params { past: 0, ..params.clone() }), last(&params))
}

#[test]
fn a_cut_between_scenes_is_not_averaged() {
    let (alone, both) = after(map(&eight_bit(40, 40, 10.0, 1), |v| 235.0 - v));
    assert!(worst(&alone, &both) < 1.0, "{}", worst(&alone, &both));
}

#[test]
fn a_frame_that_has_become_darker_is_averaged() {
    let clean = eight_bit(40, 40, 0.0, 0);
    let error = |p: &Plane| {
        let squares = p.as_slice().iter().zip(clean.as_slice()).map(|(a, b)| f64::from(a - b).powi(2));
        squares.sum::<f64>() / 1600.0
    };
    let (alone, both) = after(map(&eight_bit(40, 40, 10.0, 1), |v| 0.95 * v));
    assert!(error(&both) < 0.9 * error(&alone), "{} of {}", error(&both), error(&alone));
}

#[test]
fn any_number_of_threads() {
    let frames = clip(90, 150, 3, 25.0);
    for variant in ours() {
        let plan = plan(&with(variant, 1, 1), &frames, 25.0);
        for level in levels() {
            let run = |threads| filter(&cpu(level, threads, 0), &plan, &frames);
            let want = run(1);
            for threads in [2, 3, 7] {
                assert!(run(threads) == want, "{level:?} {variant:?}: {threads} threads change the result");
            }
        }
    }
}

#[test]
fn a_window_of_one_frame_is_a_picture() {
    let frames = clip(60, 50, 3, 25.0);
    let device = cpu(levels().last().unwrap(), 2, 0);
    for variant in ours() {
        let [alone, before] = [0, 2].map(|past| {
            let plan = plan(&with(variant, past, 0), &frames, 25.0);
            filter(&device, &plan, &frames)
        });
        // The first frame has none before it.
        assert!(alone[0] == before[0] && alone[2] != before[2], "{variant:?}");
    }
}

#[test]
fn nothing_beyond_the_halo_matters() {
    for variant in ours() {
        let mut frames = clip(220, 20, 2, 25.0);
        let plan = plan(&with(variant, 1, 0), &frames, 25.0);
        let device = cpu(levels().last().unwrap(), 1, 0);
        let before = filter(&device, &plan, &frames).remove(1).remove(0);
        frames[0][0].row_mut(10)[110] = 255.0;
        frames[1][0].row_mut(10)[110] = 0.0;
        let after = filter(&device, &plan, &frames).remove(1).remove(0);
        let columns = (0..220).filter(|&x| (0..20).any(|y| before.row(y)[x] != after.row(y)[x]));
        let far = columns.map(|x| x.abs_diff(110)).max().unwrap();
        assert!(far <= plan.halo(), "{variant:?}: {far} columns away, halo {}", plan.halo());
    }
}

#[test]
fn more_frames_leave_less_noise() {
    let error = |frames: &[Vec<Plane>], params: Params, truth: &dyn Fn(usize, usize) -> f32| {
        let device = cpu(levels().last().unwrap(), 1, 0);
        let got = filter(&device, &plan(&params, frames, 25.0), frames).remove(2).remove(0);
        let pixels = (0..80).flat_map(|y| (0..80).map(move |x| (y, x)));
        pixels.map(|(y, x)| f64::from(got.row(y)[x] - truth(y, x)).powi(2)).sum::<f64>() / 6400.0
    };
    let still: Vec<Vec<Plane>> = (0..5).map(|t| vec![eight_bit(80, 80, 25.0, t)]).collect();
    let moving = clip(80, 80, 5, 25.0);
    let (at_rest, wide) = (clean(80, 80), clean(90, 90));
    let stays = |y: usize, x: usize| at_rest.row(y)[x];
    let moves = |y: usize, x: usize| wide.row(y + 3)[x + 2];
    for variant in ours() {
        for (frames, truth) in [(&still, &stays as &dyn Fn(usize, usize) -> f32), (&moving, &moves)] {
            let [one, three, five] = [0, 1, 2].map(|n| error(frames, with(variant, n, n), truth));
            assert!(three < 0.8 * one && five < 0.95 * three, "{variant:?}: {one} {three} {five}");
        }
    }
}

#[test]
fn a_stream_waits_for_the_frames_that_follow() {
    let format = VideoFormat::with_bits(40, 30, Layout::Yuv420, 8).unwrap();
    let denoiser = Denoiser::isoline(Profile::Fast).sigma(20.0).set("past", "1").set("future", "2");
    let denoiser = denoiser.device(Device::Cpu).build().unwrap();
    let mut stream = denoiser.stream(format).unwrap();
    assert_eq!(stream.latency(), 2);
    let noisy: Vec<Plane> = (0..4).map(|t| eight_bit(40, 30, 20.0, t)).collect();
    let mut got = Vec::new();
    for plane in &noisy {
        let mut frame = format.frame();
        frame.planes[0] = SampleBuffer::U8(plane.as_slice().iter().map(|v| *v as u8).collect());
        got.extend(stream.push(frame).unwrap());
    }
    assert_eq!(got.len(), 2);
    while let Some(frame) = stream.flush().unwrap() {
        got.push(frame);
    }
    let params = Params { past: 1, future: 2, ..Profile::Fast.params(20.0, 1) };
    let frames: Vec<Vec<Plane>> = noisy.into_iter().map(|p| vec![p]).collect();
    let want = filter(&cpu(levels().last().unwrap(), 1, 0), &plan(&params, &frames, 20.0), &frames);
    assert_eq!(got.len(), 4);
    for (got, want) in got.iter().zip(&want) {
        let want = want[0].as_slice().iter().map(|v| (v.clamp(0.0, 255.0) + 0.5) as u8);
        assert_eq!(got.planes[0], SampleBuffer::U8(want.collect()));
    }
}
