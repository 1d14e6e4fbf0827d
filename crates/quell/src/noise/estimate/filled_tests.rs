//! Pictures that are filled, cut off or transparent in large parts: the rest decides.

use super::*;
use crate::Frame;
use crate::noise::add_gaussian;

const WIDTH: usize = 256;

fn picture(white: f32, f: impl Fn(usize, usize) -> f32) -> Frame {
    let samples = (0..WIDTH * WIDTH).map(|i| f(i % WIDTH, i / WIDTH)).collect();
    Frame::grey(Plane::from_vec(WIDTH, WIDTH, samples).unwrap(), white).unwrap()
}

/// Soft shading with noise, as 8 bits have it.
fn recorded(sigma: f64, brightness: f32) -> Frame {
    let clean = picture(255.0, |x, y| {
        brightness + 30.0 * (x as f32 / 40.0).sin() * (y as f32 / 55.0).cos() + (x + y) as f32 / 16.0
    });
    let mut noisy = add_gaussian(&clean, sigma, 5).unwrap();
    let samples = noisy.planes_mut()[0].as_mut_slice();
    samples.iter_mut().for_each(|v| *v = v.round().clamp(0.0, 255.0));
    noisy
}

/// `inside` where the condition holds, else a value.
fn framed(inside: &Frame, value: f32, keep: impl Fn(usize, usize) -> bool) -> Frame {
    picture(inside.white(), |x, y| if keep(x, y) { inside.planes()[0].row(y)[x] } else { value })
}

#[track_caller]
fn assert_found(frame: &Frame, sigma: f32, tolerance: f32, what: &str) {
    for estimator in Estimator::ALL {
        let found = measure(&frame.view(), None, estimator).unwrap();
        let error = found.worth_removing() / sigma - 1.0;
        assert!(error.abs() < tolerance, "{what}, {}: {found:?}", estimator.name());
    }
}

#[track_caller]
fn assert_none(frame: &Frame, what: &str) {
    for estimator in Estimator::ALL {
        let found = measure(&frame.view(), None, estimator).unwrap();
        assert_eq!(found.worth_removing(), 0.0, "{what}, {}: {found:?}", estimator.name());
    }
}

#[test]
fn a_filled_part_changes_nothing_of_what_is_found_in_the_rest() {
    for (sigma, value) in [(3.0, 255.0), (10.0, 0.0), (10.0, 90.0), (25.0, 200.0)] {
        let noisy = recorded(sigma, 110.0);
        let half = framed(&noisy, value, |x, _| x >= 150);
        let rest = PlaneView::new(WIDTH - 150, WIDTH, WIDTH, &noisy.planes()[0].as_slice()[150..]).unwrap();
        let rest = FrameView::new(vec![rest], 255.0).unwrap();
        for estimator in Estimator::ALL {
            let (with, alone) =
                (estimate(&half.view(), estimator).unwrap(), estimate(&rest, estimator).unwrap());
            let what = format!("{} at {sigma} beside {value}", estimator.name());
            assert!((with / alone - 1.0).abs() < 0.03, "{what}: {with} and {alone}");
            assert!((f64::from(with) / sigma - 1.0).abs() < 0.13, "{what}: {with}");
        }
    }
}

#[test]
fn noise_is_found_between_the_bars_of_a_letterbox() {
    for sigma in [4.0, 12.0] {
        let strip = framed(&recorded(sigma, 100.0), 16.0, |_, y| (115..141).contains(&y));
        assert_found(&strip, sigma as f32, 0.15, &format!("sigma {sigma}"));
        assert!(measure(&strip.view(), None, Estimator::default()).unwrap().blocks.flat > 45_000);
    }
}

#[test]
fn noise_is_found_under_a_burnt_sky() {
    // Two thirds are at white but for single samples, as clipping leaves them.
    let bright = recorded(8.0, 250.0);
    let dark = recorded(8.0, 100.0);
    let sky = picture(255.0, |x, y| {
        let from = if y < 170 { &bright } else { &dark };
        if y < 120 { 255.0 } else { from.planes()[0].row(y)[x] }
    });
    assert_found(&sky, 8.0, 0.12, "burnt");
}

#[test]
fn clipping_is_seen_at_the_highest_value_of_a_picture_too() {
    // Saturated at 170 of 255, as a sensor of fewer bits is.
    let mut frame = recorded(10.0, 110.0);
    let bright = recorded(10.0, 150.0);
    for y in 0..170 {
        frame.planes_mut()[0].row_mut(y).copy_from_slice(bright.planes()[0].row(y));
    }
    frame.planes_mut()[0].as_mut_slice().iter_mut().for_each(|v| *v = v.min(170.0));
    let found = measure(&frame.view(), None, Estimator::default()).unwrap();
    assert!((found.sigma / 10.0 - 1.0).abs() < 0.06 && found.blocks.clipped > 10_000, "{found:?}");
}

