//! The fast kernels in the emulator, stage by stage, against the reference.

use super::tensor::{TensorGroup, TensorMatch};
use crate::device::emulator::Emulator;
use crate::device::gpu::bm3d::geometry::MARGIN;
use crate::device::gpu::{Arg, Runtime, int};
use crate::method::group::Search;
use crate::noise::add_gaussian;
use crate::ridge::reference::{self, Group};
use crate::ridge::{Params, Plan, Profile};
use crate::{Frame, Plane};

type Buffer = <Emulator as Runtime>::Buffer;

/// What planes are less by.
const CENTRE: f32 = 128.0;

fn emulator() -> Option<Emulator> {
    Emulator::new().inspect_err(|e| println!("skipped: {e}")).ok()
}

fn upload<T: Copy>(rt: &Emulator, values: &[T]) -> Buffer {
    let bytes = std::mem::size_of_val(values);
    let mut staging = rt.staging(bytes).unwrap();
    // SAFETY: plain numbers, copied as bytes.
    staging.copy_from_slice(unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), bytes) });
    let buffer = rt.alloc(bytes).unwrap();
    rt.write(&(), &buffer, &staging, bytes).unwrap();
    buffer
}

fn download<T: Copy + Default>(rt: &Emulator, buffer: &Buffer, n: usize) -> Vec<T> {
    let bytes = n * size_of::<T>();
    let mut staging = rt.staging(bytes).unwrap();
    rt.read(&(), &mut staging, buffer, bytes).unwrap();
    let mut out = vec![T::default(); n];
    // SAFETY: plain numbers, copied as bytes.
    unsafe { std::ptr::copy_nonoverlapping(staging.as_ptr(), out.as_mut_ptr().cast(), bytes) };
    out
}

/// Edges and texture.
fn clean(w: usize, h: usize) -> Plane {
    let data = (0..w * h).map(|i| {
        let (x, y) = ((i % w) as f32, (i / w) as f32);
        let edge = if x > 0.6 * y + 20.0 { 70.0 } else { 0.0 };
        90.0 + edge + 15.0 * (0.7 * x).sin() * (0.4 * y).cos()
    });
    Plane::from_vec(w, h, data.collect()).unwrap()
}

fn noisy(plane: &Plane, sigma: f32, seed: u64) -> Plane {
    let frame = Frame::grey(plane.clone(), 255.0).unwrap();
    add_gaussian(&frame, sigma.into(), seed).unwrap().into_planes().remove(0)
}

/// With a flat corner, where all distances are alike.
fn picture(w: usize, h: usize, sigma: f32) -> Plane {
    let mut plane = noisy(&clean(w, h), sigma, 1);
    for y in 0..h / 2 {
        plane.row_mut(y)[..w / 2].fill(200.0);
    }
    plane
}

/// A plane with its margin, which is `outside`, in rows of `pitch`.
fn laid_out<T: Copy>(
    (w, h): (usize, usize),
    pitch: usize,
    outside: T,
    at: impl Fn(usize, usize) -> T,
) -> Vec<T> {
    let mut out = vec![outside; (h + 2 * MARGIN) * pitch];
    for (y, row) in out.chunks_mut(pitch).skip(MARGIN).take(h).enumerate() {
        (0..w).for_each(|x| row[MARGIN + x] = at(x, y));
    }
    out
}

fn plan(params: &Params, w: usize, h: usize, sigma: f32) -> Plan {
    // The pilot, which is not run, needs more pixels than the rounds.
    Plan { width: w, height: h, ..Plan::new(params, w.max(8), h.max(8), &[sigma]).unwrap() }
}

fn search(plan: &Plan, index: usize) -> &Search {
    plan.rounds[index].search.as_ref().unwrap()
}

/// References in a row and in a column.
fn references(plan: &Plan, search: &Search) -> (Vec<usize>, Vec<usize>) {
    (search.grid(plan.width + 2), search.grid(plan.height + 2))
}

