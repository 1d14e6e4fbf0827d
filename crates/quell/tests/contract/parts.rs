//! Parts of a picture, put together, are the picture: bit by bit on the processor.

use std::ops::Range;

use quell::device::{self, Input, Samples, SamplesMut};
use quell::method::{Front, Part};
use quell::{Control, Denoiser, DenoiserBuilder, Device, Frame, Plan, Plane, bm3d, isoline, nlm, ridge};

use crate::common::{eight_bit, map, picture};

/// The whole picture at once, and in parts of so many rows.
fn both(builder: DenoiserBuilder, planes: &[Plane], rows: usize) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let denoiser = builder.sigma(20.0).device(Device::Cpu).threads(2).build().unwrap();
    let frame = Frame::new(planes.to_vec(), 255.0).unwrap();
    let whole = denoiser.denoise(&frame).unwrap().into_planes();
    let height = frame.height();
    let resolved = denoiser.resolve_rows(height, &frame, None).unwrap().unwrap();
    let run = |part: &_, from: &[Samples<'_>], to: &mut [SamplesMut<'_>]| {
        denoiser.run_part(&resolved, part, from, to, &Control::new()).unwrap();
    };
    let out = in_parts(&resolved.plan, planes, rows, run);
    (out, whole.into_iter().map(Plane::into_vec).collect())
}

/// A picture in parts, each filtered by `run`, put together.
fn in_parts(
    plan: &Plan,
    planes: &[Plane],
    rows: usize,
    run: impl Fn(&Part, &[Samples<'_>], &mut [SamplesMut<'_>]),
) -> Vec<Vec<f32>> {
    let (width, height) = (plan.window().width, plan.window().height);
    let parts = plan.parts(rows);
    assert!(parts.len() > 2 && parts[parts.len() - 1].read().start > 0, "{parts:?}");
    let mut out = vec![vec![f32::NAN; width * height]; planes.len()];
    for part in parts {
        let (read, write, kept) = (part.read(), part.write(), part.kept());
        let span = |rows: &std::ops::Range<usize>| rows.start * width..rows.end * width;
        let from: Vec<Samples<'_>> =
            planes.iter().map(|p| Samples::F32(&p.as_slice()[span(&read)])).collect();
        let mut results = vec![vec![0.0; read.len() * width]; planes.len()];
        let mut to: Vec<SamplesMut<'_>> = results.iter_mut().map(|p| SamplesMut::F32(p)).collect();
        run(&part, &from, &mut to);
        for (out, result) in out.iter_mut().zip(&results) {
            out[span(&write)].copy_from_slice(&result[span(&kept)]);
        }
    }
    out
}

#[test]
fn bm3d_in_parts_is_bm3d() {
    use bm3d::Profile;
    let float = [picture(61, 900, 20.0, 1)];
    for (profile, rows) in [(Profile::Fast, 97), (Profile::Original, 230), (Profile::Normal, 300)] {
        let (parts, whole) = both(Denoiser::bm3d(profile), &float, rows);
        assert!(parts == whole, "{profile:?}");
    }
    let rgb: Vec<Plane> = (0..3).map(|c| eight_bit(50, 700, 20.0, c)).collect();
    let (parts, whole) = both(Denoiser::bm3d(Profile::Fast), &rgb, 150);
    assert!(parts == whole, "colours");
    let tiled = Denoiser::bm3d(Profile::Fast)
        .options(quell::device::DeviceOptions { tile: 64, ..Default::default() });
    let (parts, whole) = both(tiled, &rgb, 150);
    assert!(parts == whole, "in tiles");
}

#[test]
fn ridge_in_parts_is_nearly_that_of_the_whole() {
    // Rounds after rounds depend on pixels further away than a part reads, but next to nothing.
    let planes = [picture(64, 2600, 25.0, 4)];
    let (parts, whole) = both(Denoiser::ridge(ridge::Profile::Normal), &planes, 500);
    let off = parts[0].iter().zip(&whole[0]).map(|(a, b)| f64::from(a - b).powi(2));
    let rms = (off.sum::<f64>() / whole[0].len() as f64).sqrt();
    assert!(rms < 0.02, "off by {rms}");
}

/// Additions in another order: running sums begin elsewhere.
const ROUNDING: f32 = 1e-3;

