//! Samples as they are stored: the same result as for frames, in the type that is asked for.

use quell::bm3d::Profile;
use quell::device::{Samples, SamplesMut};
use quell::{ColorMode, Control, Denoiser, DenoiserBuilder, Error, Frame, Plane};

use crate::common::{eight_bit, map, picture};

const W: usize = 45;
const H: usize = 38;

fn builder(sigma: f32) -> DenoiserBuilder {
    Denoiser::bm3d(Profile::Fast).sigma(sigma).threads(1)
}

fn bytes(plane: &Plane) -> Vec<u8> {
    plane.as_slice().iter().map(|&v| v as u8).collect()
}

fn rounded(plane: &Plane, white: f32) -> Vec<u16> {
    plane.as_slice().iter().map(|v| v.round().clamp(0.0, white) as u16).collect()
}

/// Denoises one plane of bytes, into 16 bits so that nothing is hidden by the type.
fn samples(denoiser: &Denoiser, white: f32, from: Samples<'_>) -> Vec<u16> {
    let mut out = vec![0u16; W * H];
    denoiser
        .denoise_samples(W, H, white, &[from], &mut [SamplesMut::U16(&mut out)], &Control::new())
        .unwrap();
    out
}

#[test]
fn bytes_words_and_floats_are_the_frame_of_them() {
    let plane = eight_bit(W, H, 25.0, 1);
    let frame = Frame::grey(plane.clone(), 255.0).unwrap();
    let denoiser = builder(25.0).build().unwrap();
    let want = denoiser.denoise(&frame).unwrap().into_planes().remove(0);
    let words: Vec<u16> = plane.as_slice().iter().map(|&v| v as u16).collect();
    for from in [Samples::U8(&bytes(&plane)), Samples::U16(&words), Samples::F32(plane.as_slice())] {
        assert_eq!(samples(&denoiser, 255.0, from), rounded(&want, 255.0));
    }
    let mut float = vec![0f32; W * H];
    let to = &mut [SamplesMut::F32(&mut float)];
    denoiser.denoise_samples(W, H, 255.0, &[Samples::U8(&bytes(&plane))], to, &Control::new()).unwrap();
    assert_eq!(float, want.as_slice());
}

#[test]
fn ten_bits_keep_their_units_and_their_white() {
    // Some of it is brighter than white.
    let plane = map(&picture(W, H, 25.0, 2), |v| (v * 6.0).round().max(0.0));
    let frame = Frame::grey(plane.clone(), 1023.0).unwrap();
    let denoiser = builder(25.0).build().unwrap();
    let want = denoiser.denoise(&frame).unwrap().into_planes().remove(0);
    let words: Vec<u16> = plane.as_slice().iter().map(|&v| v as u16).collect();
    let got = samples(&denoiser, 1023.0, Samples::U16(&words));
    assert_eq!(got, rounded(&want, 1023.0));
    assert!(got.iter().all(|&v| v <= 1023) && got.contains(&1023));
}

#[test]
fn floats_far_from_black_and_white_are_compared_as_in_a_frame() {
    let plane = map(&picture(W, H, 25.0, 3), |v| v + 3000.0);
    let denoiser = builder(25.0).build().unwrap();
    let want = denoiser.denoise(&Frame::grey(plane.clone(), 255.0).unwrap()).unwrap();
    let mut got = vec![0f32; W * H];
    let to = &mut [SamplesMut::F32(&mut got)];
    denoiser.denoise_samples(W, H, 255.0, &[Samples::F32(plane.as_slice())], to, &Control::new()).unwrap();
    assert_eq!(got, want.planes()[0].as_slice());
}

#[test]
fn colours_are_filtered_as_in_a_frame_in_every_mode() {
    let planes: Vec<Plane> = (0..3).map(|c| eight_bit(W, H, 20.0, 4 + c)).collect();
    let frame = Frame::new(planes.clone(), 255.0).unwrap();
    let stored: Vec<Vec<u8>> = planes.iter().map(bytes).collect();
    let from: Vec<Samples<'_>> = stored.iter().map(|v| Samples::U8(v)).collect();
    for mode in ColorMode::ALL {
        let denoiser = builder(20.0).color(mode).build().unwrap();
        let want = denoiser.denoise(&frame).unwrap();
        let mut out = vec![vec![0f32; W * H]; 3];
        let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(|v| SamplesMut::F32(v)).collect();
        denoiser.denoise_samples(W, H, 255.0, &from, &mut to, &Control::new()).unwrap();
        for (got, want) in out.iter().zip(want.planes()) {
            assert_eq!(got, want.as_slice(), "{mode:?}");
        }
    }
}

