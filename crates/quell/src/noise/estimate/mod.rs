//! Estimators of the deviation of white noise from a single picture, and the choice between it and noise of a camera.
//!
//! All of them are equivariant: a picture in other units gives the same estimate in those units. All of them
//! look at a bounded number of places, the same for the same size, so that large pictures cost little more than
//! small ones and the result never depends on threads or chance.

pub(super) mod bands;
mod blocks;
mod coarse;
mod dct;
mod eigen;
mod judge;
mod mad;
mod pca;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use blocks::Blocks;

use super::Model;
use super::camera::{self, CameraNoise};
use super::curve::{self, Curve};
use crate::memory::check_planes;
use crate::{Error, FrameView, Plane, PlaneView, Result};
use blocks::SIDE;
use judge::{Content, Judge};

/// How the noise is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Estimator {
    /// Noise of a developed photograph ([`camera`](super::camera())) where it is found, else what `Ponomarenko` finds.
    #[default]
    Auto,
    /// High frequencies of the quietest blocks (after Ponomarenko et al.). The most accurate one by far where
    /// there is texture.
    Ponomarenko,
    /// The same at half the size. For photographs whose noise is not white any more (demosaicked, resized, JPEG)
    /// and of which the others find too little; a little less accurate on white noise.
    Coarse,
    /// Smallest principal components of patches (Chen et al. 2015). Too high on textured pictures with little
    /// noise.
    Pca,
    /// Median of the finest diagonal wavelet band (Donoho). The fastest; too high on textured pictures.
    Mad,
    /// Variances of quiet blocks against their brightness, a line through them: white noise that depends on brightness, as
    /// counts of photons have it. Where it does not depend, as `Ponomarenko`.
    Poisson,
}

impl Estimator {
    /// Every estimator, in the order of `--help`.
    pub const ALL: [Self; 6] =
        [Self::Auto, Self::Ponomarenko, Self::Coarse, Self::Pca, Self::Mad, Self::Poisson];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ponomarenko => "ponomarenko",
            Self::Coarse => "coarse",
            Self::Pca => "pca",
            Self::Mad => "mad",
            Self::Poisson => "poisson",
        }
    }

    /// The estimator of white noise that this one is, or falls back to.
    pub(crate) fn of_white_noise(self) -> Self {
        if matches!(self, Self::Auto | Self::Poisson) { Self::Ponomarenko } else { self }
    }
}

impl std::str::FromStr for Estimator {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|e| e.name() == s).ok_or_else(|| {
            Error::parameter("estimator", s, "one of auto, ponomarenko, coarse, pca, mad, poisson")
        })
    }
}

/// Less noise than this part of the largest value is the rounding of `f32`, not noise.
const ROUNDING: f32 = 1e-6;
/// Noise of less than this part of a step between values does not survive rounding to them.
const WHOLE: f32 = 0.1;
/// Of noise below this part of the used range nothing would be seen.
const SEEN: f32 = 0.1 / 255.0;

/// What was found of a picture's noise.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// Its deviation in the picture's own units: for colour, the root of the channels' mean variance; 0 for none. Of a
    /// camera's noise, the level to filter for.
    pub sigma: f32,
    /// Less noise than this is none: it would not survive rounding to the values that the picture has, or nothing would
    /// be seen of it in the range that the picture uses.
    pub floor: f32,
    /// The blocks that were looked at.
    pub blocks: Blocks,
    /// What it is like, where it is a camera's.
    pub camera: Option<CameraNoise>,
    /// How it depends on brightness, where it does; `sigma` is a typical deviation then.
    pub curve: Option<Curve>,
}

impl Found {
    /// The deviation; 0 if removing it would change nothing to speak of.
    pub fn worth_removing(&self) -> f32 {
        if self.sigma < self.floor { 0.0 } else { self.sigma }
    }

    /// What it is like, of a picture with this white; nothing, if removing it would change nothing to speak of.
    pub fn model(&self, white: f32) -> Result<Option<Model>> {
        let sigma = self.worth_removing();
        if sigma <= 0.0 {
            return Ok(None);
        }
        let unit = 255.0 / white;
        Ok(Some(match (&self.camera, &self.curve) {
            (Some(camera), _) => Model::camera(camera.clone().scaled(unit, 1.0))?,
            (None, Some(curve)) => Model::curve(curve.clone()),
            (None, None) => Model::white(sigma * unit)?,
        }))
    }
}

