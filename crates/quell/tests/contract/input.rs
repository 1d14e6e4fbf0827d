//! Clause 8 and the sizes of pictures: what cannot be filtered is refused by name, never guessed or spread.

use quell::bm3d::Profile;
use quell::{Denoiser, Error, Frame, Plane, PlaneView};

use crate::common::{grey, picture};

fn denoiser() -> Denoiser {
    Denoiser::bm3d(Profile::Normal).sigma(20.0).threads(2).build().unwrap()
}

#[test]
fn the_first_bad_sample_is_named() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut planes: Vec<Plane> = (0..3).map(|c| picture(20, 16, 20.0, c)).collect();
        planes[1].row_mut(9)[4] = bad;
        planes[1].row_mut(9)[17] = f32::NAN;
        planes[1].row_mut(15)[0] = f32::NAN;
        planes[2].row_mut(0)[0] = f32::NAN;
        let e = denoiser().denoise(&Frame::new(planes, 255.0).unwrap()).unwrap_err();
        assert!(matches!(e, Error::NotFinite { plane: 1, x: 4, y: 9, .. }), "{e:?}");
        assert_eq!(e.to_string(), format!("plane 1, column 4, row 9 is {bad}, not a finite number"));
    }
}

#[test]
fn a_bad_sample_between_the_rows_of_a_view_is_nobodys_business() {
    let mut plane = picture(40, 20, 20.0, 1);
    (0..20).for_each(|y| plane.row_mut(y)[30..].fill(f32::NAN));
    let view = PlaneView::new(30, 20, 40, plane.as_slice()).unwrap();
    let frame = quell::FrameView::new(vec![view], 255.0).unwrap();
    let out = denoiser().denoise(frame).unwrap();
    assert!(out.planes()[0].as_slice().iter().all(|v| v.is_finite()));
}

#[test]
fn pictures_smaller_than_a_patch_are_refused_with_both_sizes() {
    for (w, h) in [(1, 1), (1, 100), (100, 1), (7, 8), (8, 7), (3, 5)] {
        let e = denoiser().denoise(&grey(Plane::zeros(w, h))).unwrap_err();
        let want = format!("a picture of {w} x {h} pixels is smaller than a patch of 8 x 8");
        assert!(matches!(e, Error::Shape(_)));
        assert_eq!(e.to_string(), want);
    }
    // The larger patch of the two passes counts.
    let strong = Denoiser::bm3d(Profile::Vn).sigma(60.0).build().unwrap();
    let e = strong.denoise(&grey(Plane::zeros(10, 30))).unwrap_err();
    assert!(e.to_string().ends_with("smaller than a patch of 11 x 11"), "{e}");
    let estimating = Denoiser::bm3d(Profile::Normal).build().unwrap();
    assert!(matches!(estimating.denoise(&grey(picture(4, 4, 20.0, 1))), Err(Error::Shape(_))));
}

#[test]
fn any_other_size_is_filtered() {
    for (w, h) in [(8, 8), (9, 17), (17, 9), (8, 211), (211, 8), (13, 13), (31, 64), (101, 37), (65, 127)] {
        let out = denoiser().denoise(&grey(picture(w, h, 20.0, 3))).unwrap();
        assert_eq!((out.width(), out.height()), (w, h));
        assert!(out.planes()[0].as_slice().iter().all(|v| (20.0..240.0).contains(v)), "{w} x {h}");
    }
}

#[test]
fn impossible_planes_and_frames_are_errors() {
    assert!(matches!(Plane::from_vec(0, 4, vec![]), Err(Error::Shape(_))));
    assert!(matches!(Plane::from_vec(4, 4, vec![0.0; 15]), Err(Error::Shape(_))));
    assert!(matches!(Plane::from_vec(usize::MAX, 2, vec![0.0; 2]), Err(Error::Shape(_))));
    assert!(matches!(PlaneView::new(4, 4, 3, &[0.0; 16]), Err(Error::Shape(_))));
    assert!(matches!(PlaneView::new(4, 4, usize::MAX, &[0.0; 16]), Err(Error::Shape(_))));
    assert!(matches!(PlaneView::new(4, 4, 5, &[0.0; 18]), Err(Error::Shape(_))));
    assert!(PlaneView::new(4, 4, 5, &[0.0; 19]).is_ok());
    let plane = || Plane::zeros(8, 8);
    assert!(matches!(Frame::new(vec![], 255.0), Err(Error::Shape(_))));
    assert!(matches!(Frame::new(vec![plane(), plane()], 255.0), Err(Error::Shape(_))));
    assert!(matches!(Frame::new(vec![plane(), plane(), Plane::zeros(8, 9)], 255.0), Err(Error::Shape(_))));
    for white in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(Frame::grey(plane(), white), Err(Error::Parameter { .. })), "{white}");
    }
}

#[test]
fn impossible_noise_is_refused_by_name() {
    for bad in [0.0, -3.0, f32::NAN, f32::INFINITY] {
        let sigma = Denoiser::bm3d(Profile::Normal).sigma(bad).build().unwrap_err();
        assert_eq!(sigma.to_string(), format!("sigma = {bad}: must be a positive number"));
        let strength = Denoiser::bm3d(Profile::Normal).sigma(1.0).strength(bad).build().unwrap_err();
        assert!(strength.to_string().starts_with("strength = "), "{strength}");
    }
}

#[test]
fn planes_that_do_not_fit_the_plan_are_an_error() {
    use quell::device::{DeviceOptions, cpu::Cpu, picture as filter};
    let cpu = Cpu::new(DeviceOptions::default()).unwrap();
    let plan = quell::bm3d::Plan::new(&Profile::Fast.params(20.0), 20, 16, &[20.0]).unwrap();
    let (good, wide) = (picture(20, 16, 20.0, 1), picture(21, 16, 20.0, 1));
    let plan = plan.into();
    let run = |planes: &[PlaneView<'_>]| filter(&cpu, &plan, planes, &[], &quell::Control::new());
    assert!(run(&[good.view()]).is_ok());
    for planes in [&[][..], &[wide.view()], &[good.view(), good.view()]] {
        assert!(matches!(run(planes), Err(Error::Shape(_))));
    }
}