/// The groups of the first round by the kernel, in two bands of rows.
fn matched(rt: &Emulator, plan: &Plan, z: &Plane, extra: usize) -> Vec<Vec<u16>> {
    let (search, round) = (search(plan, 0), &plan.rounds[0]);
    let guide = reference::guide(&z.view(), &z.view(), round.blend, plan.margin);
    let (w, h) = (guide.width(), guide.height());
    let pitch = w + MARGIN + extra;
    let bytes = laid_out((w, h), pitch, 0xa5, |x, y| search.matching.quantise(guide.row(y)[x]));
    let (xs, ys) = references(plan, search);
    let kernel = TensorMatch::new(search, plan.size, rt.limits()).expect("a plan for the fast kernel");
    let module = rt.build(&kernel.program()).unwrap();
    let entry = rt.kernel(&module, "ridge_match_tensor", kernel.shape(1, 1).local).unwrap();
    let guide = upload(rt, &bytes);
    let lists = upload(rt, &vec![7u16; xs.len() * ys.len() * search.group]);
    let middle = ys.len() / 2;
    for rows in [0..middle, middle..ys.len()].into_iter().filter(|rows| !rows.is_empty()) {
        let args = [
            Arg::Buffer(&guide),
            Arg::Buffer(&lists),
            int(xs.len()),
            int(plan.width - 4),
            int(plan.height - 4),
            int(search.offset),
            int(rows.start),
            int(rows.end),
            int(pitch),
            int(plan.size.least),
            int(plan.size.spread as usize),
        ];
        rt.launch(&(), &entry, kernel.shape(xs.len(), rows.len()), &args).unwrap();
    }
    let lists: Vec<u16> = download(rt, &lists, xs.len() * ys.len() * search.group);
    lists.chunks(search.group).map(<[u16]>::to_vec).collect()
}

/// Numbers of the displacements of a group.
fn numbers(group: &Group, (x, y): (usize, usize), search: &Search) -> Vec<u16> {
    let r = search.radius;
    group.iter().map(|&(px, py)| ((py + r - y) * (2 * r + 1) + px + r - x) as u16).collect()
}

fn check_matches(plan: &Plan, z: &Plane, extra: usize) {
    let Some(rt) = emulator() else { return };
    let search = search(plan, 0);
    let want = reference::groups(plan, 0, &z.view(), &z.view()).unwrap();
    let got = matched(&rt, plan, z, extra);
    let (xs, ys) = references(plan, search);
    let places = ys.iter().flat_map(|&y| xs.iter().map(move |&x| (x, y)));
    for ((got, want), place) in got.iter().zip(&want).zip(places) {
        let mut want = numbers(want, place, search);
        let (found, rest) = got.split_at(want.len());
        let mut found = found.to_vec();
        found.sort_unstable();
        want.sort_unstable();
        let size = (plan.width, plan.height);
        assert_eq!(found, want, "reference {place:?} of {size:?} with {search:?}");
        assert!(rest.iter().all(|&n| n == 0xffff), "behind the group of {place:?} of {size:?}");
    }
}

/// A plan whose first round has this offset.
fn shifted(profile: Profile, w: usize, h: usize, offset: usize) -> Plan {
    let mut plan = plan(&profile.params(25.0), w, h, 25.0);
    plan.rounds[0].search.as_mut().unwrap().offset = offset;
    plan
}

#[test]
fn groups_are_those_of_the_reference() {
    for offset in 0..4 {
        let (w, h) = (67 + offset, 59 - offset);
        check_matches(&shifted(Profile::Normal, w, h, offset), &picture(w, h, 25.0), offset);
        check_matches(&shifted(Profile::High, h, w, offset), &picture(h, w, 25.0), 5 * offset);
    }
    check_matches(&shifted(Profile::Best, 41, 38, 1), &picture(41, 38, 25.0), 0);
}

