//! Averages of frames on every GPU runtime: passes that know of how many frames each pixel is one, against the reference. A
//! runtime instantiates these with [`suite!`].

use super::conformance::{clean, in_halves, picture, rms, views, with, worst};
use crate::bm3d::{Params, Plan, Profile, reference};
use crate::device::gpu::{Gpu, Runtime};
use crate::device::{self, Backend, Input, Samples, SamplesMut};
use crate::method::{self, Frames};
use crate::noise::correlated::Kernel;
use crate::transform::Transform;
use crate::{Control, Error, Plane, ridge};

/// Grey levels, of either pass alone: a coefficient within rounding of its threshold may fall on the other side.
const TOLERANCE: f32 = 0.05;
/// The same of pass 2 in halves, and for pass 1 the root of the mean square.
const HALF_TOLERANCE: f32 = 0.25;
const HALF_RMS: f64 = 0.3;

/// One to nine frames, in waves over the picture.
pub(crate) fn counts(w: usize, h: usize) -> Plane {
    let count = |i: usize| 5.0 + 4.0 * (0.35 * (i % w) as f32).sin() * (0.23 * (i / w) as f32).cos();
    Plane::from_vec(w, h, (0..w * h).map(count).collect()).unwrap()
}

/// What is left of the noise in averages of so many frames.
pub(crate) fn averages(counts: &Plane, sigma: f32, seed: u32) -> Plane {
    let (w, h) = (counts.width(), counts.height());
    let (clean, mut noisy) = (clean(w, h), picture(w, h, sigma, seed));
    let pixels = noisy.as_mut_slice().iter_mut().zip(clean.as_slice()).zip(counts.as_slice());
    pixels.for_each(|((v, clean), n)| *v = clean + (*v - clean) / n.sqrt());
    noisy
}

fn counted(plan: impl Into<method::Plan>) -> method::Plan {
    plan.into().over(Frames::Counted).unwrap()
}

fn run<R: Runtime>(gpu: &Gpu<R>, plan: &method::Plan, noisy: &[Plane], counts: &Plane) -> Vec<Plane> {
    device::picture(gpu, plan, &views(noisy), &[counts.view()], &Control::new()).unwrap()
}

/// Every pass on its own.
fn check<R: Runtime>(gpu: &Gpu<R>, plan: &Plan, noisy: &[Plane], counts: &Plane) {
    let first = Plan { passes: plan.passes[..1].to_vec(), ..plan.clone() };
    let basic = run(gpu, &counted(first.clone()), noisy, counts);
    let want = reference::run_counted(plan, &views(noisy), Some(&counts.view()));
    let without = reference::run(&first, &views(noisy)).last;
    for (c, (got, want)) in basic.iter().zip(&want.basic).enumerate() {
        let (off, rms) = (worst(got, want), rms(got, want));
        let good = if in_halves(gpu, &first) { rms < HALF_RMS } else { off < TOLERANCE };
        assert!(good, "pass 1, channel {c}: off by {off}, {rms} on average, with {plan:#?}");
        assert!(worst(want, &without[c]) > 10.0 * TOLERANCE, "counts change nothing");
    }
    if plan.passes.len() > 1 {
        let counts = Samples::F32(counts.as_slice());
        let got = gpu.second_pass(plan, &views(noisy), &views(&want.basic), Some(&counts)).unwrap();
        for (c, (got, want)) in got.iter().zip(&want.last).enumerate() {
            let tolerance = if in_halves(gpu, plan) { HALF_TOLERANCE } else { TOLERANCE };
            let off = worst(got, want);
            assert!(off < tolerance, "pass 2, channel {c}: off by {off} with {plan:#?}");
        }
    }
}

fn check_params<R: Runtime>(gpu: &Gpu<R>, params: &Params, (w, h): (usize, usize), sigma: &[f32]) {
    let counts = counts(w, h);
    let noisy: Vec<Plane> = (0..sigma.len()).map(|c| averages(&counts, sigma[c], c as u32)).collect();
    check(gpu, &Plan::new(params, w, h, sigma).unwrap(), &noisy, &counts);
}

pub(crate) fn passes_are_those_of_the_reference<R: Runtime>(gpu: &Gpu<R>) {
    check_params(gpu, &Profile::Normal.params(25.0), (45, 38), &[25.0]);
    check_params(gpu, &Profile::High.params(25.0), (38, 45), &[14.4, 17.7]);
    // Too weak for halves where there are nine frames.
    check_params(gpu, &Profile::Fast.params(5.0), (41, 37), &[5.0]);
}

