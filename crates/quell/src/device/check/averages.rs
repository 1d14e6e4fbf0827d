//! Averages of frames: BM3D and context ridge that know of how many frames each pixel is one, against the scalar reference.

use super::picture::{clean, noisy};
use super::{CaseResult, Limited, Measured, PSNR_TOLERANCE, psnr, views, worst};
use crate::device::{self, Backend};
use crate::method::{self, Frames};
use crate::{Control, Plane, PlaneView, Result, bm3d, ridge};

const SIZE: (usize, usize) = (61, 50);

/// BM3D, as one of the cases of the suite.
pub(super) fn bm3d(device: &dyn Backend, quick: bool, report: &mut dyn FnMut(CaseResult)) {
    use bm3d::{Plan, Profile, reference};
    let cases = [(Profile::Normal, 25.0), (Profile::Original, 40.0), (Profile::High, 10.0)];
    for (profile, sigma) in cases.into_iter().take(if quick { 1 } else { 3 }) {
        let measured = Plan::new(&profile.params(sigma), SIZE.0, SIZE.1, &[sigma]).and_then(|plan| {
            let reference =
                |y: &[PlaneView<'_>], n: &PlaneView<'_>| reference::run_counted(&plan, y, Some(n)).last;
            check(device, plan.clone().into(), sigma, reference)
        });
        let name = format!("averages of frames, profile {}, sigma {sigma}", profile.name());
        report(CaseResult::new(&name, measured));
    }
}

/// Context ridge, likewise.
pub(super) fn ridge(device: &dyn Backend, quick: bool, report: &mut dyn FnMut(CaseResult)) {
    use ridge::{Plan, Profile, reference};
    let cases = [(Profile::Normal, 25.0), (Profile::High, 15.0), (Profile::Fast, 40.0)];
    for (profile, sigma) in cases.into_iter().take(if quick { 1 } else { 3 }) {
        let measured = Plan::new(&profile.params(sigma), SIZE.0, SIZE.1, &[sigma]).and_then(|plan| {
            let reference =
                |y: &[PlaneView<'_>], n: &PlaneView<'_>| reference::run_counted(&plan, y, Some(n));
            check(device, plan.clone().into(), sigma, reference)
        });
        let name = format!("ridge: averages of frames, profile {}, sigma {sigma}", profile.name());
        report(CaseResult::new(&name, measured));
    }
}

/// A picture that is the average of one to nine frames, in waves.
fn check(
    device: &dyn Backend,
    plan: method::Plan,
    sigma: f32,
    reference: impl FnOnce(&[PlaneView<'_>], &PlaneView<'_>) -> Vec<Plane>,
) -> Result<Measured> {
    let (w, h) = SIZE;
    let clean = vec![clean(w, h, 0.0)];
    let count = |i: usize| 5.0 + 4.0 * (0.35 * (i % w) as f32).sin() * (0.23 * (i / w) as f32).cos();
    let counts = Plane::from_vec(w, h, (0..w * h).map(count).collect())?;
    let mut average = vec![noisy(&clean[0], sigma, 5)?];
    let pixels = average[0].as_mut_slice().iter_mut().zip(clean[0].as_slice()).zip(counts.as_slice());
    pixels.for_each(|((v, clean), n)| *v = clean + (*v - clean) / n.sqrt());
    let plan = plan.over(Frames::Counted)?;
    let got = device::picture(device, &plan, &views(&average), &[counts.view()], &Control::new())?;
    let want = reference(&views(&average), &counts.view());
    Ok(Measured {
        worst: Limited::new(worst(&got, &want), sigma),
        psnr_db: Some((psnr(&clean, &got) - psnr(&clean, &want)).abs()),
        // Smaller pictures have less to average over.
        psnr_limit: PSNR_TOLERANCE * (512.0 * 512.0 / (w * h) as f64).sqrt(),
        ..Measured::default()
    })
}
