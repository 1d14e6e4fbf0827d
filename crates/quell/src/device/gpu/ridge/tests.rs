//! What every GPU runtime is held to: groups of the reference, entry by entry, its rounds within rounding, and from end to
//! end the processor's results. A runtime instantiates these with [`suite!`].

use crate::device::check::{self, Outcome};
use crate::device::gpu::{Gpu, Runtime};
use crate::device::{Backend, Input, Samples, SamplesMut};
use crate::method::{Plan, Subject};
use crate::noise::add_gaussian;
use crate::ridge::{self, Profile, resolve};
use crate::{Control, Frame, Plane};

pub(crate) fn agrees_with_the_reference<R: Runtime>(gpu: &Gpu<R>) {
    let mut failed = Vec::new();
    check::ridge(gpu, true, &mut |result| {
        println!("{result:?}");
        if !matches!(result.outcome, Outcome::Pass) {
            failed.push(format!("{}: {:?}", result.case, result.outcome));
        }
    });
    assert!(failed.is_empty(), "{failed:#?}");
}

fn plan(profile: Profile, (w, h): (usize, usize)) -> Plan {
    let subject = Subject { sigma: 20.0, ..Subject::new(w, h, 1, 255.0) };
    resolve::plan(&profile.params(20.0), &subject).unwrap()
}

fn samples((w, h): (usize, usize)) -> Vec<u8> {
    let value = |i: usize| 100.0 + 50.0 * (0.2 * (i % w) as f32 + 0.1 * (i / w) as f32).sin();
    let clean = Plane::from_vec(w, h, (0..w * h).map(value).collect()).unwrap();
    let noisy = add_gaussian(&Frame::grey(clean, 255.0).unwrap(), 20.0, 3).unwrap();
    noisy.planes()[0].as_slice().iter().map(|v| v.round() as u8).collect()
}

pub(crate) fn stages_are_timed<R: Runtime>(gpu: &Gpu<R>) {
    let size = (70, 66);
    let samples = samples(size);
    let planes = [Samples::U8(&samples)];
    let timing = gpu.time(&plan(Profile::Normal, size), &[Input { planes: &planes, guide: &[] }], 1).unwrap();
    let names: Vec<&str> = timing.stages.iter().map(|(name, _)| name.as_str()).collect();
    let want = ["pilot", "guide", "match", "clear", "group", "finish", "residue", "down", "merge", "samples"];
    assert!(want.iter().all(|name| names.contains(name)), "{names:?}");
    assert!(timing.device_bytes > 0);
}

pub(crate) fn other_plans_are_left_to_the_processor<R: Runtime>(gpu: &Gpu<R>) {
    for profile in [Profile::NlRidge, Profile::Lichi] {
        assert!(gpu.caps(&plan(profile, (70, 66))).refused.is_some());
        assert!(gpu.open(&plan(profile, (70, 66))).is_err());
    }
    let own = ridge::Params { patch: 5, ..Profile::Normal.params(20.0) };
    let own = ridge::Plan::new(&own, 70, 66, &[20.0]).unwrap();
    assert!(gpu.caps(&own.into()).refused.is_some());
    for profile in [Profile::Fast, Profile::Normal, Profile::High, Profile::Best] {
        assert!(gpu.caps(&plan(profile, (70, 66))).refused.is_none());
    }
    let control = Control::new();
    assert!(gpu.open(&plan(Profile::Fast, (70, 66))).unwrap().lent(&[], &[], &control).is_err());
}

/// Parts see less of the picture than the whole does, but nothing that is near.
pub(crate) fn large_pictures_go_through_in_parts<R: Runtime>(whole: &Gpu<R>, parts: &Gpu<R>) {
    let size = (40, 1300);
    let mut params = Profile::Fast.params(20.0);
    (params.window, params.scales) = (15, 1);
    let subject = Subject { sigma: 20.0, ..Subject::new(size.0, size.1, 1, 255.0) };
    let plan = resolve::plan(&params, &subject).unwrap();
    let from = samples(size);
    let run = |gpu: &Gpu<R>| {
        let mut out = vec![0.0; size.0 * size.1];
        let frame = Input { planes: &[Samples::U8(&from)], guide: &[] };
        let to = &mut [SamplesMut::F32(&mut out)];
        gpu.open(&plan).unwrap().frame(&frame, to, &Control::new()).unwrap();
        out
    };
    let (got, want) = (run(parts), run(whole));
    let square: f64 = got.iter().zip(&want).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    let rms = (square / got.len() as f64).sqrt();
    assert!(rms < 0.1, "parts are off by {rms}");
    assert!(got != want, "there is but one part");
}

macro_rules! suite {
    ($gpu:expr, $open:path) => {
        crate::device::gpu::nlm::tests::suite! {
            $gpu; crate::device::gpu::ridge::tests;
            agrees_with_the_reference, stages_are_timed, other_plans_are_left_to_the_processor,
        }

        #[test]
        fn large_pictures_go_through_in_parts() {
            if let Some(gpu) = $gpu {
                room::large_pictures_go_through_in_parts(gpu, &$open(200).unwrap());
            }
        }
    };
}
pub(crate) use suite;
