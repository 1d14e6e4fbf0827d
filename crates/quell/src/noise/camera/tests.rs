//! Photographs that were developed here, and pictures that only look like it.

use super::*;
use crate::noise::{Estimator, add_gaussian, measure};
use crate::{Error, Frame, Plane};

const SIDE: usize = 256;

fn plane(f: impl Fn(usize, usize) -> f32) -> Plane {
    Plane::from_vec(SIDE, SIDE, (0..SIDE * SIDE).map(|i| f(i % SIDE, i / SIDE)).collect()).unwrap()
}

fn grey(f: impl Fn(usize, usize) -> f32) -> Frame {
    Frame::grey(plane(f), 255.0).unwrap()
}

fn colour(f: impl Fn(usize, usize, usize) -> f32) -> Frame {
    Frame::new((0..3).map(|c| plane(|x, y| f(c, x, y))).collect(), 255.0).unwrap()
}

/// Flat walls, soft shading, edges, and a corner of texture.
fn scene() -> Frame {
    colour(|c, x, y| {
        let (u, v) = (x as f32, y as f32);
        let tint = [1.0, 0.9, 0.75][c];
        tint * match (x < 128, y < 128) {
            (true, true) => 60.0 + if (x / 40 + y / 50) % 2 == 0 { 50.0 } else { 0.0 },
            (false, true) => 90.0 + 0.4 * u + 0.1 * v,
            (true, false) => 110.0 + 40.0 * (u / 30.0).sin() * (v / 40.0).cos(),
            (false, false) => {
                120.0 + 25.0 * (u * 1.1).sin() * (v * 0.7).cos() + 20.0 * (u * 0.3 + v * 0.5).sin()
            }
        }
    })
}

/// A plane under a kernel of 3 x 3 that is the same across and down, continued at its edges.
fn smoothed(from: &Plane, side: f32, centre: f32) -> Plane {
    let at = |x: isize, y: isize| {
        let clamp = |v: isize| v.clamp(0, SIDE as isize - 1) as usize;
        from.row(clamp(y))[clamp(x)]
    };
    let weight = |d: isize| if d == 0 { centre } else { side };
    plane(|x, y| {
        let window = (-1..2).flat_map(|i: isize| (-1..2).map(move |j: isize| (i, j)));
        window.map(|(i, j)| weight(i) * weight(j) * at(x as isize + j, y as isize + i)).sum()
    })
}

/// The picture as a camera would have it: one colour per pixel, with white noise; the others from neighbours; a little
/// smoothing; 8 bits.
fn developed(clean: &Frame, sigma: f64) -> Frame {
    let noisy = add_gaussian(clean, sigma, 7).unwrap();
    let planes = noisy.planes().iter().enumerate().map(|(c, p)| {
        let here = |x: usize, y: usize| match (y % 2, x % 2) {
            (0, 0) => c == 0,
            (1, 1) => c == 2,
            _ => c == 1,
        };
        // Of the colours that are there, weighted by distance: bilinear demosaicking.
        let sum = smoothed(&plane(|x, y| if here(x, y) { p.row(y)[x] } else { 0.0 }), 0.5, 1.0);
        let count = smoothed(&plane(|x, y| f32::from(u8::from(here(x, y)))), 0.5, 1.0);
        smoothed(&plane(|x, y| sum.row(y)[x] / count.row(y)[x]), 0.25, 0.5)
    });
    rounded(Frame::new(planes.collect(), 255.0).unwrap())
}

fn rounded(mut frame: Frame) -> Frame {
    let white = frame.white();
    for plane in frame.planes_mut() {
        plane.as_mut_slice().iter_mut().for_each(|v| *v = v.round().clamp(0.0, white));
    }
    frame
}

/// The first plane alone, and three times.
fn luma(frame: &Frame) -> (Frame, Frame) {
    let p = &frame.planes()[1];
    (Frame::grey(p.clone(), 255.0).unwrap(), Frame::new(vec![p.clone(); 3], 255.0).unwrap())
}

