//! Noise that depends on brightness: every method and every entry works on the stabilised scale.

use quell::device::{SampleBuffer, Samples, SamplesMut};
use quell::method::Method;
use quell::noise::correlated::{Correlation, PsdSource};
use quell::noise::{Curve, add_poisson_gaussian};
use quell::{
    Control, Denoiser, DenoiserBuilder, Device, Frame, Layout, Plane, VideoFormat, bm3d, metrics, nlm,
};

/// Steps of brightness and a disc, in units of white.
fn scene(channels: usize, white: f32) -> Frame {
    let (width, height) = (72, 56);
    let plane = |c: usize| {
        let sample = |i: usize| {
            let (x, y) = ((i % width) as f32, (i / width) as f32);
            let disc = (x - 40.0).powi(2) + (y - 25.0).powi(2) < 300.0;
            let level = 0.1 + 0.2 * (x / 24.0).floor() + if disc { 0.3 } else { 0.0 };
            (level - 0.02 * c as f32) * white
        };
        Plane::from_vec(width, height, (0..width * height).map(sample).collect()).unwrap()
    };
    Frame::new((0..channels).map(plane).collect(), white).unwrap()
}

/// With variance `a*y + b` on the 0..255 scale.
fn noisy(clean: &Frame, a: f64, b: f64) -> Frame {
    let unit = f64::from(clean.white()) / 255.0;
    add_poisson_gaussian(clean, a * unit, b.sqrt() * unit, 5).unwrap()
}

fn builder(method: Method) -> DenoiserBuilder {
    DenoiserBuilder::new(method).device(Device::Cpu)
}

fn map(frame: &Frame, white: f32, f: impl Fn(f32) -> f32) -> Frame {
    let mut frame = Frame::new(frame.planes().to_vec(), white).unwrap();
    frame.planes_mut().iter_mut().flat_map(|p| p.as_mut_slice()).for_each(|v| *v = f(*v));
    frame
}