#[test]
fn several_threads_share_a_denoiser() {
    let denoiser = builder(25.0).build().unwrap();
    let frames: Vec<Vec<u8>> = (0..6).map(|i| bytes(&eight_bit(W, H, 25.0, i))).collect();
    let want: Vec<_> = frames.iter().map(|f| samples(&denoiser, 255.0, Samples::U8(f))).collect();
    let got: Vec<_> = std::thread::scope(|s| {
        let running: Vec<_> =
            frames.iter().map(|f| s.spawn(|| samples(&denoiser, 255.0, Samples::U8(f)))).collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    assert_eq!(got, want);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let denoiser = builder(25.0).build().unwrap();
    let go = |denoiser: &Denoiser, w: usize, white: f32, from: &[Samples<'_>], planes: usize| {
        let mut out = vec![vec![0u8; W * H]; planes];
        let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(|v| SamplesMut::U8(v)).collect();
        denoiser.denoise_samples(w, H, white, from, &mut to, &Control::new()).unwrap_err()
    };
    let good = vec![9u8; W * H];
    let one = [Samples::U8(&good)];
    assert!(matches!(go(&denoiser, W + 1, 255.0, &one, 1), Error::Shape(_)));
    assert!(matches!(go(&denoiser, W, 255.0, &one, 3), Error::Shape(_)));
    assert!(matches!(go(&denoiser, W, 255.0, &[one[0]; 2], 2), Error::Shape(_)));
    assert!(matches!(go(&denoiser, 0, 255.0, &[Samples::F32(&[])], 1), Error::Shape(_)));
    assert!(matches!(go(&denoiser, W, 0.0, &one, 1), Error::Parameter { .. }));
    assert!(matches!(go(&denoiser, W, f32::NAN, &one, 1), Error::Parameter { .. }));
    let estimating = Denoiser::bm3d(Profile::Fast).build().unwrap();
    assert!(go(&estimating, W, 255.0, &one, 1).to_string().starts_with("sigma = auto"));
    let mut bad = vec![1f32; W * H];
    bad[2 * W + 7] = f32::NAN;
    let e = go(&denoiser, W, 255.0, &[Samples::F32(&bad)], 1);
    assert!(matches!(e, Error::NotFinite { plane: 0, x: 7, y: 2, .. }), "{e}");
    let short = &mut [SamplesMut::U8(&mut [0; 9])];
    let e = denoiser.denoise_samples(W, H, 255.0, &one, short, &Control::new()).unwrap_err();
    assert_eq!(e.to_string(), "9 samples cannot take a 45 x 38 plane");
    let tiny = denoiser.denoise_samples(
        3,
        2,
        255.0,
        &[Samples::U8(&[0; 6])],
        &mut [SamplesMut::U8(&mut [0; 6])],
        &Control::new(),
    );
    assert!(tiny.unwrap_err().to_string().contains("smaller than a patch"));
}

#[test]
fn every_method_takes_samples_as_it_takes_frames() {
    let planes: Vec<Plane> = (0..3).map(|c| eight_bit(W, H, 20.0, 30 + c)).collect();
    let stored: Vec<Vec<u8>> = planes.iter().map(bytes).collect();
    for method in quell::Method::all() {
        let denoiser = DenoiserBuilder::new(method).sigma(20.0).device(quell::Device::Cpu).build().unwrap();
        for n in [1, 3] {
            let want = denoiser.denoise(&Frame::new(planes[..n].to_vec(), 255.0).unwrap()).unwrap();
            let from: Vec<Samples<'_>> = stored[..n].iter().map(|v| Samples::U8(v)).collect();
            let mut out = vec![vec![0f32; W * H]; n];
            let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(|p| SamplesMut::F32(p)).collect();
            denoiser.denoise_samples(W, H, 255.0, &from, &mut to, &Control::new()).unwrap();
            for (got, want) in out.iter().zip(want.planes()) {
                assert!(got == want.as_slice(), "{} of {n} planes", method.name());
            }
        }
    }
}
