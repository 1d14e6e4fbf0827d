//! What every GPU runtime is held to (the numerical contract, clauses 2 to 7): the same groups as the reference, entry
//! by entry, and its pixels within rounding. A runtime instantiates these with [`suite!`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::tensor::TensorFilter;
use super::{Format, Front, Sink, Source};
use crate::bm3d::{Match, Params, PassParams, Plan, Profile, Weight, grid, reference};
use crate::device::gpu::{Gpu, Runtime};
use crate::device::{Backend, Input, Samples, SamplesMut, front};
use crate::noise::correlated::Kernel;
use crate::transform::Transform;
use crate::{Cancel, ColorMode, Control, Error, Frame, Plane, PlaneView, Result, method, metrics};

/// Grey levels, over both passes: a coefficient within rounding of its threshold may fall on the other side.
const TOLERANCE: f32 = 0.05;
/// Grey levels, given the same basic estimate. The contract allows 0.25; in f32 more than this is a fault.
const SECOND_PASS_TOLERANCE: f32 = 0.01;
/// The same where samples are halves: the contract's.
const HALF_TOLERANCE: f32 = 0.25;
/// Root of the mean square after pass 1 where samples are halves: more coefficients fall on the other side.
const HALF_RMS: f64 = 0.3;
/// In dB.
const PSNR_TOLERANCE: f64 = 0.01;

/// Uniform numbers in 0..1.
fn uniform(seed: u32) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 16_777_216.0
    }
}

/// A picture with flat parts, edges and texture.
pub(super) fn clean(w: usize, h: usize) -> Plane {
    let data = (0..w * h).map(|i| {
        let (x, y) = ((i % w) as f32, (i / w) as f32);
        let edge = if (x - y * 0.7) > 0.2 * w as f32 { 60.0 } else { 0.0 };
        let texture = 20.0 * (x * 0.9).sin() * (y * 0.5).cos();
        100.0 + edge + if y > h as f32 * 0.5 { texture } else { 0.0 }
    });
    Plane::from_vec(w, h, data.collect()).unwrap()
}

pub(crate) fn picture(w: usize, h: usize, sigma: f32, seed: u32) -> Plane {
    let mut plane = clean(w, h);
    let mut uniform = uniform(seed);
    for v in plane.as_mut_slice() {
        *v += sigma * ((0..12).map(|_| uniform()).sum::<f32>() - 6.0);
    }
    plane
}

pub(super) fn views(planes: &[Plane]) -> Vec<PlaneView<'_>> {
    planes.iter().map(Plane::view).collect()
}

/// Largest difference of two planes; a NaN is as far as can be.
pub(crate) fn worst(a: &Plane, b: &Plane) -> f32 {
    assert_eq!((a.width(), a.height()), (b.width(), b.height()));
    metrics::largest(a.as_slice().iter().zip(b.as_slice()).map(|(x, y)| (x - y).abs()))
}

pub(crate) fn rms(a: &Plane, b: &Plane) -> f64 {
    let squares = a.as_slice().iter().zip(b.as_slice()).map(|(x, y)| f64::from(x - y).powi(2));
    (squares.sum::<f64>() / a.as_slice().len() as f64).sqrt()
}

/// Whether the device filters with halves.
pub(super) fn in_halves<R: Runtime>(gpu: &Gpu<R>, plan: &Plan) -> bool {
    plan.passes.iter().all(|p| TensorFilter::new(p, gpu.runtime().limits()).is_some())
}

/// A device's result, or its error.
fn filter<R: Runtime>(gpu: &Gpu<R>, plan: &Plan, noisy: &[Plane], control: &Control) -> Result<Vec<Plane>> {
    crate::device::picture(gpu, &plan.clone().into(), &views(noisy), &[], control)
}

fn run<R: Runtime>(gpu: &Gpu<R>, plan: &Plan, noisy: &[Plane]) -> Vec<Plane> {
    filter(gpu, plan, noisy, &Control::new()).unwrap()
}

/// Small windows and groups, and taus that let the groups fill.
fn small() -> Params {
    let mut params = Profile::Np.params(25.0);
    for pass in [&mut params.hard, &mut params.wiener] {
        (pass.window, pass.group, pass.step) = (9, 8, 4);
    }
    (params.hard.tau, params.wiener.tau) = (3000.0, 600.0);
    params
}