/// Deviation of the noise in the frame's own units: for colour, the root of the channels' mean variance.
///
/// 0 means that no noise was found: the picture is constant, or mostly made of areas of one exact value as drawings
/// are, and what is left of it is too little or looks drawn as well. Pictures with too few blocks for the chosen
/// estimator (sides below 8 pixels, hardly anything that is not black or white) are estimated by [`Estimator::Mad`]; a
/// single pixel gives 0.
///
/// ```
/// use quell::{Frame, Plane, noise};
/// let grey = Frame::grey(Plane::from_vec(256, 256, vec![0.5; 65536])?, 1.0)?;
/// let noisy = noise::add_gaussian(&grey, 0.1, 0)?;
/// let sigma = noise::estimate(&noisy.view(), noise::Estimator::default())?;
/// assert!((sigma - 0.1).abs() < 0.005);
/// # Ok::<(), quell::Error>(())
/// ```
pub fn estimate(frame: &FrameView<'_>, estimator: Estimator) -> Result<f32> {
    Ok(measure(frame, None, estimator)?.sigma)
}

/// The same with all that was found. Where `alpha` is 0 nothing is looked at, unless it is 0 everywhere.
///
/// ```
/// use quell::{Frame, Plane, noise};
/// let grey = Frame::grey(Plane::from_vec(256, 256, vec![100.0; 65536])?, 255.0)?;
/// let noisy = noise::add_gaussian(&grey, 5.0, 0)?;
/// // The left half is cut out.
/// let alpha = Plane::from_vec(256, 256, (0..65536).map(|i| if i % 256 < 128 { 0.0 } else { 255.0 }).collect())?;
/// let found = noise::measure(&noisy.view(), Some(&alpha.view()), noise::Estimator::default())?;
/// assert!(found.blocks.transparent > found.blocks.used);
/// assert!((found.worth_removing() - 5.0).abs() < 0.3);
/// # Ok::<(), quell::Error>(())
/// ```
pub fn measure(frame: &FrameView<'_>, alpha: Option<&PlaneView<'_>>, estimator: Estimator) -> Result<Found> {
    frame.check_finite()?;
    measure_finite(frame, alpha, estimator)
}

/// The same of samples that are known to be finite.
pub(crate) fn measure_finite(
    frame: &FrameView<'_>,
    alpha: Option<&PlaneView<'_>>,
    estimator: Estimator,
) -> Result<Found> {
    // Estimators take some of the samples, or half-size copies.
    check_planes(1, frame.width(), frame.height())?;
    let alpha = alpha.map(|a| seen(frame, a)).transpose()?.flatten();
    let (white, camera) = rayon::join(
        || white_noise(frame, alpha, estimator.of_white_noise()),
        || if estimator == Estimator::Auto { camera::find(frame, alpha.as_ref()) } else { None },
    );
    // In doubt the level of a camera's noise is low; white noise is then the more there is.
    if let Some(camera) = camera.filter(|camera| camera.sigma > white.sigma) {
        return Ok(Found { sigma: camera.sigma, camera: Some(camera), ..white });
    }
    // Pictures of 8 bits are developed, and stabilising those loses (docs/noise-model.md).
    let linear = estimator == Estimator::Auto && frame.white() != 255.0 && white.worth_removing() > 0.0;
    if !linear && estimator != Estimator::Poisson {
        return Ok(white);
    }
    Ok(match curve::find(frame, alpha).filter(|found| found.dependent) {
        Some(found) => {
            let sigma = found.curve.typical() * frame.white() / 255.0;
            Found { sigma, curve: Some(found.curve), ..white }
        }
        None => white,
    })
}

/// The noise as far as it is white.
fn white_noise(frame: &FrameView<'_>, alpha: Option<PlaneView<'_>>, estimator: Estimator) -> Found {
    let halved = (estimator == Estimator::Coarse && frame.width() > 1 && frame.height() > 1).then(|| {
        let planes: Vec<Plane> = frame.planes().iter().map(coarse::halve).collect();
        (planes, alpha.as_ref().map(coarse::halve_alpha))
    });
    let whole = || Survey::new(frame.planes().to_vec(), frame.white(), alpha);
    let mut survey = match &halved {
        Some((planes, alpha)) => {
            let views = planes.iter().map(Plane::view).collect();
            Survey::new(views, frame.white(), alpha.as_ref().map(Plane::view))
        }
        None => whole(),
    };
    let scale = if halved.is_some() { 2.0 } else { 1.0 };
    let sigma = match survey.deviation(estimator) {
        Some(sigma) => scale * sigma,
        None => whole().median_deviation(),
    };
    let (low, high) = frame.range();
    let sigma = if sigma < low.abs().max(high.abs()) * ROUNDING { 0.0 } else { sigma };
    // Means of 2 x 2 samples have steps of a quarter.
    let step = survey.step() * scale * scale;
    let floor = (WHOLE * step).max(SEEN * (high - low).min(frame.white()));
    Found { sigma, floor, blocks: survey.blocks, camera: None, curve: None }
}

