//! What every GPU runtime is held to: groups of the reference, entry by entry, its rounds within rounding, and from end to
//! end the processor's results. A runtime instantiates these with [`suite!`].

use crate::device::check::{self, Outcome};
use crate::device::gpu::bm3d::conformance::{rms, worst};
use crate::device::gpu::bm3d::counted_tests::{averages, counts};
use crate::device::gpu::{Gpu, Runtime};
use crate::device::{Backend, Input, Samples, SamplesMut, picture};
use crate::method::{Frames, Plan, Subject};
use crate::noise::add_gaussian;
use crate::ridge::{self, Profile, reference, resolve};
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

/// Rounds that know of how many frames each pixel is the average, alone and after the pilot.
pub(crate) fn averages_are_those_of_the_reference<R: Runtime>(gpu: &Gpu<R>) {
    let (w, h) = (53, 46);
    let counts = counts(w, h);
    for (profile, sigma) in [(Profile::Normal, 25.0), (Profile::High, 25.0), (Profile::Normal, 5.0)] {
        let plan = ridge::Plan::new(&profile.params(sigma), w, h, &[sigma]).unwrap();
        let (y, x) = (averages(&counts, sigma, 1), averages(&counts, 0.2 * sigma, 2));
        for (index, left) in [(0, 1.0), (2, 0.6)] {
            let z = averages(&counts, left * sigma, 1);
            let groups = reference::groups(&plan, index, &x.view(), &z.view()).unwrap();
            let (planes, (xs, zs)) = ([y.view()], (vec![x.clone()], vec![z.clone()]));
            let want =
                reference::round_counted(&plan, index, &groups, &planes, (&xs, &zs), Some(&counts.view()));
            let given = Samples::F32(counts.as_slice());
            let got =
                gpu.one_ridge_round(&plan, index, &planes, &[x.view()], &[z.view()], Some(&given)).unwrap();
            let pairs = [(&got.0[0], &want.0[0]), (&got.1[0], &want.1[0])];
            let off = pairs.map(|(got, want)| worst(got, want));
            let without = reference::round(&plan, index, &groups, &planes, &xs, &zs);
            assert!(worst(&without.0[0], &want.0[0]) > 0.2, "counts change nothing");
            assert!(off[0].max(off[1]) < 0.04, "{profile:?}, sigma {sigma}, round {index}: off by {off:?}");
        }
        let whole = Plan::from(plan.clone()).over(Frames::Counted).unwrap();
        let noisy = std::slice::from_ref(&y);
        let views: Vec<_> = noisy.iter().map(Plane::view).collect();
        let got = picture(gpu, &whole, &views, &[counts.view()], &Control::new()).unwrap();
        let want = reference::run_counted(&plan, &views, Some(&counts.view()));
        let off = rms(&got[0], &want[0]);
        assert!(off < 0.03 * f64::from(sigma), "{profile:?}, sigma {sigma}: off by {off} on average");
    }
}

macro_rules! suite {
    ($gpu:expr, $open:path) => {
        crate::device::gpu::nlm::tests::suite! {
            $gpu; crate::device::gpu::ridge::tests;
            agrees_with_the_reference, averages_are_those_of_the_reference, stages_are_timed, other_plans_are_left_to_the_processor,
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