pub(super) fn with(change: impl Fn(&mut PassParams)) -> Params {
    let mut params = small();
    change(&mut params.hard);
    change(&mut params.wiener);
    params
}

/// Both passes against the reference, the second also with the device's own basic estimate as its pilot.
fn check<R: Runtime>(gpu: &Gpu<R>, params: &Params, w: usize, h: usize, sigma: &[f32]) {
    let noisy: Vec<Plane> = (0..sigma.len()).map(|c| picture(w, h, sigma[c], c as u32)).collect();
    check_planes(gpu, &Plan::new(params, w, h, sigma).unwrap(), &noisy);
}

fn check_planes<R: Runtime>(gpu: &Gpu<R>, plan: &Plan, noisy: &[Plane]) {
    let want = reference::run(plan, &views(noisy));
    let first = Plan { passes: plan.passes[..1].to_vec(), ..plan.clone() };
    let basic = run(gpu, &first, noisy);
    let halves = in_halves(gpu, plan);
    for (c, (got, want)) in basic.iter().zip(&want.basic).enumerate() {
        let (off, rms) = (worst(got, want), rms(got, want));
        let good = if in_halves(gpu, &first) { rms < HALF_RMS } else { off < TOLERANCE };
        assert!(good, "pass 1, channel {c}: off by {off}, {rms} on average, with {plan:#?}");
    }
    if plan.passes.len() > 1 {
        let got = gpu.second_pass(plan, &views(noisy), &views(&want.basic), None).unwrap();
        for (c, (got, want)) in got.iter().zip(&want.last).enumerate() {
            let off = worst(got, want);
            let tolerance = if halves { HALF_TOLERANCE } else { SECOND_PASS_TOLERANCE };
            assert!(off < tolerance, "pass 2, channel {c}: off by {off} with {plan:#?}");
        }
    }
}

/// The groups of every reference against those of the reference implementation.
fn check_groups<R: Runtime>(gpu: &Gpu<R>, plan: &Plan, plane: &Plane) {
    for (index, pass) in plan.passes.iter().enumerate() {
        let got = gpu.read_groups(plan, index, &plane.view()).unwrap();
        let guide = reference::Guide::new(pass.search(), &plane.view());
        let (ys, xs) = (grid(plan.height, pass.patch, pass.step), grid(plan.width, pass.patch, pass.step));
        assert_eq!(got.len(), xs.len() * ys.len());
        let places = ys.iter().flat_map(|&y| xs.iter().map(move |&x| (x, y)));
        for ((x, y), got) in places.zip(&got) {
            let want: Vec<Match> = guide.group(x, y);
            assert_eq!(got, &want, "pass {} at {x}, {y} with {pass:#?}", index + 1);
        }
    }
}

fn groups_params(window: usize, group: usize, tau: f32) -> Params {
    let mut params = Profile::Original.params(25.0);
    for pass in [&mut params.hard, &mut params.wiener] {
        (pass.window, pass.group, pass.tau) = (window, group, tau);
    }
    params
}

/// Every profile, and those that differ in more than numbers at strong noise.
fn profiles() -> impl Iterator<Item = (Profile, f32)> {
    Profile::ALL.into_iter().map(|p| (p, 25.0)).chain([(Profile::Normal, 60.0), (Profile::Np, 60.0)])
}

pub(crate) fn groups_of_every_profile<R: Runtime>(gpu: &Gpu<R>) {
    for (profile, sigma) in profiles() {
        let plan = Plan::new(&profile.params(sigma), 61, 47, &[sigma]).unwrap();
        check_groups(gpu, &plan, &picture(61, 47, sigma, 3));
    }
}

pub(crate) fn groups_at_odd_sizes<R: Runtime>(gpu: &Gpu<R>) {
    for (w, h) in [(8, 8), (9, 17), (17, 9), (8, 61), (97, 53)] {
        let plan = Plan::new(&Profile::Original.params(25.0), w, h, &[25.0]).unwrap();
        check_groups(gpu, &plan, &picture(w, h, 25.0, 4));
    }
}

pub(crate) fn groups_at_every_step<R: Runtime>(gpu: &Gpu<R>) {
    for step in 1..=8 {
        let mut params = groups_params(21, 16, 2500.0);
        (params.hard.step, params.wiener.step) = (step, step);
        let plan = Plan::new(&params, 45, 41, &[25.0]).unwrap();
        check_groups(gpu, &plan, &picture(45, 41, 25.0, 5));
    }
}

