//! Streams: every frame comes out once, in order, as late as promised, and filtered as the reference does.

use quell::device::{SampleBuffer, Samples};
use quell::nlm::reference::{Views, run};
use quell::nlm::{Params, Plan};
use quell::{Denoiser, Device, Layout, Plane, PlaneView, VideoFormat, VideoFrame, bm3d, nlm};

/// A frame with something in it, different for every `t`.
fn frame(format: &VideoFormat, t: usize) -> VideoFrame {
    let mut frame = format.frame();
    for (p, plane) in frame.planes.iter_mut().enumerate() {
        let (width, height) = format.plane_size(p);
        let mut state = (t * 31 + p * 7 + 1) as u32;
        let floats: Vec<f32> = (0..width * height)
            .map(|i| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let noise = (state >> 8) as f32 / 16_777_216.0 - 0.5;
                let edge = if i % width > (width / 3 + t) { 60.0 } else { 0.0 };
                90.0 + edge + 70.0 * noise
            })
            .collect();
        plane.view_mut().store(&floats, format.white / 255.0, format.white);
    }
    frame
}

fn params(past: usize, future: usize) -> Params {
    Params { patch: 3, search: 5, past, future, ..nlm::Profile::Fast.params(20.0, 1) }
}

fn denoiser(params: &Params) -> Denoiser {
    Denoiser::nlm(nlm::Profile::Fast).sigma(20.0).toml(params.to_toml()).device(Device::Cpu).build().unwrap()
}

/// All frames through a stream, which must be as late as the parameters say.
fn stream(denoiser: &Denoiser, format: VideoFormat, count: usize, late: usize) -> Vec<VideoFrame> {
    let mut stream = denoiser.stream(format).unwrap();
    assert_eq!(stream.latency(), late);
    let mut out = Vec::new();
    for t in 0..count {
        let got = stream.push(frame(&format, t)).unwrap();
        assert_eq!(got.is_some(), t >= late, "frame {t}");
        out.extend(got);
    }
    while let Some(frame) = stream.flush().unwrap() {
        out.push(frame);
    }
    assert!(stream.flush().unwrap().is_none());
    out
}

fn floats(format: &VideoFormat, frame: &VideoFrame, plane: usize) -> Plane {
    let (width, height) = format.plane_size(plane);
    Plane::from_vec(width, height, frame.planes[plane].view().to_floats(1.0)).unwrap()
}

/// The largest difference of integers that were rounded from `want`, beyond the rounding.
fn off(got: &SampleBuffer, want: &Plane, white: f32) -> f32 {
    let got = got.view().to_floats(1.0);
    let pairs = got.iter().zip(want.as_slice());
    let beyond = pairs.map(|(g, w)| (g - w.clamp(0.0, white)).abs() - 0.5);
    beyond.fold(0.0, |m, d| if d.is_nan() { f32::INFINITY } else { d.max(m) }) * 255.0 / white
}

#[test]
fn every_layout_and_depth_comes_out_as_the_reference_has_it() {
    for (layout, bits, (past, future)) in [
        (Layout::Mono, 8, (1, 1)),
        (Layout::Yuv420, 8, (1, 0)),
        (Layout::Yuv420, 10, (0, 2)),
        (Layout::Yuv422, 12, (1, 0)),
        (Layout::Yuv444, 16, (0, 1)),
        (Layout::Rgb, 8, (2, 0)),
    ] {
        let format = VideoFormat::with_bits(23, 19, layout, bits).unwrap();
        let (white, count) = (format.white, 4);
        let params = params(past, future);
        let got = stream(&denoiser(&params), format, count, future);
        assert_eq!(got.len(), count, "{layout:?}");
        let frames: Vec<VideoFrame> = (0..count).map(|t| frame(&format, t)).collect();
        // Planes of equal size have one distance; of smaller chroma only luma is compared here.
        let joint = layout.subsampling() == (1, 1);
        let channels = if joint { layout.planes() } else { 1 };
        let sigma = 20.0 * white / 255.0;
        let plan = Plan::new(&params, (23, 19), channels, 0, white, sigma).unwrap();
        let planes: Vec<Vec<Plane>> =
            frames.iter().map(|f| (0..channels).map(|c| floats(&format, f, c)).collect()).collect();
        let views: Vec<Vec<PlaneView<'_>>> =
            planes.iter().map(|p| p.iter().map(Plane::view).collect()).collect();
        let views: Vec<Views<'_>> = views.iter().map(|p| Views { planes: p, guide: &[] }).collect();
        for (t, got) in got.iter().enumerate() {
            let want = run(&plan, &views, t);
            for (c, want) in want.iter().enumerate() {
                let off = off(&got.planes[c], want, white);
                assert!(off < 0.01, "{layout:?}, {bits} bits, frame {t}, plane {c}: off by {off}");
            }
        }
    }
}

