//! Parts of a picture, put together, are the picture: bit by bit on the processor.

use quell::device::{Samples, SamplesMut};
use quell::{Control, Denoiser, DenoiserBuilder, Device, Frame, Plane, bm3d, isoline, nlm};

use crate::common::{eight_bit, map, picture};

/// The whole picture at once, and in parts of so many rows.
fn both(builder: DenoiserBuilder, planes: &[Plane], rows: usize) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let denoiser = builder.sigma(20.0).device(Device::Cpu).threads(2).build().unwrap();
    let frame = Frame::new(planes.to_vec(), 255.0).unwrap();
    let whole = denoiser.denoise(&frame).unwrap().into_planes();
    let (width, height) = (frame.width(), frame.height());
    let resolved = denoiser.resolve_rows(height, &frame, None).unwrap().unwrap();
    let parts = resolved.plan.parts(rows);
    assert!(parts.len() > 2 && parts[parts.len() - 1].read().start > 0, "{parts:?}");
    let mut out = vec![vec![f32::NAN; width * height]; planes.len()];
    for part in parts {
        let (read, write, kept) = (part.read(), part.write(), part.kept());
        let span = |rows: &std::ops::Range<usize>| rows.start * width..rows.end * width;
        let from: Vec<Samples<'_>> =
            planes.iter().map(|p| Samples::F32(&p.as_slice()[span(&read)])).collect();
        let mut results = vec![vec![0.0; read.len() * width]; planes.len()];
        let mut to: Vec<SamplesMut<'_>> = results.iter_mut().map(|p| SamplesMut::F32(p)).collect();
        denoiser.run_part(&resolved, &part, &from, &mut to, &Control::new()).unwrap();
        for (out, result) in out.iter_mut().zip(&results) {
            out[span(&write)].copy_from_slice(&result[span(&kept)]);
        }
    }
    (out, whole.into_iter().map(Plane::into_vec).collect())
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