pub(crate) fn so_are_passes_that_are_not_common<R: Runtime>(gpu: &Gpu<R>) {
    // What the quick filter does not serve; other patches, exact variances.
    check_params(gpu, &with(|p| p.group = 64), (31, 26), &[25.0]);
    check_params(gpu, &with(|p| p.stack = Transform::Dct), (31, 26), &[25.0]);
    let five = with(|p| (p.patch, p.transform, p.exact) = (5, Transform::Dct, true));
    check_params(gpu, &five, (29, 33), &[25.0]);
    let (w, h) = (37, 33);
    for params in [with(|p| p.exact = true), with(|p| (p.exact, p.group) = (true, 64))] {
        let psd = Kernel::G3w.psd(w, h, 1.0).unwrap();
        let plan = Plan::new(&params, w, h, &[25.0]).unwrap().with_spectrum(&psd);
        check(gpu, &plan, &[averages(&counts(w, h), 25.0, 3)], &counts(w, h));
    }
    // Regressions of patches on themselves.
    let pilot = ridge::Plan::new(&ridge::Profile::High.params(25.0), w, h, &[25.0]).unwrap().pilot;
    check(gpu, &pilot, &[averages(&counts(w, h), 25.0, 4)], &counts(w, h));
}

pub(crate) fn counts_are_cut_into_tiles<R: Runtime>(gpu: &Gpu<R>, tiled: &Gpu<R>) {
    let mut params = Profile::Original.params(25.0);
    for pass in [&mut params.hard, &mut params.wiener] {
        (pass.window, pass.group) = (11, 8);
    }
    let counts = counts(200, 131);
    let noisy = [averages(&counts, 25.0, 12), averages(&counts, 12.0, 13)];
    let plan = counted(Plan::new(&params, 200, 131, &[25.0, 12.0]).unwrap());
    let (got, want) = (run(tiled, &plan, &noisy, &counts), run(gpu, &plan, &noisy, &counts));
    for (c, (got, want)) in got.iter().zip(&want).enumerate() {
        let off = got.as_slice().iter().zip(want.as_slice()).filter(|(a, b)| (*a - *b).abs() > 0.001).count();
        assert!(off <= 64 && worst(got, want) < 1.0, "channel {c}: {off} pixels are off");
    }
}

pub(crate) fn every_frame_has_its_own_counts<R: Runtime>(gpu: &Gpu<R>) {
    let (w, h) = (43, 37);
    let plan = counted(Plan::new(&Profile::Fast.params(20.0), w, h, &[20.0]).unwrap());
    let ones = Plane::from_vec(w, h, vec![1.0; w * h]).unwrap();
    let frames = [(picture(w, h, 20.0, 1), ones), (averages(&counts(w, h), 20.0, 2), counts(w, h))];
    let mut sequence = gpu.open(&plan).unwrap();
    let control = Control::new();
    for (noisy, counts) in &frames {
        let (planes, guide) = ([Samples::F32(noisy.as_slice())], [Samples::F32(counts.as_slice())]);
        sequence.push(&Input { planes: &planes, guide: &guide }, &control).unwrap();
    }
    for (noisy, counts) in &frames {
        let mut out = vec![0.0; w * h];
        sequence.pull(&mut [SamplesMut::F32(&mut out)], &control).unwrap();
        let want = run(gpu, &plan, std::slice::from_ref(noisy), counts);
        let off = rms(&Plane::from_vec(w, h, out).unwrap(), &want[0]);
        assert!(off < 0.01, "off by {off} on average");
    }
    let e = sequence.lent(&[], &[], &control).unwrap_err();
    assert!(matches!(&e, Error::Unsupported(why) if why.contains("averages")), "{e}");
}

macro_rules! suite {
    ($gpu:expr, $open:path) => {
        crate::device::gpu::nlm::tests::suite! {
            $gpu; crate::device::gpu::bm3d::counted_tests;
            passes_are_those_of_the_reference, so_are_passes_that_are_not_common, every_frame_has_its_own_counts,
        }

        #[test]
        fn counts_are_cut_into_tiles() {
            if let Some(gpu) = $gpu {
                room::counts_are_cut_into_tiles(gpu, &$open(90).unwrap());
            }
        }
    };
}
pub(crate) use suite;