#[test]
fn groups_of_ties_and_of_far_patches() {
    for profile in [Profile::Normal, Profile::High] {
        let plan = shifted(profile, 50, 46, 2);
        let of = |f: &dyn Fn(usize) -> f32| Plane::from_vec(50, 46, (0..50 * 46).map(f).collect()).unwrap();
        check_matches(&plan, &of(&|_| 90.0), 0);
        // Few distances, many times each.
        check_matches(&plan, &of(&|i| if i * 7919 % 97 < 3 { 92.0 } else { 90.0 }), 0);
        // Black and white without order: hardly a distance fits into 16 bits.
        check_matches(&plan, &of(&|i| if i * i * 31 % 127 < 64 { 0.0 } else { 255.0 }), 0);
        // Distances on both sides of what thresholds can tell apart.
        check_matches(&plan, &of(&|i| if i * i * 31 % 127 < 64 { 40.0 } else { 200.0 }), 0);
    }
}

#[test]
fn groups_of_small_pictures() {
    for (w, h) in [(4, 4), (5, 9), (13, 4), (10, 11), (8, 33)] {
        for offset in [0, 3] {
            check_matches(&shifted(Profile::Normal, w, h, offset), &picture(w, h, 25.0), 1);
            check_matches(&shifted(Profile::High, w, h, offset), &noisy(&clean(w, h), 25.0, 3), 2);
        }
    }
}

/// The next `x` and `z` by the kernel over the reference's groups, in two bands, and how far sums of whole numbers may be
/// off at every pixel. The sums are finished here.
fn regressed(
    rt: &Emulator,
    plan: &Plan,
    index: usize,
    groups: &[Group],
    [x, y, z]: [&Plane; 3],
    counts: Option<&Plane>,
    pitch: usize,
) -> [(Plane, Plane); 2] {
    let (w, h, search) = (plan.width, plan.height, search(plan, index));
    let (xs, ys) = references(plan, search);
    let places = ys.iter().flat_map(|&y| xs.iter().map(move |&x| (x, y)));
    let lists = groups.iter().zip(places).flat_map(|(group, place)| {
        let mut list = numbers(group, place, search);
        list.resize(search.group, 0xffff);
        list
    });
    let lists: Vec<u16> = lists.collect();
    let residue = |cx: usize, cy: usize| {
        let square = |i: usize| {
            let (px, py) = ((cx + i % 4).min(w - 1), (cy + i / 4).min(h - 1));
            (y.row(py)[px] - z.row(py)[px]).powi(2)
        };
        (0..16).map(square).sum::<f32>() / 16.0
    };
    let kernel = TensorGroup::new(search, rt.limits()).expect("a plan for the fast kernel");
    let module = rt.build(&kernel.program(counts.is_some())).unwrap();
    let entry = rt.kernel(&module, "ridge_group_tensor", kernel.shape(1, 1).local).unwrap();
    let planes =
        [x, z].map(|p| upload(rt, &laid_out((w, h), pitch, f32::NAN, |cx, cy| p.row(cy)[cx] - CENTRE)));
    let residues = upload(rt, &laid_out((w, h), pitch, f32::NAN, residue));
    let lists = upload(rt, &lists);
    let sums = [0, 1, 2].map(|_| upload(rt, &laid_out((w, h), pitch, 0f32, |_, _| 0.0)));
    // With something before them.
    let counts = counts.map(|n| upload(rt, &[&[0.0; 5], n.as_slice()].concat()));
    let middle = ys.len() / 2;
    for rows in [0..middle, middle..ys.len()].into_iter().filter(|rows| !rows.is_empty()) {
        let mut args = Vec::from([&planes[0], &planes[1], &residues, &lists].map(Arg::Buffer));
        args.extend(sums.each_ref().map(Arg::Buffer));
        args.extend([int(xs.len()), int(w - 4), int(h - 4), int(search.offset)]);
        args.extend([int(rows.start), int(rows.end), int(pitch)]);
        args.extend([plan.sigma[0], plan.rounds[index].tau, plan.lambda, plan.mu].map(Arg::F32));
        args.push(int(usize::from(index == 0)));
        args.push(Arg::F32(0.0));
        if let Some(counts) = &counts {
            args.extend([Arg::Buffer(counts), int(5), int(w)]);
        }
        rt.launch(&(), &entry, kernel.shape(xs.len(), rows.len()), &args).unwrap();
    }
    let [numerators, all, fresh] = sums.map(|s| download::<f32>(rt, &s, (h + 2 * MARGIN) * pitch));
    let at = |x: usize, y: usize| (y + MARGIN) * pitch + x + MARGIN;
    // Each patch over a pixel is rounded to whole units.
    let mut rounded = Plane::zeros(w, h);
    for (px, py) in groups.iter().flatten() {
        (0..16).for_each(|i| {
            rounded.row_mut(py + i / 4)[px + i % 4] += 0.5 * (1.0 - plan.rounds[index].tau) / 8192.0
        });
    }
    let zeros = || (Plane::zeros(w, h), Plane::zeros(w, h));
    let mut out = [zeros(), zeros()];
    for cy in 0..h {
        for cx in 0..w {
            let boxed = |s: &[f32]| (0..16).map(|i| s[at(cx, cy) - i / 4 * pitch - i % 4]).sum::<f32>();
            let (n, s0, s1) = (numerators[at(cx, cy)], boxed(&all), boxed(&fresh));
            out[0].0.row_mut(cy)[cx] = n / s1 + CENTRE;
            out[0].1.row_mut(cy)[cx] = rounded.row(cy)[cx] / s1;
            out[1].0.row_mut(cy)[cx] = (n + (z.row(cy)[cx] - CENTRE) * (s0 - s1)) / s0 + CENTRE;
            out[1].1.row_mut(cy)[cx] = rounded.row(cy)[cx] / s0;
        }
    }
    // Nothing is added outside of the picture.
    for sums in [&numerators, &all, &fresh] {
        let inside = |i: usize| {
            let (y, x) = (i / pitch, i % pitch);
            (MARGIN..MARGIN + h).contains(&y) && (MARGIN..MARGIN + w).contains(&x)
        };
        assert!(sums.iter().enumerate().all(|(i, &v)| inside(i) || v == 0.0));
    }
    out
}

