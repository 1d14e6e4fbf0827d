//! The fast kernels in the emulator, stage by stage, against the reference.

use super::geometry::{Geometry, MARGIN};
use super::program::PlaneFormat;
use super::tensor::{TensorFilter, TensorMatch};
use crate::bm3d::{Params, PassPlan, Plan, Profile, grid, reference};
use crate::device::emulator::Emulator;
use crate::device::gpu::{Arg, Runtime};
use crate::noise::add_gaussian;
use crate::{Frame, Plane};

fn emulator() -> Option<Emulator> {
    Emulator::new().inspect_err(|e| println!("skipped: {e}")).ok()
}

/// Edges, texture, a flat corner, noise.
fn picture(w: usize, h: usize, sigma: f32) -> Plane {
    let data = (0..w * h).map(|i| {
        let (x, y) = ((i % w) as f32, (i / w) as f32);
        let edge = if x > 0.6 * y + 20.0 { 70.0 } else { 0.0 };
        90.0 + edge + 15.0 * (0.7 * x).sin() * (0.4 * y).cos()
    });
    let clean = Frame::grey(Plane::from_vec(w, h, data.collect()).unwrap(), 255.0).unwrap();
    let mut plane = add_gaussian(&clean, sigma.into(), 1).unwrap().into_planes().remove(0);
    for y in 0..h / 3 {
        plane.row_mut(y)[..w / 3].fill(200.0);
    }
    plane
}

fn upload<T: Copy>(rt: &Emulator, values: &[T]) -> <Emulator as Runtime>::Buffer {
    let bytes = std::mem::size_of_val(values);
    let mut staging = rt.staging(bytes).unwrap();
    // SAFETY: plain numbers, copied as bytes.
    staging.copy_from_slice(unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), bytes) });
    let buffer = rt.alloc(bytes).unwrap();
    rt.write(&(), &buffer, &staging, bytes).unwrap();
    buffer
}

fn download<T: Copy + Default>(rt: &Emulator, buffer: &<Emulator as Runtime>::Buffer, n: usize) -> Vec<T> {
    let bytes = n * size_of::<T>();
    let mut staging = rt.staging(bytes).unwrap();
    rt.read(&(), &mut staging, buffer, bytes).unwrap();
    let mut out = vec![T::default(); n];
    // SAFETY: plain numbers, copied as bytes.
    unsafe { std::ptr::copy_nonoverlapping(staging.as_ptr(), out.as_mut_ptr().cast(), bytes) };
    out
}

/// Guide and norm planes as the kernels lay them out.
fn guide_planes(pass: &PassPlan, g: &Geometry, plane: &Plane) -> (Vec<u8>, Vec<i32>) {
    let mut guide = vec![0u8; g.elements()];
    let mut norms = vec![1 << 28; g.elements()];
    for (y, row) in plane.view().rows().enumerate() {
        for (x, &z) in row.iter().enumerate() {
            guide[(y + MARGIN) * g.pitch + x + MARGIN] = pass.matching.quantise(z);
        }
    }
    for y in 0..=g.height - 8 {
        for x in 0..=g.width - 8 {
            let at = |i: usize| i32::from(guide[(y + i / 8 + MARGIN) * g.pitch + x + i % 8 + MARGIN]);
            norms[(y + MARGIN) * g.pitch + x + MARGIN] = (0..64).map(|i| at(i) * at(i)).sum();
        }
    }
    (guide, norms)
}

/// Matches of the first pass by the kernel; returns how many references it handed over.
fn check_matches(params: &Params, w: usize, h: usize) -> usize {
    let Some(rt) = emulator() else { return 0 };
    let plane = picture(w, h, 25.0);
    let plan = Plan::new(params, w, h, &[25.0]).unwrap();
    let (pass, g) = (&plan.passes[0], Geometry::new(&plan, w, h));
    let (guide, norms) = guide_planes(pass, &g, &plane);
    let kernel = TensorMatch::new(pass, rt.limits()).expect("a pass for the fast kernel");
    let module = rt.build(&kernel.program()).unwrap();
    let (columns, rows) = (grid(w, 8, pass.step), grid(h, 8, pass.step));
    let count = columns.len() * rows.len();
    let shape = kernel.shape(columns.len(), rows.len());
    let entry = rt.kernel(&module, "match_tensor", shape.local).unwrap();
    let (guide, norms) = (upload(&rt, &guide), upload(&rt, &norms));
    let (matches, difficult) =
        (upload(&rt, &vec![0u16; count * pass.group]), upload(&rt, &vec![0u32; count + 1]));
    let int = |v: usize| Arg::I32(v as i32);
    let args = [
        Arg::Buffer(&guide),
        Arg::Buffer(&norms),
        Arg::Buffer(&matches),
        Arg::Buffer(&difficult),
        int(columns.len()),
        int(rows.len()),
        int(w - 8),
        int(h - 8),
        int(0),
        int(rows.len()),
        int(g.pitch),
        int(pass.max_ssd as usize),
    ];
    rt.launch(&(), &entry, shape, &args).unwrap();
    let got: Vec<u16> = download(&rt, &matches, count * pass.group);
    let difficult: Vec<u32> = download(&rt, &difficult, count + 1);
    let difficult = &difficult[1..=difficult[0] as usize];
    let reference = reference::Guide::new(pass.search(), &plane.view());
    let side = 2 * pass.radius as i32 + 1;
    for (r, got) in got.chunks(pass.group).enumerate() {
        if difficult.contains(&(r as u32)) {
            continue;
        }
        let (x, y) = (columns[r % columns.len()], rows[r / columns.len()]);
        let number = |dy: i32, dx: i32| ((dy + pass.radius as i32) * side + dx + pass.radius as i32) as u16;
        let mut want: Vec<u16> = reference.matches(x, y).iter().map(|m| number(m.dy, m.dx)).collect();
        want.resize(pass.group, 0xffff);
        assert_eq!(got, want, "reference {x}, {y} with {pass:?}");
    }
    assert!(difficult.len() * 10 <= count * 7, "{} of {count} references handed over", difficult.len());
    difficult.len()
}