#[test]
fn the_other_methods_differ_by_rounding_at_most() {
    let planes = [map(&picture(70, 400, 20.0, 3), |v| v.clamp(1.0, 254.0))];
    for builder in [
        Denoiser::nlm(nlm::Profile::Fast),
        Denoiser::nlm(nlm::Profile::Normal).set("search", 9),
        Denoiser::isoline(isoline::Profile::Fast),
        Denoiser::isoline(isoline::Profile::Normal),
    ] {
        let name = format!("{builder:?}");
        let (parts, whole) = both(builder, &planes, 100);
        let off = parts[0].iter().zip(&whole[0]).map(|(a, b)| (a - b).abs());
        let worst = off.fold(0.0, |worst: f32, v| if v <= worst { worst } else { v });
        assert!(worst < ROUNDING, "{name}: off by {worst}");
    }
}

/// One to three sizes of a picture, the smallest last.
fn sizes(profile: bm3d::Profile, size: (usize, usize), color: bool, scales: usize, sigma: f32) -> Plan {
    let sigmas = vec![sigma; if color { 3 } else { 1 }];
    let plan = bm3d::Plan::new(&profile.params(sigma), size.0, size.1, &sigmas).unwrap();
    let front = Front { color: color.then_some(quell::ColorMode::Opp), ..Front::channels(255.0) };
    let plan = Plan::new(plan, front);
    if scales == 1 {
        return plan;
    }
    plan.with_coarser(sizes(profile, (size.0 / 2, size.1 / 2), color, scales - 1, sigma / 2.0)).unwrap()
}

#[test]
fn bm3d_of_several_sizes_in_parts_is_that_of_the_whole() {
    use bm3d::Profile;
    let cpu = device::open(Device::Cpu, Default::default()).unwrap();
    for (profile, color, scales, (width, height), rows) in [
        (Profile::Fast, false, 2, (61, 1100), 150),
        (Profile::Fast, true, 3, (59, 2003), 230),
        (Profile::Normal, false, 3, (70, 2502), 300),
    ] {
        let planes: Vec<Plane> =
            (0..if color { 3 } else { 1 }).map(|c| eight_bit(width, height, 20.0, c)).collect();
        let views: Vec<_> = planes.iter().map(Plane::view).collect();
        let plan = sizes(profile, (width, height), color, scales, 20.0);
        let whole = device::picture(&*cpu, &plan, &views, &[], &Control::new()).unwrap();
        let parts = in_parts(&plan, &planes, rows, |part, from, to| {
            let frame = Input { planes: from, guide: &[] };
            cpu.open(&plan.of(part)).unwrap().frame(&frame, to, &Control::new()).unwrap();
        });
        let whole: Vec<Vec<f32>> = whole.into_iter().map(Plane::into_vec).collect();
        assert!(parts == whole, "{profile:?}, {scales} sizes of {width} x {height}");
        let one = sizes(profile, (width, height), color, 1, 20.0);
        let one = device::picture(&*cpu, &one, &views, &[], &Control::new()).unwrap();
        assert!(one[0].as_slice() != whole[0], "the other sizes count");
    }
}

/// A rectangle of a picture, filtered with what it needs around it.
fn region(
    plan: &Plan,
    planes: &[Plane],
    (columns, rows): (Range<usize>, Range<usize>),
    run: impl Fn(&Part, &[Samples<'_>], &mut [SamplesMut<'_>]),
) -> Vec<Vec<f32>> {
    let part = plan.region(columns, rows);
    let cut = |p: &[f32], width: usize, x: Range<usize>, y: Range<usize>| -> Vec<f32> {
        y.flat_map(|y| p[y * width..][x.clone()].to_vec()).collect()
    };
    let (x, y) = (part.read_columns(), part.read());
    let from: Vec<Vec<f32>> =
        planes.iter().map(|p| cut(p.as_slice(), p.width(), x.clone(), y.clone())).collect();
    let from: Vec<Samples<'_>> = from.iter().map(|p| Samples::F32(p)).collect();
    let mut results = vec![vec![0.0; x.len() * y.len()]; planes.len()];
    let mut to: Vec<SamplesMut<'_>> = results.iter_mut().map(|p| SamplesMut::F32(p)).collect();
    run(&part, &from, &mut to);
    results.iter().map(|p| cut(p, x.len(), part.kept_columns(), part.kept())).collect()
}

/// The same of a whole result.
fn seen(whole: &[Plane], (columns, rows): (Range<usize>, Range<usize>)) -> Vec<Vec<f32>> {
    let cut = |p: &Plane| rows.clone().flat_map(|y| p.row(y)[columns.clone()].to_vec()).collect();
    whole.iter().map(cut).collect()
}

