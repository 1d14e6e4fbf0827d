//! What every GPU runtime is held to: frames that it averages by itself come out as those that the host averages for it. A
//! runtime instantiates these with [`suite!`].

use crate::bm3d::{self, Profile};
use crate::device::front::Takes;
use crate::device::gpu::bm3d::conformance::picture;
use crate::device::gpu::{Gpu, Runtime};
use crate::device::{Backend, Input, SampleBuffer, SampleFormat, Samples, SamplesMut, Sequence};
use crate::method::frames::{Frames, Window};
use crate::method::{Front, Plan};
use crate::{ColorMode, Control, ridge};

const SIZE: (usize, usize) = (53, 46);

/// Planes of a frame of a moving picture, where the last ones show something else.
fn frame(t: usize, planes: usize, format: SampleFormat) -> Vec<SampleBuffer> {
    let (w, h) = SIZE;
    let plane = |c: usize| {
        let wide = picture(w + 12, h, 20.0, (10 * t + c) as u32);
        let other = if t > 3 { 40.0 } else { 0.0 };
        let row = |y: usize| wide.row(y)[2 * t..2 * t + w].iter().map(move |v| v - other + 9.0 * c as f32);
        let values: Vec<f32> = (0..h).flat_map(row).collect();
        let mut samples = SampleBuffer::new(format, w * h);
        samples.view_mut().store(&values, format.white() / 255.0, format.white());
        samples
    };
    (0..planes).map(plane).collect()
}

/// All frames through a sequence, with as much delay as its plan asks for.
fn filter(sequence: &mut dyn Sequence, frames: &[Vec<SampleBuffer>], future: usize) -> Vec<Vec<f32>> {
    let (control, mut out) = (Control::new(), Vec::new());
    for t in 0..frames.len() + future {
        if let Some(frame) = frames.get(t) {
            let planes: Vec<Samples<'_>> = frame.iter().map(SampleBuffer::view).collect();
            sequence.push(&Input { planes: &planes, guide: &[] }, &control).unwrap();
        }
        if t >= future {
            let mut planes = vec![vec![0.0; SIZE.0 * SIZE.1]; frames[0].len()];
            let mut to: Vec<SamplesMut<'_>> = planes.iter_mut().map(|p| SamplesMut::F32(p)).collect();
            sequence.pull(&mut to, &control).unwrap();
            out.push(planes.concat());
        }
    }
    out
}

fn check<R: Runtime>(gpu: &Gpu<R>, plan: &Plan, format: SampleFormat) {
    let window = plan.window();
    assert!(gpu.averages(plan));
    let frames: Vec<_> = (0..6).map(|t| frame(t, window.planes, format)).collect();
    let got = filter(&mut *gpu.open(plan).unwrap(), &frames, window.future);
    let want = filter(&mut *gpu.opened(plan, Takes::Colors).unwrap(), &frames, window.future);
    let alone = filter(&mut *gpu.open(&plan.clone().over(Frames::One).unwrap()).unwrap(), &frames, 0);
    let off = |a: &[Vec<f32>], b: &[Vec<f32>]| {
        let squares = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| f64::from(a - b).powi(2));
        let n = a.iter().map(Vec::len).sum::<usize>() as f64;
        (squares.sum::<f64>() / n).sqrt() * 255.0 / f64::from(format.white())
    };
    let (off, changed) = (off(&got, &want), off(&alone, &want));
    println!("{format:?}, {:?}: off by {off}, averages change {changed}", plan.front().color);
    // Rounding may change a group or the weight of a frame a little.
    assert!(off < 0.05 && changed > 0.5, "off by {off} on average, averages change {changed}");
}

fn over(plan: Plan, past: usize, future: usize) -> Plan {
    plan.over(Frames::Averaged(Window::new(past, future, 20.0))).unwrap()
}

pub(crate) fn frames_are_averaged_as_by_the_host<R: Runtime>(gpu: &Gpu<R>) {
    let (w, h) = SIZE;
    let grey = |format: SampleFormat| {
        let work = bm3d::Plan::new(&Profile::Fast.params(20.0), w, h, &[20.0]).unwrap();
        Plan::new(work, Front::channels(format.white()))
    };
    check(gpu, &over(grey(SampleFormat::U8), 2, 1), SampleFormat::U8);
    check(gpu, &over(grey(SampleFormat::U16), 0, 2), SampleFormat::U16);
    let sigma = ColorMode::Opp.noise_gain().map(|g| 20.0 * g as f32);
    let work = bm3d::Plan::new(&Profile::Fast.color_params(20.0), w, h, &sigma).unwrap();
    let colors = Plan::new(work, Front { color: Some(ColorMode::Opp), ..Front::channels(255.0) });
    check(gpu, &over(colors, 1, 1), SampleFormat::U8);
    let work = ridge::Plan::new(&ridge::Profile::Fast.params(20.0), w, h, &[20.0]).unwrap();
    check(gpu, &over(Plan::new(work, Front::channels(255.0)), 1, 1), SampleFormat::F32);
}

pub(crate) fn a_frame_alone_is_a_picture<R: Runtime>(gpu: &Gpu<R>) {
    let (w, h) = SIZE;
    let work = bm3d::Plan::new(&Profile::Fast.params(20.0), w, h, &[20.0]).unwrap();
    let plan = Plan::new(work, Front::channels(255.0));
    let frames = [frame(0, 1, SampleFormat::F32)];
    let want = filter(&mut *gpu.open(&plan).unwrap(), &frames, 0);
    let got = filter(&mut *gpu.open(&over(plan, 2, 0)).unwrap(), &frames, 0);
    let worst = crate::metrics::largest(got[0].iter().zip(&want[0]).map(|(a, b)| (a - b).abs()));
    assert!(worst < 0.05, "off by {worst}");
}

pub(crate) fn averages_are_timed<R: Runtime>(gpu: &Gpu<R>) {
    let (w, h) = SIZE;
    let work = bm3d::Plan::new(&Profile::Fast.params(20.0), w, h, &[20.0]).unwrap();
    let plan = over(Plan::new(work, Front::channels(255.0)), 1, 1);
    let frames: Vec<_> = (0..3).map(|t| frame(t, 1, SampleFormat::U8)).collect();
    let planes: Vec<Vec<Samples<'_>>> =
        frames.iter().map(|f| f.iter().map(SampleBuffer::view).collect()).collect();
    let inputs: Vec<Input<'_>> = planes.iter().map(|planes| Input { planes, guide: &[] }).collect();
    let timing = gpu.time(&plan, &inputs, 1).unwrap();
    let names: Vec<&str> = timing.stages.iter().map(|(name, _)| name.as_str()).collect();
    assert!(["motion", "average", "filter 2"].iter().all(|name| names.contains(name)), "{names:?}");
}

macro_rules! suite {
    ($gpu:expr) => {
        crate::device::gpu::nlm::tests::suite! {
            $gpu; crate::device::gpu::average::tests;
            frames_are_averaged_as_by_the_host, a_frame_alone_is_a_picture, averages_are_timed,
        }
    };
}
pub(crate) use suite;
