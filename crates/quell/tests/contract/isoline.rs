//! Isoline filters: every instruction set against the scalar reference, and what the filters promise.

use quell::device::cpu::Level;
use quell::device::{self, Backend, SampleBuffer};
use quell::isoline::{Map, Params, Plan, Profile, Variant, reference};
use quell::noise::add_gaussian;
use quell::{Control, Denoiser, Device, Frame, Layout, Plane, VideoFormat, VideoFrame, metrics};

use crate::common::{clean, cpu, eight_bit, levels, map, picture, views, worst};

/// Grey levels between `f32` and `f64`: no decision of these filters is a jump.
const TOLERANCE: f32 = 0.01;

fn plan(params: &Params, planes: &[Plane], sigma: f32) -> Plan {
    let size = (planes[0].width(), planes[0].height());
    Plan::new(params, size, 255.0, &vec![sigma; planes.len()]).unwrap()
}

/// One picture through a device.
fn filter(device: &dyn Backend, plan: &Plan, planes: &[Plane]) -> quell::Result<Vec<Plane>> {
    device::picture(device, &plan.clone().into(), &views(planes), &[], &Control::new())
}

/// What a filter knows of a picture.
fn known(device: &dyn Backend, plan: &Plan, planes: &[Plane], map: Map) -> Plane {
    let plan = quell::method::Work::Map(Box::new(plan.clone()), map).into();
    device::picture(device, &plan, &views(planes), &[], &Control::new()).unwrap().remove(0)
}

/// Every level against the reference.
fn check(params: &Params, planes: &[Plane], sigma: f32) {
    let plan = plan(params, planes, sigma);
    let want = reference::run(&plan, &views(planes));
    for level in levels() {
        let got = filter(&cpu(level, 1, 0), &plan, planes).unwrap();
        assert_eq!(got.len(), planes.len());
        for (c, (got, want)) in got.iter().zip(&want).enumerate() {
            let off = worst(got, want);
            assert!(off < TOLERANCE, "{level:?}, plane {c}: off by {off} with {params:?}");
        }
    }
}

fn ours() -> [Variant; 3] {
    [Variant::Pooled, Variant::Line, Variant::TwoRound]
}

fn papers() -> [Variant; 3] {
    [Variant::PiLd, Variant::PiPd, Variant::Hybrid]
}

#[test]
fn own_filters_at_any_noise_and_size() {
    for (w, h) in [(61, 47), (1, 1), (7, 3), (3, 40), (64, 8)] {
        for sigma in [2.0, 25.0, 100.0] {
            for variant in ours() {
                check(&Params::of(variant, sigma, 1), &[picture(w, h, sigma, 1)], sigma);
            }
        }
    }
}

#[test]
fn own_filters_across_columns_and_bands() {
    // Wider than what is worked on at once, and more rows than a band.
    for variant in ours() {
        check(&Params::of(variant, 25.0, 1), &[picture(530, 40, 25.0, 2)], 25.0);
        check(&Params::of(variant, 25.0, 1), &[picture(24, 77, 25.0, 3)], 25.0);
    }
}

#[test]
fn own_filters_with_other_parameters() {
    let base = Params::of(Variant::TwoRound, 25.0, 1);
    let planes = [picture(50, 39, 25.0, 4)];
    for (length, max_length) in [(1, 2), (2, 9), (5, 6), (10, 31)] {
        check(&Params { length, max_length, ..base.clone() }, &planes, 25.0);
    }
    for directions in [8, 16] {
        check(&Params { directions, thickness: 3, ..base.clone() }, &planes, 25.0);
    }
    for (window, cell, pilot_window, pilot_cell) in
        [(1, 1, 1, 1), (31, 1, 17, 1), (32, 8, 2, 2), (6, 2, 4, 4), (10, 4, 8, 8)]
    {
        let params = Params { window, cell, pilot_window, pilot_cell, ..base.clone() };
        check(&params, &planes, 25.0);
    }
}

