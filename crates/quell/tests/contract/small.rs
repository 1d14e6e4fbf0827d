//! Pictures of a few pixels through every kernel that uses raw pointers: small enough for Miri, which interprets them, and
//! so narrow that every vector reaches over an edge. `scripts/sanitize` runs these. Miri looks at accesses only: the
//! reference would take longer there than all the rest.

use quell::bm3d::{self, Profile};
use quell::device::{self, Backend, Input, Samples, SamplesMut};
use quell::isoline::Variant;
use quell::transform::Transform;
use quell::{Control, Plane, isoline, nlm};

use crate::common::{cpu, eight_bit, levels, picture, run, views, worst};

/// Two passes in small windows.
fn params(change: impl FnOnce(&mut bm3d::Params)) -> bm3d::Params {
    let mut params = Profile::Fast.params(25.0);
    for pass in [&mut params.hard, &mut params.wiener] {
        (pass.window, pass.group, pass.step) = (5, 4, 4);
    }
    change(&mut params);
    params
}

/// BM3D at every level, against the reference.
fn check(params: &bm3d::Params, w: usize, h: usize, sigma: &[f32]) {
    let planes: Vec<Plane> = (0..sigma.len()).map(|c| picture(w, h, sigma[c], c as u32)).collect();
    let plan = bm3d::Plan::new(params, w, h, sigma).unwrap();
    let want = (!cfg!(miri)).then(|| bm3d::reference::run(&plan, &views(&planes)).last);
    for level in levels() {
        agree(&run(&cpu(level, 1, 0), &plan, &views(&planes)), want.as_deref(), 0.05);
    }
}

/// Finite, and as it should be.
fn agree(got: &[Plane], want: Option<&[Plane]>, tolerance: f32) {
    assert!(got.iter().all(|plane| plane.as_slice().iter().all(|v| v.is_finite())));
    for (got, want) in got.iter().zip(want.into_iter().flatten()) {
        let off = worst(got, want);
        assert!(off < tolerance, "off by {off}");
    }
}

#[test]
fn patches_of_eight() {
    check(&params(|_| ()), 13, 10, &[25.0]);
}

#[test]
fn patches_of_eight_with_exact_variances() {
    let exact = params(|p| (p.passes, p.hard.exact) = (1, true));
    check(&exact, 11, 9, &[25.0]);
}

#[test]
fn patches_of_any_side() {
    let odd = params(|p| {
        for pass in [&mut p.hard, &mut p.wiener] {
            (pass.patch, pass.transform, pass.window, pass.group) = (5, Transform::Dct, 3, 2);
        }
    });
    check(&odd, 9, 7, &[25.0]);
}

#[test]
fn threads_and_tiles() {
    let plan = bm3d::Plan::new(&params(|p| p.passes = 1), 13, 9, &[25.0]).unwrap();
    let plane = picture(13, 9, 25.0, 1);
    for level in levels() {
        let of = |threads, tile| run(&cpu(level, threads, tile), &plan, &[plane.view()]);
        assert!(of(1, 0) == of(2, 8), "{level:?}");
    }
}

/// Frames with one before and one after each; the middle one comes back.
fn middle(device: &dyn Backend, plan: &nlm::Plan, frames: &[Vec<u8>]) -> Plane {
    let control = Control::new();
    let mut sequence = device.open(&plan.clone().into()).unwrap();
    let mut out = vec![f32::NAN; plan.width * plan.height];
    for (i, frame) in frames.iter().enumerate() {
        sequence.push(&Input { planes: &[Samples::U8(frame)], guide: &[] }, &control).unwrap();
        if i > 0 {
            sequence.pull(&mut [SamplesMut::F32(&mut out)], &control).unwrap();
        }
    }
    Plane::from_vec(plan.width, plan.height, out).unwrap()
}

#[test]
fn means_of_patches_and_frames() {
    let (w, h) = (9, 6);
    let planes: Vec<Plane> = (0..3).map(|i| eight_bit(w, h, 25.0, i)).collect();
    let bytes = |plane: &Plane| plane.as_slice().iter().map(|v| *v as u8).collect();
    let frames: Vec<Vec<u8>> = planes.iter().map(bytes).collect();
    for (patchwise, weight) in [(false, nlm::Weight::Bisquare), (true, nlm::Weight::Gauss)] {
        let (patch, search, past, future) = (3, 3, 1, 1);
        let fast = nlm::Profile::Fast.params(25.0, 1);
        let params = nlm::Params { patch, search, past, future, patchwise, weight, ..fast };
        let plan = nlm::Plan::new(&params, (w, h), 1, 0, 255.0, 25.0).unwrap();
        let all: Vec<_> = planes.iter().map(|p| vec![p.view()]).collect();
        let views: Vec<_> = all.iter().map(|planes| nlm::reference::Views { planes, guide: &[] }).collect();
        let want = (!cfg!(miri)).then(|| nlm::reference::run(&plan, &views, 1));
        for level in levels() {
            agree(&[middle(&cpu(level, 1, 0), &plan, &frames)], want.as_deref(), 0.01);
        }
    }
}

#[test]
fn lines_of_every_filter() {
    let planes = [eight_bit(11, 7, 25.0, 1)];
    for variant in Variant::ALL {
        let params = isoline::Params::of(variant, 25.0, 1);
        let plan = isoline::Plan::new(&params, (11, 7), 255.0, &[25.0]).unwrap();
        let want = (!cfg!(miri)).then(|| isoline::reference::run(&plan, &views(&planes)));
        for level in levels() {
            let device = cpu(level, 1, 0);
            let plan = plan.clone().into();
            let got = device::picture(&device, &plan, &views(&planes), &[], &Control::new()).unwrap();
            agree(&got, want.as_deref(), 0.01);
        }
    }
}