pub(crate) fn groups_of_every_size<R: Runtime>(gpu: &Gpu<R>) {
    for group in [1, 2, 4, 8, 16, 32, 64, 128] {
        let plan = Plan::new(&groups_params(27, group, 3000.0), 45, 38, &[25.0]).unwrap();
        check_groups(gpu, &plan, &picture(45, 38, 25.0, 6));
    }
}

pub(crate) fn groups_in_every_window<R: Runtime>(gpu: &Gpu<R>) {
    // Beyond 97 windows reach further than the margin of the planes, and local memory holds them in bands.
    for window in [1, 5, 15, 59, 101, 127] {
        let mut params = groups_params(window, 16, 2500.0);
        (params.hard.step, params.wiener.step) = (8, 8);
        let plan = Plan::new(&params, 150, 37, &[25.0]).unwrap();
        check_groups(gpu, &plan, &picture(150, 37, 25.0, 7));
    }
}

pub(crate) fn groups_of_every_patch<R: Runtime>(gpu: &Gpu<R>) {
    for patch in [4, 5, 7, 10, 11, 16] {
        let mut params = groups_params(21, 16, 2500.0);
        for pass in [&mut params.hard, &mut params.wiener] {
            (pass.patch, pass.step) = (patch, 4);
        }
        let plan = Plan::new(&params, 41, 38, &[25.0]).unwrap();
        check_groups(gpu, &plan, &picture(41, 38, 25.0, 8));
    }
}

pub(crate) fn groups_at_every_distance<R: Runtime>(gpu: &Gpu<R>) {
    for tau in [0.0, 40.0, 900.0, 20_000.0, 65_025.0] {
        let plan = Plan::new(&groups_params(19, 16, tau), 45, 38, &[25.0]).unwrap();
        check_groups(gpu, &plan, &picture(45, 38, 25.0, 9));
    }
}

pub(crate) fn groups_of_ties<R: Runtime>(gpu: &Gpu<R>) {
    // Flat: every candidate ties. Stripes and coarse steps: many do.
    let flat = Plane::from_vec(60, 50, vec![77.0; 3000]).unwrap();
    let stripes = |period: usize| {
        let data = (0..3000).map(|i| if (i % 60 / period).is_multiple_of(2) { 60.0 } else { 180.0 });
        Plane::from_vec(60, 50, data.collect()).unwrap()
    };
    let mut noise = uniform(11);
    let coarse =
        Plane::from_vec(60, 50, (0..3000).map(|_| (noise() * 2.0).floor() * 8.0 + 100.0).collect()).unwrap();
    for plane in [flat, stripes(1), stripes(5), coarse] {
        for (window, group) in [(39, 16), (39, 32), (15, 8), (39, 2), (39, 128), (7, 16)] {
            let plan = Plan::new(&groups_params(window, group, 400.0), 60, 50, &[25.0]).unwrap();
            check_groups(gpu, &plan, &plane);
        }
    }
}

pub(crate) fn pixels_of_every_profile<R: Runtime>(gpu: &Gpu<R>) {
    for (profile, sigma) in profiles() {
        check(gpu, &profile.params(sigma), 45, 38, &[sigma]);
    }
}

/// A plan that knows the spectrum of the noise, and a picture with such noise.
fn coloured(kernel: Kernel, params: &Params, (w, h): (usize, usize)) -> (Plan, Plane) {
    let truth = Frame::grey(clean(w, h), 255.0).unwrap();
    let noisy = kernel.add(&truth, 25.0, None, 3).unwrap().into_planes().remove(0);
    let psd = kernel.psd(w, h, 1.0).unwrap();
    (Plan::new(params, w, h, &[25.0]).unwrap().with_spectrum(&psd), noisy)
}

pub(crate) fn pixels_in_coloured_noise<R: Runtime>(gpu: &Gpu<R>) {
    for kernel in [Kernel::G1w, Kernel::G3w] {
        let (plan, noisy) = coloured(kernel, &Profile::Normal.params(25.0), (45, 38));
        check_planes(gpu, &plan, &[noisy]);
    }
    // Single patches; what the quick filter does not serve; other patches.
    let others: [&dyn Fn(&mut PassParams); 4] = [
        &|p| (p.exact, p.window) = (false, 21),
        &|p| (p.exact, p.group) = (true, 64),
        &|p| (p.exact, p.stack) = (true, Transform::Wht),
        &|p| (p.exact, p.patch, p.transform) = (true, 5, Transform::Dct),
    ];
    for change in others {
        let (plan, noisy) = coloured(Kernel::G3w, &with(change), (41, 37));
        check_planes(gpu, &plan, &[noisy]);
    }
}