#[test]
fn own_filters_on_several_planes() {
    for channels in 2..=4 {
        let planes: Vec<Plane> = (0..channels).map(|c| picture(45, 37, 20.0, c)).collect();
        for variant in ours() {
            check(&Params::of(variant, 20.0, 3), &planes, 20.0);
        }
    }
}

#[test]
fn own_filters_tell_of_the_same_lines() {
    let params = |variant| {
        [
            Params::of(variant, 25.0, 1),
            Params { directions: 16, thickness: 3, ..Params::of(variant, 50.0, 1) },
        ]
    };
    for (w, h) in [(61, 47), (1, 1), (7, 3), (150, 20)] {
        let planes: Vec<Plane> = (0..3).map(|c| picture(w, h, 25.0, c)).collect();
        for params in ours().into_iter().flat_map(params) {
            let plan = plan(&params, &planes, 25.0);
            for what in Map::ALL {
                let want = reference::map(&plan, &views(&planes), what);
                let got = known(&cpu(Level::Portable, 2, 0), &plan, &planes, what);
                let pairs = || got.as_slice().iter().zip(want.as_slice());
                // Directions are equal but for ties within rounding.
                let other = pairs().filter(|(a, b)| (*a - *b).abs() > 0.01).count();
                assert!(other <= w * h / 100, "{what:?} of {:?}, {w} x {h}: {other} differ", plan.variant);
            }
        }
    }
}

