//! NL-means of a GPU against the reference, by the suite for every device, and what a sequence promises. A runtime
//! instantiates these with [`suite!`].

use crate::device::check::{self, Outcome};
use crate::device::gpu::{Gpu, Runtime};
use crate::device::{Backend, Input, SampleBuffer, SampleFormat, Samples, SamplesMut};
use crate::nlm::{Params, Plan, Profile};
use crate::{Cancel, Control, Error};

pub(crate) fn agrees_with_the_reference<R: Runtime>(gpu: &Gpu<R>) {
    let mut failed = Vec::new();
    check::nlm(gpu, true, &mut |result| {
        if !matches!(result.outcome, Outcome::Pass) {
            failed.push(format!("{}: {:?}", result.case, result.outcome));
        }
    });
    assert!(failed.is_empty(), "{failed:#?}");
}

/// One program for all of these.
fn plan(past: usize, future: usize) -> Plan {
    let params = Params { patch: 3, search: 3, past, future, ..Profile::Fast.params(25.0, 1) };
    Plan::new(&params, (SIZE, SIZE), 1, 0, 255.0, 25.0).unwrap()
}

const SIZE: usize = 19;

fn frame(seed: usize) -> SampleBuffer {
    SampleBuffer::U8((0..SIZE * SIZE).map(|i| (100 + (i * 7919 + seed * 104_729) % 61) as u8).collect())
}

fn pull<R: Runtime>(gpu: &Gpu<R>, plan: &Plan, frames: &[SampleBuffer], together: bool) -> Vec<SampleBuffer> {
    let control = Control::new();
    let mut sequence = gpu.open(&plan.clone().into()).unwrap();
    let mut out = Vec::new();
    let mut next = |sequence: &mut dyn crate::device::Sequence| {
        let mut to = SampleBuffer::new(SampleFormat::F32, SIZE * SIZE);
        sequence.pull(&mut [to.view_mut()], &control).unwrap();
        out.push(to);
    };
    for (t, frame) in frames.iter().enumerate() {
        sequence.push(&Input { planes: &[frame.view()], guide: &[] }, &control).unwrap();
        if !together && t >= plan.future {
            next(&mut *sequence);
        }
    }
    let rest = if together { frames.len() } else { plan.future };
    (0..rest).for_each(|_| next(&mut *sequence));
    out
}

/// Frames that wait keep their place: pulling them late changes nothing.
pub(crate) fn frames_may_wait<R: Runtime>(gpu: &Gpu<R>) {
    let frames: Vec<SampleBuffer> = (0..6).map(frame).collect();
    // Without future frames a frame that is pulled late sees no more than one that is pulled at once.
    let plan = plan(2, 0);
    assert_eq!(pull(gpu, &plan, &frames, false), pull(gpu, &plan, &frames, true));
}

/// Errors say what is wrong, and a sequence that was stopped has not moved on.
pub(crate) fn wrong_frames_are_refused<R: Runtime>(gpu: &Gpu<R>) {
    let (control, plan) = (Control::new(), plan(0, 0));
    let mut sequence = gpu.open(&plan.clone().into()).unwrap();
    let mut to = SampleBuffer::new(SampleFormat::F32, SIZE * SIZE);
    let e = sequence.pull(&mut [to.view_mut()], &control).unwrap_err();
    assert!(matches!(e, Error::Shape(_)), "{e}");
    let good = frame(1);
    let short = good.view().part(0..SIZE);
    for planes in [&[short][..], &[good.view(), good.view()], &[]] {
        let e = sequence.push(&Input { planes, guide: &[] }, &control).unwrap_err();
        assert!(matches!(e, Error::Shape(_)), "{e}");
    }
    sequence.push(&Input { planes: &[good.view()], guide: &[] }, &control).unwrap();
    let floats = vec![0.0; SIZE * SIZE];
    let e = sequence.push(&Input { planes: &[Samples::F32(&floats)], guide: &[] }, &control).unwrap_err();
    assert!(e.to_string().contains("one type"), "{e}");
    let cancel = Cancel::new();
    cancel.cancel();
    let e = sequence.pull(&mut [to.view_mut()], &Control::new().with_cancel(cancel)).unwrap_err();
    assert!(matches!(e, Error::Cancelled), "{e}");
    sequence.pull(&mut [to.view_mut()], &control).unwrap();
    assert!(sequence.pull(&mut [to.view_mut()], &control).is_err(), "every frame has been filtered");
}

/// Planes of different types are filtered as floats, and come out as each wants.
pub(crate) fn planes_may_differ_in_type<R: Runtime>(gpu: &Gpu<R>) {
    let plan = Plan { channels: 2, ..plan(0, 0) };
    let (a, b) = (frame(1), frame(2));
    let floats = |s: &SampleBuffer| s.view().to_floats(1.0);
    let run = |planes: &[Samples<'_>], to: &mut [SamplesMut<'_>]| {
        let mut sequence = gpu.open(&plan.clone().into()).unwrap();
        sequence.push(&Input { planes, guide: &[] }, &Control::new()).unwrap();
        sequence.pull(to, &Control::new()).unwrap();
    };
    let (mut want_a, mut want_b) = (vec![0.0; SIZE * SIZE], vec![0.0; SIZE * SIZE]);
    run(
        &[Samples::F32(&floats(&a)), Samples::F32(&floats(&b))],
        &mut [SamplesMut::F32(&mut want_a), SamplesMut::F32(&mut want_b)],
    );
    let (mut got_a, mut got_b) = (vec![0.0; SIZE * SIZE], vec![0_u8; SIZE * SIZE]);
    run(
        &[Samples::F32(&floats(&a)), b.view()],
        &mut [SamplesMut::F32(&mut got_a), SamplesMut::U8(&mut got_b)],
    );
    assert_eq!(got_a, want_a);
    assert!(got_b.iter().zip(&want_b).all(|(&got, want)| (f32::from(got) - want).abs() <= 0.501));
    assert!(want_b.iter().any(|v| v.fract() != 0.0), "something was averaged");
}

pub(crate) fn stages_are_timed<R: Runtime>(gpu: &Gpu<R>) {
    let frames = [frame(1), frame(2)];
    let views = frames.each_ref().map(|f| [f.view()]);
    let inputs = views.each_ref().map(|planes| Input { planes, guide: &[] });
    let timing = gpu.time(&plan(1, 0).into(), &inputs, 3).unwrap();
    assert_eq!(timing.total_ms.len(), 3);
    let names: Vec<&str> = timing.stages.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["upload", "ingest", "average"]);
    assert!(timing.device_bytes > 0);
    assert!(gpu.time(&plan(0, 2).into(), &inputs, 3).is_err(), "there is no frame with two behind it");
}

macro_rules! suite {
    ($gpu:expr) => {
        crate::device::gpu::nlm::tests::suite! {
            $gpu; crate::device::gpu::nlm::tests;
            agrees_with_the_reference, frames_may_wait, wrong_frames_are_refused, planes_may_differ_in_type,
            stages_are_timed,
        }
    };
    ($gpu:expr; $room:path; $($name:ident),+ $(,)?) => {
        use $room as room;
        $(
            #[test]
            fn $name() {
                if let Some(gpu) = $gpu {
                    room::$name(gpu);
                }
            }
        )+
    };
}
pub(crate) use suite;