/// An alpha channel that tells something.
pub(super) fn seen<'a>(frame: &FrameView<'_>, alpha: &PlaneView<'a>) -> Result<Option<PlaneView<'a>>> {
    let size = (alpha.width(), alpha.height());
    if size != (frame.width(), frame.height()) {
        return Err(Error::Shape(format!(
            "an alpha channel of {} x {} pixels for a picture of {} x {}",
            size.0,
            size.1,
            frame.width(),
            frame.height()
        )));
    }
    let is = |seen: bool| alpha.rows().any(|row| row.iter().any(|v| (*v != 0.0) == seen));
    Ok((is(true) && is(false)).then_some(*alpha))
}

/// The planes of a picture, and what is known of them so far.
struct Survey<'a> {
    planes: Vec<(PlaneView<'a>, Judge<'a>)>,
    blocks: Blocks,
}

impl<'a> Survey<'a> {
    fn new(planes: Vec<PlaneView<'a>>, white: f32, alpha: Option<PlaneView<'a>>) -> Self {
        let judged = |plane: PlaneView<'a>| {
            let judge = Judge::new(&plane, white, alpha);
            (plane, judge)
        };
        Self { planes: planes.into_par_iter().map(judged).collect(), blocks: Blocks::default() }
    }

    /// The coarsest step between values.
    fn step(&self) -> f32 {
        self.planes.iter().map(|(_, judge)| judge.step).fold(0.0, f32::max)
    }

    /// Root of the mean variance over the channels that have enough usable blocks; `None` if no channel has.
    fn deviation(&mut self, estimator: Estimator) -> Option<f32> {
        if estimator == Estimator::Mad {
            return Some(self.median_deviation());
        }
        let channels = self.planes.len();
        let look = |(plane, judge): &mut (PlaneView<'_>, Judge<'_>)| {
            let (variance, blocks) = match estimator {
                Estimator::Pca => pca::variance(plane, judge, pca::LIMIT / channels),
                _ => dct::variance(plane, judge, dct::LIMIT / channels),
            };
            let drawn = estimator == Estimator::Pca && is_drawn(plane, judge, channels);
            (if drawn { Some(0.0) } else { variance }, blocks)
        };
        let looks: Vec<_> = self.planes.par_iter_mut().map(look).collect();
        self.blocks = looks.iter().fold(self.blocks, |mut sum, (_, blocks)| {
            sum += *blocks;
            sum
        });
        let found: Vec<f64> = looks.into_iter().filter_map(|(variance, _)| variance).collect();
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        (!found.is_empty()).then(|| mean.sqrt() as f32)
    }

    /// By the median of the finest wavelet band.
    fn median_deviation(&mut self) -> f32 {
        let channels = self.planes.len();
        let mut sum = 0.0;
        self.blocks = Blocks::default();
        for (plane, judge) in &mut self.planes {
            let corners = blocks::corners(plane, 1, mad::BLOCKS / channels);
            let blocks = blocks::survey(plane, judge, &corners, || (), |_, _, _, _| ()).1;
            self.blocks += blocks;
            if is_drawn(plane, judge, channels) {
                continue;
            }
            let usable = |x: usize, y: usize| {
                // Windows are no larger than blocks; near the far edges they lie in the last one.
                let corner = (x.min(plane.width() - SIDE) as u32, y.min(plane.height() - SIDE) as u32);
                matches!(judge.content(corner, &blocks::load(plane, corner)), Content::Usable { .. })
            };
            // Also where the picture is too small for blocks.
            let all = blocks.used == blocks.total();
            sum += mad::estimate(plane, if all { None } else { Some(&usable) }).powi(2);
        }
        (sum / channels as f32).sqrt()
    }
}