#[test]
fn what_is_transparent_is_not_looked_at() {
    let noisy = recorded(10.0, 100.0);
    let alpha = Plane::from_vec(
        WIDTH,
        WIDTH,
        (0..WIDTH * WIDTH)
            .map(|i| {
                let (x, y) = (i % WIDTH, i / WIDTH);
                if (x as f32 - 128.0).hypot(y as f32 - 128.0) < 70.0 { 255.0 } else { 0.0 }
            })
            .collect(),
    )
    .unwrap();
    // Rubbish of another noise where nothing is seen.
    let rubbish = recorded(40.0, 128.0);
    let cut = picture(255.0, |x, y| {
        let from = if alpha.row(y)[x] > 0.0 { &noisy } else { &rubbish };
        from.planes()[0].row(y)[x]
    });
    for estimator in Estimator::ALL {
        let found = measure(&cut.view(), Some(&alpha.view()), estimator).unwrap();
        assert!((found.sigma / 10.0 - 1.0).abs() < 0.12, "{}: {found:?}", estimator.name());
        assert!(found.blocks.transparent > found.blocks.used);
    }
    // Alpha of nothing but 0 says nothing.
    let nothing = Plane::zeros(WIDTH, WIDTH);
    let found = measure(&noisy.view(), Some(&nothing.view()), Estimator::default()).unwrap();
    assert!((found.sigma / 10.0 - 1.0).abs() < 0.1, "{found:?}");
    let small = Plane::zeros(WIDTH, 3);
    assert!(measure(&noisy.view(), Some(&small.view()), Estimator::default()).is_err());
}

#[test]
fn clean_drawings_have_no_noise() {
    let smooth = |d: f32| 255.0 * (0.5 + d).clamp(0.0, 1.0);
    let discs = picture(255.0, |x, y| {
        let (u, v) = ((x % 50) as f32 - 25.0, (y % 50) as f32 - 25.0);
        smooth(u.hypot(v) - 17.0).round()
    });
    let hatched = picture(255.0, |x, y| if x < 120 && (x + 2 * y) % 7 < 2 { 20.0 } else { 240.0 });
    let ramp =
        picture(255.0, |x, y| if y < 150 { 230.0 } else { (x as f32 * 0.7 + y as f32 * 0.31).round() });
    let stars = picture(1.0, |x, y| {
        let (u, v) = ((x % 37) as f32 - 18.0, (y % 41) as f32 - 20.0);
        if u.hypot(v) < 4.0 { 0.02 + 0.9 * (-(u * u + v * v) / 2.0).exp() } else { 0.02 }
    });
    for (frame, what) in [(discs, "discs"), (hatched, "hatched"), (ramp, "ramp"), (stars, "stars")] {
        assert_none(&frame, what);
    }
}

#[test]
fn clean_text_has_no_noise() {
    // Strokes of letters on a 6 x 10 raster, sharp and with soft edges, over half of a page.
    let bit = |x: usize, y: usize| {
        let (letter, line) = (x / 6, y / 10);
        let (u, v) = (x % 6, y % 10);
        let shape = (letter * 7919 + line * 104_729) % 1021;
        letter % 8 != 7 && u < 5 && v < 7 && y % 20 < 17 && (shape >> ((u * 3 + v * 5) % 10)) & 1 == 1
    };
    let text = |soft: bool| {
        picture(255.0, |x, y| {
            if y > 150 {
                return 255.0;
            }
            let at = |dx: usize, dy: usize| if bit(x + dx, y + dy) { 0.0 } else { 255.0 };
            let soft_value = 0.5 * at(0, 0) + 0.3 * at(1, 0) + 0.2 * at(0, 1);
            if soft { f32::round(soft_value) } else { at(0, 0) }
        })
    };
    assert_none(&text(false), "sharp");
    assert_none(&text(true), "soft");
}

#[test]
fn counts_in_a_small_part_of_the_range_have_a_floor_of_their_own() {
    // 0 to 900 of 65535: noise of 6 counts is 0.02 on the 0..255 scale, and is there all the same.
    let mut counts = recorded(2.0, 110.0);
    let samples = counts.planes_mut()[0].as_mut_slice();
    samples.iter_mut().for_each(|v| *v *= 3.0);
    let counts = Frame::new(add_gaussian(&counts, 3.0, 1).unwrap().into_planes(), 65_535.0).unwrap();
    let counts = picture(65_535.0, |x, y| counts.planes()[0].row(y)[x].round().max(0.0));
    let found = measure(&counts.view(), None, Estimator::default()).unwrap();
    assert!((found.worth_removing() / 45.0_f32.sqrt() - 1.0).abs() < 0.1, "{found:?}");
}

#[test]
fn the_floor_follows_the_steps_between_values_and_the_used_range() {
    let floor = |white: f32, unit: f32, step: f32| {
        let frame = picture(white, |x, y| ((x * 7 + y * 13) as f32 * 0.05 / step).round() * step * unit);
        measure(&frame.view(), None, Estimator::default()).unwrap().floor / unit
    };
    // 8 bits, as they are and in 16 bits and floats: a tenth of a level.
    for (white, unit) in [(255.0, 1.0), (65_535.0, 257.0), (1.0, 1.0 / 255.0)] {
        assert!((floor(white, unit, 1.0) - 0.1).abs() < 1e-3, "{}", floor(white, unit, 1.0));
    }
    // Finer steps: a part of the range of 0 to 255, whatever white is.
    for white in [255.0, 65_535.0] {
        assert!((floor(white, 1.0, 0.01) - 0.1).abs() < 0.005, "{}", floor(white, 1.0, 0.01));
    }
}