#[test]
fn small_chroma_is_compared_on_luma_and_itself() {
    let format = VideoFormat::with_bits(22, 17, Layout::Yuv420, 8).unwrap();
    let params = params(0, 0);
    let got = stream(&denoiser(&params), format, 1, 0).remove(0);
    let noisy = frame(&format, 0);
    let (luma, chroma) = (floats(&format, &noisy, 0), [1, 2].map(|p| floats(&format, &noisy, p)));
    // Luma is 22 x 17, chroma 11 x 9: the mean of four has half the noise; the last row counts twice.
    let mut small = Plane::zeros(11, 9);
    for y in 0..9 {
        for x in 0..11 {
            let rows = [2 * y, (2 * y + 1).min(16)].map(|y| luma.row(y));
            let sum = rows.iter().map(|r| r[2 * x] + r[2 * x + 1]).sum::<f32>();
            small.row_mut(y)[x] = sum / 4.0 / 10.0;
        }
    }
    let unit = |p: &Plane| Plane::from_vec(11, 9, p.as_slice().iter().map(|v| v / 20.0).collect()).unwrap();
    let guide = [small, unit(&chroma[0]), unit(&chroma[1])];
    let (planes, guide) = (chroma.each_ref().map(Plane::view), guide.each_ref().map(Plane::view));
    let plan = Plan::new(&params, (11, 9), 2, 3, 255.0, 1.0).unwrap();
    let want = run(&plan, &[Views { planes: &planes, guide: &guide }], 0);
    for (c, want) in want.iter().enumerate() {
        let off = off(&got.planes[c + 1], want, 255.0);
        assert!(off < 0.01, "plane {c}: off by {off}");
    }
}

#[test]
fn planes_without_noise_are_copied() {
    let format = VideoFormat::with_bits(160, 130, Layout::Yuv420, 8).unwrap();
    let denoiser = Denoiser::nlm(nlm::Profile::Fast).set("future", "1").device(Device::Cpu).build().unwrap();
    let mut stream = denoiser.stream(format).unwrap();
    let flat = |t: u8| {
        let mut f = frame(&format, t.into());
        f.planes[1] = SampleBuffer::U8(vec![100 + t; format.plane_len(1)]);
        f.planes[2] = SampleBuffer::U8(vec![30 + t; format.plane_len(2)]);
        f
    };
    assert!(stream.push(flat(0)).unwrap().is_none());
    assert!(stream.sigma()[0] > 5.0 && stream.sigma()[1..] == [0.0, 0.0], "{:?}", stream.sigma());
    for t in 0..3 {
        let out = if t < 2 { stream.push(flat(t + 1)).unwrap() } else { stream.flush().unwrap() }.unwrap();
        assert_eq!(out.planes[1..], flat(t).planes[1..]);
        assert_ne!(out.planes[0], flat(t).planes[0]);
    }
    assert!(stream.flush().unwrap().is_none());
}