fn worst(a: &Frame, b: &Frame) -> f32 {
    let planes = a.planes().iter().zip(b.planes());
    let pairs = planes.flat_map(|(a, b)| a.as_slice().iter().zip(b.as_slice()));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn every_method_filters_what_the_curve_makes_of_samples() {
    let curves = [
        Curve::poisson_gauss(4.0, 9.0).unwrap(),
        Curve::from_points(&[(0.0, 6.0), (100.0, 14.0), (255.0, 25.0)]).unwrap(),
    ];
    for curve in curves {
        for method in Method::all() {
            for (channels, white) in [(1, 255.0), (3, 1.0)] {
                let frame = noisy(&scene(channels, white), 4.0, 9.0);
                let with = builder(method).noise_curve(curve.clone()).strength(1.2).build().unwrap();
                let got = with.denoise(&frame).unwrap();
                let inside = map(&frame, 255.0, |v| curve.forward(v * (255.0 / white)));
                let by_hand = builder(method).sigma(curve.sigma()).strength(1.2).build().unwrap();
                let want = by_hand.denoise(&inside).unwrap();
                let want = map(&want, white, |d| curve.inverse(d) * (white / 255.0));
                let off = worst(&got, &want) * 255.0 / white;
                assert!(off < 2e-3, "{} of {channels} channels is off by {off}", method.name());
                assert_eq!(with.resolve(&frame).unwrap().unwrap().sigma, curve.typical() * white / 255.0);
            }
        }
    }
}

#[test]
fn samples_and_streams_are_filtered_as_frames_are() {
    // With enough photons, and with so few that frames go through in rounds.
    for (a, b) in [(4.0, 9.0), (130.0, 200.0)] {
        let curve = Curve::poisson_gauss(a, b).unwrap();
        for (channels, layout) in [(1, Layout::Mono), (3, Layout::Rgb)] {
            let white = 4095.0;
            let frame = noisy(&scene(channels, white), a.into(), b.into());
            let frame = map(&frame, white, |v| v.round().clamp(0.0, white));
            let alone = builder(Method::Bm3d(bm3d::Profile::Fast)).set("past", 0).set("future", 0);
            let denoiser = alone.noise_curve(curve.clone()).build().unwrap();
            let want = map(&denoiser.denoise(&frame).unwrap(), white, |v| v.clamp(0.0, white).round());
            let stored: Vec<Vec<u16>> =
                frame.planes().iter().map(|p| p.as_slice().iter().map(|v| *v as u16).collect()).collect();
            let mut out = stored.clone();
            let (width, height) = (frame.width(), frame.height());
            let from: Vec<Samples<'_>> = stored.iter().map(|p| Samples::U16(p)).collect();
            let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(|p| SamplesMut::U16(p)).collect();
            denoiser.denoise_samples(width, height, white, &from, &mut to, &Control::new()).unwrap();
            // Types that may exceed white have another plane to compare patches on, so that bits may differ.
            let same = |got: &[Vec<u16>]| {
                let floats = got.iter().map(|p| p.iter().map(|v| f32::from(*v)).collect());
                let planes = floats.map(|p| Plane::from_vec(width, height, p).unwrap()).collect();
                let got = Frame::new(planes, white).unwrap();
                metrics::psnr(&want, &got).unwrap().all
            };
            assert!(same(&out) > 55.0, "samples: {} at gain {a}", same(&out));
            let format = VideoFormat::with_bits(width, height, layout, 12).unwrap();
            let mut stream = denoiser.stream(format).unwrap().ahead(1);
            let video = || {
                let mut frame = format.frame();
                frame.planes = stored.iter().cloned().map(SampleBuffer::U16).collect();
                frame
            };
            assert!(stream.push(video()).unwrap().is_none());
            let mut frames = vec![stream.push(video()).unwrap().unwrap()];
            frames.extend(stream.flush().unwrap());
            assert!(frames.len() == 2 && stream.flush().unwrap().is_none());
            for frame in frames {
                let planes: Vec<Vec<u16>> = frame
                    .planes
                    .iter()
                    .map(|p| p.view().to_floats(1.0).iter().map(|v| *v as u16).collect())
                    .collect();
                assert!(same(&planes) > 55.0, "stream: {} at gain {a}", same(&planes));
            }
        }
    }
}

#[test]
fn videos_of_several_frames_are_stabilised() {
    let curve = Curve::poisson_gauss(4.0, 9.0).unwrap();
    let format = VideoFormat::with_bits(72, 56, Layout::Mono, 8).unwrap();
    let clean = scene(1, 255.0);
    let video = |f: &Frame| {
        let mut frame = format.frame();
        frame.planes[0].view_mut().store(f.planes()[0].as_slice(), 1.0, 255.0);
        frame
    };
    let denoiser =
        builder(Method::Nlm(nlm::Profile::Fast)).noise_curve(curve).set("past", 1).set("future", 1);
    let denoiser = denoiser.build().unwrap();
    let mut stream = denoiser.stream(format).unwrap();
    let mut out = Vec::new();
    for seed in 0..3 {
        out.extend(stream.push(video(&add_poisson_gaussian(&clean, 4.0, 3.0, seed).unwrap())).unwrap());
    }
    while let Some(frame) = stream.flush().unwrap() {
        out.push(frame);
    }
    assert_eq!(out.len(), 3);
    for frame in &out {
        let plane = Plane::from_vec(72, 56, frame.planes[0].view().to_floats(1.0)).unwrap();
        let psnr = metrics::psnr(&clean, &Frame::grey(plane, 255.0).unwrap()).unwrap().all;
        assert!(psnr > 27.0, "{psnr}");
    }
}

#[test]
fn what_is_no_brightness_is_refused() {
    let curve = Curve::poisson_gauss(4.0, 9.0).unwrap();
    let denoiser = builder(Method::default()).noise_curve(curve.clone()).build().unwrap();
    let format = VideoFormat::with_bits(64, 64, Layout::Yuv420, 8).unwrap();
    let e = denoiser.stream(format).err().unwrap().to_string();
    assert!(e.contains("needs grey or RGB video"), "{e}");
    let banding = Correlation { psd: Some(PsdSource::Auto), ..Correlation::default() };
    let nlm = Denoiser::nlm(nlm::Profile::Fast).correlation(banding).noise_curve(curve);
    assert!(nlm.build().unwrap_err().to_string().contains("not for correlated"));
}

#[test]
fn parts_are_those_of_the_whole_picture() {
    let tall = {
        let sample = |i: usize| ((i % 40) as f32 * 4.0 + (i / 40 % 50) as f32 * 1.5).min(240.0);
        let plane = Plane::from_vec(40, 1200, (0..40 * 1200).map(sample).collect()).unwrap();
        Frame::grey(plane, 255.0).unwrap()
    };
    for a in [4.0, 150.0] {
        let frame = noisy(&tall, a, 9.0);
        let curve = Curve::poisson_gauss(a as f32, 9.0).unwrap();
        let denoiser = builder(Method::Bm3d(bm3d::Profile::Fast)).noise_curve(curve).build().unwrap();
        let whole = denoiser.denoise(&frame).unwrap();
        let resolved = denoiser.resolve_rows(1200, &frame, None).unwrap().unwrap();
        let parts = resolved.plan.parts(400);
        assert!(parts.len() > 1);
        for part in parts {
            let rows = |rows: std::ops::Range<usize>| 40 * rows.start..40 * rows.end;
            let from = &frame.planes()[0].as_slice()[rows(part.read())];
            let mut to = vec![0.0; from.len()];
            let out = &mut [SamplesMut::F32(&mut to)];
            denoiser.run_part(&resolved, &part, &[Samples::F32(from)], out, &Control::new()).unwrap();
            assert!(to[rows(part.kept())] == whole.planes()[0].as_slice()[rows(part.write())], "gain {a}");
        }
    }
}