fn find(frame: &Frame) -> Option<CameraNoise> {
    camera(&frame.view(), None).unwrap()
}

#[track_caller]
fn assert_none(frame: &Frame, what: &str) {
    assert_eq!(find(frame), None, "{what}");
    let by = |estimator| measure(&frame.view(), None, estimator).unwrap();
    assert_eq!(by(Estimator::Auto), by(Estimator::Ponomarenko), "{what}");
}

#[test]
fn noise_of_a_camera_is_found_where_white_noise_is_not() {
    let mut last = 0.0;
    for sigma in [15.0, 25.0, 40.0] {
        let photo = developed(&scene(), sigma);
        let found = find(&photo).unwrap_or_else(|| panic!("nothing at {sigma}"));
        let level = f64::from(found.sigma) / sigma;
        // Demosaicking leaves low frequencies as they were, and two of three colours have a quarter of the pixels.
        assert!((0.6..2.2).contains(&level), "{sigma}: {found:?}");
        assert!(found.confidence > 0.5 && (1.8..4.1).contains(&found.grain), "{sigma}: {found:?}");
        assert!(found.curve.iter().all(|(b, l)| (0.0..256.0).contains(b) && *l > 0.0), "{found:?}");
        assert!(found.sigma > last);
        last = found.sigma;
        let all = measure(&photo.view(), None, Estimator::default()).unwrap();
        assert_eq!((all.sigma, all.camera.as_ref()), (found.sigma, Some(&found)));
        let white = measure(&photo.view(), None, Estimator::Ponomarenko).unwrap();
        assert!(white.camera.is_none() && white.sigma < 0.3 * found.sigma, "{white:?}");
    }
}

#[test]
fn grey_and_equal_channels_have_the_same_noise() {
    // Smoothed twice: grey pictures have to be surer.
    let photo = developed(&colour(|_, x, y| 100.0 + 0.2 * x as f32 + 0.1 * y as f32), 30.0);
    let (one, three) = luma(&photo);
    let (one, three) = (find(&one).unwrap(), find(&three).unwrap());
    assert!(one.chroma.is_none() && one.luma == three.luma && one.curve == three.curve);
    assert!((three.sigma / one.sigma - 3.0_f32.sqrt()).abs() < 1e-4, "{one:?} {three:?}");
}

#[test]
fn white_noise_is_left_to_the_estimators_of_white_noise() {
    for sigma in [3.0, 10.0, 25.0, 50.0] {
        let noisy = add_gaussian(&scene(), sigma, 3).unwrap();
        assert_none(&noisy, &format!("float {sigma}"));
        let noisy = rounded(noisy);
        assert_none(&noisy, &format!("8 bits {sigma}"));
        let (one, three) = luma(&noisy);
        assert_none(&one, &format!("grey {sigma}"));
        assert_none(&three, &format!("equal channels {sigma}"));
    }
}

#[test]
fn clean_pictures_have_no_noise_of_a_camera() {
    type Draw = fn(f32, f32) -> f32;
    let drawn: [(&str, Draw); 9] = [
        ("gradient", |x, y| 20.0 + 0.5 * x + 0.3 * y),
        ("text", |x, y| {
            if (x * 0.9).sin() * (y * 0.7).sin() > 0.3 && (y as u32 / 12).is_multiple_of(2) {
                30.0
            } else {
                250.0
            }
        }),
        ("line art", |x, y| if ((x * x + y * y).sqrt() % 30.0) < 2.0 { 0.0 } else { 255.0 }),
        ("stars", |x, y| if (x as u32 * 7919 + y as u32 * 104_729) % 997 < 3 { 240.0 } else { 8.0 }),
        ("coarse texture", |x, y| 128.0 + 40.0 * (x * 0.2).sin() * (y * 0.15).cos()),
        ("middle texture", |x, y| 128.0 + 40.0 * (x * 0.7 + (y * 0.05).sin() * 4.0).sin() * (y * 0.5).cos()),
        ("fine texture", |x, y| 128.0 + 40.0 * (x * 2.1).sin() * (y * 1.7 + x * 0.1).cos()),
        ("mixed texture", |x, y| {
            128.0 + 30.0 * (x * 0.31 + y * 0.17).sin() + 20.0 * (x * 0.9).cos() * (y * 1.3).sin()
        }),
        ("checks", |x, y| if (x as u32 / 9 + y as u32 / 7).is_multiple_of(2) { 200.0 } else { 60.0 }),
    ];
    for (name, draw) in drawn {
        let one = rounded(grey(|x, y| draw(x as f32, y as f32)));
        assert_none(&one, name);
        assert_none(&rounded(colour(|c, x, y| draw(x as f32, y as f32) * [1.0, 0.8, 0.6][c])), name);
    }
    assert_none(&rounded(scene()), "scene");
}