#[test]
fn the_papers_filters_find_the_same_lines() {
    let sizes = [(61, 47), (1, 1), (7, 3), (3, 30), (40, 33)];
    for (i, (w, h)) in sizes.into_iter().enumerate() {
        let planes = [eight_bit(w, h, 25.0, i as u32)];
        for variant in papers() {
            for thickness in [1, 3] {
                let params = Params { thickness, ..Params::of(variant, 25.0, 1) };
                check(&params, &planes, 25.0);
                let plan = plan(&params, &planes, 25.0);
                for what in Map::ALL {
                    let want = reference::map(&plan, &views(&planes), what);
                    for level in levels() {
                        let got = known(&cpu(level, 1, 0), &plan, &planes, what);
                        assert!(got == want, "{level:?} {variant:?} {what:?} {w} x {h}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_papers_filters_with_other_parameters_and_planes() {
    let planes: Vec<Plane> = (0..3).map(|c| eight_bit(40, 31, 25.0, c)).collect();
    for variant in papers() {
        let base = Params::of(variant, 25.0, 1);
        check(&base, &planes, 25.0);
        check(&base, &planes[..2], 25.0);
        check(&Params { length: 10, max_length: 101, threshold: 3.0, ..base.clone() }, &planes[..1], 25.0);
        check(&Params { length: 1, max_length: 2, directions: 8, ..base.clone() }, &planes[..1], 25.0);
        check(&Params { length: 4, max_length: 50, directions: 16, turn: 0, ..base }, &planes[..1], 25.0);
    }
}

#[test]
fn any_number_of_threads() {
    let planes = [eight_bit(90, 150, 25.0, 7)];
    for variant in Variant::ALL {
        let plan = plan(&Params::of(variant, 25.0, 1), &planes, 25.0);
        for level in levels() {
            let run = |threads| filter(&cpu(level, threads, 0), &plan, &planes).unwrap();
            let want = run(1);
            for threads in [2, 3, 7] {
                assert!(run(threads) == want, "{level:?} {variant:?}: {threads} threads change the result");
            }
        }
    }
}

#[test]
fn a_device_remembers_nothing() {
    let device = cpu(quell::device::cpu::Level::Portable, 2, 0);
    for (w, h) in [(40, 30), (33, 50), (40, 30)] {
        for variant in Variant::ALL {
            let planes = [eight_bit(w, h, 25.0, 3)];
            let plan = plan(&Params::of(variant, 25.0, 1), &planes, 25.0);
            let fresh = cpu(quell::device::cpu::Level::Portable, 1, 0);
            let [a, b] = [&device, &fresh].map(|d| filter(d, &plan, &planes).unwrap());
            assert!(a == b, "{variant:?} {w} x {h}");
        }
    }
}

#[test]
fn nothing_beyond_the_halo_matters() {
    for variant in Variant::ALL {
        let mut planes = [eight_bit(120, 20, 25.0, 8)];
        let plan = plan(&Params::of(variant, 25.0, 1), &planes, 25.0);
        let device = cpu(levels().last().unwrap(), 1, 0);
        let run = |planes: &[Plane]| filter(&device, &plan, planes).unwrap().remove(0);
        let before = run(&planes);
        planes[0].row_mut(10)[60] = 255.0;
        let after = run(&planes);
        let columns = (0..120).filter(|&x| (0..20).any(|y| before.row(y)[x] != after.row(y)[x]));
        let far = columns.map(|x| x.abs_diff(60)).max().unwrap();
        assert!(far <= plan.halo(), "{variant:?}: {far} columns away, halo {}", plan.halo());
    }
}

#[test]
fn flat_pictures_stay_as_they_are() {
    let flat = [Plane::from_vec(20, 20, vec![77.0; 400]).unwrap()];
    for variant in Variant::ALL {
        let plan = plan(&Params::of(variant, 25.0, 1), &flat, 25.0);
        let got = filter(&cpu(levels().last().unwrap(), 1, 0), &plan, &flat).unwrap();
        assert!(worst(&got[0], &flat[0]) < 1e-3, "{variant:?}");
    }
}

#[test]
fn results_follow_the_unit_of_the_samples() {
    let planes = [picture(40, 40, 25.0, 5)];
    let scaled = [map(&planes[0], |v| v * 257.0)];
    for variant in ours() {
        let params = Params::of(variant, 25.0, 1);
        let device = cpu(levels().last().unwrap(), 1, 0);
        let run = |planes: &[Plane], white, sigma| {
            let plan = Plan::new(&params, (40, 40), white, &[sigma]).unwrap();
            filter(&device, &plan, planes).unwrap().remove(0)
        };
        let (a, b) = (run(&planes, 255.0, 25.0), run(&scaled, 65535.0, 25.0 * 257.0));
        assert!(worst(&a, &map(&b, |v| v / 257.0)) < TOLERANCE, "{variant:?}");
    }
}

#[test]
fn every_variant_reduces_noise() {
    let (clean, noisy) = (clean(96, 96), eight_bit(96, 96, 25.0, 6));
    let error = |p: &Plane| {
        let squares = p.as_slice().iter().zip(clean.as_slice()).map(|(a, b)| f64::from(a - b).powi(2));
        squares.sum::<f64>() / clean.as_slice().len() as f64
    };
    let run = |variant| {
        let planes = [noisy.clone()];
        let plan = plan(&Params::of(variant, 25.0, 1), &planes, 25.0);
        let device = cpu(levels().last().unwrap(), 1, 0);
        error(&filter(&device, &plan, &planes).unwrap()[0])
    };
    let errors = Variant::ALL.map(run);
    let before = error(&noisy);
    // The paper's filters halve the error, at least; ours leave a fifth at most.
    assert!(errors.iter().all(|e| *e < 0.5 * before), "{before} {errors:?}");
    assert!(errors[3..].iter().all(|e| *e < 0.2 * before), "{before} {errors:?}");
}

#[test]
fn planes_that_do_not_fit_are_refused() {
    let planes = [picture(20, 20, 25.0, 1), picture(20, 20, 25.0, 2)];
    let plan = plan(&Profile::Normal.params(25.0, 1), &planes, 25.0);
    let device = cpu(levels().last().unwrap(), 1, 0);
    let run = |planes: &[Plane]| filter(&device, &plan, planes);
    assert!(run(&planes).is_ok());
    assert!(run(&planes[..1]).is_err());
    assert!(run(&[picture(20, 21, 25.0, 1), picture(20, 21, 25.0, 2)]).is_err());
}

#[test]
fn a_denoiser_removes_noise_of_grey_and_colour_whatever_the_white() {
    let truth = |white: f32| map(&clean(90, 70), |v| v * white / 255.0);
    for (white, channels) in [(255.0, 1), (1.0, 1), (255.0, 3), (1.0, 3)] {
        let noisy = (0..channels).map(|c| map(&picture(90, 70, 20.0, c), |v| v * white / 255.0));
        let noisy = Frame::new(noisy.collect(), white).unwrap();
        let clean = Frame::new((0..channels).map(|_| truth(white)).collect(), white).unwrap();
        let psnr = |f: &Frame| metrics::psnr(&clean, f).unwrap().all;
        for profile in [Profile::Fast, Profile::Normal] {
            let denoiser = Denoiser::isoline(profile).sigma(20.0).device(Device::Cpu);
            let got = denoiser.build().unwrap().denoise(&noisy).unwrap();
            let gain = psnr(&got) - psnr(&noisy);
            assert!(gain > 5.0, "{profile:?}, white {white}, {channels} channels: {gain} dB");
        }
    }
}

#[test]
fn a_variant_that_is_asked_for_brings_its_own_parameters() {
    let frame = Frame::grey(picture(30, 24, 25.0, 1), 255.0).unwrap();
    let denoiser = Denoiser::isoline(Profile::Normal).sigma(25.0).set("variant", "pi-pd").set("length", "4");
    let resolved = denoiser.build().unwrap().resolve(&frame).unwrap().unwrap();
    let quell::method::Params::Isoline(params) = resolved.params else { panic!("not isolines") };
    assert_eq!(params, Params { length: 4, ..Params::of(Variant::PiPd, 25.0, 1) });
}

#[test]
fn frames_of_a_video_are_filtered_one_by_one() {
    let format = VideoFormat::with_bits(40, 30, Layout::Yuv420, 8).unwrap();
    let denoiser = Denoiser::isoline(Profile::Fast).sigma(20.0).device(Device::Cpu).build().unwrap();
    let noisy = eight_bit(40, 30, 20.0, 3);
    let bytes: Vec<u8> = noisy.as_slice().iter().map(|v| *v as u8).collect();
    let mut frame = format.frame();
    frame.planes[0] = SampleBuffer::U8(bytes);
    let mut stream = denoiser.stream(format).unwrap();
    let got = stream.push(frame).unwrap().unwrap();
    let want = denoiser.denoise(&Frame::grey(noisy, 255.0).unwrap()).unwrap();
    let want = want.planes()[0].as_slice().iter().map(|v| (v.clamp(0.0, 255.0) + 0.5) as u8);
    assert_eq!(got.planes[0], SampleBuffer::U8(want.collect()));
}

#[test]
fn clipped_noise_does_not_make_shadows_brighter() {
    let dark = Frame::grey(Plane::from_vec(96, 96, vec![10.0; 96 * 96]).unwrap(), 255.0).unwrap();
    let unclipped = add_gaussian(&dark, 40.0, 5).unwrap();
    let mut noisy = unclipped.clone();
    noisy.planes_mut()[0].as_mut_slice().iter_mut().for_each(|v| *v = v.round().clamp(0.0, 255.0));
    let mean = |f: &Frame| f.planes()[0].as_slice().iter().sum::<f32>() / (96.0 * 96.0);
    let denoiser = Denoiser::isoline(Profile::Normal).sigma(40.0).build().unwrap();
    // Half of the noise is lost: the mean of what is left is 21.
    assert!((mean(&noisy) - 21.0).abs() < 1.0);
    assert!((mean(&denoiser.denoise(&noisy).unwrap()) - 10.0).abs() < 2.0);
    assert!((mean(&denoiser.denoise(&unclipped).unwrap()) - 10.0).abs() < 2.0);
}

/// Luma and chroma with the same edges, chroma of less contrast; every plane with the same noise.
fn yuv(format: &VideoFormat, sigma: f32) -> (Vec<Plane>, VideoFrame) {
    let plane = |p: usize| {
        let (w, h) = format.plane_size(p);
        if p == 0 { clean(w, h) } else { map(&clean(w, h), |v| 128.0 + 0.3 * (v - 128.0)) }
    };
    let clean: Vec<Plane> = (0..3).map(plane).collect();
    let mut frame = format.frame();
    for (p, (to, plane)) in frame.planes.iter_mut().zip(&clean).enumerate() {
        let noisy =
            add_gaussian(&Frame::grey(plane.clone(), 255.0).unwrap(), sigma.into(), p as u64).unwrap();
        let bytes = noisy.planes()[0].as_slice().iter().map(|v| v.round().clamp(0.0, 255.0) as u8);
        *to = SampleBuffer::U8(bytes.collect());
    }
    (clean, frame)
}

fn grey(plane: &SampleBuffer, (width, height): (usize, usize)) -> Frame {
    Frame::grey(Plane::from_vec(width, height, plane.view().to_floats(1.0)).unwrap(), 255.0).unwrap()
}

#[test]
fn chroma_of_video_is_better_with_luma_than_alone() {
    for layout in [Layout::Yuv420, Layout::Yuv422, Layout::Yuv444] {
        let format = VideoFormat::with_bits(191, 126, layout, 8).unwrap();
        let (clean, frame) = yuv(&format, 25.0);
        let denoiser = Denoiser::isoline(Profile::Normal).sigma(25.0).device(Device::Cpu).build().unwrap();
        let got = denoiser.stream(format).unwrap().push(frame.clone()).unwrap().unwrap();
        for p in 0..3 {
            let size = format.plane_size(p);
            let alone = denoiser.denoise(&grey(&frame.planes[p], size)).unwrap();
            let got = grey(&got.planes[p], size);
            if p == 0 {
                assert!(worst(&got.planes()[0], &alone.planes()[0]) < 0.51, "{layout:?}: luma is as it was");
                continue;
            }
            let clean = Frame::grey(clean[p].clone(), 255.0).unwrap();
            let db = |f: &Frame| metrics::psnr(&clean, f).unwrap().all;
            assert!(db(&got) > db(&alone) + 0.3, "{layout:?}, plane {p}: {} and {}", db(&got), db(&alone));
        }
    }
}

#[test]
fn chroma_edges_that_luma_does_not_show_are_kept() {
    let format = VideoFormat::with_bits(128, 128, Layout::Yuv420, 8).unwrap();
    let mut frame = format.frame();
    let noisy = |value: &dyn Fn(usize) -> f32, size: usize, seed: u64| {
        let plane = Plane::from_vec(size, size, (0..size * size).map(value).collect()).unwrap();
        let noisy = add_gaussian(&Frame::grey(plane, 255.0).unwrap(), 10.0, seed).unwrap();
        let bytes = noisy.planes()[0].as_slice().iter().map(|v| v.round().clamp(0.0, 255.0) as u8);
        SampleBuffer::U8(bytes.collect())
    };
    frame.planes[0] = noisy(&|_| 120.0, 128, 1);
    frame.planes[1] = noisy(&|i| if i % 64 < 32 { 90.0 } else { 170.0 }, 64, 2);
    frame.planes[2] = noisy(&|_| 128.0, 64, 3);
    let denoiser = Denoiser::isoline(Profile::Normal).sigma(10.0).device(Device::Cpu).build().unwrap();
    let got = denoiser.stream(format).unwrap().push(frame).unwrap().unwrap();
    let plane = grey(&got.planes[1], (64, 64));
    let column = |x: usize| (8..56).map(|y| plane.planes()[0].row(y)[x]).sum::<f32>() / 48.0;
    // Half of the step is between neighbours still.
    assert!(column(32) - column(31) > 40.0, "{} to {}", column(31), column(32));
}