#[test]
fn bm3d_filters_frame_by_frame() {
    let format = VideoFormat::with_bits(40, 36, Layout::Yuv420, 8).unwrap();
    let denoiser = over(Denoiser::bm3d(bm3d::Profile::Fast), 0, 0);
    let got = stream(&denoiser, format, 3, 0);
    let noisy = frame(&format, 2);
    let SampleBuffer::U8(luma) = &noisy.planes[0] else { panic!("8 bits") };
    let mut want = vec![0u8; luma.len()];
    let (from, mut to) = ([Samples::U8(luma)], [quell::device::SamplesMut::U8(&mut want)]);
    denoiser.denoise_samples(40, 36, 255.0, &from, &mut to, &quell::Control::new()).unwrap();
    assert_eq!(got[2].planes[0], SampleBuffer::U8(want));
}

/// Over so many frames before and after.
fn over(builder: quell::DenoiserBuilder, past: usize, future: usize) -> Denoiser {
    let builder = builder.set("past", past).set("future", future);
    builder.sigma(20.0).device(Device::Cpu).build().unwrap()
}

#[test]
fn frames_around_take_noise_away() {
    let format = VideoFormat::with_bits(64, 48, Layout::Yuv420, 8).unwrap();
    // A camera that stands still: the same picture, other noise.
    let still = |t: usize| {
        let mut clean = frame(&format, 0);
        for (p, plane) in clean.planes.iter_mut().enumerate() {
            let (width, _) = format.plane_size(p);
            let value = |i: usize| 100.0 + 50.0 * ((i % width) as f32 / 5.0).sin();
            let noise = frame(&format, 20 + t).planes[p].view().to_floats(1.0);
            let edge = |i: usize| if i % width > width / 3 + 20 + t { 60.0 } else { 0.0 };
            let floats: Vec<f32> =
                noise.iter().enumerate().map(|(i, n)| value(i) + n - 90.0 - edge(i)).collect();
            plane.view_mut().store(&floats, 1.0, 255.0);
        }
        clean
    };
    let want: Vec<f32> = (0..64 * 48).map(|i| 100.0 + 50.0 * ((i % 64) as f32 / 5.0).sin()).collect();
    let error = |denoiser: &Denoiser, count: usize| {
        let mut stream = denoiser.stream(format).unwrap();
        let mut out: Vec<VideoFrame> = (0..count).filter_map(|t| stream.push(still(t)).unwrap()).collect();
        while let Some(frame) = stream.flush().unwrap() {
            out.push(frame);
        }
        assert_eq!(out.len(), count);
        let luma = out[count / 2].planes[0].view().to_floats(1.0);
        luma.iter().zip(&want).map(|(a, b)| (a - b).powi(2)).sum::<f32>() / luma.len() as f32
    };
    for builder in [|| Denoiser::bm3d(bm3d::Profile::Normal), || Denoiser::ridge(quell::ridge::Profile::Fast)]
    {
        let alone = error(&over(builder(), 0, 0), 5);
        let around = error(&over(builder(), 2, 2), 5);
        assert!(around < 0.5 * alone, "{around} of {alone}");
        // Windows longer than the clip.
        assert!(error(&over(builder(), 8, 8), 5) < alone && error(&over(builder(), 4, 0), 2) < 2.0 * alone);
        assert!(error(&over(builder(), 8, 8), 1) < 2.0 * alone);
    }
}

#[test]
fn a_stream_that_begins_later_gives_the_same_frames() {
    let format = VideoFormat::with_bits(48, 40, Layout::Yuv420, 8).unwrap();
    let denoiser = over(Denoiser::bm3d(bm3d::Profile::Fast), 2, 1);
    let all = stream(&denoiser, format, 7, 1);
    let mut later = denoiser.stream(format).unwrap();
    // The same stream, after a jump.
    (0..3).for_each(|t| drop(later.push(frame(&format, 9 - t)).unwrap()));
    later.seek();
    let mut got: Vec<VideoFrame> = (2..7).filter_map(|t| later.push(frame(&format, t)).unwrap()).collect();
    got.extend(later.flush().unwrap());
    // From the first whose window is inside.
    assert_eq!(got[2..], all[4..]);
    assert_ne!(got[0], all[2], "its window was cut");
}