pub(crate) fn pixels_at_odd_sizes<R: Runtime>(gpu: &Gpu<R>) {
    for (w, h) in [(8, 8), (9, 17), (17, 9), (8, 61), (97, 53)] {
        check(gpu, &Profile::Normal.params(25.0), w, h, &[25.0]);
    }
}

pub(crate) fn pixels_at_every_step<R: Runtime>(gpu: &Gpu<R>) {
    for step in 1..=8 {
        let mut params = Profile::Original.params(25.0);
        (params.hard.step, params.wiener.step) = (step, step);
        (params.hard.window, params.wiener.window) = (13, 9);
        check(gpu, &params, 45, 41, &[25.0]);
    }
}

pub(crate) fn pixels_of_every_transform<R: Runtime>(gpu: &Gpu<R>) {
    for transform in Transform::ALL {
        for patch in [4, 5, 8, 11, 16].into_iter().filter(|&n| transform.check(n).is_ok()) {
            check(gpu, &with(|p| (p.patch, p.transform) = (patch, transform)), 31, 26, &[25.0]);
        }
    }
}

pub(crate) fn pixels_of_every_group<R: Runtime>(gpu: &Gpu<R>) {
    for stack in Transform::ALL {
        // Haar and Walsh-Hadamard of up to 32 patches have a kernel of their own.
        let quick = matches!(stack, Transform::Haar | Transform::Wht);
        let groups: &[usize] = if quick { &[1, 2, 4, 8, 16, 32, 64, 128] } else { &[1, 8, 128] };
        for &group in groups {
            let params = with(|p| {
                (p.stack, p.group, p.step) = (stack, group, 8);
                (p.window, p.tau) = (27, 6000.0);
            });
            check(gpu, &params, 28, 25, &[25.0]);
        }
    }
}

pub(crate) fn pixels_with_exact_variances<R: Runtime>(gpu: &Gpu<R>) {
    for stack in Transform::ALL {
        let groups: &[usize] = if stack == Transform::Haar { &[1, 2, 4, 8, 16, 32] } else { &[2, 16] };
        for &group in groups {
            let params = with(|p| {
                (p.stack, p.group, p.step, p.exact) = (stack, group, 8, true);
                (p.window, p.tau) = (13, 6000.0);
            });
            check(gpu, &params, 25, 20, &[25.0]);
        }
    }
    for patch in [4, 16] {
        check(gpu, &with(|p| (p.patch, p.exact) = (patch, true)), 27, 24, &[25.0]);
    }
}

pub(crate) fn pixels_with_every_weight_and_window<R: Runtime>(gpu: &Gpu<R>) {
    for weight in [Weight::Variance, Weight::Deviation] {
        for beta in [0.0, 2.0, 12.0] {
            check(gpu, &with(|p| (p.weight, p.beta) = (weight, beta)), 32, 29, &[25.0]);
        }
    }
    for (lambda, mu2) in [(0.0, 1.0), (1.0, 0.2), (5.0, 4.0)] {
        let mut params = small();
        (params.lambda, params.mu2) = (lambda, mu2);
        check(gpu, &params, 40, 31, &[25.0]);
    }
}

pub(crate) fn colour_channels_share_groups<R: Runtime>(gpu: &Gpu<R>) {
    check(gpu, &Profile::Normal.params(25.0), 40, 33, &[14.4, 17.7, 15.3]);
}

pub(crate) fn patches_differ_between_passes<R: Runtime>(gpu: &Gpu<R>) {
    for (hard, wiener) in [(8, 11), (12, 8), (4, 16)] {
        let mut params = with(|p| p.transform = Transform::Dct);
        (params.hard.patch, params.wiener.patch) = (hard, wiener);
        check(gpu, &params, 37, 30, &[25.0]);
    }
}