#[test]
fn match_lists_are_those_of_the_reference() {
    let mut handed_over = 0;
    for (profile, w, h) in [
        (Profile::Original, 67, 59),
        (Profile::Fast, 101, 66),
        (Profile::Middle, 83, 61),
        (Profile::High, 64, 49),
    ] {
        handed_over += check_matches(&profile.params(25.0), w, h);
    }
    assert!(handed_over > 0 || emulator().is_none(), "flat areas must go to the general kernel");
}

#[test]
fn match_lists_at_every_step_and_group() {
    for step in 1..=8 {
        let mut params = Profile::Original.params(25.0);
        (params.hard.step, params.hard.window) = (step, [21, 39, 9, 15][step % 4]);
        params.hard.group = [8, 16, 32][step % 3];
        check_matches(&params, 40 + 3 * step, 33 + step);
    }
}

#[test]
fn match_lists_of_wide_windows_and_small_pictures() {
    check_matches(&Profile::Normal.color_params(25.0), 90, 47);
    for (w, h) in [(8, 8), (9, 17), (33, 8)] {
        check_matches(&Profile::Original.params(25.0), w, h);
    }
}

/// IEEE half of a float, rounded to nearest even; finite and not too small.
fn half(v: f32) -> u16 {
    let (bits, scaled) = (v.to_bits(), v.abs() * f32::from_bits((127 - 112) << 23));
    let magnitude = scaled.to_bits();
    let rounded = (magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13;
    (bits >> 16 & 0x8000) as u16 | rounded as u16
}

#[test]
fn halves_are_rounded_to_nearest() {
    for (v, h) in [(0.0, 0), (1.0, 0x3c00), (-2.0, 0xc000), (127.5, 0x57f8), (0.333_251_95, 0x3555)] {
        assert_eq!(half(v), h, "{v}");
    }
}

fn half_plane(g: &Geometry, plane: &Plane) -> Vec<u16> {
    let mut out = vec![0; g.elements()];
    for (y, row) in plane.view().rows().enumerate() {
        for (x, &z) in row.iter().enumerate() {
            out[(y + MARGIN) * g.pitch + x + MARGIN] = half(z - PlaneFormat::Half.centre());
        }
    }
    out
}

/// One pass by the fast filter over the reference's groups; the division is done here.
fn filtered(
    rt: &Emulator,
    plan: &Plan,
    pass: &PassPlan,
    noisy: &Plane,
    basic: Option<&Plane>,
    counts: Option<&Plane>,
) -> Plane {
    let (g, w, h) = (Geometry::new(plan, plan.width, plan.height), plan.width, plan.height);
    let guide = reference::Guide::new(pass.search(), &basic.unwrap_or(noisy).view());
    let (columns, rows) = (grid(w, 8, pass.step), grid(h, 8, pass.step));
    let (side, r) = (2 * pass.radius as i32 + 1, pass.radius as i32);
    let mut matches = Vec::new();
    for &y in &rows {
        for &x in &columns {
            let mut list: Vec<u16> =
                guide.matches(x, y).iter().map(|m| ((m.dy + r) * side + m.dx + r) as u16).collect();
            list.resize(pass.group, 0xffff);
            matches.extend(list);
        }
    }
    let kernel = TensorFilter::new(pass, rt.limits()).expect("a pass for the fast kernel");
    let module = rt.build(&kernel.program(counts.is_some())).unwrap();
    let shape = kernel.shape(columns.len(), rows.len());
    let entry = rt.kernel(&module, "filter_tensor", shape.local).unwrap();
    let [noisy, basic] = [noisy, basic.unwrap_or(noisy)].map(|p| upload(rt, &half_plane(&g, p)));
    let matches = upload(rt, &matches);
    let [sums, weights] = [0, 1].map(|_| upload(rt, &vec![0f32; g.elements()]));
    let constants = upload(rt, &TensorFilter::constants(pass, 0));
    let int = |v: usize| Arg::I32(v as i32);
    let mut args = Vec::from([&noisy, &basic, &matches, &sums, &weights, &constants].map(Arg::Buffer));
    args.extend([int(columns.len()), int(w - 8), int(h - 8), int(0), int(rows.len()), int(g.pitch)]);
    // With something before them.
    let counted = counts.map(|n| upload(rt, &[&[0.0; 5], n.as_slice()].concat()));
    if let Some(counts) = &counted {
        args.extend([Arg::Buffer(counts), int(5), int(w)]);
    }
    rt.launch(&(), &entry, shape, &args).unwrap();
    let sums: Vec<f32> = download(rt, &sums, g.elements());
    let weights: Vec<f32> = download(rt, &weights, g.elements());
    let mut out = Plane::zeros(w, h);
    for y in 0..h {
        for x in 0..w {
            let at = (y + MARGIN) * g.pitch + x + MARGIN;
            let window =
                |i: usize| pass.kaiser[i / 8] * pass.kaiser[i % 8] * weights[at - i / 8 * g.pitch - i % 8];
            out.row_mut(y)[x] = sums[at] / (0..64).map(window).sum::<f32>() + PlaneFormat::Half.centre();
        }
    }
    out
}

fn worst(a: &Plane, b: &Plane) -> f32 {
    crate::metrics::largest(a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()))
}