#[test]
fn frames_of_another_size_are_refused() {
    let format = VideoFormat::with_bits(24, 20, Layout::Mono, 8).unwrap();
    let mut stream = denoiser(&params(1, 0)).stream(format).unwrap();
    stream.push(frame(&format, 0)).unwrap();
    let other = VideoFormat::with_bits(24, 21, Layout::Mono, 8).unwrap();
    let e = stream.push(frame(&other, 1)).unwrap_err();
    assert_eq!(e.to_string(), "the frame is not 24 x 20 mono in samples of 1 bytes");
    // The stream itself is unharmed.
    assert!(stream.push(frame(&format, 1)).unwrap().is_some());
}

#[test]
fn bm3d_filters_every_colour_in_every_mode() {
    let format = VideoFormat::with_bits(40, 36, Layout::Rgb, 8).unwrap();
    let noisy = frame(&format, 1);
    for mode in quell::ColorMode::ALL {
        let denoiser = over(Denoiser::bm3d(bm3d::Profile::Fast).color(mode), 0, 0);
        let got = denoiser.stream(format).unwrap().push(noisy.clone()).unwrap().unwrap();
        let mut want = format.frame();
        let from: Vec<Samples<'_>> = noisy.planes.iter().map(SampleBuffer::view).collect();
        let mut to: Vec<_> = want.planes.iter_mut().map(SampleBuffer::view_mut).collect();
        denoiser.denoise_samples(40, 36, 255.0, &from, &mut to, &quell::Control::new()).unwrap();
        assert_eq!(got, want, "{mode:?}");
    }
}

/// A clip that fades in from black over the first frames, with noise that comes with the light.
fn fading(format: &VideoFormat, t: usize, black: usize, over: usize) -> VideoFrame {
    let light = (t.saturating_sub(black) as f32 / over as f32).min(1.0);
    let mut frame = frame(format, t);
    for plane in &mut frame.planes {
        let floats: Vec<f32> = plane.view().to_floats(1.0).iter().map(|v| v * light).collect();
        plane.view_mut().store(&floats, 1.0, format.white);
    }
    frame
}

/// The noise of a frame that has all of it.
fn full_noise(format: &VideoFormat, denoiser: &Denoiser) -> Vec<f32> {
    let mut noise = denoiser.clip_noise(*format);
    noise.add(&frame(format, 50)).unwrap();
    noise.sigma()
}

#[test]
fn a_live_stream_that_begins_in_black_is_filtered_when_noise_comes() {
    let format = VideoFormat::with_bits(96, 80, Layout::Yuv420, 8).unwrap();
    for (future, late) in [("0", 0), ("2", 2)] {
        let denoiser =
            Denoiser::nlm(nlm::Profile::Fast).set("future", future).device(Device::Cpu).build().unwrap();
        let mut stream = denoiser.stream(format).unwrap();
        let mut out = Vec::new();
        for t in 0..40 {
            let got = stream.push(fading(&format, t, 5, 12)).unwrap();
            assert_eq!(got.is_some(), t >= late, "frame {t}");
            out.extend(got);
            assert_eq!(stream.sigma().iter().all(|s| *s == 0.0), t <= 5, "frame {t}: {:?}", stream.sigma());
        }
        while let Some(frame) = stream.flush().unwrap() {
            out.push(frame);
        }
        // In order, each once; black ones as they are, the others filtered, in the end for all of their noise.
        assert_eq!(out.len(), 40);
        assert!((0..=5).all(|t| out[t] == fading(&format, t, 5, 12)));
        let full = full_noise(&format, &denoiser);
        for (found, full) in stream.sigma().iter().zip(&full) {
            assert!(*found > full / 1.6 && *found < 1.2 * full, "{:?} of {full:?}", stream.sigma());
        }
        for (t, out) in out.iter().enumerate().skip(10) {
            let (noisy, clean) = (fading(&format, t, 5, 12), frame_without_noise(&format, t, 5, 12));
            let error = |f: &VideoFrame| {
                let pairs = f.planes[0].view().to_floats(1.0).into_iter().zip(clean.iter());
                pairs.map(|(a, b)| (a - b).powi(2)).sum::<f32>()
            };
            assert!(error(out) < 0.9 * error(&noisy), "frame {t}");
        }
    }
}