/// Halves of samples up to 128 from the middle are 1/32 off at most, and so are the means of a group. What comes out is an
/// average of many: no worse than one of them.
const WORST: f32 = 1.0 / 32.0;
const RMS: f64 = 1.0 / 128.0;

/// What is more than zero, or no number.
fn beyond(v: f32) -> f32 {
    if v < 0.0 { 0.0 } else { v }
}

/// A round by the kernel, with some of the noise taken off if it is not the first.
fn check_round(plan: &Plan, index: usize, z: &Plane, y: &Plane, counts: Option<&Plane>, extra: usize) {
    let Some(rt) = emulator() else { return };
    let (w, h) = (plan.width, plan.height);
    let x = noisy(&clean(w, h), 0.2 * plan.sigma[0], 5);
    let groups = reference::groups(plan, index, &x.view(), &z.view()).unwrap();
    let (want_x, want_z) = reference::round_counted(
        plan,
        index,
        &groups,
        &[y.view()],
        (std::slice::from_ref(&x), std::slice::from_ref(z)),
        counts.map(Plane::view).as_ref(),
    );
    let pitch = (w + MARGIN).next_multiple_of(4) + extra;
    let got = regressed(&rt, plan, index, &groups, [&x, y, z], counts, pitch);
    for ((got, rounded), (name, want)) in got.iter().zip([("x", &want_x[0]), ("z", &want_z[0])]) {
        let pixels = got.as_slice().iter().zip(want.as_slice()).zip(rounded.as_slice());
        let off: Vec<f32> = pixels.map(|((a, b), rounded)| beyond((a - b).abs() - rounded)).collect();
        let worst = crate::metrics::largest(off.iter().copied());
        let rms = (off.iter().map(|v| f64::from(v * v)).sum::<f64>() / off.len() as f64).sqrt();
        println!("{w} x {h}, sigma {}, round {index}: {name} worst {worst} rms {rms}", plan.sigma[0]);
        assert!(worst < WORST && rms < RMS, "{name} off by {worst}, on average {rms}, with {plan:?}");
    }
}