pub(crate) fn psnr_is_that_of_the_reference<R: Runtime>(gpu: &Gpu<R>) {
    let (w, h) = (112, 96);
    let grey = |p: Plane| Frame::grey(p, 255.0).unwrap();
    let truth = grey(clean(w, h));
    let psnr = |p: &Plane| metrics::psnr(&truth, &grey(p.clone())).unwrap().all;
    for (profile, sigma) in [(Profile::Fast, 15.0), (Profile::Middle, 25.0), (Profile::Original, 50.0)] {
        let plan = Plan::new(&profile.params(sigma), w, h, &[sigma]).unwrap();
        // Coefficients that fall on the other side of their threshold do so at random: in halves more do, and one small
        // picture does not have enough of them to average.
        let draws = if in_halves(gpu, &plan) && profile == Profile::Fast { 4 } else { 1 };
        let mut sum = 0.0;
        for seed in 0..draws {
            let noisy = [picture(w, h, sigma, 7 + seed)];
            let want = psnr(&reference::run(&plan, &views(&noisy)).last[0]);
            assert!(want > psnr(&noisy[0]) + 3.0, "{profile:?}: the reference gains too little: {want}");
            sum += psnr(&run(gpu, &plan, &noisy)[0]) - want;
        }
        let off = sum / f64::from(draws);
        assert!(off.abs() < PSNR_TOLERANCE, "{profile:?}: {off} dB off");
    }
}

pub(crate) fn tiles_give_the_picture<R: Runtime>(gpu: &Gpu<R>, tiled: &dyn Fn(usize) -> Gpu<R>) {
    let mut params = Profile::Original.params(25.0);
    for pass in [&mut params.hard, &mut params.wiener] {
        (pass.window, pass.group) = (11, 8);
    }
    params.wiener.step = 5;
    let noisy = [picture(200, 131, 25.0, 12), picture(200, 131, 12.0, 13)];
    let plan = Plan::new(&params, 200, 131, &[25.0, 12.0]).unwrap();
    let want = run(gpu, &plan, &noisy);
    // Emulated tensor kernels take their time.
    let sides: &[usize] = if in_halves(gpu, &plan) { &[90] } else { &[48, 90, 131] };
    for &side in sides {
        let got = run(&tiled(side), &plan, &noisy);
        // Sums differ in the order of the additions only. The matching plane of pass 2 is rounded from them: a value
        // on the edge of a step may fall to either side and change a group, so a few pixels may be further off.
        for (c, (got, want)) in got.iter().zip(&want).enumerate() {
            let pairs = got.as_slice().iter().zip(want.as_slice());
            let off = pairs.filter(|(a, b)| (*a - *b).abs() > 0.001).count();
            assert!(
                off <= 64 && worst(got, want) < 1.0,
                "tiles of {side}, channel {c}: {off} pixels are off"
            );
        }
    }
}