/// The luma of [`fading`] without its noise.
fn frame_without_noise(format: &VideoFormat, t: usize, black: usize, over: usize) -> Vec<f32> {
    let light = (t.saturating_sub(black) as f32 / over as f32).min(1.0);
    let edge = |i: usize| if i % format.width > format.width / 3 + t { 150.0 } else { 90.0 };
    (0..format.width * format.height).map(|i| light * edge(i)).collect()
}

#[test]
fn the_noise_of_a_clip_is_the_median_of_the_frames_that_have_some() {
    let format = VideoFormat::with_bits(96, 80, Layout::Yuv420, 8).unwrap();
    let denoiser = Denoiser::nlm(nlm::Profile::Fast).device(Device::Cpu).build().unwrap();
    let full = full_noise(&format, &denoiser);
    let mut noise = denoiser.clip_noise(format);
    for t in [0, 2, 9, 30, 50, 60, 70] {
        noise.add(&fading(&format, t, 5, 12)).unwrap();
    }
    assert_eq!(noise.frames(), 7);
    for (found, full) in noise.sigma().iter().zip(&full) {
        assert!((found / full - 1.0).abs() < 0.1, "{:?} of {full:?}", noise.sigma());
    }
    // It is filtered for from the first frame on, whatever that shows.
    let mut stream = denoiser.stream_with_noise(noise.clone(), quell::Control::new()).unwrap();
    stream.push(fading(&format, 0, 5, 12)).unwrap().unwrap();
    assert_eq!(stream.sigma(), noise.sigma());
    let noisy = frame(&format, 1);
    assert_ne!(stream.push(noisy.clone()).unwrap().unwrap(), noisy);
}

#[test]
fn a_clip_without_noise_passes_as_it_is() {
    let format = VideoFormat::with_bits(96, 80, Layout::Yuv420, 8).unwrap();
    let denoiser = Denoiser::nlm(nlm::Profile::Fast).set("future", "1").device(Device::Cpu).build().unwrap();
    let mut noise = denoiser.clip_noise(format);
    noise.add(&format.frame()).unwrap();
    assert_eq!(noise.sigma(), [0.0; 3]);
    let mut stream = denoiser.stream_with_noise(noise, quell::Control::new()).unwrap();
    let noisy = frame(&format, 3);
    assert!(stream.push(noisy.clone()).unwrap().is_none());
    assert_eq!(stream.flush().unwrap(), Some(noisy));
    assert_eq!(stream.flush().unwrap(), None);
}

#[test]
fn noise_of_counts_in_a_small_part_of_the_range_is_found() {
    // 0 to 255 of 65535: it is 0.08 on the 0..255 scale.
    let format = VideoFormat::with_bits(96, 80, Layout::Mono, 16).unwrap();
    let bytes = VideoFormat::with_bits(96, 80, Layout::Mono, 8).unwrap();
    let denoiser = Denoiser::nlm(nlm::Profile::Fast).device(Device::Cpu).build().unwrap();
    let mut counts = format.frame();
    let floats = frame(&bytes, 0).planes[0].view().to_floats(1.0);
    counts.planes[0].view_mut().store(&floats, 1.0, format.white);
    let mut stream = denoiser.stream(format).unwrap();
    assert_ne!(stream.push(counts.clone()).unwrap().unwrap(), counts);
    let found = stream.sigma()[0];
    assert!((15.0..25.0).contains(&found), "{found}");
}