/// The first round, and one in the middle where half of the noise is left.
fn check_rounds(profile: Profile, (w, h): (usize, usize), sigma: f32, extra: usize) {
    let plan = plan(&profile.params(sigma), w, h, sigma);
    let y = noisy(&clean(w, h), sigma, 1);
    check_round(&plan, 0, &y, &y, None, extra);
    // What the round before leaves.
    let left = plan.rounds[1].tau;
    let data = y.as_slice().iter().zip(clean(w, h).as_slice()).map(|(y, c)| c + left * (y - c)).collect();
    check_round(&plan, 2, &Plane::from_vec(w, h, data).unwrap(), &y, None, extra);
}

/// The same of averages of one to nine frames, in waves over the picture.
fn check_averages(profile: Profile, (w, h): (usize, usize), sigma: f32, extra: usize) {
    let plan = plan(&profile.params(sigma), w, h, sigma);
    let count = |i: usize| 5.0 + 4.0 * (0.35 * (i % w) as f32).sin() * (0.23 * (i / w) as f32).cos();
    let counts = Plane::from_vec(w, h, (0..w * h).map(count).collect()).unwrap();
    let (clean, noisy) = (clean(w, h), noisy(&clean(w, h), sigma, 1));
    let left = |part: f32| {
        let pixels = noisy.as_slice().iter().zip(clean.as_slice()).zip(counts.as_slice());
        let data = pixels.map(|((y, c), n)| c + part * (y - c) / n.sqrt()).collect();
        Plane::from_vec(w, h, data).unwrap()
    };
    check_round(&plan, 0, &left(1.0), &left(1.0), Some(&counts), extra);
    check_round(&plan, 2, &left(plan.rounds[1].tau), &left(1.0), Some(&counts), extra);
}

#[test]
fn rounds_know_of_how_many_frames_pixels_are_the_average() {
    check_averages(Profile::Normal, (67, 54), 25.0, 0);
    check_averages(Profile::High, (54, 67), 25.0, 3);
    check_averages(Profile::Normal, (43, 50), 6.0, 1);
    check_averages(Profile::High, (40, 44), 6.0, 0);
}

#[test]
fn rounds_are_those_of_the_reference() {
    check_rounds(Profile::Normal, (67, 54), 25.0, 0);
    check_rounds(Profile::High, (54, 67), 25.0, 3);
}

#[test]
fn rounds_of_weak_and_of_strong_noise() {
    check_rounds(Profile::Normal, (43, 50), 3.0, 1);
    check_rounds(Profile::Normal, (46, 41), 100.0, 0);
    check_rounds(Profile::High, (40, 44), 5.0, 0);
}

#[test]
fn rounds_of_small_pictures() {
    for (w, h) in [(4, 4), (5, 9), (13, 4), (10, 11)] {
        check_rounds(Profile::Normal, (w, h), 25.0, 0);
        check_rounds(Profile::High, (w, h), 25.0, 1);
    }
}

#[test]
fn plans_that_the_kernels_do_not_know_are_left_to_others() {
    let limits = crate::device::gpu::Limits::large(227);
    let taken = |plan: &Plan, limits: &_| {
        let search = search(plan, 0);
        [
            TensorMatch::new(search, plan.size, limits).is_some(),
            crate::device::gpu::ridge::in_halves(plan, limits),
        ]
    };
    let normal = plan(&Profile::Normal.params(25.0), 64, 48, 25.0);
    assert_eq!(taken(&normal, &limits), [true, true]);
    assert_eq!(taken(&plan(&Profile::Normal.params(2.0), 64, 48, 2.0), &limits), [true, false]);
    assert_eq!(taken(&plan(&Profile::Lichi.params(25.0), 64, 48, 25.0), &limits), [false, false]);
    let none = crate::device::gpu::Limits { tensor: false, ..limits };
    assert_eq!(taken(&normal, &none), [false, false]);
}