#[test]
fn rectangles_of_bm3d_are_cut_out_of_the_whole() {
    use bm3d::Profile;
    let cpu = device::open(Device::Cpu, Default::default()).unwrap();
    let (width, height) = (701, 603);
    for (profile, color, scales) in [
        (Profile::Fast, false, 1),
        (Profile::Fast, true, 3),
        (Profile::Normal, false, 2),
        (Profile::Original, false, 1),
    ] {
        let planes: Vec<Plane> =
            (0..if color { 3 } else { 1 }).map(|c| eight_bit(width, height, 20.0, c)).collect();
        let views: Vec<_> = planes.iter().map(Plane::view).collect();
        let plan = sizes(profile, (width, height), color, scales, 20.0);
        let whole = device::picture(&*cpu, &plan, &views, &[], &Control::new()).unwrap();
        for area in [
            (300..341, 290..330),
            (0..64, 250..300),
            (650..701, 560..603),
            (333..334, 7..8),
            (0..701, 300..309),
        ] {
            let got = region(&plan, &planes, area.clone(), |part, from, to| {
                assert!(scales > 1 || part.read().len() < height, "not all of it is read");
                let frame = Input { planes: from, guide: &[] };
                cpu.open(&plan.of(part)).unwrap().frame(&frame, to, &Control::new()).unwrap();
            });
            assert!(got == seen(&whole, area.clone()), "{profile:?}, {scales} sizes, {area:?}");
        }
    }
}

#[test]
fn rectangles_of_any_method_are_nearly_those_of_the_whole() {
    let area = || (200..290, 120..180);
    let planes: Vec<Plane> = (0..3).map(|c| eight_bit(500, 300, 20.0, c)).collect();
    for (builder, most) in [
        (Denoiser::nlm(nlm::Profile::Fast), ROUNDING),
        (Denoiser::isoline(isoline::Profile::Normal), ROUNDING),
        (Denoiser::bm3d(bm3d::Profile::Fast).detail(0.5).grain(0.2), 0.0),
        (Denoiser::ridge(ridge::Profile::Fast), 1.0),
    ] {
        let name = format!("{builder:?}");
        let denoiser = builder.sigma(20.0).device(Device::Cpu).threads(2).build().unwrap();
        let frame = Frame::new(planes.clone(), 255.0).unwrap();
        let resolved = denoiser.resolve(&frame).unwrap().unwrap();
        let whole = denoiser.denoise(&frame).unwrap().into_planes();
        let got = region(&resolved.plan, &planes, area(), |part, from, to| {
            denoiser.run_part(&resolved, part, from, to, &Control::new()).unwrap();
        });
        let want = seen(&whole, area());
        let pairs = got.iter().flatten().zip(want.iter().flatten());
        let worst =
            pairs.map(|(a, b)| (a - b).abs()).fold(0.0, |worst: f32, v| if v <= worst { worst } else { v });
        assert!(worst <= most, "{name}: off by {worst}");
    }
}

#[test]
fn clipping_is_undone_and_residues_are_mixed_in_parts_as_in_the_whole() {
    let dark = [map(&picture(61, 900, 20.0, 1), |v| (v - 90.0).round().clamp(0.0, 255.0))];
    let fast = || Denoiser::bm3d(bm3d::Profile::Fast);
    let (parts, whole) = both(fast(), &dark, 150);
    assert!(parts == whole, "undone");
    let (_, left) = both(fast().undo_clipping(false), &dark, 150);
    assert!(left != whole, "there is something to undo");
    let (parts, mixed) = both(fast().detail(0.5).grain(0.2), &dark, 150);
    assert!(parts == mixed && mixed != whole, "mixed");
}

#[test]
fn nothing_changes_where_nothing_was_clipped() {
    let middle = [eight_bit(61, 400, 20.0, 1)];
    for builder in [Denoiser::bm3d(bm3d::Profile::Fast), Denoiser::nlm(nlm::Profile::Fast)] {
        let run = |builder: DenoiserBuilder| {
            let denoiser = builder.sigma(20.0).device(Device::Cpu).build().unwrap();
            denoiser.denoise(&Frame::new(middle.to_vec(), 255.0).unwrap()).unwrap()
        };
        assert_eq!(run(builder.clone()), run(builder.undo_clipping(false)));
    }
}