/// A plane that is mostly filled and has no noise in the rest: what tells noise from edges are their frequencies.
fn is_drawn(plane: &PlaneView<'_>, judge: &mut Judge<'_>, channels: usize) -> bool {
    judge.filled && dct::variance(plane, judge, dct::LIMIT / channels).0 == Some(0.0)
}

#[cfg(test)]
mod filled_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Frame;
    use crate::noise::add_gaussian;

    fn grey(w: usize, h: usize, white: f32, f: impl Fn(usize, usize) -> f32) -> Frame {
        Frame::grey(Plane::from_vec(w, h, (0..w * h).map(|i| f(i % w, i / w)).collect()).unwrap(), white)
            .unwrap()
    }

    /// Half a fine weave with edges, half a soft ramp: a picture with texture and quiet places.
    fn textured(w: usize, h: usize) -> Frame {
        grey(w, h, 255.0, |x, y| {
            let (u, v) = (x as f32, y as f32);
            if x > w / 2 {
                return 60.0 + u / 8.0 + v / 16.0;
            }
            let weave = 25.0 * (u * 1.3).sin() * (v * 0.9).cos() + 15.0 * (u * 0.4 + v * 2.1).sin();
            110.0 + weave + if (x / 11 + y / 17) % 2 == 0 { 40.0 } else { 0.0 }
        })
    }

    fn clip_and_round(mut frame: Frame) -> Frame {
        let white = frame.white();
        for plane in frame.planes_mut() {
            plane.as_mut_slice().iter_mut().for_each(|v| *v = v.round().clamp(0.0, white));
        }
        frame
    }

    fn error(frame: &Frame, estimator: Estimator, sigma: f64) -> f64 {
        f64::from(estimate(&frame.view(), estimator).unwrap()) / sigma - 1.0
    }

    #[test]
    fn pure_noise_is_measured_right_in_any_units() {
        for (white, sigma) in [(255.0, 5.0), (255.0, 50.0), (1.0, 0.02), (65_535.0, 3000.0)] {
            let noisy = add_gaussian(&grey(256, 200, white, |_, _| white / 2.0), sigma, 11).unwrap();
            for estimator in Estimator::ALL {
                let e = error(&noisy, estimator, sigma);
                assert!(e.abs() < 0.04, "{}: {e:+.3} at {sigma} of {white}", estimator.name());
            }
        }
    }

    #[test]
    fn small_pictures_have_little_bias() {
        // Mean over many pictures: single ones scatter by several per cent.
        for (side, limit) in [(16, 0.06), (32, 0.04), (64, 0.03), (128, 0.02)] {
            let flat = grey(side, side, 255.0, |_, _| 128.0);
            let mean = (0..60)
                .map(|seed| error(&add_gaussian(&flat, 20.0, seed).unwrap(), Estimator::Ponomarenko, 20.0))
                .sum::<f64>()
                / 60.0;
            assert!(mean.abs() < limit, "{side}: {mean:+.3}");
        }
    }

    #[test]
    fn the_default_sees_through_texture() {
        let clean = textured(256, 256);
        for sigma in [3.0, 10.0, 25.0] {
            let noisy = add_gaussian(&clean, sigma, 2).unwrap();
            let e = error(&noisy, Estimator::default(), sigma);
            assert!(e.abs() < 0.05, "{e:+.3} at {sigma}");
        }
    }

    #[test]
    fn clipping_to_8_bits_hardly_changes_the_estimate() {
        // A third of this ramp is so near to black or white that much of the noise is cut off.
        let clean = grey(256, 256, 255.0, |x, _| x as f32);
        for sigma in [5.0, 20.0, 40.0] {
            let noisy = clip_and_round(add_gaussian(&clean, sigma, 4).unwrap());
            let e = error(&noisy, Estimator::default(), sigma);
            assert!(e.abs() < 0.05, "{e:+.3} at {sigma}");
        }
    }

    #[test]
    fn filled_areas_do_not_hide_the_noise_of_the_rest() {
        let noisy = add_gaussian(&textured(256, 256), 10.0, 3).unwrap();
        let bars =
            grey(
                256,
                256,
                255.0,
                |x, y| {
                    if (40..216).contains(&y) { noisy.planes()[0].row(y)[x] } else { 16.0 }
                },
            );
        for estimator in [Estimator::Ponomarenko, Estimator::Pca] {
            let (with, without) = (error(&bars, estimator, 10.0), error(&noisy, estimator, 10.0));
            assert!((with - without).abs() < 0.08, "{}: {with:+.3} {without:+.3}", estimator.name());
        }
    }

    #[test]
    fn constant_and_drawn_pictures_have_no_noise() {
        for estimator in Estimator::ALL {
            for (w, h) in [(1, 1), (5, 3), (8, 8), (200, 100)] {
                for v in [0.0, 77.7, 255.0] {
                    let found = estimate(&grey(w, h, 255.0, |_, _| v).view(), estimator).unwrap();
                    assert_eq!(found, 0.0, "{} {w} x {h} of {v}", estimator.name());
                }
            }
            // Dark strokes on white paper.
            let drawn = grey(300, 200, 255.0, |x, y| if (x + y) % 60 < 4 { 40.0 } else { 255.0 });
            assert_eq!(estimate(&drawn.view(), estimator).unwrap(), 0.0, "{}", estimator.name());
        }
    }

    #[test]
    fn every_size_has_a_finite_estimate() {
        let noise = add_gaussian(&grey(40, 40, 1.0, |_, _| 0.5), 0.1, 0).unwrap();
        let samples = noise.planes()[0].as_slice();
        let sides = (1..20).chain([33, 40]);
        for (w, h) in sides.clone().flat_map(|w| sides.clone().map(move |h| (w, h))) {
            let view = FrameView::new(vec![PlaneView::new(w, h, 40, samples).unwrap()], 1.0).unwrap();
            for estimator in Estimator::ALL {
                let found = estimate(&view, estimator).unwrap();
                assert!(found.is_finite() && found >= 0.0, "{} {w} x {h}: {found}", estimator.name());
                assert!(
                    w * h < 64 || (found > 0.03 && found < 0.3),
                    "{} {w} x {h}: {found}",
                    estimator.name()
                );
            }
        }
    }

    #[test]
    fn pictures_of_black_and_white_alone_are_survived() {
        let frame = grey(64, 64, 255.0, |x, y| if (x * 7 + y * 13) % 11 < 5 { 255.0 } else { 0.0 });
        for estimator in Estimator::ALL {
            assert!(estimate(&frame.view(), estimator).unwrap().is_finite());
        }
    }

    #[test]
    fn colour_is_the_root_mean_square_of_its_channels() {
        let plane = |sigma, seed| {
            let flat = grey(256, 256, 255.0, |_, _| 128.0);
            add_gaussian(&flat, sigma, seed).unwrap().into_planes().remove(0)
        };
        let frame = Frame::new(vec![plane(5.0, 1), plane(10.0, 2), plane(20.0, 3)], 255.0).unwrap();
        for estimator in Estimator::ALL {
            let e = error(&frame, estimator, 175.0_f64.sqrt());
            assert!(e.abs() < 0.03, "{}: {e:+.3}", estimator.name());
        }
    }

    #[test]
    fn coarse_noise_is_found_by_the_coarse_estimator() {
        // Means of 2 x 2 samples of white noise: deviation 10, next to nothing of it in the high frequencies.
        let white = add_gaussian(&grey(257, 257, 255.0, |_, _| 128.0), 20.0, 8).unwrap();
        let p = &white.planes()[0];
        let smooth = grey(256, 256, 255.0, |x, y| {
            0.25 * (p.row(y)[x] + p.row(y)[x + 1] + p.row(y + 1)[x] + p.row(y + 1)[x + 1])
        });
        let found = |e| estimate(&smooth.view(), e).unwrap();
        assert!(found(Estimator::Ponomarenko) < 4.0, "{}", found(Estimator::Ponomarenko));
        assert!((10.0..16.0).contains(&found(Estimator::Coarse)), "{}", found(Estimator::Coarse));
    }

    #[test]
    fn names_come_back_and_unknown_ones_are_answered_with_the_list() {
        for estimator in Estimator::ALL {
            assert_eq!(estimator.name().parse::<Estimator>().unwrap(), estimator);
        }
        let e = "magic".parse::<Estimator>().unwrap_err().to_string();
        assert!(Estimator::ALL.iter().all(|known| e.contains(known.name())), "{e}");
    }

    #[test]
    fn nan_is_refused() {
        let frame = grey(9, 9, 1.0, |x, _| if x == 4 { f32::NAN } else { 0.0 });
        assert!(matches!(estimate(&frame.view(), Estimator::Mad), Err(Error::NotFinite { x: 4, y: 0, .. })));
    }
}