/// Samples of every format in and out against the float result.
pub(crate) fn samples_of_every_format<R: Runtime>(gpu: &Gpu<R>) {
    let (w, h) = (43, 31);
    let plan = Plan::new(&Profile::Fast.params(20.0), w, h, &[20.0]).unwrap();
    let whole = |white: f32| {
        let scale = white / 255.0;
        let noisy = picture(w, h, 20.0, 14);
        noisy.as_slice().iter().map(|v| (v * scale).round().clamp(0.0, white)).collect::<Vec<f32>>()
    };
    let run = |format: Format, white: f32, bytes: Vec<u8>| -> Vec<u8> {
        let n = format.bytes();
        let mut out = vec![0; bytes.len()];
        let source = Source {
            format,
            halves: true,
            counted: None,
            row: Box::new(|_, y, x, to| {
                to.copy_from_slice(&bytes[(y * w + x.start) * n..(y * w + x.end) * n])
            }),
        };
        let mut sink = Sink {
            format,
            row: Box::new(|_, y, x, from| {
                out[(y * w + x.start) * n..(y * w + x.end) * n].copy_from_slice(from)
            }),
        };
        let front = Front { factor: 255.0 / white, white, color: None };
        gpu.run(&plan, &source, &mut sink, front, &Control::new()).unwrap();
        drop(sink);
        out
    };
    for (format, white) in
        [(Format::U8, 255.0), (Format::U16, 65535.0), (Format::U16, 1023.0), (Format::F32, 1.0)]
    {
        let samples = if format == Format::F32 {
            picture(w, h, 20.0, 14).as_slice().iter().map(|v| v / 255.0).collect()
        } else {
            whole(white)
        };
        let bytes: Vec<u8> = match format {
            Format::U8 => samples.iter().map(|&v| v as u8).collect(),
            Format::U16 => samples.iter().flat_map(|&v| (v as u16).to_ne_bytes()).collect(),
            Format::F32 => samples.iter().flat_map(|v| v.to_ne_bytes()).collect(),
        };
        let out = run(format, white, bytes);
        let got: Vec<f32> = match format {
            Format::U8 => out.iter().map(|&v| v.into()).collect(),
            Format::U16 => out.chunks_exact(2).map(|b| u16::from_ne_bytes([b[0], b[1]]).into()).collect(),
            Format::F32 => out.as_chunks().0.iter().map(|&b| f32::from_ne_bytes(b)).collect(),
        };
        let plane = Plane::from_vec(w, h, samples.iter().map(|v| v * (255.0 / white)).collect()).unwrap();
        let want = reference::run(&plan, &[plane.view()]);
        for (got, want) in got.iter().zip(want.last[0].as_slice()) {
            // Half a sample of rounding, and what the passes are off.
            let step = if format == Format::F32 { 0.0 } else { 0.5 };
            let tolerance = if in_halves(gpu, &plan) { 2.0 } else { TOLERANCE };
            let (want, slack) = (want * white / 255.0, step + tolerance * white / 255.0);
            let want = if format == Format::F32 { want } else { want.clamp(0.0, white) };
            assert!((got - want).abs() <= slack, "{format:?} with white {white}: {got} and {want}");
            assert!(format == Format::F32 || got.fract() == 0.0);
        }
    }
}

/// The device's own conversion of colours against that of the host, on one device: the first channel has the same bits, so
/// that the groups are the same, and nothing but the last rounding differs.
pub(crate) fn colours_are_those_of_the_host<R: Runtime>(gpu: &Gpu<R>) {
    let (w, h) = (45, 38);
    for (mode, white, beyond) in
        [(ColorMode::Opp, 255.0, false), (ColorMode::YCbCr, 1.0, false), (ColorMode::Opp, 255.0, true)]
    {
        let sigma = mode.noise_gain().map(|g| 25.0 * g as f32);
        let plan = Plan::new(&small(), w, h, &sigma).unwrap();
        let plane =
            |c: u32| picture(w, h, 25.0, 20 + c).as_slice().iter().map(|v| v * white / 255.0).collect();
        let mut rgb: Vec<Vec<f32>> = (0..3).map(plane).collect();
        if beyond {
            // Chroma that halves are not precise enough for.
            (rgb[0][700], rgb[2][700]) = (380.0, -120.0);
        }
        let from: Vec<Samples<'_>> = rgb.iter().map(|p| Samples::F32(p)).collect();
        let samples = method::Front { color: Some(mode), ..method::Front::channels(white) };
        let whole = method::Plan::new(plan, samples);
        let go = |on_device: bool| {
            let mut out = vec![vec![0.0; w * h]; 3];
            let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(|p| SamplesMut::F32(p)).collect();
            let mut sequence = if on_device {
                gpu.open(&whole).unwrap()
            } else {
                front::open(&whole, front::Takes::Floats, |channels| gpu.open(channels)).unwrap()
            };
            let frame = Input { planes: &from, guide: &[] };
            sequence.frame(&frame, &mut to, &Control::new()).unwrap();
            out
        };
        for (got, want) in go(true).iter().flatten().zip(go(false).iter().flatten()) {
            let off = (got - want).abs() * 255.0 / white;
            assert!(off < 1e-3, "{mode:?}, white {white}, beyond {beyond}: {got} and {want}");
        }
    }
}

pub(crate) fn prefilters_are_refused_by_name<R: Runtime>(gpu: &Gpu<R>) {
    let mut params = small();
    params.hard.lambda2d = 2.0;
    let noisy = [picture(20, 20, 25.0, 1)];
    let plan = Plan::new(&params, 20, 20, &[25.0]).unwrap();
    let e = filter(gpu, &plan, &noisy, &Control::new()).unwrap_err();
    assert!(matches!(&e, Error::Unsupported(_)) && e.to_string().contains("hard.lambda2d"), "{e}");
}