#[test]
fn blocks_of_which_jpeg_left_the_mean_have_no_noise_of_a_camera() {
    let noisy = developed(&scene(), 10.0);
    let means = noisy.planes().iter().map(|p| {
        plane(|x, y| {
            let block = (0..64).map(|i| p.row(y / 8 * 8 + i / 8)[x / 8 * 8 + i % 8]);
            (block.sum::<f32>() / 64.0).round()
        })
    });
    assert_none(&Frame::new(means.collect(), 255.0).unwrap(), "means of 8 x 8");
}

#[test]
fn units_do_not_matter() {
    let photo = developed(&scene(), 25.0);
    let reference = find(&photo).unwrap();
    for white in [1.0, 1023.0, 65_535.0] {
        let unit = white / 255.0;
        let scaled = photo.planes().iter().map(|p| plane(|x, y| p.row(y)[x] * unit));
        let found = find(&Frame::new(scaled.collect(), white).unwrap()).unwrap();
        assert!((found.sigma / unit / reference.sigma - 1.0).abs() < 1e-3, "{white}: {found:?}");
        assert!((found.curve[0].1 / unit / reference.curve[0].1 - 1.0).abs() < 1e-3, "{white}: {found:?}");
        assert!((found.grain / reference.grain - 1.0).abs() < 1e-3, "{white}: {found:?}");
    }
}

#[test]
fn transparent_parts_tell_nothing() {
    let photo = developed(&scene(), 25.0);
    let alpha = plane(|x, _| if x < 128 { 0.0 } else { 255.0 });
    let junk = Frame::new(
        photo
            .planes()
            .iter()
            .map(|p| plane(|x, y| if x < 128 { ((x * y) % 251) as f32 } else { p.row(y)[x] }))
            .collect(),
        255.0,
    );
    let seen = camera(&photo.view(), Some(&alpha.view())).unwrap();
    assert_eq!(camera(&junk.unwrap().view(), Some(&alpha.view())).unwrap(), seen);
    let none = plane(|_, _| 0.0);
    assert_eq!(camera(&photo.view(), Some(&none.view())).unwrap(), find(&photo));
    let small = Plane::zeros(3, 3);
    assert!(matches!(camera(&photo.view(), Some(&small.view())), Err(Error::Shape(_))));
}

#[test]
fn small_and_degenerate_pictures_are_survived() {
    for (w, h) in [(1, 1), (1, 300), (47, 300), (48, 48), (50, 61)] {
        for (name, value) in [("black", 0.0), ("grey", 77.7), ("white", 255.0), ("beyond", -1e12)] {
            let flat = Plane::from_vec(w, h, vec![value; w * h]).unwrap();
            assert_eq!(find(&Frame::new(vec![flat; 3], 255.0).unwrap()), None, "{name} {w} x {h}");
        }
    }
    assert_none(&grey(|x, y| if (x * 7 + y * 13) % 11 < 5 { 255.0 } else { 0.0 }), "two levels");
    assert_none(&colour(|c, x, y| ((x * 31 + y * 17 + c * 7) % 97) as f32 * 1e9), "huge");
    let hole = grey(|x, y| if (x, y) == (4, 9) { f32::NAN } else { 1.0 });
    assert!(matches!(camera(&hole.view(), None), Err(Error::NotFinite { x: 4, y: 9, .. })));
}