fn rms(a: &Plane, b: &Plane) -> f64 {
    let squares = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| f64::from(a - b).powi(2));
    (squares.sum::<f64>() / a.as_slice().len() as f64).sqrt()
}

fn check_filters(params: &Params, w: usize, h: usize, sigma: f32) {
    check_counted(params, picture(w, h, sigma), sigma, None);
}

/// Of averages of frames, if there are `counts`.
fn check_counted(params: &Params, noisy: Plane, sigma: f32, counts: Option<&Plane>) {
    let Some(rt) = emulator() else { return };
    let (w, h) = (noisy.width(), noisy.height());
    let plan = Plan::new(params, w, h, &[sigma]).unwrap();
    let view = counts.map(Plane::view);
    let want = reference::pass_counted(&plan.passes[0], &[noisy.view()], None, view.as_ref()).remove(0);
    let basic = filtered(&rt, &plan, &plan.passes[0], &noisy, None, counts);
    // A coefficient near its threshold may fall on the other side; on the whole the pass is the same.
    let off = rms(&basic, &want);
    assert!(off < 0.3, "basic estimate off by {off} on average with {params:?}");
    let want =
        reference::pass_counted(&plan.passes[1], &[noisy.view()], Some(&[basic.view()]), view.as_ref())
            .remove(0);
    let last = filtered(&rt, &plan, &plan.passes[1], &noisy, Some(&basic), counts);
    println!(
        "{w} x {h}, sigma {sigma}: basic rms {off}, final worst {} rms {}",
        worst(&last, &want),
        rms(&last, &want)
    );
    assert!(worst(&last, &want) < 0.15, "final estimate off by {} with {params:?}", worst(&last, &want));
}

#[test]
fn filters_agree_with_the_reference() {
    for profile in [Profile::Original, Profile::Fast, Profile::Middle, Profile::Normal, Profile::High] {
        check_filters(&profile.params(25.0), 64, 49, 25.0);
    }
}

#[test]
fn filters_agree_at_weak_and_strong_noise() {
    for (profile, sigma) in [(Profile::Original, 5.0), (Profile::High, 5.0), (Profile::Normal, 70.0)] {
        check_filters(&profile.params(sigma), 43, 52, sigma);
    }
}

/// Averages of one to nine frames, in waves over the picture.
fn averages(w: usize, h: usize, sigma: f32) -> (Plane, Plane) {
    let count = |i: usize| 5.0 + 4.0 * (0.35 * (i % w) as f32).sin() * (0.23 * (i / w) as f32).cos();
    let counts: Vec<f32> = (0..w * h).map(count).collect();
    let (clean, mut noisy) = (picture(w, h, 0.0), picture(w, h, sigma));
    let pixels = noisy.as_mut_slice().iter_mut().zip(clean.as_slice()).zip(&counts);
    pixels.for_each(|((v, clean), n)| *v = clean + (*v - clean) / n.sqrt());
    (noisy, Plane::from_vec(w, h, counts).unwrap())
}

#[test]
fn filters_know_of_how_many_frames_pixels_are_the_average() {
    for (profile, sigma) in [
        (Profile::Original, 25.0),
        (Profile::Normal, 25.0),
        (Profile::High, 25.0),
        (Profile::Fast, 12.0),
        (Profile::Normal, 12.0),
        (Profile::High, 12.0),
    ] {
        let (noisy, counts) = averages(64, 49, sigma);
        check_counted(&profile.params(sigma), noisy, sigma, Some(&counts));
    }
}