pub(crate) fn work_is_reported_and_can_be_stopped<R: Runtime>(gpu: &Gpu<R>) {
    let noisy = [picture(64, 48, 25.0, 1)];
    let plan = Plan::new(&Profile::Fast.params(25.0), 64, 48, &[25.0]).unwrap();
    let last = Arc::new(AtomicU64::new(0));
    let seen = last.clone();
    let control = Control::new().with_progress(Arc::new(move |p| {
        assert!(p.done <= p.total && p.done > seen.swap(p.done, Ordering::Relaxed));
    }));
    filter(gpu, &plan, &noisy, &control).unwrap();
    assert_eq!(last.load(Ordering::Relaxed), 4);
    let cancel = Cancel::new();
    cancel.cancel();
    let control = Control::new().with_cancel(cancel);
    assert!(matches!(filter(gpu, &plan, &noisy, &control), Err(Error::Cancelled)));
}

pub(crate) fn threads_share_the_device<R: Runtime>(gpu: &Gpu<R>) {
    let sizes = [(64, 48), (33, 70), (50, 50), (90, 20), (64, 48)];
    std::thread::scope(|scope| {
        for (i, (w, h)) in sizes.into_iter().enumerate() {
            scope.spawn(move || {
                for _ in 0..3 {
                    let noisy = [picture(w, h, 25.0, i as u32)];
                    let plan = Plan::new(&Profile::Fast.params(25.0), w, h, &[25.0]).unwrap();
                    let want = reference::run(&plan, &views(&noisy));
                    let off = rms(&run(gpu, &plan, &noisy)[0], &want.last[0]);
                    let tolerance = if in_halves(gpu, &plan) { HALF_RMS } else { TOLERANCE.into() };
                    assert!(off < tolerance, "{w} x {h}: off by {off}");
                }
            });
        }
    });
}

pub(crate) fn stages_are_timed<R: Runtime>(gpu: &Gpu<R>) {
    let noisy = picture(64, 48, 25.0, 1);
    let plan = Plan::new(&Profile::Fast.params(25.0), 64, 48, &[25.0]).unwrap();
    let views = [noisy.view()];
    let sizes = super::Sizes::new(&plan.clone().into()).unwrap();
    let times = gpu.timed(&sizes, &super::planes_source(&views), Front::CHANNELS, 3).unwrap();
    assert_eq!(times.total.len(), 3);
    let names: Vec<_> = times.stages.iter().map(|(n, _)| *n).collect();
    assert!(
        names.contains(&"match 1") && names.contains(&"filter 2") && names.contains(&"finish 2"),
        "{names:?}"
    );
    assert!(times.device_bytes > 64 * 48 * 20 && times.total.iter().all(|t| *t >= 0.0));
}

/// One test per clause for a runtime. `$gpu` is `Option<&Gpu<_>>`, `None` where there is no device; `$open(side)` gives
/// an `Option<Gpu<_>>` that works in tiles.
macro_rules! suite {
    ($gpu:expr, $open:expr; $($name:ident),+ $(,)?) => {
        $(
            #[test]
            fn $name() {
                if let Some(gpu) = $gpu {
                    crate::device::gpu::bm3d::conformance::$name(gpu);
                }
            }
        )+

        #[test]
        fn tiles_give_the_picture() {
            if let Some(gpu) = $gpu {
                crate::device::gpu::bm3d::conformance::tiles_give_the_picture(gpu, &|side| $open(side).unwrap());
            }
        }
    };
    ($gpu:expr, $open:expr) => {
        crate::device::gpu::bm3d::conformance::suite! {
            $gpu, $open;
            groups_of_every_profile, groups_at_odd_sizes, groups_at_every_step, groups_of_every_size,
            groups_in_every_window, groups_of_every_patch, pixels_in_coloured_noise, groups_at_every_distance, groups_of_ties,
            pixels_of_every_profile, pixels_at_odd_sizes, pixels_at_every_step, pixels_of_every_transform,
            pixels_of_every_group, pixels_with_exact_variances, pixels_with_every_weight_and_window,
            colour_channels_share_groups, patches_differ_between_passes, psnr_is_that_of_the_reference,
            samples_of_every_format, colours_are_those_of_the_host, prefilters_are_refused_by_name, work_is_reported_and_can_be_stopped,
            threads_share_the_device, stages_are_timed,
        }
    };
}
pub(crate) use suite;
