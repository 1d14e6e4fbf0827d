//! Clause 1: one scale inside, whatever the units, layout and range of the picture.

use quell::bm3d::Profile;
use quell::{ColorMode, Denoiser, Frame, FrameView, Plane, PlaneView, metrics};

use crate::common::{TOLERANCE, clean, eight_bit, grey, map, picture, worst};

fn denoise(frame: &Frame, sigma: f32) -> Frame {
    Denoiser::bm3d(Profile::Normal).sigma(sigma).threads(2).build().unwrap().denoise(frame).unwrap()
}

#[test]
fn another_white_level_scales_the_result() {
    let plane = eight_bit(80, 61, 25.0, 1);
    let want = denoise(&grey(plane.clone()), 25.0);
    for white in [1.0, 1023.0, 65535.0] {
        let factor = white / 255.0;
        let frame = Frame::grey(map(&plane, |v| v * factor), white).unwrap();
        let got = denoise(&frame, 25.0);
        assert_eq!(got.white(), white);
        let off = worst(&map(&got.planes()[0], |v| v / factor), &want.planes()[0]);
        assert!(off < TOLERANCE, "white {white}: off by {off}");
    }
}

#[test]
fn doubling_the_units_changes_no_bit() {
    // Scaling by a power of two is exact, so the engine sees the same samples.
    let plane = picture(61, 50, 25.0, 2);
    let want = denoise(&grey(plane.clone()), 25.0);
    let got = denoise(&Frame::grey(map(&plane, |v| 2.0 * v), 510.0).unwrap(), 25.0);
    assert_eq!(map(&got.planes()[0], |v| v / 2.0), want.planes()[0]);
}

#[test]
fn strided_views_equal_copies() {
    let planes: Vec<Plane> = (0..3).map(|c| eight_bit(90, 70, 25.0, c)).collect();
    let crop = |p: &Plane| PlaneView::new(53, 41, 90, &p.as_slice()[12 * 90 + 7..]).map(|v| v.to_plane());
    let copy = Frame::new(planes.iter().map(|p| crop(p).unwrap()).collect(), 255.0).unwrap();
    let views = planes.iter().map(|p| PlaneView::new(53, 41, 90, &p.as_slice()[12 * 90 + 7..]).unwrap());
    let view = FrameView::new(views.collect(), 255.0).unwrap();
    let denoiser = Denoiser::bm3d(Profile::Normal).sigma(25.0).threads(2).build().unwrap();
    assert_eq!(copy.planes()[1].row(3), &planes[1].row(15)[7..60]);
    assert_eq!(denoiser.denoise(view).unwrap(), denoiser.denoise(&copy).unwrap());
}

#[test]
fn independent_channels_are_grey_pictures() {
    let planes: Vec<Plane> = (0..3).map(|c| picture(48, 37, 20.0, c)).collect();
    let rgb = Frame::new(planes.clone(), 255.0).unwrap();
    let denoiser = Denoiser::bm3d(Profile::Normal).sigma(20.0).color(ColorMode::Independent).build().unwrap();
    let got = denoiser.denoise(&rgb).unwrap();
    for (got, plane) in got.planes().iter().zip(planes) {
        assert_eq!(got, &denoise(&grey(plane), 20.0).planes()[0]);
    }
}

#[test]
fn a_grey_picture_as_rgb_stays_grey() {
    let plane = eight_bit(64, 50, 12.0, 3);
    let rgb = Frame::new(vec![plane.clone(); 3], 255.0).unwrap();
    for mode in ColorMode::ALL {
        // A profile whose parameters are the same for all noise below 40.
        let profile = || Denoiser::bm3d(Profile::Np);
        let got = profile().sigma(20.0).color(mode).build().unwrap().denoise(&rgb).unwrap();
        for other in &got.planes()[1..] {
            let off = worst(&got.planes()[0], other);
            assert!(off < 0.01, "{mode:?}: channels drift apart by {off}");
        }
        // Luma of three equal channels is the picture itself, with the noise that the mode expects in it.
        let luma = grey(plane.clone());
        let gain = mode.noise_gain()[0] as f32;
        let want = profile().sigma(20.0 * gain).build().unwrap().denoise(&luma).unwrap();
        let off = worst(&got.planes()[0], &want.planes()[0]);
        assert!(off < TOLERANCE, "{mode:?}: off by {off} from the grey result");
    }
}

#[test]
fn luma_mode_leaves_colour_alone() {
    let planes = (0..3).map(|c| picture(40, 33, 15.0, c)).collect();
    let rgb = Frame::new(planes, 255.0).unwrap();
    let denoiser = Denoiser::bm3d(Profile::Fast).sigma(15.0).color(ColorMode::Luma).build().unwrap();
    let got = denoiser.denoise(&rgb).unwrap();
    let difference = |f: &Frame| {
        let [r, b] = [0, 2].map(|c| f.planes()[c].as_slice().to_vec());
        Plane::from_vec(40, 33, r.iter().zip(b).map(|(r, b)| r - b).collect()).unwrap()
    };
    assert!(worst(&difference(&got), &difference(&rgb)) < 0.001);
    assert_ne!(got, rgb);
}

#[test]
fn pictures_far_from_black_and_white_are_filtered_as_well_as_others() {
    let quality = |offset: f32| {
        let truth = grey(map(&clean(72, 60), |v| v + offset));
        let noisy = grey(map(&picture(72, 60, 20.0, 4), |v| v + offset));
        metrics::psnr(&truth, &denoise(&noisy, 20.0)).unwrap().all
    };
    let want = quality(0.0);
    // What lies beyond white by less than the noise is taken for noise and compared as white.
    for (offset, most) in [(-250.0, 0.2), (-100.0, 0.4), (100.0, 0.4), (300.0, 0.2), (2000.0, 0.2)] {
        let got = quality(offset);
        assert!((got - want).abs() < most, "offset {offset}: {got}, not {want}");
    }
}

#[test]
fn the_mean_of_a_dark_picture_is_kept() {
    // The second pass takes the mean from the noisy picture, so the first one has to be looked at by itself.
    for passes in ["1", "2"] {
        for patch in ["8", "7"] {
            let denoiser = Denoiser::bm3d(Profile::Normal)
                .sigma(25.0)
                .set("hard.transform", "dct")
                .set("hard.patch", patch)
                .set("wiener.patch", patch)
                .set("passes", passes)
                .build()
                .unwrap();
            for level in [0.5, 1.0, -40.0] {
                let flat = grey(Plane::from_vec(40, 30, vec![level; 1200]).unwrap());
                let got = denoiser.denoise(&flat).unwrap();
                let kept = got.planes()[0].as_slice().iter().all(|v| (v - level).abs() < 1e-3);
                assert!(kept, "{level}, {passes} passes, patches of {patch}");
            }
        }
    }
}

#[test]
fn highlights_keep_their_height() {
    let lamp = |x: usize, y: usize| (20..32).contains(&x) && (16..30).contains(&y);
    let at = |p: &mut Plane| {
        (0..p.height()).for_each(|y| {
            p.row_mut(y).iter_mut().enumerate().filter(|&(x, _)| lamp(x, y)).for_each(|(_, v)| *v += 2000.0);
        });
    };
    let (mut truth, mut noisy) = (clean(60, 48), picture(60, 48, 15.0, 5));
    at(&mut truth);
    at(&mut noisy);
    let got = denoise(&grey(noisy), 15.0);
    let off = worst(&got.planes()[0], &truth);
    assert!(off < 60.0, "off by {off}");
    assert!(got.planes()[0].as_slice().iter().copied().fold(0.0, f32::max) > 2050.0);
}
